"""The section on new rows: which columns have changed, and the model's error."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from suffice.core.decision.error_intervals import newcombe, wilson
from suffice.core.decision.predictions import Predictions
from suffice.core.moments import Moments
from suffice.core.table.labels import as_labels
from suffice.core.table.matrix import taken
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import count, p_statement, percent
from suffice.evaluate.diagnostics.drift import drift_between
from suffice.evaluate.diagnostics.row_sums import RowSums
from suffice.present.report import blocks as page
from suffice.present.report.findings import Findings
from suffice.typing import LabelsLike

MOST_COLUMNS = 12  # most columns that are shown, but all changed columns are shown


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """New rows to compare with the report's data, with or without labels."""

    rows: Any  # an array or a frame
    labels: LabelsLike | None = None
    name: str = ""  # name of the file of the rows


def new_rows(findings: Findings, new: NewRows) -> page.Section:
    """Return the section on new rows: drift by column, and errors if labels are known."""
    data = findings.data
    if data.source is None and not hasattr(new.rows, "columns"):
        named = pl.DataFrame(np.asarray(new.rows), schema=list(data.columns))
        new = replace(new, rows=named)
    weight = data.table.weight
    moments = Moments.of(data.named_rows, data.table.labels, weight)
    before = RowSums.like(moments, data.named_rows, weight)
    after = RowSums.like(moments, new.rows)
    change = drift_between(before, after)
    rows = counted(int(change.n_after), "new row")
    if new.name:
        rows = f"{rows} ({new.name})"
    finding = f"{change.verdict[:1].upper()}{change.verdict[1:]}."
    if change.moved:
        finding = (
            f"These columns have changed significantly: {listed(change.described_moves())}."
        )
    old_rows = f"{count(change.n_before)} rows of the report"
    lead = f"The page compares {rows} with the {old_rows}. {finding}"
    if np.isfinite(change.p_value):
        lead += f" The joint test of all means and shares gives {p_statement(change.p_value)}."
    elif any(np.isfinite(column.p_value) for column in change.columns):
        lead += " There are not enough rows to test all means and shares together."
    shown = [row for i, row in enumerate(change.rows()) if row["moved"] or i < MOST_COLUMNS]
    body = [
        (
            row["column"],
            row["what"],
            row["before"],
            row["after"],
            row["effect"],
            row["p_adjusted"],
        )
        for row in shown
    ]
    table = page.DataTable(
        caption="What has changed, largest effect first",
        columns=("column", "what", "before", "now", "effect", "p"),
        styles=("text", "text", "number", "number", "short", "p"),
        rows=tuple(body),
        note=(
            "Before, now: the mean or standard deviation of a number, the share of empty cells, "
            "or the share of the level that changed most. Effect: for a mean, the difference in "
            "standard deviations; for a standard deviation, the log ratio; for levels, the share "
            "of rows that changed level. p: p-value, adjusted for the number of tests (Holm)."
        ),
        marked=tuple(i for i, row in enumerate(shown) if row["moved"]),
    )
    blocks: list[page.Block] = [page.Paragraph(lead, "lead")]
    if new.labels is not None:
        blocks.extend(_errors(findings, new.rows, new.labels))
    blocks.append(table)
    return page.Section("against", "The new rows", tuple(blocks))


def compared_errors(error_before: float, n_before: float, error: float, n_rows: float) -> str:
    """Return a phrase that compares the errors on new and held-out rows, both uncertain."""
    low, high = newcombe(error_before, n_before, error, n_rows)
    if high < 0:
        return "less often than"
    if low > 0:
        return "more often than"
    return "about as often as"


def _errors(findings: Findings, rows: Any, new_labels: LabelsLike) -> list[page.Block]:
    """Return blocks on the error of the chosen model on the new rows."""
    labels = as_labels(new_labels)
    require_as_many(len(rows), len(labels))
    of_known_class = np.flatnonzero(np.isin(labels, findings.held_out.classes))
    n_known = len(of_known_class)
    if not n_known:
        nothing_known = "None of the new rows belongs to a class that the model knows."
        return [page.Paragraph(nothing_known, "caution")]
    predictions = Predictions.by(
        findings.estimator, taken(rows, of_known_class), labels[of_known_class]
    )
    lows, highs = wilson(np.array([predictions.error]), np.array([n_known]))
    low = float(lows[0])
    high = float(highs[0])
    error_before = findings.outcome.error
    how_often = compared_errors(
        error_before, findings.outcome.effective_rows, predictions.error, n_known
    )
    sentence = (
        f"{findings.name[:1].upper()}{findings.name[1:]} misclassifies "
        f"{int(predictions.wrong.sum()):,} of {counted(n_known, 'new row')}, {how_often} held-out "
        "rows."
    )
    n_unknown = len(labels) - n_known
    if n_unknown:
        rows_left_out = counted(n_unknown, "row")
        sentence += f" Rows of classes that it does not know are not counted: {rows_left_out}."
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    facts = [
        page.Fact("error, new rows", predictions.error, interval, "percent"),
        page.Fact("error, held-out rows", error_before, "of this report", "percent"),
    ]
    if predictions.logs is not None:
        facts.append(page.Fact("log-loss, new rows", predictions.log_loss, style="loss"))
    return [page.Paragraph(sentence), page.Facts(tuple(facts))]
