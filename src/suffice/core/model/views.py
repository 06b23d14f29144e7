"""Fitted views of the rows, which a classifier reads: plain, transformed, or with more features."""

import sys
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np

from suffice.core.power_transform import PowerTransform
from suffice.typing import Array, Codes, Floats

Kernel: TypeAlias = Literal["Gaussian", "Laplace"]

_FAR = 1e6  # standard deviations: the kernel of a row beyond this is 0 at every landmark
_FEW_DIFFERENCES = 10_000_000  # up to this number, NumPy is faster than loading the compiler
_BLOCK_ROWS = 128  # the distances of so many rows stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The rows as they are."""

    name = "features as they are"  # shown to users
    lifted = False  # whether the view adds features; all classes then share one covariance
    by_feature = True  # whether each feature of the view depends on one feature of the rows

    def apply(self, x: Array) -> Floats:
        """Return the rows, shape (n, d)."""
        return x.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class PowerTransformed:
    """Each feature after the power transform that makes it most nearly Gaussian."""

    transform: PowerTransform
    name = "Yeo–Johnson features"
    lifted = False
    by_feature = True

    def apply(self, x: Array) -> Floats:
        """Return the transformed rows, shape (n, d)."""
        return self.transform.apply(x)


@dataclass(frozen=True, slots=True, eq=False)
class KernelFeatures:
    """The features, and a kernel at landmark rows: a tied Gaussian there is a kernel method.

    The kernel is Gaussian, exp(−½ |z − z'|² / ℓ²), the same in all directions, or Laplace's
    exp(−Σ_j |z_j − z'_j| / ℓ), which follows boundaries along the axes.
    Williams & Seeger (2001), *NeurIPS* 13 (the Nyström method).
    """

    below: "View"
    centre: Floats  # (d,)
    scale: Floats  # (d,)
    landmarks: Floats  # rows in these units  (m, d)
    mixing: Floats | None  # makes kernel features uncorrelated; None: not mixed  (m, D)
    width: float  # of the kernel, in typical distances between rows
    kernel: Kernel = "Gaussian"
    lifted = True
    by_feature = False

    @property
    def name(self) -> str:
        return (
            f"{self.below.name} and a {self.kernel} kernel of width {self.width:g} "
            f"at {len(self.landmarks)} rows"
        )

    @property
    def length(self) -> float:
        """ℓ: the width in units of z."""
        d = len(self.centre)
        # for Gaussian rows of unit scale, E|z − z'|² = 2 d and E Σ_j |z_j − z'_j| = 2 d / √π
        typical = np.sqrt(2 * d) if self.kernel == "Gaussian" else 2 * d / np.sqrt(np.pi)
        return float(self.width * typical)

    def unmixed(self) -> Self:
        """Return the view whose further features are the kernel itself."""
        return replace(self, mixing=None)

    def nearness(self, z: Floats) -> Floats:
        """Return the kernel between rows and landmarks, shape (n, m)."""
        rows = np.clip(z, -_FAR, _FAR) / self.length
        landmarks = self.landmarks / self.length
        laplace = self.kernel == "Laplace"
        if rows.size * len(landmarks) > _FEW_DIFFERENCES or "numba" in sys.modules:
            from suffice.core.model.loops import fill_kernel

            near = np.empty((len(rows), len(landmarks)))
            fill_kernel(rows, np.ascontiguousarray(landmarks.T), laplace, near)
            return near
        if laplace:
            return np.exp(-city_blocks(rows, landmarks))
        # −½ |a − b|² = aᵀb − ½ |b|² − ½ |a|²
        half_a = 0.5 * np.einsum("ij,ij->i", rows, rows)
        half_b = 0.5 * np.einsum("ij,ij->i", landmarks, landmarks)
        return np.asarray(np.exp(rows @ landmarks.T - half_b - half_a[:, None]))

    def apply(self, x: Array) -> Floats:
        """Return [z, k(z)] for each row, shape (n, d + D)."""
        z = (self.below.apply(x) - self.centre) / self.scale
        near = self.nearness(z)
        if self.mixing is not None:
            near = near @ self.mixing
        return np.hstack([z, near])


def city_blocks(rows: Floats, landmarks: Floats) -> Floats:
    """Return Σ_j |x_j − l_j| for all rows and landmarks, shape (n, m)."""
    distances = np.zeros((len(rows), len(landmarks)))
    buffer = np.empty((_BLOCK_ROWS, len(landmarks)))
    for lo in range(0, len(rows), _BLOCK_ROWS):
        block = rows[lo : lo + _BLOCK_ROWS]
        total = distances[lo : lo + _BLOCK_ROWS]
        for j in range(rows.shape[1]):
            gaps = np.subtract.outer(block[:, j], landmarks[:, j], out=buffer[: len(block)])
            total += np.abs(gaps, out=gaps)
    return distances


@dataclass(frozen=True, slots=True, eq=False)
class PiecewiseLinear:
    """Each feature cut at its quantiles: a tied Gaussian on them is piecewise linear.

    Gorishniy, Rubachev & Babenko (2022), *NeurIPS* 35.
    """

    features: Codes  # the feature that each piece belongs to  (D,)
    left: Floats  # where the piece begins  (D,)
    length: Floats  # (D,)
    lifted = True
    by_feature = False

    @property
    def name(self) -> str:
        return f"piecewise-linear features, {len(self.left)} pieces"

    def apply(self, x: Array) -> Floats:
        """Return how far each row is along each piece, from 0 to 1, shape (n, D)."""
        pieces = x.astype(np.float64, copy=False)[:, self.features]
        pieces -= self.left
        pieces /= self.length
        return np.clip(pieces, 0.0, 1.0, out=pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Softened:
    """The rows, with extra variance for features of two values, so that a rare level counts less.

    Shrinkage towards the diagonal does not depend on units, so it trusts an indicator of ten rows
    as much as one of a thousand. An added variance that is the same for rare and common levels
    shrinks rare levels most, as a ridge penalty on the effect of each level does.
    """

    below: "View"
    noise: Floats  # variance added to each feature  (d,)
    share: float  # of the variance of a fair coin
    lifted = False
    by_feature = True

    @property
    def name(self) -> str:
        return (
            f"{self.below.name}, indicators with {self.share:g} times a fair coin's variance"
        )

    def apply(self, x: Array) -> Floats:
        """Return the rows, shape (n, d)."""
        return self.below.apply(x)


#: A map of rows (n, d) to (n, D).
View: TypeAlias = Plain | PowerTransformed | KernelFeatures | PiecewiseLinear | Softened

#: The views by their names in files.
VIEWS: dict[str, type[View]] = {
    "plain": Plain,
    "yeo-johnson": PowerTransformed,
    "kernel": KernelFeatures,
    "pieces": PiecewiseLinear,
    "softened": Softened,
}
