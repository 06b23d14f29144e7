"""Which model is recommended, and can it be used? Against a constant one, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.decision.predictions import Predictions
from suffice.core.text.lists import counted, listed, python_scalar
from suffice.core.text.numbers import exact_number, p_statement, percent, percentage_points
from suffice.core.text.numbers import loss as loss_text
from suffice.evaluate.comparison.caveats import OFTEN, Caveat, Severity
from suffice.evaluate.comparison.choice_reason import reason_for
from suffice.evaluate.comparison.judging import Outcome
from suffice.evaluate.comparison.paired import ChoiceEstimate, Difference
from suffice.evaluate.comparison.real_errors import RealErrors, Split
from suffice.evaluate.curves.thresholds import cost_curve
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.evaluate.comparison.comparison import Comparison

Usable: TypeAlias = Literal["yes", "with care", "no"]
Measure: TypeAlias = Literal["error", "log-loss", "balanced accuracy"]
_HELD_OUT: dict[Split, str] = {
    "random rows": "rows it has not seen",
    "unseen groups": "rows of groups it has not seen",
    "the future": "rows that are later than those it has seen",
}
_APART_FROM_BOTH: dict[Split, str] = {
    "random rows": "rows that had no part in either",
    "unseen groups": "rows of groups that had no part in either",
    "the future": "later rows, which had no part in either",
}
_IN_SHORT: dict[Split, str] = {
    "random rows": "rows held out at random",
    "unseen groups": "rows of unseen groups",
    "the future": "later rows",
}
WORTH_SAYING = 5e-4  # difference of two errors
LEVEL_IN_WORDS = (
    "Where models are equally good, a difference of errors or log-losses is called significant in "
    "at most 5 % of tables."
)
FEW = 5  # names that are listed in full


def verdict_in_words(comparison: Comparison) -> str:
    """Return which model is recommended, its price, and which others differ significantly."""
    sentences = [_recommendation(comparison)]
    price = price_of(comparison)
    if price:
        sentences.append(price)
    clauses = _clauses_on_others(comparison)
    if clauses:
        against = f"Against {comparison.reference} on the same {_rows_judged(comparison)}"
        sentences.append(f"{against}: {'; '.join(clauses)}.")
        sentences.append(LEVEL_IN_WORDS)
    return " ".join(sentences)


def _rows_judged(comparison: Comparison) -> str:
    """Return the number of held-out rows, and for how many pairs p-values are adjusted."""
    rows = counted(comparison.n_rows, "row")
    n_models = sum(outcome is not comparison.baseline for outcome in comparison.outcomes)
    if n_models < 3:
        return rows
    n_pairs = n_models * (n_models - 1) // 2
    return f"{rows}, p adjusted for {n_pairs} pairs of models"


def _recommendation(comparison: Comparison) -> str:
    """Return the recommended model with the error of the procedure, beside the constant one."""
    model = comparison[comparison.reference]
    standing = standing_of(comparison, comparison.choice)
    constant = (
        f"the constant classifier misclassifies {percent(comparison.baseline.error)} "
        f"({p_statement(standing.error.p_value)})"
    )
    errors = f"{_named_with_error(model.name, standing.error)}; {constant}."
    if standing.error.includes_choice:
        errors = f"{errors} {_own_error_in_words(model)}"
    if standing.usable == "no":
        return (
            "None is significantly better than the constant classifier by error, log-loss or "
            f"balanced accuracy on {counted(comparison.n_rows, 'row')}. First choice: {errors}"
        )
    word = "Recommended" if standing.usable == "yes" else "Recommended with care"
    return f"{word}: {errors}{_better_otherwise(standing, model.n_rows)}"


def _named_with_error(model: str, stated: StatedError) -> str:
    error = percent(stated.error)
    interval = f"95 % interval {percent(stated.low)} to {percent(stated.high)}"
    if stated.includes_choice:
        return f"{model}. Choosing a model and fitting it misclassifies {error} ({interval})"
    return f"{model}, {error} misclassified ({interval})"


def _own_error_in_words(model: Outcome) -> str:
    """Return the error of a model itself, which its choice makes look better."""
    low, high = model.interval
    name = f"{model.name[:1].upper()}{model.name[1:]}"
    return (
        f"{name} itself misclassifies {percent(model.error)} (95 % interval {percent(low)} "
        f"to {percent(high)})."
    )


def _better_otherwise(standing: Standing, n_rows: int) -> str:
    """Return by which measure a model is better that does not err significantly less often."""
    if "error" in standing.better or not standing.better:
        return ""
    gain = next(gain for gain in standing.gains if gain.measure == standing.better[0])
    if gain.measure == "log-loss":
        figures = f"{loss_text(gain.model)} against {loss_text(gain.constant)}"
    else:
        figures = f"{percent(gain.model)} against {percent(gain.constant)}"
    p = p_statement(gain.p_value)
    rows = counted(n_rows, "row")
    return f" By {gain.measure} it is significantly better ({figures}, {p}, {rows})."


def price_of(comparison: Comparison) -> str:
    """Return a sentence on how many more errors the reference makes than the best, if any."""
    model = comparison[comparison.reference]
    others = (each for each in comparison.outcomes if each is not comparison.baseline)
    best = next(others, model)
    if model.error - best.error < WORTH_SAYING:
        return ""
    test = comparison.difference(best.name, "error")
    significance = "significant" if test.verdict == "better" else "not significant"
    name = f"{model.name[:1].upper()}{model.name[1:]}"
    return (
        f"{name} makes {-100 * test.mean:.1f} points more errors than {best.name} "
        f"({percent(best.error)}; {significance}, {p_statement(test.p_value)}, "
        f"{counted(model.n_rows, 'row')})."
    )


def _clauses_on_others(comparison: Comparison) -> list[str]:
    """Return which models are alike, worse, better, or failed."""
    alike: list[Difference] = []
    worse: list[Difference] = []
    better: list[Difference] = []
    by_verdict = {"alike": alike, "worse": worse, "better": better}
    for difference in comparison.differences():
        if difference.model != comparison.baseline.name:
            by_verdict[difference.verdict].append(difference)
    clauses = []
    if alike:
        clauses.append(_alike_clause(alike, len(alike) + len(worse) + len(better)))
    if worse:
        clauses.append(_different_clause(worse, "worse"))
    if better:
        clauses.append(_different_clause(better, "better"))
    if comparison.failures:
        failed = [failure.name for failure in comparison.failures]
        clauses.append(f"{listed(failed, FEW)} failed")
    return clauses


def _alike_clause(differences: Sequence[Difference], n_others: int) -> str:
    """Return which models are alike, with their differences in points and the least p-value."""
    names = [difference.model for difference in differences]
    least = min(difference.p_value for difference in differences)
    points = _points(differences)
    if len(names) == 1:
        return f"{names[0]} is not significantly different ({points}, {p_statement(least)})"
    figures = f"{points}, {p_statement(least, '≥')}"
    if len(names) == n_others and n_others >= FEW:
        return f"none of the {n_others} others is significantly different ({figures})"
    return f"{listed(names, FEW)} are not significantly different ({figures})"


def _points(differences: Sequence[Difference]) -> str:
    """Return the least and greatest difference of errors, in percentage points."""
    least = percentage_points(min(difference.mean for difference in differences))
    greatest = percentage_points(max(difference.mean for difference in differences))
    if least == greatest:
        return f"{least} points"
    return f"{least} to {greatest} points"


def _different_clause(
    differences: Sequence[Difference], how: Literal["worse", "better"]
) -> str:
    """Return which models differ: each with its points and p-value, or many with the greatest."""
    if len(differences) > FEW:
        listed_names = listed([difference.model for difference in differences], FEW)
        greatest = p_statement(max(difference.p_value for difference in differences), "≤")
        return f"{listed_names} are significantly {how} ({_points(differences)}, {greatest})"
    names = []
    for difference in differences:
        figures = f"{_points([difference])}, {p_statement(difference.p_value)}"
        names.append(f"{difference.model} ({figures})")
    if len(names) == 1:
        return f"{names[0]} is significantly {how}"
    return f"{listed(names)} are significantly {how}"


@dataclass(frozen=True, slots=True)
class Gain:
    """A measure of the model, and that of the constant classifier."""

    measure: Measure
    model: float
    constant: float
    p_value: float  # of the difference

    @property
    def is_better(self) -> bool:
        if not self.p_value <= LEVEL:
            return False
        if self.measure == "balanced accuracy":
            return self.model > self.constant
        return self.model <= self.constant


class StatedError(NamedTuple):
    """The error that a verdict states first: of choosing and fitting, where folds choose others."""

    error: float
    low: float  # its 95 % interval
    high: float
    p_value: float  # that the constant classifier errs as often
    includes_choice: bool  # whether it is that of the choice, not of the model itself


class Standing(NamedTuple):
    """What the numbers of a comparison say of its reference.

    "yes": it errs significantly less often than the constant classifier, with the choice of the
    model included; it has no serious caveat; and it finds at least two thirds of every class.
    "with care": otherwise, if it is significantly better by error, log-loss or balanced accuracy.
    "no": it is significantly better by none of them.
    """

    usable: Usable
    error: StatedError
    better: tuple[Measure, ...]  # in which it significantly beats the constant classifier
    gains: tuple[Gain, ...]
    recalls: tuple[ClassRecall, ...]


@dataclass(frozen=True, slots=True)
class ClassRecall:
    """How many held-out rows of a class are predicted as it."""

    label: Any
    n_found: int
    of: int

    @property
    def misses_half(self) -> bool:
        """Whether at least half of the rows are missed."""
        return 2 * self.n_found <= self.of


@dataclass(frozen=True, slots=True)
class Threshold(ClassRecall):
    """What predicting the rarer of two classes from a smaller posterior on would find."""

    value: float  # of its posterior
    false_alarms: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model can be used, how much better than a constant one, and what it misses."""

    model: str
    usable: Usable
    own: Outcome  # what held-out rows say of the model itself, which its choice makes look better
    choice: ChoiceEstimate | None  # of the error including the choice, if it was chosen
    split: Split  # how the rows of this error were held out
    real_errors: RealErrors | None  # beside those of other splits, where they are known
    protocol: str  # how the error was estimated
    standing: Standing
    auc: float
    threshold: Threshold | None  # of two classes, where the rarer one is often missed
    reason: str  # why this model, and what it costs
    caveats: tuple[str, ...]  # worst first

    @property
    def error(self) -> float:
        """The error of the whole procedure on rows not seen, choice included where it differs."""
        return self.standing.error.error

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
        return self.standing.error.low

    @property
    def high(self) -> float:
        """The upper end of its 95 % interval."""
        return self.standing.error.high

    @property
    def includes_choice(self) -> bool:
        """Whether folds choose other models, so that the choice has an error of its own."""
        return self.standing.error.includes_choice

    @property
    def gains(self) -> tuple[Gain, ...]:
        """Error, log-loss if there are posteriors, and balanced accuracy."""
        return self.standing.gains

    @property
    def recalls(self) -> tuple[ClassRecall, ...]:
        """How much is found of each class, least share first."""
        return self.standing.recalls

    @property
    def headline(self) -> str:
        """The advice, the error beside that of the constant classifier, and the class missed most.

        The error is that of the whole procedure; where that differs, the model's own follows it.
        """
        own = f" {_own_error_in_words(self.own)}" if self.includes_choice else ""
        return (
            f"{self._advice_with_error()}{own}"
            f"{_better_otherwise(self.standing, self.own.n_rows)} "
            f"{self._misses()}"
        )

    def _misses(self) -> str:
        sentence = _misses(self.recalls)
        if self.worse_split is None:
            return sentence
        return f"Of {_IN_SHORT[self.split]}, {sentence[:1].lower()}{sentence[1:]}"

    def _advice_with_error(self) -> str:
        gain = self.gains[0]
        constant = percent(gain.constant)
        p = p_statement(gain.p_value)
        if gain.is_better:
            relation = f"against the {constant}"
        elif gain.model < gain.constant:
            relation = f"not significantly fewer than the {constant}"
            p = f"{p}, {counted(self.own.n_rows, 'row')}"
        else:
            relation = f"no fewer than the {constant}"
        stated = (
            f"{relation} of the constant classifier, which always predicts the most frequent class "
            f"({p})"
        )
        worse = self.worse_split
        if worse is None:
            return f"{self._advice()}: {self._error_in_words()}, {stated}."
        errors = self._error_in_words()
        return f"{self._advice()}: {worse}. {errors[0].upper()}{errors[1:]}, {stated}."

    def _error_in_words(self) -> str:
        error = percent(self.error)
        interval = f"95 % interval {percent(self.low)} to {percent(self.high)}"
        if self.includes_choice:
            return (
                f"choosing a model and fitting it misclassifies {error} of "
                f"{_APART_FROM_BOTH[self.split]} ({interval})"
            )
        # another split has other rows, of which more are misclassified
        rows = _HELD_OUT[self.split] if self.worse_split is None else _IN_SHORT[self.split]
        return f"it misclassifies {error} of {rows} ({interval})"

    @property
    def worse_split(self) -> str | None:
        """The error of another split that is significantly larger, as the start of a sentence."""
        if self.real_errors is None:
            return None
        worst = self.real_errors.headline
        if not worst.is_worse or worst.split == self.split:
            return None
        return (
            f"expect {percent(worst.error)} errors (95 % interval {percent(worst.low)} to "
            f"{percent(worst.high)}), those of {_HELD_OUT[worst.split]}"
        )

    def _advice(self) -> str:
        if self.usable == "yes":
            return f"{self.model[:1].upper()}{self.model[1:]} can be used"
        if self.usable == "with care":
            return f"Use {self.model} with care"
        if self.threshold is None:
            return f"Do not use {self.model}"
        return f"Do not use {self.model} as it is"

    @property
    def sentences(self) -> tuple[str, ...]:
        """At which threshold it is useful, why this model, and what the choice costs."""
        why = self.reason
        if self.choice is not None:
            why = f"{self.reason} {self._price_of_choice(self.choice)}"
        if self.threshold is None:
            return (why,)
        return self._at_threshold(self.threshold), why

    def _price_of_choice(self, choice: ChoiceEstimate) -> str:
        error = percent(choice.error)
        low = percent(choice.low)
        high = percent(choice.high)
        if choice.n_rows:
            return (
                f"Of {choice.n_rows:,} other rows, which had no part in the choice of the model, "
                f"it misclassifies {error} ({low} to {high})."
            )
        n_folds = len(choice.choices)
        n_same = choice.choices.count(self.model)
        if n_same == n_folds:
            return (
                f"Choosing again without the tested fold gives {self.model} in {n_same} of "
                f"{n_folds} folds."
            )
        others = sorted({*choice.choices} - {self.model})
        return (
            f"Choosing again without the tested fold gives {self.model} in {n_same} of {n_folds} "
            f"folds, otherwise {listed(others, FEW)}, and an error of {error} ({low} to {high}): "
            "the price of choosing."
        )

    def _at_threshold(self, threshold: Threshold) -> str:
        n_predicted = threshold.n_found + threshold.false_alarms
        precision = threshold.n_found / max(n_predicted, 1)
        return (
            f"It ranks rows with AUC {loss_text(self.auc)}: predicting class {threshold.label} "
            f"where its posterior is at least {exact_number(threshold.value)} finds "
            f"{threshold.n_found:,} of {threshold.of:,}, with "
            f"{counted(threshold.false_alarms, 'false alarm')} ({percent(precision)} of those "
            "predicted are right), among the rows that also chose this threshold."
        )


