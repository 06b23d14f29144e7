"""Can it be trusted: assumptions and their tests; new rows, whether labelled or not."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from sklearn.base import clone

from suffice.core.decision.predictions import LEVEL, Predictions, wilson
from suffice.core.moments import Moments
from suffice.core.table.labels import as_labels
from suffice.core.table.matrix import taken
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import listed, plural
from suffice.core.text.numbers import count, p_statement, percent
from suffice.errors import SufficeError
from suffice.evaluate.diagnostics import box_m, normality, predictive_check
from suffice.evaluate.diagnostics.drift import RowSums, drift
from suffice.present.report import blocks as page
from suffice.present.report.charts import FEWEST_VALUES, distances
from suffice.present.report.choosing import Findings
from suffice.present.report.documented import DocumentedTable
from suffice.typing import Floats

ROWS_OF_A_CLASS = 500  # that tests look at
SIMULATIONS = 199
FEW, MANY = 100, 2_000  # rows
Seen: TypeAlias = tuple[
    Any, pl.DataFrame, Floats
]  # a Gaussian model, rows, these as it sees them


def trust(f: Findings) -> page.Section:
    """Return the section of assumptions."""
    left_out, n_rows = columns_of_few_values(f.sample), f.sample.table.n_rows
    seen = gaussian_rows(f, left_out)
    checks = _checks(f, seen)
    said = checks_in_words(checks, n_rows, densities=seen is not None)
    said += " That does not make it useful: see The answer." * (f.verdict.usable == "no")
    blocks: list[page.Block] = [page.Paragraph(said, "lead")]
    blocks += [page.Checks(checks)] if checks else []
    if left_out and f.explained is not None and not _is_average(f):
        few = f"Columns of fewer than {FEWEST_VALUES} values are never Gaussian, and left out"
        blocks.append(page.Paragraph(f"{few}: {listed(left_out)}.", "note"))
    if seen is not None and not f.many:
        blocks.append(distances(seen[0], seen[2], f.sample))
    return page.Section("trust", "Can it be trusted?", tuple(blocks))


def checks_in_words(
    checks: tuple[page.Check, ...],
    n_rows: int,
    *,
    densities: bool = False,
) -> str:
    """Return how many assumptions hold, and what that means."""
    if not checks:
        return "It states no probabilities, and assumes nothing that could be tested."
    doubts = sum(check.tone == "caution" for check in checks)
    tested = sum(check.verdict != "not tested" for check in checks)
    if not doubts and n_rows < FEW:
        return (
            f"No test finds evidence against the model, but with {n_rows} rows their power is low: "
            "they would find only gross departures from it."
        )
    said = f"{doubts} of {tested} checks found cause for caution."
    if not doubts:
        said = f"No evidence against the model in any of {tested} checks."
    if tested == 1:
        said = (
            f"The check of its probabilities found {'' if doubts else 'no '}cause for caution."
        )
    if doubts and n_rows > MANY:
        said += " With so many rows, tests find differences too small to matter."
    said += (
        " Errors were counted on held-out rows: they need no assumption but that new rows are like "
        "these and independent of them. Other persons or later years may bring more."
    )
    return said + " Densities, samples and outliers need Gaussian classes too." * densities


def columns_of_few_values(sample: DocumentedTable) -> tuple[str, ...]:
    """Return the features that are no Gaussian whatever the rows: indicators, and few numbers."""
    many = {p.name for p in sample.profiles if not p.levels and p.distinct >= FEWEST_VALUES}
    return tuple(name for name in sample.names if name not in many)


def gaussian_rows(f: Findings, left_out: tuple[str, ...]) -> Seen | None:
    """Return a classifier of the other columns, None where nothing depends on Gaussian classes."""
    model, table, rows = f.explained, f.sample.table, f.sample.frame.drop(left_out)
    # an average predicts by more than a Gaussian, and levels have no density
    if model is None or not rows.width or (left_out and _is_average(f)):
        return None
    if left_out:
        power = None if model.moments_.power is None else "yeo-johnson"
        model = clone(model).set_params(power=power).fit(rows, table.labels, table.weight)
    x, power = rows.to_numpy(), model.moments_.power
    return model, rows, x if power is None else power.apply(x)


def _is_average(f: Findings) -> bool:
    return hasattr(f.estimator, "choices_")


def _checks(f: Findings, seen: Seen | None) -> tuple[page.Check, ...]:
    labels, found = f.sample.table.labels, []
    if f.calibration is not None:
        question = "Are its probabilities right as often as they state (calibrated)?"
        found.append(_asked(question, lambda: f.calibration))
    if seen is None:
        return tuple(found)
    model, rows, x = seen
    if not _is_average(f):
        if model.model_.shared_covariance is not None:
            question = f"Do all classes share one covariance, as {f.name} assumes?"
            sums = Moments.of(x, labels, f.sample.table.weight, names=rows.columns)
            found.append(_asked(question, lambda: box_m(sums)))
        question = f"Is each class Gaussian, as {f.name} assumes?"
        found.append(_asked(question, lambda: normality(x, labels, max_rows=ROWS_OF_A_CLASS)))
    if not f.fast:
        who = (
            "its best Gaussian, which only densities need," if _is_average(f) else "the model"
        )
        question = f"Do rows drawn from {who} look like the real ones?"
        how = {"simulations": SIMULATIONS, "max_rows": _rows_of_a_class(f.sample)}
        found.append(_asked(question, lambda: predictive_check(model, rows, labels, **how)))
    return tuple(found)


def _rows_of_a_class(sample: DocumentedTable) -> int:
    """Return how many rows of a class to simulate, so that it takes about a second."""
    work = sample.table.n_features**2 * sample.table.n_classes
    return int(np.clip(1_000_000 // work, 30, ROWS_OF_A_CLASS))


def _asked(question: str, ask: Callable[[], Any]) -> page.Check:
    """Return the answer of a diagnostic, to which a small p-value is bad news."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ask()
    except (SufficeError, np.linalg.LinAlgError) as error:
        return page.Check(question, "not tested", f"{str(error).split(': ')[0]}.", "note")
    if found.p_value > LEVEL:
        return page.Check(question, "no evidence against it", f"{found!r}.", "good")
    return page.Check(question, "no", f"{found!r}.", "caution")


