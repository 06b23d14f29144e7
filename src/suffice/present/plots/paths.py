"""Figures of the recorded path of a solver: loss and gradient by step, and the loss surface."""

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.animation import FuncAnimation
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from suffice.discriminative.descent import DescentPath
from suffice.errors import InvalidParameterError
from suffice.present.plots.canvas import SIZE_3D, open_canvas
from suffice.present.plots.plane import Feature, around
from suffice.present.plots.style import LIGHT, Style, Theme, mixed
from suffice.typing import Floats

GRID = 81  # number of grid points along each side of the map of the loss
MARGIN = 0.25  # margin around the path, relative to the extent of the path
LEVELS = 14
FEW_STEPS = 60  # with at most this many steps, each step has a dot
MANY_STEPS = 300  # with more steps, the axis stretches the early steps
PATH_COLOUR = "#D55E00"


def descent_figure(
    path: DescentPath,
    axes: tuple[int, ...],
    window: npt.ArrayLike | None = None,
) -> Figure:
    """Return a figure with the loss and gradient by step, and the path on the loss."""
    with LIGHT.context():
        figure = plt.figure(figsize=(9.4, 4.2), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.3))
        loss = figure.add_subplot(grid[0, 0])
        gradient = figure.add_subplot(grid[1, 0], sharex=loss)
        loss_map = figure.add_subplot(grid[:, 1])
        _draw_curves(path, loss, gradient)
        _draw_map(path, axes, loss_map, window)
        for ax in (loss, gradient, loss_map):
            LIGHT.dress(ax)
        figure.align_ylabels([loss, gradient])
    return figure


def descent_animation(
    path: DescentPath,
    axes: tuple[int, ...],
    n_frames: int,
) -> FuncAnimation:
    """Return an animation of a point that follows the path, step by step."""
    with LIGHT.context():
        figure, loss_map = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
        _draw_map(path, axes, loss_map, None)
        LIGHT.dress(loss_map)
        (dot,) = loss_map.plot(
            [], [], "o", color=PATH_COLOUR, markersize=9, markeredgecolor=LIGHT.ink
        )
        title = figure.suptitle(" ")
    points = np.column_stack([path.parameters[:, axes], path.losses])[:, :2]
    # Early steps matter most, so frames are evenly spaced in the square root of the step.
    roots = np.linspace(0, np.sqrt(len(path) - 1), n_frames)
    frames = np.unique(np.square(roots).astype(int))

    def show(step: int) -> tuple[Artist, ...]:
        dot.set_data(points[step : step + 1, 0], points[step : step + 1, 1])
        title.set_text(f"step {step:,}, loss {path.losses[step]:.5g}")
        return dot, title

    return FuncAnimation(figure, show, frames=frames.tolist(), interval=120, blit=False)


def _draw_curves(path: DescentPath, loss: Axes, gradient: Axes) -> None:
    steps = np.arange(len(path))
    positive = path.gradient_norms > 0
    marker = _step_marker(path)
    loss.plot(
        steps, path.losses, color=PATH_COLOUR, linewidth=1.6, marker=marker, markersize=4
    )
    loss.set_ylabel("loss")
    loss.tick_params(labelbottom=False)
    gradient.plot(
        steps[positive],
        path.gradient_norms[positive],
        color=LIGHT.accent,
        linewidth=1.6,
        marker=marker,
        markersize=4,
    )
    gradient.set(yscale="log", ylabel="gradient norm", xlabel="step")
    if len(path) > MANY_STEPS:
        gradient.set_xscale("symlog", linthresh=10)
        gradient.set_xlim(0, len(path))
    else:
        gradient.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    loss.grid(axis="y", color=LIGHT.grid)
    gradient.grid(axis="y", color=LIGHT.grid)


def _draw_map(
    path: DescentPath,
    axes: tuple[int, ...],
    ax: Axes,
    window: npt.ArrayLike | None,
) -> None:
    """Draw the path on the loss: contours for two parameters, a curve for one."""
    grids = _grids(path, axes, window)
    values = path.section(axes, grids)
    if len(axes) == 1:
        ax.plot(grids[0], values, color=LIGHT.soft, linewidth=1)
        x = path.parameters[:, axes[0]]
        y = path.losses
        y_name = "loss"
    else:
        _draw_contours(ax, grids[0], grids[1], values)
        x = path.parameters[:, axes[0]]
        y = path.parameters[:, axes[1]]
        y_name = path.names[axes[1]]
    ax.set_xlabel(path.names[axes[0]], parse_math=False)
    ax.set_ylabel(y_name, parse_math=False)
    ax.plot(x, y, color=PATH_COLOUR, linewidth=1.6, marker=_step_marker(path), markersize=4)
    ax.plot(
        x[0],
        y[0],
        "s",
        color=LIGHT.ink,
        markersize=8,
        markeredgecolor=LIGHT.ground,
        zorder=4,
        label=f"start, loss {path.losses[0]:.4g}",
    )
    ax.plot(
        x[-1],
        y[-1],
        "*",
        color=PATH_COLOUR,
        markersize=15,
        markeredgecolor=LIGHT.ground,
        zorder=4,
        label=f"end, loss {path.losses[-1]:.4g}",
    )
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, labelcolor=LIGHT.ink)


