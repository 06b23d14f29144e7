"""Which features a linear classifier goes by."""

import numpy as np
from matplotlib.patches import Patch

from suffice.curves.importance import standardised_coefficients
from suffice.errors import InvalidInputError
from suffice.plots.canvas import MOST_ENTRIES, Canvas, figure
from suffice.plots.inputs import Fitted
from suffice.text.lists import shortened
from suffice.typing import Floats


@figure("legend", of=Fitted.of)
def coefficient_importance(canvas: Canvas, fitted: Fitted, *, most: int = 15) -> None:
    """Return axes with the standardised coefficients of a linear classifier, largest on top.

    Each is the change of a log odds as its feature grows by one standard deviation. Of two
    classes a bar points to, and has the colour of, the class that the feature speaks for; of
    more, a dot for each class shows its score against the mean of all.
    Menard (2004), *The American Statistician* 58, 218–223.

    Parameters
    ----------
    estimator : fitted classifier
        Ours with tied covariance, or any with ``coef_``.
    X : array or frame (n, d), optional
        Rows whose standard deviations are taken; our Gaussian classifiers know them.
    most : int
        Features shown.

    Examples
    --------
    >>> [t.get_text() for t in coefficient_importance(sf.LDA().fit(X, y)).get_yticklabels()]
    ['x₃', 'x₄', 'x₂', 'x₁']
    """
    table = _standardised(fitted)
    size = np.abs(table).max(axis=0)
    order = np.argsort(-size, kind="stable")[:most]
    entries = min(len(canvas.palette), MOST_ENTRIES)
    canvas.resize(5.8, max(1.2 + 0.27 * len(order), 0.6 + 0.22 * entries))
    canvas.ax.axvline(0, color=canvas.style.soft, linewidth=0.8, zorder=3)
    draw = _bars if len(table) == 1 else _dots
    draw(canvas, table[:, order])
    names = shortened([fitted.names[j] for j in order], 28)
    canvas.ax.set_yticks(range(len(order)), labels=names, parse_math=False)
    canvas.ax.tick_params(axis="y", length=0)
    canvas.ax.set_ylim(len(order) - 0.4, -0.6)
    canvas.ax.spines["left"].set_visible(False)
    rest = len(size) - len(order)
    more = f" ({rest} more not shown)" if rest else ""
    canvas.name_axes(f"log odds per standard deviation{more}")
    if len(table) == 1:
        edge = canvas.style.ground
        looks = canvas.palette.looks
        patches = [Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=edge) for look in looks]
        canvas.legend(list(zip(patches, canvas.palette.names, strict=True)))
    else:
        canvas.legend_of_classes()


def _standardised(fitted: Fitted) -> Floats:
    """Return the coefficients of each score by standard deviations of all rows, (1 or K, d)."""
    coefficients = getattr(fitted.estimator, "coef_", None)
    moments = getattr(fitted.estimator, "moments_", None)
    if coefficients is None:
        raise InvalidInputError(
            f"{type(fitted.estimator).__name__} has no coefficients (coef_): importance is drawn "
            "for linear classifiers, such as sf.LDA or logistic regression"
        )
    if moments is not None:
        return standardised_coefficients(coefficients, np.sqrt(moments.total_variances))
    if len(fitted.rows):
        return standardised_coefficients(coefficients, fitted.rows.std(axis=0))
    raise InvalidInputError(
        "coefficients are comparable only in standard deviations: pass the rows X"
    )


def _bars(canvas: Canvas, table: Floats) -> None:
    values = table[0]
    looks = [canvas.palette.looks[int(value > 0)] for value in values]
    bars = canvas.ax.barh(
        range(len(values)), values, color=[look.colour for look in looks], height=0.66, zorder=2
    )
    for bar, look in zip(bars, looks, strict=True):
        bar.set(hatch=look.hatch, edgecolor=canvas.style.ground)


def _dots(canvas: Canvas, table: Floats) -> None:
    rows = np.arange(table.shape[1])
    faint = {"color": canvas.style.grid, "linewidth": 2, "zorder": 1}
    canvas.ax.hlines(rows, table.min(axis=0), table.max(axis=0), **faint)
    for k, look in enumerate(canvas.palette.looks):
        dots = {"marker": look.marker, "markeredgewidth": 0.5, "zorder": 4}
        label = f"_coefficients {canvas.palette.labels[k]}"
        canvas.dot(table[k], rows, look.colour, 6.5, label=label, **dots)
