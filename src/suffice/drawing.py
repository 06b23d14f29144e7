"""The one door to figures: a result that draws itself asks for its drawing here."""

from __future__ import annotations

from typing import Any


def draw(figure: str, *args: Any, **options: Any) -> Any:
    """Return what the figure of that name, one of ``suffice.plots.DRAWERS``, returns."""
    from suffice.plots import DRAWERS

    return DRAWERS[figure](*args, **options)


def axes(ax: Any) -> Any:
    """Return ``ax``, or new axes."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
