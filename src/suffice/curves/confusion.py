"""How often each class is taken for each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.labels import as_labels, codes_of
from suffice.table.matrix import as_weights
from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Weight of rows of each true class by what was predicted for them."""

    classes: Labels  # true labels  (K,)
    actions: Labels  # predicted labels: the classes, then any other; None: no decision  (A,)
    counts: Floats  # [truth, prediction]  (K, A)

    @property
    def shares(self) -> Floats:
        """Share of each true class by prediction, (K, A); rows sum to 1, or to 0 if empty."""
        total = self.counts.sum(axis=1, keepdims=True)
        nothing = np.zeros(self.counts.shape)
        shares: Floats = np.divide(self.counts, total, out=nothing, where=total > 0)
        return shares

    @property
    def error(self) -> float:
        """Share of rows predicted as a wrong class or as none."""
        return float(1 - np.trace(self.counts) / self.counts.sum())


def confusion(y: Any, predicted: Any, classes: Any = None, sample_weight: Any = None) -> Confusion:
    """Return the confusion matrix of true labels ``y`` (n,) and predicted labels (n,)."""
    truth = as_labels(y)
    known = np.unique(truth) if classes is None else np.asarray(classes)
    guesses = np.asarray(predicted, dtype=object)
    if guesses.shape != truth.shape:
        msg = f"y has {len(truth)} labels but predicted has shape {guesses.shape}"
        raise InvalidInputError(msg)
    actions, columns = _columns(guesses.tolist(), known)
    weights = as_weights(sample_weight, len(truth))
    cell = codes_of(truth, known) * len(actions) + columns
    counts = np.bincount(cell, weights, len(known) * len(actions)).astype(np.float64)
    return Confusion(known, actions, counts.reshape(len(known), len(actions)))


def _columns(guesses: list[Any], classes: Labels) -> tuple[Labels, Codes]:
    """Return the labels of the columns and the column of each guess; NaN is None."""
    column = {label: k for k, label in enumerate(classes.tolist())}
    named = [None if g is None or g != g else g for g in guesses]
    columns = np.array([column.setdefault(guess, len(column)) for guess in named], np.intp)
    if len(column) == len(classes):
        return classes, columns
    actions = np.empty(len(column), dtype=object)
    actions[:] = list(column)
    return actions, columns
