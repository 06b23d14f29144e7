"""Figures of a lecture show what they say: distances, bells, votes, surfaces, bias and variance."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.plots import (
    hyperplane,
    loss_surface,
    neighbourhood,
    posterior_line,
    regression_line,
)
from suffice.present.plots.neighbours import neighbour_curve


def test_a_hyperplane_is_drawn_with_its_distances():
    ax = hyperplane(sf.Hyperplane([3.0, 4.0], -10.0), [[3.0, 4.0], [-1.0, 1.0]])
    said = [text.get_text() for text in ax.texts]
    # y(x) / ‖w‖ = (25 − 10) / 5 and (1 − 10) / 5; −w_0 / ‖w‖ = 10 / 5
    assert said == ["", "w", "−w₀/‖w‖ = 2", "3", "-1.8"]
    (line,) = (each for each in ax.lines if each.get_label() == "_boundary")
    np.testing.assert_allclose(np.column_stack(line.get_data()) @ [3, 4], 10)
    feet = [
        np.column_stack(each.get_data())[1]
        for each in ax.lines
        if each.get_linestyle() == "--"
    ]
    np.testing.assert_allclose(feet, [[1.2, 1.6], [1.2, 1.6], [0.08, 2.44]])
    arrow = ax.texts[0]
    direction = np.subtract(arrow.xy, arrow.xyann)
    assert direction @ [4, -3] == pytest.approx(0)
    assert direction @ [3, 4] > 0
    with pytest.raises(InvalidInputError, match="two features"):
        hyperplane(sf.Hyperplane([1.0, 2.0, 3.0], 0.0))


def test_bells_stand_on_the_regression_line_and_are_as_wide_as_the_residuals():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (200, 1))
    y = 2 * x[:, 0] + 1 + rng.normal(size=200)
    fit = sf.lectures.LinearGaussianRegressor().fit(x, y)
    ax = regression_line(fit, x, y)
    bells = [
        np.column_stack(each.get_data())
        for each in ax.lines
        if each.get_label() == "_gaussian"
    ]
    for bell, place in zip(bells, np.linspace(x.min(), x.max(), 6)[1:-1], strict=True):
        top = bell[bell[:, 0].argmax(), 1]
        assert top == pytest.approx(fit.predict([[place]])[0])
        half = bell[(bell[:, 0] - place) > (bell[:, 0].max() - place) * np.exp(-0.5), 1]
        assert np.ptp(half) / 2 == pytest.approx(np.sqrt(fit.variance_), rel=0.06)
    with pytest.raises(InvalidInputError, match="one feature"):
        regression_line(fit, np.hstack([x, x]), y)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_of_a_neighbourhood_are_those_of_scikit_learn(flowers, weights):
    X, y = flowers[0][:, 2:], flowers[1]
    query = (4.83, 1.61)
    ax = neighbourhood(X, y, query, 9, weights=weights)
    theirs = KNeighborsClassifier(9, weights=weights).fit(X, y)
    shares = dict(zip(theirs.classes_, theirs.predict_proba([query])[0], strict=True))
    drawn = dict(part.split(": ") for part in ax.get_title().split(", "))
    votes = {label: float(value) for label, value in drawn.items()}
    total = sum(votes.values())
    assert {k: v / total for k, v in votes.items()} == pytest.approx(
        {k: p for k, p in shares.items() if p > 0}, rel=0.01
    )
    (circle,) = ax.patches
    assert circle.radius == pytest.approx(theirs.kneighbors([query])[0].max())
    with pytest.raises(InvalidParameterError, match="two features"):
        neighbourhood(flowers[0], y, query)


def test_the_effect_of_neighbours_by_distance_is_that_of_scikit_learn(flowers):
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    X, y = flowers  # some rows are there twice: they vote alone
    found = neighbour_curve(X, y, [1, 4, 20], weights="distance", folds=4)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    for k, error in zip(found.neighbours, found.test_error, strict=True):
        theirs = cross_val_score(KNeighborsClassifier(k, weights="distance"), X, y, cv=folds)
        assert error == pytest.approx(1 - theirs.mean())
    assert (found.training_error == 0).all()
    for refused in (
        lambda: neighbour_curve(X, y, [1], weights="near"),
        lambda: neighbourhood(X[:, :2], y, (5.0, 3.0), weights="near"),
    ):
        with pytest.raises(InvalidParameterError, match="weights must be one of"):
            refused()


def exam_path(hours):
    descent = sf.lectures.GradientDescent("gd", start="zero", record=True)
    fit = sf.LogisticRegression(l2=0, solver=descent)
    return fit.fit(*hours).path_


def test_the_log_likelihood_is_drawn_as_a_concave_surface(table):
    X, y, _ = table("hours")
    path = exam_path((X, y))
    ax = loss_surface(path, window=((-8, 1), (-0.5, 3)), likelihood=True)
    assert ax.get_zlabel() == "log-likelihood"
    w, v, heights = ax.lines[0].get_data_3d()
    assert (np.diff(heights) >= 0).all()
    assert (w[-1], v[-1], heights[-1]) == pytest.approx((-4.0777, 1.5046, -8.02988), abs=1e-3)
    grids = [np.linspace(-8, 1, 9), np.linspace(-0.5, 3, 9)]
    z = -path.section((0, 1), grids)
    assert (np.diff(z, 2, axis=0) < 0).all()
    assert (np.diff(z, 2, axis=1) < 0).all()
    middle = (z[:-2, :-2] + z[2:, 2:]) / 2
    assert (z[1:-1, 1:-1] > middle).all()


def test_a_window_brings_the_other_minimum_into_the_frame():
    path = sf.lectures.descend(
        lambda w: (w[0] ** 2 - 1) ** 2, lambda w: 4 * w * (w**2 - 1), [0.3]
    )
    ground = path.plot(window=(-1.5, 1.5)).axes[-1]
    x, y = ground.lines[0].get_data()
    assert (x[0], x[-1]) == (-1.5, 1.5)
    assert y[np.argmin(np.abs(x + 1))] == pytest.approx(0, abs=0.01)
    with pytest.raises(InvalidParameterError, match=r"\(low, high\) for each of 1"):
        path.plot(window=(1.5, -1.5))
    with pytest.raises(InvalidParameterError, match="two parameters"):
        loss_surface(path)


def test_the_exam_sigmoid_passes_through_its_worked_numbers(table):
    X, y, _ = table("hours")
    exam = sf.LogisticRegression(l2=0).fit(X, y)
    (curve,) = (c for c in posterior_line(exam, X, y).lines if "posterior" in c.get_label())
    p = np.interp([1, 2, 3, 4, 5], *curve.get_data())
    np.testing.assert_allclose(p.round(2), [0.07, 0.26, 0.61, 0.87, 0.97])


def test_bias_and_variance_are_those_of_their_definition():
    truth = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
    tree = DecisionTreeClassifier(random_state=0)
    models = {"LDA": sf.LDA(), "tree": tree, "perceptron": sf.Perceptron(variant="averaged")}
    found = sf.lectures.bias_variance(truth, models, n_rows=50, repeats=12, n_points=500)
    table = found.to_frame().set_index("model")
    # the same draws again, by hand
    seeds = np.random.default_rng(0).integers(0, 2**31, 13).tolist()
    x, _ = truth.sample(500, random_state=seeds.pop())
    p = truth.predict_proba(x)
    fitted = [tree.fit(*truth.sample(50, random_state=s)).predict_proba(x) for s in seeds]
    distance = np.mean([np.square(q - p).sum(1).mean() for q in fitted])
    bias, variance = table.loc["tree", ["squared_bias", "variance"]]
    assert bias + variance == pytest.approx(distance)
    assert variance == pytest.approx(np.var(fitted, axis=0, ddof=1).sum(1).mean())
    assert table.loc["LDA", "variance"] < variance / 3
    assert table.loc["tree", "training_error"] == 0
    assert (table["true_error"] > truth.model_.bayes_error() - 0.01).all()
    assert found.plot().get_title() == "12 training sets of 50 rows"
    with pytest.raises(InvalidParameterError, match="at least 2 repeats"):
        sf.lectures.bias_variance(truth, models, repeats=1)


def test_a_constant_rule_has_bias_only():
    truth = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
    constant = {"constant": DummyClassifier(strategy="constant", constant=0)}
    (row,) = sf.lectures.bias_variance(
        truth, constant, n_rows=20, repeats=3, n_points=500
    ).rows()
    x, _ = truth.sample(500, np.random.default_rng(0).integers(0, 2**31, 4)[-1])
    assert row["variance"] == 0
    assert row["squared_bias"] == pytest.approx(
        2 * np.square(truth.predict_proba(x)[:, 1]).mean()
    )
    assert row["true_error"] == pytest.approx(0.3, abs=0.02)


class _Coin(ClassifierMixin, BaseEstimator):
    """Says 0.2 or 0.8 of every row, whichever is tossed next."""

    tosses = iter(())

    def fit(self, _X, _y):
        self.classes_, self.said_ = np.array([0, 1]), next(self.tosses)
        return self

    def predict_proba(self, X):
        return np.tile([self.said_, 1 - self.said_], (len(X), 1))

    def predict(self, X):
        return self.predict_proba(X).argmax(1)


def test_a_few_repeats_estimate_the_squared_bias_without_bias(monkeypatch):
    truth = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
    found = []
    for tosses in product((0.2, 0.8), repeat=3):  # all that can happen, equally probable
        monkeypatch.setattr(_Coin, "tosses", iter(tosses))
        found += sf.lectures.bias_variance(
            truth, {"coin": _Coin()}, 10, repeats=3, n_points=500
        ).rows()
    x, _ = truth.sample(500, np.random.default_rng(0).integers(0, 2**31, 4)[-1])
    # the mean answer is one half, its distance from that answer always 0.3, in both classes
    bias = 2 * np.square(truth.predict_proba(x)[:, 0] - 0.5).mean()
    assert np.mean([row["squared_bias"] for row in found]) == pytest.approx(bias)
    assert np.mean([row["variance"] for row in found]) == pytest.approx(2 * 0.3**2)


def test_errors_of_neighbours_are_those_of_scikit_learn(iris):
    X, y = iris
    ks = [1, 2, 7, 30]
    curve = neighbour_curve(X, y, ks, folds=5)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for k, trained, tested in zip(ks, curve.training_error, curve.test_error, strict=True):
        knn = KNeighborsClassifier(k)
        assert trained == pytest.approx(1 - knn.fit(X, y).score(X, y))
        assert tested == pytest.approx(1 - cross_val_score(knn, X, y, cv=folds).mean())
    assert curve.best in ks


def test_numbers_of_neighbours_lie_between_one_and_the_rows(iris):
    for ks in ([0], [151], [], [1.5]):
        with pytest.raises(InvalidParameterError, match="expected integers from 1 to"):
            neighbour_curve(*iris, ks)
