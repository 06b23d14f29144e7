"""How a text table is written: separator, decimal mark, header. Found from its first lines."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.sources.source import Reading

_SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"(^|[;\t|])\s*[-+]?\d+,\d+\s*($|[;\t|])")
_DECIMAL_POINT = re.compile(r"\d\.\d")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")


@dataclass(frozen=True, slots=True)
class Layout:
    """Separator, decimal mark and header of a text table."""

    separator: str
    decimal_comma: bool
    has_header: bool
    missing: tuple[str, ...]

    @classmethod
    def of(cls, head: bytes, reading: Reading, label: str, separator: str | None) -> Layout:
        """Return the layout of the table that starts with ``head``."""
        lines = _lines(head, label)
        mark = reading.delimiter or separator or _separator(lines)
        header = next(csv.reader(lines[:1], delimiter=mark))
        _refuse_twins([name.strip() for name in header], label)
        text = "\n".join(lines)
        comma = mark != "," and any(map(_DECIMAL_COMMA.search, lines[1:]))
        return cls(
            separator=mark,
            decimal_comma=comma and not _DECIMAL_POINT.search(text),
            # a decimal number is no column name
            has_header=not any(map(_DECIMAL.fullmatch, header)),
            missing=tuple(reading.missing),
        )

    @property
    def options(self) -> dict[str, Any]:
        """The same in the words of polars; every column is text unless told otherwise."""
        return {
            "separator": self.separator,
            "decimal_comma": self.decimal_comma,
            "has_header": self.has_header,
            "infer_schema": False,
        }


def _lines(head: bytes, label: str) -> list[str]:
    """Return the first lines that are not blank."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = (
            f"{label} is not UTF-8 text ({error.object[error.start]:#04x} at byte {error.start}): "
            "convert it, for example with iconv -f latin1 -t utf-8"
        )
        raise InvalidInputError(msg) from error
    if "\0" in text:
        msg = f"{label} is not text but binary: give it the extension of its format"
        raise InvalidInputError(msg)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        msg = f"{label} is empty: it needs a line of column names and rows"
        raise InvalidInputError(msg)
    return lines[:50]


def _separator(lines: Sequence[str]) -> str:
    """Return the mark that cuts every line into the same, largest number of fields."""

    def merit(mark: str) -> tuple[bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(_SEPARATORS, key=merit)


def _refuse_twins(header: Sequence[str], label: str) -> None:
    twins = [name for at, name in enumerate(header) if name and name in header[:at]]
    if twins and not any(map(_DECIMAL.fullmatch, header)):
        msg = f"{label} has two columns called {twins[0]!r}: rename one of them"
        raise InvalidInputError(msg)
