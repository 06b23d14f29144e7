"""Can it be trusted: assumptions and their tests; new rows, whether labelled or not."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from suffice.diagnostics import box_m, class_separation, normality, predictive_check
from suffice.errors import SufficeError
from suffice.moments import Moments
from suffice.reporting import blocks as page
from suffice.reporting.charts import distances
from suffice.reporting.choosing import Findings
from suffice.reporting.documented import DocumentedTable
from suffice.table.labels import as_labels
from suffice.table.matrix import taken
from suffice.text.lists import listed, plural
from suffice.text.numbers import count, p_statement, percent
from suffice.validation.drift import drift, rows_like
from suffice.validation.predictions import LEVEL, Predictions, wilson

ROWS_OF_A_CLASS = 500  # that tests look at
SIMULATIONS = 199
FEW, MANY = 100, 2_000  # rows


def trust(f: Findings) -> page.Section:
    """Return the section of assumptions."""
    checks = tuple(check for check in _checks(f) if check is not None)
    said = in_words(checks, f.sample.table.n_rows)
    said += " That does not make it useful: see The answer." * (f.verdict.usable == "no")
    blocks: list[page.Block] = [page.Paragraph(said, "lead"), page.Checks(checks), *distances(f)]
    return page.Section("trust", "Can it be trusted?", tuple(blocks))


def in_words(checks: tuple[page.Check, ...], n_rows: int) -> str:
    """Return how many assumptions hold, and what that means."""
    doubts = [check for check in checks if check.tone == "caution"]
    if not doubts and n_rows < FEW:
        return (
            f"No test finds evidence against the model, but with {n_rows} rows their power is low: "
            "they would find only gross departures from it."
        )
    if not doubts:
        said = "the one check" if len(checks) == 1 else f"any of {len(checks)} checks"
        return f"No evidence against the model in {said}."
    many = " With so many rows, tests find differences too small to matter." * (n_rows > MANY)
    tested = sum(check.verdict != "not tested" for check in checks)
    found = f"{len(doubts)} of {plural(tested, 'check')}"
    return (
        f"{found} found cause for caution. Errors on this page were counted on held-out rows: they "
        "need no such assumption, only that new rows are like these and independent of them (new "
        "groups, such as other persons or later years, may have more); densities, samples and "
        f"outliers depend on what was checked.{many}"
    )


def _checks(f: Findings) -> list[page.Check | None]:
    model, calibrated, sample, moments = f.explained, f.calibration, f.sample, f.moments
    found = [_own_error(f)]
    if calibrated is not None:
        found.insert(0, _asked("Are held-out posteriors calibrated?", lambda: calibrated))
    if model is None:
        return found
    tied = model.model_.shared_covariance is not None and model.moments_.power is None
    rows, few = _seen(sample, model), {"max_rows": ROWS_OF_A_CLASS}
    found += [
        _asked("Do the classes differ at all?", lambda: class_separation(moments), wanted=True),
        _asked("Do all classes share one covariance?", lambda: box_m(moments), matters=tied),
        _asked("Is each class Gaussian?", lambda: normality(*rows, **few)),
    ]
    if not f.fast:
        question, real = "Do rows drawn from the model look like the real ones?", sample.frame
        how = {"simulations": SIMULATIONS, "max_rows": _rows_of_a_class(sample)}
        found.append(_asked(question, lambda: predictive_check(model, real, rows[1], **how)))
    return found


def _rows_of_a_class(sample: DocumentedTable) -> int:
    """Return how many rows of a class to simulate, so that it takes about a second."""
    work = sample.table.n_features**2 * sample.table.n_classes
    return int(np.clip(1_000_000 // work, 30, ROWS_OF_A_CLASS))


def _seen(sample: DocumentedTable, model: Any) -> tuple[Any, Any]:
    """Return the rows as the Gaussians see them."""
    power = model.moments_.power
    return (sample.table.x if power is None else power.apply(sample.table.x)), sample.table.labels


def _asked(
    question: str, ask: Callable[[], Any], *, wanted: bool = False, matters: bool = True
) -> page.Check | None:
    """Return the answer of a diagnostic; ``wanted`` says that a small p-value is good news."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ask()
    except (SufficeError, np.linalg.LinAlgError) as error:
        return page.Check(question, "not tested", f"{str(error).split(': ')[0]}.", "note")
    good = (found.p_value <= LEVEL) == wanted
    tone: Any = "good" if good else ("caution" if matters else "note")
    beside = "" if matters else " The chosen model does not assume it."
    answers = ("not shown", "yes") if wanted else ("no", "no evidence against it")
    return page.Check(question, answers[good], f"{found!r}.{beside}", tone)


def _own_error(f: Findings) -> page.Check | None:
    """Return whether the model's own idea of its error lies in the interval of the held-out one."""
    expected = f.expected_error
    if expected is None:
        return None
    low, high = f.outcome.interval
    inside = low <= expected <= high
    said = (
        f"If the model were true, the best rule would misclassify {percent(expected)} of rows; "
        f"it misclassifies {percent(f.outcome.error)} of held-out rows (95 % interval "
        f"{percent(low)} to {percent(high)})."
    )
    question = "Does its error agree with what the model implies?"
    return page.Check(question, "yes" if inside else "no", said, "good" if inside else "caution")


MOST = 25  # columns shown
COLUMNS = ("column", "what", "before", "after", "effect", "p_adjusted")


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that the report's data is compared with, labelled or not."""

    rows: Any
    labels: Any = None
    name: str = "the new rows"


def compared_with(f: Findings, new: NewRows | None) -> page.Section | None:
    """Return the section of new rows: drift by column, and the errors where labels are known."""
    if new is None:
        return None
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
    table = page.DataTable(
        "What has changed, largest effect first",
        ("column", "what", "before", "now", "effect", "p"),
        ("text", "text", "number", "number", "short", "p"),
        tuple(tuple(row[name] for name in COLUMNS) for row in told),
        "Effects are in standard deviations; p-values are adjusted for the number of tests.",
        tuple(i for i, row in enumerate(told) if row["moved"]),
    )
    scores = () if new.labels is None else _scored(f, new)
    return page.Section("against", "The new rows", (page.Paragraph(said, "lead"), *scores, table))


def _scored(f: Findings, new: NewRows) -> tuple[page.Block, ...]:
    """Return how often the chosen model is wrong about the new rows."""
    labels = as_labels(new.labels)
    known = np.flatnonzero(np.isin(labels, f.held_out.classes))
    if not len(known):
        none = "None of the new rows is of a class that the model knows."
        return (page.Paragraph(none, "caution"),)
    scored = Predictions.by(f.estimator, taken(new.rows, known), labels[known])
    low, high = (float(v[0]) for v in wilson(np.array([scored.error]), np.array([len(known)])))
    before, lost = f.outcome.error, len(labels) - len(known)
    often = "less" if high < before else "more" if low > before else "about as"
    unknown = f" {plural(lost, 'row')} of classes it never saw are not counted." if lost else ""
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
