"""A stated model, and the errors of other classifiers under it."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.errors import FeatureMismatchError, InvalidParameterError, UnknownLabelError
from suffice.export.sql import to_sql

LECTURE = ([0.7, 0.3], [[2.0, 1.0], [1.0, 2.0]], np.eye(2))


@pytest.fixture(scope="module")
def lecture():
    return sf.GaussianClassifier.from_parameters(*LECTURE)


@pytest.fixture(scope="module")
def three():
    sigmas = [[[1.0, 0.5], [0.5, 2.0]], np.eye(2), [[1.0, 0.5], [0.5, 2.0]]]
    means = [[0.0, 0.0], [2.0, 1.0], [-1.0, 2.0]]
    return sf.GaussianClassifier.from_parameters([0.5, 0.2, 0.3], means, sigmas, list("cab"))


def test_the_parameters_come_back(lecture, three):
    np.testing.assert_allclose(lecture.priors_, [0.7, 0.3], rtol=1e-15)
    np.testing.assert_allclose(lecture.means_, LECTURE[1], rtol=1e-15)
    np.testing.assert_allclose(lecture.covariance_, np.eye(2), rtol=1e-15)
    assert three.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(three.priors_, [0.2, 0.3, 0.5], rtol=1e-15)
    np.testing.assert_allclose(three.means_, [[2, 1], [-1, 2], [0, 0]], atol=1e-15)
    np.testing.assert_allclose(three.covariance_[0], np.eye(2), rtol=1e-15)


def test_a_covariance_may_be_asymmetric_by_rounding():
    tridiagonal = 2 * np.eye(12) - np.eye(12, k=1) - np.eye(12, k=-1)
    rounded = np.linalg.inv(np.linalg.inv(tridiagonal))
    assert (rounded != rounded.T).any()
    for sigma in ([[1, 1e-17], [0, 1]], [[1e300, 1e283], [0, 1e300]], rounded):
        means = np.arange(2 * len(sigma)).reshape(2, -1)
        model = sf.GaussianClassifier.from_parameters([0.5, 0.5], means, sigma)
        np.testing.assert_array_equal(model.covariance_, model.covariance_.T)
        np.testing.assert_allclose(
            model.covariance_, sigma, rtol=1e-14, atol=1e-15 * np.max(sigma)
        )


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_a_covariance_that_is_not_symmetric_is_refused_in_all_units(scale):
    # a correlation of 0.5 + 1e-10 against 0.5, for features of very different units
    units = np.array([1.0, scale])
    sigma = np.array([[1.0, 0.5 + 1e-10], [0.5, 1.0]]) * np.outer(units, units)
    with pytest.raises(InvalidParameterError, match="not symmetric and positive definite"):
        sf.GaussianClassifier.from_parameters([0.5, 0.5], [[0, 0], [1, 1]], sigma)


def test_classes_of_one_matrix_are_tied_so_that_their_boundary_is_a_line(three):
    assert isinstance(three.boundary("b", "c"), sf.Hyperplane)
    assert isinstance(three.boundary("a", "c"), sf.Quadric)


def test_densities_are_those_of_scipy(three):
    x = np.random.default_rng(0).normal(size=(20, 2))
    expected = [multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 2.0]]).logpdf(x)]
    expected += [multivariate_normal([2, 1], np.eye(2)).logpdf(x)]
    np.testing.assert_allclose(
        three.model_.class_log_density(x)[:, [2, 0]].T, expected, rtol=1e-12
    )


def test_the_bayes_error_with_unequal_priors_has_its_closed_form(lecture):
    # the best line, x₁ − x₂ = −log 7/3, is −(1 + log 7/3) / √2 away from one mean, and
    # −(1 − log 7/3) / √2 from the other
    tau = np.log(0.7 / 0.3)
    expected = 0.7 * norm.cdf(-(1 + tau) / 2**0.5) + 0.3 * norm.cdf(-(1 - tau) / 2**0.5)
    assert lecture.model_.bayes_error() == pytest.approx(expected, rel=1e-12)
    assert round(float(lecture.model_.bayes_error()), 4) == 0.2041
    line = lecture.boundary(0, 1)
    np.testing.assert_allclose([*line.w, line.w_0], [1, -1, tau], atol=1e-12)


def test_a_linear_rule_has_an_exact_true_error(lecture):
    X, y = lecture.sample(200, random_state=1)
    # the same rule written without a normal distribution: a million draws of each class
    big, truth = lecture.sample(1_000_000, random_state=2)
    for rule in (
        TheirLogistic().fit(X, y),
        sf.LDA().fit(X, y),
        sf.Perceptron(learning="batch", variant="pocket").fit(X, y),
    ):
        error = lecture.model_.true_error(rule)
        assert error.is_exact
        assert error == pytest.approx(np.mean(rule.predict(big) != truth), abs=0.0017)
        assert error > lecture.model_.bayes_error()


def test_a_linear_rule_is_exact_between_unequal_covariances_too():
    model = sf.GaussianClassifier.from_parameters([0.4, 0.6], [0.0, 3.0], [1.0, 4.0])
    rule = TheirLogistic().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    cut = -rule.intercept_[0] / rule.coef_[0, 0]
    expected = 0.4 * norm.sf(cut) + 0.6 * norm(3, 2).cdf(cut)
    assert model.model_.true_error(rule).is_exact
    assert model.model_.true_error(rule) == pytest.approx(expected, rel=1e-12)


def test_labels_the_other_way_round_are_seen(lecture):
    model = sf.GaussianClassifier.from_parameters(*LECTURE, classes=["b", "a"])
    X, y = lecture.sample(200, random_state=1)
    swapped = TheirLogistic().fit(X, np.where(y == 0, "b", "a"))
    assert model.model_.true_error(swapped) == pytest.approx(
        lecture.model_.true_error(TheirLogistic().fit(X, y)), rel=1e-4
    )


@pytest.mark.parametrize(
    "rule",
    [
        sf.QDA(),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        sf.LDA(costs=[[0, 5], [1, 0]]),  # its coefficients are not where it decides
        sf.LDA(power="yeo-johnson"),  # they are of transformed rows
        make_pipeline(StandardScaler(), TheirLogistic()),
    ],
)
def test_other_rules_are_simulated_and_never_beat_the_best(lecture, rule):
    X, y = lecture.sample(300, random_state=1)
    big, truth = lecture.sample(400_000, random_state=2)
    error = lecture.model_.true_error(rule.fit(X, y), n_samples=50_000)
    assert not error.is_exact
    simulated = np.mean(rule.predict(big) != truth)
    assert abs(error - simulated) < 4 * np.hypot(error.standard_error, 0.0007)


def test_no_rule_beats_the_best_one_on_the_same_draws(three):
    X, y = three.sample(100, random_state=0)
    best = three.model_.bayes_error(20_000, random_state=3)
    for rule in (sf.LDA().fit(X, y), sf.GaussianNB().fit(X, y)):
        assert three.model_.true_error(rule, 20_000, random_state=3) >= best
    assert three.model_.true_error(three, 20_000, random_state=3) == best
    warm = sf.GaussianClassifier(temperature=3.0).fit(X, y)
    assert warm.model_.true_error(warm, 5000) == warm.model_.bayes_error(5000)


@pytest.mark.parametrize("label", [None, -1])
def test_rows_refused_are_left_out(lecture, label):
    careful = lecture.with_costs(sf.Costs(reject=0.2, reject_label=label))
    big, truth = lecture.sample(400_000, random_state=2)
    kept = careful.predict_proba(big).max(1) >= 0.8
    expected = np.mean(lecture.predict(big[kept]) != truth[kept])
    assert lecture.model_.true_error(careful) == pytest.approx(expected, abs=0.003)


def test_features_are_matched_by_name(lecture):
    named = sf.GaussianClassifier.from_parameters(*LECTURE, feature_names=["u", "v"])
    X, y = named.sample(200, random_state=1)
    frame = pd.DataFrame(X, columns=["u", "v"])[["v", "u"]]
    plain = lecture.model_.true_error(TheirLogistic(tol=1e-10).fit(X, y))
    assert named.model_.true_error(TheirLogistic(tol=1e-10).fit(frame, y)) == pytest.approx(
        plain, rel=1e-5
    )
    tree = DecisionTreeClassifier(max_depth=2).fit(frame, y)
    assert named.model_.true_error(tree, 20_000) < 0.3
    with pytest.raises(FeatureMismatchError, match="'w'"):
        named.model_.true_error(tree.fit(frame.rename(columns={"v": "w"}), y))


def test_labels_that_the_model_does_not_know_are_refused(lecture):
    X, y = lecture.sample(100, random_state=0)
    with pytest.raises(UnknownLabelError):
        lecture.model_.true_error(sf.QDA().fit(X, np.array(["no", "yes"])[y]))


def test_it_is_drawn_and_exported_like_a_fitted_model(three, tmp_path):
    X, y = three.sample(50, random_state=0)
    assert sf.plots.decision_regions(three, X, y, resolution=20).lines
    assert sf.plots.class_densities(three, legend=False).get_xlim()[0] < -1
    query = to_sql(three, "points", columns=["u", "v"])
    con = pytest.importorskip("duckdb").connect()
    points = pd.DataFrame(X, columns=["u", "v"])
    con.register("points", points)
    answers = con.execute(query).fetchdf()
    assert answers["label"].tolist() == three.predict(X).tolist()


def test_it_survives_a_file_and_other_priors(three, tmp_path):
    three.save(tmp_path / "m.suffice")
    again = sf.load(tmp_path / "m.suffice")
    x = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(again.predict_proba(x), three.predict_proba(x))
    assert again.model_.bayes_error(2000) == three.model_.bayes_error(2000)
    np.testing.assert_allclose(again.with_priors("uniform").priors_, 1 / 3)


def test_training_test_true_and_bayes_error_can_be_compared(lecture):
    X, y = lecture.sample(60, random_state=4)
    rule = DecisionTreeClassifier(random_state=0).fit(X, y)
    test = lecture.sample(20_000, random_state=5)
    errors = [
        1 - rule.score(X, y),
        lecture.model_.bayes_error(),
        lecture.model_.true_error(rule),
    ]
    assert errors == sorted(errors)
    assert 1 - rule.score(*test) == pytest.approx(errors[-1], abs=0.02)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"priors": [0.7, 0.4]}, "sum to 1.1"),
        ({"priors": [1.0, 0.0]}, "prior of class 1 is 0"),
        ({"means": [[2.0, np.nan], [1, 2]]}, "finite"),
        ({"covariances": [[1.0, 2.0], [2.0, 1.0]]}, "class 0 is not symmetric and positive"),
        ({"covariances": [np.eye(2), [[1.0, 0.5], [0.0, 1.0]]]}, "class 1 is not symmetric"),
        ({"covariances": np.ones(3)}, r"got shape \(3,\)"),
        ({"classes": ["a", "a"]}, "2 different labels"),
        ({"feature_names": ["u"]}, "2 names"),
    ],
)
def test_parameters_that_are_none_are_refused_by_name(change, said):
    given = dict(zip(("priors", "means", "covariances"), LECTURE, strict=True))
    with pytest.raises(InvalidParameterError, match=said):
        sf.GaussianClassifier.from_parameters(**(given | change))
