"""Sentences on why a model is recommended, following the rule that chose it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.text.lists import counted
from suffice.core.text.numbers import count, percent, points_between
from suffice.core.text.numbers import loss as loss_text
from suffice.evaluate.comparison.models import CONSTANT
from suffice.evaluate.comparison.paired import (
    ERROR,
    LARGEST,
    LOG_LOSS,
    Recommendation,
    RowLosses,
)

if TYPE_CHECKING:
    from suffice.evaluate.comparison.comparison import Comparison


def reason_for(comparison: Comparison) -> str:
    """Return why the recommended model was chosen, and how the closest other model compares."""
    losses = comparison.row_losses
    recommendation = losses.recommendation()
    sentences = [_why_chosen(comparison, recommendation)]
    smaller = _smaller_with_less_loss(losses, recommendation)
    if smaller is not None:
        sentences.append(_why_not_smaller(losses, recommendation, smaller))
    rival = _rival(losses, recommendation)
    if rival is not None:
        sentences.append(_why_not(comparison, recommendation, rival))
    others = [o for o in comparison.outcomes if o is not comparison.baseline]
    readable_models = [o for o in others if o.is_readable]
    with_posteriors = [
        o for o in readable_models if losses.has_useful_posteriors(losses.names.index(o.name))
    ]
    readable = next(iter(with_posteriors or readable_models), None)
    if not losses.readable[recommendation.chosen] and readable is not None:
        name = f"{readable.name[:1].upper()}{readable.name[1:]}"
        sentences.append(
            f"{name} is easier to read ({percent(readable.error)} errors, log-loss "
            f"{loss_text(readable.log_loss)})."
        )
    return " ".join(sentences)


def _why_chosen(comparison: Comparison, recommendation: Recommendation) -> str:
    losses = comparison.row_losses
    name = losses.names[recommendation.chosen]
    best = comparison[losses.names[recommendation.best]]
    measure = "log-loss" if recommendation.loss == LOG_LOSS else "error"
    least = percent(best.error)
    if recommendation.loss == LOG_LOSS:
        least = _log_loss_of_rule(losses, recommendation.best, best.log_loss)
    n_models = sum(each != CONSTANT for each in losses.names)
    if n_models == 1:
        return f"Why {name}: no other model was compared."
    if recommendation.chosen == recommendation.best and _has_least(losses, recommendation):
        return f"Why {name}: it has the lowest {measure} ({least})."
    rows = counted(comparison.n_rows, "row")
    if len(recommendation.unbeaten_in_error) == 1:
        return _why_only_one(losses, recommendation, rows)
    if recommendation.chosen == recommendation.best:
        candidates = f"the {len(recommendation.unbeaten_in_error)} models"
        if recommendation.set_aside:
            candidates = f"{candidates} with usable posteriors"
        return (
            f"Why {name}: of {candidates} that no other model beats significantly by error, it has "
            f"the lowest {measure} ({least}; {rows})."
        )
    return _why_about_as_good(losses, recommendation, measure, least)


def _why_about_as_good(
    losses: RowLosses,
    recommendation: Recommendation,
    measure: str,
    least: str,
) -> str:
    """Return the reason for a chosen model whose loss is close to the lowest, but above it."""
    name = losses.names[recommendation.chosen]
    best = losses.names[recommendation.best]
    size = losses.sizes[recommendation.chosen]
    if recommendation.replaced is not None:
        return (
            f"Why {name}: it has fewer parameters ({count(size)}) than "
            f"{losses.names[recommendation.replaced]}, makes no more errors, and its {measure} is "
            f"within one standard error of the lowest ({best}, {least})."
        )
    if np.isfinite(size) and size == min(losses.sizes[m] for m in recommendation.close):
        return (
            f"Why {name}: it has the fewest parameters ({count(size)}) of the models about as good "
            f"as the one with the lowest {measure} ({best}, {least}). None of their losses "
            f"exceeds that of {best} by more than one standard error: that of the difference "
            f"or of {best}, whichever is smaller."
        )
    return (
        f"Why {name}: its {measure} is within one standard error of the lowest ({best}, "
        f"{least}), and it can be written as an equation or a single tree."
    )


def _log_loss_of_rule(losses: RowLosses, model: int, log_loss: float) -> str:
    """Return a model's log-loss as text, with its capped value if the cap changes it."""
    limited = loss_text(losses.means[LOG_LOSS, model])
    if limited == loss_text(log_loss):
        return limited
    return f"{limited}, capped at {LARGEST:.0f} per row"


