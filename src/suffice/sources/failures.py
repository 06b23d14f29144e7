"""Failures of the reader, told as what is wrong with which file and column, and the cure."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ODD_VALUE = (
    re.compile(r"could not parse `(?P<value>.*?)` as dtype `.*?` at column '(?P<column>.*?)'"),
    re.compile(
        r"conversion from .* failed in column '(?P<column>.*?)' "
        r".*?values?: \[\"?(?P<value>.*?)\"?[,\]]"
    ),
)
_KNOWN = {
    "invalid utf-8": "is not UTF-8 text: convert it, for example with iconv -f latin1 -t utf-8",
    "found more fields": (
        "has a line with more fields than the first line: check its delimiter and its quotes"
    ),
    "empty CSV": "is empty: it needs a line of column names and rows",
}


@contextmanager
def reading_of(label: str, where: Callable[[], str] | None = None) -> Iterator[None]:
    """Turn a failure to read ``label`` into an error that names it, and the part if known."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        place = f"{label}{where()}" if where else label
        raise InvalidInputError(told(str(error), place)) from error


def told(complaint: str, label: str) -> str:
    """Return the complaint of the reader in our words."""
    for pattern in _ODD_VALUE:
        if found := pattern.search(complaint):
            value, column = found["value"], found["column"]
            return (
                f"{label}: column {column!r} holds {value!r} where its first rows hold something "
                f"else: correct it, declare {value!r} as missing, or ignore the column"
            )
    for sign, meaning in _KNOWN.items():
        if sign in complaint:
            return f"{label} {meaning}"
    reason = complaint.splitlines()[0] if complaint else "no reason given"
    return f"{label} cannot be read ({reason}): is it whole, and of the format its name says?"
