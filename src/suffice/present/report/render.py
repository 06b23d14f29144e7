"""Write a report as JSON, as Markdown, or as one HTML file without external resources."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from suffice.core.text.numbers import cell, count, percent
from suffice.core.text.tables import json_value
from suffice.present.report.blocks import Block, Cell, DataTable, Intervals, Matrix, Plot

if TYPE_CHECKING:
    from suffice.present.report.answer import Answer
    from suffice.present.report.build import Report

N_LOOKS = 16  # number of colours in chart.css
# spaces before a unit, as in "3 %", and around a relation, as in "p = 0.01"
_SPACE_IN_NUMBER = re.compile(
    r"(?<=\d) (?=(?:%|s)(?!\w))|(?<=\w) (?=[=<≤≥] \d)|(?<=[=<≤≥]) (?=\d)"
)
_OPTION = re.compile(r"(?<= )--?[a-z][a-z-]*")
# a name may break after an underscore, and after "=" in it
_BREAK = re.compile(r"(?<=_)|(?<==)(?=\S)")
_BREAK_OR_SPACE = re.compile(rf"{_BREAK.pattern}| ")
_SIGN = re.compile(r"^([+=]) ")  # sign before the name of a term
FEW_COLUMNS = 9  # a table of more columns has smaller letters
# number of characters of headings that fit side by side on paper, in a table of many columns and in
# others
_WIDEST_DENSE = 90
_WIDEST = 76
_MARKDOWN_SYNTAX = re.compile(r"([\\`*_{}\[\]<>#|~$!])")


def as_json(report: Report) -> str:
    """Return the report as a JSON document."""
    sections = []
    for section in report.sections:
        blocks = [_json_block(block) for block in section.all_blocks]
        sections.append({"key": section.key, "title": section.title, "blocks": blocks})
    document = {
        "suffice": report.version,
        "title": report.title,
        "subtitle": report.subtitle,
        **report.answer.document(),
        "n_rows": report.comparison.n_rows,
        "n_folds": report.comparison.n_folds,
        "models": json_value(report.comparison.rows()),
        "sections": sections,
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def _json_block(block: Block) -> dict[str, object]:
    document: dict[str, object] = {"kind": block.kind}
    document.update(json_value(block))
    document.pop("base64", None)  # only the HTML page has the embedded files
    return document


def as_markdown(report: Report) -> str:
    """Return the report as a Markdown document."""
    text = _environment().get_template("page.md.j2").render(report=report)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def as_html(report: Report) -> str:
    """Return the report as an HTML page."""
    script = _template_file("script.js")
    # by this hash, the page allows its own script, and no other
    digest = hashlib.sha256(script.encode()).digest()
    page = _environment().get_template("page.html.j2")
    return page.render(
        report=report,
        style=Markup(_template_file("style.css")),
        script=Markup(script),
        script_hash=base64.b64encode(digest).decode(),
    )


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of an index: the name of a table, the file of its page, and the answer."""

    name: str
    page: str
    answer: Answer


def as_index(entries: Sequence[IndexEntry]) -> str:
    """Return a page that lists reports with their answers."""
    page = _environment().get_template("index.html.j2")
    return page.render(entries=entries, style=Markup(_template_file("style.css")))


def as_figure(plot: Plot) -> str:
    """Return one drawing with its styles, for use outside the page."""
    colours, _, _ = _template_file("style.css").partition("* {")
    style = Markup(colours + _template_file("chart.css"))
    return _environment().get_template("figure.html.j2").render(b=plot, style=style)


def _template_file(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("suffice.present.report"),
        autoescape=lambda name: not (name or "").endswith(".md.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["anchor"] = anchor
    environment.filters["as_sentence"] = as_sentence
    environment.filters["breakable"] = breakable
    environment.filters["cell"] = cell
    environment.filters["code"] = code
    environment.filters["count"] = count
    environment.filters["fenced"] = fenced
    environment.filters["unbroken"] = with_unbroken_numbers
    environment.filters["runs_of_one_kind"] = runs_of_one_kind
    environment.filters["css_class"] = css_class
    environment.filters["md"] = escaped
    environment.filters["percent"] = percent
    environment.filters["value_attribute"] = value_attribute
    environment.filters["value_element"] = value_element
    environment.tests["tight"] = is_tight
    return environment


# ---- filters of both templates


def escaped(text: str) -> str:
    r"""Return text with Markdown syntax escaped."""
    one_line = " ".join(str(text).split())
    return _MARKDOWN_SYNTAX.sub(r"\\\1", one_line)


def fenced(text: str, language: str = "") -> str:
    """Return text as a fenced Markdown code block."""
    longest_run = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def with_unbroken_numbers(text: str) -> str:
    """Return text with no-break spaces inside p-values and before units."""
    return _SPACE_IN_NUMBER.sub("\N{NO-BREAK SPACE}", text)


def as_sentence(text: str) -> str:
    """Return text with a capital first letter and unbroken numbers."""
    return with_unbroken_numbers(text[:1].upper() + text[1:])


def breakable(name: str) -> Markup:
    """Return a name that may break after "_" and "=", but not after a sign before it."""
    return Markup("<wbr>").join(_BREAK.split(_with_joined_sign(name)))


def is_tight(headings: Sequence[str]) -> bool:
    """Return whether headings fit on paper only if words are broken."""
    words = [_BREAK_OR_SPACE.split(_with_joined_sign(heading)) for heading in headings]
    widest = _WIDEST_DENSE if len(headings) > FEW_COLUMNS else _WIDEST
    return sum(max(map(len, parts)) for parts in words) > widest


def _with_joined_sign(heading: str) -> str:
    return _SIGN.sub("\\1\N{NO-BREAK SPACE}", heading)


def code(text: str) -> Markup:
    """Return code in which no option such as -o is broken at the hyphen."""
    return Markup(_OPTION.sub(r'<span class="whole">\g<0></span>', str(escape(text))))


def css_class(look: int) -> str:
    """Return the CSS class for the colour of a series."""
    return "ink" if look < 0 else f"k{look % N_LOOKS}"


def value_attribute(value: Cell, style: str) -> Markup:
    """Return the attribute with the exact number, by which tables are sorted."""
    if style == "text" or not isinstance(value, (int, float)):
        return Markup("")
    return Markup(' data-value="{}"').format(float(value))


def value_element(value: Cell, style: str) -> Markup:
    """Return a number as formatted text, in an element with the exact value."""
    text = cell(value, style)
    if style == "text" or not isinstance(value, (int, float)):
        return escape(text)
    return Markup('<data value="{}">{}</data>').format(value, text)


def runs_of_one_kind(blocks: Iterable[Block]) -> list[tuple[str, list[Block]]]:
    """Return consecutive blocks of the same kind as groups."""
    return [(kind, list(run)) for kind, run in groupby(blocks, lambda block: block.kind)]


def anchor(block: DataTable | Matrix | Intervals) -> str:
    """Return an HTML id for the heading of a table."""
    return f"t-{hashlib.sha256(block.caption.encode()).hexdigest()[:8]}"


RENDERERS = {"html": as_html, "md": as_markdown, "json": as_json}
