"""Members judged one after another on the same folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.evaluation.compare.answers import Answers
from suffice.evaluation.compare.notes import in_short, overheard
from suffice.evaluation.compare.outcome import Failure, Outcome, outcome_of
from suffice.evaluation.compare.size import n_parameters
from suffice.evaluation.compare.ways import FromSums, way_of, weight_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.evaluation.compare.line_up import Member
    from suffice.evaluation.compare.task import Task


def judged(
    member: Member, task: Task, step: Callable[[], None], notes: tuple[str, ...] = ()
) -> Outcome | Failure:
    """Return what the folds of a task say of a member, or why nothing can be said."""
    fold = 0
    try:
        with overheard() as caught:
            way = way_of(member.estimator)
            answers, seconds, sizes = [], [], []
            for fold, (_, test) in enumerate(task.splits):
                learnt = way.learn(task, fold)
                answers.append(Answers.of(learnt.fitted, way.shown(task, test), task, test))
                seconds.append(learnt.seconds)
                sizes.append(n_parameters(learnt.fitted))
                step()
    except Exception as error:
        return Failure(member.name, _message(error, fold))
    return outcome_of(
        member.name,
        answers,
        from_sums=isinstance(way, FromSums),
        fit_seconds=seconds,
        sizes=sizes,
        notes=(*notes, *_unweighted(member.estimator, task), *in_short(caught)),
    )


def _message(error: Exception, fold: int) -> str:
    text = " ".join(str(error).split()) or "no reason given"
    where = "" if fold == 0 else f" (fold {fold + 1})"
    return f"{type(error).__name__}: {text}{where}"


def _unweighted(estimator: Any, task: Task) -> tuple[str, ...]:
    weighted = hasattr(estimator, "fit_moments") or weight_name(estimator) is not None
    if task.weight is None or weighted:
        return ()
    return ("learns without weights: its fit takes none",)
