"""Scatter about the class means, stored per class, pooled, as diagonals or as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, NoReturn, Protocol, Self, TypeAlias

import numpy as np

from suffice.core.linalg import EPS
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.errors import MissingStatisticsError
from suffice.typing import Array, Codes, Floats

Storage = Literal["per-class", "pooled", "diagonal", "rows"]
# after rows were removed, a sum below this share of its largest earlier value may be rounding
ROUNDING = 1e3 * EPS


def as_columns(weights: Array) -> Array:
    """Return weights that multiply arrays (K, d): (K,) becomes (K, 1), (K, d) is not changed."""
    return weights[:, None] if weights.ndim == 1 else weights


class ReadOut(Protocol):
    """Scatter that is computed when it is first read."""

    @property
    def values(self) -> Floats:
        """The scatter, in the shape of its storage."""


@dataclass(frozen=True, slots=True, eq=False)
class _StoredScatter:
    """Base class of three storages, which override the methods that they support."""

    source: Floats | ReadOut
    storage: ClassVar[Storage]

    @property
    def values(self) -> Floats:
        """M in the shape of the storage."""
        return self.source if isinstance(self.source, np.ndarray) else self.source.values

    def per_class(self) -> Floats:
        """Return M_k, shape (K, d, d)."""
        self._refuse("a covariance per class", "storage='per-class'")

    def pooled(self) -> Floats:
        """Return Σ_k M_k, shape (d, d)."""
        self._refuse("a full covariance", "storage='pooled' or 'per-class'")

    def diagonals(self) -> Floats:
        """Return diag M_k, shape (K, d)."""
        self._refuse("variances per class", "storage='per-class' or 'diagonal'")

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k M_k, shape (d,)."""
        return np.asarray(self.diagonals().sum(0))

    def by_class(self, change: Callable[[Floats], Floats]) -> Self:
        """Return the sums of other classes; ``change`` maps the first axis."""
        return type(self)(change(self.values))

    def scaled_by_class(self, factors: Floats) -> Self:
        """Return f_k M_k; pooled sums cannot be scaled by class."""
        n_further_axes = self.values.ndim - 1
        return type(self)(factors.reshape(-1, *[1] * n_further_axes) * self.values)

    def select(self, columns: Codes) -> Self:
        """Return the sums of some features only."""
        return type(self)(self.values[..., columns[:, None], columns])

    def mapped(self, T: Floats) -> Self:
        """Return the scatter of T x: T M Tᵀ."""
        return type(self)(T @ self.values @ T.T)

    def _refuse(self, wanted: str, cure: str) -> NoReturn:
        raise MissingStatisticsError(
            f"this model needs {wanted}, but these moments keep {self.storage!r} scatter only: "
            f"collect them with {cure}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class PerClassScatter(_StoredScatter):
    """One matrix per class, M (K, d, d): every model can be computed from it."""

    storage: ClassVar[Storage] = "per-class"

    def per_class(self) -> Floats:
        return self.values

    def pooled(self) -> Floats:
        return np.asarray(self.values.sum(0))

    def diagonals(self) -> Floats:
        return np.diagonal(self.values, axis1=1, axis2=2)

    def shifted(self, weights: Floats, deltas: Floats) -> PerClassScatter:
        """Return M_k + weight_k δ_k δ_kᵀ."""
        outer = (weights[:, None] * deltas)[:, :, None] * deltas[:, None, :]
        outer += self.values
        return PerClassScatter(outer)


@dataclass(frozen=True, slots=True, eq=False)
class PooledScatter(_StoredScatter):
    """One matrix for all classes together, Σ_k M_k (d, d)."""

    storage: ClassVar[Storage] = "pooled"

    def pooled(self) -> Floats:
        return self.values

    def pooled_diagonal(self) -> Floats:
        return np.diagonal(self.values)

    def by_class(self, change: Callable[[Floats], Floats]) -> Self:  # noqa: ARG002
        return self

    def shifted(self, weights: Floats, deltas: Floats) -> PooledScatter:
        """Return Σ_k (M_k + weight_k δ_k δ_kᵀ)."""
        return PooledScatter(self.values + (weights[:, None] * deltas).T @ deltas)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalScatter(_StoredScatter):
    """Sums of squares only, diag M_k (K, d): enough for naive Bayes."""

    storage: ClassVar[Storage] = "diagonal"

    def diagonals(self) -> Floats:
        return self.values

    def select(self, columns: Codes) -> Self:
        return type(self)(self.values[:, columns])

    def mapped(self, T: Floats) -> Self:
        """Return the sums of squares of T x, where T only reorders features."""
        return type(self)(self.values @ T.T)

    def shifted(self, weights: Floats, deltas: Floats) -> DiagonalScatter:
        """Return diag M_k + weight_k δ_k²; ``weights`` is (K,) or (K, d)."""
        return DiagonalScatter(self.values + as_columns(weights) * deltas**2)


# M_k = Σ w (x − μ_k)(x − μ_k)ᵀ of every class, in one of four storages
Scatter: TypeAlias = PerClassScatter | PooledScatter | DiagonalScatter | RowScatter
SCATTERS: Mapping[str, type[PerClassScatter] | type[PooledScatter] | type[DiagonalScatter]] = {
    "per-class": PerClassScatter,
    "pooled": PooledScatter,
    "diagonal": DiagonalScatter,
}


def scatter_shape(storage: str, k: int, d: int) -> tuple[int, ...]:
    """Return the shape of a storage's array for k classes and d features."""
    return {"per-class": (k, d, d), "pooled": (d, d), "diagonal": (k, d)}[storage]


def coarser_storage(a: Scatter, b: Scatter) -> Storage:
    """Return the storage with less detail, which the sum of two scatters has."""
    storages = (a.storage, b.storage)
    for storage in ("diagonal", "pooled", "per-class"):
        if storage in storages:
            return storage
    return "rows"


def added(a: Scatter, b: Scatter, sign: float) -> Scatter:
    """Return a + b, or a − b if ``sign`` is −1, in the storage with less detail."""
    if isinstance(a, RowScatter) and isinstance(b, RowScatter):
        return _dense_if_outgrown(a.plus(b)) if sign > 0 else a.minus(b)
    storage = coarser_storage(a, b)
    if storage == "diagonal":
        return DiagonalScatter(_signed_sum(a.diagonals(), b.diagonals(), sign))
    if storage == "pooled":
        return PooledScatter(_signed_sum(a.pooled(), b.pooled(), sign))
    return PerClassScatter(_signed_sum(a.per_class(), b.per_class(), sign))


def _dense_if_outgrown(rows: RowScatter) -> Scatter:
    """Return the rows, or their dense scatter if that holds fewer numbers."""
    if not rows.is_outgrown:
        return rows
    if rows.becomes == "pooled":
        return PooledScatter(rows.pooled())
    return PerClassScatter(rows.per_class())


def _signed_sum(a: Floats, b: Floats, sign: float) -> Floats:
    return a + b if sign > 0 else a - b


class FourthMoments(NamedTuple):
    """Sums over z = x − μ_k, from which Σ ‖z‖⁴ of Ledoit & Wolf (2004) is computed.

    Only merging needs the third moments.
    """

    thirds: Floats  # Σ w z_i² z_j   (K, d, d)
    fourths: Floats  # Σ w z_i² z_j²  (K, d, d)

    def changed(self, change: Callable[[Floats], Floats]) -> FourthMoments:
        """Return the moments with ``change`` applied to both arrays."""
        return FourthMoments(thirds=change(self.thirds), fourths=change(self.fourths))

    def recentred(
        self,
        weights: Floats,
        sums: Floats,
        scatters: Floats,
        shift: Floats,
    ) -> FourthMoments:
        """Return the sums over z + e, given Σ w (K,), Σ w z (K, d), Σ w z zᵀ and e (K, d)."""
        variances = np.diagonal(scatters, axis1=1, axis2=2)
        w = weights[:, None, None]
        ei = shift[:, :, None]
        ej = shift[:, None, :]
        si = sums[:, :, None]
        sj = sums[:, None, :]
        vi = variances[:, :, None]
        vj = variances[:, None, :]
        # Σ w (z_i+e_i)²(z_j+e_j)
        thirds = self.thirds + ej * vi + 2 * ei * (scatters + ej * si) + ei**2 * (sj + w * ej)
        # Σ w (z_i+e_i)²(z_j+e_j)²
        fourths = (
            self.fourths
            + 2 * (ej * self.thirds + ei * np.swapaxes(self.thirds, 1, 2))
            + ej**2 * (vi + 2 * ei * si)
            + ei**2 * (vj + 2 * ej * sj)
            + 4 * ei * ej * scatters
            + w * ei**2 * ej**2
        )
        return FourthMoments(thirds, fourths)


def scatter_of(
    z: Floats,
    wz: Floats,
    rows_of: Mapping[int, slice],
    storage: Storage,
    n_classes: int,
) -> PerClassScatter | PooledScatter | DiagonalScatter:
    """Return the scatter of centred rows z = x − μ_k, sorted by class; ``wz`` holds w z."""
    # M_k = Σ w (x − μ_k)(x − μ_k)ᵀ = Σ w z zᵀ over the rows of class k
    d = z.shape[1]
    if storage == "pooled":
        return PooledScatter(wz.T @ z)
    if storage == "diagonal":
        squares = np.zeros((n_classes, d))
        for k, rows in rows_of.items():
            squares[k] = np.einsum("ij,ij->j", wz[rows], z[rows])
        return DiagonalScatter(squares)
    products = np.zeros((n_classes, d, d))
    for k, rows in rows_of.items():
        products[k] = wz[rows].T @ z[rows]
    return PerClassScatter(symmetric(products))


def fourth_moments_of(
    z: Floats,
    wz: Floats,
    rows_of: Mapping[int, slice],
    n_classes: int,
) -> FourthMoments:
    """Return Σ w z_i² z_j and Σ w z_i² z_j² of centred rows z, sorted by class; ``wz`` is w z."""
    d = z.shape[1]
    thirds = np.zeros((n_classes, d, d))
    fourths = np.zeros((n_classes, d, d))
    for k, rows in rows_of.items():
        weighted_squares = wz[rows] * z[rows]
        thirds[k] = weighted_squares.T @ z[rows]
        fourths[k] = weighted_squares.T @ np.square(z[rows])
    return FourthMoments(thirds, fourths)


def symmetric(lower: Floats) -> Floats:
    """Return symmetric matrices, given their lower triangles."""
    below = np.tril(lower, -1)
    filled = below + np.swapaxes(below, -1, -2)
    diagonal = np.arange(lower.shape[-1])
    filled[..., diagonal, diagonal] = lower[..., diagonal, diagonal]
    return np.asarray(filled)
