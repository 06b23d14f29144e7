"""Numbers as people read them; one rule for every renderer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NOTHING = "–"


def number(value: Any, digits: int = 4) -> str:
    """Return a number to a few significant digits.

    Examples
    --------
    >>> number(1234567.0), number(0.012345), number(-3.0), number(float("nan"))
    ('1,234,567', '0.01235', '−3', '–')
    """
    if not np.isfinite(value):
        return NOTHING if np.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(float(value))
    whole = 10**digits <= size < 1e9
    text = f"{size:.{digits}g}" if not whole else f"{size:,.0f}" if size >= 1e4 else f"{size:.0f}"
    return f"−{text}" if value < 0 else text


def percent(share: Any, digits: int = 1) -> str:
    """Return a share in percent; its sign stays on the line of its number.

    Examples
    --------
    >>> [percent(share).split() for share in (0.0202, 1.0, 0.00004)]
    [['2.0', '%'], ['100', '%'], ['0.004', '%']]
    """
    if not np.isfinite(share):
        return NOTHING
    p = 100 * float(share)
    if p in (0.0, 100.0):
        text = f"{p:.0f}"
    elif 0.05 <= p < 99.95:
        text = f"{p:.{digits}f}"
    else:
        text = f"{p:.2g}" if p < 50 else f"{p:.4g}"
    return f"{text}\N{NO-BREAK SPACE}%"


def p_value(p: Any) -> str:
    """Return a p-value."""
    if p is None or not np.isfinite(p):
        return NOTHING
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def seconds(value: Any) -> str:
    """Return a duration."""
    if not np.isfinite(value):
        return NOTHING
    if value < 1e-3:
        return f"{1e6 * value:.0f} µs"
    return f"{1e3 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def count(value: Any) -> str:
    """Return a whole number, or a weight."""
    if not np.isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else number(value)


def short(value: Any) -> str:
    """Return a number to three significant digits."""
    return number(value, 3)


def loss(value: Any) -> str:
    """Return a loss or an area, three digits after the point."""
    return NOTHING if not np.isfinite(value) else f"{value:.3f}"


STYLES: Mapping[str, Callable[[Any], str]] = {
    "text": str,
    "count": count,
    "number": number,
    "short": short,
    "loss": loss,
    "percent": percent,
    "p": p_value,
    "seconds": seconds,
}


def cell(value: Any, style: str) -> str:
    """Return a cell of a table as text; text stays text in every style."""
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else STYLES[style](value)


def plural(n: int, word: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(1200, "row"), plural(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    ending = "" if n == 1 else "es" if word.endswith("s") else "s"
    return f"{n:,} {word}{ending}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as people list them, the first few of many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a', 'a, b and c', 'a, b and 1 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shortened(text: str, most: int = 280) -> str:
    """Return the beginning of a long remark, up to a whole word.

    Examples
    --------
    >>> shortened("one two three", 9)
    'one two …'
    """
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"
