"""Rows divided into folds, with the moments that each learns from, or once into three parts."""

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, has_fit_parameter

from suffice.core.decision.predictions import Predictions, log_posteriors_of
from suffice.core.moments import Moments
from suffice.core.moments.schema_change import fills_of
from suffice.core.power_transform import parse_power
from suffice.core.table import Table
from suffice.core.table.foreign import all_finite, is_foreign, is_on_device, to_numpy
from suffice.core.table.labels import as_labels, codes_of, encode, has_label
from suffice.core.table.matrix import as_matrix, as_weights, is_complete, is_mixed, taken
from suffice.core.table.sampling import ranks_within, stratified_folds, stratified_sample
from suffice.core.table.table import numbering_rows, require_as_many
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats, Labels

Splits = tuple[tuple[Any, Any], ...]  # row numbers to learn from and to judge by


class Fold(NamedTuple):
    """Some rows held out, and the moments of the rows that their model learns from."""

    train: Moments
    held_out: Table  # of the classes of ``train``


@dataclass(frozen=True, eq=False)
class Folds:
    """Labelled rows, and which of them each fold learns from and is judged by."""

    X: Any  # as it was given, an array or a frame  (n, d)
    classes: Labels  # (K,)
    codes: Codes  # class of each row  (n,)
    weight: Floats | None  # (n,)
    splits: Splits
    protocol: str = ""  # the splits in words
    groups: Codes | None = None  # of rows that belong together  (n,)
    _moments: dict[Any, tuple[list[Moments], float]] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        cv: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        seed: int | None = None,
        on_device: bool = False,
    ) -> Self:
        """Return users' rows, labels and folds; a seed shuffles a number of folds."""
        rows = np.asarray(X) if isinstance(X, (list, tuple)) else X
        if not (on_device and is_on_device(rows) and all_finite(rows)):
            rows = to_numpy(rows)
        labels = checked_labels(rows, y)
        weight = as_weights(sample_weight, len(labels))
        known = None if groups is None else row_group_codes(groups, labels)
        seen = np.ones(len(labels), bool) if weight is None else weight > 0
        _require_two_classes(labels[seen])
        pairs, protocol = _divided(cv, labels, known, seen, seed)
        return cls(rows, *encode(labels), weight, pairs, protocol, known)

    @classmethod
    def stratified(cls, table: Table, n_folds: int, seed: int) -> Self:
        """Return folds over which every class, however small, is spread as evenly as it can be."""
        splits = tuple(stratified_folds(table.codes, n_folds, seed))
        return cls(table.x, table.classes, table.codes, table.weight, splits)

    @cached_property
    def table(self) -> Table:
        x = self.X if is_foreign(self.X) else as_matrix(self.X)[0]
        return Table(x, self.classes, self.codes, self.weight)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the rows are numbers, none of them missing."""
        return is_foreign(self.X) or (not is_mixed(self.X) and bool(is_complete(self.X).all()))

    @cached_property
    def judged_rows(self) -> Codes:
        """Numbers of the rows that some fold is judged by."""
        return np.unique(np.concatenate([test for _, test in self.splits]))

    @property
    def overlap(self) -> float:
        """Rows judged by for each row that a fold learns from; 0 of one fold."""
        n_train = np.mean([len(train) for train, _ in self.splits])
        return float(len(self.judged_rows) / n_train) if len(self.splits) > 1 else 0.0

    def sampled(self, n_rows: int, seed: int) -> Self:
        """Return the same folds within a stratified sample of about ``n_rows`` rows."""
        kept = np.zeros(len(self.codes), bool)
        kept[stratified_sample(self.codes, n_rows, seed)] = True
        return replace(self, splits=tuple((a[kept[a]], b[kept[b]]) for a, b in self.splits))

    def moments(self, storage: str, *, fourth: bool) -> tuple[list[Moments], float]:
        """Return the moments of every fold's training rows, collected once, and seconds each."""
        need = storage, fourth
        if need not in self._moments:
            started, table = time.perf_counter(), self.table
            at = 1 if _is_partition(self.splits, len(self.codes)) else 0
            tables = (table.take(split[at]) for split in self.splits)
            with numbering_rows(table):
                parts = [
                    Moments.of_table(each, storage=storage, fourth=fourth) for each in tables
                ]
            trains = sums_without(parts) if at else parts
            self._moments[need] = trains, (time.perf_counter() - started) / len(trains)
        return self._moments[need]

    def each(self, storage: str, *, fourth: bool) -> list[Fold]:
        """Return every fold: the moments of its training rows, and the rows held out."""
        pairs = zip(self.moments(storage, fourth=fourth)[0], self.splits, strict=True)
        return [Fold(train, self.table.take(test)) for train, (_, test) in pairs]

    def training(self, fold: int) -> tuple[Any, Labels, Floats | None]:
        """Return the rows that a fold learns from, as they came, their labels and weights."""
        at = self.splits[fold][0]
        weight = None if self.weight is None else self.weight[at]
        return taken(self.X, at), self.classes[self.codes[at]], weight

    def predictions(
        self,
        fold: int,
        fitted: Any,
        shown: Any,
        labels: Any = None,
    ) -> Predictions:
        """Return what a classifier predicts for held-out rows, ``shown`` as it knows them."""
        test = self.splits[fold][1]
        logs = log_posteriors_of(fitted, shown, self.classes)
        if labels is None:
            labels = fitted.predict(shown) if logs is None else self.classes[logs.argmax(1)]
        predicted = codes_of(labels, self.classes, strict=False)
        weight = None if self.weight is None else self.weight[test]
        return Predictions(self.classes, self.codes[test], predicted, logs, test, weight)


