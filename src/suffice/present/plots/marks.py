"""Shared parts of figures: points and ellipses of classes, histograms, surfaces."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LightSource
from matplotlib.patheffects import withStroke

from suffice.errors import InvalidParameterError
from suffice.present.plots.canvas import Canvas
from suffice.typing import Codes, Flags, Floats

FEW_CLASSES = 6  # with more classes, names are written among the rows
MOST_NAMED = 40
SUN = LightSource(azdeg=300, altdeg=50)
RUG_HEIGHT = 0.045  # height of one class's ticks, relative to the axes
MOST_POINTS = 4000  # with more rows, a fixed random sample is drawn
MOST_TICKS = 1500  # most ticks of a rug, a line of ticks for rows


def sampled_rows(n: int, most: int = MOST_POINTS) -> Codes:
    """Return the indices of the rows to draw, ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def draw_points(
    canvas: Canvas,
    z: Floats,
    codes: Codes,
    marked: Flags | None = None,
    *,
    size: float = 1.0,
) -> None:
    """Draw the points of each class; ``marked`` rows have edges in the colour of text."""
    shown = sampled_rows(len(z))
    # area of a marker in square points
    area = size * np.clip(4200 / max(len(shown), 1), 6, 26)
    if marked is None:
        marked = np.zeros(len(z), bool)
    for k, look in enumerate(canvas.looks):
        rows = shown[codes[shown] == k]
        edges = np.where(marked[rows], canvas.style.ink, canvas.style.ground)
        widths = np.where(marked[rows], 1.1 if area > 10 else 0.8, 0.4)
        canvas.ax.scatter(
            z[rows, 0],
            z[rows, 1],
            s=area,
            marker=look.marker,
            c=look.colour,
            edgecolors=edges.tolist(),
            linewidths=widths.tolist(),
            zorder=3,
            label=f"_points {look.label}",
        )


def draw_histogram(
    canvas: Canvas,
    x: Floats,
    edges: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    alpha: float,
    linewidth: float | None = None,
) -> None:
    """Draw the histogram of rows of class k."""
    look = canvas.looks[k]
    canvas.ax.hist(
        x,
        edges.tolist(),
        weights=weights,
        color=look.colour,
        hatch=look.hatch,
        edgecolor=canvas.style.ground,
        alpha=alpha,
        linewidth=linewidth,
        label=f"_histogram {look.label}",
    )


def ellipse(mean: Floats, sigma: Floats, coverage: float) -> Floats:
    """Return the ellipse that contains a given share of N(μ, Σ), as a closed curve (181, 2)."""
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # (x − μ)ᵀ Σ⁻¹ (x − μ) = χ²₂(coverage) = −2 log(1 − coverage)
    radius = np.sqrt(-2 * np.log1p(-coverage))
    # Σ = L Lᵀ with L = diag(s) [[1, 0], [ρ, √(1 − ρ²)]], which is accurate for all units
    s = np.sqrt(np.diagonal(sigma))
    rho = float(np.clip(sigma[0, 1] / (s[0] * s[1]), -1, 1)) if s.all() else 0.0
    L = s[:, None] * np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    return np.asarray(mean + radius * circle @ L.T)


def draw_ellipses(
    canvas: Canvas,
    mean: Floats,
    sigma: Floats,
    k: int,
    coverage: Sequence[float],
) -> None:
    """Draw the ellipses that contain given shares of class k's Gaussian."""
    for share in coverage:
        x, y = ellipse(mean, sigma, share).T
        canvas.curve(x, y, k, "ellipse", linestyle="-", linewidth=1.2, zorder=2.6)


def checked_coverage(coverage: Sequence[float]) -> tuple[float, ...]:
    """Return the shares as a tuple; raise unless they are between 0 and 1."""
    if not all(0 < share < 1 for share in coverage):
        msg = f"coverage={coverage!r}: expected shares of a class, between 0 and 1"
        raise InvalidParameterError(msg)
    return tuple(coverage)


def ellipse_coverage(coverage: Sequence[float] | None, n_classes: int) -> tuple[float, ...]:
    """Return the shares that ellipses contain; by default, fewer shares for many classes."""
    if coverage is not None:
        return checked_coverage(coverage)
    return (0.5, 0.95) if n_classes <= FEW_CLASSES else (0.5,)


def name_classes(canvas: Canvas, z: Floats, codes: Codes) -> None:
    """Write the name of each class in the middle of its rows, if there are many classes."""
    if not FEW_CLASSES < len(canvas.looks) <= MOST_NAMED:
        return
    halo = withStroke(linewidth=2.5, foreground=canvas.style.ground)
    for k, look in enumerate(canvas.looks):
        if not np.any(codes == k):
            continue
        x, y = np.median(z[codes == k], axis=0)
        canvas.ax.text(
            x,
            y,
            look.name,
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            path_effects=[halo],
            parse_math=False,
            clip_on=True,
            zorder=4,
        )


def draw_rug(canvas: Canvas, values: Floats, codes: Codes, top: float) -> None:
    """Draw the rows as ticks below zero, in one line per class, if there are few classes.

    The axes, which reach up to ``top``, are extended downwards.
    """
    if len(canvas.looks) > FEW_CLASSES:
        return
    n_lines = len(canvas.looks) + 0.7
    share = RUG_HEIGHT * n_lines
    bottom = -top * share / (1 - share)
    canvas.ax.set_ylim(bottom, top)
    canvas.ax.axhline(0, color=canvas.style.soft, linewidth=0.8)
    canvas.ax.set_yticks([tick for tick in canvas.ax.get_yticks() if 0 <= tick <= top])
    canvas.ax.spines["left"].set_bounds(0, top)
    shown = sampled_rows(len(values), MOST_TICKS)
    for k, look in enumerate(canvas.looks):
        x = values[shown[codes[shown] == k]]
        height = bottom * (k + 1) / n_lines
        canvas.ax.plot(
            x,
            np.full(len(x), height),
            linestyle="none",
            marker="|",
            markersize=6,
            markeredgewidth=0.8,
            color=look.colour,
            alpha=0.8,
            label=f"_rows {look.label}",
        )


def draw_surface(canvas: Canvas, xs: Floats, ys: Floats, z: Floats, colours: Floats) -> None:
    """Draw a surface (m, m) with a colour for each point (m, m, 3), lit from one side."""
    x, y = np.meshgrid(xs, ys)
    canvas.ax_3d.plot_surface(
        x,
        y,
        z,
        facecolors=_lit(z, colours),
        shade=False,
        rcount=len(ys),
        ccount=len(xs),
        linewidth=0,
        antialiased=False,
    )
    _frame(canvas, xs, ys, float(z.max()) * 1.02)


def _frame(canvas: Canvas, xs: Floats, ys: Floats, top: float) -> None:
    canvas.ax_3d.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]), zlim=(0, top))
    canvas.ax_3d.set_box_aspect((1, 1, 0.66), zoom=0.95)
    canvas.ax_3d.view_init(elev=32, azim=-58)


def _lit(z: Floats, colours: Floats) -> Floats:
    """Return the colours with shading, as if light fell on the surface z."""
    relief = z / (np.ptp(z) or 1.0)
    shade = SUN.hillshade(relief, vert_exag=0.35 * len(z))[..., None]
    return np.clip(colours * (0.62 + 0.5 * shade), 0, 1)
