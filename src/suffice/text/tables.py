"""Values as small HTML tables, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 12  # rows or columns shown


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; whatever is written in it is escaped.

    Examples
    --------
    >>> table(["class", "rows"], [["<b>", 50]])
    '<table><thead><tr><th>class</th><th>rows</th></tr></thead><tbody><tr><td>&lt;b&gt;</td><td>50</td></tr></tbody></table>'
    """
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def titled(title: str, *parts: str) -> str:
    """Return parts under a line that says what they are."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def shown(rows: Sequence[Any]) -> Sequence[Any]:
    """Return the first of many rows."""
    return rows if len(rows) <= MOST else rows[:MOST]


class Tabled:
    """A result whose ``repr`` is a sentence and whose ``rows()`` are a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows: list[dict[str, Any]] = self.rows()  # type: ignore[attr-defined]
        first = list(rows[0]) if rows else []
        more = f"<p>… and {len(rows) - MOST} more rows</p>" if len(rows) > MOST else ""
        return titled(repr(self), table(first, [list(r.values()) for r in shown(rows)]), more)


def _text(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