def verdict_on(
    comparison: Comparison,
    *,
    chosen: bool,
    tested: ChoiceEstimate | None = None,
    first: Sequence[str] = (),
    last: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on the reference.

    Parameters
    ----------
    comparison : Comparison
    chosen : bool
        Whether the comparison chose the model, rather than a user.
    tested : ChoiceEstimate, optional
        The error on rows that had no part in the choice; by default it is estimated by the folds.
    first, last : caveats
        The first ones forbid the verdict "yes"; the last ones follow those of the verdict itself.
    """
    model = comparison[comparison.reference]
    choice = tested
    if chosen and tested is None:
        choice = comparison.choice
    standing = standing_of(comparison, choice, first=first)
    misses_a_class = any(recall.misses_half for recall in standing.recalls)
    if chosen:
        protocol = comparison.protocol
        reason = reason_for(comparison)
    else:
        protocol = f"{comparison.protocol}; the model was fixed beforehand"
        reason = f"{model.name} was asked for, not chosen."
    serious = [*first, *_sentences(comparison.caveats, "serious")]
    return Verdict(
        model=model.name,
        usable=standing.usable,
        own=model,
        choice=choice,
        split=comparison.split,
        real_errors=comparison.real_errors,
        protocol=protocol,
        standing=standing,
        auc=model.auc,
        threshold=_useful_threshold(model) if misses_a_class else None,
        reason=reason,
        caveats=_all_different(serious, _sentences(comparison.caveats, "minor"), last),
    )


def standing_of(
    comparison: Comparison, choice: ChoiceEstimate | None, first: Sequence[str] = ()
) -> Standing:
    """Return whether the reference can be used, by the rule that ``Standing`` states."""
    model = comparison[comparison.reference]
    stated = _stated_error(comparison, model, choice)
    gains = _gains(comparison, model, stated)
    recalls = _recalls(model.held_out)
    better = tuple(gain.measure for gain in gains if gain.is_better)
    worst = most_missed(recalls)
    misses_often = worst.n_found < (1 - OFTEN) * worst.of
    has_serious_caveat = first or _sentences(comparison.caveats, "serious")
    usable: Usable = "no"
    if "error" in better and not has_serious_caveat and not misses_often:
        usable = "yes"
    elif better:
        usable = "with care"
    return Standing(usable, stated, better, gains, recalls)


def _stated_error(
    comparison: Comparison, model: Outcome, choice: ChoiceEstimate | None
) -> StatedError:
    """Return the error of the whole procedure; that of the model, if the choice changes nothing."""
    if choice is not None and choice.n_rows == 0 and choice.differs_from(model.name):
        return StatedError(
            choice.error, choice.low, choice.high, choice.p_value, includes_choice=True
        )
    low, high = model.interval
    p_value = comparison.difference(comparison.baseline.name, "error").p_value
    return StatedError(model.error, low, high, p_value, includes_choice=False)


def _sentences(caveats: Sequence[Caveat], severity: Severity) -> list[str]:
    return [caveat.sentence for caveat in caveats if caveat.severity == severity]


def _all_different(*sentences: Sequence[str]) -> tuple[str, ...]:
    """Return sentences in order, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(sentences)))


