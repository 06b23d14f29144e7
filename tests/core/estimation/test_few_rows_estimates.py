"""Rows as a storage of scatter: the same models as from dense sums, without a dense matrix."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold

import suffice as sf
from suffice.core.estimation.few_rows_estimates import (
    FewRows,
    FilledReference,
    GroupGram,
    TiedContrasts,
)
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import smallest_eigenvalue
from suffice.core.model.few_rows_covariance import (
    LowRankCovariance,
    NestedCovariance,
    ShrunkRowsCovariance,
    UnshrunkRowsCovariance,
)
from suffice.errors import (
    DegenerateDataWarning,
    ForgetError,
    InvalidInputError,
    InvalidParameterError,
)

MODELS = (
    sf.LDA(),
    sf.LDA(divisor="unbiased"),
    sf.LDA(shrinkage=0.3),
    sf.LDA(shrinkage="oas"),
    sf.LDA(shrinkage="ledoit-wolf"),
    sf.LDA(shrinkage=sf.Shrinkage(0.2, target="sphere")),
    sf.LDA(shrinkage=sf.Shrinkage("oas", target="identity")),
    sf.QDA(),
    sf.QDA(shrinkage=0.3),
    sf.QDA(shrinkage="ledoit-wolf"),
    sf.RDA(pooling=0.4, shrinkage=0.0),
    sf.RDA(pooling=0.4, shrinkage=0.2),
    sf.RDA(pooling=0.4, shrinkage=sf.Shrinkage("oas", target="sphere")),
    sf.GaussianClassifier(tied=[[0, 1], [2]], shrinkage=0.1, divisor="unbiased"),
)


def wide_table(seed, n_rows=20, n_features=40, *, weighted=False):
    """Return rows of three classes in features of different units, far from the origin."""
    rng = np.random.default_rng(seed)
    units = np.exp(rng.normal(size=n_features))
    y = np.arange(n_rows) % 3
    means = rng.normal(size=(3, n_features))
    X = units * (rng.normal(size=(n_rows, n_features)) + means[y] + 20)
    w = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    return X, y, w


def fitted(model, moments):
    """Return a copy of a model, fitted to moments without a warning about their rank."""
    copy = type(model)(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return copy.fit_moments(moments)


def assert_close(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_models_of_rows_equal_those_of_dense_sums(model, weighted):
    X, y, w = wide_table(1, weighted=weighted)
    few = fitted(model, sf.Moments.of(X, y, w, storage="rows"))
    dense = fitted(model, sf.Moments.of(X, y, w, storage="per-class", fourth=True))
    new_rows, _, _ = wide_table(2, n_rows=7)
    kinds = {type(covariance) for covariance in few.model_.density.covariances}
    assert kinds <= {
        LowRankCovariance,
        NestedCovariance,
        ShrunkRowsCovariance,
        UnshrunkRowsCovariance,
    }
    a = few.model_.class_log_density(new_rows)
    assert_close(a, dense.model_.class_log_density(new_rows))
    assert_close(few.predict_log_proba(new_rows), dense.predict_log_proba(new_rows), 1e-8)
    assert_close(few.transform(new_rows), dense.transform(new_rows))
    assert_close(few.discriminants_.loadings, dense.discriminants_.loadings)
    log_likelihood = few.model_.density._log_likelihood(few.moments_)
    weights = np.ones(len(y)) if w is None else w
    of_rows = few.model_.class_log_density(X)[np.arange(len(y)), y] + np.log(few.priors_)[y]
    assert log_likelihood == pytest.approx(weights @ of_rows, rel=1e-11)
    # a dense singular scatter has rounding in its null space, which the inverse enlarges
    of_dense = dense.model_.density._log_likelihood(dense.moments_)
    assert log_likelihood == pytest.approx(of_dense, rel=1e-8)


@pytest.mark.parametrize("model", [sf.LDA(), sf.LDA(shrinkage=0.3), sf.QDA()], ids=repr)
def test_a_low_rank_covariance_has_the_verbs_of_a_dense_one(model):
    X, y, _ = wide_table(3)
    few = fitted(model, sf.Moments.of(X, y, storage="rows"))
    dense = fitted(model, sf.Moments.of(X, y, storage="per-class"))
    observed = np.array([0, 3, 4, 11])
    missing = np.array([1, 2, 30])
    z = np.random.default_rng(4).normal(size=(5, 40))
    for a, b in zip(
        few.model_.density.covariances, dense.model_.density.covariances, strict=True
    ):
        assert a.log_det == pytest.approx(b.log_det, rel=1e-9)
        assert_close(a.dense(), b.dense())
        assert_close(a.dense_precision(), b.dense_precision())
        assert_close(a.variances(), b.variances())
        assert_close(a.precision_diagonal(), b.precision_diagonal())
        assert_close(a.precision_times(z), b.precision_times(z))
        assert_close(a.squared_distances(z), b.squared_distances(z))
        assert_close(np.square(a.whiten(z)).sum(1), b.squared_distances(z))
        assert_close(a.colorize(a.whiten(z)), z)
        assert_close(a.whiten_transposed(a.whiten(z)), b.precision_times(z))
        assert_close(a.marginal(observed).dense(), b.marginal(observed).dense())
        for left, right in zip(
            a.conditional(observed, missing), b.conditional(observed, missing), strict=True
        ):
            assert_close(left, right, 1e-7)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 18), weighted=st.booleans())
def test_rows_merge_and_are_forgotten_like_sums(seed, cut, weighted):
    X, y, w = wide_table(seed, weighted=weighted)

    def moments(rows, storage):
        return sf.Moments.of(X[rows], y[rows], None if w is None else w[rows], storage=storage)

    first, rest = slice(0, cut), slice(cut, None)
    whole = moments(slice(None), "rows")
    dense = moments(slice(None), "per-class")
    merged = moments(first, "rows") + moments(rest, "rows")
    left = whole - moments(first, "rows")
    never_seen = moments(rest, "per-class")
    assert merged.storage == left.storage == "rows"
    assert_close(merged.scatters, dense.scatters)
    assert_close(merged.means, dense.means)
    assert_close(whole.pooled_scatter, dense.pooled_scatter)
    assert_close(whole.diagonals, dense.diagonals)
    k = np.searchsorted(left.classes, never_seen.classes)
    assert_close(left.scatters[k], never_seen.scatters)
    np.testing.assert_array_equal(left.means[k], moments(rest, "rows").means)


def test_rows_and_sums_of_others_merge_to_sums():
    X, y, _ = wide_table(5)
    a = sf.Moments.of(X[:10], y[:10], storage="rows")
    b = sf.Moments.of(X[10:], y[10:], storage="per-class", fourth=False)
    dense = sf.Moments.of(X, y, storage="per-class")
    assert (a + b).storage == "per-class"
    assert_close((a + b).scatters, dense.scatters)


def test_rows_give_way_to_sums_once_these_are_smaller():
    X, y, _ = wide_table(6, n_rows=12, n_features=5)
    total = sum(sf.Moments.of(X[i::4], y[i::4], storage="rows") for i in range(4))
    assert total.storage == "rows"
    total = total + sf.Moments.of(X, y, storage="rows")
    assert total.storage == "per-class"
    assert_close(total.scatters, 2 * sf.Moments.of(X, y, storage="per-class").scatters)


def test_rows_of_saved_moments_are_the_same(tmp_path):
    X, y, w = wide_table(7, weighted=True)
    moments = sf.Moments.of(X.astype(np.float32), y, w, storage="rows")
    moments.save(tmp_path / "a.moments")
    loaded = sf.load(tmp_path / "a.moments")
    assert loaded.storage == "rows"
    assert loaded.scatter.rows.dtype == np.float32
    np.testing.assert_array_equal(loaded.scatters, moments.scatters)
    model = fitted(sf.LDA(shrinkage=0.2), moments)
    model.save(tmp_path / "a.suffice")
    np.testing.assert_array_equal(
        sf.load(tmp_path / "a.suffice").predict_log_proba(X), model.predict_log_proba(X)
    )


def test_a_row_that_was_never_added_is_not_forgotten():
    X, y, _ = wide_table(8)
    moments = sf.Moments.of(X, y, storage="rows")
    with pytest.raises(ForgetError, match="never added"):
        moments - sf.Moments.of(X[:1] + 1e-6, y[:1], storage="rows")


def test_classes_and_features_of_rows_can_be_selected():
    X, y, _ = wide_table(9)
    columns = [3, 1, 17]
    moments = sf.Moments.of(X, y, storage="rows").select(columns)
    assert_close(moments.scatters, sf.Moments.of(X[:, columns], y).scatters)


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_scores_equal_those_of_scikit_learn_at_the_same_shrinkage(gamma):
    X, y, _ = wide_table(10)
    X = X / X.std(0)
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=gamma).fit(X, y)
    within = np.concatenate([X[y == k] - X[y == k].mean(0) for k in range(3)])
    sigma = (1 - gamma) * within.T @ within / len(X)
    sigma += gamma * np.trace(within.T @ within / len(X)) / X.shape[1] * np.eye(X.shape[1])
    shrinkage = sf.Shrinkage(gamma, target="identity")
    model = fitted(sf.LDA(shrinkage=shrinkage), sf.Moments.of(X, y, storage="rows"))
    assert_close(model.model_.density.covariances[0].dense(), sigma)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def test_more_features_than_rows_are_fitted_without_a_dense_matrix():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(50, 100_000)).astype(np.float32)
    y = np.arange(50) % 2
    X[y == 1] += 0.05
    model = sf.LDA(shrinkage=0.5).fit(X, y)
    assert model.moments_.storage == "rows"
    assert model.score(X, y) == 1.0


def test_fewer_rows_than_features_are_said_where_no_shrinkage_is_set():
    X, y, _ = wide_table(12, n_rows=30, n_features=700)
    with pytest.warns(DegenerateDataWarning, match="rank 27 instead of 700: .*fewer rows"):
        sf.LDA().fit(X, y)


def test_cross_validation_of_few_rows_equals_fitting_each_fold():
    X, y, _ = wide_table(13, n_rows=30, n_features=700)
    grid = {"shrinkage": [0.0, 0.1, 0.6]}
    for model in (sf.LDA(), sf.QDA(), sf.RDA(pooling=0.5)):
        with warnings.catch_warnings():  # the best estimator may have no shrinkage
            warnings.simplefilter("ignore", DegenerateDataWarning)
            judged = sf.cross_validate(model, X, y, grid=grid, cv=5)
        by_fitting = []
        for gamma in grid["shrinkage"]:
            copy = type(model)(**{**model.get_params(), "shrinkage": gamma})
            losses = []
            for train, test in StratifiedKFold(5).split(X, y):
                moments = sf.Moments.of(X[train], y[train], storage="rows")
                logs = fitted(copy, moments).predict_log_proba(X[test])
                losses.append(-logs[np.arange(len(test)), y[test]].mean())
            by_fitting.append(np.mean(losses))
        assert_close(judged.means[:, 1], np.array(by_fitting), 1e-7)


def test_leave_one_out_of_few_rows_equals_fitting_the_others():
    X, y, _ = wide_table(14, n_rows=12, n_features=700)
    model = sf.LDA(shrinkage=0.4)
    judged = sf.leave_one_out(model, X, y)
    for i in range(12):
        others = np.arange(12) != i
        refitted = sf.LDA(shrinkage=0.4).fit(X[others], y[others])
        assert_close(judged.logs[i], refitted.predict_log_proba(X[[i]])[0], 1e-8)


def test_quadratic_scores_of_many_rows_equal_those_of_few():
    X, y, _ = wide_table(15, n_rows=30, n_features=700)
    model = sf.QDA(shrinkage=0.4).fit(X, y)
    many = np.tile(X, (10, 1))
    assert_close(model.predict_log_proba(many)[:3], model.predict_log_proba(X[:3]))


def test_constant_features_of_a_class_take_the_variance_of_all():
    X, y, _ = wide_table(16, n_rows=30, n_features=700)
    X[y == 0, 5] = 1.0
    X[:, 6] = 2.0
    with pytest.warns(DegenerateDataWarning, match="constant"):
        model = sf.QDA(shrinkage=0.4).fit(X, y)
    variances = model.model_.density.covariances[0].variances()
    pooled = model.moments_.scatter.pooled_diagonal() / 30
    assert variances[5] == pytest.approx(pooled[5])
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_boundaries_of_few_rows_equal_those_of_dense_sums():
    X, y, _ = wide_table(19)
    for model in (sf.LDA(shrinkage=0.3), sf.QDA(shrinkage=0.3)):
        few = fitted(model, sf.Moments.of(X, y, storage="rows")).boundary(0, 1)
        dense = fitted(model, sf.Moments.of(X, y, storage="per-class")).boundary(0, 1)
        assert_close(few.evaluate(X), dense.evaluate(X), 1e-8)


def test_a_hyperplane_of_many_features_needs_no_matrix():
    rng = np.random.default_rng(20)
    X = rng.normal(size=(8, 100_000)).astype(np.float32)
    y = np.arange(8) % 2
    model = sf.LDA(shrinkage=0.5).fit(X, y)
    log_odds = model.boundary(1, 0).evaluate(X[:4])
    np.testing.assert_allclose(log_odds, model.decision_function(X[:4]), rtol=1e-6)


@pytest.mark.parametrize("model", [sf.LDA(shrinkage=0.5), sf.GaussianNB()], ids=repr)
def test_a_missing_cell_among_many_features_is_named_and_nothing_is_lost(model):
    X, y, _ = wide_table(22, n_rows=12, n_features=2_500)
    model.fit(X, y)
    before = model.predict_log_proba(X)
    broken = X.copy()
    broken[3, 7] = np.nan
    with pytest.raises(InvalidInputError, match="row 3, column 7"):
        model.partial_fit(broken, y)
    np.testing.assert_array_equal(model.predict_log_proba(X), before)
    with pytest.raises(InvalidInputError, match="row 3, column 7"):
        type(model)(**model.get_params()).fit(broken, y)


def test_a_quadric_that_does_not_fit_in_memory_is_refused_with_the_cure():
    rng = np.random.default_rng(21)
    X = rng.normal(size=(8, 500_000)).astype(np.float32)
    y = np.arange(8) % 2
    model = sf.QDA(shrinkage=0.5).fit(X, y)
    with pytest.raises(InvalidParameterError, match="500,000 × 500,000 numbers"):
        model.boundary(1, 0)


def test_samples_have_the_covariance_of_the_model():
    X, y, _ = wide_table(17)
    model = fitted(sf.LDA(shrinkage=0.4), sf.Moments.of(X, y, storage="rows"))
    sample, codes = model.sample(20_000, random_state=0)
    deviations = sample - model.means_[codes]
    covariance = model.model_.density.covariances[0].dense()
    scale = np.sqrt(np.diagonal(covariance))
    scaled = deviations / scale
    correlation = covariance / scale / scale[:, None]
    assert np.abs(scaled.T @ scaled / len(sample) - correlation).max() < 0.05


def test_shrinkage_and_temperature_are_chosen_together_for_few_rows():
    rng = np.random.default_rng(18)
    means = 0.5 * rng.normal(size=(3, 5))
    loadings = rng.normal(size=(5, 800))

    def rows(n_rows):
        y = np.arange(n_rows) % 3
        hidden = means[y] + rng.normal(size=(n_rows, 5))
        return hidden @ loadings + rng.normal(size=(n_rows, 800)), y

    X, y = rows(45)
    new_rows, truth = rows(600)
    chosen = sf.LDA(shrinkage="auto", temperature="auto").fit(X, y)
    assert chosen.settings_.temperature > 8
    logs = chosen.predict_log_proba(new_rows)
    log_loss = -logs[np.arange(600), truth].mean()
    plain = sf.LDA(shrinkage=chosen.settings_.shrinkage).fit(X, y)
    plain_logs = plain.predict_log_proba(new_rows)
    assert log_loss < np.log(3)  # of the class frequencies
    assert log_loss < -plain_logs[np.arange(600), truth].mean() / 2


def test_the_spectrum_of_repeated_rows_has_as_many_eigenvalues_as_their_rank():
    X = np.random.default_rng(0).integers(-9, 10, size=(8, 40)).astype(float)
    # 32 rows of one class, 8 of them different, span 7 directions about their mean
    moments = sf.Moments.of(
        np.vstack([np.repeat(X, 4, axis=0), X + 1]), np.repeat([0, 1], [32, 8]), storage="rows"
    )
    group_of = np.arange(2)
    few = FewRows.of(moments, group_of, Settings(shrinkage=0.5).regularisation)
    assert [len(GroupGram.of(few, g).spectrum().gram_eigenvalues) for g in group_of] == [7, 7]


@given(
    seed=st.integers(0, 1_000),
    n_rows=st.integers(6, 20),
    pooling=st.sampled_from([0.0, 0.4]),
    gamma=st.sampled_from([0.01, 0.3, 0.9, 1.0]),
    weighted=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_one_shrinkage_needs_no_eigenvalues(seed, n_rows, pooling, gamma, weighted):
    X, y, w = wide_table(seed, n_rows, n_features=30, weighted=weighted)
    how = Settings(pooling=pooling, shrinkage=gamma).regularisation
    few = FewRows.of(sf.Moments.of(X, y, w, storage="rows"), np.arange(3), how)
    z = np.random.default_rng(seed).normal(size=(5, 30)) * X.std(0)
    for g in range(3):
        group = GroupGram.of(few, g)
        a = group.covariance(gamma)
        b = group.spectrum().covariance(gamma)
        assert isinstance(a, ShrunkRowsCovariance)
        assert a.log_det == pytest.approx(b.log_det, rel=1e-9)
        assert_close(a.squared_distances(z), b.squared_distances(z))
        assert_close(a.precision_times(z), b.precision_times(z))
        assert_close(a.dense(), b.dense())


def test_rounding_errors_of_the_products_of_rows_do_not_hide_a_small_shrinkage():
    X, y, _ = wide_table(6)
    few = fitted(sf.LDA(shrinkage=1e-14), sf.Moments.of(X, y, storage="rows"))
    assert isinstance(few.model_.density.covariances[0], LowRankCovariance)
    assert np.isfinite(few.predict_log_proba(X)).all()


@pytest.mark.parametrize("model", [sf.QDA(shrinkage=0.5), sf.RDA(pooling=0.5, shrinkage=0.5)])
def test_a_class_whose_rows_are_all_forgotten_has_a_covariance(model):
    X, y, _ = wide_table(16)
    is_last = y == 2
    left = sf.Moments.of(X, y, storage="rows") - sf.Moments.of(
        X[is_last], y[is_last], storage="rows"
    )
    never_seen = sf.Moments.of(X[~is_last], y[~is_last], storage="rows")
    a = fitted(model, left).predict_log_proba(X)
    assert_close(a[:, :2], fitted(model, never_seen).predict_log_proba(X))


def tied_few_rows(X, y, w=None, divisor="mle"):
    """Return the rows of classes that share one covariance."""
    moments = sf.Moments.of(X, y, w, storage="rows")
    how = Settings(divisor=divisor).regularisation
    return FewRows.of(moments, np.zeros(moments.n_classes, np.intp), how)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4).filter(lambda n: max(n) > 1),
    divisor=st.sampled_from(["mle", "unbiased"]),
    weighted=st.booleans(),
)
def test_a_factor_of_contrasts_gives_the_covariance_of_the_eigendecomposition(
    seed, sizes, divisor, weighted
):
    rng = np.random.default_rng(seed)
    n, d = sum(sizes), 60
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    units = np.exp(rng.normal(size=d))
    X = units * (rng.normal(size=(n, d)) + rng.normal(size=(len(sizes), d))[y] + 20)
    X[:, 7] = 3.0
    w = rng.uniform(1.0, 3.0, n) if weighted else None
    few = tied_few_rows(X, y, w, divisor)
    a, rank = TiedContrasts.of(few).filled(0)
    b, rank_by_eigenvalues = FilledReference.of(few).filled(0)
    assert rank == rank_by_eigenvalues == n - len(sizes)
    assert a.log_det == pytest.approx(b.log_det, rel=1e-9)
    x = np.vstack([few.stacked, units * rng.normal(size=(5, d))])
    assert_close(a.dense(), b.dense())
    assert_close(a.dense_precision(), b.dense_precision())
    assert_close(a.variances(), b.variances())
    assert_close(a.precision_diagonal(), b.precision_diagonal())
    assert_close(a.squared_distances(x), b.squared_distances(x))
    assert_close(a.precision_times(x), b.precision_times(x))
    assert_close(np.square(a.whiten(x)).sum(1), b.squared_distances(x))
    assert_close(a.whiten_transposed(a.whiten(x)), b.precision_times(x))
    assert_close(a.colorize(a.whiten(x)), x)
    root = a.colorize(np.eye(d))  # the covariance of samples
    assert_close(root.T @ root, b.dense())
    observed = np.array([0, 3, 7, 40])
    assert_close(a.marginal(observed).dense(), b.marginal(observed).dense())
    # along the rows, the inverse is the pseudo-inverse in units of total standard deviations
    z = few.stacked[: few.n_rows] / a.scale
    within = (few.row_weights[:, None] * z).T @ z / few.divisor(0)
    along = np.einsum("ni,ij,nj->n", z, np.linalg.pinv(within, hermitian=True, rcond=1e-10), z)
    assert_close(a.squared_distances(few.stacked[: few.n_rows]), along)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    weighted=st.booleans(),
)
def test_contrasts_have_the_scatter_of_the_rows_and_a_row_fewer_for_each_class(
    seed, sizes, weighted
):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    w = rng.uniform(1e-6, 2.0, n) if weighted else None
    scatter = sf.Moments.of(rng.normal(size=(n, 30)) + 5, y, w, storage="rows").scatter
    contrasts = scatter.contrasts(out=np.empty((n, 30)))
    assert len(contrasts) == n - len(sizes)
    np.testing.assert_allclose(contrasts.T @ contrasts, scatter.pooled(), atol=1e-12)


@pytest.mark.parametrize("divisor", ["mle", "unbiased", "averaged"])
@pytest.mark.parametrize("weighted", [False, True])
def test_models_by_a_factor_equal_those_by_eigenvalues(
    divisor, weighted, monkeypatch, tmp_path
):
    X, y, w = wide_table(23, n_rows=30, n_features=100, weighted=weighted)
    moments = sf.Moments.of(X, y, w, storage="rows")
    new_rows, _, _ = wide_table(24, n_rows=7, n_features=100)
    model = sf.LDA(divisor=divisor)
    a = fitted(model, moments)
    assert isinstance(a.model_.density.covariances[0], UnshrunkRowsCovariance)
    with monkeypatch.context() as patch:
        patch.setattr(TiedContrasts, "of", lambda few: None)
        b = fitted(model, moments)
    assert isinstance(b.model_.density.covariances[0], LowRankCovariance)
    for x in (X, new_rows):
        assert_close(a.model_.class_log_density(x), b.model_.class_log_density(x))
        assert_close(a.decision_function(x), b.decision_function(x))
        assert_close(a.transform(x), b.transform(x))
        assert_close(a.boundary(0, 1).evaluate(x), b.boundary(0, 1).evaluate(x))
    incomplete = new_rows.copy()
    incomplete[:, ::2] = np.nan
    assert_close(
        a.model_.class_log_density(incomplete), b.model_.class_log_density(incomplete)
    )
    a.save(tmp_path / "a.suffice")
    with pytest.warns(DegenerateDataWarning, match="rank 27"):
        loaded = sf.load(tmp_path / "a.suffice")
    assert_close(loaded.predict_log_proba(new_rows), b.predict_log_proba(new_rows), 1e-8)


def dependent_table(kind, n_features=100):
    """Return rows that are linearly dependent, or nearly, beyond what their class means imply."""
    X, y, _ = wide_table(25, n_rows=30, n_features=n_features)
    if kind == "identical rows":
        X[3] = X[0]
    elif kind == "collinear rows":
        X[9] = 0.3 * X[3] + 0.7 * X[6]  # of one class, so the contrasts are dependent
        X[12] = X[0] + X[3] - X[6]
    elif kind == "nearly identical rows":
        X[3] = X[0] + 1e-7 * X[3]
    elif kind == "equal means":
        X[y == 1] += X[y == 0].mean(0) - X[y == 1].mean(0)
    elif kind == "no variance within classes":
        X = X[y]
    return X, y


@pytest.mark.parametrize(
    "kind",
    [
        "identical rows",
        "collinear rows",
        "nearly identical rows",
        "equal means",
        "no variance within classes",
    ],
)
def test_linearly_dependent_rows_need_eigenvalues(kind):
    X, y = dependent_table(kind)
    assert TiedContrasts.of(tied_few_rows(X, y)) is None
    few = fitted(sf.LDA(), sf.Moments.of(X, y, storage="rows"))
    assert isinstance(few.model_.density.covariances[0], LowRankCovariance)
    dense = fitted(sf.LDA(), sf.Moments.of(X, y, storage="per-class"))
    a = few.model_.class_log_density(X)
    assert np.isfinite(a).all()
    if kind != "nearly identical rows":  # a dense scatter resolves fewer digits
        assert_close(a, dense.model_.class_log_density(X), 1e-6)


def test_rows_of_one_class_each_need_eigenvalues():
    X, _, _ = wide_table(26, n_rows=3)
    assert TiedContrasts.of(tied_few_rows(X, np.arange(3))) is None


def test_identical_rows_are_said_to_lower_the_rank():
    X, y = dependent_table("identical rows", n_features=700)
    with pytest.warns(DegenerateDataWarning, match="rank 26 instead of 700: .*fewer rows"):
        sf.LDA().fit(X, y)


def test_samples_without_shrinkage_have_the_covariance_of_the_model():
    X, y, _ = wide_table(27)
    model = fitted(sf.LDA(), sf.Moments.of(X, y, storage="rows"))
    covariance = model.model_.density.covariances[0]
    assert isinstance(covariance, UnshrunkRowsCovariance)
    sample, codes = model.sample(20_000, random_state=0)
    whitened = covariance.whiten(sample - model.means_[codes])
    assert np.abs(whitened.T @ whitened / len(sample) - np.eye(40)).max() < 0.05


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), decay=st.floats(0.0, 4.0))
@settings(max_examples=40, deadline=None)
def test_the_smallest_eigenvalue_of_a_factor_is_near_that_of_its_matrix(seed, n, decay):
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    matrix = (q * np.exp(-decay * np.arange(n))) @ q.T
    matrix = (matrix + matrix.T) / 2 + 1e-8 * np.eye(n)
    least = np.linalg.eigvalsh(matrix)[0]
    estimate = smallest_eigenvalue(np.linalg.cholesky(matrix))
    # |A⁻¹|₂ ≤ |A⁻¹|₁ ≤ √n |A⁻¹|₂
    assert least / np.sqrt(n) * 0.999 < estimate < 10 * least


def test_a_class_with_one_row_has_its_mean_where_the_divisor_gives_it_no_weight():
    X, y, _ = wide_table(8, n_rows=21)
    y = np.where(np.arange(21) == 20, 3, y)
    rows = sf.Moments.of(X, y, storage="rows")
    dense = sf.Moments.of(X, y, storage="per-class")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        of_rows = sf.LDA(divisor="averaged").fit_moments(rows)
        of_dense = sf.LDA(divisor="averaged").fit_moments(dense)
    np.testing.assert_array_equal(of_rows.means_[3], of_dense.means_[3])
    np.testing.assert_allclose(
        of_rows.decision_function(X), of_dense.decision_function(X), rtol=1e-6
    )
