"""``suffice predict``: predictions for new rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.options import (
    COLUMNS,
    MODEL,
    OUTPUT,
    file_argument,
    flag,
    is_given,
    new_data,
    option,
    output,
    several,
)
from suffice.cli.terminal import Terminal, write_to_standard_output
from suffice.core.text.lists import counted
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    import polars as pl


@subcommand(
    "suffice predict iris.suffice iris -o predictions.csv",
    "suffice predict iris.suffice 'new/*.parquet' --keep customer -o predictions.parquet",
    "cat new.csv | suffice predict iris.suffice - > predictions.csv",
)
@file_argument("model")
@new_data
@several(
    "--keep",
    section=COLUMNS,
    metavar="COLUMN",
    help="A column to copy to the output; repeat for more. By default, the id columns.",
)
@flag("--keep-all", section=COLUMNS, help="Copy every column to the output.")
@several(
    "-i",
    "--ignore",
    section=COLUMNS,
    metavar="COLUMN",
    help="A column that looks like an id but is none; repeat for more.",
)
@option(
    "--outlier-rate",
    section=MODEL,
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    default=0.001,
    help="Expected share of outliers among new rows from the same population.",
)
@option(
    "--prefix",
    section=OUTPUT,
    default="",
    metavar="TEXT",
    help="Prefix for the names of the prediction columns.",
)
@flag(
    "--escape-formulas",
    section=OUTPUT,
    help="Put ' before each text that a spreadsheet would evaluate as a formula.",
)
@output(
    "The file or object to write. By default, CSV goes to standard output.",
    urls=True,
)
def predict(
    terminal: Terminal,
    /,
    model: Path,
    data: Data,
    output: Path | str | None,
    keep: tuple[str, ...],
    ignore: tuple[str, ...],
    prefix: str,
    outlier_rate: float,
    *,
    keep_all: bool,
    escape_formulas: bool,
) -> None:
    """Predict new rows: write label, posteriors, log density and outliers.

    Rows are read and written in bounded memory, in the same order. Columns are matched by name, and
    numbers are read in the format of the file that the model was fitted to. A row with missing
    values is predicted from its other values. Logistic regression, the perceptron and least squares
    cannot use such rows: their predictions stay empty, and a note counts these rows. A row is an
    outlier if its log density is so low that only a share --outlier-rate of 50,000 rows simulated
    from the model has a lower one.
    """
    if "numpy" not in sys.modules:
        # BLAS threads would compete with the threads that read, score and write
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from suffice.data.formats.writing import sink_of
    from suffice.data.predict import notations_for, predict_stream
    from suffice.persistence.load import load_classifier

    if terminal.json and output is None:
        msg = (
            "--json prints to standard output, where the predictions would go: "
            "name a file with -o"
        )
        raise click.UsageError(msg)
    if output is not None:
        sink_of(output)  # raises for an unknown extension before any work is done
    classifier = load_classifier(model)
    if not classifier.has_density and is_given(click.get_current_context(), "outlier_rate"):
        raise InvalidParameterError(
            f"{model} holds a model without densities, which finds no outliers: leave out "
            "--outlier-rate"
        )
    source = replace(data, notations=notations_for(classifier)).source()
    kept: list[str] | None = None
    if keep_all:
        kept = list(source.sample.columns)
    elif keep:
        kept = list(keep)
    with terminal.progress("rows") as progress:
        result = predict_stream(
            classifier,
            source,
            _sink(output, escape_formulas=escape_formulas),
            columns=suffice.Columns(ids=kept, ignore=ignore),
            prefix=prefix,
            outlier_rate=outlier_rate,
            progress=progress,
        )
    text = counted(result.rows, "row")
    if result.outliers is not None:
        text += f", {counted(result.outliers, 'outlier')}"
    terminal.written(output, text, **asdict(result))


def _sink(
    output: Path | str | None,
    *,
    escape_formulas: bool,
) -> Path | str | Callable[[pl.LazyFrame], object]:
    """Return the sink of the predictions, which may escape texts that look like formulas."""
    if not escape_formulas:
        return write_to_standard_output if output is None else output
    from suffice.data.formats.writing import with_escaped_formulas, write_table

    if output is None:
        return lambda frame: write_to_standard_output(with_escaped_formulas(frame))
    if Path(output).suffix.lower() not in (".csv", ".tsv"):
        raise InvalidParameterError(
            f"{output} is not a .csv or .tsv file, so a spreadsheet does not evaluate its texts: "
            "leave out --escape-formulas"
        )
    return lambda frame: write_table(with_escaped_formulas(frame), output)
