"""Densities of the classes over one feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from suffice.plots import marks
from suffice.plots.canvas import MOST_ENTRIES, drawing
from suffice.plots.fitted import Fitted
from suffice.plots.marginals import Marginals
from suffice.plots.plane import feature_index
from suffice.plots.style import palette_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.plots.canvas import Canvas
    from suffice.plots.style import Palette, Theme
    from suffice.typing import Codes, Floats

FEWEST_BARS, MOST_BARS = 8, 50


def class_densities(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    feature: Any = 0,
    weighted: bool = True,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the density of each class over one feature.

    Rows of a few classes stand behind as histograms of the same area and below as ticks. Other
    features are integrated out.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with densities.
    X, y : array or frame (n, d) and array (n,), optional
        Rows and their labels.
    feature : name or index
        The feature to draw over.
    weighted : bool
        Whether densities are multiplied by the priors, π_k p(x | k): the largest is the class
        that is chosen, and their sum, the thin line, is the density of all rows.
    legend, palette, theme, ax
        As in ``decision_regions``.

    References
    ----------
    Duda, Hart & Stork (2001), *Pattern Classification*, section 2.1.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> class_densities(sf.QDA().fit(X, y), X, y, feature=2).get_xlabel()
    'x₃'
    """
    fitted = Fitted.of(estimator, X)
    j = feature_index(fitted.names, feature)
    marginals = Marginals.of(fitted, [j])
    looks = palette_for(fitted.classes, palette)
    codes = None if y is None else fitted.codes(y)
    factors = marginals.priors if weighted else np.ones(len(looks))
    low, high = marginals.window(0.12)[0]
    xs = np.linspace(low, high, 601)
    curves = factors * marginals.at(xs[:, None])
    with drawing(ax, theme) as canvas:
        if codes is not None and len(looks) <= MOST_ENTRIES:
            _histograms(canvas, fitted.rows[:, j], codes, looks, factors)
        for k, look in enumerate(looks.looks):
            canvas.ax.plot(
                xs,
                curves[:, k],
                color=look.colour,
                linestyle=look.line,
                linewidth=2,
                label=f"_density {looks.labels[k]}",
            )
        extra = _total(canvas, xs, curves) if weighted else []
        _frame(canvas, xs, fitted.names[j], weighted=weighted)
        if codes is not None:
            marks.rug(canvas, fitted.rows[:, j], codes, looks, canvas.ax.get_ylim()[1])
        if legend:
            canvas.legend_of_classes(looks, lines=True, extra=extra)
    return canvas.axes


def _histograms(canvas: Canvas, x: Floats, codes: Codes, palette: Palette, factors: Floats) -> None:
    """Draw a histogram of each class whose area is its factor."""
    edges = _edges(x, codes)
    for k, look in enumerate(palette.looks):
        rows = x[codes == k]
        if len(rows):
            canvas.ax.hist(
                rows,
                edges,
                weights=np.full(len(rows), factors[k] / len(rows) / (edges[1] - edges[0])),
                color=look.colour,
                alpha=0.3,
                hatch=look.hatch,
                edgecolor=canvas.style.ground,
                label=f"_histogram {palette.labels[k]}",
            )


def _total(canvas: Canvas, xs: Floats, curves: Floats) -> list[tuple[Any, str]]:
    thin: dict[str, Any] = {"color": canvas.style.soft, "linewidth": 0.9}
    canvas.ax.plot(xs, curves.sum(axis=1), label="_density of all", zorder=1.5, **thin)
    return [(Line2D([], [], **thin), "all classes")]


def _frame(canvas: Canvas, xs: Floats, name: str, *, weighted: bool) -> None:
    canvas.ax.set_xlim(xs[0], xs[-1])
    canvas.ax.set_ylim(bottom=0)
    canvas.name_axes(name, "prior × density" if weighted else "density")


def _edges(x: Floats, codes: Codes) -> Floats:
    """Return edges of bars as narrow as the narrowest class asks for, within reason."""
    widths = [np.diff(np.histogram_bin_edges(x[codes == k], "fd"))[0] for k in np.unique(codes)]
    positive = [width for width in widths if width > 0]
    bins = np.ptp(x) / min(positive) if positive else 1
    return np.histogram_bin_edges(
        x, int(np.clip(bins, FEWEST_BARS, min(MOST_BARS, 2 * np.sqrt(len(x)))))
    )
