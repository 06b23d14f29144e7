"""Labels, names and numbers as short text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDEST = 22  # letters of a label in a legend or beside a tick
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def shortened(labels: Sequence[Any], width: int = WIDEST) -> tuple[str, ...]:
    """Return labels as text of at most ``width`` letters, different ones kept different.

    The end is cut, or the middle where the ends are what differs, or a number is put behind.

    Examples
    --------
    >>> shortened(["a short one", "a rather long one"], 12)
    ('a short one', 'a rather lo…')
    >>> shortened(["measured in 1998", "measured in 1999"], 12)
    ('measur… 1998', 'measur… 1999')
    """
    texts = [" ".join(str(label).split()) for label in labels]
    for cut in (_end, _middle):
        short = tuple(cut(text, width) for text in texts)
        if len(set(short)) == len(set(texts)):
            return short
    return tuple(f"{_end(text, width - 4)} {k}" for k, text in enumerate(texts, 1))


def default_names(d: int) -> tuple[str, ...]:
    """Return x₁ … x_d."""
    return tuple("x" + str(j + 1).translate(SUBSCRIPTS) for j in range(d))


def percent(share: float) -> str:
    """Return a share as per cent, with a decimal only where it matters."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == round(value) else f"{value:.1f} %"


def amount(weight: float) -> str:
    """Return a count or a weight in at most a few letters."""
    if weight == round(weight) and weight < 1e5:
        return f"{weight:.0f}"
    return f"{weight:.3g}"


def _end(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    tail = (width - 1) * 5 // 11
    return text[: width - 1 - tail] + "…" + text[-tail:]
