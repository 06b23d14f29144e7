"""Format tables as text, for terminals, as HTML and as pandas frames; convert values to JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as RichTable

Row: TypeAlias = dict[str, Any]
Item = TypeVar("Item")
MOST = 12  # most rows or columns that a notebook shows
_LEFT_OUT = ("", "–", "…")  # cells of a numeric column without a number
_NUMBER = re.compile(r"(?:&lt;|&gt;|≤|≥)? ?[-−+]?\d|nan$|–$")


def text_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; the first column is aligned left, all others right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *cells in lines:
        parts = [name.ljust(widths[0])]
        parts += [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join(parts).rstrip()


def rich_table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Container[int] | None = None,
    styles: Sequence[str] = (),
) -> RichTable:
    """Return a table for a terminal; by default, numeric columns are aligned right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    lines = [list(map(_terminal_text, row)) for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for j, name in enumerate(head):
        numeric = _all_numbers(line[j] for line in lines) if right is None else j in right
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for line, style in zip_longest(lines, styles, fillvalue=""):
        table.add_row(*map(Text, line), style=style)
    return table


def html_table(
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    caption: str = "",
    best: int | None = None,
) -> str:
    """Return a table in HTML with the row ``best`` marked; all text is escaped.

    Numeric columns are aligned right, except the first column, which names the rows.
    """
    lines = [[_html_text(cell) for cell in row] for row in rows]
    aligned = []
    for j in range(len(head)):
        is_number = j > 0 and _all_begin_with_digits(line[j] for line in lines)
        aligned.append(' style="text-align:right"' if is_number else "")
    top = "".join(
        f"<th{style}>{_html_text(cell)}</th>"
        for cell, style in zip(head, aligned, strict=True)
    )
    body = ""
    for i, line in enumerate(lines):
        mark = ' class="best" style="font-weight:bold"' if i == best else ""
        cells = "".join(
            f"<td{style}>{cell}</td>" for cell, style in zip(line, aligned, strict=True)
        )
        body += f"<tr{mark}>{cells}</tr>"
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def titled_html(title: str, *parts: str) -> str:
    """Return parts of HTML under a title."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def first_rows(rows: Sequence[Item]) -> Sequence[Item]:
    """Return the rows that a notebook shows: all, or the first ``MOST``."""
    return rows[:MOST]


class Tabled:
    """A result with a sentence as its ``repr`` and a table as its ``rows()``."""

    __slots__ = ()

    def rows(self) -> list[Row]:
        """Return a mapping from column to value for each row."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """Return ``rows()`` as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        shown = list(first_rows(rows))
        best = getattr(self, "best_index", None) if len(rows) > 1 else None
        if best is not None and best >= len(shown):  # always show the best row
            shown[-1] = rows[best]
            best = len(shown) - 1
        head: dict[str, None] = {}  # names in the order in which they first appear
        for row in rows:
            head.update(dict.fromkeys(row))

        def cells(row: Row) -> list[object]:
            return [row.get(name, "") for name in head]

        lines = [cells(row) for row in shown]
        more = f"<p>… and {len(rows) - MOST} more rows</p>" if len(rows) > MOST else ""
        return titled_html(repr(self), html_table(list(head), lines, best=best), more)


def _html_text(value: object) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _terminal_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _all_begin_with_digits(texts: Iterable[str]) -> bool:
    """Return whether all non-empty texts begin with a number, such as "−3.1 %"."""
    filled = [text for text in texts if text]
    return bool(filled) and all(_NUMBER.match(text) for text in filled)


def _all_numbers(texts: Iterable[str]) -> bool:
    """Return whether all cells are numbers, apart from cells such as "–" for no number."""
    filled = [text for text in texts if text not in _LEFT_OUT]
    return bool(filled) and all(map(_is_number, filled))


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").replace("−", "-"))
    except ValueError:
        return False
    return True


def json_value(value: object) -> Any:
    """Return a value that can be written as JSON.

    Arrays become lists. Numbers that are not finite become None. Dataclasses and mappings become
    objects; a mapping with a key that is not text becomes a list of pairs. Other values become
    text.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        pairs = [(key, json_value(item)) for key, item in value.items()]
        if all(isinstance(key, str) for key, _ in pairs):
            return dict(pairs)
        return [[json_value(key), item] for key, item in pairs]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_value(getattr(value, field.name)) for field in fields(value)}
    return str(value)
