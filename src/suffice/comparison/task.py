"""Two ways to learn from the training rows of a fold: from sums, or by fitting again."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from suffice.comparison.models import core
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.moments.collect import affordable_storage
from suffice.table.labels import encode
from suffice.table.matrix import as_matrix, as_weights, is_complete, taken
from suffice.table.sampling import ranks_within
from suffice.validation.folds import folds_of, splits_of
from suffice.validation.splitting import checked_groups, checked_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.moments import Moments
    from suffice.table.matrix import Matrix
    from suffice.typing import Codes, Floats, Labels

WISHES = ("drop", "keep")


def checked_wish(missing: Any) -> str:
    """Return what is to be done with rows that have missing values."""
    if missing not in WISHES:
        msg = f"missing must be 'drop' or 'keep', got {missing!r}"
        raise InvalidParameterError(msg)
    return str(missing)


FEWEST = 10  # rows of a class that a sample keeps, where there are so many


@dataclass(frozen=True, slots=True)
class Need:
    """The sums that a member is read from."""

    storage: str
    fourth: bool


@dataclass(frozen=True, slots=True, eq=False)
class FoldSums:
    """The sums of the training rows of every fold, and what they cost."""

    trains: tuple[Moments, ...]
    seconds: float  # for each fold


@dataclass(frozen=True, eq=False)
class Task:
    """What every member is judged on."""

    X: Any  # as it was given  (n, d)
    labels: Labels  # (n,)
    classes: Labels  # (K,)
    codes: Codes  # (n,)
    weight: Floats | None  # (n,)
    splits: tuple[tuple[Codes, Codes], ...]  # row numbers to learn from and to judge by
    protocol: str  # the splits in words
    _sums: dict[Need, FoldSums] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        cv: Any,
        sample_weight: Any,
        groups: Any,
        seed: int,
        missing: str = "drop",
    ) -> Task:
        """Return the task of users' rows, labels and folds."""
        if isinstance(X, (list, tuple)):
            X = np.asarray(X)
        labels = checked_labels(X, y)
        weight = as_weights(sample_weight, len(labels))
        known = None if groups is None else checked_groups(groups, len(labels))
        splitter, protocol = _splitter(cv, labels, known, seed)
        splits = splits_of(splitter, np.zeros((len(labels), 1)), labels, known)
        whole = is_complete(X) if checked_wish(missing) == "drop" else np.ones(len(labels), bool)
        counted = whole if weight is None else whole & (weight > 0)
        kept = tuple((a[counted[a]], b[counted[b]]) for a, b in splits)
        _check_rows(kept)
        said = f"{protocol}{_left_out(whole)}"
        return cls(X, labels, *encode(labels), weight, kept, said)

    @property
    def n_rows(self) -> int:
        """Rows that some fold judges by."""
        return len(self.judged_rows)

    @cached_property
    def judged_rows(self) -> Codes:
        """Numbers of the rows that some fold judges by."""
        return np.unique(np.concatenate([test for _, test in self.splits]))

    @cached_property
    def x(self) -> Matrix:
        """The rows as numbers, (n, d)."""
        return as_matrix(self.X)[0]

    @property
    def test_ratio(self) -> float:
        """Rows judged by for each row learnt from, on average over folds."""
        return float(np.mean([len(test) / len(train) for train, test in self.splits]))

    def rows(self, at: Codes) -> Any:
        """Return some rows, as the kind of table they came in."""
        return taken(self.X, at)

    def weight_of(self, at: Codes) -> Floats | None:
        """Return the weights of some rows."""
        return None if self.weight is None else self.weight[at]

    def sums(self, need: Need) -> FoldSums:
        """Return the sums of every fold's training rows, collected once for all who need them."""
        if need not in self._sums:
            self._sums[need] = self._collected(need)
        return self._sums[need]

    def sampled(self, n_rows: int, seed: int) -> Task:
        """Return the same folds within a stratified sample of about ``n_rows`` rows."""
        counts = np.bincount(self.codes, minlength=len(self.classes))
        share = n_rows / len(self.labels)
        quota = np.maximum(np.rint(share * counts), np.minimum(counts, FEWEST))
        ranks = ranks_within(self.codes, np.random.default_rng(seed))
        kept = ranks < quota[self.codes]
        splits = tuple((train[kept[train]], test[kept[test]]) for train, test in self.splits)
        return replace(self, splits=splits, _sums={})

    def _collected(self, need: Need) -> FoldSums:
        started = time.perf_counter()
        storage = need.storage
        if storage == "auto":
            storage = affordable_storage(len(self.classes), self.x.shape[1])
        options: dict[str, Any] = {"storage": storage, "fourth": need.fourth}
        folds = folds_of(self.x, self.labels, self.weight, self.splits, **options)
        seconds = (time.perf_counter() - started) / len(folds)
        return FoldSums(tuple(fold.train for fold in folds), seconds)


def _check_rows(splits: Sequence[tuple[Codes, Codes]]) -> None:
    if not all(len(train) and len(test) for train, test in splits):
        msg = (
            "a fold has no rows to learn from or to judge by, once rows of weight zero and rows "
            "with missing values are left out: use fewer folds, fill in the values, or set "
            "missing='keep'"
        )
        raise InvalidInputError(msg)


def _left_out(whole: Any) -> str:
    n = int((~whole).sum())
    rows = "row" if n == 1 else "rows"
    return f"; {n:,} {rows} with missing values left out" if n else ""


def _splitter(cv: Any, labels: Labels, groups: Labels | None, seed: int) -> tuple[Any, str]:
    """Return what divides the rows, and how to say so."""
    if not isinstance(cv, (int, np.integer)):
        return _own_splitter(cv, labels, groups)
    _check_folds(int(cv), labels, groups)
    if groups is not None:
        folds = StratifiedGroupKFold(int(cv), shuffle=True, random_state=seed)
        return folds, f"{cv} stratified folds of whole groups, shuffled with seed {seed}"
    folds = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    return folds, f"{cv} stratified folds, shuffled with seed {seed}"


def _own_splitter(cv: Any, labels: Labels, groups: Labels | None) -> tuple[Any, str]:
    if hasattr(cv, "get_n_splits"):
        n = cv.get_n_splits(labels, labels, groups)
        return cv, f"{n} folds, {type(cv).__name__}"
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        msg = f"cv must be a number of folds, a splitter or (train, test) row numbers, got {cv!r}"
        raise InvalidParameterError(msg)
    given = list(cv)
    return given, f"{len(given)} folds, given by row numbers"


def _check_folds(cv: int, labels: Labels, groups: Labels | None) -> None:
    if cv < 2:
        msg = f"cv={cv}: at least two folds are needed"
        raise InvalidParameterError(msg)
    classes, counts = np.unique(labels, return_counts=True)
    k = int(counts.argmin())
    if groups is None and counts[k] < cv:
        fewer = f"use cv={counts[k]}, " if counts[k] > 1 else ""
        msg = (
            f"class {classes[k].item()!r} has {counts[k]} rows, fewer than the {cv} folds: "
            f"{fewer}drop the class, or pass a splitter of your own"
        )
        raise InvalidParameterError(msg)
    if groups is not None and len(np.unique(groups)) < cv:
        msg = f"there are {len(np.unique(groups))} groups, fewer than the {cv} folds"
        raise InvalidParameterError(msg)


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
    if settings.get("power") is not None or any(_is_auto(s) for s in open_settings):
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
