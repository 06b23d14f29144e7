"""Models compared by the rows they were both judged by: differences, and the one recommended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from scipy.special import stdtr, stdtrit

from suffice.core.decision.predictions import LEVEL, effective_rows, wilson
from suffice.evaluate.comparison.judging import Outcome
from suffice.evaluate.comparison.models import CONSTANT
from suffice.typing import Codes, Floats

LARGEST = 10.0  # log-loss of a row beyond which it counts no more in a test
LOSSES = ("error", "log_loss")


@dataclass(frozen=True, slots=True)
class Difference:
    """The loss of a model less that of the reference, on the rows both were judged by."""

    model: str
    loss: str  # "error" or "log_loss"
    mean: float
    low: float  # 95 % interval, for all models at once; of the constant one, for itself
    high: float
    p_value: float  # adjusted for the number of models: at most 0.05 where 0 lies outside

    @property
    def verdict(self) -> Literal["better", "worse", "alike"]:
        if not self.p_value <= LEVEL:
            return "alike"
        return "worse" if self.mean > 0 else "better"


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The losses of M models row by row, or of groups; NaN where a model was not judged by it."""

    names: tuple[str, ...]
    losses: Floats  # error, and log-loss up to LARGEST  (2, M, n)
    weights: Floats  # (n,)
    folds: Codes  # in which each row was held out  (n,)
    overlap: float  # rows judged by for each row that a fold learns from
    sizes: Floats  # number of parameters, ∞ where there is none  (M,)
    readable: tuple[bool, ...]  # (M,)
    grouped: bool = False  # whether losses are means of groups of rows

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Self:
        most = max(outcomes, key=lambda o: o.n_rows)
        units, first = np.unique(most.units, return_index=True)
        weights, grouped = most.held_out.weights[first], most.groups is not None
        losses = np.full((2, len(outcomes), len(units)), np.nan)
        for m, outcome in enumerate(outcomes):
            at, w = np.searchsorted(units, outcome.units), outcome.held_out.weights
            w = w / w.mean()  # so that the weight of a group is a number of rows
            total: Floats = np.bincount(at, w, len(units)).astype(np.float64)
            weights = total if grouped and outcome is most else weights
            capped = w * np.minimum(outcome.row_losses[:2], LARGEST)
            with np.errstate(invalid="ignore"):
                losses[:, m] = [np.bincount(at, each, len(units)) / total for each in capped]
        names, readable = zip(*((o.name, o.is_readable) for o in outcomes), strict=True)
        of_rows = (losses, weights, most.folds[first], most.overlap)
        sizes = np.nan_to_num([o.n_parameters for o in outcomes], nan=np.inf)
        return cls(names, *of_rows, sizes, readable, grouped)

    def within(self, rows: Floats) -> Self:
        """Return the losses on some of the rows, given by a mask (n,)."""
        of_rows = {"weights": self.weights[rows], "folds": self.folds[rows]}
        return replace(self, losses=self.losses[:, :, rows], **of_rows)

    @cached_property
    def means(self) -> Floats:
        """Mean losses of each model, NaN where it has none, (2, M)."""
        known = np.isfinite(self.losses)
        with np.errstate(invalid="ignore"):
            return np.where(known, self.losses, 0) @ self.weights / (known @ self.weights)

    def tested(self, loss: int, model: int, other: int) -> tuple[float, float, float, float]:
        """Return mean and centre of the difference of two models, its standard error, and df."""
        d = self.losses[loss, model] - self.losses[loss, other]
        known = np.isfinite(d)
        d, w = d[known], self.weights[known]
        n = float(w.sum() ** 2 / (w @ w)) if len(w) else 0.0
        if n < 2:
            return np.nan, np.nan, np.nan, np.nan
        mean, square = float(w @ d / w.sum()), float(w @ (d * d) / w.sum())
        centre = mean
        if LOSSES[loss] == "error" and not self.grouped:
            # one row more that only the one misclassifies, and one that only the other does
            # (Bonett & Price 2012): McNemar's test, with an interval where few rows differ
            n, centre, square = n + 2, mean * n / (n + 2), (square * n + 2) / (n + 2)
        # se² = s² (1/n + 1/n_train)  (Nadeau & Bengio 2003, row by row)
        variance = max(square - centre**2, 0.0) * n / (n - 1)
        return mean, centre, float(np.sqrt(variance * (1 + self.overlap) / n)), n - 1

    def difference(self, loss: int, model: int, other: int) -> Difference:
        """Return the loss of a model less that of another, one of so many as are compared."""
        mean, centre, se, df = self.tested(loss, model, other)
        real = sum(name != CONSTANT for name in self.names)
        # whether a model is better than the constant one is a question of its own
        n_tests = 1 if CONSTANT in (self.names[model], self.names[other]) else max(real - 1, 1)
        half = se * float(stdtrit(df, 1 - LEVEL / (2 * n_tests)))
        t = abs(centre) / se if se > 0 else np.inf if centre else 0.0
        p = np.nan if np.isnan(mean) else min(1.0, float(2 * n_tests * stdtr(df, -t)))
        most = 1.0 if LOSSES[loss] == "error" else np.inf  # difference of two shares
        low, high = max(centre - half, -most), min(centre + half, most)
        return Difference(self.names[model], LOSSES[loss], mean, low, high, p)

    def is_beaten(self, model: int, loss: int) -> bool:
        lower = np.flatnonzero(self.means[loss] < self.means[loss, model]).tolist()
        return any(self.difference(loss, m, model).verdict == "better" for m in lower)

    def recommended(self) -> int:
        """Return the simplest model that is about as good as the best."""
        # none is significantly better; of those within one standard error of the least losses, it
        # can be written down and has the fewest parameters; one that is simpler still, with no more
        # errors, needs a log-loss within the error of the least alone
        real = [m for m, name in enumerate(self.names) if name != CONSTANT] or [0]
        stated = [m for m in real if np.isfinite(self.losses[1, m]).any()]
        able = [m for m in stated or real if not self.is_beaten(m, 0)] or [real[0]]
        able = [m for m in able if not self.is_beaten(m, 1)] or able
        loss = 1 if stated else 0
        best = min(able, key=lambda m: (self.means[loss, m], self.means[0, m]))
        close = [m for m in able if m == best or self._is_close(m, best, loss)]
        chosen = min(
            close, key=lambda m: (not self.readable[m], self.sizes[m], self.means[loss, m])
        )
        near = self.means[loss, best] + self._standard_error(loss, best)
        simpler = [
            m for m in able if self.means[loss, m] <= near and self._is_simpler(m, chosen)
        ]
        return min(simpler, key=lambda m: self.sizes[m], default=chosen)

    def _is_close(self, model: int, best: int, loss: int) -> bool:
        """Whether losses are within one standard error, of the difference and of the best's own."""
        return all(
            difference <= min(se, self._standard_error(each, best))
            for each in {0, loss}
            for difference, _, se, _ in [self.tested(each, model, best)]
        )

    def _is_simpler(self, model: int, other: int) -> bool:
        fewer = self.sizes[model] < self.sizes[other]
        as_good = self.means[0, model] <= self.means[0, other]
        return bool(fewer and as_good and self.readable[model] >= self.readable[other])

    def _standard_error(self, loss: int, model: int) -> float:
        known = np.isfinite(self.losses[loss, model])
        squares, w = (
            np.square(self.losses[loss, model] - self.means[loss, model]),
            self.weights,
        )
        # σ² (1 + n/n_train) Σ w² / (Σ w)²
        variance = w[known] @ squares[known] / w[known].sum() * (1 + self.overlap)
        return float(np.sqrt(variance * (w[known] @ w[known])) / w[known].sum())


