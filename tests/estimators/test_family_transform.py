"""Power transforms as a setting: densities, samples and boundaries in the units of the rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

import suffice as sf
from suffice import LDA, QDA, GaussianClassifier, Hyperplane, Moments, PowerTransform
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    SufficeWarning,
)

FAMILY = [
    LDA(power="yeo-johnson"),
    QDA(power="yeo-johnson", shrinkage="oas"),
    QDA(power="yeo-johnson", estimate="predictive"),
    GaussianClassifier("VEI", power="yeo-johnson"),
]


def skewed(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b"])[rng.integers(0, 2, n)]
    z = rng.normal(size=(n, d)) * 0.6 + (y == "b")[:, None]
    return np.exp(z), y


def test_posteriors_are_those_of_a_pipeline_of_scikit_learn_and_ours():
    X, y = skewed()
    pipeline = make_pipeline(StandardScaler(), PowerTransformer(standardize=False), LDA())
    ours = LDA(power="yeo-johnson").fit(X, y)
    np.testing.assert_allclose(
        ours.predict_proba(X), pipeline.fit(X, y).predict_proba(X), atol=1e-4
    )
    assert ours.score(X, y) >= LDA().fit(X, y).score(X, y)


@pytest.mark.parametrize("estimator", FAMILY, ids=str)
def test_the_density_of_one_feature_integrates_to_one(estimator):
    X, y = skewed(d=1)
    est = estimator.fit(X, y)
    edges = [-np.inf, *np.quantile(X, [0, 0.2, 0.5, 0.8, 1]), 20, np.inf]

    def density(x):
        return np.exp(est.model_.log_density(np.array([[x]]))[0])

    parts = [integrate.quad(density, a, b, limit=200)[0] for a, b in pairwise(edges)]
    assert sum(parts) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("estimator", FAMILY[:2], ids=str)
def test_the_density_of_two_features_integrates_to_one(estimator):
    X, y = skewed(n=80)
    est = estimator.fit(X, y)
    t = est.moments_.power
    # Gauss–Legendre in transformed coordinates, carried to the rows and weighted by 1 / slope
    means, spread = est.means_, np.sqrt(np.max(np.atleast_3d(est.covariance_)))
    nodes, weights = np.polynomial.legendre.leggauss(160)
    low, high = means.min(0) - 9 * spread, means.max(0) + 9 * spread
    grids = [(a + b) / 2 + (b - a) / 2 * nodes for a, b in zip(low, high, strict=True)]
    steps = [(b - a) / 2 * weights for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 2)
    rows = t.inverse(points)
    values = np.exp(est.model_.log_density(rows) - t.log_jacobian(rows)).reshape(160, 160)
    assert np.einsum("i,j,ij->", *steps, values) == pytest.approx(1, abs=1e-8)
    # and by brute force in the units of the rows, over most of the mass
    edges = [
        np.linspace(a, b, 801) for a, b in zip(t.inverse(low[None])[0], [40, 40], strict=True)
    ]
    middles = [(e[1:] + e[:-1]) / 2 for e in edges]
    box = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = np.prod([e[1] - e[0] for e in edges])
    assert np.exp(est.model_.log_density(box)).sum() * cell == pytest.approx(1, abs=0.02)


def test_class_densities_carry_the_jacobian():
    X, y = skewed()
    est = QDA(power="yeo-johnson").fit(X, y)
    t = est.moments_.power
    inner = QDA().fit(t.apply(X), y)
    expected = inner.model_.class_log_density(t.apply(X)) + t.log_jacobian(X)[:, None]
    np.testing.assert_allclose(est.model_.class_log_density(X), expected, rtol=1e-10)
    np.testing.assert_allclose(est.predict_proba(X), inner.predict_proba(t.apply(X)))
    joint = est.model_.class_log_density(X) + np.log(est.priors_)
    np.testing.assert_allclose(est.model_.log_density(X), np.logaddexp(*joint.T), rtol=1e-10)
    rows = joint[np.arange(len(y)), np.searchsorted(est.classes_, y)]
    assert est.log_likelihood() == pytest.approx(rows.sum(), rel=1e-10)
    assert est.log_likelihood() > QDA().fit(X, y).log_likelihood()
    qda = QDA().fit(X, y)
    assert est.model_.bic(est.moments_) < qda.model_.bic(qda.moments_)


def test_samples_look_like_the_rows():
    t = PowerTransform([-0.5, 0.0], 1.0, 0.5, high=6.0)
    truth = QDA(power=t).fit(*skewed(n=400))
    X, y = truth.sample(3000, random_state=0)
    est = QDA(power=t).fit(X, y)
    draws, labels = est.sample(3000, random_state=1)
    for label in "ab":
        for j in range(2):
            assert ks_2samp(draws[labels == label, j], X[y == label, j]).pvalue > 1e-3
    plain, plain_labels = QDA().fit(X, y).sample(3000, random_state=1)
    assert ks_2samp(plain[plain_labels == "a", 0], X[y == "a", 0]).pvalue < 1e-6
    # log densities of draws and of rows have one law too
    assert ks_2samp(est.model_.log_density(draws), est.model_.log_density(X)).pvalue > 1e-3


@pytest.mark.parametrize("estimator", FAMILY, ids=str)
@given(st.lists(st.floats(-9, 9), min_size=2, max_size=2), st.integers(0, 99))
def test_a_change_of_units_changes_nothing(estimator, powers, seed):
    X, y = skewed(n=60, seed=seed)
    units = 10.0 ** np.array(powers)
    est = clone(estimator)
    before = est.fit(X, y).predict_log_proba(X)
    after = est.fit((X + 1) * units, y).predict_log_proba((X + 1) * units)
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-8)


def test_exponents_of_one_change_nothing(iris):
    X, y = iris
    one = QDA(power=PowerTransform(np.ones(4))).fit(X, y)
    two = QDA().fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.model_.log_density(X), two.model_.log_density(X))
    assert one.model_.bic(one.moments_) == pytest.approx(two.model_.bic(two.moments_))


def test_the_first_chunk_fixes_the_transform():
    X, y = skewed(n=400)
    est = LDA(power="yeo-johnson")
    first, *batches = np.array_split(np.arange(400), 4)
    est.partial_fit(X[first], y[first])
    for rows in batches:
        with pytest.warns(SufficeWarning, match="keeps power as chosen"):
            est.partial_fit(X[rows], y[rows])
    assert est.moments_.power.equals(PowerTransform.of(X[:100]))
    whole = LDA(power=est.moments_.power).fit(X, y)
    np.testing.assert_allclose(est.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    with pytest.warns(SufficeWarning, match="keeps power as chosen"):
        est.forget(X[300:], y[300:])
    part = LDA(power=est.moments_.power).fit(X[:300], y[:300])
    np.testing.assert_allclose(est.predict_proba(X), part.predict_proba(X), rtol=1e-7)


def test_moments_of_transformed_rows_are_enough(iris):
    X, y = iris
    moments = Moments.of(X, y, power="yeo-johnson")
    one = QDA(power="yeo-johnson").fit(X, y)
    for est in (QDA(power="yeo-johnson"), QDA(), QDA(power=moments.power)):
        fitted = est.fit_moments(moments)
        np.testing.assert_array_equal(fitted.predict_proba(X), one.predict_proba(X))
    with pytest.raises(MissingStatisticsError, match="power='yeo-johnson'"):
        QDA(power="yeo-johnson").fit_moments(Moments.of(X, y))
    with pytest.raises(FeatureMismatchError, match="a different power transform"):
        QDA(power=PowerTransform(np.ones(4))).fit_moments(moments)


def test_files_keep_the_transform(tmp_path):
    X, y = skewed()
    for setting in ("yeo-johnson", PowerTransform([0.2, -0.5], 1.0, 2.0, high=9.0)):
        est = QDA(power=setting).fit(X, y)
        est.save(tmp_path / "m.suffice")
        back = sf.load(tmp_path / "m.suffice")
        np.testing.assert_array_equal(back.predict_proba(X), est.predict_proba(X))
        np.testing.assert_array_equal(back.model_.log_density(X), est.model_.log_density(X))
        assert back.moments_.power.equals(est.moments_.power)
        found = back.get_params()["power"]
        assert found == setting if isinstance(setting, str) else found.equals(setting)


def test_the_setting_is_called_power_and_the_method_transform():
    X, y = skewed()
    est = LDA(power="yeo-johnson")
    assert est.get_params()["power"] == "yeo-johnson"
    assert "power='yeo-johnson'" in repr(est)
    assert clone(est).get_params() == est.get_params()
    assert est.set_params(power=None).get_params()["power"] is None
    est.set_params(power="yeo-johnson").fit(X, y)
    frame = est.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == ["lda0"]
    inner = LDA().fit(est.moments_.power.apply(X), y)
    np.testing.assert_allclose(
        frame.to_numpy(), inner.transform(est.moments_.power.apply(X)), rtol=1e-9, atol=1e-12
    )
    assert est.fit_transform(X, y).shape == (300, 1)


def test_boundaries_are_of_transformed_rows_and_say_so():
    X, y = skewed()
    est = LDA(power="yeo-johnson").fit(X, y)
    with pytest.raises(InvalidParameterError, match="coordinates='transformed'"):
        est.boundary("a", "b")
    boundary = est.boundary("a", "b", coordinates="transformed")
    assert isinstance(boundary, Hyperplane)
    log_odds = boundary.evaluate(est.moments_.power.apply(X))
    np.testing.assert_allclose(log_odds, -est.decision_function(X), rtol=1e-8, atol=1e-8)
    with pytest.raises(InvalidParameterError, match="coordinates must be"):
        est.boundary("a", "b", coordinates="polar")


def test_bayes_error_is_that_of_the_transformed_rows():
    X, y = skewed()
    est = LDA(power="yeo-johnson").fit(X, y)
    inner = LDA().fit(est.moments_.power.apply(X), y)
    assert est.model_.bayes_error().is_exact
    assert est.model_.bayes_error() == pytest.approx(inner.model_.bayes_error())


def test_many_rows_are_scored_block_by_block(monkeypatch):
    from suffice.core.model import transformed

    X, y = skewed()
    est = QDA(power="yeo-johnson").fit(X, y)
    whole = [est.predict_log_proba(X), est.predict(X), est.model_.log_density(X)]
    monkeypatch.setattr(transformed, "BLOCK", 64)
    blocks = [est.predict_log_proba(X), est.predict(X), est.model_.log_density(X)]
    for one, two in zip(whole, blocks, strict=True):
        np.testing.assert_array_equal(one, two)
    X[200, 1] = np.nan  # integrated out, in whichever block it is
    np.testing.assert_array_equal(
        est.predict_log_proba(X)[190:210], est.predict_log_proba(X[190:210])
    )
    X[200, 1] = np.inf
    with pytest.raises(InvalidInputError, match="row 200, column 1"):
        est.predict(X)


def test_priors_costs_and_temperature_pass_through():
    X, y = skewed()
    est = QDA(power="yeo-johnson", temperature=0.5).fit(X, y)
    t = est.moments_.power
    inner = QDA(temperature=0.5).fit(t.apply(X), y).with_priors([0.9, 0.1])
    changed = est.with_priors([0.9, 0.1])
    np.testing.assert_allclose(changed.predict_proba(X), inner.predict_proba(t.apply(X)))


@pytest.mark.parametrize("setting", ["box-cox", 3, ["yeo-johnson"]])
def test_unknown_transforms_are_refused(iris, setting):
    with pytest.raises(InvalidParameterError, match="power must be"):
        LDA(power=setting).fit(*iris)


@pytest.mark.parametrize("estimator", [LDA, QDA])
def test_a_large_mean_costs_no_digit_of_a_posterior(estimator):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    X = rng.gamma(2, size=(500, 3)) + 0.7 * y[:, None]
    X = np.round(X * 2**20) / 2**20  # so that the shift itself rounds nothing
    near = estimator(power="yeo-johnson").fit(X, y).predict_log_proba(X)
    far = estimator(power="yeo-johnson").fit(X + 2**27, y).predict_log_proba(X + 2**27)
    np.testing.assert_allclose(far, near, rtol=1e-11, atol=1e-11)
