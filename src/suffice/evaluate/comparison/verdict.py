"""Which model is recommended, and can it be used? Against a constant one, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr

from suffice.core.decision.predictions import LEVEL, Predictions
from suffice.core.text.lists import counted, listed, python_scalar
from suffice.core.text.numbers import loss as loss_text
from suffice.core.text.numbers import number, p_statement, percent
from suffice.evaluate.comparison.judging import Outcome
from suffice.evaluate.comparison.paired import ChoiceEstimate, Difference, choice_estimate
from suffice.evaluate.curves.thresholds import cost_curve
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.evaluate.comparison.comparison import Comparison

Usable: TypeAlias = Literal["yes", "with care", "no"]
MOST_CAVEATS = 3
FEW_ROWS, FEW_OF_A_CLASS = 100, 10  # below which an error is hardly known
OFTEN = 1 / 3
ERRS_OFTEN = (
    "More than a third of rows are misclassified: trust posteriors, not single answers."
)
WORTH_SAYING = 5e-4  # difference of two errors
FEW = 5  # names that are listed in full


def verdict_in_words(comparison: Comparison) -> str:
    """Return which model is recommended, its price, and who is significantly different."""
    own, constant = comparison[comparison.reference], comparison.baseline
    low, high = own.interval
    others = {d.model: d for d in comparison.differences()}
    log_losses = {d.model: d for d in comparison.differences("log_loss")}
    beside = others.pop(constant.name)
    alike, worse, better = (
        {name: d.p_value for name, d in others.items() if d.verdict == how}
        for how in ("alike", "worse", "better")
    )
    failed = [failure.name for failure in comparison.failures]
    parts = [_alike(alike, len(others))] if alike else []
    parts += [
        _different(each, how) for each, how in ((worse, "worse"), (better, "better")) if each
    ]
    parts += [f"{listed(failed, FEW)} failed"] if failed else []
    price = price_of(comparison)
    rest = f" Against {own.name}: {'; '.join(parts)}." if parts else ""
    useful = "worse" in (beside.verdict, log_losses[constant.name].verdict)
    none = "None is significantly better than the constant classifier; the closest"
    return (
        f"{'Recommended' if useful else none}: {own.name}, {percent(own.error)} misclassified "
        f"(95 % interval {percent(low)} to {percent(high)}){f', {price}' if price else ''}; the "
        f"constant classifier misclassifies {percent(constant.error)} "
        f"({p_statement(beside.p_value)}).{rest}"
    )


def price_of(comparison: Comparison) -> str:
    """Return how many more errors the reference makes than the model of fewest, if any."""
    own = comparison[comparison.reference]
    best = next((o for o in comparison.outcomes if o is not comparison.baseline), own)
    if own.error - best.error < WORTH_SAYING:
        return ""
    test = _difference(comparison, best, "error")
    different = "significant" if test.verdict == "better" else "not significant"
    return (
        f"{-100 * test.mean:.1f} points more errors than {best.name} "
        f"({percent(best.error)}; {different}, {p_statement(test.p_value)})"
    )


def _difference(comparison: Comparison, other: Outcome, loss: str) -> Difference:
    return next(d for d in comparison.differences(loss) if d.model == other.name)


def _alike(alike: Mapping[str, float], n_others: int) -> str:
    least = min(alike.values())
    said = p_statement(least, "=" if len(alike) == 1 else "≥")
    if len(alike) == n_others > FEW - 1:
        return f"none of the {n_others} others is significantly different ({said})"
    are = "is" if len(alike) == 1 else "are"
    return f"{listed(list(alike), FEW)} {are} not significantly different ({said})"


def _different(found: Mapping[str, float], how: str) -> str:
    """Return who is worse or better: each with its p-value, or many with the greatest."""
    are = "is" if len(found) == 1 else "are"
    if len(found) > FEW:
        most = p_statement(max(found.values()), "≤")
        return f"{listed(list(found), FEW)} {are} significantly {how} ({most})"
    named = listed([f"{name} ({p_statement(p)})" for name, p in found.items()])
    return f"{named} {are} significantly {how}"


@dataclass(frozen=True, slots=True)
class Gain:
    """A measure of the model beside that of the constant classifier."""

    measure: str  # "error", "log-loss" or "balanced accuracy"
    model: float
    constant: float
    p_value: float  # of the difference

    @property
    def is_better(self) -> bool:
        gain = self.model - self.constant
        return self.p_value <= LEVEL and (gain > 0) == (self.measure == "balanced accuracy")


@dataclass(frozen=True, slots=True)
class Found:
    """How many held-out rows of a class are predicted as it."""

    label: Any
    found: int
    of: int


@dataclass(frozen=True, slots=True)
class Threshold(Found):
    """What predicting the rarer of two classes from a smaller posterior on would find."""

    value: float  # of its posterior; rows of a fold are counted by that which others choose
    false_alarms: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model can be used, how much better than a constant one, and what it misses."""

    model: str
    usable: Usable
    error: float  # of rows not seen
    low: float  # its 95 % interval
    high: float
    choice: ChoiceEstimate | None  # its error where it had to be chosen, by rows without a say
    protocol: str  # how the error was estimated
    gains: tuple[
        Gain, ...
    ]  # error, log-loss, balanced accuracy; without posteriors no log-loss
    found: tuple[Found, ...]  # least share first
    auc: float
    threshold: Threshold | None  # of two classes, where the rarer one is often missed
    reason: str  # why this model, and what it costs
    caveats: tuple[str, ...]  # at most three

    @property
    def headline(self) -> str:
        advice = {
            "yes": f"{self.model} can be used",
            "with care": f"Use {self.model} with care",
            "no": f"Do not use {self.model}{'' if self.threshold is None else ' as it is'}",
        }
        error = next(gain for gain in self.gains if gain.measure == "error")
        fewer = "not significantly fewer" if error.model < error.constant else "no fewer"
        return (
            f"{advice[self.usable]}: it misclassifies {percent(self.error)} of rows it has not seen"
            f" (95 % interval {percent(self.low)} to {percent(self.high)}), "
            f"{'against' if error.is_better else f'{fewer} than'} the {percent(error.constant)} of "
            "the constant classifier, which always predicts the most frequent class "
            f"({p_statement(error.p_value)}). {_misses(self.found)}"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """At which threshold it is useful, why this model, and whether rows agree on it."""
        at = () if self.threshold is None else (self._at_threshold(self.threshold),)
        agreed = "" if self.choice is None else f" {self._chosen(self.choice)}"
        return (*at, f"{self.reason}{agreed}")

    def _chosen(self, choice: ChoiceEstimate) -> str:
        told = f"{percent(choice.error)} ({percent(choice.low)} to {percent(choice.high)})"
        if choice.n_rows:
            who = f"Of {choice.n_rows:,} other rows, which had no part in the choice of the model,"
            return f"{who} it misclassifies {told}."
        same, n = choice.choices.count(self.model), len(choice.choices)
        said = f"Chosen by the other folds only, it is the same model in {same} of {n} folds"
        others = sorted({*choice.choices} - {self.model})
        rest = (
            f", else {listed(others, FEW)}; so chosen, {told} are misclassified"
            if others
            else ""
        )
        return f"{said}{rest}."

    def _at_threshold(self, t: Threshold) -> str:
        precision = t.found / max(t.found + t.false_alarms, 1)
        return (
            f"It ranks rows with AUC {loss_text(self.auc)}: predicting {t.label} where its "
            f"posterior is at least {number(t.value, 3)} would find about {t.found:,} of {t.of:,}, "
            f"with {counted(t.false_alarms, 'false alarm')} ({percent(precision)} of those "
            "predicted are right), counted in each fold by the threshold that the other folds "
            "choose."
        )


def verdict_on(
    comparison: Comparison,
    *,
    chosen: bool,
    tested: ChoiceEstimate | None = None,
    first: Sequence[str] = (),
    last: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on the reference, ``chosen`` or given; ``first`` caveats forbid a yes."""
    own = comparison[comparison.reference]
    choice = tested or (choice_estimate(comparison.row_losses) if chosen else None)
    protocol = comparison.protocol + ("" if chosen else "; the model was fixed beforehand")
    gains, found = _gains(comparison, own), _found(own.held_out)
    useful = [gain.measure for gain in gains if gain.is_better]
    missed = [each for each in found if each.found < each.of / 2]
    worst = most_missed(found)
    often = [ERRS_OFTEN] if useful and own.error > OFTEN else []
    serious = [*first, *often, *_few(found)]
    # of few rows even a useful model shows no significant gain
    hopeful = own.n_rows < FEW_ROWS and own.error < comparison.baseline.error
    usable: Usable = "with care" if useful or hopeful else "no"
    if "error" in useful and not (serious or missed or worst.found < (1 - OFTEN) * worst.of):
        usable = "yes"
    measured = (own.error, *own.interval, choice, protocol, gains, found, own.auc)
    at, caveats = _threshold(own) if missed else None, (*serious, *last)[:MOST_CAVEATS]
    why = _reason(comparison, usable) if chosen else f"{own.name} was asked for, not chosen."
    return Verdict(own.name, usable, *measured, at, why, caveats)


def _reason(comparison: Comparison, usable: Usable) -> str:
    """Return why the reference is recommended, its price, and that of one that can be read."""
    own, price = comparison[comparison.reference], price_of(comparison)
    if usable == "no":
        return f"Why {own.name}: it is the simplest of the models that come closest."
    rule = "it is the simplest of the models about as good as the best, by error and log-loss"
    said = f"Why {own.name}: {rule}{f', at {price}' if price else ''}."
    simple = next((o for o in comparison.outcomes if o.is_readable), comparison.baseline)
    if own.is_readable or simple is comparison.baseline:
        return said
    more, loss = (_difference(comparison, simple, of) for of in ("error", "log_loss"))
    return (
        f"{said} Easier to read, as an equation or one tree, is {simple.name}: "
        f"{100 * more.mean:.1f} points more errors ({p_statement(more.p_value)}), log-loss "
        f"{loss_text(simple.log_loss)} against {loss_text(own.log_loss)} "
        f"({p_statement(loss.p_value)}; both adjusted for the number of models)."
    )


def _gains(comparison: Comparison, own: Outcome) -> tuple[Gain, ...]:
    constant = comparison.baseline
    p, p_log = (_difference(comparison, constant, of).p_value for of in ("error", "log_loss"))
    gains = [Gain("error", own.error, constant.error, p)]
    if np.isfinite(own.log_loss):
        gains.append(Gain("log-loss", own.log_loss, constant.log_loss, p_log))
    return (*gains, _balanced(own))


def _balanced(own: Outcome) -> Gain:
    """Return the mean share of each class that is found, against 1/K of any constant answer."""
    rows = own.held_out
    w = rows.weights / rows.weights.mean()  # numbers of rows
    hits, n = np.bincount(rows.truth, w * ~rows.wrong), np.bincount(rows.truth, w)
    hits, n = hits[n > 0], n[n > 0]
    k, share = len(n), (hits + 1) / (n + 2)
    # Var = Σ_k r_k (1 − r_k) / n_k / K², of rows that are correlated over folds
    se = np.sqrt((share * (1 - share) / n).sum() * own.n_rows / own.effective_rows) / k
    balanced = float((hits / n).mean())
    return Gain(
        "balanced accuracy", balanced, 1 / k, float(2 * ndtr(-abs(balanced - 1 / k) / se))
    )


def _found(rows: Predictions) -> tuple[Found, ...]:
    """Return how many rows of each class are found, least share first."""
    k, once = len(rows.classes), _counted_once(rows)
    of = np.rint(np.bincount(rows.truth, once, k)).astype(int)
    hits = np.rint(np.bincount(rows.truth, once * ~rows.wrong, k)).astype(int)
    order = np.argsort(hits / np.maximum(of, 1), kind="stable")
    return tuple(
        Found(python_scalar(rows.classes[j]), int(hits[j]), int(of[j]))
        for j in order
        if of[j] > 0
    )


def _counted_once(rows: Predictions) -> Floats:
    """Return 1 for each row, less where folds were repeated, (m,)."""
    return np.asarray(1 / np.bincount(rows.rows)[rows.rows])


def _threshold(own: Outcome) -> Threshold | None:
    """Return the threshold of most balanced accuracy for the rarer of two classes."""
    rows, folds = own.held_out, range(int(own.folds.max()) + 1)
    if rows.logs is None or len(rows.classes) != 2 or len(folds) == 1:
        return None
    once = _counted_once(rows)
    counts = np.bincount(rows.truth, once, 2)
    rare = int(counts.argmin())
    # se² ≤ A (1 − A) / min(n₀, n₁)  (Birnbaum & Klose 1957)
    bound = own.auc * (1 - own.auc) / counts[rare] * own.n_rows / own.effective_rows
    if not own.auc - 2 * np.sqrt(bound) > 0.5:
        return None
    label = rows.classes[rare]
    # a miss counts as much more than a false alarm as its class is rarer
    weight = {"false_alarm_cost": float(counts[rare]), "miss_cost": float(counts[1 - rare])}

    def best(at: Any) -> float:
        return float(cost_curve(rows.take(at), label, **weight).best_threshold)

    thresholds = np.array([best(own.folds != fold) for fold in folds])
    called = rows.posteriors[:, rare] >= thresholds[own.folds]
    hits, alarms = (
        int(np.rint(once @ (called & (rows.truth == k)))) for k in (rare, 1 - rare)
    )
    return Threshold(
        python_scalar(label), hits, round(counts[rare]), best(slice(None)), alarms
    )


def most_missed(found: Sequence[Found]) -> Found:
    """Return the class of which most is missed, if it can be one whose rows tell how often."""
    return next((each for each in found if FEW_OF_A_CLASS <= each.of != each.found), found[0])


def _misses(found: Sequence[Found]) -> str:
    """Return how many rows are missed of the class that is missed most."""
    worst = most_missed(found)
    missed = worst.of - worst.found
    if not missed:
        return "It finds all rows of every class."
    more = sum(each.found < each.of / 2 for each in found if each is not worst)
    also = f", and more than half of {counted(more, 'other class')}" * (more > 0)
    some = f"{missed:,} of {counted(worst.of, 'row')} of class {worst.label}"
    return f"It misses {some} ({percent(missed / worst.of)}){also}."


def _few(found: Sequence[Found]) -> list[str]:
    n, least = sum(each.of for each in found), min(found, key=lambda each: each.of)
    if n < FEW_ROWS:
        return [f"There are only {counted(n, 'row')}: the error is known only roughly."]
    if least.of < FEW_OF_A_CLASS:
        of = counted(least.of, "row")
        return [f"Class {least.label} has only {of}: how often it is found is hardly known."]
    return []
