"""Ways to keep the scatter of K classes: whole, pooled over classes, or its diagonal only.

Each knows how to add the two matrices of a merge, and answers or refuses the three questions
that estimation asks: per-class matrices, the pooled matrix, per-class diagonals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from suffice.errors import MissingStatisticsError

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats


class Scatter(Protocol):
    """S_k = Σ w (x − μ_k)(x − μ_k)ᵀ of every class, in one of three storages."""

    @property
    def storage(self) -> str:
        """Name of this storage, as users write it."""
        ...

    def per_class(self) -> Floats:
        """Return S_k, shape (K, d, d)."""
        ...

    def pooled(self) -> Floats:
        """Return Σ_k S_k, shape (d, d)."""
        ...

    def diagonals(self) -> Floats:
        """Return diag S_k, shape (K, d)."""
        ...

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k S_k, shape (d,)."""
        ...

    def placed(self, codes: Codes, n_classes: int) -> Scatter:
        """Return the same sums with class i moved to ``codes[i]`` of ``n_classes``."""
        ...

    def taken(self, codes: Codes) -> Scatter:
        """Return the sums of some classes only."""
        ...

    def select(self, columns: Codes) -> Scatter:
        """Return the sums of some features only."""
        ...

    def shifted(self, weights: Floats, deltas: Floats) -> Scatter:
        """Return S_k + weight_k δ_k δ_kᵀ."""
        ...

    def plus(self, other: Scatter, sign: float) -> Scatter:
        """Return S_k ± S'_k of the same storage, or of the coarser of the two."""
        ...

    def scaled(self, factor: float) -> Scatter:
        """Return every sum times ``factor``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PerClassScatter:
    """One matrix per class: every model can be read from it."""

    matrices: Floats  # S  (K, d, d)
    storage = "per-class"

    def per_class(self) -> Floats:
        """Return S_k, shape (K, d, d)."""
        return self.matrices

    def pooled(self) -> Floats:
        """Return Σ_k S_k, shape (d, d)."""
        total: Floats = self.matrices.sum(0)
        return total

    def diagonals(self) -> Floats:
        """Return diag S_k, shape (K, d)."""
        return np.diagonal(self.matrices, axis1=1, axis2=2)

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k S_k, shape (d,)."""
        total: Floats = self.diagonals().sum(0)
        return total

    def placed(self, codes: Codes, n_classes: int) -> PerClassScatter:
        """Return the same sums with class i moved to ``codes[i]``."""
        return PerClassScatter(_placed(self.matrices, codes, n_classes))

    def taken(self, codes: Codes) -> PerClassScatter:
        """Return the sums of some classes only."""
        return PerClassScatter(self.matrices[codes])

    def select(self, columns: Codes) -> PerClassScatter:
        """Return the sums of some features only."""
        return PerClassScatter(self.matrices[:, columns[:, None], columns])

    def shifted(self, weights: Floats, deltas: Floats) -> PerClassScatter:
        """Return S_k + weight_k δ_k δ_kᵀ."""
        outer = (weights[:, None] * deltas)[:, :, None] * deltas[:, None, :]
        outer += self.matrices
        return PerClassScatter(outer)

    def plus(self, other: Scatter, sign: float) -> Scatter:
        """Return the sum, in the coarser storage of the two."""
        if isinstance(other, PerClassScatter):
            return PerClassScatter(_signed(self.matrices, other.matrices, sign))
        if isinstance(other, PooledScatter):
            return PooledScatter(self.pooled()).plus(other, sign)
        return DiagonalScatter(self.diagonals()).plus(other, sign)

    def scaled(self, factor: float) -> PerClassScatter:
        """Return every sum times ``factor``."""
        return PerClassScatter(self.matrices * factor)


