"""Sets of classes that contain the true class with a given probability (conformal prediction).

With the posterior p, n held-out rows (x_i, y_i) and the coverage c, the set of a new row x is

    {k : 1 − p(k∣x) ≤ q},  q the ⌈(n + 1) c⌉-th smallest of the scores 1 − p(y_i∣x_i)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice.core.decision.predictions import Predictions
from suffice.core.text.numbers import percent_label
from suffice.core.text.tables import html_table, titled_html
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Flags, Floats, Labels, LabelsLike

_SHOWN = 5  # number of sets that a notebook shows


@dataclass(frozen=True, slots=True, eq=False)
class NonconformityScores:
    """1 − p(true label) of held-out rows (Vovk, Gammerman & Shafer 2005)."""

    scores: Floats  # 1 − p(true label), ascending  (n,)
    weights: Floats  # (n,)

    @classmethod
    def of(cls, held_out: Predictions) -> Self:
        """Return the scores of the labels of held-out rows."""
        rows = np.arange(len(held_out.truth))
        scores = -np.expm1(held_out.log_posteriors[rows, held_out.truth])
        # code −1: the label had no training rows
        scores = np.where(held_out.truth < 0, 1.0, scores)
        order = np.argsort(scores)
        return cls(scores[order], held_out.weights[order])

    def threshold(self, coverage: float) -> float:
        """Return the ⌈(n + 1) c⌉-th smallest of n scores for coverage c, or ∞ if that exceeds n."""
        if not 0 < coverage < 1:
            raise InvalidParameterError(f"coverage must lie between 0 and 1, got {coverage!r}")
        # with weights, the new row gets the mean weight w̄ and a score above all others: find the
        # smallest i with Σ_{j ≤ i} w_j ≥ c (Σ w + w̄), which is ⌈(n + 1) c⌉ for equal weights
        total = self.weights.sum()
        mean = total / np.count_nonzero(self.weights)
        reached = np.cumsum(self.weights) / (total + mean)
        position = np.searchsorted(reached, coverage * (1 - 1e-12))
        if position == len(reached):
            return np.inf
        return float(self.scores[position])

    def sets(self, classes: Labels, posteriors: Floats, coverage: float) -> PredictionSets:
        """Return the sets of classes of new rows, given the rows' posteriors (n, K)."""
        # k is in the set if 1 − p(k∣x) ≤ q; a score equal to q may differ from it by rounding
        q = self.threshold(coverage)
        members = 1 - posteriors <= q * (1 + 1e-12)
        return PredictionSets(classes, members, coverage)


@dataclass(frozen=True, slots=True, eq=False)
class PredictionSets:
    """Sets of classes, one for each row, that contain the true class with a given probability."""

    classes: Labels  # (K,)
    members: Flags  # (n, K)
    coverage: float

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, row: int) -> list[object]:
        return list(self.classes[self.members[row]].tolist())

    def to_list(self) -> list[list[object]]:
        return [self[row] for row in range(len(self))]

    def _repr_html_(self) -> str:
        counts = [[size, int(n)] for size, n in enumerate(np.bincount(self.sizes)) if n]
        first_sets = []
        for row in range(min(len(self), _SHOWN)):
            labels = ", ".join(str(label) for label in self[row])
            first_sets.append([row, labels])
        coverage = percent_label(self.coverage)
        return titled_html(
            f"Sets of classes of {len(self):,} rows, coverage {coverage}",
            html_table(["classes in the set", "rows"], counts),
            html_table(["row", "set"], first_sets),
        )

    @property
    def sizes(self) -> Codes:
        """Number of classes in each set, shape (n,)."""
        return np.asarray(self.members.sum(1))

    def covers(self, y: LabelsLike) -> Flags:
        """Return whether each set contains the row's label in ``y``, shape (n,)."""
        is_label = np.asarray(y)[:, None] == self.classes
        return np.asarray((self.members & is_label).any(1))
