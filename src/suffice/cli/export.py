"""``suffice export``: a model as JSON, SQL or ONNX."""

import sys
from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.data import load_model
from suffice.cli.options import (
    OUTPUT,
    choice,
    file_argument,
    is_given,
    option,
    output,
    several,
)
from suffice.cli.terminal import Terminal


@subcommand(
    "suffice export iris.suffice --to json -o iris.json",
    "suffice export iris.suffice --to sql --table flowers --keep id",
    "suffice export iris.suffice --to onnx -o iris.onnx",
)
@file_argument("model")
@choice(
    "--to",
    "kind",
    section=OUTPUT,
    of=["json", "sql", "onnx"],
    default="json",
    help="The format.",
)
@option(
    "--table",
    section=OUTPUT,
    metavar="NAME",
    default="rows",
    help="With --to sql: the table that holds the rows, such as schema.table.",
)
@choice(
    "--dialect",
    section=OUTPUT,
    of=["duckdb", "postgres", "sqlite"],
    default="duckdb",
    help="With --to sql: the database that runs the query.",
)
@several(
    "--keep",
    section=OUTPUT,
    metavar="COLUMN",
    help="With --to sql: a column to copy to the result; repeat for more.",
)
@output("The file to write. By default, the text goes to standard output.")
def export(
    terminal: Terminal,
    /,
    model: Path,
    kind: str,
    table: str,
    dialect: str,
    keep: tuple[str, ...],
    output: Path | None,
) -> None:
    """Write a model in a format that other programs read.

    JSON holds everything needed for scoring. SQL is a query that returns the label and the
    posteriors of every row. ONNX is a graph for any ONNX runtime.
    """
    from suffice.export.document import document_text, to_document
    from suffice.export.onnx import to_onnx
    from suffice.export.sql import to_sql
    from suffice.persistence.archive import replacing

    if kind == "onnx" and output is None and (terminal.json or sys.stdout.isatty()):
        raise click.UsageError("ONNX is a binary format: name a file with -o")
    context = click.get_current_context()
    for name in ("table", "dialect", "keep"):
        if kind != "sql" and is_given(context, name):
            raise click.UsageError(
                f"--{name} needs --to sql: add that option, or leave out --{name}"
            )
    fitted = load_model(model)
    if kind == "onnx":
        content: bytes = to_onnx(fitted).SerializeToString()
    elif kind == "sql":
        query = to_sql(fitted, table.split("."), dialect=dialect, keep=keep)
        content = f"{query};\n".encode()
    else:
        content = f"{document_text(to_document(fitted))}\n".encode()
    if output is not None:
        with replacing(output) as file:
            file.write(content)
        terminal.written(output, f"{kind}, {len(content):,} bytes", bytes=len(content))
    elif terminal.json and kind == "sql":
        terminal.result({kind: content.decode().strip()})
    else:
        sys.stdout.buffer.write(content)
