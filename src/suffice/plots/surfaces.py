"""Surfaces over two coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LightSource, to_rgb
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from suffice.plots.canvas import Canvas
    from suffice.plots.style import Palette
    from suffice.typing import Floats

SUN = LightSource(azdeg=300, altdeg=50)


def winners_surface(
    canvas: Canvas, xs: Floats, ys: Floats, heights: Floats, palette: Palette
) -> None:
    """Draw the highest of K surfaces (m, m, K), each part in the colour of its class."""
    colours = np.array([to_rgb(look.colour) for look in palette.looks])
    coloured_surface(canvas, xs, ys, heights.max(axis=-1), colours[heights.argmax(axis=-1)])


def coloured_surface(canvas: Canvas, xs: Floats, ys: Floats, z: Floats, colours: Any) -> None:
    """Draw a surface (m, m) with a colour at each point (m, m, 3), lit from one side."""
    x, y = np.meshgrid(xs, ys)
    fine = {"rcount": len(ys), "ccount": len(xs), "linewidth": 0, "antialiased": False}
    canvas.ax.plot_surface(x, y, z, facecolors=_lit(z, colours), shade=False, **fine)
    _frame(canvas, xs, ys, float(z.max()) * 1.02)


def sheets(
    canvas: Canvas, xs: Floats, ys: Floats, heights: Floats, palette: Palette, lowest: float
) -> None:
    """Draw K surfaces (m, m, K) where they are over ``lowest``, nearer ones hiding others."""
    x, y = np.meshgrid(xs, ys)
    faces, colours = [], []
    for k, look in enumerate(palette.looks):
        z = heights[..., k]
        seen = _corners(z).max(axis=-1) > lowest
        faces.append(np.stack([_corners(v)[seen] for v in (x, y, z)], axis=-1))
        colours.append(_lit(z, np.array(to_rgb(look.colour)))[:-1, :-1][seen])
    shown = np.concatenate(colours)
    # one collection, so that faces of all sheets are sorted by depth together
    canvas.ax.add_collection3d(
        Poly3DCollection(np.concatenate(faces), facecolors=shown, edgecolors=shown, linewidths=0.3)
    )
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
