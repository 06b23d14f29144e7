"""What holds for every figure: axes come back, both themes, given axes, settings untouched."""

import inspect
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

import suffice as sf
from suffice import plots
from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError
from suffice.present.plots.style import DARK, LIGHT

SOLID = {"density_surface", "posterior_surface"}
GRIDS = {"pairs", "real_against_synthetic"}
FIGURES = {
    "decision_regions": lambda est, X, y, **more: plots.decision_regions(
        est, X, y, resolution=40, **more
    ),
    "class_densities": plots.class_densities,
    "density_contours": lambda est, X, y, **more: plots.density_contours(
        est, X, y, resolution=40, **more
    ),
    "density_surface": lambda est, X, _y, **more: plots.density_surface(
        est, X, resolution=12, **more
    ),
    "posterior_line": plots.posterior_line,
    "posterior_surface": lambda est, X, y, **more: plots.posterior_surface(
        est, X, y, resolution=12, **more
    ),
    "confusion_matrix": plots.confusion_matrix,
    "roc": plots.roc,
    "precision_recall": plots.precision_recall,
    "reliability": plots.reliability,
    "pairs": lambda _est, X, y, **more: plots.pairs(X, y, **more),
    "real_against_synthetic": plots.real_against_synthetic,
    "error_against_threshold": plots.error_against_threshold,
    "cost_against_threshold": plots.cost_against_threshold,
    "coefficient_importance": lambda est, X, _y, **more: plots.coefficient_importance(
        est, X, **more
    ),
    "effect_of_neighbours": lambda _est, X, y, **more: plots.effect_of_neighbours(
        X, y, [1, 3], folds=2, **more
    ),
    "effect_of_temperature": plots.effect_of_temperature,
}
every_figure = pytest.mark.parametrize("name", FIGURES)


def perceptron_steps(**more):
    X, y = [[0.0, 1], [1, 0], [2, 3], [3, 2]], ["low", "low", "high", "high"]
    learning = sf.lectures.PerceptronLearning(shuffle=False, record="mistakes")
    learner = sf.Perceptron(learning=learning)
    return plots.perceptron_steps(learner.fit(X, y), X, y, **more)


def regression_line(**more):
    x = np.arange(6.0)[:, None]
    y = [1.0, 3.0, 5.0, 7.0, 9.0, 11.5]
    return plots.regression_line(sf.lectures.LinearGaussianRegressor().fit(x, y), x, y, **more)


def loss_surface(**more):
    path = sf.lectures.descend(lambda w: w @ w, lambda w: 2 * w, [1.0, 2.0])
    return plots.loss_surface(path, window=((-2, 2), (-3, 3)), **more)


# not of any classifier and its rows
OTHERS = {
    "hyperplane": lambda **more: plots.hyperplane(
        sf.Hyperplane([3.0, 4.0], -10.0), [[3.0, 4.0]], **more
    ),
    "loss_surface": loss_surface,
    "neighbourhood": lambda **more: plots.neighbourhood(
        [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]], ["a", "b", "b"], (0.2, 0.0), 2, **more
    ),
    "perceptron_steps": perceptron_steps,
    "regression_line": regression_line,
}
MANY_AXES = {"perceptron_steps"}


def first(drawn):
    return np.atleast_1d(drawn).ravel()[0]


def test_every_public_function_is_in_this_list():
    functions = {n for n in plots.__all__ if inspect.isfunction(getattr(plots, n))}
    assert functions == {*FIGURES, *OTHERS}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_other_figures_are_drawn_where_they_are_told_in_the_ink_of_the_theme(name, theme):
    where = {}
    if name not in MANY_AXES:
        projection = "3d" if name == "loss_surface" else None
        where = {"ax": plt.figure().add_subplot(projection=projection)}
    ax = first(OTHERS[name](theme=theme, **where))
    assert ax is where.get("ax", ax)
    assert ax.xaxis.label.get_color() == {"light": LIGHT, "dark": DARK}[theme].ink
    assert first(OTHERS[name]()).figure.get_facecolor()[3] == 0


@pytest.mark.parametrize("name", [*FIGURES, *OTHERS])
def test_every_parameter_is_documented(name):
    figure = getattr(plots, name)
    documented = figure.__doc__.partition("Parameters\n")[2].partition("References\n")[0]
    heads = " ".join(re.findall(r"^ *(\w[\w, ]*)(?: :|$)", documented, flags=re.M))
    assert set(inspect.signature(figure).parameters) <= set(re.findall(r"\w+", heads))


@pytest.mark.parametrize("name", [*FIGURES, *OTHERS])
def test_every_parameter_is_written_out_with_its_type(name):
    figure = getattr(plots, name)
    assert not hasattr(figure, "__wrapped__")
    assert not hasattr(figure, "__signature__")
    assert {*inspect.signature(figure).parameters, "return"} == {*figure.__annotations__}


def test_a_look_that_a_figure_does_not_have_is_refused(lda, flowers):
    with pytest.raises(TypeError, match=r"confusion_matrix.*'legend'"):
        plots.confusion_matrix(lda, *flowers, legend=False)
    assert not plt.get_fignums()


