"""Decision regions of one feature: bands along it, and the rows of each class in a strip."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.plots import marks

if TYPE_CHECKING:
    from suffice.plots.canvas import Canvas
    from suffice.plots.fitted import Fitted
    from suffice.plots.palette import Palette
    from suffice.plots.plane import Plane
    from suffice.typing import Codes, Floats

CELLS = 2000
HALVINGS = 40  # of a cell, towards the point where the prediction changes
MOST_NAMES = 30  # classes named beside their strips


def draw(
    canvas: Canvas, fitted: Fitted, plane: Plane, codes: Codes | None, palette: Palette
) -> list[tuple[Any, str]]:
    """Draw bands, thresholds and strips; return what the legend must say beside the classes."""
    low, high = plane.window(fitted.rows)[0]
    cuts, answers = bands(fitted, plane, low, high)
    for (left, right), k in zip(pairwise([low, *cuts, high]), answers, strict=True):
        if k >= 0:
            canvas.ax.axvspan(
                left, right, color=palette.looks[k].colour, alpha=0.22, linewidth=0, zorder=0
            )
    for cut in cuts:
        canvas.ax.axvline(cut, color=canvas.style.ink, linewidth=1.5, label="_boundary")
    canvas.ax.set_xlim(low, high)
    canvas.name_axes(plane.names[0])
    _classes_up(canvas, palette)
    if codes is None:
        return []
    shown = marks.chosen_rows(len(codes))
    rows, codes = fitted.rows[shown], codes[shown]
    predicted = fitted.predict(rows)
    wrong = (predicted != codes) & (predicted >= 0)
    heights = codes + jitter(len(codes))
    z = np.stack([plane.coordinates(rows)[:, 0], heights], axis=1)
    marks.points(canvas, z, codes, palette, wrong)
    return marks.wrong_entry(canvas, wrong)


def bands(fitted: Fitted, plane: Plane, low: float, high: float) -> tuple[list[float], Codes]:
    """Return the points where the prediction changes, and the prediction between them."""
    edges = np.linspace(low, high, CELLS)
    codes = fitted.predict(plane.lift(edges[:, None]))
    change = np.flatnonzero(codes[1:] != codes[:-1])
    left, right = edges[change], edges[change + 1]
    for _ in range(HALVINGS if len(change) else 0):
        middle = (left + right) / 2
        same = fitted.predict(plane.lift(middle[:, None])) == codes[change]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return ((left + right) / 2).tolist(), np.append(codes[change], codes[-1])


def jitter(n: int, width: float = 0.6) -> Floats:
    """Return offsets that spread n rows evenly over a strip, in an order that looks random."""
    # multiples of the golden ratio, modulo one
    golden: Floats = np.arange(1, n + 1, dtype=np.float64) * 0.6180339887498949 % 1
    offsets: Floats = (golden - 0.5) * width
    return offsets


def _classes_up(canvas: Canvas, palette: Palette) -> None:
    """Make the vertical axis one of classes, the first on top."""
    K = len(palette)
    canvas.ax.set_ylim(K - 0.5, -0.5)
    step = -(-K // MOST_NAMES)
    canvas.ax.set_yticks(range(0, K, step), labels=palette.names[::step], parse_math=False)
    canvas.ax.tick_params(axis="y", length=0)
