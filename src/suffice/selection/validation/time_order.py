"""Folds in time order: models are fitted to earlier rows and evaluated on later rows."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from suffice.core.table.labels import has_label
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.selection.validation.copies import Copies
from suffice.typing import Codes


def time_codes(time: npt.ArrayLike, n_rows: int) -> Codes:
    """Return the rank of each row's time, with equal ranks for equal times, (n,)."""
    values = np.asarray(time)
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"time has shape {values.shape}, but there are {n_rows} rows: give one time for each "
            "row"
        )
    is_known = has_label(values) & (values == values)  # NaN and NaT differ from themselves
    if not is_known.all():
        raise InvalidInputError(
            f"row {is_known.argmin()} (counted from 0) has no time: give every row a time, or "
            "leave the row out"
        )
    if values.dtype.kind == "O" and isinstance(values[0], str):
        values = values.astype(np.str_)
    times, codes = np.unique(values, return_inverse=True)
    if len(times) < 2:
        raise InvalidInputError(
            f"all rows have the time {times[0]}, so they cannot be ordered: name another column, "
            "or leave time out"
        )
    return np.asarray(codes, np.intp)


def time_blocks(times: Codes, n_blocks: int) -> Codes:
    """Return the block of each row (n,). Blocks have about equal sizes and whole times."""
    counts = np.bincount(times)
    # a time belongs to the block that contains the middle of its rows
    middles = (np.cumsum(counts) - counts / 2) / len(times)
    block_of_time = np.minimum((middles * n_blocks).astype(np.intp), n_blocks - 1)
    _, blocks = np.unique(block_of_time[times], return_inverse=True)
    return np.asarray(blocks, np.intp)


def forward_folds(
    times: Codes,
    codes: Codes,
    n_folds: int,
    copies: Copies | None,
) -> list[tuple[Codes, Codes]]:
    """Return (train, test) pairs in which each block is predicted from all earlier blocks.

    ``times`` and ``codes`` (n,) are the rank of the time and the class of each row. A block is
    skipped if all earlier rows have the same class. Training rows with the same features as a row
    of the block are left out.
    """
    if n_folds < 1:
        raise InvalidParameterError(
            f"cv={n_folds}: at least one block of later rows is needed"
        )
    blocks = time_blocks(times, n_folds + 1)
    folds = []
    for block in range(1, int(blocks.max()) + 1):
        train = np.flatnonzero(blocks < block)
        test = np.flatnonzero(blocks == block)
        if copies is not None:
            train = train[~copies.has_copy(train, test)]
        if len(np.unique(codes[train])) > 1:
            folds.append((train, test))
    if not folds:
        raise InvalidInputError(
            "the earlier rows have only one class wherever time is divided, so no model can "
            "be fitted to them: leave time out"
        )
    return folds


def is_forward_chain(splits: tuple[tuple[Codes, Codes], ...]) -> bool:
    """Return whether each fold is trained on all rows of the previous fold."""
    if len(splits) < 2:
        return False
    for (train, test), (later, _) in pairwise(splits):
        before = np.sort(np.concatenate([train, test]))
        if not np.array_equal(before, np.sort(later)):
            return False
    return True


def require_one_order(groups: npt.ArrayLike | None, time: npt.ArrayLike | None) -> None:
    """Raise if both groups and times are given."""
    if groups is not None and time is not None:
        raise InvalidParameterError(
            "groups and time divide the rows in different ways: pass one of them, and "
            "compare again with the other"
        )
