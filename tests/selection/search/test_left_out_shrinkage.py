"""The shrinkage of one covariance, chosen with each row left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.core.estimation.settings import Settings
from suffice.core.table import Table
from suffice.errors import InvalidInputError
from suffice.selection.search import open_settings
from suffice.selection.search.left_out_shrinkage import LeftOutRows
from suffice.selection.search.open_settings import best_candidate


def classes_of_rows(seed, *, n_rows, n_features, n_classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    means = rng.normal(size=(n_classes, n_features))
    scales = rng.uniform(0.2, 3.0, n_features)
    return Table.of(scales * (rng.normal(size=(n_rows, n_features)) + means[y]), y)


def scores_one_by_one(table, gamma, target):
    """Return −½ Δ² of each row under the means and the covariance of the others, (K, n)."""
    x, codes = table.x, table.codes
    n = len(x)
    scores = np.empty((table.n_classes, n))
    for i in range(n):
        is_other = np.arange(n) != i
        means = np.stack([x[is_other & (codes == k)].mean(0) for k in range(table.n_classes)])
        z = x[is_other] - means[codes[is_other]]
        sigma = (1 - gamma) * z.T @ z / (n - 1) + gamma * np.diag(target)
        gaps = x[i] - means
        scores[:, i] = -0.5 * np.einsum("kd,kd->k", gaps, np.linalg.solve(sigma, gaps.T).T)
    return scores


@pytest.mark.parametrize("keeps_variances", [False, True])
@pytest.mark.parametrize(("n_rows", "n_features"), [(24, 9), (12, 30)])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_scores_are_those_of_the_other_rows(n_rows, n_features, keeps_variances, seed):
    table = classes_of_rows(seed, n_rows=n_rows, n_features=n_features)
    z = table.x - np.stack([table.x[table.codes == k].mean(0) for k in range(3)])[table.codes]
    variances = np.square(z).mean(0)
    target = variances if keeps_variances else np.full(n_features, variances.mean())
    left_out = LeftOutRows.of(table, keeps_variances=keeps_variances)
    gammas = np.array([0.0, 1e-3, 0.4, 1.0])
    for gamma, scores in zip(gammas, left_out.scores(gammas), strict=True):
        if gamma == 0 and n_rows < n_features:
            assert scores is None
            continue
        again = scores_one_by_one(table, gamma, target)
        np.testing.assert_allclose(scores - scores[0], again - again[0], rtol=1e-7, atol=1e-7)


def test_a_constant_feature_does_not_count_unless_it_separates_the_classes():
    table = classes_of_rows(0, n_rows=24, n_features=9)
    same = np.column_stack([table.x, np.full(24, 7.0)])
    apart = np.column_stack([table.x, 1.0 * table.codes])
    [plain], [with_same], [with_apart] = (
        list(LeftOutRows.of(table.with_rows(x), keeps_variances=True).scores(np.array([0.3])))
        for x in (table.x, same, apart)
    )
    np.testing.assert_allclose(with_same, plain, rtol=1e-10)
    assert (with_apart.argmax(0) == table.codes).all()
    assert not (plain.argmax(0) == table.codes).all()


def test_features_with_most_of_their_variance_from_one_row_are_counted():
    table = classes_of_rows(0, n_rows=60, n_features=9)
    assert LeftOutRows.of(table, keeps_variances=True).fragile_share == 0
    x = table.x.copy()
    x[:, 4] = 0.0
    x[5, 4] = 1.0
    fragile = LeftOutRows.of(table.with_rows(x), keeps_variances=True).fragile_share
    assert fragile == pytest.approx(1 / 9)


def noisy_embeddings(n_features=420, n_rows=90):
    """Return rows whose classes differ in features of large variance; most have a small one."""
    rng = np.random.default_rng(1)
    y = np.arange(n_rows) % 3
    scales = np.where(np.arange(n_features) < 10, 1.0, 1e-2)
    means = np.where(np.arange(n_features) < 10, 1.0, 0.0) * rng.normal(size=(3, n_features))
    return scales * rng.normal(size=(n_rows, n_features)) + means[y], y


def test_shrinkage_towards_equal_variances_is_chosen_for_embeddings_if_it_is_better():
    X, y = noisy_embeddings()
    chosen = sf.LDA(shrinkage="auto", temperature="auto").fit(X[:60], y[:60]).settings_
    assert isinstance(chosen.shrinkage, sf.Shrinkage)
    assert chosen.shrinkage.target == "identity"
    # in other units, in which all features have the same variance, nothing is gained
    scaled = X / np.std(X, axis=0)
    chosen = sf.LDA(shrinkage="auto", temperature="auto").fit(scaled[:60], y[:60]).settings_
    assert isinstance(chosen.shrinkage, float)
    # a target that the user names is kept
    diagonal = sf.Shrinkage("auto", target="diagonal")
    chosen = sf.LDA(shrinkage=diagonal, temperature="auto").fit(X[:60], y[:60]).settings_
    assert chosen.shrinkage.target == "diagonal"


def test_the_chosen_target_is_kept_by_a_file_and_by_more_rows(tmp_path):
    X, y = noisy_embeddings()
    head = sf.LDA(shrinkage="auto", temperature="auto").fit(X[:60], y[:60])
    head.save(tmp_path / "head.suffice")
    again = sf.load(tmp_path / "head.suffice")
    assert again.settings_.shrinkage == head.settings_.shrinkage
    np.testing.assert_allclose(again.predict_proba(X), head.predict_proba(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@pytest.mark.parametrize("change", ["one row", "weights", "copies", "one row in a variance"])
def test_folds_are_left_out_where_single_rows_cannot_be(change, monkeypatch):
    table = classes_of_rows(0, n_rows=60, n_features=120)
    x, y, weight = table.x.copy(), table.codes.copy(), None
    if change == "one row":
        y[0] = 3
    elif change == "weights":
        weight = np.resize([1.0, 2.0], 60)
    elif change == "copies":
        x[30:] = x[:30]
    else:
        x[:, 4:6] = 0.0
        x[5, 4:6] = 1.0
    by_row = []
    monkeypatch.setattr(
        open_settings, "_left_out_losses", spy(open_settings._left_out_losses, by_row)
    )
    sf.LDA(shrinkage="auto").fit(x, y, weight)
    assert all(losses is None for losses in by_row)
    sf.LDA(shrinkage="auto").fit(table.x, table.codes)
    assert by_row[-1] is not None


def spy(function, results):
    def wrapped(*args):
        results.append(function(*args))
        return results[-1]

    return wrapped


def test_a_few_copies_are_counted_once():
    table = classes_of_rows(0, n_rows=60, n_features=120)
    x = np.concatenate([table.x, table.x[:3]])
    y = np.concatenate([table.codes, table.codes[:3]])
    settings_ = Settings(tied=True, shrinkage="auto", temperature="auto")
    with_copies = best_candidate(settings_, Table.of(x, y))
    without = best_candidate(settings_, table)
    assert with_copies.shrinkage == without.shrinkage
    assert with_copies.log_loss == pytest.approx(without.log_loss)


def test_infinity_is_refused_before_shrinkage_is_chosen():
    table = classes_of_rows(0, n_rows=60, n_features=120)
    x = table.x.copy()
    x[3, 5] = np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 3, column 5"):
        sf.LDA(shrinkage="auto", temperature="auto").fit(x, table.codes)


def test_the_priors_of_a_left_out_row_lack_it():
    table = classes_of_rows(0, n_rows=24, n_features=9)
    counts = np.bincount(table.codes).astype(float)
    logs = open_settings._left_out_log_priors(Settings(tied=True), table)
    weights = np.exp(logs[:, 0])
    expected = counts - (np.arange(3) == table.codes[0])
    np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum())
    given_ = Settings(tied=True, priors=[0.2, 0.3, 0.5])
    logs = open_settings._left_out_log_priors(given_, table)
    np.testing.assert_allclose(np.exp(logs[:, 4]), [0.2, 0.3, 0.5])
