"""The lab: a page of plain JavaScript for trying classifiers, as a file or served.

``page`` has the JavaScript modules, the template and the style. ``joining`` joins the modules to
one script, and ``server`` serves the page. The package may import every package except
``suffice.cli`` and the reports.
"""

import base64
import hashlib
import json
from pathlib import Path
from typing import TypedDict

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from suffice.present.lab.joining import join_modules

#: JavaScript modules of the page, each of which may import from earlier modules.
MODULES = (
    "linalg",
    "gaussian",
    "mixture",
    "discriminative",
    "neighbours",
    "models",
    "canvas",
    "drawing",
    "descent",
    "scenes",
    "server",
    "session",
    "painting",
    "description",
    "sums",
    "controls",
    "takeaway",
    "quiz",
    "main",
)


class ServerInfo(TypedDict):
    """Data that a served page contains: the path for requests to Python, and the first table."""

    at: str
    table: object


def page(server: ServerInfo | None = None) -> str:
    """Return the lab as one HTML page without external resources."""
    scenes = json.loads(_page_file("scenes.json"))
    script = join_modules({name: _page_file(f"{name}.js") for name in MODULES})
    # by this hash, the page allows its own script, and no other
    digest = hashlib.sha256(script.encode()).digest()
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.from_string(_page_file("page.html.j2"))
    return template.render(
        script=Markup(script),
        script_hash=base64.b64encode(digest).decode(),
        style=Markup(_page_file("style.css")),
        scenes=scenes["scenes"],
        scenes_json=_embedded_json(scenes),
        server_json=_embedded_json(server),
        is_served=server is not None,
    )


def _page_file(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


def _embedded_json(document: object) -> Markup:
    """Return JSON for an HTML element, without characters that could close the element."""
    return Markup(json.dumps(document, ensure_ascii=False).replace("<", "\\u003c"))
