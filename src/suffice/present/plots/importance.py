"""Figure of the standardised coefficients of a linear classifier."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from suffice.core.text.lists import shortened
from suffice.errors import InvalidInputError
from suffice.evaluate.curves.feature_separation import standardised_coefficients
from suffice.present.plots.canvas import MOST_ENTRIES, Canvas, Entry, open_canvas
from suffice.present.plots.inputs import Fitted, require_whole
from suffice.present.plots.style import Theme
from suffice.typing import Floats, RowsLike, SklearnClassifier


def coefficient_importance(
    estimator: SklearnClassifier,
    X: RowsLike | None = None,
    *,
    most: int = 15,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the standardised coefficients of a linear classifier, largest on top.

    Each coefficient is the change of a log odds when the feature grows by one standard deviation of
    all rows. With two classes, the direction and colour of a bar show which class the feature
    favours. With more classes, each class has a dot, which shows the coefficient of its score
    relative to the mean of all classes. Menard (2004), *The American Statistician* 58, 218–223.

    Parameters
    ----------
    estimator : fitted classifier
        A suffice classifier with tied covariance, or any classifier with ``coef_``.
    X : array or frame (n, d), optional
        Rows that give the standard deviations; suffice's Gaussian classifiers do not need them.
    most : int
        Number of features shown.
    legend : bool
        Whether to draw a legend next to the axes.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> [t.get_text() for t in coefficient_importance(sf.LDA().fit(X, y)).get_yticklabels()]
    ['x₃', 'x₄', 'x₂', 'x₁']
    """
    require_whole(most, "most", least=1)
    fitted = Fitted.of(estimator, X)
    coefficients = _standardised(fitted)
    largest = np.abs(coefficients).max(axis=0)
    order = np.argsort(-largest, kind="stable")[:most]
    names = shortened([fitted.names[j] for j in order], 28)
    with open_canvas(ax, theme, classes=fitted.classes, legend=legend) as canvas:
        n_entries = min(len(canvas.looks), MOST_ENTRIES)
        canvas.resize(5.8, max(1.2 + 0.27 * len(order), 0.6 + 0.22 * n_entries))
        canvas.ax.axvline(0, color=canvas.style.soft, linewidth=0.8, zorder=3)
        if len(coefficients) == 1:
            entries = _draw_bars(canvas, coefficients[0, order])
        else:
            entries = _draw_dots(canvas, coefficients[:, order])
        canvas.ax.set_yticks(range(len(order)), labels=names, parse_math=False)
        canvas.ax.tick_params(axis="y", length=0)
        canvas.ax.set_ylim(len(order) - 0.4, -0.6)
        canvas.ax.spines["left"].set_visible(False)
        n_hidden = len(largest) - len(order)
        remark = f" ({n_hidden} more not shown)" if n_hidden else ""
        canvas.name_axes(f"log odds per standard deviation{remark}")
        canvas.legend(entries)
    return canvas.ax


def _standardised(fitted: Fitted) -> Floats:
    """Return the coefficients times the standard deviations of all rows, (1 or K, d)."""
    estimator = fitted.estimator
    name = type(estimator).__name__
    coefficients = getattr(estimator, "coef_", None)
    if coefficients is None:
        msg = (
            f"{name} has no coefficients (coef_): importance is drawn for linear classifiers, "
            "such as sf.LDA or logistic regression"
        )
        raise InvalidInputError(msg)
    if hasattr(estimator, "dual_coef_") and len(estimator.classes_) > 2:
        msg = (
            f"{name} has coefficients of pairs of classes, not of each: "
            "draw those of LinearSVC or logistic regression"
        )
        raise InvalidInputError(msg)
    moments = getattr(estimator, "moments_", None)
    if moments is not None:
        return standardised_coefficients(coefficients, np.sqrt(moments.total_variances))
    if len(fitted.rows):
        return standardised_coefficients(coefficients, fitted.rows.std(axis=0))
    msg = "coefficients are comparable only in standard deviations: pass the rows X"
    raise InvalidInputError(msg)


def _draw_bars(canvas: Canvas, values: Floats) -> list[Entry]:
    """Draw a bar for each feature in the colour of the class that it favours."""
    ground = canvas.style.ground
    bars = canvas.ax.barh(range(len(values)), values, 0.66, zorder=2)
    for bar, value in zip(bars, values, strict=True):
        look = canvas.looks[1] if value > 0 else canvas.looks[0]
        bar.set(facecolor=look.colour, hatch=look.hatch, edgecolor=ground)
    entries: list[Entry] = []
    for look in canvas.looks:
        patch = Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=ground)
        entries.append((patch, look.name))
    return entries


def _draw_dots(canvas: Canvas, coefficients: Floats) -> list[Entry]:
    """Draw a dot for each feature and class, with a faint line between the extremes."""
    positions = np.arange(coefficients.shape[1])
    canvas.ax.hlines(
        positions,
        coefficients.min(axis=0),
        coefficients.max(axis=0),
        color=canvas.style.grid,
        linewidth=2,
        zorder=1,
    )
    for scores, look in zip(coefficients, canvas.looks, strict=True):
        canvas.dot(
            scores,
            positions,
            look.colour,
            6.5,
            marker=look.marker,
            edgewidth=0.5,
            zorder=4,
            label=f"_coefficients {look.label}",
        )
    return canvas.entries()
