"""Figures of a recorded descent; Matplotlib is imported when one is asked for."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from suffice.discriminative.path import Path
    from suffice.typing import Floats

_GRID = 61
_MARGIN = 0.25
_WAY, _START, _END = "#c1272d", "#1a1a1a", "#c1272d"


def draw(path: Path, axes: tuple[int, ...]) -> Figure:
    """Return the figure: loss, gradient, and the way over the contours."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.25))
    loss = figure.add_subplot(grid[0, 0])
    slope = figure.add_subplot(grid[1, 0], sharex=loss)
    _draw_curves(path, loss, slope)
    ground = figure.add_subplot(grid[:, 1])
    draw_ground(path, axes, ground)
    draw_way(path, axes, ground)
    return figure


def animate(path: Path, axes: tuple[int, ...], n_frames: int) -> FuncAnimation:
    """Return an animation: the way appears step by step."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    figure, ground = plt.subplots(figsize=(6, 5), layout="constrained")
    draw_ground(path, axes, ground)
    points = _on_ground(path, axes)
    (way,) = ground.plot([], [], "o-", color=_WAY, ms=3, lw=1)
    # early steps matter most: frames are spaced evenly in the root of the step
    frames = np.unique(np.square(np.linspace(0, np.sqrt(len(path) - 1), n_frames)).astype(int))

    def show(t: int) -> tuple[Any, ...]:
        way.set_data(*points[: t + 1].T)
        ground.set_title(f"step {t}, loss {path.losses[t]:.5g}", fontsize=10)
        return (way,)

    return FuncAnimation(figure, show, frames=frames.tolist(), interval=120, blit=False)


def save(path: Path, axes: tuple[int, ...], n_frames: int, file: str | FilePath) -> None:
    """Write an animation to a .gif or .html file."""
    import matplotlib.pyplot as plt

    target = FilePath(file)
    if target.suffix not in {".gif", ".html"}:
        msg = f"an animation is written to .gif or .html, got {target.name!r}"
        raise InvalidParameterError(msg)
    animation = animate(path, axes, n_frames)
    if target.suffix == ".gif":
        animation.save(target, writer="pillow", dpi=90)
    else:
        target.write_text(animation.to_jshtml(default_mode="once"), encoding="utf-8")
    plt.close(animation._fig)  # type: ignore[attr-defined]


def _draw_curves(path: Path, loss: Any, slope: Any) -> None:
    steps = np.arange(len(path))
    loss.plot(steps, path.losses, ".-", color=_WAY, lw=1, ms=4)
    loss.set_ylabel("loss")
    loss.tick_params(labelbottom=False)
    positive = path.gradient_norms > 0
    slope.plot(steps[positive], path.gradient_norms[positive], ".-", color="#2c5f8a", lw=1, ms=4)
    slope.set(yscale="log", ylabel="gradient norm", xlabel="step")
    slope.xaxis.get_major_locator().set_params(integer=True)


def draw_ground(path: Path, axes: tuple[int, ...], ax: Any) -> None:
    """Draw the loss around the way: contours in two parameters, or a curve in one."""
    grids = [_span(path.parameters[:, axis]) for axis in axes]
    values = path.section(axes, grids)
    names = [path.names[axis] for axis in axes]
    if len(axes) == 1:
        ax.plot(grids[0], values, color="#888888", lw=1)
        ax.set(xlabel=names[0], ylabel="loss")
        return
    ax.contourf(*grids, values, levels=_levels(values), cmap="Blues_r", extend="both", alpha=0.85)
    ax.contour(*grids, values, levels=_levels(values), colors="white", linewidths=0.5)
    ax.set(xlabel=names[0], ylabel=names[1])


def draw_way(path: Path, axes: tuple[int, ...], ax: Any) -> None:
    """Draw the steps, the start and the end."""
    points = _on_ground(path, axes)
    ax.plot(*points.T, "o-", color=_WAY, ms=3 if len(path) < 100 else 1.5, lw=1)
    ax.plot(*points[0], "s", color=_START, ms=7, label=f"start, loss {path.losses[0]:.4g}")
    ax.plot(
        *points[-1],
        "*",
        color=_END,
        ms=13,
        mec="white",
        label=f"end, loss {path.losses[-1]:.4g}",
    )
    ax.legend(fontsize=8)


def _on_ground(path: Path, axes: tuple[int, ...]) -> Floats:
    """Return the points to draw, (T, 2)."""
    if len(axes) == 1:
        return np.column_stack([path.parameters[:, axes[0]], path.losses])
    return path.parameters[:, axes]


def _span(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    reach = max(high - low, 1e-3 * max(abs(low), abs(high)), np.finfo(float).tiny)
    return np.linspace(low - _MARGIN * reach, high + _MARGIN * reach, _GRID)


def _levels(values: Floats) -> Floats:
    """Return contour levels, denser near the lowest loss."""
    low, high = float(values.min()), float(np.quantile(values, 0.98))
    return low + (high - low) * np.linspace(0.02, 1, 16) ** 2 + 1e-12 * abs(low)
