"""A report as one HTML file that asks nothing of any other place."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from suffice.reporting.wording import cell, count, percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from suffice.reporting.blocks import Block, Matrix, Table
    from suffice.reporting.report import Report


def page(report: Report) -> str:
    """Return the report as a page."""
    from markupsafe import Markup

    style, script = _asset("style.css"), _asset("script.js")
    text: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            style=Markup(style),
            script=Markup(script),
            script_hash=_digest(script),
        )
    )
    return text


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

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


def anchor(block: Table | Matrix) -> str:
    """Return a name for the heading of a table."""
    return f"t-{hashlib.sha256(block.caption.encode()).hexdigest()[:8]}"


def _asset(name: str) -> str:
    source, _, _ = _environment().loader.get_source(_environment(), name)
    return str(source)


def _digest(script: str) -> str:
    """Return the hash by which the page allows its own script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
