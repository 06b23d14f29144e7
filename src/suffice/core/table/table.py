"""The labelled table: numeric rows, each with its class and weight, checked once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from suffice.core.table import matrix
from suffice.core.table.foreign import DeviceArray, is_foreign, to_numpy
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.labels import as_labels, encode, union
from suffice.core.table.matrix import Matrix, as_weights, taken
from suffice.core.table.mixed import read
from suffice.core.table.schema import LevelCodes, Schema
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Flags, Floats, Labels, LabelsLike, RowsLike, WeightsLike


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of numbers, each with its class and its weight."""

    x: Matrix  # numbers (n, p), in any memory order; they may lie on a device
    classes: Labels  # sorted labels, some perhaps without rows  (K,)
    codes: Codes  # class of each row  (n,)
    weight: Floats | None = None  # None: every row has weight 1  (n,)
    names: tuple[str, ...] | None = None  # names of the features, or None without names  (D,)
    # code of each row's level in each group of indicators, −1 for no level  (n, h + q)
    indicators: LevelCodes | None = None
    schema: Schema | None = None  # columns of a mixed table; None if all are numeric

    @classmethod
    def of(
        cls,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        classes: LabelsLike | None = None,
        categorical: Sequence[int | str] | str | None = None,
        missing: str = "marginal",
        schema: Schema | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Return rows, labels and weights as a table, after checking that they fit together.

        Text columns, and columns that ``categorical`` names, become categories.

        Parameters
        ----------
        classes : array, optional
            All labels, if known beforehand; they are kept even if no row has them.
        missing : {"marginal", "indicator"}
            Keep missing numbers as NaN, or fill them and add an indicator of missing values.
        schema : Schema, optional
            The kind of each column; by default it is derived from the column's values.
        names : sequence of str, optional
            Names of the columns of a mixed array.
        """
        indicators = None
        is_numeric = schema is None and categorical is None and not matrix.is_mixed(X)
        if is_numeric:
            x, feature_names = matrix.as_matrix(X)
        if not is_numeric or (missing == "indicator" and matrix.has_missing(x)):
            schema, x, indicators = read(
                X, schema, categorical=categorical, missing=missing, names=names
            )
            feature_names = schema.feature_names
        labels, codes = encode(y)
        require_as_many(len(x), len(codes))
        if classes is not None:
            all_labels = union(np.unique(as_labels(classes)), labels)
            codes = np.searchsorted(all_labels, labels)[codes]
            labels = all_labels
        return cls(
            x=x,
            classes=labels,
            codes=codes,
            weight=as_weights(sample_weight, len(x)),
            names=feature_names,
            indicators=indicators,
            schema=schema,
        )

    @classmethod
    def of_device(cls, x: DeviceArray, y: LabelsLike, sample_weight: WeightsLike) -> Self:
        """Return a table whose rows stay on the device; labels and weights are on the host."""
        labels, codes = encode(to_numpy(y))
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
        """Weight of each row, 1 by default, (n,)."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def class_weights(self) -> Floats:
        """Sum of the weights of each class, (K,)."""
        return np.bincount(self.codes, self.weight, self.n_classes).astype(np.float64)

    @property
    def class_counts(self) -> Codes:
        """Number of rows with positive weight in each class, (K,)."""
        codes = self.codes if self.weight is None else self.codes[self.weight > 0]
        return np.bincount(codes, minlength=self.n_classes).astype(np.intp)

    @property
    def has_absent_rows(self) -> bool:
        """Whether some row has weight zero, so that it is ignored."""
        return self.weight is not None and not self.weight.all()

    def take(self, rows: Codes | Flags | slice | Sequence[int]) -> Self:
        """Return some rows, by number, slice or mask, with all classes."""
        return replace(
            self,
            x=taken(self.x, np.arange(self.n_rows)[rows])
            if is_foreign(self.x)
            else self.x[rows],
            codes=self.codes[rows],
            weight=None if self.weight is None else self.weight[rows],
            indicators=None if self.indicators is None else self.indicators[rows],
        )

    def with_rows(self, x: Matrix, names: tuple[str, ...] | None = None) -> Self:
        """Return the table with other numbers in its rows, such as transformed numbers."""
        return replace(self, x=x, names=names)

    def indicator_features(self) -> LevelCodes:
        """Return the position of each row's indicator in each group, or −1, (n, h + q).

        Positions are those among the indicators of all groups.
        """
        assert self.schema is not None
        assert self.indicators is not None
        return np.where(self.indicators < 0, -1, self.indicators + self.schema.starts[:-1])

    def level_weights(self) -> Floats:
        """Return the total weight of the rows with each indicator, (C,)."""
        if self.schema is None or self.indicators is None:
            return np.zeros(0)
        indicators = self.indicator_features()
        weights = np.broadcast_to(self.weights[:, None], indicators.shape)
        is_on = indicators >= 0
        sums = np.bincount(indicators[is_on], weights[is_on], self.schema.n_indicators)
        return sums.astype(np.float64)

    def encoded(self, encoding: Encoding | None = None) -> tuple[Self, Encoding | None]:
        """Return the table with numeric features only, and the encoding that made these features.

        The encoding is None if all columns are numeric already.
        """
        if self.schema is None or self.indicators is None:
            return self, None
        if encoding is None:
            encoding = Encoding.of(self.schema, self.level_weights())
        table = replace(
            self,
            x=encoding.rows(self.x, self.indicators),
            names=encoding.feature_names,
            indicators=None,
            schema=None,
        )
        return table, encoding

    def counted(self) -> Self:
        """Return the rows with positive weight, without classes that have no such row."""
        table = self.take(self.weights > 0) if self.has_absent_rows else self
        present = np.flatnonzero(np.bincount(table.codes, minlength=self.n_classes))
        if len(present) == self.n_classes:
            return table
        codes = np.searchsorted(present, table.codes)
        return replace(table, classes=self.classes[present], codes=codes)


@contextmanager
def numbering_rows(table: Table) -> Iterator[None]:
    """Make errors about rows of a sample or a fold name the row of the whole table."""
    try:
        yield
    except InvalidInputError:
        matrix.refuse_nonfinite(table.x, table.names, table.weight)
        raise


def require_as_many(n_rows: int, n_labels: int) -> None:
    """Raise unless there is one label for each row."""
    if n_rows != n_labels:
        raise InvalidInputError(f"X has {n_rows} rows but y has {n_labels} labels")