@dataclass(frozen=True, slots=True, eq=False)
class PooledScatter:
    """One matrix for all classes, d² numbers however many classes there are."""

    matrix: Floats  # Σ_k S_k  (d, d)
    storage = "pooled"

    def per_class(self) -> NoReturn:
        """Refuse: the classes were pooled."""
        _refuse(self.storage, "a covariance per class", "per-class")

    def pooled(self) -> Floats:
        """Return Σ_k S_k, shape (d, d)."""
        return self.matrix

    def diagonals(self) -> NoReturn:
        """Refuse: the classes were pooled."""
        _refuse(self.storage, "variances per class", "per-class' or 'diagonal")

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k S_k, shape (d,)."""
        return np.diagonal(self.matrix)

    def placed(self, codes: Codes, n_classes: int) -> PooledScatter:  # noqa: ARG002
        """Return itself: no class is told apart."""
        return self

    def taken(self, codes: Codes) -> PooledScatter:  # noqa: ARG002
        """Return itself: no class is told apart."""
        return self

    def select(self, columns: Codes) -> PooledScatter:
        """Return the sums of some features only."""
        return PooledScatter(self.matrix[np.ix_(columns, columns)])

    def shifted(self, weights: Floats, deltas: Floats) -> PooledScatter:
        """Return Σ_k (S_k + weight_k δ_k δ_kᵀ)."""
        return PooledScatter(self.matrix + (weights[:, None] * deltas).T @ deltas)

    def plus(self, other: Scatter, sign: float) -> PooledScatter:
        """Return the pooled sum."""
        return PooledScatter(_signed(self.matrix, other.pooled(), sign))

    def scaled(self, factor: float) -> PooledScatter:
        """Return every sum times ``factor``."""
        return PooledScatter(self.matrix * factor)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalScatter:
    """Sums of squares only: enough for naive Bayes."""

    squares: Floats  # diag S  (K, d)
    storage = "diagonal"

    def per_class(self) -> NoReturn:
        """Refuse: products of different features were not summed."""
        _refuse(self.storage, "a full covariance per class", "per-class")

    def pooled(self) -> NoReturn:
        """Refuse: products of different features were not summed."""
        _refuse(self.storage, "a full covariance", "pooled' or 'per-class")

    def diagonals(self) -> Floats:
        """Return diag S_k, shape (K, d)."""
        return self.squares

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k S_k, shape (d,)."""
        total: Floats = self.squares.sum(0)
        return total

    def placed(self, codes: Codes, n_classes: int) -> DiagonalScatter:
        """Return the same sums with class i moved to ``codes[i]``."""
        return DiagonalScatter(_placed(self.squares, codes, n_classes))

    def taken(self, codes: Codes) -> DiagonalScatter:
        """Return the sums of some classes only."""
        return DiagonalScatter(self.squares[codes])

    def select(self, columns: Codes) -> DiagonalScatter:
        """Return the sums of some features only."""
        return DiagonalScatter(self.squares[:, columns])

    def shifted(self, weights: Floats, deltas: Floats) -> DiagonalScatter:
        """Return diag S_k + weight_k δ_k²."""
        return DiagonalScatter(self.squares + weights[:, None] * deltas**2)

    def plus(self, other: Scatter, sign: float) -> DiagonalScatter:
        """Return the sum of the diagonals."""
        return DiagonalScatter(_signed(self.squares, other.diagonals(), sign))

    def scaled(self, factor: float) -> DiagonalScatter:
        """Return every sum times ``factor``."""
        return DiagonalScatter(self.squares * factor)


def _signed(a: Floats, b: Floats, sign: float) -> Floats:
    return a + b if sign > 0 else a - b


def _placed(values: Floats, codes: Codes, n_classes: int) -> Floats:
    out = np.zeros((n_classes, *values.shape[1:]))
    out[codes] = values
    return out


def _refuse(storage: str, wanted: str, cure: str) -> NoReturn:
    msg = (
        f"this model needs {wanted}, but these moments keep {storage!r} scatter only: "
        f"collect them with storage='{cure}'"
    )
    raise MissingStatisticsError(msg)
