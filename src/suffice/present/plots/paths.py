"""The recorded descent of a solver: loss and gradient by step, and the way over the loss."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from suffice.discriminative.descent import DescentPath
from suffice.errors import InvalidParameterError
from suffice.present.plots.canvas import SOLID, Canvas, figure
from suffice.present.plots.plane import around
from suffice.present.plots.style import LIGHT, Style, mixed
from suffice.typing import Floats

GRID = 81  # points along each side of the ground
MARGIN = 0.25  # of the reach of the way
LEVELS = 14
FEW_STEPS = 60  # up to which each step has a dot
MANY_STEPS = 300  # from which early steps are stretched
WAY = "#D55E00"


def descent_figure(path: DescentPath, axes: tuple[int, ...], window: Any = None) -> Figure:
    """Return a figure: loss and gradient by step, and the way over the contours of the loss."""
    with LIGHT.context():
        whole = plt.figure(figsize=(9.4, 4.2), layout="constrained")
        grid = whole.add_gridspec(2, 2, width_ratios=(1, 1.3))
        loss = whole.add_subplot(grid[0, 0])
        slope = whole.add_subplot(grid[1, 0], sharex=loss)
        ground = whole.add_subplot(grid[:, 1])
        _draw_curves(path, loss, slope)
        _draw_ground(path, axes, ground, window)
        for ax in (loss, slope, ground):
            LIGHT.dress(ax)
        whole.align_ylabels([loss, slope])
    return whole


def descent_animation(
    path: DescentPath,
    axes: tuple[int, ...],
    n_frames: int,
) -> FuncAnimation:
    """Return an animation: a point walks the way, step by step."""
    with LIGHT.context():
        whole, ground = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
        _draw_ground(path, axes, ground, None)
        LIGHT.dress(ground)
        (here,) = ground.plot([], [], "o", color=WAY, markersize=9, markeredgecolor=LIGHT.ink)
        said = whole.suptitle(" ")
    points = np.column_stack([path.parameters[:, axes], path.losses])[:, :2]
    # early steps matter most: frames are spaced evenly in the root of the step
    frames = np.unique(np.square(np.linspace(0, np.sqrt(len(path) - 1), n_frames)).astype(int))

    def show(t: int) -> tuple[Any, ...]:
        here.set_data(*points[t : t + 1].T)
        said.set_text(f"step {t:,}, loss {path.losses[t]:.5g}")
        return here, said

    return FuncAnimation(whole, show, frames=frames.tolist(), interval=120, blit=False)


def _draw_curves(path: DescentPath, loss: Any, slope: Any) -> None:
    steps, line = np.arange(len(path)), _line(path)
    loss.plot(steps, path.losses, **line)
    loss.set_ylabel("loss")
    loss.tick_params(labelbottom=False)
    positive = path.gradient_norms > 0
    slope.plot(
        steps[positive], path.gradient_norms[positive], **(line | {"color": LIGHT.accent})
    )
    slope.set(yscale="log", ylabel="gradient norm", xlabel="step")
    if len(path) > MANY_STEPS:
        slope.set_xscale("symlog", linthresh=10)
        slope.set_xlim(0, len(path))
    else:
        slope.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    for ax in (loss, slope):
        ax.grid(axis="y", color=LIGHT.grid)


def _draw_ground(path: DescentPath, axes: tuple[int, ...], ax: Any, window: Any) -> None:
    """Draw the loss in a window, contours in two parameters, a curve in one; and the way on it."""
    grids, points = _grids(path, axes, window), path.parameters[:, axes]
    values, names = path.section(axes, grids), [path.names[axis] for axis in axes]
    if len(axes) == 1:
        ax.plot(grids[0], values, color=LIGHT.soft, linewidth=1)
        points, names = np.column_stack([points, path.losses]), [*names, "loss"]
    else:
        low, high = float(values.min()), float(np.quantile(values, 0.98))
        # contours are denser near the lowest loss
        levels = low + (high - low) * np.linspace(0.03, 1, LEVELS) ** 2 + 1e-12 * abs(low)
        shades = _shades(LIGHT)
        # a shade for each band, so that bands near the lowest loss differ as much as others
        norm = BoundaryNorm(levels, shades.N, extend="both")
        ax.contourf(*grids, values, levels=levels, cmap=shades, norm=norm, extend="both")
        ax.contour(*grids, values, levels=levels, colors=[LIGHT.ground], linewidths=0.6)
    ax.set_xlabel(names[0], parse_math=False)
    ax.set_ylabel(names[1], parse_math=False)
    ax.plot(*points.T, **_line(path))
    marks = {"markeredgecolor": LIGHT.ground, "linestyle": "none", "zorder": 4}
    start, end = (f"loss {path.losses[at]:.4g}" for at in (0, -1))
    ax.plot(*points[0], "s", color=LIGHT.ink, markersize=8, label=f"start, {start}", **marks)
    ax.plot(*points[-1], "*", color=WAY, markersize=15, label=f"end, {end}", **marks)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, labelcolor=LIGHT.ink)


def _line(path: DescentPath) -> dict[str, Any]:
    dots = {"marker": "o", "markersize": 4} if len(path) <= FEW_STEPS else {}
    return {"color": WAY, "linewidth": 1.6, **dots}


@figure(**SOLID)
def loss_surface(
    canvas: Canvas,
    path: DescentPath,
    parameters: Any = None,
    *,
    window: Any = None,
    likelihood: bool = False,
) -> None:
    """Return 3-D axes with the loss of a descent over two parameters, and the way down.

    Parameters
    ----------
    path : DescentPath
        ``path_`` of a solver that recorded it, or what ``sf.lectures.descend`` returns.
    parameters : two names or indices, optional
        By default the first two; the others are held at their last values.
    window : ((low, high), (low, high)), optional
        Of the parameters; by default around the way.
    likelihood : bool
        Draw the log-likelihood, −loss: of logistic regression a concave surface, climbed.

    Examples
    --------
    >>> path = sf.lectures.descend(lambda w: w @ w, lambda w: 2 * w, [1.0, 2.0])
    >>> loss_surface(path, window=((-2, 2), (-3, 3))).get_zlabel()
    'loss'
    """
    axes, sign = path.pair(parameters), -1 if likelihood else 1
    if len(axes) < 2:
        msg = f"a surface needs two parameters, and this path has {path.names[0]!r} only"
        raise InvalidParameterError(msg)
    grids = _grids(path, axes, window)
    z = sign * path.section(axes, grids)
    shades = _shades(canvas.style)
    fine = {"cmap": shades.reversed() if likelihood else shades, "alpha": 0.85, "linewidth": 0}
    canvas.ax.plot_surface(*np.meshgrid(*grids), z, rcount=GRID, ccount=GRID, **fine)
    canvas.ax.plot(*path.parameters[:, axes].T, sign * path.losses, zorder=10, **_line(path))
    canvas.ax.view_init(elev=28, azim=-125)
    names = (path.names[axis] for axis in axes)
    canvas.name_axes(*names, "log-likelihood" if likelihood else "loss")


def _shades(style: Style) -> LinearSegmentedColormap:
    ends = [tuple(mixed(style.accent, style.ground, 0.6)), style.ground]
    return LinearSegmentedColormap.from_list("loss", ends)


def _grids(path: DescentPath, axes: tuple[int, ...], window: Any) -> list[Floats]:
    """Return the values of each parameter, over a window or around the way."""
    own = around(path.parameters[:, axes], MARGIN)
    ends = own if window is None else np.asarray(window, np.float64).reshape(-1, 2)
    if len(ends) != len(axes) or not (ends[:, 0] < ends[:, 1]).all():
        msg = f"window={window!r}: expected (low, high) for each of {len(axes)} parameters"
        raise InvalidParameterError(msg)
    return [np.linspace(low, high, GRID) for low, high in ends]
