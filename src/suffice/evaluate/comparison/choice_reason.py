"""Why a model is recommended, in the words of the rule that chose it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.text.lists import counted
from suffice.core.text.numbers import count, percent
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
    """Return why the recommended model was chosen, and what speaks for the closest other one."""
    losses = comparison.row_losses
    made = losses.recommendation()
    sentences = [_why_chosen(comparison, made)]
    smaller = _smaller_with_less_loss(losses, made)
    if smaller is not None:
        sentences.append(_why_not_smaller(losses, made, smaller))
    rival = _rival(losses, made)
    if rival is not None:
        sentences.append(_why_not(comparison, made, rival))
    readable = next((o for o in comparison.outcomes if o.is_readable), comparison.baseline)
    if not losses.readable[made.chosen] and readable is not comparison.baseline:
        sentences.append(
            f"Easier to read, as an equation or one tree: {readable.name} "
            f"({percent(readable.error)} errors, log-loss {loss_text(readable.log_loss)})."
        )
    return " ".join(sentences)


def _why_chosen(comparison: Comparison, made: Recommendation) -> str:
    losses = comparison.row_losses
    name = losses.names[made.chosen]
    best = comparison[losses.names[made.best]]
    measure = "log-loss" if made.loss == LOG_LOSS else "error"
    least = percent(best.error)
    if made.loss == LOG_LOSS:
        least = _log_loss_of_rule(losses, made.best, best.log_loss)
    if sum(each != CONSTANT for each in losses.names) == 1:
        return f"Why {name}: no other model was compared."
    if made.chosen == made.best and _has_least(losses, made):
        return f"Why {name}: least {measure} ({least})."
    rows = counted(comparison.n_rows, "row")
    if len(made.rarely_wrong) == 1:
        return _why_only_one(losses, made, rows)
    if made.chosen == made.best:
        of_which = f"the {len(made.rarely_wrong)} models"
        if made.set_aside:
            of_which = f"the {len(made.rarely_wrong)} models of usable posteriors"
        return (
            f"Why {name}: least {measure} ({least}) of {of_which} that no other one beats "
            f"significantly in errors on {rows}."
        )
    size = losses.sizes[made.chosen]
    if np.isfinite(size) and size == min(losses.sizes[m] for m in made.close):
        return (
            f"Why {name}: it is the simplest, with {count(size)} parameters, of the models within "
            f"one standard error of the least {measure} ({best.name}, {least})."
        )
    return (
        f"Why {name}: its {measure} is within one standard error of the least ({best.name}, "
        f"{least}), and it can be written down, as an equation or one tree."
    )


def _log_loss_of_rule(losses: RowLosses, model: int, log_loss: float) -> str:
    """Return the log-loss that the rule compares, and where it differs from the mean, how."""
    limited = loss_text(losses.means[LOG_LOSS, model])
    if limited == loss_text(log_loss):
        return limited
    return f"{limited}, with {LARGEST:.0f} at most for each row"


def _why_only_one(losses: RowLosses, made: Recommendation, rows: str) -> str:
    """Return that every other eligible model errs more often, and by how much at least."""
    name = losses.names[made.chosen]
    errors = losses.means[ERROR]
    others = [
        m
        for m, each in enumerate(losses.names)
        if each != CONSTANT
        and m != made.chosen
        and m not in made.set_aside
        and np.isfinite(errors[m])
    ]
    if not others:
        return (
            f"Why {name}: the posteriors of every other model are significantly worse than the "
            f"class frequencies on {rows}."
        )
    least_gap = min(errors[m] for m in others) - errors[made.chosen]
    which = "other model of usable posteriors" if made.set_aside else "other model"
    return (
        f"Why {name}: every {which} errs significantly more often, by at least "
        f"{100 * least_gap:.1f} points on {rows}."
    )


def _has_least(losses: RowLosses, made: Recommendation) -> bool:
    """Whether no model at all has a smaller loss than the best of those that may be chosen."""
    models = [m for m, name in enumerate(losses.names) if name != CONSTANT]
    least = np.nanmin(losses.means[made.loss, models])
    return bool(losses.means[made.loss, made.best] <= least)


def _rival(losses: RowLosses, made: Recommendation) -> int | None:
    """Return the other model of fewest errors, if it makes no more than the chosen one."""
    others = [
        m
        for m, name in enumerate(losses.names)
        if name != CONSTANT
        and m not in (made.chosen, made.best)
        and losses.means[ERROR, m] <= losses.means[ERROR, made.chosen]
    ]
    return min(others, key=lambda m: tuple(losses.means[:, m]), default=None)


def _smaller_with_less_loss(losses: RowLosses, made: Recommendation) -> int | None:
    """Return the smallest model of no more loss than the chosen one and fewer parameters, if any.

    It was not chosen because it errs more often, by more than the rule allows.
    """
    loss = losses.means[made.loss]
    errors = losses.means[ERROR]
    smaller = [
        m
        for m, name in enumerate(losses.names)
        if name != CONSTANT
        and m not in made.set_aside
        and losses.sizes[m] < losses.sizes[made.chosen]
        and losses.readable[m] >= losses.readable[made.chosen]
        and loss[m] <= loss[made.chosen]
        and errors[m] > errors[made.chosen]
    ]
    return min(smaller, key=lambda m: losses.sizes[m], default=None)


def _why_not_smaller(losses: RowLosses, made: Recommendation, smaller: int) -> str:
    name = losses.names[smaller][:1].upper() + losses.names[smaller][1:]
    size = count(losses.sizes[smaller])
    error = percent(losses.means[ERROR, smaller])
    if smaller in made.rarely_wrong:
        return (
            f"{name} has fewer parameters ({size}), but makes more errors ({error}) and is not "
            f"within one standard error of {losses.names[made.best]} on the same rows."
        )
    return (
        f"{name} has fewer parameters ({size}), but another model makes significantly fewer errors "
        f"({error})."
    )


def _differs_otherwise(losses: RowLosses, made: Recommendation, rival: int) -> bool:
    """Whether simplicity tells models apart, and no worse log-loss of the rival does."""
    is_easier = losses.readable[made.chosen] and not losses.readable[rival]
    is_smaller = losses.sizes[made.chosen] < losses.sizes[rival]
    log_losses = losses.means[LOG_LOSS]
    reads_as_least = loss_text(log_losses[rival]) == loss_text(log_losses[made.best])
    is_no_worse = log_losses[rival] <= log_losses[made.chosen]
    return (is_easier or is_smaller) and bool(reads_as_least or is_no_worse)


def _why_not(comparison: Comparison, made: Recommendation, rival: int) -> str:
    """Return why a model that makes no more errors is not recommended."""
    losses = comparison.row_losses
    other = comparison[losses.names[rival]]
    name = other.name[0].upper() + other.name[1:]
    error = percent(other.error)
    is_equal = losses.means[ERROR, rival] == losses.means[ERROR, made.chosen]
    how = "errs as often" if is_equal else "errs less often"
    if np.isnan(other.log_loss) and made.loss == LOG_LOSS:
        return f"{name} {how} ({error}), but states no probabilities."
    is_useless = made.loss == LOG_LOSS and not losses.has_useful_posteriors(rival)
    if is_useless or rival in made.set_aside:
        constant = loss_text(comparison.baseline.log_loss)
        return (
            f"{name} {how} ({error}), but its posteriors are worse than the class frequencies "
            f"(log-loss {loss_text(other.log_loss)} against {constant})."
        )
    if rival not in made.close and not _differs_otherwise(losses, made, rival):
        if losses.means[made.loss, rival] <= losses.means[made.loss, made.chosen]:
            best = losses.names[made.best]
            return (
                f"{name} {how} ({error}), but is not within one standard error of {best} on the "
                "same rows."
            )
        return (
            f"{name} {how} ({error}), but its log-loss is more than one standard error worse "
            f"({_log_loss_of_rule(losses, rival, other.log_loss)})."
        )
    if losses.readable[made.chosen] and not losses.readable[rival]:
        return f"{name} {how} ({error}), but cannot be written down."
    return f"{name} {how} ({error}), but has more parameters."
