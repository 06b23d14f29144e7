"""New rows against those of the report: have they moved, and how often the model errs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from suffice.moments import Moments
from suffice.reporting.blocks import Block, DataTable, Fact, Facts, Paragraph, Section
from suffice.reporting.findings import Findings
from suffice.table.labels import as_labels
from suffice.table.matrix import taken
from suffice.text.lists import listed, plural
from suffice.text.numbers import count, p_statement, percent
from suffice.validation.drift import drift, rows_like
from suffice.validation.predictions import Predictions
from suffice.validation.significance import wilson

MOST = 25  # columns shown
COLUMNS = ("column", "what", "before", "after", "effect", "p_adjusted")


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that the report's data is compared with, labelled or not."""

    rows: Any
    labels: Any = None
    name: str = "the new rows"


def compared_with(f: Findings, new: NewRows) -> Section:
    """Return the section of new rows: drift by column, and the errors where labels are known."""
    if f.data.source is None and not hasattr(new.rows, "columns"):
        new = replace(new, rows=pl.DataFrame(np.asarray(new.rows), schema=list(f.data.columns)))
    before = Moments.of(f.data.asked, f.data.table.labels, f.data.table.weight)
    found = drift(before, rows_like(before, new.rows))
    moved = listed(found.moved) if found.moved else "no column"
    told = found.rows()[:MOST]
    said = (
        f"{plural(int(found.n_after), 'row')} of {new.name} against {count(found.n_before)} of the "
        f"report: {moved} {'have' if len(found.moved) > 1 else 'has'} moved significantly; all "
        f"columns together {p_statement(found.p_value)}."
    )
    table = DataTable(
        "What has changed, largest effect first",
        ("column", "what", "before", "now", "effect", "p"),
        ("text", "text", "number", "number", "short", "p"),
        tuple(tuple(row[name] for name in COLUMNS) for row in told),
        "Effects are in standard deviations; p-values are adjusted for the number of tests.",
        tuple(i for i, row in enumerate(told) if row["moved"]),
    )
    scores = () if new.labels is None else _scored(f, new)
    return Section("against", "The new rows", (Paragraph(said, "lead"), *scores, table))


def _scored(f: Findings, new: NewRows) -> tuple[Block, ...]:
    """Return how often the chosen model is wrong about the new rows."""
    labels = as_labels(new.labels)
    known = np.flatnonzero(np.isin(labels, f.rows.classes))
    if not len(known):
        return (Paragraph("None of the new rows is of a class that the model knows.", "caution"),)
    scored = Predictions.by(f.judgement.estimator, taken(new.rows, known), labels[known])
    low, high = (float(v[0]) for v in wilson(np.array([scored.error]), np.array([len(known)])))
    before, lost = f.judgement.outcome.error, len(labels) - len(known)
    often = "less" if high < before else "more" if low > before else "about as"
    unknown = f" {plural(lost, 'row')} of classes it never saw are not counted." if lost else ""
    n_wrong, than = int(scored.wrong.sum()), "as" if often == "about as" else "than"
    said = (
        f"It is wrong about {n_wrong:,} of {plural(len(known), 'new row')}: {often} often {than} "
        f"about held-out rows.{unknown}"
    )
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    facts = [Fact("error, new rows", scored.error, interval, "percent")]
    facts.append(Fact("error, held-out rows", before, "of this report", "percent"))
    if scored.logs is not None:
        facts.append(Fact("log-loss, new rows", scored.log_loss, "", "loss"))
    return Paragraph(said), Facts(tuple(facts))
