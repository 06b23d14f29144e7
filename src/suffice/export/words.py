"""Numbers, names, labels and sums as SQL writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence


def number(value: float) -> str:
    """Return a literal that every engine reads as this very double, not as a decimal."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def name(text: str) -> str:
    """Return an identifier, whatever characters it has."""
    if "\0" in text:
        msg = f"the name {text!r} holds a NUL character, which no database takes"
        raise InvalidParameterError(msg)
    return '"' + text.replace('"', '""') + '"'


def truth(identifier: str) -> str:
    """Return a column of truth values as 1 and 0."""
    return f"CASE WHEN {identifier} THEN 1e0 WHEN NOT {identifier} THEN 0e0 END"


def literal(label: Any) -> str:
    """Return a label as text, number, truth value or NULL."""
    if label is None or (isinstance(label, float) and math.isnan(label)):
        return "NULL"
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return number(label)
    if "\0" in str(label):
        msg = f"the label {label!r} holds a NUL character, which no database takes"
        raise InvalidParameterError(msg)
    return "'" + str(label).replace("'", "''") + "'"


def total(terms: Sequence[str]) -> str:
    """Return a sum as a balanced tree: engines and parsers limit how deep a formula may nest."""
    return tree(terms, lambda left, right: f"({left} + {right})")


def tree(terms: Sequence[str], joined: Any) -> str:
    """Return terms joined two by two."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return str(joined(tree(terms[:half], joined), tree(terms[half:], joined)))


def square(term: str) -> str:
    """Return the square of a short term."""
    return f"{term} * {term}"
