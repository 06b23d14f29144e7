"""Identical rows: how many there are, and how they affect the error."""

from dataclasses import dataclass, replace

import numpy as np

from suffice.core.table.sampling import stratified_folds
from suffice.core.text.lists import counted
from suffice.core.text.numbers import percent
from suffice.evaluate.comparison.judging import (
    Case,
    judged_fold,
    learner_of,
    recorded_warnings,
)
from suffice.evaluate.comparison.models import ComparedModel
from suffice.selection.validation.folds import Folds


@dataclass(frozen=True, slots=True)
class CopiesEffect:
    """The number of rows that equal another row, and how they affect the error."""

    n_rows: int  # number of rows that equal an earlier row
    n_total: int  # number of all rows
    n_seen: int  # number of held-out rows with a copy in training; 0 unless the user gave the folds
    error_together: float  # error of the recommended model with copies in one fold
    # error of the same model with copies in different folds; NaN if not measured
    error_apart: float

    @property
    def figures(self) -> dict[str, float]:
        """The numbers in ``sentence``; errors only if copies in several folds were tried."""
        figures: dict[str, float] = {
            "n_copies": self.n_rows,
            "n_rows": self.n_total,
            "n_seen": self.n_seen,
        }
        if not np.isnan(self.error_apart):
            figures["error_together"] = self.error_together
            figures["error_apart"] = self.error_apart
        return figures

    @property
    def sentence(self) -> str:
        """A sentence for the reader: how many rows are copies, and how they affect the error."""
        repeated = f"{counted(self.n_rows, 'row')} of {self.n_total:,} repeat others"
        if self.n_seen:
            return (
                f"{repeated}, and {self.n_seen:,} held-out rows were seen in training: the error "
                "is too low. Give a number of folds, such as 10: identical rows then stay in one "
                "fold."
            )
        if np.isnan(self.error_apart):
            return f"{repeated}. No model is tested on a duplicate of a training row."
        together = percent(self.error_together)
        apart = percent(self.error_apart)
        if together == apart:
            return f"{repeated}. Identical rows stay in one fold. The error is {apart} either way."
        if self.error_apart > self.error_together:
            return (
                f"{repeated}. Identical rows stay in one fold. Duplicates in several folds would "
                f"not lower the error ({apart} against {together})."
            )
        return (
            f"{repeated}. Identical rows stay in one fold: the error is {together}, and would seem "
            f"to be {apart} with duplicates in several folds."
        )


def copies_effect(case: Case, error: float, seed: int) -> CopiesEffect | None:
    """Return the number of copies, and the error of a model with copies in several folds."""
    folds = case.folds
    copies = folds.copies
    if copies is None:
        return None
    n_seen = sum(int(copies.has_copy(test, train).sum()) for train, test in folds.splits)
    error_apart = np.nan
    if n_seen == 0 and folds.time is None:
        judged_rows = folds.judged_rows
        splits = []
        for train, test in stratified_folds(folds.codes[judged_rows], len(folds.splits), seed):
            splits.append((judged_rows[train], judged_rows[test]))
        error_apart = _error(case.model, replace(folds, splits=tuple(splits)))
    return CopiesEffect(
        n_rows=copies.n_rows,
        n_total=len(folds.codes),
        n_seen=n_seen,
        error_together=error,
        error_apart=error_apart,
    )


def _error(model: ComparedModel, folds: Folds) -> float:
    """Return the share of held-out rows that a model misclassifies."""
    n_wrong = 0.0
    weight = 0.0
    with recorded_warnings():
        learner = learner_of(model.estimator, folds.X, is_plain=folds.is_plain)
        for fold in range(len(folds.splits)):
            held_out = judged_fold(learner, folds, fold).held_out
            n_wrong += float(held_out.weights @ held_out.wrong)
            weight += float(held_out.weights.sum())
    return n_wrong / weight
