"""``suffice drift``: whether rows have changed since a model was fitted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import subcommand
from suffice.cli.options import DataName, file_argument, output, reading_options
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from suffice.validation.drift import Drift

_SHOWN = 25  # rows of the table, largest change first


@subcommand(
    "drift",
    "suffice drift iris.suffice new.csv",
    "suffice drift iris.suffice 'new/*.parquet' -o drift.png",
    "suffice drift iris.suffice new.csv --json",
)
@file_argument("model")
@click.argument("data", type=DataName())
@output("A picture of the changes to write, such as drift.png.")
@reading_options
def command(
    terminal: Terminal, /, model: Path, data: str, output: Path | None, *, reading: dict[str, Any]
) -> None:
    """Test whether new rows differ from those a model was fitted to.

    Means, spreads, shares of levels and of empty cells are compared column by column, and all
    together; p-values are adjusted for their number. Labels play no part. Exit code 0 either way:
    --json has "moved".
    """
    import matplotlib as mpl

    mpl.use("Agg")
    found = _found(terminal, model, data, reading)
    rows = found.rows()
    head = ["column", "what", "before", "after", "effect", "p_adjusted"]
    facts = {"moved": found.moved, "p_value": found.p_value, "columns": rows}
    terminal.result(facts, repr(found))
    if not terminal.json:
        terminal.table(head, [[row[name] for name in head] for row in rows[:_SHOWN]])
    if output is not None:
        found.plot().figure.savefig(output, dpi=150, bbox_inches="tight")
        terminal.note(f"{output}: picture of the drift")


def _found(terminal: Terminal, model: Path, data: str, reading: dict[str, Any]) -> Drift:
    """Return the drift of rows that are read in bounded memory."""
    from suffice.files import load
    from suffice.sources.chunks import frames_of
    from suffice.sources.columns import ColumnOptions, roles_for_predicting
    from suffice.sources.files import open_named
    from suffice.sources.source import Reading
    from suffice.validation.drift import drift, rows_like

    fitted = load(model)
    moments = getattr(getattr(fitted, "best_estimator_", fitted), "moments_", None)
    if moments is None:
        msg = f"{model} keeps no moments of its rows: drift needs a Gaussian model"
        raise InvalidInputError(msg)
    source = open_named(data, Reading(**reading))
    names = None if moments.schema else moments.feature_names
    options = ColumnOptions(schema=moments.schema, holes=True)
    roles = roles_for_predicting(source, names, moments.n_features, options)
    total, n_rows = rows_like(moments, source.sample.select(roles.features).clear()), 0
    with terminal.progress("rows") as progress:
        for frame in frames_of(source, roles):
            total += rows_like(moments, frame.select(roles.features))
            n_rows += frame.height
            if progress is not None:
                progress(n_rows, source.expected_rows)
    return drift(moments, total)
