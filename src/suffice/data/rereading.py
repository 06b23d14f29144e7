"""Read rows again if a later row contradicts the column types of the first rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from suffice.data.columns.distinct import LateValuesError
from suffice.data.source import Source
from suffice.data.text.row_ends import LateCodeError
from suffice.errors import ReadingWarning, warn

Result = TypeVar("Result")


def reading_again(source: Source, use: Callable[[Source], Result]) -> Result:
    """Return the result of ``use`` on a source; retry with corrected column types if needed."""
    while True:
        try:
            return use(source)
        except LateCodeError as late:
            if source.with_text is None:
                raise
            warn(
                f"{late.label}: column {late.column!r} holds {late.cell!r} in line {late.line:,}, "
                "a code with leading zeros: the rows are read again with this column as text",
                ReadingWarning,
            )
            source = replace(source.with_text(late.column), repeating=source.repeating)
        except LateValuesError as late:
            if not source.rereads or late.column in source.repeating:
                raise
            warn(
                f"{late.label}: column {late.column!r} {late.reason}: the rows are read again, and "
                "all of them decide what the column is",
                ReadingWarning,
            )
            source = replace(source, repeating=source.repeating | {late.column})
