"""The labelled table: rows of numbers and the class of each, checked once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.table import matrix
from suffice.core.table.foreign import is_foreign, to_numpy
from suffice.core.table.labels import as_labels, encode, union
from suffice.core.table.matrix import Matrix, as_weights, taken
from suffice.core.table.mixed import read
from suffice.core.table.schema import Encoding, Schema
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of numbers, each with its class and its weight: what everything is learnt from."""

    x: Matrix  # numbers (n, p), any memory order, perhaps on a device
    classes: Labels  # sorted, some perhaps without rows  (K,)
    codes: Codes  # class of each row  (n,)
    weight: Floats | None = None  # None: every row counts once  (n,)
    names: tuple[str, ...] | None = None  # of the features, where they have any  (D,)
    indicators: Codes | None = None  # level of each row in each group, −1 for none  (n, h + q)
    schema: Schema | None = None  # of the columns, where not all are numbers

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        categorical: Any = None,
        missing: str = "marginal",
        schema: Schema | None = None,
        names: Any = None,
    ) -> Self:
        """Return users' rows, labels and weights, after checking that they fit together."""
        # ``classes`` are labels known beforehand, kept even where no row has them. Columns of text
        # and those that ``categorical`` names become categories; ``missing="indicator"`` fills
        # empty numbers and marks them. A ``schema`` says what each column is; ``names`` are those
        # of the columns of a mixed array.
        codes: Any
        indicators = None
        plain = schema is None and categorical is None and not matrix.is_mixed(X)
        if plain:
            x, found = matrix.as_matrix(X)
        if not plain or (missing == "indicator" and matrix.has_missing(x)):
            how: Any = {"categorical": categorical, "missing": missing, "names": names}
            schema, x, indicators = read(X, schema, **how)
            found = schema.feature_names
        labels, codes = encode(as_labels(y))
        require_as_many(len(x), len(codes))
        if classes is not None:
            known = union(np.unique(as_labels(classes)), labels)
            labels, codes = known, np.searchsorted(known, labels)[codes]
        return cls(
            x, labels, codes, as_weights(sample_weight, len(x)), found, indicators, schema
        )

    @classmethod
    def of_device(cls, x: Any, y: Any, sample_weight: Any) -> Self:
        """Return rows that stay where they lie; labels and weights come to the host."""
        labels, codes = encode(as_labels(to_numpy(y)))
        require_as_many(x.shape[0], len(codes))
        return cls(x, labels, codes, as_weights(to_numpy(sample_weight), len(codes)))

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features D: numbers and indicators."""
        return int(self.x.shape[1]) if self.schema is None else self.schema.n_features

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def labels(self) -> Labels:
        return self.classes[self.codes]

    @property
    def weights(self) -> Floats:
        """Weight of each row, ones where none were given, (n,)."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def class_weights(self) -> Floats:
        """Sum of the weights of each class, (K,)."""
        return np.bincount(self.codes, self.weight, self.n_classes).astype(np.float64)

    def take(self, rows: Any) -> Self:
        """Return some rows, by number, by slice or by mask; the classes stay."""
        x = taken(self.x, np.arange(self.n_rows)[rows]) if is_foreign(self.x) else self.x[rows]
        others: Any = {name: getattr(self, name) for name in ("codes", "weight", "indicators")}
        own: Any = {name: None if v is None else v[rows] for name, v in others.items()}
        return replace(self, x=x, **own)

    def with_rows(self, x: Matrix, names: tuple[str, ...] | None = None) -> Self:
        """Return the same labels and weights with other numbers, such as transformed ones."""
        return replace(self, x=x, names=names)

    def level_weights(self) -> Floats:
        """Return the weight of each indicator, (C,)."""
        if self.schema is None or self.indicators is None:
            return np.zeros(0)
        placed = np.where(self.indicators < 0, -1, self.indicators + self.schema.starts[:-1])
        w = np.broadcast_to(self.weights[:, None], placed.shape)
        on = placed >= 0
        return np.bincount(placed[on], w[on], self.schema.n_indicators).astype(np.float64)

    def encoded(self, encoding: Encoding | None = None) -> tuple[Self, Encoding | None]:
        """Return the table as numbers alone, and how: None where it held numbers alone already."""
        if self.schema is None or self.indicators is None:
            return self, None
        known = encoding or Encoding.of(self.schema, self.level_weights())
        alone: Any = {"x": known.rows(self.x, self.indicators), "names": known.feature_names}
        return replace(self, **alone, indicators=None, schema=None), known

    def counted(self) -> Self:
        """Return the rows of positive weight, and the classes that these have."""
        table = (
            self if self.weight is None or self.weight.all() else self.take(self.weight > 0)
        )
        present = np.flatnonzero(np.bincount(table.codes, minlength=self.n_classes))
        if len(present) == self.n_classes:
            return table
        codes = np.searchsorted(present, table.codes)
        return replace(table, classes=self.classes[present], codes=codes)


@contextmanager
def numbering_rows(table: Table) -> Iterator[None]:
    """Let errors about samples and folds of rows name the row of the table, and its column."""
    try:
        yield
    except InvalidInputError:
        matrix.refuse_nonfinite(table.x, table.names, table.weight)
        raise


def require_as_many(n_rows: int, n_labels: int) -> None:
    """Raise unless there is one label for each row."""
    if n_rows != n_labels:
        raise InvalidInputError(f"X has {n_rows} rows but y has {n_labels} labels")
