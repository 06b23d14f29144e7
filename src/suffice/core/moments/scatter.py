"""Second and fourth moments about the class means: kept whole, pooled, or as diagonals only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, get_args

import numpy as np

from suffice.errors import MissingStatisticsError
from suffice.typing import Codes, Floats


def by_column(weights: Any) -> Any:
    """Return weights of classes (K, 1), or of the columns of each (K, d), to multiply (K, d)."""
    return weights[:, None] if weights.ndim == 1 else weights


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """What the storages share; each answers what it can of the rest."""

    values: Floats
    storage, reading = "", ""
    rank = 0  # of two storages the one of larger rank holds their sum

    def _kept(self) -> Floats:
        return self.values

    def per_class(self) -> Floats:
        """Return S_k, shape (K, d, d)."""
        _refuse(self.storage, "a covariance per class", "per-class")

    def pooled(self) -> Floats:
        """Return Σ_k S_k, shape (d, d)."""
        _refuse(self.storage, "a full covariance", "pooled' or 'per-class")

    def diagonals(self) -> Floats:
        """Return diag S_k, shape (K, d)."""
        _refuse(self.storage, "variances per class", "per-class' or 'diagonal")

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k S_k, shape (d,)."""
        return np.asarray(self.diagonals().sum(0))

    def by_class(self, change: Callable[[Floats], Floats]) -> Self:
        """Return the sums of other classes, by a change of the first axis."""
        return type(self)(change(self.values))

    def select(self, columns: Codes) -> Self:
        """Return the sums of some features only."""
        return type(self)(self.values[..., columns[:, None], columns])

    def mapped(self, change: Floats) -> Self:
        """Return the scatter of T x: T S Tᵀ."""
        return type(self)(change @ self.values @ change.T)

    def plus(self, other: Scatter, sign: float) -> Scatter:
        """Return the sum, in the coarser storage of the two."""
        coarser: Any = max(self, other, key=lambda scatter: scatter.rank)
        a, b = (getattr(scatter, coarser.reading)() for scatter in (self, other))
        return type(coarser)(a + b if sign > 0 else a - b)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class PerClassScatter(_Stored):
    """One matrix per class, S (K, d, d): every model can be read from it."""

    storage, reading = "per-class", "per_class"
    per_class = _Stored._kept

    def pooled(self) -> Floats:
        return np.asarray(self.values.sum(0))

    def diagonals(self) -> Floats:
        return np.diagonal(self.values, axis1=1, axis2=2)

    def shifted(self, weights: Floats, deltas: Floats) -> PerClassScatter:
        """Return S_k + weight_k δ_k δ_kᵀ."""
        outer = (weights[:, None] * deltas)[:, :, None] * deltas[:, None, :]
        outer += self.values
        return PerClassScatter(outer)


@dataclass(frozen=True, slots=True, eq=False)
class PooledScatter(_Stored):
    """One matrix for all classes, Σ_k S_k (d, d), however many classes there are."""

    storage, reading, rank = "pooled", "pooled", 1
    pooled = _Stored._kept

    def pooled_diagonal(self) -> Floats:
        return np.diagonal(self.values)

    def by_class(self, change: Callable[[Floats], Floats]) -> Self:  # noqa: ARG002
        return self

    def shifted(self, weights: Floats, deltas: Floats) -> PooledScatter:
        """Return Σ_k (S_k + weight_k δ_k δ_kᵀ)."""
        return PooledScatter(self.values + (weights[:, None] * deltas).T @ deltas)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalScatter(_Stored):
    """Sums of squares only, diag S_k (K, d): enough for naive Bayes."""

    storage, reading, rank = "diagonal", "diagonals", 2
    diagonals = _Stored._kept

    def select(self, columns: Codes) -> Self:
        return type(self)(self.values[:, columns])

    def mapped(self, change: Floats) -> Self:
        return type(self)(self.values @ change.T)  # T only moves features

    def shifted(self, weights: Floats, deltas: Floats) -> DiagonalScatter:
        """Return diag S_k + weight_k δ_k²; weights are (K,), or (K, d)."""
        return DiagonalScatter(self.values + by_column(weights) * deltas**2)


# S_k = Σ w (x − μ_k)(x − μ_k)ᵀ of every class, in one of three storages
Scatter: TypeAlias = PerClassScatter | PooledScatter | DiagonalScatter
SCATTERS: Mapping[str, Any] = {kind.storage: kind for kind in get_args(Scatter)}


def scatter_shape(storage: str, k: int, d: int) -> tuple[int, ...]:
    """Return the shape of what a storage keeps of k classes in d features."""
    return {"per-class": (k, d, d), "pooled": (d, d), "diagonal": (k, d)}[storage]


class FourthMoments(NamedTuple):
    """Sums over z = x − μ_k for Ledoit & Wolf's (2004) Σ ‖z‖⁴; the thirds let it be merged."""

    thirds: Floats  # Σ w z_i² z_j   (K, d, d)
    fourths: Floats  # Σ w z_i² z_j²  (K, d, d)

    def recentred(
        self,
        weights: Floats,
        sums: Floats,
        scatters: Floats,
        shift: Floats,
    ) -> FourthMoments:
        """Return the sums over z + e, given Σw, Σ w z (K, d), Σ w z zᵀ and the shift e (K, d)."""
        variances = np.diagonal(scatters, axis1=1, axis2=2)
        w, ei, ej = weights[:, None, None], shift[:, :, None], shift[:, None, :]
        si, sj = sums[:, :, None], sums[:, None, :]
        vi, vj = variances[:, :, None], variances[:, None, :]
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


def _refuse(storage: str, wanted: str, cure: str) -> NoReturn:
    found = f"this model needs {wanted}, but these moments keep {storage!r} scatter only"
    raise MissingStatisticsError(f"{found}: collect them with storage='{cure}'")
