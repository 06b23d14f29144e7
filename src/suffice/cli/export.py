"""``suffice export``: a model for other programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import Command
from suffice.cli.options import file_argument, output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from suffice.cli.terminal import Terminal

_PARAMETERS = ("priors_", "means_", "covariance_", "coef_", "intercept_")


def _as_json(fitted: Any) -> bytes:
    """Return the parameters of a model as a JSON document."""
    document: dict[str, Any] = {
        "model": type(fitted).__name__,
        "settings": fitted.get_params(),
        "classes": fitted.classes_,
        "n_features": int(fitted.n_features_in_),
        "feature_names": getattr(fitted, "feature_names_in_", None),
    }
    for name in _PARAMETERS:
        value = getattr(fitted, name, None)  # a model has those that make sense for it
        if value is not None:
            document[name.removesuffix("_")] = value
    return json.dumps(document, indent=1, ensure_ascii=False, default=_plain).encode() + b"\n"


_EXPORTERS: Mapping[str, Callable[[Any], bytes]] = {"json": _as_json}


@click.command(
    "export",
    cls=Command,
    examples=[
        "suffice export iris.suffice --to json -o iris.json",
        "suffice export iris.suffice --to json",
    ],
)
@file_argument("model")
@click.option(
    "--to",
    "kind",
    type=click.Choice(list(_EXPORTERS)),
    default="json",
    show_default=True,
    help="The format.",
)
@output("The file to write; without it standard output.")
@click.pass_obj
def command(terminal: Terminal, /, model: Path, kind: str, output: Path | None) -> None:
    """Write a model in a format that other programs read."""
    from suffice.archive import replacing
    from suffice.cli.files import load_model

    data = _EXPORTERS[kind](load_model(model))
    if output is None:
        sys.stdout.buffer.write(data)
        return
    with replacing(output) as file:
        file.write(data)
    terminal.done(
        {"output": str(output), "bytes": len(data)}, f"{output}: {kind}, {len(data):,} bytes"
    )


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