def _gains(comparison: Comparison, model: Outcome, stated: StatedError) -> tuple[Gain, ...]:
    constant = comparison.baseline
    gains = [Gain("error", stated.error, constant.error, stated.p_value)]
    if np.isfinite(model.log_loss):
        p_value = comparison.difference(constant.name, "log_loss").p_value
        gains.append(Gain("log-loss", model.log_loss, constant.log_loss, p_value))
    gains.append(_balanced_accuracy(model))
    return tuple(gains)


def _balanced_accuracy(model: Outcome) -> Gain:
    """Return the mean share of each class that is found, against 1/K of any constant answer."""
    rows = model.held_out
    w = rows.weights / rows.weights.mean()  # so that sums of weights are numbers of rows
    n = np.bincount(rows.truth, w)
    hits = np.bincount(rows.truth, w * ~rows.wrong)[n > 0]
    n = n[n > 0]
    k = len(n)
    accuracy = float((hits / n).mean())
    # Var = Σ_k r_k (1 − r_k) / n_k / K², of rows that are correlated over folds
    r = (hits + 1) / (n + 2)
    variance = (r * (1 - r) / n).sum() * model.n_rows / model.effective_rows
    standard_error = np.sqrt(variance) / k
    p_value = float(2 * ndtr(-abs(accuracy - 1 / k) / standard_error))
    return Gain("balanced accuracy", accuracy, 1 / k, p_value)


