"""``suffice predict``: new rows to answers."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import DataName, file_argument, output, reading_options
from suffice.cli.terminal import Terminal, write_to_standard_output


@subcommand(
    "predict",
    "suffice predict iris.suffice iris -o answers.csv",
    "suffice predict iris.suffice 'new/*.parquet' --keep customer -o answers.parquet",
    "cat new.csv | suffice predict iris.suffice - > answers.csv",
)
@file_argument("model")
@click.argument("data", type=DataName())
@output("The file to write; without it CSV goes to standard output.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="Copy too; ids by default.")
@click.option("--keep-all", is_flag=True, help="Copy every column.")
@click.option("-i", "--ignore", multiple=True, metavar="COLUMN", help="Not an id; repeatable.")
@click.option("--prefix", default="", metavar="TEXT", help="Put before the answers' names.")
@click.option(
    "--outlier-rate",
    type=click.FloatRange(0, 1),
    default=0.001,
    show_default=True,
    help="Share of the model's own rows that would count as outliers.",
)
@reading_options
def command(
    terminal: Terminal,
    /,
    model: Path,
    data: str,
    output: Path | None,
    keep: tuple[str, ...],
    *,
    keep_all: bool,
    reading: dict[str, Any],
    **options: Any,
) -> None:
    """Write label, posteriors, log density and outliers for new rows.

    Rows are read and written in bounded memory, in their order; columns are matched by name. A
    row that lacks a number gets empty answers. An outlier has a log density below the quantile
    --outlier-rate of 50,000 rows drawn from the model itself.
    """
    _use_one_blas_thread()
    from suffice.files import load_classifier
    from suffice.sources.files import open_named
    from suffice.sources.formats import sink_of
    from suffice.sources.predict import predict_stream
    from suffice.sources.source import Reading

    if terminal.json and output is None:
        msg = "--json prints on standard output, where the answers would go: name a file with -o"
        raise click.UsageError(msg)
    if output is not None:
        sink_of(output)  # an extension that names no format is refused before any work is done
    source = open_named(data, Reading(**reading))
    fitted = load_classifier(model)
    kept = list(source.sample.columns) if keep_all else list(keep) or None
    sink: Any = output or write_to_standard_output
    with terminal.progress("rows") as progress:
        done = predict_stream(fitted, source, sink, keep=kept, progress=progress, **options)
    outliers = "" if done.outliers is None else f", {done.outliers:,} outliers"
    terminal.written(output, f"{done.rows:,} rows{outliers}", **asdict(done))


def _use_one_blas_thread() -> None:
    """Leave the cores to the threads that read, score and write; BLAS would only spin on them."""
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
