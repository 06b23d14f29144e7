"""Ways to see the rows before a Gaussian is fitted: plain, transformed, with Fourier features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suffice.linalg import unit_scale

if TYPE_CHECKING:
    from suffice.power import PowerTransform
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The rows as they are."""

    name = "features as they are"
    by_feature = True  # a missing feature leaves a missing one

    def apply(self, x: Any) -> Floats:
        """Return the rows, shape (n, d)."""
        return np.asarray(x, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class PowerTransformed:
    """Each feature made most nearly Gaussian by a power transform."""

    transform: PowerTransform
    name = "Yeo–Johnson features"
    by_feature = True

    def apply(self, x: Any) -> Floats:
        """Return the transformed rows, shape (n, d)."""
        return self.transform.apply(x)


@dataclass(frozen=True, slots=True, eq=False)
class FourierFeatures:
    """The features and random Fourier features: tied Gaussians there act as a kernel method.

    References
    ----------
    Rahimi & Recht (2007), *NeurIPS* 20; Yu et al. (2016), *NeurIPS* 29 (orthogonal ones).
    """

    below: View
    centre: Floats  # (d,)
    scale: Floats  # (d,)
    frequencies: Floats  # Ω  (d, D)
    width: float  # of the kernel, in typical distances between rows
    by_feature = False  # every wave sees all features

    @classmethod
    def of(cls, below: View, x: Any, width: float, n: int, seed: int) -> FourierFeatures:
        """Return features of a Gaussian kernel ``width`` typical distances wide."""
        rows = below.apply(x)
        centre, scale = rows.mean(0), unit_scale(rows.var(0))
        rng = np.random.default_rng(seed)
        d = rows.shape[1]
        blocks = [_orthogonal(d, rng) for _ in range(-(-n // d))]
        # E|z − z'|² = 2 d for rows of unit scale
        length = width * np.sqrt(2 * d)
        return cls(below, centre, scale, np.hstack(blocks)[:, :n] / length, width)

    @property
    def name(self) -> str:
        """What a person calls it."""
        return (
            f"{self.below.name} and {2 * self.frequencies.shape[1]} random Fourier features of "
            f"width {self.width:g}"
        )

    def apply(self, x: Any) -> Floats:
        """Return [z, cos(z Ω), sin(z Ω)] for each row, shape (n, d + 2D)."""
        z = (self.below.apply(x) - self.centre) / self.scale
        phase = z @ self.frequencies
        return np.hstack([z, np.cos(phase), np.sin(phase)])


View: TypeAlias = Plain | PowerTransformed | FourierFeatures  # a map of rows (n, d) to (n, D)


def _orthogonal(d: int, rng: np.random.Generator) -> Floats:
    """Return d orthogonal directions whose lengths are those of Gaussian vectors, (d, d)."""
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return q * np.sqrt(rng.chisquare(d, size=d))
