"""Training and held-out rows of each fold, for each kind of ``cv``."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import _num_samples

from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.table.labels import as_labels, encode
from suffice.core.table.sampling import folds_of_sets, stratified_folds
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import counted
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.selection.validation.whole_groups import group_folds, joined_groups
from suffice.typing import Codes, Flags, Labels, LabelsLike, RowsLike

Splits: TypeAlias = tuple[tuple[Codes, Codes], ...]  # training rows, held-out rows
# training and held-out rows, as passed by users
RowPair: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]


@runtime_checkable
class Splitter(Protocol):
    """A scikit-learn splitter."""

    def get_n_splits(self, *args: object, **options: object) -> int: ...

    def split(
        self,
        X: RowsLike,
        y: LabelsLike,
        groups: npt.ArrayLike | None,
    ) -> Iterator[RowPair]: ...


#: Types of ``cv``: a number of folds, a splitter, or pairs (train, test) of row numbers.
FoldsLike: TypeAlias = int | Splitter | Iterable[RowPair]


def checked_labels(X: RowsLike, y: LabelsLike) -> Labels:
    """Return one label per row; raise unless there are at least two classes."""
    labels = as_labels(y)
    require_as_many(_num_samples(X), len(labels))
    require_two_labels(labels)
    return labels


def require_two_labels(labels: Labels) -> None:
    """Raise unless there are at least two classes."""
    classes, counts = np.unique(labels, return_counts=True)
    require_two_classes(classes, counts.astype(float))


def divide(
    cv: FoldsLike,
    labels: Labels,
    groups: Codes | None,
    counts: Flags,
    seed: int | None,
    copies: Codes | None = None,
) -> tuple[Splits, str]:
    """Return the rows of each fold, and a description of the folds.

    ``counts`` (n,) is True for rows with positive weight; all other rows are in no fold. If ``cv``
    is a number of folds, a seed shuffles the rows, and identical rows stay in one fold. ``copies``
    (n,) is the number of each row's set of identical rows.
    """
    if isinstance(cv, (int, np.integer)):
        rows = np.flatnonzero(counts)
        row_groups = None if groups is None else groups[rows]
        splits: Iterable[tuple[Codes, Codes]]
        if copies is None:
            splits, protocol = _stratified(int(cv), labels[rows], row_groups, seed)
        else:
            splits, protocol = _without_shared_copies(
                int(cv), labels[rows], row_groups, copies[rows], seed
            )
        return tuple((rows[train], rows[test]) for train, test in splits), protocol
    n_rows = len(labels)
    pairs: list[RowPair]
    if isinstance(cv, Splitter):
        pairs = list(cv.split(np.zeros((n_rows, 1)), labels, groups))
        protocol = f"{len(pairs)} folds, {type(cv).__name__}"
    else:
        pairs = _given_pairs(cv)
        protocol = f"{len(pairs)} folds, given by row numbers"
    folds = []
    for fold, pair in enumerate(pairs):
        train, test = (_row_numbers(part, n_rows) for part in pair)
        train = train[counts[train]]
        test = test[counts[test]]
        if len(test) and not len(train):
            raise InvalidInputError(
                f"fold {fold} has no training row with positive weight: leave the fold out of "
                "cv"
            )
        if len(test):
            folds.append((train, test))
    if not folds:
        raise InvalidParameterError(
            "cv holds out no row with positive weight: hold out at least one such row"
        )
    return tuple(folds), protocol


def _given_pairs(cv: object) -> list[RowPair]:
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        return list(cv)
    raise InvalidParameterError(
        f"cv must be a number of folds, a splitter or (train, test) row numbers, got {cv!r}"
    )


def _row_numbers(given: npt.ArrayLike, n_rows: int) -> Codes:
    """Return the row numbers of a part of a fold, given as numbers or as a mask."""
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.size == 0:
        return rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise InvalidParameterError(
            f"cv must give row numbers, or masks of {n_rows} rows, got an array of {rows.dtype} "
            f"of shape {rows.shape}"
        )
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        raise InvalidParameterError(
            f"cv names row {outside[0]}, but rows are numbered from 0 to {n_rows - 1}"
        )
    return rows.astype(np.intp)


def _stratified(
    n_folds: int,
    labels: Labels,
    groups: Codes | None,
    seed: int | None,
) -> tuple[Iterable[tuple[Codes, Codes]], str]:
    """Return stratified folds, with whole groups if there are any, and their description."""
    if n_folds < 2:
        raise InvalidParameterError(f"cv={n_folds}: at least two folds are needed")
    order = "in row order" if seed is None else f"shuffled with seed {seed}"
    if groups is not None:
        protocol = f"{n_folds} stratified folds of whole groups, {order}"
        return group_folds(n_folds, labels, groups, seed), protocol
    classes, codes = encode(labels)
    class_counts = np.bincount(codes)
    n_least = int(class_counts.min())
    if n_least >= n_folds:
        splitter = StratifiedKFold(n_folds, shuffle=seed is not None, random_state=seed)
        return splitter.split(labels, labels), f"{n_folds} stratified folds, {order}"
    if seed is None:
        rarest = classes[class_counts.argmin()].item()
        fewer_folds = f"use cv={n_least}, " if n_least > 1 else ""
        raise InvalidParameterError(
            f"class {rarest!r} has {counted(n_least, 'row')}, fewer than the {n_folds} folds: "
            f"{fewer_folds}drop the class, or pass a splitter of your own"
        )
    # a class with fewer rows than folds is held out in some folds only
    n_possible = max(min(n_folds, len(codes) // 2), 2)
    splits = stratified_folds(codes, n_possible, seed)
    return splits, f"{len(splits)} stratified folds, {order}"


def _without_shared_copies(
    n_folds: int,
    labels: Labels,
    groups: Codes | None,
    copies: Codes,
    seed: int | None,
) -> tuple[Iterable[tuple[Codes, Codes]], str]:
    """Return stratified folds with identical rows together, and their description."""
    if groups is not None:
        joined = joined_groups(groups, copies)
        if len(np.unique(joined)) < n_folds:
            return _stratified(n_folds, labels, groups, seed)
        splits, protocol = _stratified(n_folds, labels, joined, seed)
    else:
        _, first, set_of = np.unique(copies, return_index=True, return_inverse=True)
        set_splits, protocol = _stratified(n_folds, labels[first], None, seed)
        splits = folds_of_sets(set_of, set_splits)
    return splits, f"{protocol}, identical rows in one fold"


def is_partition(splits: Splits, n_rows: int) -> bool:
    """Return whether every evaluated row is held out once, and trains all other folds."""
    if len(splits) < 2:
        return False
    held_out = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_rows)
    if held_out.max() > 1:
        return False
    for train, test in splits:
        used = np.bincount(np.concatenate([train, test]), minlength=n_rows)
        if not np.array_equal(used, held_out):
            return False
    return True