def _why_only_one(losses: RowLosses, recommendation: Recommendation, rows: str) -> str:
    """Return the reason if all other eligible models make more errors, with the smallest gap."""
    name = losses.names[recommendation.chosen]
    errors = losses.means[ERROR]
    others = [
        m
        for m, each in enumerate(losses.names)
        if each != CONSTANT
        and m != recommendation.chosen
        and m not in recommendation.set_aside
        and np.isfinite(errors[m])
    ]
    if not others:
        return (
            f"Why {name}: the posteriors of every other model are significantly worse than the "
            f"class frequencies ({rows})."
        )
    least = min(errors[m] for m in others)
    least_gap = points_between(least, errors[recommendation.chosen]).removeprefix("+")
    which = "other model with usable posteriors" if recommendation.set_aside else "other model"
    return (
        f"Why {name}: every {which} makes significantly more errors, by at least "
        f"{least_gap} percentage points ({rows})."
    )


def _has_least(losses: RowLosses, recommendation: Recommendation) -> bool:
    """Whether the best eligible model has the lowest loss of all models."""
    models = [m for m, name in enumerate(losses.names) if name != CONSTANT]
    least = np.nanmin(losses.means[recommendation.loss, models])
    return bool(losses.means[recommendation.loss, recommendation.best] <= least)


def _rival(losses: RowLosses, recommendation: Recommendation) -> int | None:
    """Return the other model with the fewest errors, if the chosen model makes at least as many."""
    others = [
        m
        for m, name in enumerate(losses.names)
        if name != CONSTANT
        and m not in (recommendation.chosen, recommendation.best)
        and losses.means[ERROR, m] <= losses.means[ERROR, recommendation.chosen]
    ]
    return min(others, key=lambda m: tuple(losses.means[:, m]), default=None)


def _smaller_with_less_loss(losses: RowLosses, recommendation: Recommendation) -> int | None:
    """Return the smallest model with fewer parameters and no more loss than the chosen model.

    The rule did not choose it because it makes too many errors. None if there is no such model.
    """
    loss = losses.means[recommendation.loss]
    errors = losses.means[ERROR]
    smaller = [
        m
        for m, name in enumerate(losses.names)
        if name != CONSTANT
        and m not in recommendation.set_aside
        and losses.sizes[m] < losses.sizes[recommendation.chosen]
        and losses.readable[m] >= losses.readable[recommendation.chosen]
        and loss[m] <= loss[recommendation.chosen]
        and errors[m] > errors[recommendation.chosen]
    ]
    return min(smaller, key=lambda m: losses.sizes[m], default=None)


def _why_not_smaller(losses: RowLosses, recommendation: Recommendation, smaller: int) -> str:
    name = losses.names[smaller][:1].upper() + losses.names[smaller][1:]
    size = count(losses.sizes[smaller])
    error = percent(losses.means[ERROR, smaller])
    if smaller in recommendation.unbeaten_in_error:
        return (
            f"{name} has fewer parameters ({size}), but makes more errors ({error}), and "
            f"{_excess_in_words(losses, recommendation, smaller)}."
        )
    return (
        f"{name} has fewer parameters ({size}), but "
        f"{_beaten_in_words(losses, recommendation, smaller)}."
    )


