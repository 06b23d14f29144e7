"""Test the assumptions of the chosen model, and summarise the results."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
from sklearn.base import clone

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.moments import Moments
from suffice.core.text.lists import listed
from suffice.errors import SufficeError
from suffice.evaluate.diagnostics import box_m, normality, predictive_check
from suffice.present.report import blocks as page
from suffice.present.report.charts import FEWEST_VALUES, distances
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.findings import Findings
from suffice.typing import Floats

ROWS_OF_A_CLASS = 500  # most rows of a class used in a test
SIMULATIONS = 199
FEW_ROWS = 100  # with fewer rows, tests have little power
MANY_ROWS = 2_000  # with more rows, tests find differences too small to matter


@dataclass(frozen=True, slots=True, eq=False)
class GaussianRows:
    """A Gaussian classifier, and the rows and numbers that it reads."""

    model: Any
    rows: pl.DataFrame
    x: Floats  # numbers that enter the density, after the power transform if there is one (n, d)


class AssumptionTest(Protocol):
    """The result of a test: a small p-value is evidence against the tested assumption."""

    @property
    def p_value(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Assumptions:
    """A summary of tests of assumptions, and the result of each test."""

    in_words: str
    details: tuple[page.Block, ...]

    @classmethod
    def of(cls, findings: Findings) -> Self:
        """Return the tests of what the chosen model assumes."""
        left_out = columns_of_few_values(findings.sample)
        gaussian = gaussian_rows(findings, left_out)
        checks = _checks(findings, gaussian)
        details: list[page.Block] = []
        if checks:
            details.append(page.Checks(checks))
        if left_out and findings.gaussian is not None and not _is_average(findings):
            note = (
                f"Columns with fewer than {FEWEST_VALUES} distinct values cannot be Gaussian and "
                f"were left out of the tests: {listed(left_out)}."
            )
            figures = {"fewest_values": FEWEST_VALUES, "n_columns": len(left_out)}
            details.append(page.Paragraph(note, "note", figures))
        if gaussian is not None and not findings.has_many_classes:
            details.append(distances(gaussian.model, gaussian.x, findings.sample))
        return cls(
            checks_in_words(checks, findings.sample.table.n_rows),
            tuple(details),
        )


def checks_in_words(checks: tuple[page.Check, ...], n_rows: int) -> str:
    """Return a summary of which assumptions fail, and whether that affects the answer."""
    if not checks:
        return "The model predicts no probabilities, and it makes no assumption to test."
    doubted = [check for check in checks if check.tone == "caution"]
    n_tested = sum(check.verdict != "not tested" for check in checks)
    if not doubted and n_rows < FEW_ROWS:
        return (
            f"No test finds evidence against the model. But with {n_rows} rows, the power of the "
            "tests is low: they would detect only large departures from the model."
        )
    if not doubted and n_tested == 1:
        return "A test of the model's probabilities finds no evidence of miscalibration."
    if not doubted:
        return f"None of {n_tested} tests finds evidence against the model."
    return _rejections_in_words(doubted, n_rows)


def _rejections_in_words(doubted: list[page.Check], n_rows: int) -> str:
    """Return sentences on the rejected assumptions, and on what that affects."""
    beginning = "A test rejects this assumption of the model"
    if len(doubted) > 1:
        beginning = "Tests reject these assumptions of the model"
    sentences = [f"{beginning}: {'; '.join(check.subject for check in doubted)}."]
    if any(check.concerns_answer for check in doubted):
        sentences.append(
            "The miscalibrated probabilities are among the caveats of the answer."
        )
    if any(not check.concerns_answer for check in doubted):
        sentences.append(
            "This matters for densities, samples and outliers. It does not affect the error, which "
            "was counted on held-out rows."
        )
        if n_rows > MANY_ROWS:
            sentences.append("With so many rows, tests find differences too small to matter.")
    return " ".join(sentences)


def columns_of_few_values(sample: DocumentedTable) -> tuple[str, ...]:
    """Return the features that cannot be Gaussian: indicators, and numbers with few values."""
    many = {p.name for p in sample.profiles if not p.levels and p.distinct >= FEWEST_VALUES}
    return tuple(name for name in sample.names if name not in many)


def gaussian_rows(findings: Findings, left_out: tuple[str, ...]) -> GaussianRows | None:
    """Return a classifier without the columns ``left_out``; None if the model is not Gaussian."""
    model = findings.gaussian
    table = findings.sample.table
    frame = findings.sample.frame
    kept = [name for name in frame.columns if name not in left_out]
    if model is None or not kept:  # polars would take an empty list as a selection of no rows
        return None
    rows = frame[kept]
    # an average has several Gaussians, and levels have no Gaussian density
    if left_out and _is_average(findings):
        return None
    if left_out:
        power = None if model.moments_.power is None else "yeo-johnson"
        model = clone(model).set_params(power=power)
        model.fit(rows, table.labels, table.weight)
    x = rows.to_numpy()
    if model.moments_.power is not None:
        x = model.moments_.power.apply(x)
    return GaussianRows(model, rows, x)


def _is_average(findings: Findings) -> bool:
    return hasattr(findings.estimator, "choices_")


def _checks(findings: Findings, gaussian: GaussianRows | None) -> tuple[page.Check, ...]:
    table = findings.sample.table
    checks = []
    calibration = findings.calibration
    if calibration is not None:
        question = (
            "Are the model's probabilities calibrated: do they match the observed frequencies?"
        )
        checks.append(_check(page.CALIBRATION, question, lambda: calibration))
    if gaussian is None:
        return tuple(checks)
    is_average = _is_average(findings)
    if not is_average and gaussian.model.model_.density.shared_covariance is not None:
        question = f"Do all classes share one covariance, as {findings.name} assumes?"
        names = gaussian.rows.columns
        moments = Moments.of(gaussian.x, table.labels, table.weight, names=names)
        checks.append(
            _check("all classes share one covariance", question, lambda: box_m(moments))
        )
    if not is_average:
        question = f"Is each class Gaussian, as {findings.name} assumes?"
        checks.append(
            _check(
                "each class is Gaussian",
                question,
                lambda: normality(gaussian.x, table.labels, max_rows=ROWS_OF_A_CLASS),
            )
        )
    if findings.fast:
        return tuple(checks)
    simulated = "the model"
    if is_average:
        simulated = "its best Gaussian (used only for densities)"
    checks.append(
        _check(
            f"rows drawn from {simulated} look like the real ones",
            f"Do rows drawn from {simulated} look like the real ones?",
            lambda: predictive_check(
                gaussian.model,
                gaussian.rows,
                table.labels,
                simulations=SIMULATIONS,
                max_rows=simulated_rows_of_a_class(findings.sample),
            ),
        )
    )
    return tuple(checks)


def simulated_rows_of_a_class(sample: DocumentedTable) -> int:
    """Return the number of rows per class for which a simulation takes about a second."""
    work = sample.table.n_features**2 * sample.table.n_classes
    return int(np.clip(1_000_000 // work, 30, ROWS_OF_A_CLASS))


def _check(subject: str, question: str, test: Callable[[], AssumptionTest]) -> page.Check:
    """Return the result of a test, or the reason why it failed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            diagnostic = test()
    except (SufficeError, np.linalg.LinAlgError) as error:
        reason = str(error).split(": ")[0]
        return page.Check(subject, question, "not tested", f"{reason}.", "note")
    if np.isnan(diagnostic.p_value):
        return page.Check(subject, question, "not tested", f"{diagnostic!r}.", "note")
    if diagnostic.p_value > LEVEL:
        answer = f"{diagnostic!r}."
        return page.Check(subject, question, "no evidence against it", answer, "good")
    return page.Check(subject, question, "no", f"{diagnostic!r}.", "caution")