def sums_without(parts: Sequence[Moments]) -> list[Moments]:
    """Return, for each part, the sum of all the others: additions only, so that nothing cancels."""
    before = list(accumulate(parts[:-1], add))
    after = list(accumulate(reversed(parts[1:]), add))[::-1]
    return [
        after[0],
        *(a + b for a, b in zip(before[:-1], after[1:], strict=True)),
        before[-1],
    ]


def power_transformed(table: Table, power: Any) -> Table:
    """Return a table under a power transform: it knows no labels, so all rows may fit it."""
    if power is None:
        return table
    table = table.with_rows(to_numpy(table.x), table.names)
    known = parse_power(power, table)
    moved = table.with_rows(known.about_centre(table.x), table.names)
    if table.schema is None:
        return moved
    fills = fills_of(table.schema, known) - known.centre[table.schema.filled]
    return replace(moved, schema=table.schema.with_fills(fills))


def fitted(estimator: Any, X: Any, labels: Labels, weight: Floats | None) -> Any:
    """Return a copy of an estimator that learnt from rows, weighted if it knows how."""
    name = None if weight is None else weight_name(estimator)
    return clone(estimator).fit(X, labels, **({} if name is None else {name: weight}))


def weight_name(estimator: Any) -> str | None:
    """Return what the weights are called in ``fit``, None where it takes none."""
    piped = isinstance(estimator, Pipeline)
    if not has_fit_parameter(estimator[-1] if piped else estimator, "sample_weight"):
        return None
    return f"{estimator.steps[-1][0]}__sample_weight" if piped else "sample_weight"


def checked_labels(X: Any, y: Any) -> Labels:
    """Return the labels, one for each row, of two classes or more."""
    labels = as_labels(y)
    require_as_many(_num_samples(X), len(labels))
    _require_two_classes(labels)
    return labels


def _require_two_classes(labels: Labels) -> None:
    found = np.unique(labels).tolist()
    if len(found) < 2:
        raise InvalidInputError(f"y has the classes {found}: at least two are needed")


