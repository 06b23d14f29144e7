"""The error of a model on random rows, on unseen groups and on later rows."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import p_statement, percent
from suffice.errors import InvalidInputError, SufficeError
from suffice.evaluate.comparison.fit_times import FitSize, seconds_to_fit
from suffice.evaluate.comparison.judging import Case, Failure, Outcome
from suffice.evaluate.comparison.judging import judged as judge_cases
from suffice.evaluate.comparison.models import ComparedModel
from suffice.evaluate.comparison.paired import ERROR, RowLosses
from suffice.selection.validation.folds import Folds
from suffice.typing import Array, LabelsLike, RowsLike, WeightsLike

Split: TypeAlias = Literal["random rows", "unseen groups", "the future"]
FEWEST_GROUPS = 5
GROUP_WORDS = {
    "batch",
    "city",
    "clinic",
    "customer",
    "group",
    "hospital",
    "house",
    "household",
    "id",
    "make",
    "patient",
    "person",
    "school",
    "session",
    "site",
    "speaker",
    "station",
    "store",
    "subject",
    "user",
}
MOST_SECONDS = 30.0  # time limit for the fits of one kind of split
N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class RealError:
    """The error of a model on rows that were held out by one kind of split."""

    split: Split
    error: float
    low: float  # lower end of the 95 % interval
    high: float
    n_rows: int  # number of held-out rows
    # the error minus that on random rows, for the same held-out rows; 0 for random rows
    difference: float
    p_value: float  # p-value of ``difference``; NaN for random rows

    @property
    def is_worse(self) -> bool:
        """Whether the error is significantly larger than on random rows."""
        return bool(self.p_value <= LEVEL and self.difference > 0)


@dataclass(frozen=True, slots=True)
class RealErrors:
    """The errors of one model for each kind of split that was tried."""

    model: str
    errors: tuple[RealError, ...]  # random rows first
    left_out: tuple[str, ...] = ()  # splits that were not tried, with the reason
    groups_name: str = ""  # the column that defines the groups

    def document(self) -> dict[str, object]:
        """Return the errors as dictionaries for JSON."""
        errors = []
        for each in self.errors:
            error = {
                "split": each.split,
                "error": each.error,
                "error_low": each.low,
                "error_high": each.high,
                "n_rows": each.n_rows,
                "difference": each.difference,
                "p": None if np.isnan(each.p_value) else each.p_value,
            }
            errors.append(error)
        return {
            "model": self.model,
            "groups": self.groups_name,
            "errors": errors,
            "expected": self.headline.split,
            "sentence": self.sentence,
            "left_out": list(self.left_out),
        }

    @property
    def headline(self) -> RealError:
        """The largest error significantly above the error on random rows, or else that error."""
        worse = [error for error in self.errors if error.is_worse]
        return max(worse, key=lambda error: error.error, default=self.errors[0])

    def named(self, split: Split) -> str:
        """Return a description of the held-out rows, with the name of the group column."""
        if split == "the future":
            return "later rows"
        if split == "random rows":
            return "rows held out at random"
        if self.groups_name:
            return f"rows in unseen groups of {self.groups_name}"
        return "rows in unseen groups"

    @property
    def sentence(self) -> str:
        """A sentence on the error to expect on new rows, and why."""
        stated = listed([f"{percent(e.error)} of {self.named(e.split)}" for e in self.errors])
        worst = self.headline
        model = f"{self.model[:1].upper()}{self.model[1:]}"
        if len(self.errors) == 1:
            return f"{model} misclassifies {stated}."
        if worst.split == "random rows":
            others = self.errors[1:]
            p = min((each.p_value for each in others), default=np.nan)
            n_rows = counted(max(each.n_rows for each in others), "row")
            return (
                f"{model} misclassifies {stated}. The difference is not significant "
                f"({p_statement(p)}, {n_rows})."
            )
        return (
            f"{model} misclassifies {stated}. Expect {percent(worst.error)}: rows held out at "
            f"random resemble the training rows too closely ({p_statement(worst.p_value)}, "
            f"{counted(worst.n_rows, 'row')})."
        )


def real_errors(
    model: ComparedModel,
    X: RowsLike,
    y: LabelsLike,
    *,
    sample_weight: WeightsLike = None,
    groups: LabelsLike | None = None,
    time: LabelsLike | None = None,
    seed: int = 0,
    judged: Mapping[Split, Outcome] | None = None,
) -> RealErrors:
    """Return the error of a model on random rows, on unseen groups and on later rows.

    ``judged`` are results that were computed before. Models that can be computed from sums need no
    refit. All other models are fitted again if that takes at most about 30 seconds for each kind of
    split. An impossible split is left out, with the reason.
    """
    known = judged or {}
    first = known.get("random rows")
    if first is None:
        first = _outcome(model, Folds.of(X, y, N_FOLDS, sample_weight, seed=seed))
    low, high = first.interval
    errors = [RealError("random rows", first.error, low, high, first.n_rows, 0.0, np.nan)]
    left_out: list[str] = []
    splits: list[tuple[Split, Callable[[], Folds]]] = []
    if groups is not None:
        n_groups = len(set(np.asarray(groups).tolist()))
        n_folds = max(min(N_FOLDS, n_groups), 2)
        make = partial(Folds.of, X, y, n_folds, sample_weight, groups, seed=seed)
        splits.append(("unseen groups", make))
    if time is not None:
        make = partial(Folds.of, X, y, N_FOLDS, sample_weight, time=time)
        splits.append(("the future", make))
    for split, make_folds in splits:
        outcome = known.get(split)
        try:
            if outcome is None:
                outcome = _outcome(model, make_folds())
        except SufficeError as error:
            left_out.append(f"{split}: {error}")
            continue
        errors.append(_error_beside(split, outcome, first))
    return RealErrors(model.name, tuple(errors), tuple(left_out))


def _outcome(model: ComparedModel, folds: Folds) -> Outcome:
    """Return the held-out result of a model; raise if evaluating it takes too long."""
    size = FitSize(len(folds.codes), np.shape(folds.X)[1], len(folds.classes))
    seconds = len(folds.splits) * seconds_to_fit(model.name, size)
    if seconds > MOST_SECONDS:
        raise InvalidInputError(f"{model.name} would take about {seconds:,.0f} s")
    (result,) = judge_cases([Case(model, folds)], progress=False, what="errors")
    if isinstance(result, Failure):
        raise InvalidInputError(f"{model.name} failed: {result.message}")
    return result


def _error_beside(split: Split, outcome: Outcome, first: Outcome) -> RealError:
    """Return the error of a split, compared with that on random rows for the same rows."""
    is_common = np.isin(first.held_out.rows, outcome.held_out.rows)
    rows = first.held_out.take(is_common)
    groups = None
    if outcome.groups is not None:
        order = np.argsort(outcome.held_out.rows)
        at = np.searchsorted(outcome.held_out.rows[order], rows.rows)
        groups = outcome.groups[order][at]
    same_rows = replace(
        first,
        name="random rows",
        row_losses=first.row_losses[:, is_common],
        held_out=rows,
        folds=first.folds[is_common],
        groups=groups,
    )
    pair = [replace(outcome, name=split), same_rows]
    losses = RowLosses.of(pair)
    difference = losses.difference(ERROR, 0, 1)
    low, high = outcome.interval
    return RealError(
        split=split,
        error=outcome.error,
        low=low,
        high=high,
        n_rows=outcome.n_rows,
        difference=difference.mean,
        p_value=difference.p_value,
    )


def is_name_of_groups(name: str) -> bool:
    """Whether a name, such as patient_id or SubjectNumber, has a word for persons or sites."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return not GROUP_WORDS.isdisjoint(word.lower() for word in words)


def suggested_groups(columns: Mapping[str, Array]) -> str | None:
    """Return the column whose name and values suggest that it identifies persons or sites.

    The column has at least five values, which occur at least twice on average. No value occurs in
    more than half of the rows. Numeric values must be integers.
    """
    for name, values in columns.items():
        if not is_name_of_groups(name):
            continue
        distinct, n_rows = np.unique(np.asarray(values), return_counts=True)
        are_names = distinct.dtype.kind != "f" or bool(np.all(distinct == np.rint(distinct)))
        is_repeated = FEWEST_GROUPS <= len(distinct) <= len(values) / 2
        if are_names and is_repeated and 2 * n_rows.max() <= len(values):
            return name
    return None
