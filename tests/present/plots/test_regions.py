"""Decision regions: what is drawn is what the classifier says."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice import plots
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    UnknownLabelError,
)
from suffice.plots import decision_regions, perceptron_steps
from suffice.present.plots.inputs import Fitted
from suffice.present.plots.marks import ellipse
from suffice.present.plots.plane import Plane, PredictionGrid
from suffice.present.plots.style import looks_of


def lines(ax, kind):
    return [line for line in ax.lines if line.get_label().startswith(f"_{kind}")]


@pytest.fixture(scope="module")
def petals(flowers):
    X, y = flowers
    return X[:, 2:], y


def test_every_vertex_of_a_boundary_satisfies_its_equation(petals):
    X, y = petals
    est = sf.QDA().fit(X, y)
    drawn = lines(decision_regions(est, X, y), "boundary")
    assert drawn
    for line in drawn:
        a, b = line.get_label().removeprefix("_boundary ").split(" | ")
        vertices = np.column_stack(line.get_data())
        log_odds = est.boundary(a, b).evaluate(vertices)
        size = np.abs(est.decision_function(vertices)).max()
        np.testing.assert_allclose(log_odds, 0, atol=1e-6 * size)


def test_a_boundary_is_drawn_only_where_its_two_classes_are_the_most_probable(petals):
    X, y = petals
    est = sf.LDA().fit(X, y)
    for line in lines(decision_regions(est, X, y), "boundary"):
        pair = line.get_label().removeprefix("_boundary ").split(" | ")
        codes = np.searchsorted(est.classes_, pair)
        p = est.predict_proba(np.column_stack(line.get_data()))
        assert np.all(p[:, codes].max(axis=1) >= p.max(axis=1) - 1e-9)


def test_partially_tied_classes_meet_in_lines_inside_a_group_and_curves_across(petals):
    X, y = petals
    groups = [["versicolor", "virginica"], ["setosa"]]
    est = sf.GaussianClassifier(tied=groups).fit(X, y)
    ax = decision_regions(est, X, y)
    bend = {}
    for line in lines(ax, "boundary"):
        first, *rest, last = np.column_stack(line.get_data())
        (u, v), steps = last - first, np.array(rest) - first
        label = line.get_label().removeprefix("_boundary ")
        bend[label] = np.abs(u * steps[:, 1] - v * steps[:, 0]).max()
    assert bend["versicolor | virginica"] < 1e-9
    assert bend["setosa | versicolor"] > 1e-3


def test_each_cell_has_the_colour_of_the_class_predicted_there(petals):
    X, y = petals
    est = sf.QDA().fit(X, y)
    ax = decision_regions(est, X, y, resolution=50)
    (image,) = ax.images
    colours = np.asarray(image.get_array())
    (x_low, x_high), (y_low, y_high) = ax.get_xlim(), ax.get_ylim()
    xs = x_low + (x_high - x_low) * (np.arange(50) + 0.5) / 50
    ys = y_low + (y_high - y_low) * (np.arange(50) + 0.5) / 50
    cells = np.array([(u, v) for v in ys for u in xs])
    looks = dict(zip(est.classes_, looks_of(est.classes_), strict=True))
    expected = np.array([to_rgb(looks[label].colour) for label in est.predict(cells)])
    np.testing.assert_allclose(colours[..., :3].reshape(-1, 3), expected)


def test_every_row_is_drawn_once_with_its_class_and_wrong_ones_have_a_ring(petals):
    X, y = petals
    est = sf.QDA().fit(X, y)
    ax = decision_regions(est, X, y)
    clouds = {c.get_label(): c for c in ax.collections if c.get_label().startswith("_points")}
    rings = 0
    for label in est.classes_:
        cloud = clouds[f"_points {label}"]
        np.testing.assert_allclose(cloud.get_offsets(), X[y == label])
        rings += int((np.array(cloud.get_linewidths()) > 0.5).sum())
    assert rings == int((est.predict(X) != y).sum())
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [*est.classes_, "predicted wrongly"]


def test_ellipses_are_contours_of_the_class_density(petals):
    X, y = petals
    est = sf.QDA().fit(X, y)
    drawn = lines(decision_regions(est, X, y, coverage=(0.5, 0.9)), "ellipse")
    assert len(drawn) == 6
    for line in drawn:
        k = est.classes_.tolist().index(line.get_label().removeprefix("_ellipse "))
        density = est.model_.class_log_density(np.column_stack(line.get_data()))[:, k]
        np.testing.assert_allclose(density, density[0])
    assert not lines(decision_regions(est, X, y, coverage=()), "ellipse")


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_an_ellipse_holds_the_share_it_says_in_any_unit(unit):
    rng = np.random.default_rng(0)
    sigma = np.array([[2.0, 0.9], [0.9, 0.5]]) * np.outer([unit, 1], [unit, 1])
    curve = ellipse(np.zeros(2), sigma, 0.9)
    z = np.linalg.solve(
        np.linalg.cholesky(sigma / np.outer([unit, 1], [unit, 1])), (curve / [unit, 1]).T
    )
    np.testing.assert_allclose(np.square(z).sum(axis=0), -2 * np.log(0.1))
    x = rng.normal(size=(20_000, 2))
    assert np.mean(np.square(x).sum(axis=1) < -2 * np.log(0.1)) == pytest.approx(0.9, abs=0.01)


def test_regions_do_not_depend_on_units(petals):
    X, y = petals
    scale = np.array([1e-9, 1e9])
    a = decision_regions(sf.QDA().fit(X, y), X, y, resolution=40)
    b = decision_regions(sf.QDA().fit(X * scale, y), X * scale, y, resolution=40)
    np.testing.assert_array_equal(a.images[0].get_array(), b.images[0].get_array())
    assert len(lines(a, "boundary")) == len(lines(b, "boundary"))


def test_discriminant_coordinates_show_the_classifier_itself_where_it_is_linear(flowers, lda):
    X, y = flowers
    fitted = Fitted.of(lda, X)
    plane = Plane.of_discriminants(fitted, y)
    z = plane.coordinates(X)
    np.testing.assert_allclose(z, lda.transform(X)[:, :2], atol=1e-9)
    # of three tied classes the two coordinates hold all that decides
    np.testing.assert_array_equal(fitted.predict(plane.lift(z)), fitted.predict(X))


def test_a_boundary_in_discriminant_coordinates_is_where_log_odds_vanish(flowers, qda):
    X, y = flowers
    fitted = Fitted.of(qda, X)
    plane = Plane.of_discriminants(fitted, y)
    boundary = qda.boundary("versicolor", "virginica")
    for curve in plane.section(boundary).curve(plane.window(X)):
        np.testing.assert_allclose(boundary.evaluate(plane.lift(curve)), 0, atol=1e-7)


def test_a_classifier_that_is_not_ours_is_drawn_in_the_discriminant_coordinates_of_the_rows(
    flowers,
):
    X, y = flowers
    ax = decision_regions(KNeighborsClassifier().fit(X, y), X, y, resolution=40)
    assert ax.get_xlabel().startswith("discriminant 1")
    with pytest.raises(InvalidInputError, match="pass y"):
        decision_regions(KNeighborsClassifier().fit(X, y), X)


@pytest.mark.parametrize(
    "classifier",
    [KNeighborsClassifier(1), DecisionTreeClassifier(random_state=0), LinearSVC()],
)
def test_classifiers_of_scikit_learn_are_drawn_with_contours(classifier, petals):
    X, y = petals
    ax = decision_regions(classifier.fit(X, y), X, y, resolution=60)
    assert not lines(ax, "boundary")
    assert any(hasattr(c, "levels") for c in ax.collections)


def test_contours_of_a_smooth_classifier_lie_near_the_exact_boundary(petals):
    X, y = petals
    est = sf.LDA().fit(X, y)
    fitted = Fitted.of(est, X)
    plane = Plane.of_features(fitted, (0, 1))
    field = PredictionGrid.of(fitted, plane, plane.window(X), 80)
    (a, b), *_ = field.neighbours
    import matplotlib.pyplot as plt

    contour = plt.figure().add_subplot().contour(field.xs, field.ys, field.margin(a, b), [0.0])
    vertices = np.concatenate([p.vertices for p in contour.get_paths()])
    boundary = est.boundary(est.classes_[a], est.classes_[b])
    cell = np.hypot(field.xs[1] - field.xs[0], field.ys[1] - field.ys[0])
    assert np.abs(boundary.signed_distance(vertices)).max() < cell


def test_rows_without_a_decision_have_a_hatched_region(petals):
    X, y = petals
    est = sf.QDA(costs=sf.Costs(reject=0.1)).fit(X, y)
    texts = [t.get_text() for t in decision_regions(est, X, y).get_legend().get_texts()]
    assert "no decision" in texts


def test_one_feature_is_drawn_as_bands_with_exact_thresholds(flowers):
    X, y = flowers
    est = sf.QDA().fit(X[:, 2:3], y)
    ax = decision_regions(est, X[:, 2:3], y)
    drawn = sorted(line.get_xdata()[0] for line in lines(ax, "boundary"))
    roots = (
        est.boundary("setosa", "versicolor").roots(),
        est.boundary("versicolor", "virginica").roots(),
    )
    low, high = ax.get_xlim()
    candidates = [root for pair in roots for root in pair if low < root < high]
    assert len(drawn) >= 2
    for threshold in drawn:
        assert min(abs(threshold - root) for root in candidates) < 1e-6
    assert [t.get_text() for t in ax.get_yticklabels()] == list(est.classes_)


def test_two_of_four_features_hold_the_others_at_their_mean_or_where_told(flowers, lda):
    X, y = flowers
    plane = Plane.of_features(Fitted.of(lda, X), (0, 3))
    np.testing.assert_allclose(
        plane.lift(np.array([[5.0, 1.0]]))[0, [1, 2]], X.mean(0)[[1, 2]]
    )
    ax = decision_regions(lda, X, y, features=(0, 3), at=[6.0, 3.0, 5.0, 2.0], resolution=40)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x₁", "x₄")


@pytest.mark.parametrize(
    ("features", "at", "error"),
    [
        ((0, 0), None, InvalidParameterError),
        ((0, 1, 2), None, InvalidParameterError),
        ((0, 9), None, InvalidParameterError),
        (("petal", 1), None, InvalidParameterError),
        ((0, 1), [1.0], InvalidParameterError),
    ],
)
def test_features_that_are_none_are_refused(features, at, error, flowers, lda):
    with pytest.raises(error):
        decision_regions(lda, *flowers, features=features, at=at)


def test_rows_and_labels_must_fit_the_classifier(flowers, lda):
    X, y = flowers
    with pytest.raises(FeatureMismatchError, match="2 features"):
        decision_regions(lda, X[:, :2], y)
    with pytest.raises(InvalidInputError, match="150 rows but y has 3"):
        decision_regions(lda, X, y[:3])
    with pytest.raises(UnknownLabelError, match="tulip"):
        decision_regions(lda, X, np.where(y == "setosa", "tulip", y))


def test_frames_give_names_and_reach_the_classifier_as_frames(flowers):
    pd = pytest.importorskip("pandas")
    X, y = flowers
    frame = pd.DataFrame(X[:, :2], columns=["long", "wide"])
    for est in (sf.LDA(), DecisionTreeClassifier()):
        ax = decision_regions(est.fit(frame, y), frame, y, resolution=30)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("long", "wide")
        decision_regions(est, X[:, :2], y, resolution=30)


def test_only_some_of_very_many_rows_are_drawn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    X = rng.normal(size=(20_000, 2)) + y[:, None]
    ax = decision_regions(sf.LDA().fit(X, y), X, y, resolution=30)
    clouds = [c for c in ax.collections if c.get_label().startswith("_points")]
    assert sum(len(c.get_offsets()) for c in clouds) == 4000


@pytest.mark.parametrize(
    "est",
    [
        sf.Perceptron(variant="pocket"),
        sf.Perceptron(multiclass="one-against-rest", variant="averaged"),
        sf.LeastSquaresClassifier(),
    ],
    ids=["direct", "one-against-rest", "least squares"],
)
@pytest.mark.parametrize("features", [slice(2, 4), slice(0, 4), slice(2, 3)])
def test_linear_scores_without_posteriors_have_exact_boundaries(flowers, est, features):
    X, y = flowers[0][:, features], flowers[1]
    est.fit(X, y)
    drawn = lines(decision_regions(est, X, y, resolution=60), "boundary")
    assert drawn
    for line in drawn if X.shape[1] == 2 else ():
        a, b = line.get_label().removeprefix("_boundary ").split(" | ")
        vertices = np.column_stack(line.get_data())
        scores = est.decision_function(vertices)
        codes = np.searchsorted(est.classes_, [a, b])
        np.testing.assert_allclose(scores[:, codes[0]], scores[:, codes[1]], atol=1e-9)
        np.testing.assert_allclose(scores[:, codes].max(1), scores.max(1), atol=1e-9)


def test_the_steps_of_a_perceptron_are_those_of_its_rule():
    X = np.array([[0.0, 1], [1, 0], [2, 3], [3, 2]])
    y = np.array([0, 0, 1, 1])
    learning = sf.lectures.PerceptronLearning(
        shuffle=False, standardize=False, record="mistakes"
    )
    est = sf.Perceptron(learning=learning, learning_rate=0.5)
    axes = perceptron_steps(est.fit(X, y), X, y)
    w = np.zeros(3)
    for ax, row in zip(axes, est.mistakes_, strict=True):
        t, x = 2 * y[row] - 1, np.append(1, X[row])
        assert t * (w @ x) <= 0  # the row was wrong, and is ringed
        assert [line.get_data() for line in ax.lines if line.get_marker() == "o"] == [
            (pytest.approx(X[row][:1]), pytest.approx(X[row][1:]))
        ]
        w = w + 0.5 * t * x
        for line in lines(ax, "boundary")[-1:]:
            points = np.column_stack([np.ones(len(line.get_xdata())), *line.get_data()])
            if line.get_linestyle() == "-":
                np.testing.assert_allclose(points @ w, 0, atol=1e-9)
    np.testing.assert_allclose(w, [*est.intercept_, *est.coef_[0]])


def test_steps_of_what_made_none_are_refused(flowers):
    X, y = flowers[0][:100, :2], flowers[1][:100]
    with pytest.raises(InvalidInputError, match="record='mistakes'"):
        perceptron_steps(sf.Perceptron(variant="pocket").fit(X, y), X, y)


def test_columns_in_another_order_are_refused_and_never_swapped(flowers):
    X, y = flowers
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    fitted = sf.LDA().fit(frame, y)
    with pytest.raises(
        FeatureMismatchError, match=r"'b', 'a', but .* fitted on 'a', 'b': pass"
    ):
        decision_regions(fitted, frame[["b", "a"]], y)
    assert decision_regions(fitted, frame, y, resolution=9).get_xlabel() == "a"


def test_rows_that_cannot_be_drawn_are_told_by_their_place(flowers):
    X, y = flowers
    gap = X.copy()
    gap[3, 1] = np.nan
    fitted = sf.LDA().fit(gap, y)
    told = (
        "Input X contains NaN: row 3, column 1. Drop such rows, or impute their values first"
    )
    for figure in (decision_regions, plots.posterior_line, plots.real_against_synthetic):
        with pytest.raises(InvalidInputError, match=told):
            figure(fitted, gap, y)
        with pytest.raises(InvalidInputError, match="X has no rows: there is nothing to draw"):
            figure(fitted, gap[:0], y[:0])
    for figure in (plots.pairs, plots.effect_of_neighbours):
        with pytest.raises(InvalidInputError, match=told):
            figure(gap, y)
    with pytest.raises(InvalidInputError, match="column 'k' must hold numbers"):
        plots.pairs(pd.DataFrame({"x": X[:, 0], "k": y}), y)
    with pytest.raises(
        InvalidParameterError, match="expected 2 to 50, the rows of the largest"
    ):
        plots.effect_of_neighbours(X, y, folds=51)


def test_regions_of_more_than_three_classes_say_that_they_are_a_slice():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 30)
    X = rng.normal(size=(150, 5)) + 3 * np.eye(5)[y]
    ax = decision_regions(sf.LDA().fit(X, y), X, y, resolution=20)
    assert "a slice: 2 more coordinates" in [text.get_text()[:27] for text in ax.texts]
    few = X[y < 3]
    plain = decision_regions(sf.LDA().fit(few, y[y < 3]), few, y[y < 3], resolution=20)
    assert not any("slice" in text.get_text() for text in plain.texts)
