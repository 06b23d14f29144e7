"""The verdict on a comparison: which model is recommended, and whether it can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.decision.predictions import Predictions
from suffice.core.text.lists import counted, listed, noun_for, python_scalar
from suffice.core.text.numbers import (
    exact_number,
    p_statement,
    percent,
    percentage_points,
    points_between,
)
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
    "random rows": "held-out rows",
    "unseen groups": "rows in unseen groups",
    "the future": "later rows",
}
WORTH_SAYING = 5e-4  # smallest difference between two errors that is mentioned
LEVEL_IN_WORDS = (
    "If all models are equally good, the chance that the tests report any significant difference "
    "is at most 5 %."
)
FEW = 5  # at most this many names are listed


def verdict_in_words(comparison: Comparison) -> str:
    """Return, as text, the recommendation and which models differ from it significantly."""
    sentences = [_recommendation(comparison)]
    price = price_of(comparison)
    if price:
        sentences.append(price)
    on_others = _sentences_on_others(comparison)
    if on_others:
        rows = counted(comparison.n_rows, "row")
        beginning = f"Compared with {comparison.reference} on the same {rows}"
        sentences.append(f"{beginning}, {on_others[0][:1].lower()}{on_others[0][1:]}")
        sentences.extend(on_others[1:])
        n_models = sum(outcome is not comparison.baseline for outcome in comparison.outcomes)
        if n_models > 2:
            n_pairs = n_models * (n_models - 1) // 2
            sentences.append(f"The p-values are adjusted for {n_pairs} pairs of models.")
        sentences.append(LEVEL_IN_WORDS)
    if comparison.failures:
        failed = [failure.name for failure in comparison.failures]
        sentences.append(f"{listed(failed, FEW)} failed.")
    return " ".join(sentences)


def _recommendation(comparison: Comparison) -> str:
    """Return sentences on the recommendation, its error, and that of a constant prediction."""
    model = comparison[comparison.reference]
    standing = standing_of(comparison, comparison.choice)
    constant = (
        "The constant classifier, which always predicts the most frequent class, has an error of "
        f"{percent(comparison.baseline.error)} ({p_statement(standing.error.p_value)})."
    )
    errors = f"{_stated_error_in_words(model.name, standing.error)} {constant}"
    if standing.error.includes_choice:
        errors = f"{errors} {_own_error_in_words(model)}"
    if standing.usable == "no":
        return (
            f"Not recommended: {model.name}. It is not significantly better than the constant "
            "classifier by error, log-loss or balanced accuracy on "
            f"{counted(comparison.n_rows, 'row')}. {errors}"
        )
    word = "Recommended" if standing.usable == "yes" else "Recommended with care"
    return (
        f"{word}: {model.name}. {errors}"
        f"{_better_otherwise(model.name, standing, model.n_rows)}"
    )


def _stated_error_in_words(name: str, stated: StatedError) -> str:
    error = percent(stated.error)
    interval = f"95 % interval {percent(stated.low)} to {percent(stated.high)}"
    if stated.includes_choice:
        return (
            f"The procedure that chose {name}, repeated in every fold, misclassifies {error} "
            f"({interval})."
        )
    return f"Its error is {error} ({interval})."


def _own_error_in_words(model: Outcome) -> str:
    """Return a sentence on the model's own error, which the choice makes optimistic."""
    low, high = model.interval
    return (
        f"{_capitalised(model.name)} itself misclassifies {percent(model.error)} (95 % interval "
        f"{percent(low)} to {percent(high)}), which may be too low, because it was chosen on the "
        "same rows."
    )