def _recalls(rows: Predictions) -> tuple[ClassRecall, ...]:
    """Return how many rows of each class are found, least share first."""
    k = len(rows.classes)
    once = _counted_once(rows)
    n_rows = np.rint(np.bincount(rows.truth, once, k)).astype(int)
    n_found = np.rint(np.bincount(rows.truth, once * ~rows.wrong, k)).astype(int)
    order = np.argsort(n_found / np.maximum(n_rows, 1), kind="stable")
    return tuple(
        ClassRecall(
            label=python_scalar(rows.classes[j]), n_found=int(n_found[j]), of=int(n_rows[j])
        )
        for j in order
        if n_rows[j] > 0
    )


def _counted_once(rows: Predictions) -> Floats:
    """Return 1 for each row, and less where folds were repeated, (m,)."""
    return np.asarray(1 / np.bincount(rows.rows)[rows.rows])


def _useful_threshold(model: Outcome) -> Threshold | None:
    """Return the threshold of most balanced accuracy for the rarer of two classes.

    None if there are no posteriors, or if ranking by them is not better than chance.
    """
    rows = model.held_out
    n_folds = int(model.folds.max()) + 1
    if rows.logs is None or len(rows.classes) != 2 or n_folds == 1:
        return None
    once = _counted_once(rows)
    counts = np.bincount(rows.truth, once, 2)
    rare = int(counts.argmin())
    # se² ≤ A (1 − A) / min(n₀, n₁)  (Birnbaum & Klose 1957)
    bound = model.auc * (1 - model.auc) / counts[rare] * model.n_rows / model.effective_rows
    if not model.auc - 2 * np.sqrt(bound) > 0.5:
        return None

    # a miss costs more than a false alarm in the ratio of the classes
    curve = cost_curve(
        rows,
        rows.classes[rare],
        false_alarm_cost=float(counts[rare]),
        miss_cost=float(counts[1 - rare]),
    )
    value = curve.short_threshold(curve.best)
    is_called = rows.posteriors[:, rare] >= value
    is_rare = rows.truth == rare
    return Threshold(
        label=python_scalar(rows.classes[rare]),
        n_found=int(np.rint(once @ (is_called & is_rare))),
        of=round(counts[rare]),
        value=value,
        false_alarms=int(np.rint(once @ (is_called & ~is_rare))),
    )


