"""Numbers as people read them; one rule for every renderer."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

NOTHING = "–"


def number(value: Any, digits: int = 4) -> str:
    """Return a number to a few significant digits."""
    if not np.isfinite(value):
        return NOTHING if np.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(float(value))
    whole = 10**digits - 0.5 <= size < 1e9
    mark = "," if round(size) >= 1e4 else ""  # of thousands
    text = f"{size:{mark}.0f}" if whole else f"{size:.{digits}g}"
    return f"−{text}" if value < 0 else text


def percent(share: Any) -> str:
    """Return a share in percent; its sign stays on the line of its number."""
    if not np.isfinite(share):
        return NOTHING
    p = 100 * float(share)
    form = (
        ".0f" if p in (0, 100) else ".1f" if 0.05 <= p < 99.95 else ".2g" if p < 50 else ".4g"
    )
    beyond = "< 0.001" if 0 < p < 1e-3 else "> 99.99" if p >= 99.995 and p != 100 else ""
    return f"{beyond or format(p, form)}\N{NO-BREAK SPACE}%"


def percent_label(share: float) -> str:
    """Return a share in percent for a figure, with a decimal only where it matters."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == round(value) else f"{value:.1f} %"


def p_value(p: Any) -> str:
    """Return a p-value alone, for a table."""
    return (
        NOTHING if p is None or not np.isfinite(p) else "< 0.0001" if p < 1e-4 else f"{p:.2g}"
    )


def p_statement(p: float, relation: str = "=") -> str:
    """Return a p-value as a sentence has it."""
    if not np.isfinite(p):
        return "p unknown"
    if p >= 0.995:
        return "p = 1"
    return "p < 0.0001" if p < 1e-4 else f"p {relation} {p:.2g}"


def duration(value: Any) -> str:
    """Return a duration."""
    if not np.isfinite(value):
        return NOTHING
    if value < 0.9995e-3:
        return f"{1e6 * value:.0f} µs"
    return f"{1e3 * value:.3g} ms" if value < 0.9995 else f"{short(value)} s"


def count(value: Any) -> str:
    """Return a whole number, or a weight."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else number(value)


def amount(weight: float) -> str:
    """Return a count or a weight in at most a few letters, for a figure."""
    return f"{weight:.0f}" if weight == round(weight) and weight < 1e5 else f"{weight:.3g}"


def short(value: Any) -> str:
    """Return a number to three significant digits."""
    return number(value, 3)


def loss(value: Any) -> str:
    """Return a loss or an area, three digits after the point; beyond ten no digit says anything."""
    if np.isnan(value) or value > 10:
        return NOTHING if np.isnan(value) else "> 10"
    small = abs(value) < 5e-4  # an interval that excludes zero does not end in 0.000
    return (
        f"{value:.{4 if small else 3}f}".replace("-", "−") if abs(value) >= 5e-5 else "0.000"
    )


def difference(value: Any) -> str:
    """Return a difference, one digit after the point, with its sign."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.05 else "0.0"


def difference_in_points(shares: Any) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    value = 100 * shares  # an interval that excludes zero does not end in 0.0
    return (
        f"{value:+.2f}".replace("-", "−") if 0.005 <= abs(value) < 0.05 else difference(value)
    )


STYLES: Mapping[str, Callable[[Any], str]] = {
    **{each.__name__: each for each in (count, number, short, loss, percent)},
    "text": str,
    "p": p_value,
    "points": difference_in_points,
    "seconds": duration,
    "signed": difference,
}


def cell(value: Any, style: str) -> str:
    """Return a cell of a table as text; text stays text in every style."""
    return (
        NOTHING if value is None else value if isinstance(value, str) else STYLES[style](value)
    )
