"""Where results that draw themselves, and estimators that report, find figures and the report."""

from typing import Any


def draw(figure: str, *args: Any, **options: Any) -> Any:
    """Return what the figure of that name returns."""
    from suffice.present.plots.drawers import DRAWERS

    return DRAWERS[figure](*args, **options)


def report(*args: Any, **options: Any) -> Any:
    """Return what ``sf.report`` returns."""
    from suffice.present.report.build import report as make

    return make(*args, **options)
