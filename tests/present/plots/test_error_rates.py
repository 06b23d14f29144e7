"""Figures of error show the curves that were computed."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import metrics
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC, LinearSVC

import suffice as sf
from suffice.core.decision.predictions import Predictions
from suffice.errors import InvalidInputError
from suffice.evaluate.curves.thresholds import cost_curve
from suffice.plots import (
    coefficient_importance,
    confusion_matrix,
    cost_against_threshold,
    effect_of_neighbours,
    error_against_threshold,
    pairs,
    precision_recall,
    real_against_synthetic,
    reliability,
    roc,
)
from suffice.present.plots.neighbours import neighbour_curve


def line(ax, label):
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def nb(notes):
    X, y = notes
    return sf.GaussianNB().fit(X[:, :1], y), X[:, :1], y


def test_every_cell_of_the_confusion_matrix_is_written(flowers, lda):
    X, y = flowers
    ax = confusion_matrix(lda, X, y)
    written = [text.get_text().split("\n")[0] for text in ax.texts]
    expected = metrics.confusion_matrix(y, lda.predict(X)).ravel()
    assert written == [str(count) for count in expected]
    assert [t.get_text() for t in ax.get_xticklabels()] == list(lda.classes_)


def test_predictions_draw_as_their_classifier_does(flowers, lda):
    X, y = flowers
    drawn = confusion_matrix(lda, X, y), confusion_matrix(Predictions.by(lda, X, y))
    texts = [[text.get_text() for text in ax.texts] for ax in drawn]
    assert texts[0] == texts[1]


def test_refused_rows_have_a_column_and_many_classes_no_numbers(nb, crowd):
    _, X, y = nb
    est = sf.GaussianNB(costs=sf.Costs(reject=0.2)).fit(X, y)
    ticks = [t.get_text() for t in confusion_matrix(est, X, y).get_xticklabels()]
    assert ticks == [*est.classes_, "no decision"]
    X, y = crowd
    assert not confusion_matrix(sf.LDA().fit(X, y), X, y).texts


def test_two_classes_have_one_roc_curve_and_several_one_each(nb, flowers, qda):
    est, X, y = nb
    ax = roc(est, X, y)
    fpr, tpr = line(ax, f"_curve {est.classes_[1]}").get_data()
    area = metrics.roc_auc_score(y == est.classes_[1], est.predict_proba(X)[:, 1])
    assert np.trapezoid(tpr, fpr) == pytest.approx(area)
    assert legend(ax) == [f"{est.classes_[1]}  {area:.3f}"]
    assert len(legend(roc(qda, *flowers))) == 3


def test_a_class_can_be_chosen_and_a_class_without_rows_is_left_out(flowers, qda):
    X, y = flowers
    assert legend(precision_recall(qda, X, y, label="setosa")) == ["setosa  1.000"]
    some = y != "setosa"
    assert len(legend(roc(qda, X[some], y[some]))) == 2
    with pytest.raises(InvalidInputError, match="setosa"):
        roc(qda, X[some], y[some], label="setosa")
    with pytest.raises(InvalidInputError, match="another class"):
        roc(qda, X[y == "setosa"], y[y == "setosa"])


def test_a_decision_function_of_two_classes_is_enough_to_rank(nb):
    _, X, y = nb
    est = LinearSVC().fit(X, y)
    area = metrics.roc_auc_score(y == est.classes_[1], est.decision_function(X))
    assert legend(roc(est, X, y)) == [f"{est.classes_[1]}  {area:.3f}"]


def test_a_decision_function_of_several_classes_is_not(flowers):
    with pytest.raises(InvalidInputError, match="CalibratedClassifierCV"):
        roc(LinearSVC().fit(*flowers), *flowers)


def test_precision_and_recall_step_down_to_the_prevalence(nb):
    est, X, y = nb
    ax = precision_recall(est, X, y)
    recall, precision = line(ax, f"_curve {est.classes_[1]}").get_data()
    assert recall[0] == 0
    assert recall[-1] == 1
    assert precision[-1] == pytest.approx(np.mean(y == est.classes_[1]))


def test_predictions_stand_for_a_classifier_and_carry_their_weights(nb):
    est, X, y = nb
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    rows = Predictions.by(est, X, y, weight)
    assert legend(roc(rows)) == legend(roc(est, X, y, sample_weight=weight))
    with pytest.raises(InvalidInputError, match="carry their own rows"):
        roc(rows, X, y)


def test_the_reliability_diagram_counts_every_row(nb):
    est, X, y = nb
    ax = reliability(est, X, y, bins=5)
    (strip,) = ax.child_axes
    assert sum(bar.get_height() for bar in strip.patches) == len(y)
    (dots,) = [c for c in ax.collections if c.get_label() == "_reliability"]
    assert len(dots.get_offsets()) == len(strip.patches)
    assert "expected calibration error" in strip.get_title(loc="left")


def test_of_several_classes_the_chosen_one_is_judged(flowers, qda):
    assert (
        reliability(qda, *flowers).get_xlabel()
        == "predicted probability of the predicted class"
    )


def test_error_against_threshold_starts_at_the_error_and_falls_in_steps(nb):
    est, X, y = nb
    ax = error_against_threshold(est, X, y)
    error = line(ax, "_error")
    assert error.get_ydata()[0] == pytest.approx(1 - est.score(X, y))
    (strip,) = ax.child_axes
    rejected = line(strip, "_rejected").get_ydata()
    assert np.all(np.diff(rejected) >= 0)


def test_the_cost_curve_is_the_sum_of_its_parts_and_marks_its_least(nb):
    est, X, y = nb
    label = est.classes_[1]
    ax = cost_against_threshold(est, X, y, miss_cost=4.0)
    parts = [line(ax, name).get_ydata() for name in ("_false alarms", "_misses")]
    np.testing.assert_allclose(line(ax, f"_cost {label}").get_ydata(), sum(parts))
    curve = cost_curve(Predictions.by(est, X, y), label, miss_cost=4.0)
    assert line(ax, "_best").get_xdata()[0] == curve.best_threshold
    assert "if calibrated: 0.2" in legend(ax)


def test_of_several_classes_each_has_a_cost_curve(flowers, qda):
    ax = cost_against_threshold(qda, *flowers)
    assert sum(one.get_label().startswith("_cost") for one in ax.lines) == 3


def test_bars_of_importance_point_to_the_class_they_speak_for(notes):
    X, y = notes
    est = sf.LDA().fit(X, y)
    ax = coefficient_importance(est, X, most=4)
    assert len(ax.patches) == 4
    widths = np.array([bar.get_width() for bar in ax.patches])
    assert np.all(np.diff(np.abs(widths)) <= 0)
    expected = est.coef_[0] * X.std(axis=0)
    np.testing.assert_allclose(np.sort(np.abs(widths)), np.sort(np.abs(expected))[-4:])
    assert ax.get_xlabel() == "log odds per standard deviation (2 more not shown)"


def test_our_classifiers_know_standard_deviations_without_rows(flowers, lda):
    X, _ = flowers
    one, two = coefficient_importance(lda), coefficient_importance(lda, X)
    for label in lda.classes_:
        name = f"_coefficients {label}"
        np.testing.assert_allclose(line(one, name).get_xdata(), line(two, name).get_xdata())


def test_importance_needs_coefficients_and_deviations(flowers, qda):
    with pytest.raises(InvalidInputError, match="coef_"):
        coefficient_importance(qda)
    est = LinearDiscriminantAnalysis().fit(*flowers)
    with pytest.raises(InvalidInputError, match="pass the rows X"):
        coefficient_importance(est)


def test_importance_is_free_of_units(flowers):
    X, y = flowers
    unit = np.array([1e-9, 1.0, 1e9, 10.0])
    a, b = (coefficient_importance(sf.LDA().fit(x, y)) for x in (X, X * unit))
    names = [[t.get_text() for t in ax.get_yticklabels()] for ax in (a, b)]
    assert names[0] == names[1]


def test_pairs_draw_rows_below_and_histograms_on_the_diagonal(flowers):
    X, y = flowers
    axes = pairs(X, y, features=(0, 2, 3))
    assert axes.shape == (3, 3)
    assert not axes[0, 2].get_visible()
    clouds = {c.get_label(): c for c in axes[2, 0].collections}
    np.testing.assert_allclose(
        clouds["_points virginica"].get_offsets(), X[y == "virginica"][:, [0, 3]]
    )
    assert sum(one.get_label() == "_ellipse setosa" for one in axes[1, 0].lines) == 2
    counted = sum(bar.get_height() for bars in axes[1, 1].containers for bar in bars)
    assert counted == len(y)
    assert [ax.get_xlabel() for ax in axes[-1]] == ["x₁", "x₃", "x₄"]
    assert axes[1, 0].get_xlim() == axes[2, 0].get_xlim() == axes[0, 0].get_xlim()


def test_of_many_features_those_that_separate_most_are_drawn(notes):
    X, y = notes
    noise = np.random.default_rng(0).normal(size=(len(y), 3))
    axes = pairs(np.c_[noise, X[:, [3, 4]], X[:, [5]], X[:, [0]]], y)
    names = [ax.get_xlabel() for ax in axes[-1]]
    assert len(names) == 5
    assert {"x₄", "x₅", "x₆"} <= set(names)


def test_synthetic_rows_are_as_many_as_real_ones_and_come_from_a_seed(flowers, qda):
    X, y = flowers
    first, again = (real_against_synthetic(qda, X, y, features=(2, 3)) for _ in range(2))
    real = sum(len(c.get_offsets()) for c in first[1, 0].collections)
    drawn = sum(len(c.get_offsets()) for c in first[0, 1].collections)
    assert real == drawn == len(y)
    for a, b in zip(first[0, 1].collections, again[0, 1].collections, strict=True):
        np.testing.assert_array_equal(a.get_offsets(), b.get_offsets())
    assert first[0, 1].get_xlim() == first[1, 1].get_xlim()


def test_only_a_generative_classifier_has_synthetic_rows(flowers):
    est = LinearDiscriminantAnalysis().fit(*flowers)
    with pytest.raises(InvalidInputError, match="cannot draw rows"):
        real_against_synthetic(est, *flowers)


def test_the_curve_of_neighbours_is_drawn_as_computed(flowers):
    X, y = flowers
    curve = neighbour_curve(X, y, [1, 5, 25], folds=3)
    ax = effect_of_neighbours(X, y, [1, 5, 25], folds=3)
    np.testing.assert_array_equal(line(ax, "_held out").get_ydata(), curve.test_error)
    np.testing.assert_array_equal(line(ax, "_learnt from").get_ydata(), curve.training_error)
    assert legend(ax)[-1] == f"best: k = {curve.best}"


def test_figures_of_error_share_a_figure(nb):
    est, X, y = nb
    figure, axes = plt.subplots(1, 3, layout="constrained")
    for draw, ax in zip((roc, precision_recall, reliability), axes, strict=True):
        assert draw(est, X, y, ax=ax) is ax
    assert len(figure.axes) == 3


def test_the_legend_of_costs_shows_their_own_line_beside_yours(nb):
    est, X, y = nb
    ax = plt.figure().add_subplot()
    ax.plot([0.1, 0.9], [0, 0], color="magenta")
    cost_against_threshold(est, X, y, label=est.classes_[0], ax=ax)
    assert legend(ax)[0] == "both errors"
    assert ax.get_legend().legend_handles[0].get_color() != "magenta"


@pytest.mark.parametrize("n_classes", [3, 4])
def test_coefficients_of_pairs_of_classes_are_not_drawn_as_those_of_classes(n_classes):
    X = np.random.default_rng(0).normal(size=(80, 3))
    machine = SVC(kernel="linear").fit(X, np.arange(80) % n_classes)
    with pytest.raises(InvalidInputError, match="SVC has coefficients of pairs of classes"):
        coefficient_importance(machine, X)
