"""Formats of numbers for people, which every renderer uses."""

from collections.abc import Callable, Mapping

import numpy as np

NOTHING = "–"
_NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps a unit on the line of its number


def number(value: float, digits: int = 4) -> str:
    """Return a number to a few significant digits."""
    if np.isnan(value):
        return NOTHING
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(float(value))
    if not 10**digits - 0.5 <= size < 1e9:
        text = f"{size:.{digits}g}"
    elif round(size) >= 1e4:
        text = f"{size:,.0f}"
    else:
        text = f"{size:.0f}"
    return f"−{text}" if value < 0 else text


def short_number(value: float) -> str:
    """Return a number to three significant digits."""
    return number(value, 3)


def exact_number(value: float) -> str:
    """Return a number with up to twelve digits, for readers who compute with it."""
    return number(value, 12)


def percent(share: float) -> str:
    """Return a share in percent, with more digits near 0 and 100 %."""
    if not np.isfinite(share):
        return NOTHING
    return f"{_percent_number(100 * float(share))}{_NO_BREAK}%"


def _percent_number(p: float) -> str:
    if p in (0, 100):
        return f"{p:.0f}"
    if 0 < p < 1e-3:
        return "< 0.001"
    if p >= 99.995:
        return "> 99.99"
    if 0.05 <= p < 99.95:
        return f"{p:.1f}"
    return f"{p:.2g}" if p < 50 else f"{p:.4g}"


def percent_label(share: float) -> str:
    """Return a share in percent for a figure, with a decimal only if it matters."""
    value = 100 * share
    if value >= 10 or value == round(value):
        return f"{value:.0f} %"
    return f"{value:.1f} %"


def p_value(p: float | None) -> str:
    """Return a p-value alone, for a table."""
    if p is None or not np.isfinite(p):
        return NOTHING
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def p_statement(p: float, relation: str = "=") -> str:
    """Return a p-value for a sentence, such as "p = 0.02"."""
    if not np.isfinite(p):
        return "p unknown"
    if p >= 0.995:
        return "p = 1"
    return "p < 0.0001" if p < 1e-4 else f"p {relation} {p:.2g}"


def duration(seconds: float) -> str:
    """Return a duration in µs, ms or s."""
    if not np.isfinite(seconds):
        return NOTHING
    if seconds < 0.9995e-3:
        return f"{1e6 * seconds:.0f} µs"
    if seconds < 0.9995:
        return f"{1e3 * seconds:.3g} ms"
    return f"{short_number(seconds)} s"


def count(value: float) -> str:
    """Return a count or a weight, with commas between thousands."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else number(value)


def weight_label(weight: float) -> str:
    """Return a count or a weight in at most a few letters, for a figure."""
    if weight == round(weight) and weight < 1e5:
        return f"{weight:.0f}"
    return f"{weight:.3g}"


def loss(value: float) -> str:
    """Return a loss or an area with three decimals, or "> 10"."""
    if np.isnan(value):
        return NOTHING
    if value > 10:
        return "> 10"
    size = abs(value)
    if size < 5e-5:
        return "0.000"
    # a small number gets four decimals: the end of an interval without zero must not read 0.000
    text = f"{value:.4f}" if size < 5e-4 else f"{value:.3f}"
    return text.replace("-", "−")


def signed_difference(value: float) -> str:
    """Return a difference with its sign and one decimal."""
    return _signed(value, 1)


def _signed(value: float, n_decimals: int) -> str:
    if not np.isfinite(value):
        return NOTHING
    if abs(value) < 0.5 * 10**-n_decimals:
        return f"{0:.{n_decimals}f}"
    return f"{value:+.{n_decimals}f}".replace("-", "−")


def percentage_points(difference_of_shares: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    points = 100 * difference_of_shares
    # a small number gets two decimals: the end of an interval without zero must not read 0.0
    return _signed(points, 2 if 0.005 <= abs(points) < 0.05 else 1)


def points_between(share: float, other: float) -> str:
    """Return share − other in percentage points, for a reader who sees both as percentages.

    The difference has its sign. It has one decimal if this is the difference of the two rounded
    percentages. Otherwise it has two: 21.96 % and 21.03 % read 22.0 % and 21.0 %, but differ by
    0.93 points.
    """
    difference = share - other
    rounded = _rounded_percent(share) - _rounded_percent(other)
    if abs(rounded - round(100 * difference, 1)) >= 0.05:
        return _signed(100 * difference, 2)
    return percentage_points(difference)


def _rounded_percent(share: float) -> float:
    """Return the number that ``percent`` prints, or the exact one if it prints a bound."""
    text = _percent_number(100 * share)
    return 100 * share if text[0] in "<>" else float(text)


STYLES: Mapping[str, Callable[[float], str]] = {
    "count": count,
    "number": number,
    "short": short_number,
    "exact": exact_number,
    "loss": loss,
    "percent": percent,
    "text": str,
    "p": p_value,
    "points": percentage_points,
    "seconds": duration,
    "signed": signed_difference,
}


def cell(value: float | str | None, style: str) -> str:
    """Return a cell of a table as text; a cell that is text stays unchanged."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    return STYLES[style](value)