def _capitalised(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _better_otherwise(name: str, standing: Standing, n_rows: int) -> str:
    """Return a sentence on a measure, other than the error, by which the model is better."""
    if "error" in standing.better or not standing.better:
        return ""
    gain = next(gain for gain in standing.gains if gain.measure == standing.better[0])
    if gain.measure == "log-loss":
        figures = f"{loss_text(gain.model)} against {loss_text(gain.constant)}"
    else:
        figures = f"{percent(gain.model)} against {percent(gain.constant)}"
    p = p_statement(gain.p_value)
    rows = counted(n_rows, "row")
    return (
        f" By {gain.measure}, {name} is significantly better than the constant classifier "
        f"({figures}, {p}, {rows})."
    )


def price_of(comparison: Comparison) -> str:
    """Return a phrase on the errors that simplicity costs; empty if there are about none."""
    model = comparison[comparison.reference]
    others = (each for each in comparison.outcomes if each is not comparison.baseline)
    best = next(others, model)
    if model.error - best.error < WORTH_SAYING:
        return ""
    test = comparison.difference(best.name, "error")
    significance = "significant" if test.verdict == "better" else "not significant"
    points = points_between(model.error, best.error).removeprefix("+")
    return (
        f"{_capitalised(model.name)} makes {points} percentage points more errors "
        f"than {best.name} ({percent(best.error)}; {significance}, {p_statement(test.p_value)}, "
        f"{counted(model.n_rows, 'row')})."
    )


def _sentences_on_others(comparison: Comparison) -> list[str]:
    """Return sentences on the models that are alike, significantly worse, or better."""
    alike: list[Difference] = []
    worse: list[Difference] = []
    better: list[Difference] = []
    by_verdict = {"alike": alike, "worse": worse, "better": better}
    for difference in comparison.differences():
        if difference.model != comparison.baseline.name:
            by_verdict[difference.verdict].append(difference)
    sentences = []
    if alike:
        sentences.append(_on_alike_models(alike, len(alike) + len(worse) + len(better)))
    if worse:
        sentences.append(_on_different_models(worse, "worse"))
    if better:
        sentences.append(_on_different_models(better, "better"))
    return sentences


def _on_alike_models(differences: Sequence[Difference], n_others: int) -> str:
    """Return a sentence, with the lowest p-value, on models that do not differ significantly."""
    names = [difference.model for difference in differences]
    least = min(difference.p_value for difference in differences)
    points = _points(differences)
    if len(names) == 1:
        return (
            f"This model does not differ significantly: {names[0]} ({points}, "
            f"{p_statement(least)})."
        )
    if len(names) == n_others and n_others >= FEW:
        return (
            f"None of the {n_others} others differs significantly: their errors differ by {points} "
            f"(smallest {p_statement(least)})."
        )
    figures = f"{points}, {p_statement(least, '≥')}"
    return f"These models do not differ significantly: {listed(names, FEW)} ({figures})."


def _points(differences: Sequence[Difference]) -> str:
    """Return the range of differences in error as text, in percentage points."""
    least = percentage_points(min(difference.mean for difference in differences))
    greatest = percentage_points(max(difference.mean for difference in differences))
    if least == greatest:
        return f"{least} percentage points"
    return f"{least} to {greatest} percentage points"


def _on_different_models(
    differences: Sequence[Difference], how: Literal["worse", "better"]
) -> str:
    """Return a sentence on models that differ: the figures of each, or one summary."""
    subject = "This model is" if len(differences) == 1 else "These models are"
    if len(differences) > FEW:
        listed_names = listed([difference.model for difference in differences], FEW)
        greatest = p_statement(max(difference.p_value for difference in differences), "≤")
        figures = f"{_points(differences)}, {greatest}"
        return f"{subject} significantly {how}: {listed_names} ({figures})."
    names = []
    for difference in differences:
        figures = f"{_points([difference])}, {p_statement(difference.p_value)}"
        names.append(f"{difference.model} ({figures})")
    return f"{subject} significantly {how}: {listed(names)}."


@dataclass(frozen=True, slots=True)
class Gain:
    """The value of a measure for the model and for the constant classifier."""

    measure: Measure
    model: float
    constant: float
    p_value: float  # p-value of the difference

    @property
    def is_better(self) -> bool:
        if not self.p_value <= LEVEL:
            return False
        if self.measure == "balanced accuracy":
            return self.model > self.constant
        return self.model <= self.constant


class StatedError(NamedTuple):
    """The error that a verdict states first."""

    error: float
    low: float  # lower end of the 95 % interval
    high: float
    p_value: float  # p-value of an error equal to that of the constant classifier
    # whether the error includes the choice of the model, as it does if some fold chooses another
    includes_choice: bool


class Standing(NamedTuple):
    """How the reference compares with the constant classifier, and whether it can be used.

    "yes": the reference makes significantly fewer errors than the constant classifier, also if the
    choice of the reference is included. It has no serious caveat, and its recall of every class is
    at least two thirds. "with care": the conditions for "yes" are not met, but the reference is
    significantly better by error, log-loss or balanced accuracy. "no": the reference is not
    significantly better by any of these measures.
    """

    usable: Usable
    n_serious: int  # number of serious caveats
    error: StatedError
    # measures by which the reference is significantly better than the constant classifier
    better: tuple[Measure, ...]
    gains: tuple[Gain, ...]
    recalls: tuple[ClassRecall, ...]


@dataclass(frozen=True, slots=True)
class ClassRecall:
    """How many held-out rows of a class are predicted correctly."""

    label: Any
    n_found: int
    of: int

    @property
    def misses_half(self) -> bool:
        """Whether at least half of the rows of the class are missed."""
        return 2 * self.n_found <= self.of

    @property
    def is_often_missed(self) -> bool:
        """Whether more than a third of the rows of the class are missed."""
        return self.n_found < (1 - OFTEN) * self.of


@dataclass(frozen=True, slots=True)
class Threshold(ClassRecall):
    """A lower threshold, and the rows of the rarer class that it would find."""

    value: float  # lowest posterior at which the class is predicted
    false_alarms: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model can be used, how it compares with a constant one, and its caveats."""

    model: str
    usable: Usable
    # result of the model itself, which is optimistic because the model was chosen on the same rows
    own: Outcome
    choice: (
        ChoiceEstimate | None
    )  # error including the choice of the model; None if the user chose it
    split: Split  # how the held-out rows were chosen
    real_errors: RealErrors | None  # errors for other kinds of split, if measured
    protocol: str  # how the error was estimated
    standing: Standing
    auc: float
    threshold: Threshold | None  # for two classes, if the rarer one is often missed
    reason: (
        str  # why this model was chosen, and how many more errors it makes than the best model
    )
    caveats: tuple[str, ...]  # worst first

    @property
    def error(self) -> float:
        """The error on held-out rows, including the choice of the model if there was one."""
        return self.standing.error.error

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval of ``error``."""
        return self.standing.error.low

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval of ``error``."""
        return self.standing.error.high

    @property
    def includes_choice(self) -> bool:
        """Whether ``error`` includes the choice of the model, because some folds choose others."""
        return self.standing.error.includes_choice

    @property
    def gains(self) -> tuple[Gain, ...]:
        """Values of the error, log-loss (if there are posteriors) and balanced accuracy."""
        return self.standing.gains

    @property
    def recalls(self) -> tuple[ClassRecall, ...]:
        """The recall of each class, lowest first."""
        return self.standing.recalls

    @property
    def headline(self) -> str:
        """The advice, the error, that of the constant classifier, and the class missed most.

        The error includes the choice of the model. The model's own error follows if it differs.
        """
        own = f" {_own_error_in_words(self.own)}" if self.includes_choice else ""
        return (
            f"{self._advice_with_error()}{own}"
            f"{_better_otherwise(self.model, self.standing, self.own.n_rows)} "
            f"{self._misses()}"
        )

    def _misses(self) -> str:
        sentence = _misses(self.model, self.recalls)
        if self.worse_split is None:
            return _capitalised(sentence)
        return f"On {self._rows}, {sentence}"

    @property
    def _rows(self) -> str:
        """A phrase on the rows on which errors were counted."""
        if self.worse_split is not None and self.split == "random rows":
            return "rows held out at random"
        return _HELD_OUT[self.split]

    def _advice_with_error(self) -> str:
        gain = self.gains[0]
        constant = percent(gain.constant)
        p = p_statement(gain.p_value)
        rows = counted(self.own.n_rows, "row")
        if gain.is_better:
            comparison = f"misclassifies significantly more: {constant} ({p}, {rows})"
        elif gain.model < gain.constant:
            comparison = (
                f"misclassifies {constant}, which is not significantly more ({p}, {rows})"
            )
        else:
            comparison = f"misclassifies no more: {constant} ({p})"
        errors = self._error_in_words()
        if self.worse_split is not None:
            errors = f"{self.worse_split}. {_capitalised(errors)}"
        constant_classifier = "The constant classifier"
        if self.worse_split is not None:
            constant_classifier = "On the same rows, the constant classifier"
        return (
            f"{self._advice()}: {errors}. {constant_classifier}, which always predicts the most "
            f"frequent class, {comparison}."
        )

    def _error_in_words(self) -> str:
        error = percent(self.error)
        interval = f"95 % interval {percent(self.low)} to {percent(self.high)}"
        if self.includes_choice:
            return (
                f"the procedure that chose {self.model}, repeated in every fold, misclassifies "
                f"{error} of {self._rows} ({interval})"
            )
        return f"it misclassifies {error} of {self._rows} ({interval})"

    @property
    def worse_split(self) -> str | None:
        """The start of a sentence on a split with a significantly larger error, if there is one."""
        if self.real_errors is None:
            return None
        worst = self.real_errors.headline
        if not worst.is_worse or worst.split == self.split:
            return None
        return (
            f"expect {percent(worst.error)} errors (95 % interval {percent(worst.low)} to "
            f"{percent(worst.high)}) on {_HELD_OUT[worst.split]}"
        )

    def _advice(self) -> str:
        if self.usable == "yes":
            return f"{_capitalised(self.model)} can be used"
        if self.usable == "with care":
            return f"Use {self.model} with care"
        if self.threshold is None:
            return f"Do not use {self.model}"
        return f"Do not use {self.model} as it is"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on a useful threshold, caveats, and the reason for choosing this model."""
        why = self.reason
        if self.choice is not None:
            why = f"{self.reason} {self._price_of_choice(self.choice)}"
        threshold = [] if self.threshold is None else [self._at_threshold(self.threshold)]
        doubts = [self._why_with_care()] if self.usable == "with care" else []
        return (*threshold, *doubts, why)

    def _why_with_care(self) -> str:
        """Return the conditions of the verdict "yes" that the model does not meet."""
        doubts = []
        if "error" not in self.standing.better:
            doubts.append(
                "it does not make significantly fewer errors than the constant classifier"
            )
        often_missed = [f"{each.label}" for each in self.recalls if each.is_often_missed]
        if often_missed:
            classes = noun_for(len(often_missed), "class")
            doubts.append(
                f"it misses more than a third of {classes} {listed(often_missed, FEW)}"
            )
        n_serious = self.standing.n_serious
        if n_serious:
            which = "caveat is" if n_serious == 1 else f"{n_serious} caveats are"
            doubts.append(f"the first {which} serious")
        return f"{_capitalised(self.model)} is to be used with care because {listed(doubts)}."

    def _price_of_choice(self, choice: ChoiceEstimate) -> str:
        error = percent(choice.error)
        low = percent(choice.low)
        high = percent(choice.high)
        if choice.n_rows:
            return (
                f"On {choice.n_rows:,} other rows, which were not used to choose the model, "
                f"it misclassifies {error} ({low} to {high})."
            )
        n_folds = len(choice.choices)
        n_same = choice.choices.count(self.model)
        again = "If the model is chosen again for every fold, from the rows of the other folds"
        if n_same == n_folds:
            return f"{again}, {self.model} is chosen in all {n_folds} folds."
        others = sorted({*choice.choices} - {self.model})
        chosen = f"{self.model} is chosen in {n_same} of {n_folds} folds. The others choose"
        if n_same == 0:
            chosen = f"{self.model} is chosen in none of {n_folds} folds. Instead, they choose"
        return (
            f"{again}, {chosen} {listed(others, FEW)}. The error is then {error} ({low} to "
            f"{high}). This error includes the effect of choosing the model."
        )

    def _at_threshold(self, threshold: Threshold) -> str:
        n_predicted = threshold.n_found + threshold.false_alarms
        precision = threshold.n_found / max(n_predicted, 1)
        return (
            f"The AUC of {self.model} is {loss_text(self.auc)}. Predicting class {threshold.label} "
            f"when its posterior is at least {exact_number(threshold.value)} finds "
            f"{threshold.n_found:,} of {counted(threshold.of, 'row')}, with "
            f"{counted(threshold.false_alarms, 'false alarm')} (precision {percent(precision)}). "
            "This threshold was chosen on the same rows, so results on new rows may be worse."
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
        Whether the rule of the comparison, and not the user, chose the model.
    tested : ChoiceEstimate, optional
        The error on rows that were not used for the choice. By default, it is estimated by folds.
    first, last : caveats
        Further caveats. Those of ``first`` come before the caveats of the comparison, and prevent
        the verdict "yes". Those of ``last`` come after the caveats of the comparison.
    """
    model = comparison[comparison.reference]
    choice = tested
    if chosen and tested is None:
        choice = comparison.choice
    standing = standing_of(comparison, choice, first=first)
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
        threshold=_useful_threshold(model, standing.recalls),
        reason=reason,
        caveats=_all_different(serious, _sentences(comparison.caveats, "minor"), last),
    )


def standing_of(
    comparison: Comparison, choice: ChoiceEstimate | None, first: Sequence[str] = ()
) -> Standing:
    """Return whether the reference can be used, by the rules in ``Standing``."""
    model = comparison[comparison.reference]
    stated = _stated_error(comparison, model, choice)
    gains = _gains(comparison, model, stated)
    recalls = _recalls(model.held_out)
    better = tuple(gain.measure for gain in gains if gain.is_better)
    worst = most_missed(recalls)
    n_serious = len({*first, *_sentences(comparison.caveats, "serious")})
    usable: Usable = "no"
    if "error" in better and not n_serious and not worst.is_often_missed:
        usable = "yes"
    elif better:
        usable = "with care"
    return Standing(usable, n_serious, stated, better, gains, recalls)


def _stated_error(
    comparison: Comparison, model: Outcome, choice: ChoiceEstimate | None
) -> StatedError:
    """Return the error including the choice, or the model's own if no fold chooses another."""
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
    """Return the sentences of all arguments in order, without duplicates."""
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
    """Return the balanced accuracies of the model and of a constant classifier, which is 1/K."""
    rows = model.held_out
    w = rows.weights / rows.weights.mean()  # so that sums of weights are numbers of rows
    n = np.bincount(rows.truth, w)
    hits = np.bincount(rows.truth, w * ~rows.wrong)[n > 0]
    n = n[n > 0]
    k = len(n)
    accuracy = float((hits / n).mean())
    # Var = Σ_k r_k (1 − r_k) / n_k / K², enlarged because folds share training rows
    r = (hits + 1) / (n + 2)
    variance = (r * (1 - r) / n).sum() * model.n_rows / model.effective_rows
    standard_error = np.sqrt(variance) / k
    p_value = float(2 * ndtr(-abs(accuracy - 1 / k) / standard_error))
    return Gain("balanced accuracy", accuracy, 1 / k, p_value)


def _recalls(rows: Predictions) -> tuple[ClassRecall, ...]:
    """Return the recall of each class, lowest first."""
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
    """Return 1 for each held-out row, or 1/r if r repeated folds hold it out, (m,)."""
    return np.asarray(1 / np.bincount(rows.rows)[rows.rows])


def _useful_threshold(model: Outcome, recalls: Sequence[ClassRecall]) -> Threshold | None:
    """Return the threshold with the highest balanced accuracy for the rarer of two classes.

    The result is None if this class is not often missed, if there are no posteriors, or if the
    posteriors rank the rows no better than chance.
    """
    rows = model.held_out
    n_folds = int(model.folds.max()) + 1
    if rows.logs is None or len(rows.classes) != 2 or n_folds == 1:
        return None
    once = _counted_once(rows)
    counts = np.bincount(rows.truth, once, 2)
    rare = int(counts.argmin())
    rare_label = python_scalar(rows.classes[rare])
    if not any(each.is_often_missed for each in recalls if each.label == rare_label):
        return None
    # se² ≤ A (1 − A) / min(n₀, n₁)  (Birnbaum & Klose 1957)
    bound = model.auc * (1 - model.auc) / counts[rare] * model.n_rows / model.effective_rows
    if not model.auc - 2 * np.sqrt(bound) > 0.5:
        return None

    # Balanced accuracy weighs errors so: cost of a miss / cost of a false alarm = rows of the
    # common class / rows of the rare class.
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
        label=rare_label,
        n_found=int(np.rint(once @ (is_called & is_rare))),
        of=round(counts[rare]),
        value=value,
        false_alarms=int(np.rint(once @ (is_called & ~is_rare))),
    )


def choice_document(choice: ChoiceEstimate | None) -> dict[str, object] | None:
    """Return the error including the choice of the model as a dictionary for JSON."""
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
    """Return the class with the lowest recall; of equals, the class with the most rows."""
    return min(recalls, key=lambda recall: (recall.n_found / recall.of, -recall.of))


def all_most_missed(recalls: Sequence[ClassRecall]) -> tuple[ClassRecall, ...]:
    """Return all classes with the lowest recall, ordered from the most rows to the fewest."""
    worst = most_missed(recalls)
    tied = [each for each in recalls if each.n_found * worst.of == worst.n_found * each.of]
    return tuple(sorted(tied, key=lambda recall: -recall.of))


def _misses(model: str, recalls: Sequence[ClassRecall]) -> str:
    """Return a sentence on the class, or the tied classes, with the lowest recall."""
    tied = all_most_missed(recalls)
    worst = tied[0]
    n_missed = worst.of - worst.n_found
    if n_missed == 0:
        return f"{model} finds all rows of every class."
    others = [each for each in recalls if each not in tied and each.misses_half]
    missed = f"{model} misses {_share_missed(tied)}"
    if others:
        return f"{missed}, and at least half of the rows of {counted(len(others), 'other class')}."
    return f"{missed}."


def _share_missed(tied: Sequence[ClassRecall]) -> str:
    """Return a phrase on the share of missed rows that all of these classes have."""
    worst = tied[0]
    n_missed = worst.of - worst.n_found
    share = percent(n_missed / worst.of)
    if len(tied) == 1:
        rows = counted(worst.of, "row")
        return f"{n_missed:,} of {rows} of class {worst.label} ({share})"
    names = listed([str(each.label) for each in tied], FEW)
    counts = listed([f"{each.of - each.n_found:,} of {each.of:,}" for each in tied], FEW)
    return f"{share} of the rows of each of the classes {names} ({counts})"
