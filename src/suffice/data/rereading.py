"""Rows that are read again, because a late row shows that a column holds codes."""

from collections.abc import Callable
from typing import TypeVar

from suffice.data.source import Source
from suffice.data.text.row_ends import LateCodeError
from suffice.errors import warn

Result = TypeVar("Result")


def reading_again(source: Source, use: Callable[[Source], Result]) -> Result:
    """Return what ``use`` makes of a source, whose columns of codes are text from the first row."""
    while True:
        try:
            return use(source)
        except LateCodeError as late:
            if source.with_text is None:
                raise
            warn(
                f"{late.label}: column {late.column!r} holds {late.cell!r} in line {late.line:,}, "
                "a code with leading zeros: the rows are read again with this column as text"
            )
            source = source.with_text(late.column)
