"""Caveats on an error: leaks, duplicate rows, few rows, rare classes and more."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from suffice.core.decision.predictions import Predictions
from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import loss, percent
from suffice.evaluate.comparison.copied_rows import CopiesEffect
from suffice.evaluate.comparison.paired import ChoiceEstimate
from suffice.evaluate.comparison.real_errors import RealErrors
from suffice.evaluate.diagnostics.calibration import Calibration
from suffice.evaluate.diagnostics.data import DataChecks, data_checks, dates_in
from suffice.typing import Codes, LabelsLike, RowsLike

CaveatCode: TypeAlias = Literal[
    "leak",
    "identifier",
    "copies",
    "equal rows",
    "together",
    "few rows",
    "rare class",
    "posteriors",
    "choice",
    "errors",
    "split",
    "calibration",
    "impossible",
]
# ``docs/codes.md`` lists these numbers. A number does not change when its sentence is reworded.
NUMBERS: Mapping[CaveatCode, str] = {
    "leak": "SF201",
    "identifier": "SF202",
    "copies": "SF203",
    "equal rows": "SF204",
    "together": "SF205",
    "few rows": "SF206",
    "rare class": "SF207",
    "posteriors": "SF208",
    "choice": "SF209",
    "errors": "SF210",
    "split": "SF211",
    "calibration": "SF212",
    "impossible": "SF213",
}
Severity: TypeAlias = Literal["serious", "minor"]
MOST_COLUMNS = 3  # above this number of suspicious columns, a single caveat names all of them
FEW_ROWS = 100  # with fewer rows, a caveat says that the error is known only roughly
# largest share of misclassified rows, of all rows or of a class, without a caveat
OFTEN = 1 / 3
FEW_OF_A_CLASS = (
    10  # with fewer rows of a class, a caveat says that its recall is very uncertain
)


@dataclass(frozen=True, slots=True)
class Caveat:
    """One reason to doubt an error, in a sentence, with the columns and classes concerned."""

    code: CaveatCode
    severity: Severity  # "serious": the model can be used only with care
    sentence: str
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # the numbers in the sentence

    @property
    def number(self) -> str:
        """The stable number of this kind of caveat, such as ``"SF201"``."""
        return NUMBERS[self.code]

    def document(self) -> dict[str, object]:
        """Return the caveat as a dictionary for JSON."""
        return {
            "number": self.number,
            "code": self.code,
            "severity": self.severity,
            "sentence": self.sentence,
            "columns": list(self.columns),
            "classes": list(self.classes),
            "figures": dict(self.figures),
        }


def caveats_of_rows(X: RowsLike, y: LabelsLike, *, grouped: bool) -> tuple[Caveat, ...]:
    """Return the caveats on the rows; ``grouped`` says whether folds hold out whole groups."""
    return caveats_of_checks(data_checks(X, y, dates_in(X)), grouped=grouped)


def caveats_of_checks(checks: DataChecks, *, grouped: bool) -> tuple[Caveat, ...]:
    """Return the caveats that checks of the rows lead to."""
    caveats = [
        Caveat(
            code="leak" if suspect.predicts_alone else "identifier",
            severity="serious",
            sentence=suspect.sentence,
            columns=(suspect.column,),
            figures=suspect.figures,
        )
        for suspect in checks.suspects
    ]
    if checks.together and not grouped:
        caveats.append(
            Caveat(
                code="together",
                severity="serious",
                sentence=f"{checks.together}.",
                figures=checks.together_figures,
            )
        )
    caveats.extend(_on_equal_rows(checks))
    return tuple(caveats)


def _on_equal_rows(checks: DataChecks) -> tuple[Caveat, ...]:
    """Return a caveat on the best possible accuracy if equal rows have different classes."""
    share = checks.n_separable / checks.n_rows
    most = math.ceil(1000 * share) / 1000  # rounded up, so that it stays an upper bound
    if most == 1:
        return ()
    sentence = (
        f"No model can be right on more than {percent(most)} of these rows: "
        f"{checks.n_conflicting:,} rows have the same values as a row of another class."
    )
    figures = {"most_right": share, "n_rows": checks.n_conflicting}
    return (Caveat("equal rows", "minor", sentence, figures=figures),)


def caveats_of_copies(copies: CopiesEffect | None) -> tuple[Caveat, ...]:
    """Return the caveat on duplicate rows, which is serious if folds share them."""
    if copies is None:
        return ()
    severity: Severity = "serious" if copies.n_seen else "minor"
    return (Caveat("copies", severity, copies.sentence, figures=copies.figures),)


def caveats_of_posteriors(
    name: str, log_loss: float, constant: float, n_rows: int, *, significant: bool
) -> tuple[Caveat, ...]:
    """Return the caveat on a model whose log-loss is above that of the class frequencies."""
    if not significant:
        return ()
    sentence = (
        f"The posteriors of {name} are significantly worse than the class frequencies (log-loss "
        f"{loss(log_loss)} against {loss(constant)}, {counted(n_rows, 'row')}): use its classes, "
        "not its probabilities."
    )
    figures = {"log_loss": log_loss, "constant_log_loss": constant, "n_rows": n_rows}
    return (Caveat("posteriors", "serious", sentence, figures=figures),)


def caveats_of_choice(
    name: str, error: float, choice: ChoiceEstimate | None
) -> tuple[Caveat, ...]:
    """Return the caveat on a choice that no fold repeats, or that makes the error larger."""
    if choice is None or choice.n_rows:
        return ()
    n_folds = len(choice.choices)
    n_same = choice.choices.count(name)
    if n_same > 0 and error >= choice.low:
        return ()
    figures = {
        "n_same": n_same,
        "n_folds": n_folds,
        "error": error,
        "choice_high": choice.high,
    }
    if error >= choice.low:
        others = listed(sorted({*choice.choices}))
        sentence = (
            f"The choice of the model is unstable: if it is repeated for every fold, {name} is "
            f"chosen in none of {n_folds} folds. Instead, the folds choose {others}."
        )
        return (Caveat("choice", "serious", sentence, figures=figures),)
    sentence = (
        f"The choice of the model is unstable: if it is repeated for every fold, {name} is "
        f"chosen in {n_same or 'none'} of {n_folds} folds. Expect an error between "
        f"{percent(error)} and {percent(choice.high)}."
    )
    return (Caveat("choice", "serious", sentence, figures=figures),)


def caveats_of_calibration(calibration: Calibration | None) -> tuple[Caveat, ...]:
    """Return the caveat on posteriors that differ from the observed class frequencies."""
    if calibration is None:
        return ()
    return tuple(
        Caveat("calibration", "minor", sentence, figures=calibration.figures)
        for sentence in calibration.caveats
    )


def caveats_of_values(checks: DataChecks) -> tuple[Caveat, ...]:
    """Return the caveats on columns with values that may mean "unknown"."""
    if len(checks.impossible) > MOST_COLUMNS:
        columns = tuple(suspect.column for suspect in checks.impossible)
        first = checks.impossible[0]
        sentence = (
            f"{len(columns)} columns have values far from all others: {listed(columns, 5)}. "
            f"Column {first.column!r} {first.why}."
        )
        figures = {**first.figures, "n_far": len(columns)}
        return (Caveat("impossible", "minor", sentence, columns, figures=figures),)
    return tuple(
        Caveat(
            code="impossible",
            severity="minor",
            sentence=f"Column {suspect.column!r} {suspect.why}.",
            columns=(suspect.column,),
            figures=suspect.figures,
        )
        for suspect in checks.impossible
    )


def caveats_of_error(error: float) -> tuple[Caveat, ...]:
    """Return the caveat on a model that misclassifies many rows."""
    if error <= OFTEN:
        return ()
    return (Caveat("errors", "serious", "More than a third of rows are misclassified."),)


def caveats_of_splits(errors: RealErrors | None) -> tuple[Caveat, ...]:
    """Return the caveat on an error that is larger for unseen groups or later rows."""
    if errors is None or not errors.headline.is_worse:
        return ()
    figures: dict[str, float] = {}
    for each in errors.errors:
        figures[each.split] = each.error
    figures["p"] = errors.headline.p_value
    return (Caveat("split", "serious", errors.sentence, figures=figures),)


def caveats_of_counts(rows: Predictions) -> tuple[Caveat, ...]:
    """Return the caveat on few rows, or on the rarest class if it has few rows."""
    judged = np.unique(rows.rows, return_index=True)[1]
    counts = np.bincount(rows.truth[judged], minlength=len(rows.classes))
    present = np.flatnonzero(counts)
    n_rows = int(counts.sum())
    if n_rows < FEW_ROWS:
        sentence = f"There are only {counted(n_rows, 'row')}: the error is known only roughly."
        return (Caveat("few rows", "serious", sentence, figures={"n_rows": n_rows}),)
    return _on_rare_classes([str(label) for label in rows.classes], counts, present)


def _on_rare_classes(
    names: Sequence[str],
    counts: Codes,
    present: Codes,
) -> tuple[Caveat, ...]:
    rare = [k for k in present.tolist() if counts[k] < FEW_OF_A_CLASS]
    if not rare:
        return ()
    rarest = min(rare, key=lambda k: counts[k])
    n_rarest = counted(int(counts[rarest]), "row")
    sentence = f"Class {names[rarest]} has only {n_rarest}: its recall is very uncertain."
    return (
        Caveat(
            code="rare class",
            severity="serious",
            sentence=sentence,
            classes=tuple(names[k] for k in rare),
            figures={"n_rows": int(counts[rarest])},
        ),
    )


def leaking_columns(caveats: Iterable[Caveat]) -> tuple[str, ...]:
    """Return the columns that predict nearly every class on their own."""
    return tuple(
        column for caveat in caveats if caveat.code == "leak" for column in caveat.columns
    )
