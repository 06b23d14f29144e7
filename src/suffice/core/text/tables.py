"""Tables as lines of text, for a terminal, a notebook and pandas; values as JSON holds them."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
MOST = 12  # rows or columns shown in a notebook


def text_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: names on the left, all other cells on the right."""
    lines = [list(head), *map(list, rows)]
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *cells in lines:
        right = (cell.rjust(w) for cell, w in zip(cells, wide[1:], strict=True))
        yield "  ".join([name.ljust(wide[0]), *right]).rstrip()


def rich_table(
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    right: Container[int] | None = None,
    styles: Sequence[str] = (),
) -> Any:
    """Return a table for a terminal; by default columns of numbers stand on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    lines = [[_cell(value) for value in row] for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for j, name in enumerate(head):
        numeric = _all_numbers(line[j] for line in lines) if right is None else j in right
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for line, style in zip_longest(lines, styles, fillvalue=""):
        table.add_row(*map(Text, line), style=style)
    return table


def html_table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    caption: str = "",
    best: int | None = None,
) -> str:
    """Return a table in HTML, its best row marked; whatever is written in it is escaped."""
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = "".join(f"<th>{_html(cell)}</th>" for cell in head)
    lines = ["".join(f"<td>{_html(cell)}</td>" for cell in row) for row in rows]
    bold = ' class="best" style="font-weight:bold"'
    body = "".join(f"<tr{bold if i == best else ''}>{t}</tr>" for i, t in enumerate(lines))
    return f"<table>{above}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def titled(title: str, *parts: str) -> str:
    """Return parts of HTML under a line that says what they are."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def shown(rows: Sequence[Any]) -> Sequence[Any]:
    """Return the first of many rows."""
    return rows[:MOST]


class Tabled:
    """A result whose ``repr`` is a sentence and whose ``rows()`` are a table."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Return ``rows()`` as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.rows())  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        rows: list[Row] = self.rows()  # type: ignore[attr-defined]
        head = list(
            dict.fromkeys(name for row in rows for name in row)
        )  # rows may differ in it
        more = f"<p>… and {len(rows) - MOST} more rows</p>" if len(rows) > MOST else ""
        best = getattr(self, "best_index", None) if len(rows) > 1 else None
        few = list(shown(rows))
        if best is not None and best >= len(few):  # the best row is always among those shown
            few[-1], best = rows[best], len(few) - 1
        lines = [[row.get(name, "") for name in head] for row in few]
        return titled(repr(self), html_table(head, lines, best=best), more)


def _html(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    )


def _all_numbers(texts: Iterable[str]) -> bool:
    try:
        return bool([float(text.replace(",", "")) for text in texts])
    except ValueError:
        return False


def jsonable(value: Any) -> Any:
    """Return arrays as lists, what is not finite as None, and keys that are no text as pairs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        pairs = [(key, jsonable(item)) for key, item in value.items()]
        if all(isinstance(key, str) for key, _ in pairs):
            return dict(pairs)
        return [[jsonable(key), item] for key, item in pairs]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    return str(value)