def _beaten_in_words(losses: RowLosses, recommendation: Recommendation, model: int) -> str:
    """Return a phrase on a loss by which another model is significantly better: first the error."""
    others = [
        m
        for m, name in enumerate(losses.names)
        if name != CONSTANT and m != model and m not in recommendation.set_aside
    ]
    better = [
        (loss, losses.difference(loss, m, model).p_value, m)
        for loss in dict.fromkeys((ERROR, recommendation.loss))
        for m in others
        if losses.difference(loss, m, model).verdict == "better"
    ]
    loss, _, other = min(better)
    measure = "error" if loss == ERROR else "log-loss"
    style = percent if loss == ERROR else loss_text
    units = counted(len(losses.weights), "group" if losses.grouped else "row")
    return (
        f"its {measure} is significantly above that of {losses.names[other]} "
        f"({style(losses.means[loss, model])} against {style(losses.means[loss, other])}, {units})"
    )


def _excess_in_words(
    losses: RowLosses,
    recommendation: Recommendation,
    model: int,
    log_loss: float | None = None,
) -> str:
    """Return a phrase on the loss that keeps a model from being about as good as the best."""
    best = losses.names[recommendation.best]
    excess = losses.excess(model, recommendation.best, recommendation.loss)
    if excess is None:
        return _beaten_in_words(losses, recommendation, model)
    loss, is_of_difference = excess
    measure = "error" if loss == ERROR else "log-loss"
    if loss == LOG_LOSS and log_loss is not None:
        measure = f"log-loss ({_log_loss_of_rule(losses, model, log_loss)})"
    whose = "of the difference" if is_of_difference else f"of {best}"
    return f"its {measure} exceeds that of {best} by more than one standard error {whose}"


def _differs_otherwise(losses: RowLosses, recommendation: Recommendation, rival: int) -> bool:
    """Whether simplicity decides against the rival, because its log-loss is as good."""
    is_easier = losses.readable[recommendation.chosen] and not losses.readable[rival]
    is_smaller = losses.sizes[recommendation.chosen] < losses.sizes[rival]
    log_losses = losses.means[LOG_LOSS]
    reads_as_least = loss_text(log_losses[rival]) == loss_text(log_losses[recommendation.best])
    is_no_worse = log_losses[rival] <= log_losses[recommendation.chosen]
    return (is_easier or is_smaller) and bool(reads_as_least or is_no_worse)


def _percent_beside(share: float, other: float) -> str:
    """Return a share in percent; if it rounds to the same text as the other, return both."""
    text = percent(share)
    if share == other or text != percent(other):
        return text
    for n_digits in range(2, 6):
        first = f"{100 * share:.{n_digits}f}"
        second = f"{100 * other:.{n_digits}f}"
        if first != second:
            return f"{first}\N{NO-BREAK SPACE}% against {second}\N{NO-BREAK SPACE}%"
    return text


def _why_not(comparison: Comparison, recommendation: Recommendation, rival: int) -> str:
    """Return why a rival that makes no more errors than the chosen model is not recommended."""
    losses = comparison.row_losses
    other = comparison[losses.names[rival]]
    name = other.name[0].upper() + other.name[1:]
    error = _percent_beside(other.error, comparison[losses.names[recommendation.chosen]].error)
    is_equal = losses.means[ERROR, rival] == losses.means[ERROR, recommendation.chosen]
    how = "makes as many errors" if is_equal else "makes fewer errors"
    if np.isnan(other.log_loss) and recommendation.loss == LOG_LOSS:
        return f"{name} {how} ({error}), but predicts no probabilities."
    is_useless = (
        recommendation.loss == LOG_LOSS
        and losses.has_useful_posteriors(recommendation.chosen)
        and not losses.has_useful_posteriors(rival)
    )
    if is_useless or rival in recommendation.set_aside:
        constant = loss_text(comparison.baseline.log_loss)
        return (
            f"{name} {how} ({error}), but its posteriors are worse than the class frequencies "
            f"(log-loss {loss_text(other.log_loss)} against {constant})."
        )
    if rival not in recommendation.close and not _differs_otherwise(
        losses, recommendation, rival
    ):
        excess = _excess_in_words(losses, recommendation, rival, other.log_loss)
        return f"{name} {how} ({error}), but {excess}."
    if losses.readable[recommendation.chosen] and not losses.readable[rival]:
        return (
            f"{name} {how} ({error}), but cannot be written as an equation or a single tree."
        )
    return f"{name} {how} ({error}), but has more parameters."
