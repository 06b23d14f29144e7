"""The models compared as a table, and the verdict in words."""

import numpy as np

from suffice.comparison.outcome import p_against
from suffice.reporting.blocks import Block, CellStyle, DataTable, Notes, Paragraph, Section
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.text.lists import listed, truncated
from suffice.text.numbers import number, p_statement, percent
from suffice.validation.significance import LEVEL

COLUMNS: tuple[tuple[str, str, CellStyle], ...] = (
    ("model", "model", "text"),
    ("error", "error", "percent"),
    ("from", "error_low", "percent"),
    ("to", "error_high", "percent"),
    ("log-loss", "log_loss", "loss"),
    ("Brier", "brier", "loss"),
    ("calib. error", "calibration_error", "loss"),
    ("AUC", "auc", "loss"),
    ("size", "n_parameters", "count"),
    ("fit", "fit_seconds", "seconds"),
    ("p", "p_adjusted", "p"),
)


def headline(judgement: Judgement) -> str:
    """Return the verdict in one or two sentences."""
    o = judgement.outcome
    low, high = o.interval
    first = (
        f"{'About' if judgement.asked_for else 'Trust'} {o.name}: of rows it has not seen it "
        f"gets {percent(o.error)} wrong (95 % interval {percent(low)} to {percent(high)})."
    )
    better = _clearly_better(judgement)
    if better:
        named = listed(
            [f"{name} ({percent(error)}, {p_statement(p)})" for name, error, p in better]
        )
        return f"{first} Fewer errors are made by {named}, but without densities to explain them."
    return f"{first} No model compared is significantly better."


def models_compared(
    data: DocumentedTable, sample: DocumentedTable, judgement: Judgement, figures: tuple[Block, ...]
) -> Section:
    """Return the section of the models compared."""
    comparison = judgement.comparison
    told = comparison.rows()
    at = [row["model"] for row in told].index(judgement.name)
    table = DataTable(
        f"Held-out losses: {comparison.n_rows:,} rows, {comparison.protocol}",
        tuple(heading for heading, _, _ in COLUMNS),
        tuple(style for _, _, style in COLUMNS),
        tuple(tuple(row[name] for _, name, _ in COLUMNS) for row in told),
        note=(
            "Every loss is of rows that were held out, its mean over folds; from and to bound the "
            "95 % interval of the error. p: corrected resampled t test of the error against the "
            "first, adjusted by Holm's rule. Size: free parameters. "
            "Fit: time for one fold."
        ),
        marked=(at,),
    )
    blocks: list[Block] = [
        Paragraph(comparison.verdict, "lead"),
        Paragraph(reason(judgement)),
        table,
        *_remarks(data, sample, judgement),
    ]
    return Section("models", "Models compared", (*blocks, *figures))


def reason(judgement: Judgement) -> str:
    """Return why this classifier was chosen."""
    o, outcomes = judgement.outcome, judgement.comparison.outcomes
    if judgement.asked_for:
        return f"{o.name} was asked for; the others are there to compare it with."
    smallest = min((x for x in outcomes if np.isfinite(x.log_loss)), key=lambda x: x.log_loss)
    if smallest.name == o.name:
        return (
            f"{o.name} has the smallest log-loss of all ({number(o.log_loss, 3)}): its posteriors "
            "say most about the rows it has not seen."
        )
    return (
        f"{o.name} is the Gaussian classifier of fewest parameters ({o.n_parameters:,.0f}) whose "
        f"log-loss, {number(o.log_loss, 3)}, is within one standard error of the smallest among "
        f"them; the smallest of all is {number(smallest.log_loss, 3)}, of {smallest.name}. "
        "Simple models are easier to explain, and to trust on rows unlike these."
    )


def _clearly_better(judgement: Judgement) -> list[tuple[str, float, float]]:
    """Return the models whose error is significantly smaller: name, error, p."""
    comparison, own = judgement.comparison, judgement.outcome
    less = [o for o in comparison.outcomes if o.error < own.error]
    tested = [(o.name, o.error, p_against(o, own, comparison.test_ratio)) for o in less]
    return [t for t in tested if t[2] * len(tested) <= LEVEL]


def _remarks(data: DocumentedTable, sample: DocumentedTable, judgement: Judgement) -> list[Block]:
    remarks: list[Block] = []
    if sample.table.n_rows < data.table.n_rows:
        words = (
            f"The models were compared on a stratified sample of {sample.table.n_rows:,} of "
            f"{data.table.n_rows:,} rows; {judgement.name} was then fitted to all of them."
        )
        remarks.append(Paragraph(words, "note"))
    notes = judgement.comparison.notes
    if notes:
        remarks.append(
            Notes(f"What single models said ({len(notes)})", tuple(map(truncated, notes)))
        )
    return remarks
