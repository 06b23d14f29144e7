"""Some of the rows: stratified samples and folds, seeded."""

from dataclasses import replace

import numpy as np

from suffice.core.table.table import Table
from suffice.typing import Codes

FEWEST = 10  # rows of a class that a sample keeps, where there are so many


def ranks_within(codes: Codes, rng: np.random.Generator) -> Codes:
    """Return a random place 0 … n_k − 1 of each row among the rows of its class, (n,)."""
    return places_within(codes, rng.permutation(len(codes)))


def stratified_sample(codes: Codes, n_rows: int, seed: int) -> Codes:
    """Return ``n_rows`` rows drawn at random, ascending, at least ten of every class; or all."""
    if len(codes) <= n_rows:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    few = places_within(codes, order) < FEWEST
    rest, kept = order[~few[order]], np.flatnonzero(few)
    return np.sort(np.concatenate([kept, rest[: max(n_rows - len(kept), 0)]]))


def places_within(codes: Codes, order: Codes) -> Codes:
    """Return how many rows of its class come before each row, in an order of all rows, (n,)."""
    order = order[np.argsort(codes[order], kind="stable")]
    starts = np.cumsum(np.bincount(codes)) - np.bincount(codes)
    places = np.empty(len(codes), np.intp)
    places[order] = np.arange(len(codes)) - starts[codes[order]]
    return places


def stratified_folds(codes: Codes, n_folds: int, seed: int) -> list[tuple[Codes, Codes]]:
    """Return (train, test) row numbers of folds over which every class is spread evenly."""
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.intp)
    fold[order] = np.arange(len(codes)) % n_folds
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


def strided_sample(table: Table, n_rows: int) -> Table:
    """Return about ``n_rows`` rows, evenly from every class, weighted to stand for all."""
    # every s-th row of a class: nothing is drawn; a small class is kept whole
    codes, k = table.codes, table.n_classes
    counts = np.bincount(codes, minlength=k)
    stride = np.maximum(1, counts // max(1, n_rows // k))
    order = np.argsort(codes.astype(np.int16) if k < 2**15 else codes, kind="stable")
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    index = np.sort(order[ranks % np.repeat(stride, counts) == 0])
    kept = np.bincount(codes[index], minlength=k)
    sample, factor = table.take(index), (counts / np.maximum(kept, 1))[codes[index]]
    return replace(sample, weight=factor if sample.weight is None else factor * sample.weight)
