"""Most probable and predictive models as settings of the classifiers."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, multivariate_t

import suffice as sf
from suffice import LDA, QDA, Dirichlet, GaussianClassifier, NormalInverseWishart
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
)

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "niw.json").read_text(encoding="utf-8")
)["datasets"]
RULES = {
    "lda_predictive": LDA,
    "qda_predictive": QDA,
}
LEARNT = [
    LDA(estimate="map"),
    QDA(estimate=NormalInverseWishart.flat(4, use="map")),
    LDA(estimate="predictive"),
    QDA(estimate="predictive"),
    GaussianClassifier(tied=[["setosa", "virginica"]], estimate="predictive"),
    GaussianClassifier(tied=[["setosa", "virginica"]], estimate="map", priors=Dirichlet(3)),
]


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("rule", RULES)
def test_log_posteriors_are_those_of_the_textbook(table, name, rule):
    X, y, _ = table(name)
    est = RULES[rule](estimate=NormalInverseWishart.flat(X.shape[1])).fit(X, y)
    rows, expected = np.array(REFERENCE[name]["rows"]), np.array(REFERENCE[name][rule])
    np.testing.assert_allclose(est.predict_log_proba(rows), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("estimator", LEARNT, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_a_change_of_units_and_origin_changes_nothing(iris, estimator, seed):
    X, y = iris
    units = 10.0 ** np.random.default_rng(seed).uniform(-9, 9, 4)
    before = estimator.fit(X, y).predict_log_proba(X)
    after = estimator.fit((X + 100) * units, y).predict_log_proba((X + 100) * units)
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("estimator", LEARNT, ids=str)
def test_many_rows_are_scored_as_few_are(iris, estimator):
    X, y = iris
    est = estimator.fit(X, y)
    many = np.tile(X, (300, 1))
    model = est.model_
    for answer in (
        model.log_posterior,
        model.posterior,
        model.class_log_density,
        model.log_density,
    ):
        few = answer(X)
        found = answer(many)
        np.testing.assert_allclose(found[:150], few, rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(found[-150:], found[150:300])
    np.testing.assert_array_equal(est.predict(many)[:150], est.predict(X))


def test_predictive_densities_are_those_of_scipy(iris):
    X, y = iris
    est = QDA(estimate="predictive").fit(X, y)
    prior = NormalInverseWishart.default(
        est.moments_.weights, est.moments_.means, est.moments_.pooled_scatter
    )
    for k in range(3):
        learned = prior.posterior(50.0, est.moments_.means[k], est.moments_.scatters[k])
        # t with f degrees at m, shape Ψ (κ + 1) / (κ f)
        f, kappa = learned.predictive_degrees, learned.mean_strength
        shape = learned.scale * ((kappa + 1) / (kappa * f))
        expected = multivariate_t(learned.mean, shape, f).logpdf(X)
        np.testing.assert_allclose(est.model_.class_log_density(X)[:, k], expected, rtol=1e-9)
        spread = shape * f / (f - 2)
        np.testing.assert_allclose(est.covariance_[k], spread, rtol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from([True, False]))
def test_one_row_or_fewer_rows_than_features_are_enough(seed, tied):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 6)), np.array([0, 1, 1, 1, 2, 2, 2, 2, 2])
    est = GaussianClassifier(tied=tied, estimate="predictive").fit(X, y)
    posterior = est.predict_proba(rng.normal(size=(20, 6)))
    np.testing.assert_allclose(posterior.sum(1), 1)
    assert np.isfinite(est.model_.log_density(X)).all()


def test_a_flat_prior_needs_rows_and_says_so(iris):
    X, y = iris
    rows = np.r_[0:3, 50:150]
    with pytest.raises(InvalidInputError, match=r"class 'setosa': .*use a proper prior"):
        QDA(estimate=NormalInverseWishart.flat(4)).fit(X[rows], y[rows])
    with pytest.raises(
        InvalidInputError, match=r"classes 'setosa', 'versicolor', 'virginica'"
    ):
        LDA(estimate=NormalInverseWishart.flat(5)).fit(np.c_[X, X[:, :1]], y)


def test_most_probable_parameters_are_prior_plus_statistics(iris):
    X, y = iris
    prior = NormalInverseWishart(np.full(4, 3.0), 2.0, np.eye(4), 9.0, use="map")
    est = QDA(estimate=prior).fit(X, y)
    for k, label in enumerate(est.classes_):
        x = X[y == label]
        learned = prior.posterior(50.0, x.mean(0), 50 * np.cov(x.T, bias=True))
        np.testing.assert_allclose(est.means_[k], learned.map_mean, rtol=1e-10)
        np.testing.assert_allclose(est.covariance_[k], learned.map_covariance, rtol=1e-9)


def test_the_likelihood_of_most_probable_parameters_is_read_from_moments(iris):
    X, y = iris
    est = LDA(estimate="map").fit(X, y)
    rows = est.model_.class_log_density(X) + np.log(est.priors_)
    expected = rows[np.arange(150), np.searchsorted(est.classes_, y)].sum()
    assert est.log_likelihood() == pytest.approx(expected, rel=1e-10)
    assert est.log_likelihood() < LDA().fit(X, y).log_likelihood()
    with pytest.raises(MissingStatisticsError, match="log_joint"):
        LDA(estimate="predictive").fit(X, y).log_likelihood()


def test_samples_of_the_predictive_model_follow_its_density(iris):
    X, y = iris
    est = QDA(estimate="predictive").fit(X[::10], y[::10])
    draws, labels = est.sample(4000, random_state=0)
    assert abs((labels == "setosa").mean() - 1 / 3) < 0.03
    for k, label in enumerate(est.classes_):
        x = draws[labels == label]
        # under the density itself, −2 (log p − its maximum) has the same law for fresh draws
        mode = est.model_.class_log_density(est.means_[k : k + 1])[0, k]
        ours = mode - est.model_.class_log_density(x)[:, k]
        scale = est.model_.model.shapes[k].dense() / (
            est.model_.model.shares[k] * est.model_.model.degrees[k]
        )
        t = multivariate_t(est.means_[k], scale, est.model_.model.degrees[k], seed=1)
        theirs = mode - est.model_.class_log_density(t.rvs(2000))[:, k]
        assert ks_2samp(ours, theirs).pvalue > 1e-3


def test_the_predictive_model_is_more_doubtful_than_the_plug_in(iris):
    X, y = iris
    rows = np.r_[0:8, 50:58, 100:108]
    plug, full = QDA(shrinkage="oas"), QDA(estimate="predictive")
    doubts = [
        est.fit(X[rows], y[rows]).model_.log_density(X + 5).mean() for est in (plug, full)
    ]
    assert doubts[1] > doubts[0]


def test_bayes_error_of_predictive_models_is_simulated(iris):
    found = QDA(estimate="predictive").fit(*iris).model_.bayes_error(20_000)
    exact = QDA().fit(*iris).model_.bayes_error(20_000)
    assert not found.is_exact
    assert abs(found - exact) < 0.02
    assert found <= found.upper_bound


def test_boundaries_exist_where_scores_are_quadratic(iris):
    X, y = iris
    for est in (LDA(estimate="map"), QDA(estimate="map")):
        fitted = est.fit(X, y)
        boundary = fitted.boundary("setosa", "virginica")
        scores = fitted.predict_log_proba(X)
        np.testing.assert_allclose(
            boundary.evaluate(X), scores[:, 0] - scores[:, 2], rtol=1e-6, atol=1e-6
        )
    predictive = LDA(estimate="predictive").fit(X, y)
    with pytest.raises(InvalidParameterError, match="Student t"):
        predictive.boundary("setosa", "virginica")
    assert not hasattr(predictive, "coef_")
    assert predictive.transform(X).shape == (150, 2)


def test_priors_are_smoothed_by_imagined_rows(iris):
    X, y = iris
    rows = np.r_[0:10, 50:80, 100:140]
    counts = np.array([10, 30, 40])
    for estimate in ("plug-in", "predictive"):
        est = LDA(estimate=estimate, priors=Dirichlet(2.0)).fit(X[rows], y[rows])
        np.testing.assert_allclose(est.priors_, (counts + 2) / 86)
    est = LDA(estimate="map", priors=Dirichlet(2.0)).fit(X[rows], y[rows])
    np.testing.assert_allclose(est.priors_, (counts + 1) / 83)
    changed = est.with_priors([0.2, 0.3, 0.5])
    np.testing.assert_allclose(changed.priors_, [0.2, 0.3, 0.5])
    assert changed.get_params()["priors"] == [0.2, 0.3, 0.5]


def test_a_class_without_rows_is_known_by_a_proper_prior_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    for est, known in [
        (QDA(estimate="predictive", priors=Dirichlet(1.0)), True),
        (QDA(estimate="predictive"), False),
        (QDA(estimate=NormalInverseWishart.flat(2), priors=Dirichlet(1.0)), False),
        (QDA(estimate="map", priors=Dirichlet(2.0)), False),
    ]:
        est.partial_fit(X, y, classes=[0, 1, 2])
        assert (est.predict_proba(X)[:, 2] > 0).all() == known
        assert np.isfinite(est.predict_proba(X)).all()


def test_constant_and_duplicated_columns_are_survived_with_a_warning(iris):
    X, y = iris
    wide = np.c_[X, np.full(150, 7.0), X[:, 0]]
    for est in (LDA(estimate="predictive"), QDA(estimate="map")):
        with pytest.warns(DegenerateDataWarning, match="constant"):
            assert est.fit(wide, y).score(wide, y) > 0.95


@pytest.mark.parametrize(
    "estimator",
    [
        QDA(estimate="predictive", priors=Dirichlet(0.5)),
        LDA(estimate=NormalInverseWishart.flat(4, use="map")),
        QDA(estimate=NormalInverseWishart(np.ones(4), 1.0, np.eye(4), 8.0, use="map")),
        LDA(shrinkage=sf.Shrinkage("ledoit-wolf", target="identity")),
    ],
    ids=str,
)
def test_files_keep_every_setting(tmp_path, iris, estimator):
    X, y = iris
    estimator.fit(X, y).save(tmp_path / "m.suffice")
    back = sf.load(tmp_path / "m.suffice")
    np.testing.assert_array_equal(back.predict_proba(X), estimator.predict_proba(X))
    assert repr(back) == repr(estimator)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimate": "bayes"}, "estimate must be one of 'plug-in'"),
        ({"estimate": 3}, "estimate must be one of"),
        ({"estimate": "map", "shrinkage": 0.1}, "takes no pooling or shrinkage"),
        ({"estimate": "map", "pooling": "auto"}, "takes no pooling or shrinkage"),
        ({"estimate": "predictive", "covariance": "diagonal"}, "learns full covariances"),
        ({"estimate": "map", "priors": Dirichlet(0.5)}, "use an alpha of at least 1"),
        (
            {"estimate": NormalInverseWishart(np.ones(3), 1, np.eye(3), 5, use="map")},
            "prior has 3 features",
        ),
        (
            {"estimate": NormalInverseWishart(np.ones(2), 1, -np.eye(2), 5, use="map")},
            "negative eigenvalues",
        ),
        (
            {"estimate": NormalInverseWishart(np.ones(4), 1, np.eye(4), -90, use="map")},
            "too few for a posterior mode",
        ),
        (
            {
                "estimate": NormalInverseWishart(np.ones(4), np.inf, np.eye(4), 5, use="map"),
            },
            "non-finite",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(iris, settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        GaussianClassifier(**settings).fit(*iris)


def test_naive_bayes_has_no_predictive_density_here(iris):
    with pytest.raises(InvalidParameterError, match="covariance='full'"):
        GaussianClassifier(estimate="predictive", covariance="diagonal").fit(*iris)