def _draw_contours(ax: Axes, xs: Floats, ys: Floats, values: Floats) -> None:
    low = float(values.min())
    high = float(np.quantile(values, 0.98))
    # contours are denser near the minimum
    levels = low + (high - low) * np.linspace(0.03, 1, LEVELS) ** 2 + 1e-12 * abs(low)
    shades = _shades(LIGHT)
    # one shade per band, so that bands near the minimum can be distinguished
    norm = BoundaryNorm(levels, shades.N, extend="both")
    ax.contourf(xs, ys, values, levels=levels, cmap=shades, norm=norm, extend="both")
    ax.contour(xs, ys, values, levels=levels, colors=[LIGHT.ground], linewidths=0.6)


def _step_marker(path: DescentPath) -> str:
    """Return the marker of steps: a dot for short paths, none for long paths."""
    return "o" if len(path) <= FEW_STEPS else "none"


def loss_surface(
    path: DescentPath,
    parameters: tuple[Feature, Feature] | None = None,
    *,
    window: npt.ArrayLike | None = None,
    likelihood: bool = False,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return 3-D axes with the loss over two parameters, and the path of the descent.

    Parameters
    ----------
    path : DescentPath
        The ``path_`` of a solver that has recorded the path, or the result of
        ``sf.lectures.descend``.
    parameters : two names or indices, optional
        The parameters on the axes; by default the first two. All other parameters have their final
        values.
    window : ((low, high), (low, high)), optional
        Window of the parameters; by default around the path.
    likelihood : bool
        Whether to draw the log-likelihood, −loss, which is concave for logistic regression.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : 3-D Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> path = sf.lectures.descend(lambda w: w @ w, lambda w: 2 * w, [1.0, 2.0])
    >>> loss_surface(path, window=((-2, 2), (-3, 3))).get_zlabel()
    'loss'
    """
    axes = path.pair(parameters)
    if len(axes) < 2:
        msg = f"a surface needs two parameters, and this path has {path.names[0]!r} only"
        raise InvalidParameterError(msg)
    first, second = axes
    sign = -1 if likelihood else 1
    grids = _grids(path, axes, window)
    x, y = np.meshgrid(grids[0], grids[1])
    with open_canvas(ax, theme, size=SIZE_3D, projection="3d") as canvas:
        shades = _shades(canvas.style)
        canvas.ax_3d.plot_surface(
            x,
            y,
            sign * path.section(axes, grids),
            rcount=GRID,
            ccount=GRID,
            cmap=shades.reversed() if likelihood else shades,
            alpha=0.85,
            linewidth=0,
        )
        canvas.ax_3d.plot(
            path.parameters[:, first],
            path.parameters[:, second],
            sign * path.losses,
            color=PATH_COLOUR,
            linewidth=1.6,
            marker=_step_marker(path),
            markersize=4,
            zorder=10,
        )
        canvas.ax_3d.view_init(elev=28, azim=-125)
        height = "log-likelihood" if likelihood else "loss"
        canvas.name_axes(path.names[first], path.names[second], height)
    return canvas.ax


def _shades(style: Style) -> LinearSegmentedColormap:
    darkest = mixed(style.accent, style.ground, 0.6)
    return LinearSegmentedColormap.from_list("loss", [tuple(darkest), style.ground])


def _grids(
    path: DescentPath,
    axes: tuple[int, ...],
    window: npt.ArrayLike | None,
) -> list[Floats]:
    """Return the grid values of each parameter, over a window or around the path."""
    if window is None:
        ends = around(path.parameters[:, axes], MARGIN)
    else:
        ends = np.asarray(window, np.float64).reshape(-1, 2)
    if len(ends) != len(axes) or not (ends[:, 0] < ends[:, 1]).all():
        msg = f"window={window!r}: expected (low, high) for each of {len(axes)} parameters"
        raise InvalidParameterError(msg)
    return [np.linspace(low, high, GRID) for low, high in ends]
