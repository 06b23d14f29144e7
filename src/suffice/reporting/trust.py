"""Can it be trusted: assumptions and their tests, and real rows against synthetic ones."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.diagnostics import box_m, class_separation, normality, predictive_check
from suffice.errors import SufficeError
from suffice.moments import Moments
from suffice.reporting.blocks import Block, Check, Checks, Paragraph, Section
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.text.lists import plural
from suffice.text.numbers import percent
from suffice.validation.significance import LEVEL

ROWS_OF_A_CLASS = 500  # that tests look at
SIMULATIONS = 199
FEW, MANY = 100, 2_000  # rows


def trust(
    sample: DocumentedTable, moments: Moments, judgement: Judgement, figures: tuple[Block, ...]
) -> Section:
    """Return the section of assumptions."""
    checks = tuple(check for check in _checks(sample, moments, judgement) if check is not None)
    said = in_words(checks, sample.table.n_rows)
    if judgement.verdict.usable == "no":
        said = f"{said} That does not make it useful: see The answer."
    blocks: list[Block] = [Paragraph(said, "lead"), Checks(checks)]
    return Section("trust", "Can it be trusted?", (*blocks, *figures))


def in_words(checks: tuple[Check, ...], n_rows: int) -> str:
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
        f"{found} found cause for caution. Errors on this page were counted on held-out rows and "
        "hold whether or not the assumptions do; densities, samples and outliers depend on "
        f"them.{many}"
    )


def _checks(sample: DocumentedTable, moments: Moments, judgement: Judgement) -> list[Check | None]:
    model, calibrated = judgement.explained, judgement.calibration
    found = [_own_error(judgement)]
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
    if not judgement.fast:
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
) -> Check | None:
    """Return the answer of a diagnostic; ``wanted`` says that a small p-value is good news."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ask()
    except (SufficeError, np.linalg.LinAlgError) as error:
        return Check(question, "not tested", f"{str(error).split(': ')[0]}.", "note")
    good = (found.p_value <= LEVEL) == wanted
    tone: Any = "good" if good else ("caution" if matters else "note")
    beside = "" if matters else " The chosen model does not suppose it."
    return Check(question, "yes" if good else "no", f"{found!r}.{beside}", tone)


def _own_error(judgement: Judgement) -> Check | None:
    """Return whether the model's own idea of its error lies in the interval of the held-out one."""
    expected = judgement.expected_error
    if expected is None:
        return None
    low, high = judgement.outcome.interval
    inside = low <= expected <= high
    said = (
        f"Were the model true, the best rule would err on {percent(expected)} of rows; held out, "
        f"it errs on {percent(judgement.outcome.error)} (95 % interval {percent(low)} to "
        f"{percent(high)})."
    )
    question = "Does it err as often as it expects?"
    return Check(question, "yes" if inside else "no", said, "good" if inside else "caution")
