"""Labelled rows, the folds that all members share, and the sums of those folds."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.evaluation.compare.missing import checked_wish, is_complete
from suffice.evaluation.folds import folds_of, splits_of
from suffice.evaluation.splitting import checked_groups, checked_labels, ranks_within, taken
from suffice.moments.labels import encode
from suffice.moments.plan import affordable_storage
from suffice.moments.rows import as_matrix, as_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.moments import Moments
    from suffice.moments.rows import Matrix
    from suffice.typing import Codes, Floats, Labels

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
