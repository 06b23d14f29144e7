"""The one door to figures: a result that draws itself asks for its drawing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_rooms: list[Callable[[], Any]] = []


def leads_to(plots: Callable[[], Any]) -> None:
    """Say what imports the room of figures: the package does, which stands above all rooms."""
    _rooms[:] = [plots]


def draw(figure: str, *args: Any, **options: Any) -> Any:
    """Return what the figure of that name, one of ``suffice.plots.DRAWERS``, returns."""
    (plots,) = _rooms
    return plots().DRAWERS[figure](*args, **options)


def axes(ax: Any) -> Any:
    """Return ``ax``, or new axes."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
