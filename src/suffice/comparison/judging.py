"""Members judged one after another on the same folds."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from suffice.comparison.answers import Answers
from suffice.comparison.models import n_parameters
from suffice.comparison.outcome import Failure, Outcome, outcome_of
from suffice.comparison.task import FromSums, way_of, weight_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from suffice.comparison.models import Member
    from suffice.comparison.task import Task

_ONE_AT_A_TIME = threading.RLock()  # the filters of warnings belong to the whole process


@contextmanager
def overheard() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings raised meanwhile."""
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def in_short(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return the first warning of each category, with how often it came."""
    times = Counter(warning.category for warning in caught)
    first: dict[type[Warning], str] = {}
    for warning in caught:
        first.setdefault(warning.category, " ".join(str(warning.message).split()))
    return [
        text if times[category] == 1 else f"{text} ({times[category]} times)"
        for category, text in first.items()
    ]


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