def row_group_codes(groups: Any, labels: Labels) -> Codes:
    """Return the code of each row's group, one for every row."""
    found = np.asarray(groups)
    if found.shape != labels.shape:
        raise InvalidInputError(
            f"groups has shape {found.shape}, but there are {len(labels)} rows"
        )
    if not (known := has_label(found)).all():
        raise InvalidInputError(f"row {known.argmin()} has no group: every row needs one")
    text = found.astype(np.str_) if found.dtype.kind == "O" else found
    codes = np.asarray(np.unique(text, return_inverse=True)[1])
    classes = encode(labels)[1]
    if len({*zip(codes, classes, strict=True)}) == len({*codes}) == len({*classes}):
        msg = (
            "the groups are the classes, so that no fold could learn the class it is judged by"
        )
        raise InvalidInputError(f"{msg}: name another column")
    return codes


def _divided(
    cv: Any,
    labels: Labels,
    groups: Labels | None,
    seen: Any,
    seed: int | None,
) -> tuple[Splits, str]:
    """Return row numbers of folds, and how to say so; rows not seen, by a mask, are in none."""
    if isinstance(cv, (int, np.integer)):
        at, here = np.flatnonzero(seen), None if groups is None else groups[seen]
        splits, protocol = _stratified(int(cv), labels[seen], here, seed)
        return tuple((at[train], at[test]) for train, test in splits), protocol
    if hasattr(cv, "get_n_splits"):
        pairs = list(cv.split(np.zeros((len(labels), 1)), labels, groups))
        protocol = f"{len(pairs)} folds, {type(cv).__name__}"
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = list(cv)
        protocol = f"{len(pairs)} folds, given by row numbers"
    else:
        msg = f"cv must be a number of folds, a splitter or (train, test) row numbers, got {cv!r}"
        raise InvalidParameterError(msg)
    arrays = ((_row_numbers(a, len(labels)), _row_numbers(b, len(labels))) for a, b in pairs)
    counted = [(train[seen[train]], test[seen[test]]) for train, test in arrays]
    if not any(len(test) for _, test in counted):
        raise InvalidParameterError("cv holds out no row of positive weight: give it some")
    for fold, (train, test) in enumerate(counted):
        if len(test) and not len(train):
            msg = (
                f"fold {fold} has no row of positive weight to learn from: leave it out of cv"
            )
            raise InvalidInputError(msg)
    # a fold that judges no row that counts is none
    return tuple(pair for pair in counted if len(pair[1])), protocol


def _row_numbers(given: Any, n: int) -> Codes:
    """Return the rows of a part of a fold, given by numbers or by a mask."""
    at = np.asarray(given)
    if at.dtype == bool and at.shape == (n,):
        return np.flatnonzero(at)
    if at.size and (at.ndim != 1 or at.dtype.kind not in "iu"):
        found = f"an array of {at.dtype} of shape {at.shape}"
        raise InvalidParameterError(
            f"cv must give row numbers, or masks of {n} rows, got {found}"
        )
    bad = at[(at < 0) | (at >= n)] if at.size else at
    if len(bad):
        raise InvalidParameterError(
            f"cv names row {bad[0]}, and rows are numbered 0 to {n - 1}"
        )
    return at.astype(np.intp)


