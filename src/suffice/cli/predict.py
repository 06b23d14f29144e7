"""``suffice predict`` and ``drift``: what a model says about new rows."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import suffice
from suffice.cli.command import file_argument, new_data, option, output, several, subcommand
from suffice.cli.data import Data
from suffice.cli.terminal import Terminal, check_figure, write_figure, write_to_standard_output
from suffice.core.text.lists import plural
from suffice.errors import InvalidInputError

_SHOWN = 25  # rows of the table of changes, largest first
_RATE = "Share of the model's own rows that would count as outliers."


@subcommand(
    "suffice predict iris.suffice iris -o answers.csv",
    "suffice predict iris.suffice 'new/*.parquet' --keep customer -o answers.parquet",
    "cat new.csv | suffice predict iris.suffice - > answers.csv",
)
@file_argument("model")
@new_data
@output("The file or object to write; without it CSV goes to standard output.", urls=True)
@several("--keep", text="Copy too; ids by default.")
@click.option("--keep-all", is_flag=True, help="Copy every column.")
@several("-i", "--ignore", text="Not an id; repeatable.")
@click.option("--prefix", default="", metavar="TEXT", help="Put before the answers' names.")
@option("--outlier-rate", text=_RATE, type=click.FloatRange(0, 1), default=0.001)
def predict(
    terminal: Terminal,
    /,
    model: Path,
    data: Data,
    output: Any,
    keep: tuple[str, ...],
    *,
    keep_all: bool,
    ignore: tuple[str, ...],
    prefix: str,
    outlier_rate: float,
) -> None:
    """Write label, posteriors, log density and outliers for new rows.

    Rows are read and written in bounded memory, in their order; columns are matched by name. A
    row that lacks a number gets empty answers. An outlier has a log density below the quantile
    --outlier-rate of 50,000 rows drawn from the model itself.
    """
    if (
        "numpy" not in sys.modules
    ):  # BLAS would only spin on the cores that read, score and write
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from suffice.data.formats.writing import sink_of
    from suffice.data.predict import predict_stream
    from suffice.persistence.load import load_classifier

    if terminal.json and output is None:
        msg = (
            "--json prints on standard output, where the answers would go: name a file with -o"
        )
        raise click.UsageError(msg)
    if output is not None:
        sink_of(output)  # an extension that names no format is refused before any work is done
    source, fitted = data.source(), load_classifier(model)
    kept = source.sample.columns if keep_all else keep or None
    sink: Any = output or write_to_standard_output
    with terminal.progress("rows") as progress:
        done = predict_stream(
            fitted,
            source,
            sink,
            columns=suffice.Columns(ids=kept, ignore=ignore),
            prefix=prefix,
            outlier_rate=outlier_rate,
            progress=progress,
        )
    outliers = "" if done.outliers is None else f", {plural(done.outliers, 'outlier')}"
    terminal.written(output, f"{done.rows:,} rows{outliers}", **asdict(done))


@subcommand(
    "suffice drift iris.suffice new.csv",
    "suffice drift iris.suffice 'new/*.parquet' -o drift.png",
    "suffice drift iris.suffice new.csv --json",
)
@file_argument("model")
@new_data
@output("A picture of the changes to write, such as drift.png.")
def drift(terminal: Terminal, /, model: Path, data: Data, output: Path | None) -> None:
    """Test whether new rows differ from those a model was fitted to.

    Means, spreads, shares of levels and of empty cells are compared column by column, and all
    together; p-values are adjusted for their number. Labels play no part. Exit code 0 either way:
    --json has "moved".
    """
    check_figure(output)
    found = _found(terminal, model, data)
    rows = found.rows()
    head = ["column", "what", "before", "after", "effect", "p_adjusted"]
    terminal.result(
        {"moved": found.moved, "p_value": found.p_value, "columns": rows}, repr(found)
    )
    terminal.table(head, [[row[name] for name in head] for row in rows[:_SHOWN]])
    if output is not None:
        write_figure(found.plot().figure, output)
        terminal.note(f"{output}: picture of the drift")


def _found(terminal: Terminal, model: Path, data: Data) -> Any:
    """Return the drift of rows that are read in bounded memory."""
    from suffice.data.columns.roles import roles_for_predicting
    from suffice.data.rows.loading import frames_of
    from suffice.evaluate.diagnostics import drift as changes
    from suffice.persistence.load import load

    fitted = load(model)
    if (
        moments := getattr(getattr(fitted, "best_estimator_", fitted), "moments_", None)
    ) is None:
        msg = f"{model} keeps no moments of its rows: drift needs a Gaussian model"
        raise InvalidInputError(msg)
    source = data.source()
    names = None if moments.schema else moments.feature_names
    roles = roles_for_predicting(source, names, moments.n_features, schema=moments.schema)
    total, n_rows = (
        changes.RowSums.like(moments, source.sample.select(roles.features).clear()),
        0,
    )
    with terminal.progress("rows") as progress:
        for frame in frames_of(source, roles):
            total += changes.RowSums.like(moments, frame.select(roles.features))
            n_rows += frame.height
            progress(n_rows, source.count())
    return changes.drift(changes.RowSums(moments), total)
