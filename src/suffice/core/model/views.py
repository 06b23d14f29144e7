"""Ways to see the rows before a Gaussian is fitted: plain, transformed, with further features."""

import sys
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.core.linalg import unit_scale
from suffice.core.power_transform import PowerTransform
from suffice.typing import Codes, Floats

_NEGLIGIBLE = 1e-4  # of the variance: directions that little else but noise would tell apart
_FAR = 1e6  # standard deviations, beyond which no landmark is near
_FEW = 10_000_000  # differences for which a compiler is not loaded
_BLOCK = 128  # rows whose distances stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The rows as they are."""

    name = "features as they are"  # what a person calls it
    lifted = (
        False  # whether there are more features than before, and so one covariance for all
    )
    by_feature = True  # a missing feature leaves a missing one

    def apply(self, x: Floats) -> Floats:
        """Return the rows, shape (n, d)."""
        return x.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class PowerTransformed:
    """Each feature made most nearly Gaussian by a power transform."""

    transform: PowerTransform
    name = "Yeo–Johnson features"
    lifted = False
    by_feature = True

    def apply(self, x: Any) -> Floats:
        """Return the transformed rows, shape (n, d)."""
        return self.transform.apply(x)


@dataclass(frozen=True, slots=True, eq=False)
class KernelFeatures:
    """The features, and a kernel at landmark rows: tied Gaussians there act as kernel methods.

    The kernel is Gaussian, exp(−½ |z − z'|² / ℓ²), the same in all directions, or Laplace's
    exp(−Σ_j |z_j − z'_j| / ℓ), which follows boundaries along the axes.
    Williams & Seeger (2001), *NeurIPS* 13 (the Nyström method).
    """

    below: "View"
    centre: Floats  # (d,)
    scale: Floats  # (d,)
    landmarks: Floats  # rows in these units  (m, d)
    mixing: (
        Floats | None
    )  # of what is near to what is uncorrelated  (m, D); None where not mixed
    width: float  # of the kernel, in typical distances between rows
    kernel: str = "Gaussian"
    lifted = True
    by_feature = False  # every landmark sees all features

    @classmethod
    def of(
        cls,
        below: "View",
        x: Any,
        width: float,
        n: int,
        seed: int,
        kernel: str = "Gaussian",
    ) -> Self:
        """Return features of a kernel ``width`` typical distances wide, at n rows or fewer."""
        rows, rng = below.apply(x), np.random.default_rng(seed)
        centre, scale = rows.mean(0), kernel_scale(rows)
        different = np.sort(distinct_rows(rows)[0])
        chosen = rng.choice(different, min(n, len(different)), replace=False)
        landmarks = (rows[chosen] - centre) / scale
        found = cls(below, centre, scale, landmarks, None, width, kernel)
        # k(x)ᵀ U e^−½ has the inner products k(x)ᵀ K⁻¹ k(x'), with K = U e Uᵀ between landmarks
        e, u = np.linalg.eigh(found.nearness(landmarks))
        kept = e > _NEGLIGIBLE * len(e)
        # evenly mixed, all have about the same variance, as shrinkage to a diagonal expects
        even = rng.choice([-1.0, 1.0], np.count_nonzero(kept))[:, None] * _cosines(kept.sum())
        return replace(found, mixing=u[:, kept] / np.sqrt(e[kept]) @ even)

    @property
    def name(self) -> str:
        kernel = f"{self.kernel} kernel of width {self.width:g}"
        return f"{self.below.name} and a {kernel} at {len(self.landmarks)} rows"

    @property
    def length(self) -> float:
        """ℓ: the width in units of z."""
        d = len(self.centre)
        # for Gaussian rows of unit scale, E|z − z'|² = 2 d and E Σ_j |z_j − z'_j| = 2 d / √π
        typical = np.sqrt(2 * d) if self.kernel == "Gaussian" else 2 * d / np.sqrt(np.pi)
        return float(self.width * typical)

    def unmixed(self) -> Self:
        """Return the features and the kernel itself, for models that do the mixing."""
        return replace(self, mixing=None)

    def nearness(self, z: Floats) -> Floats:
        """Return the kernel between rows and landmarks, shape (n, m)."""
        a, b = np.clip(z, -_FAR, _FAR) / self.length, self.landmarks / self.length
        laplace = self.kernel == "Laplace"
        if a.size * len(b) > _FEW or "numba" in sys.modules:
            from suffice.core.model.loops import fill_kernel

            found = np.empty((len(a), len(b)))
            fill_kernel(a, np.ascontiguousarray(b.T), laplace, found)
            return found
        if laplace:
            return np.exp(-city_blocks(a, b))
        # −½ |a − b|² = aᵀb − ½ |b|² − ½ |a|²
        halves = [0.5 * np.einsum("ij,ij->i", each, each) for each in (a, b)]
        return np.asarray(np.exp(a @ b.T - halves[1] - halves[0][:, None]))

    def apply(self, x: Any) -> Floats:
        """Return [z, k(z)] for each row, shape (n, d + D)."""
        z = (self.below.apply(x) - self.centre) / self.scale
        near = self.nearness(z)
        return np.hstack([z, near if self.mixing is None else near @ self.mixing])