@dataclass(frozen=True, slots=True)
class ChoiceEstimate:
    """The error of the whole procedure, choice included, on rows that had no part in the choice."""

    error: float
    low: float  # its 95 % interval
    high: float
    choices: tuple[str, ...]  # the model that the other folds chose, fold by fold
    n_rows: int  # of a test that no fold saw, where there was one

    @classmethod
    def of_rows(
        cls,
        wrong: Floats,
        weights: Floats,
        choices: Sequence[str] = (),
        **how: Any,
    ) -> Self:
        """Return the share of rows that are wrong, NaN apart: chosen by folds, or a test."""
        known = np.isfinite(wrong)
        error = np.average(wrong[known], weights=weights[known])
        n = effective_rows(wrong[known], weights[known], **how)
        low, high = wilson(np.asarray(error), np.asarray(n))
        n_rows = 0 if choices else len(wrong)
        return cls(float(error), float(low), float(high), tuple(choices), n_rows)


def choice_estimate(losses: RowLosses) -> ChoiceEstimate | None:
    """Return the error of rows by the model that the other folds recommend; None of one fold."""
    folds = np.unique(losses.folds)
    if len(folds) < 2:
        return None
    # a choice depends on the held-out losses of the other folds only (Varma & Simon 2006)
    each, choices = np.empty(len(losses.weights)), []
    for fold in folds:
        here = losses.folds == fold
        chosen = losses.within(~here).recommended()
        each[here] = losses.losses[0, chosen, here]
        choices.append(losses.names[chosen])
    how = {"overlap": losses.overlap, "grouped": losses.grouped}
    return ChoiceEstimate.of_rows(each, losses.weights, choices, **how)
