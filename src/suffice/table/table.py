"""The labelled table: rows of numbers and the class of each, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.labels import as_labels, encode, union
from suffice.table.matrix import as_matrix, as_weights

if TYPE_CHECKING:
    from suffice.table.matrix import Matrix
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of numbers, each with its class and its weight: what everything is learnt from.

    Examples
    --------
    >>> table = Table.of([[1.0], [2.0], [4.0]], ["b", "a", "b"])
    >>> table.classes.tolist(), table.codes.tolist(), table.n_rows
    (['a', 'b'], [1, 0, 1], 3)
    >>> table.take([0, 2]).labels.tolist()
    ['b', 'b']
    """

    x: Matrix  # (n, d), any memory order
    classes: Labels  # sorted, some perhaps without rows  (K,)
    codes: Codes  # class of each row  (n,)
    weight: Floats | None = None  # None: every row counts once  (n,)
    names: tuple[str, ...] | None = None  # of the columns, where they have any  (d,)

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> Table:
        """Return users' rows, labels and weights, after checking that they fit together.

        ``classes`` are labels known beforehand, kept even where no row has them.
        """
        x, names = as_matrix(X)
        labels, codes = encode(as_labels(y))
        require_as_many(len(x), len(codes))
        if classes is not None:
            known = union(np.unique(as_labels(classes)), labels)
            labels, codes = known, np.searchsorted(known, labels)[codes]
        return cls(x, labels, codes, as_weights(sample_weight, len(x)), names)

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.x.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def labels(self) -> Labels:
        """Label of each row, (n,)."""
        labels: Labels = self.classes[self.codes]
        return labels

    @property
    def weights(self) -> Floats:
        """Weight of each row, ones where none were given, (n,)."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def class_weights(self) -> Floats:
        """Sum of the weights of each class, (K,)."""
        return np.bincount(self.codes, self.weight, self.n_classes).astype(np.float64)

    def take(self, rows: Any) -> Table:
        """Return some rows, by number, by slice or by mask; the classes stay."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, x=self.x[rows], codes=self.codes[rows], weight=weight)

    def with_rows(self, x: Matrix, names: tuple[str, ...] | None = None) -> Table:
        """Return the same labels and weights with other numbers, such as transformed ones."""
        return replace(self, x=x, names=names)

    def counted(self) -> Table:
        """Return the rows of positive weight, and the classes that these have."""
        table = self if self.weight is None or self.weight.all() else self.take(self.weight > 0)
        present = np.flatnonzero(np.bincount(table.codes, minlength=self.n_classes))
        if len(present) == self.n_classes:
            return table
        codes = np.searchsorted(present, table.codes)
        return replace(table, classes=self.classes[present], codes=codes)


def require_as_many(n_rows: int, n_labels: int) -> None:
    """Raise unless there is one label for each row."""
    if n_rows != n_labels:
        msg = f"X has {n_rows} rows but y has {n_labels} labels"
        raise InvalidInputError(msg)
