"""Fitted views, which map rows to the features of a classifier: plain, transformed or extended."""

import sys
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np

from suffice.core.power_transform import PowerTransform
from suffice.typing import Array, Codes, Floats

Kernel: TypeAlias = Literal["Gaussian", "Laplace"]

# with a feature beyond this many standard deviations, a row's kernel is 0 at every landmark
_FAR = 1e6
# for at most this many differences, NumPy is faster than loading the compiled loop
_FEW_DIFFERENCES = 10_000_000
_BLOCK_ROWS = 128  # rows of a block, so few that their distances stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The view that does not change the rows."""

    name = "features as they are"  # the name that users see
    lifted = False  # whether the view adds features, so that all classes share one covariance
    by_feature = True  # whether each feature of the view depends on one feature of the rows

    def apply(self, x: Array) -> Floats:
        """Return the rows, shape (n, d)."""
        return x.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class PowerTransformed:
    """The features after the power transform that makes each one most nearly Gaussian."""

    transform: PowerTransform
    name = "Yeo–Johnson features"
    lifted = False
    by_feature = True

    def apply(self, x: Array) -> Floats:
        """Return the transformed rows, shape (n, d)."""
        return self.transform.apply(x)


@dataclass(frozen=True, slots=True, eq=False)
class KernelFeatures:
    """The features, and a kernel between each row and landmark rows.

    A tied Gaussian classifier of these features is a kernel method.

    The Gaussian kernel exp(−½ |z − z'|² / ℓ²) is the same in all directions. The Laplace kernel
    exp(−Σ_j |z_j − z'_j| / ℓ) fits boundaries that are parallel to the axes.
    Williams & Seeger (2001), *NeurIPS* 13 (the Nyström method).
    """

    below: "View"
    centre: Floats  # (d,)
    scale: Floats  # (d,)
    landmarks: Floats  # rows z = (x − centre) / scale  (m, d)
    mixing: Floats | None  # a matrix that makes kernel features uncorrelated, or None  (m, D)
    width: float  # width of the kernel as a multiple of the typical distance between rows
    kernel: Kernel = "Gaussian"
    lifted = True
    by_feature = False

    @property
    def name(self) -> str:
        return (
            f"{self.below.name} and a {self.kernel} kernel of width {self.width:g}, centred at "
            f"{len(self.landmarks)} rows"
        )

    @property
    def length(self) -> float:
        """ℓ, the width in units of z."""
        d = len(self.centre)
        # for Gaussian rows with unit scale, E|z − z'|² = 2 d and E Σ_j |z_j − z'_j| = 2 d / √π
        typical = np.sqrt(2 * d) if self.kernel == "Gaussian" else 2 * d / np.sqrt(np.pi)
        return float(self.width * typical)

    def unmixed(self) -> Self:
        """Return the view without mixing, with a kernel feature for each landmark."""
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
        """Return z and the kernel features of each row, shape (n, d + D)."""
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
    """Each feature cut into pieces at quantiles, so that linear scores become piecewise linear.

    Gorishniy, Rubachev & Babenko (2022), *NeurIPS* 35.
    """

    features: Codes  # the feature that each piece belongs to  (D,)
    left: Floats  # left end of each piece  (D,)
    length: Floats  # length of each piece  (D,)
    lifted = True
    by_feature = False

    @property
    def name(self) -> str:
        return f"piecewise-linear features, {len(self.left)} pieces"

    def apply(self, x: Array) -> Floats:
        """Return the position of each row along each piece, from 0 to 1, shape (n, D)."""
        pieces = x.astype(np.float64, copy=False)[:, self.features]
        pieces -= self.left
        pieces /= self.length
        return np.clip(pieces, 0.0, 1.0, out=pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Softened:
    """The rows, unchanged, for a fit that adds variance to binary features.

    Shrinkage towards the diagonal does not depend on units, so it treats an indicator that is 1 in
    ten rows like one that is 1 in a thousand rows. If all indicators get the same additional
    variance, the coefficients of rare levels shrink most, as with a ridge penalty.
    """

    below: "View"
    noise: Floats  # variance that a fit adds to each feature  (d,)
    share: float  # the added variance as a share of the variance of a fair coin
    lifted = False
    by_feature = True

    @property
    def name(self) -> str:
        return (
            # a fair coin has variance 1/4
            f"{self.below.name}, with {self.share / 4:g} added to the variance of each indicator"
        )

    def apply(self, x: Array) -> Floats:
        """Return the rows of the inner view, shape (n, d)."""
        return self.below.apply(x)


#: A map from rows (n, d) to rows (n, D).
View: TypeAlias = Plain | PowerTransformed | KernelFeatures | PiecewiseLinear | Softened

#: The views by their names in files.
VIEWS: dict[str, type[View]] = {
    "plain": Plain,
    "yeo-johnson": PowerTransformed,
    "kernel": KernelFeatures,
    "pieces": PiecewiseLinear,
    "softened": Softened,
}