@every_figure
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axes_come_back_in_the_ink_of_the_theme_whatever_your_own_settings(
    name, theme, lda, flowers
):
    with mpl.rc_context({"text.color": "magenta", "font.size": 30.0, "axes.grid": True}):
        before = dict(mpl.rcParams)
        ax = first(FIGURES[name](lda, *flowers, theme=theme))
        assert dict(mpl.rcParams) == before
    assert isinstance(ax, Axes)
    assert ax.figure.get_facecolor()[3] == 0
    ink = {"light": LIGHT, "dark": DARK}[theme].ink
    assert ax.xaxis.label.get_color() == ink
    assert {tick.label1.get_color() for tick in ax.xaxis.get_major_ticks()} <= {ink}


@pytest.mark.parametrize("name", sorted(set(FIGURES) - GRIDS))
def test_axes_that_are_given_are_drawn_on(name, lda, flowers):
    ax = plt.figure().add_subplot(projection="3d" if name in SOLID else None)
    assert FIGURES[name](lda, *flowers, ax=ax) is ax
    assert len(plt.get_fignums()) == 1


@every_figure
def test_two_classes_one_feature_draw_too(name, notes):
    X, y = notes
    if name in {"density_contours", *SOLID}:
        X = X[:, :2]
    est = sf.LDA().fit(X if name in {"density_contours", *SOLID} else X[:, 3:4], y)
    assert isinstance(first(FIGURES[name](est, X[:, : est.n_features_in_], y)), Axes)


@every_figure
def test_ten_classes_draw_too(name):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(10), 12)
    X = rng.normal(size=(10, 3))[y] * 3 + rng.normal(size=(120, 3))
    assert isinstance(first(FIGURES[name](sf.LDA().fit(X, y), X, y)), Axes)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"effect_of_neighbours"}))
def test_a_hundred_classes_draw_too(name, crowd):
    X, y = crowd
    more = {} if name != "posterior_surface" else {"label": 3}
    assert isinstance(first(FIGURES[name](sf.LDA().fit(X, y), X, y, **more)), Axes)


@every_figure
def test_strange_labels_and_names_draw_too(name):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    labels = np.array(["_under", "a $ sign and $ another", "a label of many, many words " * 3])
    codes = rng.integers(0, 3, 60)
    columns = [
        "_x",
        "cost in $ or $^2$",
        "a name of a feature that goes on and on and on " * 2,
    ]
    X = pd.DataFrame(rng.normal(size=(60, 3)) + codes[:, None], columns=columns)
    est = sf.LDA().fit(X, labels[codes])
    ax = first(FIGURES[name](est, X, labels[codes]))
    assert len(ax.get_xlabel()) <= 52


@pytest.mark.parametrize("name", sorted({"decision_regions", "roc"}))
def test_a_theme_that_is_none_is_refused(name, lda, flowers):
    with pytest.raises(InvalidParameterError, match="theme='sepia'"):
        FIGURES[name](lda, *flowers, theme="sepia")


@pytest.mark.parametrize("name", sorted(SOLID))
def test_a_surface_needs_axes_of_three_dimensions(name, lda, flowers):
    with pytest.raises(InvalidParameterError, match="projection='3d'"):
        FIGURES[name](lda, *flowers, ax=plt.figure().add_subplot())


@pytest.mark.parametrize("name", ["roc", "reliability", "cost_against_threshold"])
def test_a_label_that_is_no_class_is_refused(name, lda, flowers):
    with pytest.raises(UnknownLabelError, match="'tulip'"):
        FIGURES[name](lda, *flowers, label="tulip")


@pytest.mark.parametrize("name", ["roc", "reliability", "confusion_matrix"])
def test_a_classifier_needs_rows_and_labels(name, lda):
    with pytest.raises(InvalidInputError, match="rows X and labels y"):
        FIGURES[name](lda, None, None)


def test_a_legend_names_the_first_of_many_classes(crowd):
    X, y = crowd
    ax = plots.decision_regions(sf.LDA().fit(X, y), X, y, resolution=60)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:2] == ["0", "1"]
    assert "… and 89 more" in texts


def test_a_legend_stands_beside_the_axes_where_the_figure_makes_room(lda, flowers):
    ax = plots.roc(lda, *flowers)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    crowded = plt.figure().add_subplot()
    plots.roc(lda, *flowers, ax=crowded)
    crowded.figure.canvas.draw()
    assert crowded.get_legend().get_window_extent().x1 <= crowded.get_window_extent().x1


def test_everything_drawn_lies_inside_the_figure(lda, flowers):
    for name in ("decision_regions", "reliability", "error_against_threshold", "roc"):
        ax = FIGURES[name](lda, *flowers)
        ax.figure.canvas.draw()
        box = ax.figure.get_tightbbox()
        width, height = ax.figure.get_size_inches()
        assert box.x0 >= -0.01
        assert box.y0 >= -0.01
        assert box.x1 <= width + 0.01
        assert box.y1 <= height + 0.01


def test_many_figures_may_be_open(lda, flowers):
    for _ in range(22):
        plots.roc(lda, *flowers)
    assert len(plt.get_fignums()) == 22
    plt.close("all")
