"""Settings judged on all folds at once: against models estimated again, and on random labels."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.estimation.settings import Settings
from suffice.core.model.views import Plain, PowerTransformed
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.selection.search.effort import ARITHMETIC, Effort
from suffice.selection.search.plan import judge_views
from suffice.selection.search.regularisation_grid import Grid, judge_grid, survivors
from suffice.selection.search.temperatures import TEMPERATURES
from suffice.selection.search.training import Cells, Training
from suffice.selection.search.view_fitting import fit_kernel_features, fit_pieces, fit_softened
from suffice.selection.validation.folds import Folds
from suffice.selection.validation.held_out import held_out_losses


def skewed(n=90, d=3, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return np.exp(0.5 * rng.normal(size=(n, d))) + 0.4 * y[:, None] * rng.normal(size=d), y


def silent(n=90):
    """A feature that does not vary in one class, one that is rare, one that two classes share."""
    X, y = skewed(n)
    X[y == 1, 0] = 2.0
    return np.c_[X, np.arange(n) == 7], y


def weighted(n=80):
    X, y = skewed(n, seed=3)
    return X, y, np.random.default_rng(0).uniform(0.2, 3.0, n)


@pytest.mark.parametrize("rows", [skewed(), silent(), weighted(), skewed(40, 2, 7)])
def test_every_point_has_the_losses_of_a_model_estimated_again(rows):
    table = Table.of(*rows)
    splits = stratified_folds(table.codes, 5, 0)
    cells = Cells.of(table, splits)
    training = Training.of(table.x[cells.order], cells, per_class=True)
    points = [(p, np.array([0.02, 0.3, 1.0])) for p in (0.0, 0.3, 1.0)]
    log_priors = np.log(training.weights / training.weights.sum(1, keepdims=True))
    found = judge_grid(training, log_priors, points)
    recipes = [
        Settings(pooling=p, shrinkage=g)
        for p, g in zip(found.pooling, found.shrinkage, strict=True)
    ]
    assert len(recipes) == 9
    folds = Folds.stratified(table, 5, 0).each("per-class", fourth=False)
    again = np.mean([held_out_losses(recipes, f, TEMPERATURES) for f in folds], axis=0)
    doubt = np.square(np.log(TEMPERATURES) / 0.5) / (2 * table.n_rows)
    at = (again[..., 1] + doubt).argmin(1)
    expected = again[np.arange(len(recipes)), at]
    np.testing.assert_allclose(found.log_loss, expected[:, 1], rtol=1e-6)
    np.testing.assert_allclose(found.error, expected[:, 0], atol=1e-12)


def test_points_without_a_covariance_are_left_out():
    X, y = skewed(60, 2)
    X = np.c_[X, X.sum(1)]
    table = Table.of(X, y)
    cells = Cells.of(table, stratified_folds(table.codes, 5, 0))
    training = Training.of(X[cells.order], cells, per_class=True)
    log_priors = np.log(training.weights / training.weights.sum(1, keepdims=True))
    points = [(p, np.array([0.0, 0.1])) for p in (0.0, 1.0)]
    assert judge_grid(training, log_priors, points).shrinkage.tolist() == [0.1, 0.1]
    assert judge_grid(training, log_priors, [(1.0, np.zeros(1))]) is None


def views(x):
    power = PowerTransformed(PowerTransform.of(x))
    return [
        Plain(),
        power,
        fit_kernel_features(power, x, width=0.4, n_landmarks=40, seed=0),
        fit_kernel_features(power, x, width=0.8, n_landmarks=40, seed=0, kernel="Laplace"),
        fit_pieces(x, 40),
        fit_softened(power, x, 1.0),
    ]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("view", range(6))
def test_random_labels_show_no_gain_over_the_prior(view, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 4))
    x[:, 3] = x[:, 3] > 1  # an indicator
    table = Table.of(x, rng.permutation(np.arange(300) % 3))
    seen = views(x)[view]
    recipe = Settings(tied=seen.lifted)
    points = tuple(
        (p, np.array([0.01, 0.3, 1.0])) for p in ((1.0,) if seen.lifted else (0.0, 1.0))
    )
    cells = Cells.of(table, stratified_folds(table.codes, 10, seed))
    found = judge_views(cells, [Grid(seen, recipe, points)], 6, {})
    losses = -found.true_log
    se = losses.std(1) / np.sqrt(losses.shape[1])
    assert (losses.mean(1) > np.log(3) - 2 * se - 1e-3).all()


def test_survivors_are_the_best_points_and_those_close_to_them():
    X, y = skewed(600, 3, 2)
    table = Table.of(X, y)
    cells = Cells.of(table, stratified_folds(table.codes, 5, 0))
    training = Training.of(X[cells.order], cells, per_class=True)
    log_priors = np.log(training.weights / training.weights.sum(1, keepdims=True))
    grid = [(p, np.array([0.0, 0.2, 0.7, 1.0])) for p in (0.0, 0.5, 1.0)]
    first = judge_grid(training.take(slice(0, 1)), log_priors[:1], grid)
    left = {(p, g) for p, gammas in survivors(first, 4, 6) for g in gammas}
    order = np.argsort(first.log_loss)
    ranked = [(first.pooling[i], first.shrinkage[i]) for i in order]
    assert set(ranked[:4]) <= left <= set(ranked[:6])


def blank(n, d, k):
    return Table(np.zeros((n, d)), np.arange(k), np.arange(n) % k)


@pytest.mark.parametrize(
    "shape", [(150, 4, 3), (1200, 2, 200), (1900, 300, 32), (2500, 400, 50)]
)
def test_effort_keeps_within_its_budget(shape):
    effort = Effort.of(blank(*shape))
    assert effort.multiplications(*shape) <= ARITHMETIC
    assert 1.0 in effort.poolings
    assert ("would take too long" in effort.describe(shape[0])) == (shape[1] >= 300)


def test_few_rows_are_judged_on_ten_folds_and_every_pooling():
    assert Effort.of(blank(150, 4, 3)) == Effort(10)


# --- what the estimator makes of it --------------------------------------------------------


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
def test_redundant_features_change_nothing():
    X, y = skewed(200, 3)
    more = np.c_[X, 2 * X[:, :2], 1 - X[:, 2]]
    one, two = sf.AutoGaussian().fit(X, y), sf.AutoGaussian().fit(more, y)
    assert two._varying.tolist() == [0, 1, 2]
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(more), rtol=1e-9)
    combined = sf.AutoGaussian().fit(np.c_[X, X @ [1.0, 2.0, -1.0]], y)
    assert len(combined._varying) == 3


def test_features_are_kept_where_rows_are_few():
    X, y = skewed(12, 30, 2)
    assert len(sf.AutoGaussian().fit(X, y)._varying) == 30


def test_what_was_judged_is_said():
    X, y = skewed(100)
    assert "10-fold cross-validation on 100 rows" in sf.AutoGaussian().fit(X, y).explain()
