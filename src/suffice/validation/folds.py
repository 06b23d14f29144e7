"""Rows divided into folds, and the sums that training on the other folds would leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import check_cv

from suffice.errors import InvalidParameterError
from suffice.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.table.matrix import Matrix
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One held-out block of rows and the sums of the rows it is judged by."""

    train: Moments
    x: Matrix  # held-out rows  (m, d)
    truth: Codes  # their classes, as codes into ``train.classes``  (m,)
    weight: Floats | None  # their weights  (m,)
    rows: Codes  # where they stand in the data  (m,)


def splits_of(cv: Any, X: Any, y: Labels, groups: Any) -> list[tuple[Codes, Codes]]:
    """Return (train, test) row numbers of a number of folds, a splitter, or given splits."""
    smallest = np.unique(y, return_counts=True)
    if isinstance(cv, (int, np.integer)) and groups is None and smallest[1].min() < cv:
        label, count = smallest[0][smallest[1].argmin()], smallest[1].min()
        msg = (
            f"class {label.item()!r} has {count} rows, fewer than the {cv} folds: "
            f"use cv={max(2, count)}, drop the class, or pass a splitter of your own"
        )
        raise InvalidParameterError(msg)
    splitter = check_cv(cv, y, classifier=True)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, y, groups)]


def folds_of(
    x: Matrix,
    y: Labels,
    weight: Floats | None,
    splits: Sequence[tuple[Codes, Codes]],
    **options: Any,
) -> list[Fold]:
    """Return the folds; where test sets partition the rows, each row is summed only once."""
    classes, codes = np.unique(y, return_inverse=True)
    options = {**options, "classes": classes}

    def moments_of(rows: Codes) -> Moments:
        return Moments.of(x[rows], y[rows], None if weight is None else weight[rows], **options)

    if _is_partition(splits, len(y)):
        trains = sums_without([moments_of(test) for _, test in splits])
    else:
        trains = [moments_of(train) for train, _ in splits]
    return [
        Fold(train, x[test], codes[test], None if weight is None else weight[test], test)
        for train, (_, test) in zip(trains, splits, strict=True)
    ]


def sums_without(parts: Sequence[Moments]) -> list[Moments]:
    """Return, for each part, the sum of all the others: additions only, so that nothing cancels."""
    before = list(accumulate(parts[:-1], add))
    after = list(accumulate(reversed(parts[1:]), add))[::-1]
    inner = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *inner, before[-1]]


def total_of(folds: Sequence[Fold]) -> Moments:
    """Return the sums of all rows, from folds that partition them."""
    first = folds[0]
    held = Moments.of(
        first.x, first.train.classes[first.truth], first.weight, storage=first.train.storage,
        fourth=first.train.fourth is not None, classes=first.train.classes,
    )  # fmt: skip
    return reduce(add, [first.train, held])


def _is_partition(splits: Sequence[tuple[Codes, Codes]], n: int) -> bool:
    tests = np.concatenate([test for _, test in splits])
    covers = len(tests) == n and len(np.unique(tests)) == n
    return covers and len(splits) > 1 and all(len(a) + len(b) == n for a, b in splits)