def _stratified(
    n_folds: int,
    labels: Labels,
    groups: Labels | None,
    seed: int | None,
) -> tuple[Iterable[tuple[Any, Any]], str]:
    if n_folds < 2:
        raise InvalidParameterError(f"cv={n_folds}: at least two folds are needed")
    order = "in row order" if seed is None else f"shuffled with seed {seed}"
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < n_folds:
            msg = f"there are {n_groups} groups, fewer than the {n_folds} folds"
            raise InvalidParameterError(msg)
        splitter = StratifiedGroupKFold(n_folds, shuffle=seed is not None, random_state=seed)
        said = f"{n_folds} stratified folds of whole groups, {order}"
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a class in fewer groups is absent from some folds
            return list(splitter.split(labels, labels, groups)), said
    classes, codes = encode(labels)
    k, least = int(np.bincount(codes).argmin()), int(np.bincount(codes).min())
    if least >= n_folds:
        splitter = StratifiedKFold(n_folds, shuffle=seed is not None, random_state=seed)
        return splitter.split(labels, labels), f"{n_folds} stratified folds, {order}"
    if seed is None:
        fewer = f"use cv={least}, " if least > 1 else ""
        raise InvalidParameterError(
            f"class {classes[k].item()!r} has {least} rows, fewer than the {n_folds} folds: "
            f"{fewer}drop the class, or pass a splitter of your own"
        )
    # a class smaller than the folds: held out from some, absent from others
    given = stratified_folds(codes, max(min(n_folds, len(codes) // 2), 2), seed)
    return given, f"{len(given)} stratified folds, {order}"


def _is_partition(splits: Splits, n: int) -> bool:
    """Whether every row that is judged is held out once, and learnt from by all other folds."""
    times = np.bincount(np.concatenate([test for _, test in splits]), minlength=n)
    known = (np.bincount(np.concatenate(pair), minlength=n) for pair in splits)
    return len(splits) > 1 >= times.max() and all(np.array_equal(k, times) for k in known)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitPart:
    """Some of the rows; ``X, y = part`` unpacks it."""

    X: Any  # rows, a frame if they came as one  (m, d)
    y: Any  # labels  (m,)
    rows: Codes  # where they stood in the data, ascending  (m,)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"SplitPart({len(self)} rows)"


class Split(NamedTuple):
    """Three parts of the rows that share none; ``train, validation, test = split`` unpacks it."""

    train: SplitPart
    validation: SplitPart
    test: SplitPart

    def __repr__(self) -> str:
        sizes = (f"{name} {len(part)}" for name, part in zip(self._fields, self, strict=True))
        return f"Split({', '.join(sizes)} rows)"


def split(
    X: Any,
    y: Any,
    validation: float = 0.2,
    test: float = 0.2,
    random_state: int = 0,
) -> Split:
    """Return training, validation and test parts with the same share of every class.

    Parameters
    ----------
    X, y : array or frame (n, d), array or series (n,)
        Frames stay frames.
    validation, test : float in [0, 1), default=0.2
        Shares of the rows; 0 leaves a part empty. Every class has a row in every other part, and
        its share of them is right to within one row.
    random_state : int, default=0
        Seed of the draw.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import suffice as sf
    >>> parts = sf.split(*load_iris(return_X_y=True))
    >>> parts
    Split(train 90, validation 30, test 30 rows)
    >>> X_test, y_test = parts.test
    >>> X_test.shape, parts.test.rows[:3].tolist()
    ((30, 4), [1, 2, 5])
    """
    labels, shares = checked_labels(X, y), _shares(validation, test)
    place = _by_class(labels, shares, np.random.default_rng(random_state))
    rows = [np.flatnonzero(place == part) for part in range(3)]
    return Split(*(SplitPart(taken(X, at), taken(y, at), at) for at in rows))


def _by_class(labels: Labels, shares: Floats, rng: np.random.Generator) -> Codes:
    """Return the part of each row, (n,), each class divided by itself."""
    classes, codes = encode(labels)
    counts, least = np.bincount(codes), (shares > 0).astype(np.intp)
    k, parts = int(counts.argmin()), int(least.sum())
    if counts[k] < parts:
        raise InvalidInputError(
            f"class {classes[k].item()!r} has {counts[k]} rows, too few for a row in each of "
            f"{parts} parts: drop it, join it with another, or set validation=0"
        )
    # share · n_k rounded, each within one row, so that the total is rounded once too
    wanted = np.diff(np.rint(np.outer(shares, np.cumsum(counts))), prepend=0).astype(np.intp)
    n_test = np.clip(wanted[2], least[2], counts - least[0] - least[1])
    n_validation = np.clip(wanted[1], least[1], counts - n_test - least[0])
    limits = np.cumsum([n_test, n_validation], axis=0)[:, codes]
    return np.asarray((ranks_within(codes, rng) < limits).sum(0))


def _shares(validation: Any, test: Any) -> Floats:
    for name, share in (("validation", validation), ("test", test)):
        if not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise InvalidParameterError(
                f"{name} must be a share of rows in [0, 1), got {share!r}"
            )
    if validation + test >= 1:
        msg = f"validation={validation} and test={test} leave no rows to learn from"
        raise InvalidParameterError(msg)
    return np.array([1 - validation - test, validation, test])
