"""Sets of classes that hold the true one as often as asked, calibrated on rows not seen."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.core.decision.predictions import Predictions
from suffice.core.text.numbers import percent_label
from suffice.core.text.tables import html_table, titled_html
from suffice.errors import InvalidParameterError
from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Conformity:
    """How strange each row's label looked to a model that had not seen it (Vovk et al. 2005)."""

    strangeness: Floats  # 1 − p(own label), ascending  (n,)
    weights: Floats  # (n,)

    @classmethod
    def of(cls, left_out: Predictions) -> Self:
        """Return the strangeness of every row's own label under a model that has not seen it."""
        rows = np.arange(len(left_out.truth))
        strangeness = -np.expm1(left_out.log_posteriors[rows, left_out.truth])
        strangeness = np.where(left_out.truth < 0, 1.0, strangeness)  # a label never seen
        order = np.argsort(strangeness)
        return cls(strangeness[order], left_out.weights[order])

    def threshold(self, coverage: float) -> float:
        """Return the strangeness that ``coverage`` of the rows, one more included, stay under."""
        if not 0 < coverage < 1:
            raise InvalidParameterError(f"coverage must lie between 0 and 1, got {coverage!r}")
        # the ⌈(n + 1) coverage⌉-th smallest of n + 1 values, the new row's own taken as largest
        mean = self.weights.sum() / np.count_nonzero(self.weights)
        reached = np.cumsum(self.weights) / (self.weights.sum() + mean)
        at = np.searchsorted(reached, coverage * (1 - 1e-12))
        return float(self.strangeness[at]) if at < len(reached) else np.inf


@dataclass(frozen=True, slots=True, eq=False)
class PredictionSets:
    """For each row, the classes that cannot be ruled out."""

    classes: Labels  # (K,)
    members: npt.NDArray[np.bool_]  # (n, K)
    coverage: float

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, row: int) -> list[Any]:
        return list(self.classes[self.members[row]].tolist())

    def to_list(self) -> list[list[Any]]:
        return [self[row] for row in range(len(self))]

    def _repr_html_(self) -> str:
        rows = [[size, int(n)] for size, n in enumerate(np.bincount(self.sizes)) if n]
        first = [[i, ", ".join(map(str, self[i]))] for i in range(min(len(self), 5))]
        said = (
            f"Sets of classes of {len(self):,} rows, coverage {percent_label(self.coverage)}"
        )
        sizes = html_table(["classes in the set", "rows"], rows)
        return titled_html(said, sizes, html_table(["row", "set"], first))

    @property
    def sizes(self) -> npt.NDArray[np.intp]:
        """Number of classes in each set, shape (n,)."""
        return np.asarray(self.members.sum(1))

    def covers(self, y: Labels) -> npt.NDArray[np.bool_]:
        """Return whether each set holds the label given, shape (n,)."""
        return np.asarray((self.members & (np.asarray(y)[:, None] == self.classes)).any(1))
