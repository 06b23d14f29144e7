"""The error of nearest neighbours by their number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.settings import parse_word
from suffice.table.labels import as_labels, encode
from suffice.table.matrix import as_matrix
from suffice.typing import Codes, Floats

BLOCK = 1024  # rows whose votes are counted at once


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourCurve:
    """Error on the rows learnt from and on rows held out, for each number of neighbours."""

    neighbours: Codes  # k  (m,)
    training_error: Floats  # (m,)
    test_error: Floats  # mean over folds  (m,)
    standard_error: Floats  # of that mean  (m,)

    @property
    def best(self) -> int:
        """Number of neighbours of least test error; of equal ones, the largest."""
        least = np.flatnonzero(self.test_error == self.test_error.min())
        return int(self.neighbours[least[-1]])


def neighbour_curve(
    X: Any,
    y: Any,
    neighbours: Any = None,
    *,
    weights: str = "uniform",
    folds: int = 10,
    random_state: int = 0,
) -> NeighbourCurve:
    """Return the error of k-nearest-neighbour voting for every k, by cross-validation.

    Neighbours are searched once for each fold, and every k votes with the first k of them, all
    alike or by 1 / distance. Features are used as they are: standardise them first where units
    differ.

    Cover & Hart (1967), *IEEE Transactions on Information Theory* 13, 21–27.
    """
    from sklearn.model_selection import StratifiedKFold

    (x, _), (_, codes) = as_matrix(X), encode(as_labels(y))
    splits = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    pairs = list(splits.split(x, codes))
    ks = _checked(neighbours, min(len(train) for train, _ in pairs))
    judged = partial(_errors, x, codes, weights=weights, ks=ks)
    tested = np.array([judged(train, test) for train, test in pairs])
    everyone = np.arange(len(x))
    return NeighbourCurve(
        ks,
        judged(everyone, everyone),
        tested.mean(axis=0),
        tested.std(axis=0, ddof=1) / np.sqrt(folds),
    )


def _errors(x: Any, codes: Codes, train: Codes, test: Codes, *, weights: str, ks: Codes) -> Floats:
    """Return the error on the test rows for each k, (m,)."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=int(ks.max())).fit(x[train])
    wrong = np.zeros(len(ks))
    for rows in np.array_split(test, len(test) // BLOCK + 1):
        distances, near = search.kneighbors(x[rows])
        own = codes[train][near][:, :, None] == np.arange(codes.max() + 1)
        votes = np.cumsum(own * voices(distances, weights)[:, :, None], axis=1)  # (n, k, K)
        wrong += (votes[:, ks - 1].argmax(axis=2) != codes[rows][:, None]).sum(axis=0)
    return wrong / len(test)


def voices(distances: Floats, weights: str) -> Floats:
    """Return 1, or 1 / distance, of neighbours (n, k); those at distance 0 vote alone."""
    if not parse_word(weights, {"uniform": False, "distance": True}, "weights"):
        return np.ones(distances.shape)
    at_zero = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(at_zero.any(axis=1, keepdims=True), at_zero, 1 / distances)


def _checked(neighbours: Any, most: int) -> Codes:
    """Return the numbers of neighbours, by default odd ones up to a third of the rows."""
    if neighbours is None:
        most = max(1, min(most, most // 3, 101))
        return np.arange(1, most + 1, 2)
    ks = np.unique(np.asarray(neighbours, dtype=np.intp))
    if not ks.size or ks[0] < 1 or ks[-1] > most:
        msg = f"neighbours={neighbours!r}: expected numbers from 1 to {most}, the rows of a fold"
        raise InvalidParameterError(msg)
    return ks
