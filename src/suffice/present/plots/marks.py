"""What many figures share: points of classes, ellipses around them, surfaces over a plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LightSource, to_rgb
from matplotlib.patheffects import withStroke
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

from suffice.errors import InvalidParameterError
from suffice.present.plots.canvas import Canvas
from suffice.typing import Codes, Floats

FEW_CLASSES = 6  # of more, names are written where they lie too
MOST_NAMED = 40
SUN = LightSource(azdeg=300, altdeg=50)
RUG = 0.045  # height of a class's row of ticks, by that of the axes
MOST_POINTS = 4000  # drawn; of more rows a fixed random choice stands for all


def chosen_rows(n: int, most: int = MOST_POINTS) -> Codes:
    """Return the rows that are drawn."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def draw_points(
    canvas: Canvas,
    z: Floats,
    codes: Codes,
    wrong: Any = None,
    *,
    size: float = 1.0,
) -> None:
    """Draw a collection of points for each class; rows that are ``wrong`` have an ink edge."""
    shown = chosen_rows(len(z))
    area = size * np.clip(4200 / max(len(shown), 1), 6, 26)  # of a marker, in square points
    for k, look in enumerate(canvas.looks):
        rows = shown[codes[shown] == k]
        bad = np.zeros(len(rows), bool) if wrong is None else wrong[rows]
        edges = np.where(bad, canvas.style.ink, canvas.style.ground).tolist()
        widths = np.where(bad, 1.1 if area > 10 else 0.8, 0.4).tolist()
        dots = {
            "s": area,
            "marker": look.marker,
            "c": look.colour,
            "edgecolors": edges,
            "zorder": 3,
        }
        canvas.ax.scatter(*z[rows].T, label=f"_points {look.label}", linewidths=widths, **dots)


def histogram(canvas: Canvas, x: Floats, edges: Floats, k: int, **options: Any) -> None:
    """Draw the histogram of rows of class k."""
    look = canvas.looks[k]
    fill = {"color": look.colour, "hatch": look.hatch, "edgecolor": canvas.style.ground}
    canvas.ax.hist(x, edges, label=f"_histogram {look.label}", **fill, **options)


def ellipse(mean: Floats, sigma: Floats, coverage: float) -> Floats:
    """Return the ellipse that holds a share of N(μ, Σ) in the plane, a closed curve (181, 2)."""
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # (x − μ)ᵀ Σ⁻¹ (x − μ) = χ²₂(coverage) = −2 log(1 − coverage)
    radius = np.sqrt(-2 * np.log1p(-coverage))
    # Σ = L Lᵀ with L = diag(s) [[1, 0], [ρ, √(1 − ρ²)]], right whatever the units
    s = np.sqrt(np.diagonal(sigma))
    rho = float(np.clip(sigma[0, 1] / (s[0] * s[1]), -1, 1)) if s.all() else 0.0
    L = s[:, None] * np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    return np.asarray(mean + radius * circle @ L.T)


def ellipses(
    canvas: Canvas,
    mean: Floats,
    sigma: Floats,
    k: int,
    coverage: Sequence[float],
) -> None:
    """Draw the ellipses that hold the given shares of the Gaussian of class k."""
    for share in coverage:
        x, y = ellipse(mean, sigma, share).T
        canvas.curve(x, y, k, "ellipse", linestyle="-", linewidth=1.2, zorder=2.6)


def shares(canvas: Canvas, coverage: Any) -> tuple[float, ...]:
    """Return the shares that ellipses hold: as asked for, or fewer where classes are many."""
    if coverage is not None:
        if not all(0 < share < 1 for share in coverage):
            msg = f"coverage={coverage!r}: expected shares of a class, between 0 and 1"
            raise InvalidParameterError(msg)
        return tuple(coverage)
    return (0.5, 0.95) if len(canvas.looks) <= FEW_CLASSES else (0.5,)


