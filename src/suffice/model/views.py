"""Ways to see the rows before a Gaussian is fitted: plain, transformed, with further features."""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.linalg import unit_scale
from suffice.power_transform import PowerTransform
from suffice.typing import Codes, Floats

_MANY_ANGLES, _FARTHEST = 1 << 18, 1e6  # whose waves compiled code is for, and exact up to


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The rows as they are."""

    name = "features as they are"
    lifted = False  # whether there are more features than before, and so one covariance for all
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
class FourierFeatures:
    """The features and random Fourier features: tied Gaussians there act as a kernel method.

    The kernel is Gaussian, the same in all directions, or Laplace's exp(−Σ_j |z_j − z'_j| / ℓ),
    which follows boundaries along the axes.
    Rahimi & Recht (2007), *NeurIPS* 20; Yu et al. (2016), *NeurIPS* 29 (orthogonal ones).
    """

    below: "View"
    centre: Floats  # (d,)
    scale: Floats  # (d,)
    frequencies: Floats  # Ω  (d, D)
    width: float  # of the kernel, in typical distances between rows
    kernel: str = "Gaussian"
    lifted = True
    by_feature = False  # every wave sees all features

    @classmethod
    def of(
        cls, below: "View", x: Any, width: float, n: int, seed: int, kernel: str = "Gaussian"
    ) -> Self:
        """Return features of a kernel ``width`` typical distances wide."""
        rows = below.apply(x)
        centre, scale = rows.mean(0), kernel_scale(rows)
        d, rng = rows.shape[1], np.random.default_rng(seed)
        if kernel == "Laplace":
            # frequencies are Cauchy, and E Σ_j |z_j − z'_j| = 2 d / √π for Gaussian rows
            frequencies = rng.standard_cauchy((d, n)) / (width * 2 * d / np.sqrt(np.pi))
        else:
            blocks = [_orthogonal(d, rng) for _ in range(-(-n // d))]
            # E|z − z'|² = 2 d for rows of unit scale
            frequencies = np.hstack(blocks)[:, :n] / (width * np.sqrt(2 * d))
        return cls(below, centre, scale, frequencies, width, kernel)

    @property
    def name(self) -> str:
        """What a person calls it."""
        return (
            f"{self.below.name} and {2 * self.frequencies.shape[1]} random Fourier features of a "
            f"{self.kernel} kernel of width {self.width:g}"
        )

    def apply(self, x: Any) -> Floats:
        """Return [z, cos(z Ω), sin(z Ω)] for each row, shape (n, d + 2D)."""
        return self.over(self.below.apply(x))

    def over(self, rows: Floats) -> Floats:
        """Return the same of rows as the view below shows them."""
        z = (rows - self.centre) / self.scale
        d, n = self.frequencies.shape
        found = np.empty((len(z), d + 2 * n))
        found[:, :d] = z
        angles = np.matmul(z, self.frequencies, out=found[:, d : d + n])
        if angles.size < _MANY_ANGLES or np.abs(angles).max() > _FARTHEST:
            found[:, d + n :] = np.sin(angles)
            np.cos(angles, out=angles)
        else:
            from suffice.model.kernels import waves

            waves(found, d)
        return found


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
        """What a person calls it."""
        return f"features bent at quantiles, {len(self.left)} pieces"

    def apply(self, x: Floats) -> Floats:
        """Return how far each row is along each piece, from 0 to 1, shape (n, D)."""
        found = x.astype(np.float64, copy=False)[:, self.features]
        found -= self.left
        found *= 1 / self.length
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
        """What a person calls it."""
        return f"{self.below.name}, indicators with {self.share:g} times a fair coin's variance"

    def apply(self, x: Any) -> Floats:
        """Return the rows, shape (n, d)."""
        return self.below.apply(x)


#: A map of rows (n, d) to (n, D).
View: TypeAlias = Plain | PowerTransformed | FourierFeatures | PiecewiseLinear | Softened


def shown(view: View, x: Floats, known: dict[int, Floats]) -> Floats:
    """Return the rows as a view shows them; what lies below others is kept in ``known``."""
    if isinstance(view, PiecewiseLinear):
        return view.apply(x)
    if isinstance(view, FourierFeatures):
        return view.over(shown(view.below, x, known))
    own = view.below if isinstance(view, Softened) else view
    if id(own) not in known:
        known[id(own)] = own.apply(x)
    return known[id(own)]


#: The views, by the words that files know them by.
VIEWS: dict[str, Any] = {
    "plain": Plain,
    "yeo-johnson": PowerTransformed,
    "fourier": FourierFeatures,
    "pieces": PiecewiseLinear,
    "softened": Softened,
}


def kernel_scale(rows: Floats) -> Floats:
    """Return the unit of each feature in a kernel: its standard deviation (d,).

    That of a feature of two values is half their distance: a rare value is not far away.
    """
    half = _half_range(rows)
    return np.where(half > 0, half, unit_scale(rows.var(0)))


def _half_range(rows: Floats) -> Floats:
    """Return half the distance of the values of features that have two, else 0, (d,)."""
    low, high = rows.min(0), rows.max(0)
    return np.where(((rows == low) | (rows == high)).all(0), (high - low) / 2, 0.0)


def _orthogonal(d: int, rng: np.random.Generator) -> Floats:
    """Return d orthogonal directions whose lengths are those of Gaussian vectors, (d, d)."""
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return q * np.sqrt(rng.chisquare(d, size=d))
