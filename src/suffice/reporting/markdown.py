"""A report as Markdown: text and tables, drawings in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from suffice.reporting.wording import cell, count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from suffice.reporting.report import Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!])")


def document(report: Report) -> str:
    """Return the report as a Markdown document."""
    lines = [
        f"# {escaped(report.title)}",
        escaped(report.subtitle),
        f"**{escaped(report.verdict)}**",
    ]
    for section in report.sections:
        lines.append(f"## {escaped(section.title)}")
        lines += [WRITERS[block.kind](block) for block in section.blocks]
    lines.append(f"Written by suffice {report.version}.")
    return "\n\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Examples
    --------
    >>> escaped("a_b | <i>")
    'a\\_b \\| \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _text(block: Any) -> str:
    text = escaped(block.text)
    return {"lead": f"**{text}**", "note": f"> {text}", "caution": f"> {text}"}.get(
        block.tone, text
    )


def _notes(block: Any) -> str:
    items = "\n".join(f"- {escaped(item)}" for item in block.items)
    return f"{escaped(block.title)}:\n\n{items}"


def _facts(block: Any) -> str:
    return "\n".join(
        f"- {escaped(f.name)}: **{escaped(f.value)}**"
        + (f" ({escaped(f.remark)})" if f.remark else "")
        for f in block.items
    )


def _table(block: Any) -> str:
    body = [
        [cell(value, style) for value, style in zip(row, block.styles, strict=True)]
        for row in block.rows
    ]
    marked = [
        [f"**{escaped(c)}**" if r in block.marked and c else escaped(c) for c in row]
        for r, row in enumerate(body)
    ]
    rule = ["---" if style == "text" else "--:" for style in block.styles]
    table = _piped([[escaped(c) for c in block.columns], rule, *marked])
    note = f"\n\n{escaped(block.note)}" if block.note else ""
    return f"### {escaped(block.caption)}\n\n{table}{note}"


def _matrix(block: Any) -> str:
    head = ["true \\ named", *map(escaped, block.classes)]
    rows = [
        [escaped(name), *map(count, counts)]
        for name, counts in zip(block.classes, block.counts, strict=True)
    ]
    rule = ["---", *["--:"] * len(block.classes)]
    return f"### {escaped(block.caption)}\n\n{_piped([head, rule, *rows])}"


def _equation(block: Any) -> str:
    return f"{escaped(block.caption)}:\n\n{_fenced(chr(10).join(block.lines), '')}"


def _figure(block: Any) -> str:
    return f"*Figure: {escaped(block.caption)} {escaped(block.alt)}*"


def _code(block: Any) -> str:
    return f"{escaped(block.caption)}:\n\n{_fenced(block.text, block.language)}"


def _checks(block: Any) -> str:
    return "\n".join(
        f"- **{escaped(c.question)} {escaped(c.verdict)}.** {escaped(c.answer)}"
        for c in block.items
    )


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _piped(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


WRITERS: Mapping[str, Callable[[Any], str]] = {
    "text": _text,
    "notes": _notes,
    "facts": _facts,
    "table": _table,
    "matrix": _matrix,
    "equation": _equation,
    "figure": _figure,
    "code": _code,
    "checks": _checks,
}
