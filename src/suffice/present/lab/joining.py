"""Join JavaScript modules to one script, which a page can embed."""

import re
from collections.abc import Mapping

# import { a, b as c } from "./name.js"; the part in braces may span several lines
_IMPORT = re.compile(
    r'^import\s*\{(?P<names>[^}]*)\}\s*from\s*"\./(?P<module>\w+)\.js";', re.M
)
# export function name, export async function name, export class name, export const name
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (?P<name>\w+))", re.M)
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.M)


def join_modules(sources: Mapping[str, str]) -> str:
    """Return a script that runs modules in order; each may import from earlier modules.

    Every module becomes a function that returns the module's exports, so that modules do not share
    other names.

    Raises
    ------
    ValueError
        If a module imports a name that no earlier module exports, or if an import or export is not
        a named one at the beginning of a line.
    """
    exports: dict[str, list[str]] = {}
    parts = ['"use strict";']
    for module, source in sources.items():
        for statement in _IMPORT.finditer(source):
            _check_import(module, statement, exports)
        exports[module] = _EXPORT.findall(source)
        body = _IMPORT.sub(_as_constant, source)
        body = _EXPORT.sub("", body)
        left_over = _LEFT_OVER.search(body)
        if left_over:
            raise ValueError(
                f"{module}.js cannot be joined: {left_over[0]!r} is not a named import or export"
            )
        names = ", ".join(exports[module])
        parts.append(
            f"const module_{module} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();"
        )
    return "\n".join([*parts, ""])


def _imported_names(statement: re.Match[str]) -> list[tuple[str, str]]:
    """Return the exported name and the local name of every import."""
    names = []
    for item in statement["names"].split(","):
        if item.strip():
            original, _, alias = item.strip().partition(" as ")
            names.append((original.strip(), alias.strip() or original.strip()))
    return names


def _check_import(
    module: str, statement: re.Match[str], exports: dict[str, list[str]]
) -> None:
    source = statement["module"]
    if source not in exports:
        raise ValueError(f"{module}.js imports {source}.js, which does not come before it")
    for name, _ in _imported_names(statement):
        if name not in exports[source]:
            raise ValueError(f"{module}.js imports {name}, which {source}.js does not export")


def _as_constant(statement: re.Match[str]) -> str:
    """Return ``const { a, b: c } = module_name;`` for an import."""
    names = [
        name if name == alias else f"{name}: {alias}"
        for name, alias in _imported_names(statement)
    ]
    return f"const {{ {', '.join(names)} }} = module_{statement['module']};"
