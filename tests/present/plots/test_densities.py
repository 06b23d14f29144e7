"""Densities and posteriors are drawn as the model has them."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB as NaiveBayes

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.plots import (
    class_densities,
    decision_regions,
    density_contours,
    density_surface,
    effect_of_temperature,
    posterior_line,
    posterior_surface,
)
from suffice.present.plots.densities import region_levels
from suffice.present.plots.inputs import Fitted


def drawn(ax, kind):
    found = {}
    for line in ax.lines:
        if line.get_label().startswith(f"_{kind}"):
            found[line.get_label().removeprefix(f"_{kind}").strip()] = line
    return found


def test_marginal_densities_are_normal_with_the_class_mean_and_variance(flowers, qda):
    X, y = flowers
    curves = drawn(class_densities(qda, X, y, feature=2, weighted=False), "density")
    assert list(curves) == list(qda.classes_)
    for label, line in curves.items():
        x, p = line.get_data()
        rows = X[y == label, 2]
        np.testing.assert_allclose(p, norm.pdf(x, rows.mean(), rows.std()), rtol=1e-9)


def test_weighted_densities_have_the_prior_as_their_area_and_add_up(flowers, qda):
    X, y = flowers
    curves = drawn(class_densities(qda, X, y, feature=0), "density")
    total = curves.pop("of all").get_ydata()
    np.testing.assert_allclose(sum(c.get_ydata() for c in curves.values()), total)
    line = curves["versicolor"]
    assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1 / 3, abs=0.01)


def test_shares_and_temperatures_that_are_none_are_refused(flowers, qda):
    X, y = flowers
    for shares in ([2.0], [0.5, 1.0], [0.0]):
        with pytest.raises(
            InvalidParameterError, match="expected shares of a class, between 0"
        ):
            density_contours(qda, X, y, coverage=shares)
        with pytest.raises(
            InvalidParameterError, match="expected shares of a class, between 0"
        ):
            decision_regions(qda, X, y, features=(0, 1), coverage=shares, resolution=9)
    with pytest.raises(InvalidParameterError, match="coverage is empty"):
        density_contours(qda, X, y, coverage=())
    for temperatures in ((), (1.0, 0.0), (-1.0,)):
        with pytest.raises(InvalidParameterError, match="expected positive numbers"):
            effect_of_temperature(qda, X, feature=0, temperatures=temperatures)
    for resolution in (0, -3, 1, 9.5, "fine"):
        with pytest.raises(InvalidParameterError, match="an integer of at least 2"):
            decision_regions(qda, X, y, resolution=resolution)


def test_where_other_features_are_held_goes_with_the_features_that_are_drawn(flowers, qda):
    X, y = flowers
    for figure in (posterior_line, posterior_surface, decision_regions):
        with pytest.raises(InvalidParameterError, match="name the features to draw over"):
            figure(qda, X, y, at=X[0])


def test_histograms_behind_have_the_same_area(flowers, qda):
    ax = class_densities(qda, *flowers, feature=2)
    assert len(ax.containers) == 3
    for bars in ax.containers:
        area = sum(bar.get_height() * bar.get_width() for bar in bars)
        assert area == pytest.approx(1 / 3)


def test_one_feature_is_the_same_as_the_classifiers_own_density(flowers):
    X, y = flowers
    est = sf.QDA().fit(X[:, 1:2], y)
    line = drawn(class_densities(est, weighted=False), "density")["virginica"]
    x, p = line.get_data()
    np.testing.assert_allclose(p, np.exp(est.model_.class_log_density(x[:, None])[:, 2]))


def test_no_rows_are_needed(qda):
    ax = class_densities(qda, feature=1)
    assert not ax.containers
    assert density_contours(qda).get_xlabel() == "x₁"


def test_the_marginal_model_is_that_of_a_fit_to_those_features(flowers):
    X, y = flowers
    whole = sf.GaussianClassifier(tied=[["setosa", "virginica"], ["versicolor"]]).fit(X, y)
    part = sf.GaussianClassifier(tied=whole.tied).fit(X[:, [3, 1]], y)
    ours = whole.model_.model.marginal(np.array([3, 1])).class_log_density(X[:, [3, 1]])
    np.testing.assert_allclose(ours, part.model_.class_log_density(X[:, [3, 1]]), rtol=1e-9)


def test_a_classifier_without_densities_is_refused(flowers):
    est = NaiveBayes().fit(*flowers)
    with pytest.raises(InvalidInputError, match=r"use sf\.LDA"):
        class_densities(est, *flowers)


SETTINGS = [
    {},
    {"estimate": "predictive"},
    {"estimate": "map"},
    {"power": "yeo-johnson"},
    {"power": "yeo-johnson", "estimate": "predictive"},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_marginal_density_is_the_integral_of_the_density_of_all_features(flowers, settings):
    X, y = flowers
    est = sf.QDA(**settings).fit(X[:, [0, 2]], y)
    x, z = np.linspace(4, 8, 9), np.linspace(-30, 60, 6001)
    inside = np.array([(u, v) for u in x for v in z])
    joint = np.exp(est.model_.class_log_density(inside)).reshape(len(x), len(z), -1)
    ours = np.exp(est.model_.model.marginal(np.array([0])).class_log_density(x[:, None]))
    np.testing.assert_allclose(ours, np.trapezoid(joint, z, axis=1), rtol=2e-3)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_kind_of_model_has_regions_and_posteriors(flowers, settings):
    X, y = flowers
    est = sf.QDA(**settings).fit(X, y)
    decision_regions(est, X, y, resolution=40)
    decision_regions(est, X, y, features=(2, 3), resolution=40)
    posterior_line(est, X, y)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.95])
def test_contours_hold_the_shares_they_say(share):
    xs = np.linspace(-6, 6, 400)
    x, y = np.meshgrid(xs, xs)
    density = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi)
    # of a bivariate normal the region of share s is bounded by the density (1 − s) / 2π
    (level,) = region_levels(density, [share])
    assert level == pytest.approx((1 - share) / (2 * np.pi), rel=0.02)


def test_contours_show_every_row(flowers, qda):
    X, y = flowers
    ax = density_contours(qda, X, y, features=(2, 3), resolution=60)
    assert ax.get_xlim()[0] < X[:, 2].min()
    assert ax.get_ylim()[1] > X[:, 3].max()


def test_the_surface_is_the_highest_of_the_weighted_densities(flowers, qda):
    X, _ = flowers
    ax = density_surface(qda, X, features=(2, 3), resolution=25)
    top = ax.get_zlim()[1] / 1.02
    xs, ys = (np.linspace(*limits, 25) for limits in (ax.get_xlim(), ax.get_ylim()))
    grid = np.array([(u, v) for v in ys for u in xs])
    over_two = qda.model_.model.marginal(np.array([2, 3]))
    joint = over_two.priors * np.exp(over_two.class_log_density(grid))
    assert top == pytest.approx(joint.max())


def test_posteriors_along_a_feature_are_those_of_the_classifier(flowers, lda):
    X, y = flowers
    curves = drawn(posterior_line(lda, X, y, feature=3), "posterior")
    assert list(curves) == list(lda.classes_)
    x = curves["setosa"].get_xdata()
    rows = np.tile(X.mean(axis=0), (len(x), 1))
    rows[:, 3] = x
    p = np.column_stack([line.get_ydata() for line in curves.values()])
    np.testing.assert_allclose(p, lda.predict_proba(rows), atol=1e-12)


def test_two_classes_are_one_sigmoid_with_the_rows_at_its_ends(notes):
    X, y = notes
    est = LogisticRegression().fit(X[:, 3:4], y)
    ax = posterior_line(est, X[:, 3:4], y)
    (line,) = drawn(ax, "posterior").values()
    x, p = line.get_data()
    np.testing.assert_allclose(
        np.log(p / (1 - p)), est.decision_function(x[:, None]), atol=1e-6
    )
    low, high = (c.get_offsets()[:, 1] for c in ax.collections[:2])
    assert np.all(low < 0)
    assert np.all(high > 1)
    assert ax.get_ylabel() == f"p({est.classes_[1]} | x)"


def test_a_classifier_without_posteriors_is_refused(flowers):
    est = Perceptron().fit(*flowers)
    with pytest.raises(InvalidInputError, match="no posteriors"):
        posterior_line(est, *flowers, feature=0)


def test_the_greatest_posterior_is_one_surface(flowers, lda):
    ax = posterior_surface(lda, flowers[0], features=(2, 3), resolution=20)
    assert len(ax.collections) == 1
    assert ax.get_zlabel() == "greatest posterior"
    assert ax.get_zlim() == (0, 1)


def test_falling_temperatures_approach_the_hard_choice(flowers, lda):
    X, _ = flowers
    ax = effect_of_temperature(
        lda, X, label="versicolor", feature=3, temperatures=(1, 1 / 4, 1 / 64)
    )
    curves = drawn(ax, "temperature")
    hard = drawn(ax, "hard")[""].get_ydata()
    gaps = [np.abs(line.get_ydata() - hard).mean() for line in curves.values()]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.01
    x = curves["1"].get_xdata()
    rows = Fitted.of(lda, X).rows.mean(axis=0) + np.zeros((len(x), 4))
    rows[:, 3] = x
    np.testing.assert_allclose(
        curves["1"].get_ydata(), lda.predict_proba(rows)[:, 1], atol=1e-9
    )


def test_a_surface_over_a_line_is_refused(notes):
    X, y = notes
    with pytest.raises(InvalidInputError, match="choose two features"):
        posterior_surface(sf.LDA().fit(X, y), X, y)


def test_densities_are_drawn_over_the_feature_that_separates_best():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 3)) * [1.0, 50.0, 1.0] + np.outer(y, [0.2, 5.0, 4.0])
    assert class_densities(sf.QDA().fit(X, y), X, y).get_xlabel() == "x₃"
    assert class_densities(sf.QDA().fit(X, y), X, y, feature=0).get_xlabel() == "x₁"
