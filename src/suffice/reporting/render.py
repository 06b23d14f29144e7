"""A report as JSON, as Markdown, and as one HTML file that asks nothing of any other place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from suffice.reporting.blocks import Block, DataTable, Matrix
from suffice.text.jsonable import jsonable
from suffice.text.numbers import cell, count, percent

if TYPE_CHECKING:
    from suffice.reporting.build import Report


def as_json(report: Report) -> str:
    """Return the report as a JSON document."""
    document = {
        "suffice": report.version,
        "title": report.title,
        "subtitle": report.subtitle,
        "verdict": report.verdict,
        "sections": [
            {"key": s.key, "title": s.title, "blocks": [_block(b) for b in s.blocks]}
            for s in report.sections
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def _block(block: Block) -> dict[str, Any]:
    parts = {"kind": block.kind, **jsonable(block)}
    parts.pop("svg", None)
    return parts


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!])")


def as_markdown(report: Report) -> str:
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
    r"""Return text that Markdown shows as it is."""
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
    head = ["true \\ predicted", *map(escaped, block.classes)]
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


def as_html(report: Report) -> str:
    """Return the report as a page."""
    style, script = _asset("style.css"), _asset("script.js")
    assets = {"style": Markup(style), "script": Markup(script), "script_hash": _digest(script)}
    text: str = _environment().get_template("page.html.j2").render(report=report, **assets)
    return text


@cache
def _environment() -> Any:
    environment = Environment(
        loader=PackageLoader("suffice.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "anchor": anchor,
        "cell": cell,
        "count": count,
        "drawing": Markup,
        "groupby_runs": runs,
        "percent": percent,
    }
    return environment


def runs(blocks: Iterable[Block]) -> list[tuple[str, list[Block]]]:
    """Return blocks that follow each other and are of one kind together."""
    return [(kind, list(group)) for kind, group in groupby(blocks, lambda b: b.kind)]


def anchor(block: DataTable | Matrix) -> str:
    """Return a name for the heading of a table."""
    return f"t-{hashlib.sha256(block.caption.encode()).hexdigest()[:8]}"


def _asset(name: str) -> str:
    source, _, _ = _environment().loader.get_source(_environment(), name)
    return str(source)


def _digest(script: str) -> str:
    """Return the hash by which the page allows its own script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


RENDERERS: Mapping[str, Callable[[Report], str]] = {
    "html": as_html,
    "md": as_markdown,
    "json": as_json,
}