def name_classes(canvas: Canvas, z: Floats, codes: Codes) -> None:
    """Write the name of each of many classes in the middle of its rows."""
    if not FEW_CLASSES < len(canvas.looks) <= MOST_NAMED:
        return
    halo = [withStroke(linewidth=2.5, foreground=canvas.style.ground)]
    for k, look in enumerate(canvas.looks):
        if np.any(codes == k):
            x, y = np.median(z[codes == k], axis=0)
            text = canvas.ax.text(
                x, y, look.name, ha="center", va="center", fontsize=9, zorder=4
            )
            text.set(path_effects=halo, fontweight="bold", parse_math=False, clip_on=True)


def rug(canvas: Canvas, values: Floats, codes: Codes, top: float) -> None:
    """Draw the rows of each of few classes as ticks in a row of its own, below zero."""
    # the axes, which reach up to ``top``, are given room for it
    if len(canvas.looks) > FEW_CLASSES:
        return
    share = RUG * (len(canvas.looks) + 0.7)
    bottom = -top * share / (1 - share)
    canvas.ax.set_ylim(bottom, top)
    canvas.ax.axhline(0, color=canvas.style.soft, linewidth=0.8)
    canvas.ax.set_yticks([t for t in canvas.ax.get_yticks() if 0 <= t <= top])
    canvas.ax.spines["left"].set_bounds(0, top)
    shown = chosen_rows(len(values), 1500)
    for k, look in enumerate(canvas.looks):
        x = values[shown[codes[shown] == k]]
        tick: Any = {
            "linestyle": "none",
            "marker": "|",
            "markersize": 6,
            "markeredgewidth": 0.8,
        }
        tick |= {"color": look.colour, "alpha": 0.8, "label": f"_rows {look.label}"}
        canvas.ax.plot(
            x, np.full(len(x), bottom * (k + 1) / (len(canvas.looks) + 0.7)), **tick
        )


def coloured_surface(canvas: Canvas, xs: Floats, ys: Floats, z: Floats, colours: Any) -> None:
    """Draw a surface (m, m) with a colour at each point (m, m, 3), lit from one side."""
    x, y = np.meshgrid(xs, ys)
    fine = {"rcount": len(ys), "ccount": len(xs), "linewidth": 0, "antialiased": False}
    canvas.ax.plot_surface(x, y, z, facecolors=_lit(z, colours), shade=False, **fine)
    _frame(canvas, xs, ys, float(z.max()) * 1.02)


def sheets(canvas: Canvas, xs: Floats, ys: Floats, heights: Floats, lowest: float) -> None:
    """Draw K surfaces (m, m, K) where they are over ``lowest``, nearer ones hiding others."""
    x, y = np.meshgrid(xs, ys)
    faces, colours = [], []
    for k, look in enumerate(canvas.looks):
        z = heights[..., k]
        seen = _corners(z).max(axis=-1) > lowest
        faces.append(np.stack([_corners(v)[seen] for v in (x, y, z)], axis=-1))
        colours.append(_lit(z, np.array(to_rgb(look.colour)))[:-1, :-1][seen])
    shown = np.concatenate(colours)
    # one collection, so that faces of all sheets are sorted by depth together
    paint: Any = {"facecolors": shown, "edgecolors": shown, "linewidths": 0.3}
    canvas.ax.add_collection3d(Poly3DCollection(np.concatenate(faces), **paint))
    _frame(canvas, xs, ys, float(heights.max()) * 1.02)


def _corners(values: Floats) -> Floats:
    """Return the values at the four corners of each cell, (m − 1, m − 1, 4), in a round."""
    low, high = values[:-1], values[1:]
    return np.stack([low[:, :-1], low[:, 1:], high[:, 1:], high[:, :-1]], axis=-1)


def _frame(canvas: Canvas, xs: Floats, ys: Floats, top: float) -> None:
    canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]), zlim=(0, top))
    canvas.ax.set_box_aspect((1, 1, 0.66), zoom=0.95)
    canvas.ax.view_init(elev=32, azim=-58)


def _lit(z: Floats, colours: Any) -> Any:
    """Return the colours in the light of the sun on a relief of z."""
    shade = SUN.hillshade(z / (np.ptp(z) or 1.0), vert_exag=0.35 * len(z))[..., None]
    return np.clip(colours * (0.62 + 0.5 * shade), 0, 1)
