"""Random division of rows into parts for training, validation and testing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.core.table.labels import encode
from suffice.core.table.matrix import taken
from suffice.core.table.sampling import ranks_within
from suffice.core.text.lists import counted
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.selection.validation.fold_rows import checked_labels
from suffice.selection.validation.folds import copies_in
from suffice.typing import Codes, Labels, LabelsLike, RowsLike


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitPart:
    """A part of the rows; ``X, y = part`` unpacks it."""

    X: Any  # rows, as a frame if the input was a frame  (m, d)
    y: Any  # labels  (m,)
    rows: Codes  # indices of the rows in the original data, ascending (m,)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"SplitPart({len(self)} rows)"


class Split(NamedTuple):
    """Three disjoint parts of the rows; ``train, validation, test = split`` unpacks it."""

    train: SplitPart
    validation: SplitPart
    test: SplitPart

    def __repr__(self) -> str:
        return (
            f"Split(train {len(self.train)}, validation {len(self.validation)}, "
            f"test {len(self.test)} rows)"
        )


def split(
    X: RowsLike,
    y: LabelsLike,
    validation: float = 0.2,
    test: float = 0.2,
    random_state: int = 0,
) -> Split:
    """Return training, validation and test parts with the same share of every class.

    Parameters
    ----------
    X, y : array or frame (n, d), array or series (n,)
        Frames are returned as frames.
    validation, test : float in [0, 1), default=0.2
        Shares of the rows; with 0, a part is empty. Every class has at least one row in every part
        that is not empty. Its number of rows differs from the exact share by at most one. Identical
        rows stay in one part and are counted once.
    random_state : int, default=0
        Seed of the random division.

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
    labels = checked_labels(X, y)
    _check_shares(validation, test)
    rng = np.random.default_rng(random_state)
    copies = copies_in(X, labels)
    if copies is None:
        part_of_row = _part_of_rows(labels, validation, test, rng)
    else:
        _, first, set_of = np.unique(copies.set_of, return_index=True, return_inverse=True)
        part_of_row = _part_of_rows(labels[first], validation, test, rng)[set_of]

    def part(number: int) -> SplitPart:
        rows = np.flatnonzero(part_of_row == number)
        return SplitPart(taken(X, rows), taken(y, rows), rows)

    return Split(train=part(0), validation=part(1), test=part(2))


def _part_of_rows(
    labels: Labels,
    validation: float,
    test: float,
    rng: np.random.Generator,
) -> Codes:
    """Return the part of each row (n,), stratified by class: 0 training, 1 validation, 2 test."""
    classes, codes = encode(labels)
    counts = np.bincount(codes)
    # least number of rows of each class in the part
    least_train = 1
    least_validation = int(validation > 0)
    least_test = int(test > 0)
    n_parts = least_train + least_validation + least_test
    rarest = int(counts.argmin())
    if counts[rarest] < n_parts:
        n_rows = counted(counts[rarest], "row")
        raise InvalidInputError(
            f"class {classes[rarest].item()!r} has {n_rows} if copies are counted once, which is "
            f"too few for a row in each of {n_parts} parts: drop the class, merge it with "
            "another, or set validation=0"
        )
    n_test = _rounded_shares(test, counts)
    n_test = np.clip(n_test, least_test, counts - least_train - least_validation)
    n_validation = _rounded_shares(validation, counts)
    n_validation = np.clip(n_validation, least_validation, counts - n_test - least_train)
    rank = ranks_within(codes, rng)
    is_test = rank < n_test[codes]
    is_held_out = rank < (n_test + n_validation)[codes]
    return np.asarray(is_test.astype(np.intp) + is_held_out)


def _rounded_shares(share: float, counts: Codes) -> Codes:
    """Return share · n_k for each class, rounded so that the total is rounded correctly, too."""
    upto = np.rint(share * np.cumsum(counts))
    return np.asarray(np.diff(upto, prepend=0), np.intp)


def _check_share(name: str, share: object) -> None:
    if not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
        raise InvalidParameterError(f"{name} must be a share of rows in [0, 1), got {share!r}")


def _check_shares(validation: float, test: float) -> None:
    _check_share("validation", validation)
    _check_share("test", test)
    if validation + test >= 1:
        raise InvalidParameterError(
            f"validation={validation} and test={test} leave no training rows: lower them"
        )