def city_blocks(rows: Floats, landmarks: Floats) -> Floats:
    """Return Σ_j |x_j − l_j| for all rows and landmarks, shape (n, m)."""
    found = np.zeros((len(rows), len(landmarks)))
    apart = np.empty((_BLOCK, len(landmarks)))
    for lo in range(0, len(rows), _BLOCK):
        total = found[lo : lo + _BLOCK]
        for own, theirs in zip(rows[lo : lo + _BLOCK].T, landmarks.T, strict=True):
            each = np.subtract.outer(own, theirs, out=apart[: len(own)])
            total += np.abs(each, out=each)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class FourierFeatures:
    """The features and random Fourier features: what files of formats 1 and 2 have for kernels.

    Rahimi & Recht (2007), *NeurIPS* 20.
    """

    below: "View"
    centre: Floats  # (d,)
    scale: Floats  # (d,)
    frequencies: Floats  # Ω  (d, D)
    width: float  # of the kernel, in typical distances between rows
    kernel: str = "Gaussian"
    lifted = True
    by_feature = False  # every wave sees all features

    @property
    def name(self) -> str:
        n, kernel = (
            2 * self.frequencies.shape[1],
            f"{self.kernel} kernel of width {self.width:g}",
        )
        return f"{self.below.name} and {n} random Fourier features of a {kernel}"

    def apply(self, x: Any) -> Floats:
        """Return [z, cos(z Ω), sin(z Ω)] for each row, shape (n, d + 2D)."""
        z = (self.below.apply(x) - self.centre) / self.scale
        phase = z @ self.frequencies
        return np.hstack([z, np.cos(phase), np.sin(phase)])


@dataclass(frozen=True, slots=True, eq=False)
class PiecewiseLinear:
    """Each feature bent at its quantiles: tied Gaussians there are sums of broken lines.

    Gorishniy, Rubachev & Babenko (2022), *NeurIPS* 35.
    """

    features: Codes  # the feature that each piece is of  (D,)
    left: Floats  # where it begins  (D,)
    length: Floats  # (D,)
    lifted = True
    by_feature = False  # a feature has several pieces

    @classmethod
    def of(cls, x: Any, most: int) -> Self:
        """Return pieces between quantiles of each feature, about ``most`` of them in all."""
        rows = np.asarray(x, np.float64)
        at = np.linspace(0, 1, max(2, most // rows.shape[1]) + 1)
        knots = [np.unique(k) for k in np.quantile(rows, at, axis=0).T]
        features = np.repeat(np.arange(len(knots)), [len(k) - 1 for k in knots])
        left = np.concatenate([k[:-1] for k in knots])
        return cls(features, left, np.concatenate([np.diff(k) for k in knots]))

    @property
    def name(self) -> str:
        return f"features bent at quantiles, {len(self.left)} pieces"

    def apply(self, x: Floats) -> Floats:
        """Return how far each row is along each piece, from 0 to 1, shape (n, D)."""
        found = x.astype(np.float64, copy=False)[:, self.features]
        found -= self.left
        found /= self.length
        return np.clip(found, 0.0, 1.0, out=found)


@dataclass(frozen=True, slots=True, eq=False)
class Softened:
    """The rows, where features of two values have more variance: a rare level moves less.

    Shrinkage towards the diagonal is free of units, and so as ready to trust an indicator of ten
    rows as one of a thousand. A variance that does not depend on how rare a level is shrinks rare
    levels most, as a ridge penalty on the effect of each level would.
    """

    below: "View"
    noise: Floats  # variance of each feature beside that of the rows  (d,)
    share: float  # of the variance of a fair coin
    lifted = False
    by_feature = True  # so are the views that are softened

    @classmethod
    def of(cls, below: "View", x: Any, share: float) -> Self:
        """Return the rows with a share of the variance of a fair coin added to each indicator."""
        return cls(below, share * np.square(_half_range(below.apply(x))), share)

    @property
    def name(self) -> str:
        return (
            f"{self.below.name}, indicators with {self.share:g} times a fair coin's variance"
        )

    def apply(self, x: Any) -> Floats:
        """Return the rows, shape (n, d)."""
        return self.below.apply(x)


#: A map of rows (n, d) to (n, D).
View: TypeAlias = (
    Plain | PowerTransformed | KernelFeatures | FourierFeatures | PiecewiseLinear | Softened
)


#: The views, by the words that files know them by.
VIEWS: dict[str, Any] = {
    "plain": Plain,
    "yeo-johnson": PowerTransformed,
    "kernel": KernelFeatures,
    "fourier": FourierFeatures,
    "pieces": PiecewiseLinear,
    "softened": Softened,
}


def kernel_scale(rows: Floats) -> Floats:
    """Return a feature's unit in a kernel: its deviation, or half the gap of two values, (d,)."""
    half = _half_range(rows)  # so that a rare value is not far away
    return np.where(half > 0, half, unit_scale(rows.var(0)))


def _half_range(rows: Floats) -> Floats:
    """Return half the distance of the values of features that have two, else 0, (d,)."""
    low, high = rows.min(0), rows.max(0)
    return np.where(((rows == low) | (rows == high)).all(0), (high - low) / 2, 0.0)


def _cosines(n: int) -> Floats:
    """Return the orthogonal matrix of the discrete cosine transform, (n, n)."""
    at = np.arange(n)
    found: Floats = np.sqrt(2 / n) * np.cos(np.pi / n * np.outer(at, at + 0.5))
    found[0] = np.sqrt(1 / n)
    return found


def distinct_rows(x: Floats) -> tuple[Codes, Codes]:
    """Return the first of each set of equal rows, and which set each row is of."""
    direction = np.random.default_rng(0).standard_normal(x.shape[1])
    told_apart = (x - x[0]) / unit_scale(x.var(0)) @ direction
    return np.unique(told_apart, return_index=True, return_inverse=True)[1:]
