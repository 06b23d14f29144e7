"""What the number of neighbours does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import NullFormatter, PercentFormatter, ScalarFormatter

from suffice.curves import NeighbourCurve, neighbour_curve
from suffice.plots.canvas import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.plots.canvas import Canvas
    from suffice.plots.style import Theme


def effect_of_neighbours(
    X: Any,
    y: Any = None,
    neighbours: Any = None,
    *,
    folds: int = 10,
    random_state: int = 0,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the error of nearest neighbours on rows learnt from and rows held out.

    Parameters
    ----------
    X, y : array or frame (n, d) and array (n,)
        Rows and their labels; standardise features first where units differ. A
        ``NeighbourCurve`` alone will do in place of both.
    neighbours : array of int, optional
        Numbers of neighbours k; by default odd ones.
    folds, random_state : int
        Of cross-validation.
    legend, theme, ax
        As in ``decision_regions``.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, figure 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> ax = effect_of_neighbours(*load_iris(return_X_y=True), [1, 5, 15], folds=3)
    >>> ax.get_xlabel()
    'neighbours k'
    """
    curve = (
        X
        if isinstance(X, NeighbourCurve)
        else neighbour_curve(X, y, neighbours, folds=folds, random_state=random_state)
    )
    with drawing(ax, theme) as canvas:
        handles = _curves(canvas, curve)
        _frame(canvas, curve)
        if legend:
            names = ["held out ± s.e.", "learnt from", f"best: k = {curve.best}"]
            canvas.legend(handles, names)
    return canvas.axes


def _curves(canvas: Canvas, curve: NeighbourCurve) -> list[Any]:
    k, style = curve.neighbours, canvas.style
    low, high = curve.test_error - curve.standard_error, curve.test_error + curve.standard_error
    canvas.ax.fill_between(k, low.clip(0), high, color=style.accent, alpha=0.2, linewidth=0)
    (held,) = canvas.ax.plot(k, curve.test_error, color=style.accent, label="_held out")
    (learnt,) = canvas.ax.plot(
        k, curve.training_error, color=style.soft, linestyle="--", label="_learnt from"
    )
    (best,) = canvas.ax.plot(
        curve.best,
        curve.test_error.min(),
        marker="o",
        markersize=6,
        linestyle="none",
        color=style.accent,
        markeredgecolor=style.ground,
        zorder=3,
        label="_best",
    )
    return [held, learnt, best]


def _frame(canvas: Canvas, curve: NeighbourCurve) -> None:
    canvas.ax.set_xscale("log")
    canvas.ax.xaxis.set_major_formatter(ScalarFormatter())
    canvas.ax.xaxis.set_minor_formatter(NullFormatter())
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= curve.neighbours.max()]
    canvas.ax.set_xticks(ticks)
    canvas.ax.set_ylim(bottom=0)
    canvas.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    canvas.name_axes("neighbours k", "error")
