"""The lab: one page of plain JavaScript to play with classifiers, as a file or served."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

# each may import those before it
MODULES = (
    "linalg",
    "gaussian",
    "mixture",
    "discriminative",
    "models",
    "drawing",
    "descent",
    "scenes",
    "server",
    "bench",
    "telling",
    "controls",
    "main",
)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def page(server: Mapping[str, Any] | None = None) -> str:
    """Return the lab as one HTML page, which asks nothing of any other place."""
    # ``server`` tells a served page ``at`` which path Python answers, and the first ``table``
    told = json.loads(_asset("scenes.json"))
    script = "\n".join(['"use strict";', *map(_module, MODULES), ""])
    options: Any = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    template = Environment(autoescape=True, **options).from_string(_asset("page.html.j2"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template.render(
        script=Markup(script),
        script_hash=digest,
        style=Markup(_asset("style.css")),
        scenes=told["scenes"],
        told=_data(told),
        server=_data(server),
        is_served=server is not None,
    )


def _asset(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


def _module(name: str) -> str:
    """Return a module as a function of its own, and what it exports as one constant."""
    text = _asset(f"{name}.js")
    names = ", ".join(_EXPORT.findall(text))
    plain = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = module_\2;", text))
    return f"const module_{name} = (() => {{\n{plain}\nreturn {{ {names} }};\n}})();"


def _data(document: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    return Markup(json.dumps(document, ensure_ascii=False).replace("<", "\\u003c"))
