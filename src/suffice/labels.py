"""A label written by a person, found among the classes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError, UnknownLabelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.typing import Labels

SHOWN = 12  # labels named in a message


def positions(classes: Labels) -> dict[Any, int]:
    """Return the code of each label."""
    return {label: code for code, label in enumerate(classes.tolist())}


def position(label: Any, known: dict[Any, int], *, where: str) -> int:
    """Return the code of one label, or say which labels there are."""
    plain = label.item() if hasattr(label, "item") else label
    try:
        return known[plain]
    except (KeyError, TypeError):
        msg = f"{where} names the label {plain!r}, which is no class{_hint(plain, known)}"
        raise UnknownLabelError(msg) from None


def in_order(values: Mapping[Any, float], classes: Labels, *, where: str) -> list[float]:
    """Return the values of a mapping in the order of the classes, every one of them named."""
    known = positions(classes)
    found = {position(label, known, where=where): value for label, value in values.items()}
    missing = [label for label, code in known.items() if code not in found]
    if missing:
        msg = f"{where} has no entry for {listed(missing)}: name every class, with 0 if need be"
        raise InvalidParameterError(msg)
    return [found[code] for code in range(len(classes))]


def listed(labels: Any) -> str:
    """Return labels for a message, the first few of many."""
    shown = [repr(label) for label in labels]
    more = f", … ({len(shown)} in all)" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more


def _hint(label: Any, known: dict[Any, int]) -> str:
    """Return the nearest label, if both are text, and all of them."""
    texts = [name for name in known if isinstance(name, str)]
    near = get_close_matches(label, texts, n=1) if isinstance(label, str) else []
    guess = f": did you mean {near[0]!r}?" if near else "."
    return f"{guess} The classes are {listed(known)}"
