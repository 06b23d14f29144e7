"""Figures of a comparison and of learning curves."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import suffice as sf
from suffice.present.plots.style import DARK, LIGHT


@pytest.fixture(scope="module")
def result(table):
    X, y, _ = table("iris")
    models = {
        "LDA": sf.LDA(),
        "perceptron": sf.Perceptron(variant="averaged"),
        "a $ sign and _more": DummyClassifier(),
    }
    return sf.compare(X, y, models, 5)


def test_dots_lie_at_the_errors_and_bars_at_their_intervals(result):
    left, _ = result.plot()
    dots = [line.get_xdata()[0] for line in left.lines if line.get_marker() == "o"]
    bars = [line.get_xdata() for line in left.lines if len(line.get_xdata()) == 2]
    frame = result.to_frame()
    np.testing.assert_allclose(dots, frame["error"])
    np.testing.assert_allclose(bars, frame[["error_low", "error_high"]])


def test_those_told_apart_from_the_best_are_grey(result):
    left, _ = result.plot()
    colours = [line.get_color() for line in left.lines if line.get_marker() == "o"]
    style = LIGHT
    worse = result.to_frame()["p_adjusted"].to_numpy() <= 0.05
    assert colours == [style.soft if w else style.accent for w in worse]
    assert worse.tolist() == [False, False, True, True]


def test_a_member_without_posteriors_says_so(result):
    _, right = result.plot()
    assert [text.get_text() for text in right.texts] == ["no posteriors"]


def test_learning_curves_are_dashed_where_a_member_is_discriminative(result, table):
    X, y, _ = table("iris")
    curve = sf.learning_curve(X, y, ["LDA", "logistic"], sizes=[20, 60, 100], n_repeats=3)
    left, right = curve.plot(theme="dark")
    assert left.xaxis.label.get_color() == DARK.ink
    assert result.plot(theme="dark")[1].xaxis.label.get_color() == DARK.ink
    assert [line.get_linestyle() for line in left.lines] == ["-", "--"]
    np.testing.assert_allclose(left.lines[1].get_ydata(), curve["logistic regression"].mean())
    np.testing.assert_allclose(right.lines[0].get_ydata(), curve["LDA"].mean("log_loss"))
