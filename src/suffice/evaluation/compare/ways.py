"""Two ways to learn from the training rows of a fold: from sums, or by fitting again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from suffice.evaluation.compare.line_up import core
from suffice.evaluation.compare.task import Need

if TYPE_CHECKING:
    from suffice.evaluation.compare.task import Task
    from suffice.moments import Moments
    from suffice.typing import Codes

_CHOSEN_FROM_ROWS = ("pooling", "shrinkage", "temperature")  # where they are "auto"


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """A fitted classifier and the seconds it took."""

    fitted: Any
    seconds: float


class Way(Protocol):
    """How a member learns from the training rows of one fold."""

    def learn(self, task: Task, fold: int) -> Learnt:
        """Return the classifier of the rows outside a fold."""
        ...

    def shown(self, task: Task, at: Codes) -> Any:
        """Return rows in the form that the member learnt from."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FromSums:
    """Read from the sums of the other folds: no row is seen twice, and nothing is fitted."""

    estimator: Any
    need: Need

    def learn(self, task: Task, fold: int) -> Learnt:
        """Return the classifier of the rows outside a fold."""
        sums = task.sums(self.need)
        started = time.perf_counter()
        fitted = self.read(sums.trains[fold])
        return Learnt(fitted, time.perf_counter() - started + sums.seconds)

    def shown(self, task: Task, at: Codes) -> Any:
        """Return rows as numbers."""
        return task.x[at]

    def read(self, moments: Moments) -> Any:
        """Return the classifier of the rows that were summed up."""
        return clone(self.estimator).fit_moments(moments)


@dataclass(frozen=True, slots=True, eq=False)
class ByFitting:
    """Fitted to the rows of the other folds."""

    estimator: Any

    def learn(self, task: Task, fold: int) -> Learnt:
        """Return the classifier of the rows outside a fold."""
        train, _ = task.splits[fold]
        rows = task.rows(train)
        started = time.perf_counter()
        fitted = self.fit(rows, task, train)
        return Learnt(fitted, time.perf_counter() - started)

    def shown(self, task: Task, at: Codes) -> Any:
        """Return rows as the kind of table they came in."""
        return task.rows(at)

    def fit(self, rows: Any, task: Task, at: Codes) -> Any:
        """Return the classifier of some rows, weighted if it knows how."""
        weight = task.weight_of(at)
        name = None if weight is None else weight_name(self.estimator)
        given = {} if name is None else {name: weight}
        return clone(self.estimator).fit(rows, task.labels[at], **given)


def way_of(estimator: Any) -> FromSums | ByFitting:
    """Return how an estimator learns: from sums, if they tell all it needs."""
    need = need_of(estimator)
    return ByFitting(estimator) if need is None else FromSums(estimator, need)


def need_of(estimator: Any) -> Need | None:
    """Return the sums from which an estimator can be read, or None where it must see rows."""
    if not hasattr(estimator, "fit_moments"):
        return None
    settings = estimator.get_params(deep=False)
    open_settings = [settings.get(name) for name in _CHOSEN_FROM_ROWS]
    if settings.get("transform") is not None or any(_is_auto(s) for s in open_settings):
        return None
    if not hasattr(estimator, "recipe"):
        return Need("auto", fourth=False)
    recipe = estimator.recipe()
    storage = "auto" if recipe.storage == "pooled" else recipe.storage
    return Need(storage, recipe.needs_fourth)


def weight_name(estimator: Any) -> str | None:
    """Return what the weights are called in ``fit``, None where it takes none."""
    if not has_fit_parameter(core(estimator), "sample_weight"):
        return None
    last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return f"{last}sample_weight"


def _is_auto(setting: Any) -> bool:
    return isinstance(setting, (str, np.str_)) and setting == "auto"
