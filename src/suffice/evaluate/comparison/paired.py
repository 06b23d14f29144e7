"""Differences between models on the same held-out rows, and the recommended model.

Losses are numbered by their position in ``LOSSES``, and models by theirs in ``RowLosses.names``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from suffice.core.decision.error_intervals import LEVEL, effective_rows, wilson
from suffice.evaluate.comparison.judging import Outcome
from suffice.evaluate.comparison.models import CONSTANT
from suffice.typing import Codes, Flags, Floats

Loss: TypeAlias = Literal["error", "log_loss"]
LOSSES: tuple[Loss, Loss] = ("error", "log_loss")
ERROR = 0
LOG_LOSS = 1
LARGEST = 10.0  # cap on the log-loss of a row in a test
ROUNDING = 1e-9  # losses of a row that differ by less count as equal
# ρ of a choice among models, measured by ``python -m benchmarks levels``. Other training rows may
# lead to another choice, even if each model changes little.
CHOICE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Difference:
    """The loss of a model minus that of the reference, on the same held-out rows."""

    model: str
    loss: Loss
    mean: float
    # simultaneous 95 % interval; a comparison with the constant model has its own interval
    low: float
    high: float
    p_value: float  # adjusted for the number of pairs; at most 0.05 if the interval excludes 0

    @property
    def verdict(self) -> Literal["better", "worse", "alike"]:
        if not self.p_value <= LEVEL:
            return "alike"
        return "worse" if self.mean > 0 else "better"


class MeanDifference(NamedTuple):
    """The mean difference between two models over rows, and the numbers that its test needs."""

    mean: float
    centre: float  # centre of the interval
    standard_error: float
    df: float


class Recommendation(NamedTuple):
    """The recommended model, and the models that it was chosen from."""

    chosen: int
    best: int  # the model with the lowest loss
    loss: int  # the loss compared: the log-loss, or the error if no model has posteriors
    close: tuple[int, ...]  # models about as good as the best, including the best
    # eligible models that no other eligible model beats significantly by error
    unbeaten_in_error: tuple[int, ...]
    # models excluded because their log-loss is significantly above that of the class frequencies
    set_aside: tuple[int, ...]
    replaced: int | None = None  # model that a simpler one replaced


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The losses of M models by row, or by group of rows; NaN if a model was not evaluated."""

    names: tuple[str, ...]
    losses: Floats  # error, and log-loss capped at LARGEST  (2, M, n)
    weights: Floats  # (n,)
    folds: Codes  # fold in which each row was held out  (n,)
    overlap: Floats  # ρ n / n_train, the share of variance added by shared training rows  (M,)
    sizes: Floats  # number of parameters, ∞ if unknown  (M,)
    readable: tuple[bool, ...]  # (M,)
    grouped: bool = False  # whether each loss is the mean over a group of rows

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Self:
        """Return all models' losses, on the rows or groups of the model with the most rows."""
        widest = max(outcomes, key=lambda outcome: outcome.n_rows)
        units, first = np.unique(widest.units, return_index=True)
        losses = np.empty((2, len(outcomes), len(units)))
        for m, outcome in enumerate(outcomes):
            losses[:, m], _ = _unit_losses(outcome, units)
        grouped = widest.groups is not None
        weights = widest.held_out.weights[first]
        if grouped:
            _, weights = _unit_losses(widest, units)
        sizes = np.array([outcome.n_parameters for outcome in outcomes])
        return cls(
            names=tuple(outcome.name for outcome in outcomes),
            losses=losses,
            weights=weights,
            folds=widest.folds[first],
            overlap=np.array([outcome.overlap for outcome in outcomes]),
            sizes=np.nan_to_num(sizes, nan=np.inf),
            readable=tuple(outcome.is_readable for outcome in outcomes),
            grouped=grouped,
        )

    def with_model(self, name: str, losses: Floats) -> Self:
        """Return the losses with one more model, whose losses are (2, n)."""
        return replace(
            self,
            names=(*self.names, name),
            losses=np.concatenate([self.losses, losses[:, None]], axis=1),
            overlap=np.append(self.overlap, self.overlap.max()),
            sizes=np.append(self.sizes, np.inf),
            readable=(*self.readable, False),
        )

    def within(self, rows: Flags) -> Self:
        """Return the losses on the rows that a mask (n,) selects."""
        return replace(
            self,
            losses=self.losses[:, :, rows],
            weights=self.weights[rows],
            folds=self.folds[rows],
        )

    @cached_property
    def means(self) -> Floats:
        """Mean losses of each model, NaN if it has none, (2, M)."""
        judged = np.isfinite(self.losses)
        with np.errstate(invalid="ignore"):
            return np.where(judged, self.losses, 0) @ self.weights / (judged @ self.weights)

    def mean_difference(self, loss: int, model: int, other: int) -> MeanDifference:
        """Return the mean loss of a model minus that of another; NaN with fewer than two rows."""
        differences = self.losses[loss, model] - self.losses[loss, other]
        differences = np.where(np.abs(differences) < ROUNDING, 0.0, differences)
        judged = np.isfinite(differences)
        d = differences[judged]
        w = self.weights[judged]
        # Kish's effective number of rows, (Σ w)² / Σ w²
        n = float(w.sum() ** 2 / (w @ w)) if len(w) else 0.0
        if n < 2:
            return MeanDifference(np.nan, np.nan, np.nan, np.nan)
        mean = float(w @ d / w.sum())
        centre = mean
        square = float(w @ (d * d) / w.sum())
        if loss == ERROR and not self.grouped:
            # Add a row that only the first model misclassifies, and a row that only the second does
            # (Bonett & Price 2012). The result is McNemar's test, with an interval that is valid
            # for few rows.
            centre = mean * n / (n + 2)
            square = (square * n + 2) / (n + 2)
            n = n + 2
        # se² = s² (1/n + ρ/n_train)  (Nadeau & Bengio 2003, here by rows; their ρ is 1)
        variance = max(square - centre**2, 0.0) * n / (n - 1)
        overlap = max(self.overlap[model], self.overlap[other])
        standard_error = float(np.sqrt(variance * (1 + overlap) / n))
        return MeanDifference(mean, centre, standard_error, df=n - 1)

    def difference(self, loss: int, model: int, other: int) -> Difference:
        """Return the loss of a model minus that of another, with a Bonferroni-adjusted test."""
        mean, centre, standard_error, df = self.mean_difference(loss, model, other)
        n_tests = self._n_tests(model, other)
        half = standard_error * float(stdtrit(df, 1 - LEVEL / (2 * n_tests)))
        if np.isnan(mean):
            p = np.nan
        else:
            p = min(1.0, float(2 * n_tests * stdtr(df, -_t(centre, standard_error))))
        largest = 1.0 if loss == ERROR else np.inf  # two error rates differ by at most 1
        return Difference(
            model=self.names[model],
            loss=LOSSES[loss],
            mean=mean,
            low=max(centre - half, -largest),
            high=min(centre + half, largest),
            p_value=p,
        )

    def _n_tests(self, model: int, other: int) -> int:
        # the comparison with the constant model is a question of its own, and counts as one test
        if CONSTANT in (self.names[model], self.names[other]):
            return 1
        # the reference is chosen on the same rows, so every pair of models counts as a test
        n_models = sum(name != CONSTANT for name in self.names)
        return max(n_models * (n_models - 1) // 2, 1)

    def is_beaten(self, model: int, loss: int, others: Sequence[int]) -> bool:
        """Return whether one of the ``others`` has a significantly lower loss."""
        mean = self.means[loss, model]
        lower = [m for m in others if self.means[loss, m] < mean]
        return any(self.difference(loss, m, model).verdict == "better" for m in lower)

    def has_useful_posteriors(self, model: int) -> bool:
        """Return whether the model's log-loss is below that of the class frequencies."""
        log_losses = self.means[LOG_LOSS]
        if CONSTANT not in self.names:
            return bool(np.isfinite(log_losses[model]))
        return bool(log_losses[model] < log_losses[self.names.index(CONSTANT)])

    def _against_frequencies(self, model: int) -> Literal["better", "worse", "alike"]:
        """Return whether the log-loss differs significantly from that of the class frequencies."""
        if CONSTANT not in self.names:
            return "alike"
        constant = self.names.index(CONSTANT)
        return self.difference(LOG_LOSS, model, constant).verdict

    def _set_aside(self, models: Sequence[int]) -> tuple[int, ...]:
        """Return the models that step 0 of ``recommendation`` sets aside."""
        verdicts = {m: self._against_frequencies(m) for m in models}
        useless = [m for m in models if verdicts[m] == "worse"]
        if not useless:
            return ()
        is_replaced = any(
            verdicts[m] == "better" or not self.is_beaten(m, ERROR, useless)
            for m in models
            if m not in useless
        )
        return tuple(useless) if is_replaced else ()

    def recommended(self) -> int:
        """Return the index of the model that ``recommendation`` chooses."""
        return self.recommendation().chosen

    def recommendation(self) -> Recommendation:
        """Return the simplest model that is about as good as the best, and the candidates.

        0. Set aside the models whose log-loss is significantly above that of the class frequencies,
        if another model can replace them. A replacement has a log-loss significantly below that of
        the class frequencies, or no model set aside beats it significantly by error.
        1. Keep the models that no other model beats significantly by error.
        2. Of these, keep the models whose log-loss is below that of the class frequencies, if there
           are any.
        3. Of these, keep the models that no other model beats significantly by log-loss. The best
        model has the lowest log-loss.
        4. Of the models about as good as the best (``excess``), choose those that can be written
           down, then the one with the fewest parameters. A simpler model from step 3 replaces it
           if it makes no more errors and its log-loss is within one standard error of the lowest.

        The error replaces the log-loss if no model of step 1 has posteriors.
        """
        models = [m for m, name in enumerate(self.names) if name != CONSTANT] or [0]
        set_aside = self._set_aside(models)
        models = [m for m in models if m not in set_aside]
        unbeaten_in_error = [m for m in models if not self.is_beaten(m, ERROR, models)]
        able = [
            m for m in unbeaten_in_error if self.has_useful_posteriors(m)
        ] or unbeaten_in_error
        with_posteriors = [m for m in able if np.isfinite(self.means[LOG_LOSS, m])]
        loss = LOG_LOSS if with_posteriors else ERROR
        able = with_posteriors or able
        able = [m for m in able if not self.is_beaten(m, loss, able)]
        best = min(able, key=lambda m: (self.means[loss, m], self.means[ERROR, m]))
        close = [m for m in able if m == best or self._is_close(m, best, loss)]
        chosen = min(
            close, key=lambda m: (not self.readable[m], self.sizes[m], self.means[loss, m])
        )
        largest_loss = self.means[loss, best] + self._standard_error(loss, best)
        simpler = [
            m
            for m in able
            if self.means[loss, m] <= largest_loss and self._is_simpler(m, chosen)
        ]
        return Recommendation(
            chosen=min(simpler, key=lambda m: self.sizes[m], default=chosen),
            best=best,
            loss=loss,
            close=tuple(dict.fromkeys([*close, *simpler])),
            unbeaten_in_error=tuple(unbeaten_in_error),
            set_aside=set_aside,
            replaced=chosen if simpler else None,
        )

    def _is_close(self, model: int, best: int, loss: int) -> bool:
        """Whether neither the error nor ``loss`` exceeds that of ``best`` by a standard error."""
        return self.excess(model, best, loss) is None

    def excess(self, model: int, best: int, loss: int) -> tuple[int, bool] | None:
        """Return the loss by which a model is worse than the best by over one standard error.

        The second value is whether the difference exceeds its own standard error. If not, it
        exceeds that of the best model. The result is None if no loss is that much worse.
        """
        for each in dict.fromkeys((loss, ERROR)):
            difference = self.mean_difference(each, model, best)
            limit = min(difference.standard_error, self._standard_error(each, best))
            if not difference.mean <= limit:
                return each, bool(difference.mean > difference.standard_error)
        return None

    def _is_simpler(self, model: int, other: int) -> bool:
        """Whether a model is at least as readable, with fewer parameters and no more errors."""
        return bool(
            self.sizes[model] < self.sizes[other]
            and self.means[ERROR, model] <= self.means[ERROR, other]
            and self.readable[model] >= self.readable[other]
        )

    def _standard_error(self, loss: int, model: int) -> float:
        """Return the standard error of the mean loss of a model."""
        judged = np.isfinite(self.losses[loss, model])
        w = self.weights[judged]
        squares = np.square(self.losses[loss, model, judged] - self.means[loss, model])
        # σ² (1 + ρ n/n_train) Σ w² / (Σ w)²
        variance = w @ squares / w.sum() * (1 + self.overlap[model])
        return float(np.sqrt(variance * (w @ w)) / w.sum())


def _unit_losses(outcome: Outcome, units: Codes) -> tuple[Floats, Floats]:
    """Return the mean losses (2, n) of n units, NaN for units without rows, and weights (n,)."""
    at = np.searchsorted(units, outcome.units)
    w = outcome.held_out.weights
    w = w / w.mean()  # so that the weight of a group is a number of rows
    totals = np.bincount(at, w, len(units)).astype(np.float64)
    capped = np.minimum(outcome.row_losses[:2], LARGEST)
    with np.errstate(invalid="ignore"):
        errors = np.bincount(at, w * capped[ERROR], len(units)) / totals
        log_losses = np.bincount(at, w * capped[LOG_LOSS], len(units)) / totals
    return np.stack([errors, log_losses]), totals


def _t(centre: float, standard_error: float) -> float:
    """Return |t|, infinite if the standard error is 0."""
    if standard_error > 0:
        return abs(centre) / standard_error
    return np.inf if centre else 0.0


@dataclass(frozen=True, slots=True)
class ChoiceEstimate:
    """The error of choosing a model and applying it, on rows not used for the choice."""

    error: float
    low: float  # lower end of the 95 % interval
    high: float
    choices: tuple[str, ...]  # for each fold, the model that the other folds choose
    n_rows: int  # rows of a separate test set; 0 if folds were used
    p_value: float = np.nan  # p-value of an error equal to that of the constant model

    @classmethod
    def of_rows(
        cls,
        wrong: Floats,
        weights: Floats,
        choices: Sequence[str] = (),
        *,
        overlap: float = 0.0,
        grouped: bool = False,
        p_value: float = np.nan,
    ) -> Self:
        """Return the error over rows that are not NaN in ``wrong``; a test set has no choices."""
        judged = np.isfinite(wrong)
        error = np.average(wrong[judged], weights=weights[judged])
        n = effective_rows(wrong[judged], weights[judged], overlap, grouped=grouped)
        low, high = wilson(np.asarray(error), np.asarray(n))
        return cls(
            error=float(error),
            low=float(low),
            high=float(high),
            choices=tuple(choices),
            n_rows=0 if choices else len(wrong),
            p_value=p_value,
        )

    def differs_from(self, model: str) -> bool:
        """Whether some fold led to another model, or a separate test set was used."""
        return self.n_rows > 0 or set(self.choices) != {model}


def choice_estimate(losses: RowLosses) -> ChoiceEstimate | None:
    """Return the error if, for each fold, the other folds choose the model.

    The result is None if there is a single fold.
    """
    folds = np.unique(losses.folds)
    if len(folds) < 2:
        return None
    # The held-out losses of a fold must not influence the choice of its model (Varma & Simon 2006).
    chosen_losses = np.empty((2, len(losses.weights)))
    choices = []
    for fold in folds:
        in_fold = losses.folds == fold
        chosen = losses.within(~in_fold).recommended()
        chosen_losses[:, in_fold] = losses.losses[:, chosen, in_fold]
        choices.append(losses.names[chosen])
    p_value = np.nan
    if CONSTANT in losses.names:
        joined = losses.with_model("the choice", chosen_losses)
        constant = losses.names.index(CONSTANT)
        p_value = joined.difference(ERROR, constant, len(losses.names)).p_value
    overlap = float(losses.overlap.max())
    if sum(name != CONSTANT for name in losses.names) > 1:
        # n / n_train = F / (F − 1) for F folds
        overlap = max(overlap, CHOICE_SHARE * len(folds) / (len(folds) - 1))
    return ChoiceEstimate.of_rows(
        chosen_losses[ERROR],
        losses.weights,
        choices,
        overlap=overlap,
        grouped=losses.grouped,
        p_value=p_value,
    )