MOST = 12  # columns shown, those that moved always
COLUMNS = ("column", "what", "before", "after", "effect", "p_adjusted")


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that the report's data is compared with, labelled or not."""

    rows: Any
    labels: Any = None
    name: str = ""  # of their file


def compared_with(f: Findings, new: NewRows | None) -> page.Section | None:
    """Return the section of new rows: drift by column, and the errors where labels are known."""
    if new is None:
        return None
    if f.data.source is None and not hasattr(new.rows, "columns"):
        new = replace(
            new, rows=pl.DataFrame(np.asarray(new.rows), schema=list(f.data.columns))
        )
    weight = f.data.table.weight
    before = Moments.of(f.data.asked, f.data.table.labels, weight)
    found = drift(RowSums.like(before, f.data.asked, weight), RowSums.like(before, new.rows))
    moved = listed(found.moved) if found.moved else "no column"
    told = [row for i, row in enumerate(found.rows()) if row["moved"] or i < MOST]
    of = f" ({new.name})" if new.name else ""
    said = (
        f"{plural(int(found.n_after), 'new row')}{of} against the {count(found.n_before)} of the "
        f"report: {moved} {'have' if len(found.moved) > 1 else 'has'} moved significantly (all "
        f"means and shares together: {p_statement(found.p_value)})."
    )
    table = page.DataTable(
        "What has changed, largest effect first",
        ("column", "what", "before", "now", "effect", "p"),
        ("text", "text", "number", "number", "short", "p"),
        tuple(tuple(row[name] for name in COLUMNS) for row in told),
        "Before, now: the mean or standard deviation of a number, the share of empty cells, the "
        "share of the level that changed most. Effect: of a mean in standard deviations, of a "
        "spread the log of its ratio, of shares the part of rows that is elsewhere now. p is "
        "adjusted for the number of tests (Holm).",
        tuple(i for i, row in enumerate(told) if row["moved"]),
    )
    scores = () if new.labels is None else _scored(f, new)
    return page.Section(
        "against", "The new rows", (page.Paragraph(said, "lead"), *scores, table)
    )


def _scored(f: Findings, new: NewRows) -> tuple[page.Block, ...]:
    """Return how often the chosen model is wrong about the new rows."""
    labels = as_labels(new.labels)
    require_as_many(len(new.rows), len(labels))
    known = np.flatnonzero(np.isin(labels, f.held_out.classes))
    if not len(known):
        none = "None of the new rows is of a class that the model knows."
        return (page.Paragraph(none, "caution"),)
    scored = Predictions.by(f.estimator, taken(new.rows, known), labels[known])
    low, high = (float(v[0]) for v in wilson(np.array([scored.error]), np.array([len(known)])))
    before, lost = f.outcome.error, len(labels) - len(known)
    often = "less" if high < before else "more" if low > before else "about as"
    unknown = (
        f" {plural(lost, 'row')} of classes it never saw are not counted." if lost else ""
    )
    n_wrong, than = int(scored.wrong.sum()), "as" if often == "about as" else "than"
    said = (
        f"It misclassifies {n_wrong:,} of {plural(len(known), 'new row')}: {often} often {than} "
        f"held-out rows.{unknown}"
    )
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    facts = [page.Fact("error, new rows", scored.error, interval, "percent")]
    facts.append(page.Fact("error, held-out rows", before, "of this report", "percent"))
    if scored.logs is not None:
        facts.append(page.Fact("log-loss, new rows", scored.log_loss, "", "loss"))
    return page.Paragraph(said), page.Facts(tuple(facts))
