"""The search over fewer rows than features judges as the one that makes matrices of features."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.estimation.settings import Settings
from suffice.core.model.linear import LinearModel
from suffice.core.model.views import Plain
from suffice.core.table import Table
from suffice.selection.search.few_rows import FewRowsTraining, few_rows_path
from suffice.selection.search.learners import LogisticPath
from suffice.selection.search.regularisation_grid import Grid, judge_grid
from suffice.selection.search.shrinkage_paths import tied_path
from suffice.selection.search.training import Cells, Training
from suffice.selection.validation.folds import search_folds

GAMMAS = np.array([0.0, 0.1, 0.5, 1.0])


def wide_table(n_features=450, *, weighted=False, constant=True):
    rng = np.random.default_rng(3)
    y = np.arange(36) % 3
    X = np.exp(rng.normal(size=n_features)) * (
        rng.normal(size=(36, n_features)) + 0.3 * rng.normal(size=(3, n_features))[y] + 5
    )
    if constant:
        X[:, 7] = 2.0
        X[:, 8] = y  # constant within each class
    w = rng.uniform(0.5, 2.0, 36) if weighted else None
    return Table.of(X, y, w)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_few_rows_equal_those_of_matrices(weighted):
    table = wide_table(weighted=weighted)
    cells = Cells.of(table, search_folds(table, 4, 0))
    log_priors = np.log(np.full((4, 3), 1 / 3))
    few = FewRowsTraining.of(cells.table.x, cells)
    dense = Training.of(cells.table.x, cells, per_class=False)
    usable, scores = few_rows_path(few, log_priors, GAMMAS)
    dense_usable, dense_scores = tied_path(dense, log_priors, GAMMAS)
    np.testing.assert_array_equal(usable, GAMMAS[1:])
    np.testing.assert_array_equal(dense_usable, GAMMAS[1:])
    is_row = few.held_out.weight > 0
    # scores of tied classes are known up to a term common to all
    np.testing.assert_allclose(
        (scores - scores[:1])[..., is_row],
        (dense_scores - dense_scores[:1])[..., is_row],
        rtol=1e-7,
        atol=1e-7 * np.abs(dense_scores).max(),
    )
    means = few.moments.means
    np.testing.assert_allclose(means, dense.moments.means, rtol=1e-9, atol=1e-12)


def test_few_rows_are_judged_without_a_matrix_of_features():
    table = wide_table()
    cells = Cells.of(table, search_folds(table, 4, 0))
    grid = Grid(Plain(), Settings(), ((1.0, GAMMAS),))
    training = grid.training(cells)
    assert isinstance(training, FewRowsTraining)
    losses = judge_grid(training, np.log(np.full((4, 3), 1 / 3)), grid.paths)
    assert np.isfinite(losses.log_loss).all()


def test_a_penalised_path_of_few_rows_equals_one_fit_in_all_features():
    table = wide_table(1600, constant=False)
    models = LogisticPath((10.0, 1.0)).learn(table, [0, 1], judging=False)
    for model, l2 in zip(models, (10.0, 1.0), strict=True):
        assert isinstance(model, LinearModel)
        single = sf.LogisticRegression(l2=l2, tol=1e-9).fit(table.x, table.codes)
        log_posterior = model.scores(table.x)
        log_posterior -= np.log(np.exp(log_posterior).sum(1, keepdims=True))
        np.testing.assert_allclose(
            np.exp(log_posterior), single.predict_proba(table.x), atol=2e-4
        )


@pytest.mark.slow
def test_automatic_classifiers_take_100_000_features(tmp_path):
    rng = np.random.default_rng(4)
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 100_000)).astype(np.float32)
    X[y == 1] += 0.05
    auto = sf.AutoGaussian(kernel_features=False).fit(X, y)
    assert auto.score(X, y) == 1.0
    auto.save(tmp_path / "auto.suffice")
    loaded = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_array_equal(loaded.predict_proba(X), auto.predict_proba(X))
