"""Stratified samples and folds of rows, from a seed."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from suffice.core.table.table import Table
from suffice.typing import Codes

# a sample has at least this many rows of each class, or all rows of a smaller class
FEWEST = 10


def ranks_within(codes: Codes, rng: np.random.Generator) -> Codes:
    """Return a random rank from 0 to n_k − 1 for each row among the rows of its class, (n,)."""
    return places_within(codes, rng.permutation(len(codes)))


def stratified_sample(codes: Codes, n_rows: int, seed: int) -> Codes:
    """Return ``n_rows`` random row numbers, or all if there are fewer, in ascending order.

    The sample has at least ten rows of every class, or all rows of a smaller class.
    """
    if len(codes) <= n_rows:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    is_kept = places_within(codes, order) < FEWEST
    kept = np.flatnonzero(is_kept)
    rest = order[~is_kept[order]]
    return np.sort(np.concatenate([kept, rest[: max(n_rows - len(kept), 0)]]))


def places_within(codes: Codes, order: Codes) -> Codes:
    """Return, for each row, how many rows of its class precede it in ``order``, (n,)."""
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    places = np.empty(len(codes), np.intp)
    places[order] = np.arange(len(codes)) - starts[codes[order]]
    return places


def stratified_folds(
    codes: Codes,
    n_folds: int,
    seed: int,
    together: Codes | None = None,
) -> list[tuple[Codes, Codes]]:
    """Return (train, test) row numbers of folds that have almost equal numbers of each class.

    Rows with the same number in ``together`` (n,) stay in one fold. Then the sets of such rows are
    divided evenly, by the class of the first row of each set.
    """
    if together is not None:
        _, first, set_of = np.unique(together, return_index=True, return_inverse=True)
        return folds_of_sets(set_of, stratified_folds(codes[first], n_folds, seed))
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold_of = np.empty(len(codes), np.intp)
    fold_of[order] = np.arange(len(codes)) % n_folds
    folds = []
    for fold in range(n_folds):
        train = np.flatnonzero(fold_of != fold)
        test = np.flatnonzero(fold_of == fold)
        folds.append((train, test))
    return folds


def folds_of_sets(
    set_of: Codes,
    folds: Iterable[tuple[Codes, Codes]],
) -> list[tuple[Codes, Codes]]:
    """Return (train, test) row numbers, given folds of sets, and the set of each row."""
    row_folds = []
    for train, test in folds:
        rows_to_learn = np.flatnonzero(np.isin(set_of, train))
        rows_to_judge = np.flatnonzero(np.isin(set_of, test))
        row_folds.append((rows_to_learn, rows_to_judge))
    return row_folds


def strided_sample(table: Table, n_rows: int) -> Table:
    """Return about ``n_rows`` rows, evenly spaced in every class, weighted to represent all rows.

    The sample has every s-th row of a large class and all rows of a small class; it is not random.
    """
    codes = table.codes
    k = table.n_classes
    counts = np.bincount(codes, minlength=k)
    stride = np.maximum(1, counts // max(1, n_rows // k))
    narrow = codes.astype(np.int16) if k < 2**15 else codes  # quicker to sort
    order = np.argsort(narrow, kind="stable")
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(order[ranks % np.repeat(stride, counts) == 0])
    kept = np.bincount(codes[rows], minlength=k)
    sample = table.take(rows)
    factor = (counts / np.maximum(kept, 1))[sample.codes]
    return replace(sample, weight=factor if sample.weight is None else factor * sample.weight)
