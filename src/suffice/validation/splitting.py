"""Rows divided once: a part to learn from, a part to choose by, a part to judge the choice."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.table.labels import encode
from suffice.table.matrix import taken
from suffice.table.sampling import ranks_within
from suffice.typing import Codes, Floats, Labels
from suffice.validation.folds import checked_labels

NAMES = ("train", "validation", "test")


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
        sizes = (f"{name} {len(part)}" for name, part in zip(NAMES, self, strict=True))
        return f"Split({', '.join(sizes)} rows)"


def split(
    X: Any, y: Any, validation: float = 0.2, test: float = 0.2, random_state: int = 0
) -> Split:
    """Return training, validation and test parts with the same share of every class.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 7.2.

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
    place = _by_class(
        checked_labels(X, y), _shares(validation, test), np.random.default_rng(random_state)
    )
    rows = [np.flatnonzero(place == part) for part in range(len(NAMES))]
    return Split(*(SplitPart(taken(X, at), taken(y, at), at) for at in rows))


def _by_class(labels: Labels, shares: Floats, rng: np.random.Generator) -> Codes:
    """Return the part of each row, (n,), each class divided by itself."""
    classes, codes = encode(labels)
    counts = np.bincount(codes)
    least = (shares > 0).astype(np.intp)
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
    rank = ranks_within(codes, rng)
    return np.where(
        rank < n_test[codes], 2, (rank < (n_test + n_validation)[codes]).astype(np.intp)
    )


def _shares(validation: Any, test: Any) -> Floats:
    for name, share in (("validation", validation), ("test", test)):
        if not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise InvalidParameterError(f"{name} must be a share of rows in [0, 1), got {share!r}")
    if validation + test >= 1:
        msg = f"validation={validation} and test={test} leave no rows to learn from"
        raise InvalidParameterError(msg)
    return np.array([1 - validation - test, validation, test])
