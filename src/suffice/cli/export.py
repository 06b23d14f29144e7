"""``suffice export``: a model for other programs."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import choice, file_argument, output, several
from suffice.cli.terminal import Terminal


def _as_json(fitted: Any, _: Mapping[str, Any]) -> bytes:
    """Return all that scoring needs as a JSON document."""
    from suffice.export.document import document_of, document_text

    return document_text(document_of(fitted)).encode() + b"\n"


def _as_sql(fitted: Any, said: Mapping[str, Any]) -> bytes:
    """Return the query that scores a table."""
    query: str = fitted.to_sql(said["table"].split("."), said["dialect"], keep=said["keep"])
    return query.encode() + b";\n"


def _as_onnx(fitted: Any, _: Mapping[str, Any]) -> bytes:
    """Return the model as an ONNX graph."""
    data: bytes = fitted.to_onnx().SerializeToString()
    return data


_EXPORTERS: Mapping[str, Callable[[Any, Mapping[str, Any]], bytes]] = {
    "json": _as_json,
    "sql": _as_sql,
    "onnx": _as_onnx,
}


@subcommand(
    "export",
    "suffice export iris.suffice --to json -o iris.json",
    "suffice export iris.suffice --to sql --table flowers --keep id",
    "suffice export iris.suffice --to onnx -o iris.onnx",
)
@file_argument("model")
@choice("--to", "kind", of=_EXPORTERS, text="The format.", default="json")
@click.option("--table", default="rows", help="Of SQL: the table; dots part schemas.")
@choice("--dialect", of=["duckdb", "postgres", "sqlite"], text="Of SQL.", default="duckdb")
@several("--keep", text="Of SQL: copy beside the answers.")
@output("The file to write; without it standard output.")
def command(
    terminal: Terminal, /, model: Path, kind: str, output: Path | None, **said: Any
) -> None:
    """Write a model in a format that other programs read.

    JSON holds all that scoring needs; SQL is a query of label and posteriors for every row of a
    table; ONNX is a graph for any ONNX runtime.
    """
    from suffice.archive import replacing
    from suffice.cli.data import load_model

    if kind == "onnx" and output is None and (terminal.json or sys.stdout.isatty()):
        raise click.UsageError("ONNX is not for reading: name a file with -o")
    data = _EXPORTERS[kind](load_model(model), said)
    if output is None and terminal.json and kind == "sql":
        terminal.result({kind: data.decode().strip()})
        return
    if output is None:
        sys.stdout.buffer.write(data)
        return
    with replacing(output) as file:
        file.write(data)
    terminal.written(output, f"{kind}, {len(data):,} bytes", bytes=len(data))
