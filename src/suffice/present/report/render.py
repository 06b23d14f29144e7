"""A report as JSON, as Markdown, and as one HTML file that asks nothing of any other place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from suffice.core.text.numbers import cell, count, percent
from suffice.core.text.tables import json_value
from suffice.present.report.blocks import Block, DataTable, Intervals, Matrix, Plot

if TYPE_CHECKING:
    from suffice.present.report.build import Report

N_LOOKS = 16  # colours of chart.css
_GLUED = re.compile(r"(?<=\d) (?=(?:%|s)(?!\w))|(?<=\w) (?=[=<≤≥] \d)|(?<=[=<≤≥]) (?=\d)")
glued = partial(
    _GLUED.sub, "\N{NO-BREAK SPACE}"
)  # no line ends in a p-value, or before a unit
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!])")


def as_json(report: Report) -> str:
    """Return the report as a JSON document."""
    head = {name: getattr(report, name) for name in ("title", "subtitle", "verdict")}
    sections = [
        {"key": s.key, "title": s.title, "blocks": [_block(b) for b in s.blocks]}
        for s in report.sections
    ]
    document = {"suffice": report.version, **head, "sections": sections}
    return json.dumps(document, ensure_ascii=False, indent=1)


def _block(block: Block) -> dict[str, Any]:
    return {
        "kind": block.kind,
        **{n: v for n, v in json_value(block).items() if n != "base64"},
    }


def as_markdown(report: Report) -> str:
    """Return the report as a Markdown document."""
    text = _environment().get_template("page.md.j2").render(report=report)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def fenced(text: str, language: str = "") -> str:
    """Return lines of Markdown that are shown as they are."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", text))])
    return f"{fence}{language}\n{text}\n{fence}"


def as_html(report: Report) -> str:
    """Return the report as a page."""
    style, script = _asset("style.css"), _asset("script.js")
    # by its hash the page allows its own script and no other
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assets = {"style": Markup(style), "script": Markup(script), "script_hash": digest}
    return str(_environment().get_template("page.html.j2").render(report=report, **assets))


def as_figure(plot: Plot) -> str:
    """Return one drawing with all that it needs to stand outside the page."""
    style = Markup(_asset("style.css").split("* {")[0] + _asset("chart.css"))
    return str(_environment().get_template("figure.html.j2").render(b=plot, style=style))


@cache
def _environment() -> Any:
    environment = Environment(
        loader=PackageLoader("suffice.present.report"),
        autoescape=lambda name: not (name or "").endswith(".md.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    named: tuple[Any, ...] = (anchor, cell, count, fenced, percent, raw, stamped)
    environment.filters |= {verb.__name__: verb for verb in named} | {
        "breakable": lambda name: escape(name).replace("_", Markup("_<wbr>")),
        "begun": lambda text: glued(text[:1].upper() + text[1:]),
        "glued": glued,
        "groupby_runs": runs,
        "look": lambda k: "ink" if k < 0 else f"k{k % N_LOOKS}",
        "md": escaped,
    }
    return environment


def raw(value: Any, style: str) -> Markup:
    """Return a number as the attribute that tables are sorted by, and tests compare."""
    known = style != "text" and isinstance(value, (int, float))
    return Markup(' data-value="{}"').format(float(value)) if known else Markup("")


def stamped(value: Any, style: str) -> Markup:
    """Return a number as it is read, marked with what it is."""
    text, known = cell(value, style), style != "text" and isinstance(value, (int, float))
    return Markup('<data value="{}">{}</data>').format(value, text) if known else escape(text)


def runs(blocks: Iterable[Block]) -> list[tuple[str, list[Block]]]:
    """Return blocks that follow each other and are of one kind together."""
    return [(kind, list(group)) for kind, group in groupby(blocks, lambda b: b.kind)]


def anchor(block: DataTable | Matrix | Intervals) -> str:
    """Return a name for the heading of a table."""
    return f"t-{hashlib.sha256(block.caption.encode()).hexdigest()[:8]}"


def _asset(name: str) -> str:
    return str(_environment().loader.get_source(_environment(), name)[0])


RENDERERS = {"html": as_html, "md": as_markdown, "json": as_json}
