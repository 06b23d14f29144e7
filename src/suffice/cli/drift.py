"""``suffice drift``: whether new rows differ from those of the fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.options import file_argument, new_data, output
from suffice.cli.terminal import Terminal, check_figure, write_figure
from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from suffice.evaluate.diagnostics.drift import Drift

_MOST_CHANGES = 25  # limit on the rows of the table, which has the largest changes first
_SHOWN = ("column", "what", "before", "after", "effect", "p_adjusted", "note")


@subcommand(
    "suffice drift iris.suffice new.csv",
    "suffice drift iris.suffice 'new/*.parquet' -o drift.png",
    "suffice drift iris.suffice new.csv --json",
)
@file_argument("model")
@new_data
@output("A figure of the changes to write, such as drift.png.")
def drift(terminal: Terminal, /, model: Path, data: Data, output: Path | None) -> None:
    """Test whether new rows differ from those that a model was fitted to.

    Means, standard deviations, shares of levels and shares of missing values are compared column by
    column, and all together. The p-values are adjusted for the number of tests (Holm). If there are
    too few rows for a test, a note says so. Labels are not used. The exit code is 0 with or without
    drift; with --json, "moved" lists the columns that changed.
    """
    check_figure(output)
    result = _drift_of(terminal, model, data)
    changes = result.rows()
    document = {"moved": result.moved, "p_value": result.p_value, "columns": changes}
    terminal.result(document, repr(result))
    rows = []
    for change in changes[:_MOST_CHANGES]:
        row = [change[name] for name in _SHOWN]
        rows.append(row)
    terminal.table(_SHOWN, rows)
    if output is not None:
        write_figure(result.plot().figure, output)
        terminal.note(f"{output}: picture of the drift")


def _drift_of(terminal: Terminal, model: Path, data: Data) -> Drift:
    """Return the drift between a model and rows, which are read in bounded memory."""
    from suffice.core.decision import classifier_of
    from suffice.data.columns.roles import roles_for_predicting
    from suffice.data.predict import notations_for
    from suffice.data.rows.loading import frames_of
    from suffice.data.source import exactly
    from suffice.evaluate.diagnostics.drift import drift_between
    from suffice.evaluate.diagnostics.row_sums import RowSums
    from suffice.persistence.load import load

    fitted = load(model)
    best = getattr(fitted, "best_estimator_", fitted)
    moments = getattr(best, "moments_", None)
    if moments is None:
        msg = f"{model} keeps no moments of its rows: drift needs a Gaussian model"
        raise InvalidInputError(msg)
    source = replace(data, notations=notations_for(classifier_of(fitted))).source()
    names = None if moments.schema else moments.feature_names
    roles = roles_for_predicting(
        source, names, moments.n_features, schema=moments.schema, allow_missing=True
    )
    features = [exactly(name) for name in roles.features]
    new_sums = RowSums.like(moments, source.sample.select(features).clear())
    n_rows = 0
    with terminal.progress("rows") as progress:
        for frame in frames_of(source, roles):
            new_sums += RowSums.like(moments, frame.select(features))
            n_rows += frame.height
            progress(n_rows, source.count())
    return drift_between(RowSums(moments), new_sums)
