"""Naive Bayes for counts beside scikit-learn's classes and SciPy's distributions."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import suffice as sf
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    TooFewClassesError,
)

KINDS = ["multinomial", "complement", "bernoulli", "poisson"]


@pytest.fixture(name="counts", scope="module")
def _counts():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1])
    rates = rng.gamma(0.5, 1.0, (3, 12))
    return rng.poisson(rates[np.searchsorted(["a", "b", "c"], y)]), y


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 7.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_posteriors_are_those_of_scikit_learn(counts, alpha, make):
    X, y = make(counts[0]), counts[1]
    w = np.random.default_rng(1).random(len(y))
    pairs = [
        (sf.CountNB(alpha=alpha), MultinomialNB(alpha=alpha)),
        (sf.CountNB("bernoulli", alpha=alpha), BernoulliNB(alpha=alpha)),
        (
            sf.CountNB("bernoulli", alpha=alpha, binarize=1.0),
            BernoulliNB(alpha=alpha, binarize=1.0),
        ),
        # theirs has no priors
        (sf.CountNB("complement", alpha=alpha, priors="uniform"), ComplementNB(alpha=alpha)),
    ]
    for ours, theirs in pairs:
        ours.fit(X, y, w)
        theirs.fit(X, y, w)
        expected = theirs.predict_log_proba(X)
        assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-12, atol=1e-11)
        assert_array_equal(ours.predict(X), theirs.predict(X))


def test_densities_are_those_of_scipy(counts):
    X, y = counts
    multinomial = sf.CountNB(alpha=0.5).fit(X, y)
    theta = np.exp(multinomial.feature_log_weights_)
    expected = np.stack([stats.multinomial.logpmf(X, X.sum(1), t / t.sum()) for t in theta], 1)
    assert_allclose(multinomial.model_.class_log_density(X), expected, rtol=1e-9, atol=1e-9)
    poisson = sf.CountNB("poisson", alpha=0.5).fit(X, y)
    rates = poisson.model_.model.means
    expected = np.stack([stats.poisson.logpmf(X, r).sum(1) for r in rates], 1)
    assert_allclose(poisson.model_.class_log_density(X), expected, rtol=1e-9, atol=1e-9)
    log_joint = expected + np.log(poisson.priors_)
    log_density = np.logaddexp.reduce(log_joint, axis=1)
    sparse_rows = sparse.csr_array(X)
    assert_allclose(poisson.model_.log_density(sparse_rows), log_density, rtol=1e-9)
    bernoulli = sf.CountNB("bernoulli").fit(X, y)
    p = bernoulli.model_.model.means
    expected = np.stack([stats.bernoulli.logpmf(X > 0, q).sum(1) for q in p], 1)
    assert_allclose(bernoulli.model_.class_log_density(X), expected, rtol=1e-9)


def test_poisson_rates_are_posterior_means_about_the_mean_count(counts):
    X, y = counts
    alpha = 0.7
    rates = sf.CountNB("poisson", alpha=alpha).fit(X, y).model_.model.means
    for k, label in enumerate("abc"):
        rows = X[y == label]
        # Gamma prior of shape α and mean r: (N + α) / (n + α / r)
        expected = (rows.sum(0) + alpha) / (len(rows) + alpha / X.mean())
        assert_allclose(rates[k], expected, rtol=1e-12)
    # given the total, the multinomial model with the same α
    theta = np.exp(sf.CountNB(alpha=alpha).fit(X, y).feature_log_weights_)
    assert_allclose(rates / rates.sum(1, keepdims=True), theta, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_forgetting_equal_one_fit(counts, kind, tmp_path):
    X, y = sparse.csr_array(counts[0]), counts[1]
    whole = sf.CountNB(kind, alpha=0.2).fit(X[:150], y[:150])
    parts = sf.CountNB(kind, alpha=0.2)
    for lo in range(0, 200, 50):
        parts.partial_fit(X[lo : lo + 50], y[lo : lo + 50])
    parts.forget(X[150:], y[150:])
    assert_array_equal(parts.moments_.sums, whole.moments_.sums)
    assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    merged = sf.CountNB(kind, alpha=0.2).fit_moments(whole.moments_)
    assert_array_equal(merged.predict_proba(X), whole.predict_proba(X))
    whole.save(tmp_path / "model.suffice")
    loaded = sf.load(tmp_path / "model.suffice")
    assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))
    assert loaded.get_params() == whole.get_params()


def test_what_was_chosen_is_kept_by_a_file_and_by_batches(counts, tmp_path):
    X, y = counts
    model = sf.CountNB(alpha="auto", temperature="auto").fit(X, y)
    model.save(tmp_path / "model.suffice")
    loaded = sf.load(tmp_path / "model.suffice")
    assert loaded.settings_.alpha == model.settings_.alpha
    assert loaded.settings_.temperature == model.settings_.temperature
    chosen = model.settings_.alpha
    assert model.partial_fit(X[:5], y[:5]).settings_.alpha == chosen


@pytest.mark.parametrize("kind", KINDS)
def test_other_priors_and_costs_need_no_fit(counts, kind):
    X, y = counts
    fitted = sf.CountNB(kind).fit(X, y)
    uniform = sf.CountNB(kind, priors="uniform").fit(X, y)
    assert_allclose(fitted.with_priors("uniform").predict_proba(X), uniform.predict_proba(X))
    rejecting = fitted.with_costs(sf.Costs(reject=0.05))
    unsure = fitted.predict_proba(X).max(1) < 0.95
    assert_array_equal([label is None for label in rejecting.predict(X)], unsure)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "poisson"])
def test_samples_have_the_means_of_the_model(counts, kind):
    X, y = counts
    model = sf.CountNB(kind).fit(X, y)
    drawn, labels = model.sample(20_000, random_state=0)
    assert_array_equal(drawn, np.floor(drawn))
    for k, label in enumerate(model.classes_):
        rows = drawn[labels == label]
        error = rows.std(0) / np.sqrt(len(rows)) + 1e-9
        assert (np.abs(rows.mean(0) - model.model_.model.means[k]) < 5 * error).all()


def test_fractional_counts_can_be_fitted_but_not_drawn(counts):
    X, y = counts
    model = sf.CountNB("poisson").fit(X / 3, y)
    assert model.score(X / 3, y) > 0.5
    with pytest.raises(InvalidParameterError, match="fractional counts"):
        model.sample(3)


def test_the_complement_has_no_density(counts):
    model = sf.CountNB("complement").fit(*counts)
    assert not model.model_.has_density
    for ask in (model.sample, model.log_likelihood):
        with pytest.raises(InvalidParameterError, match="not log densities"):
            ask()


def test_top_features_are_the_greatest_log_odds(counts):
    X, y = counts
    model = sf.CountNB().fit(X, y)
    w = model.feature_log_weights_
    log_odds = w[1] - (w[0] + w[2]) / 2
    assert [j for j, _ in model.top_features("b", 3)] == np.argsort(-log_odds)[:3].tolist()
    names = [f"word{j}" for j in range(12)]
    frame = sf.CountNB().fit(pd.DataFrame(X, columns=names), y)
    assert frame.top_features("b", 1)[0][0] == names[np.argmax(log_odds)]
    assert_allclose(frame.top_features("b", 1)[0][1], log_odds.max())
    with pytest.raises(InvalidParameterError, match="names holds 1 name,"):
        model.top_features("b", names=["one"])


def test_an_empty_row_gets_the_prior_and_a_class_without_counts_is_uniform():
    X = np.array([[2, 1], [0, 0], [0, 0], [0, 3]])
    y = ["a", "none", "none", "a"]
    model = sf.CountNB().fit(X, y)
    assert_allclose(model.predict_proba([[0, 0]]), [[0.5, 0.5]])
    assert_allclose(np.exp(model.feature_log_weights_[1]), [0.5, 0.5])
    for kind in KINDS:
        assert np.isfinite(sf.CountNB(kind).fit(X, y).predict_proba(sparse.csr_array(X))).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_absent_words_are_evidence_for_bernoulli_and_poisson(make):
    X = np.array([[2, 1], [1, 0], [0, 0], [0, 1]])
    y = ["a", "a", "b", "b"]
    empty = make(np.zeros((1, 2)))
    for kind in ("multinomial", "complement"):
        assert_allclose(sf.CountNB(kind).fit(X, y).predict_proba(empty), [[0.5, 0.5]])
    # p = (N + 1) / (2 + 2), with N of class a 2 and 1, of class b 0 and 1
    a = (1 - 3 / 4) * (1 - 2 / 4)
    b = (1 - 1 / 4) * (1 - 2 / 4)
    bernoulli = sf.CountNB("bernoulli").fit(X, y)
    assert_allclose(bernoulli.predict_proba(empty), [[a / (a + b), b / (a + b)]])
    # λ = (N + 1) / (2 + 1 / r), r = 5 / 8 the mean count; N of class a 3 and 1, of class b 0 and 1
    a = np.exp(-(4 + 2) / (2 + 8 / 5))
    b = np.exp(-(1 + 2) / (2 + 8 / 5))
    poisson = sf.CountNB("poisson").fit(X, y)
    assert_allclose(poisson.predict_proba(empty), [[a / (a + b), b / (a + b)]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_odd_sparse_rows_are_fitted_scored_and_left_out_like_dense_ones(counts, kind, index):
    X, y = counts
    n, d = X.shape
    # every row holds all its columns, zeros too, and a second entry of one column
    data = np.concatenate([X, np.ones((n, 1))], axis=1).astype(float).ravel()
    columns = np.tile([*range(d), 1], n).astype(index)
    starts = np.arange(0, n * (d + 1) + 1, d + 1).astype(index)
    odd = sparse.csr_array((data, columns, starts), shape=(n, d))
    dense = X.astype(float)
    dense[:, 1] += 1
    model = sf.CountNB(kind).fit(dense, y)
    assert_allclose(
        sf.CountNB(kind).fit(odd, y).predict_proba(dense), model.predict_proba(dense)
    )
    for rows in (odd, odd.tocsc(), odd.tocoo(), sparse.csr_matrix(odd)):
        assert_allclose(model.predict_proba(rows), model.predict_proba(dense), rtol=1e-12)
    left_out = sf.leave_one_out(sf.CountNB(kind), odd, y).posteriors
    assert_allclose(
        left_out, sf.leave_one_out(sf.CountNB(kind), dense, y).posteriors, rtol=1e-9
    )


@pytest.mark.slow
def test_ten_million_features_are_fitted_and_scored():
    r = np.random.default_rng(0)
    words = r.integers(0, 10**7, (40, 20))
    y = np.repeat([0, 1], 20)
    X = sparse.csr_array(
        (np.ones(800), words.ravel(), np.arange(0, 801, 20)), shape=(40, 10**7)
    )
    model = sf.CountNB().fit(X, y)
    # θ = (N + 1) / (400 + 10⁷), and each word of these rows was seen in its own class only
    seen = np.unique(words, return_counts=True)[1]
    assert seen.max() == 1
    odds = 2.0**20
    assert_allclose(model.predict_proba(X)[:20, 1], 1 / (1 + odds))
    assert_allclose(model.predict_proba(X)[20:, 1], odds / (1 + odds))


def test_a_class_without_rows_has_prior_zero():
    model = sf.CountNB().partial_fit([[1, 0], [0, 1]], ["a", "b"], classes=["a", "b", "c"])
    assert model.predict_proba([[1, 0]])[0, 2] == 0.0
    model.partial_fit([[3, 3]], ["c"])
    assert model.predict_proba([[1, 0]])[0, 2] > 0.0


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_to_predict_are_checked_too(counts, make):
    model = sf.CountNB().fit(*counts)
    bad = counts[0][:3].astype(float)
    bad[1, 4] = -2
    with pytest.raises(InvalidInputError, match="row 1, column 4 holds -2"):
        model.predict(make(bad))
    bad[1, 4] = np.nan
    with pytest.raises(InvalidInputError, match="NaN: row 1, column 4"):
        model.predict(make(bad))
    with pytest.raises(ValueError, match="features"):
        model.predict(make(counts[0][:, :5]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "gaussian"}, "kind must be one of"),
        ({"alpha": 0.0}, "alpha must be a positive number or 'auto'"),
        ({"alpha": "best"}, "alpha must be a positive number or 'auto'"),
        ({"temperature": 0}, "temperature must be a positive number"),
        ({"binarize": -1.0}, "at least 0"),
        ({"priors": [0.5, 0.2, 0.2]}, "priors sum to 0.9"),
    ],
)
def test_settings_outside_their_domain_are_refused(counts, settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        sf.CountNB(**settings).fit(*counts)


def test_one_class_is_refused():
    with pytest.raises(TooFewClassesError, match="class"):
        sf.CountNB().fit([[1, 2], [3, 4]], ["a", "a"])


def test_sums_of_another_kind_are_refused(counts):
    X, y = counts
    with pytest.raises(MissingStatisticsError, match=r"needs sums with threshold=0\.0"):
        sf.CountNB("bernoulli").fit_moments(sf.CountSums.of(X, y))
    with pytest.raises(InvalidParameterError, match="alpha='auto' is chosen by leave-one-out"):
        sf.CountNB(alpha="auto").fit_moments(sf.CountSums.of(X, y))
    with pytest.raises(InvalidParameterError, match="not to Moments"):
        sf.CountNB().fit_moments(sf.Moments.of(X, y))
    model = sf.CountNB().fit(X, y)
    with pytest.raises(FeatureMismatchError):
        model.model_.model.posterior(sparse.csr_array(X[:, :3]))


def test_exports_score_like_the_model(counts, tmp_path):
    y = counts[1]
    X = pd.DataFrame(counts[0], columns=[f"w{j}" for j in range(12)])
    for kind in ("multinomial", "complement", "poisson"):
        model = sf.CountNB(kind).fit(X, y)
        model.export(tmp_path / "model.sql", to="sql")
        with duckdb.connect() as connection:
            connection.register("rows", X)
            answers = connection.execute((tmp_path / "model.sql").read_text()).df()
        posteriors = answers[[c for c in answers if c.startswith("p")]].to_numpy()
        assert_allclose(posteriors[:, -3:], model.predict_proba(X), atol=1e-12)
    with pytest.raises(InvalidParameterError, match="above a threshold"):
        sf.CountNB("bernoulli").fit(X, y).export(tmp_path / "model.sql", to="sql")


def test_sparse_rows_are_refused_with_the_cure_where_sums_would_be_dense(counts):
    X = sparse.csr_array(counts[0])
    for model in (sf.LDA(), sf.QDA(), sf.LeastSquaresClassifier()):
        with pytest.raises(InvalidInputError, match="TruncatedSVD"):
            model.fit(X, counts[1])


def test_a_notebook_shows_the_fitted_classes(counts):
    html = sf.CountNB().fit(*counts)._repr_html_()
    assert "Fitted to 200 rows, 12 features, 3 classes" in html