def choice_document(choice: ChoiceEstimate | None) -> dict[str, object] | None:
    """Return the error of choosing and fitting a model as JSON holds it."""
    if choice is None:
        return None
    return {
        "error": choice.error,
        "error_low": choice.low,
        "error_high": choice.high,
        "models": list(choice.choices),
        "n_rows": choice.n_rows,
        "p": None if np.isnan(choice.p_value) else choice.p_value,
    }


def most_missed(recalls: Sequence[ClassRecall]) -> ClassRecall:
    """Return the class with the largest share missed; among equal shares, the one of most rows."""
    return min(recalls, key=lambda recall: (recall.n_found / recall.of, -recall.of))


def all_most_missed(recalls: Sequence[ClassRecall]) -> tuple[ClassRecall, ...]:
    """Return all classes with the largest share missed, the one of most rows first."""
    worst = most_missed(recalls)
    tied = [each for each in recalls if each.n_found * worst.of == worst.n_found * each.of]
    return tuple(sorted(tied, key=lambda recall: -recall.of))


def _misses(recalls: Sequence[ClassRecall]) -> str:
    """Return how many rows are missed of the class that is missed most, or of all that tie."""
    tied = all_most_missed(recalls)
    worst = tied[0]
    n_missed = worst.of - worst.n_found
    if n_missed == 0:
        return "It finds all rows of every class."
    others = [each for each in recalls if each not in tied and each.misses_half]
    missed = _share_missed(tied)
    if others:
        return f"{missed}, and at least half of {counted(len(others), 'other class')}."
    return f"{missed}."


def _share_missed(tied: Sequence[ClassRecall]) -> str:
    """Return how much is missed of one class, or of each class of several with the same share."""
    worst = tied[0]
    n_missed = worst.of - worst.n_found
    share = percent(n_missed / worst.of)
    if len(tied) == 1:
        rows = counted(worst.of, "row")
        return f"It misses {n_missed:,} of {rows} of class {worst.label} ({share})"
    names = listed([str(each.label) for each in tied], FEW)
    counts = listed([f"{each.of - each.n_found:,} of {each.of:,}" for each in tied], FEW)
    return f"It misses {share} of the rows of each of the classes {names} ({counts})"
