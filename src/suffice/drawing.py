"""The one door upwards: a result that draws itself, an estimator that reports on itself."""

from collections.abc import Callable
from typing import Any

_rooms: dict[str, Callable[[], Any]] = {}


def leads_to(**rooms: Callable[[], Any]) -> None:
    """Say what imports ``plots`` and ``reporting``: the package, which stands above all rooms."""
    _rooms.update(rooms)


def draw(figure: str, *args: Any, **options: Any) -> Any:
    """Return what the figure of that name, one of ``suffice.plots.DRAWERS``, returns."""
    return _rooms["plots"]().DRAWERS[figure](*args, **options)


def report(*args: Any, **options: Any) -> Any:
    """Return what ``sf.report`` returns."""
    return _rooms["reporting"]().report(*args, **options)
