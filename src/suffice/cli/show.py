"""``suffice show``: what is inside a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import file_argument
from suffice.errors import FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.cli.terminal import Terminal
    from suffice.moments import Moments

_CLASSES, _FEATURES = 8, 30  # as many as a table stays readable with


@subcommand("show", "suffice show iris.suffice", "suffice show all.moments --json")
@file_argument("file")
def command(terminal: Terminal, /, file: Path) -> None:
    """Show what is inside a model or moments file."""
    from suffice import archive
    from suffice.moments import Moments

    header, arrays = archive.read(file)
    moments = Moments.of_archive(header, arrays) if "storage" in header else None
    document = {name: value for name, value in header.items() if name != "sha256"}
    if moments is not None:
        document |= {"classes": moments.classes, "weights": moments.weights}
        document |= {"counts": moments.counts, "means": moments.means}
    if terminal.json:
        terminal.result(document)
        return
    try:
        title = _title(file, header)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        msg = f"{file} has a header that tells nothing of {error}: write the file again"
        raise FileFormatError(msg) from error
    click.echo(title)
    if moments is not None:
        terminal.table(*_by_class(moments))


def _title(file: Path, header: dict[str, Any]) -> str:
    lines = [f"{file}: {header['suffice']}, format {header['format']}"]
    if "estimator" in header:
        given = header["parameters"].items()
        said = (f"{name}={value!r}" for name, value in given if value is not None)
        lines.append(f"{header['estimator']}({', '.join(said)})")
    return "\n".join([*lines, ", ".join(_facts(header))])


def _facts(header: dict[str, Any]) -> list[str]:
    """Return what the header tells of the sums, in words."""
    numbers = [(name, header.get(f"n_{name}")) for name in ("rows", "classes", "features")]
    facts = [f"{number:,} {name}" for name, number in numbers if number is not None]
    facts += [f"{header['storage']} scatter"] if "storage" in header else []
    facts += ["fourth moments"] if header.get("fourth") else []
    facts += [f"transformed by {header['transform']}"] if header.get("transform") else []
    return facts


def _by_class(moments: Moments) -> tuple[list[str], list[list[Any]]]:
    """Return a table with a column per class: its rows, its weight, its means."""
    k = slice(_CLASSES)
    more = ["…"] if moments.n_classes > _CLASSES else []
    columns = ["class", *map(str, moments.classes[k].tolist()), *more]
    rows = [
        ["rows", *moments.counts[k].tolist(), *more],
        ["weight", *moments.weights[k].tolist(), *more],
    ]
    names = moments.feature_names or [f"x{j}" for j in range(moments.n_features)]
    for name, means in list(zip(names, moments.means[k].T.tolist(), strict=True))[:_FEATURES]:
        rows.append([f"mean {name}", *means, *more])
    if moments.n_features > _FEATURES:
        rows.append(["…"] * len(columns))
    return columns, rows
