"""Third and fourth moments of each class: what the Ledoit–Wolf intensity needs, in any units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class FourthMoments:
    """Sums over z = x − μ_k that say how variable the products of two features are.

    Ledoit & Wolf (2004) need Σ ‖z‖⁴. Taking each feature's scale out first, which keeps the
    answer free of units, needs Σ z_i² z_j² for every pair; the third moments let it be merged.
    """

    thirds: Floats  # Σ w z_i² z_j   (K, d, d)
    fourths: Floats  # Σ w z_i² z_j²  (K, d, d)

    def recentred(
        self, weights: Floats, sums: Floats, scatters: Floats, shift: Floats
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

    def plus(self, other: FourthMoments, sign: float) -> FourthMoments:
        """Return the sums of both, or of one without the other."""
        return FourthMoments(self.thirds + sign * other.thirds, self.fourths + sign * other.fourths)

    def placed(self, codes: Codes, n_classes: int) -> FourthMoments:
        """Return the same sums with class i moved to ``codes[i]`` of ``n_classes``."""
        shape = (n_classes, *self.thirds.shape[1:])
        thirds, fourths = np.zeros(shape), np.zeros(shape)
        thirds[codes], fourths[codes] = self.thirds, self.fourths
        return FourthMoments(thirds, fourths)

    def taken(self, codes: Codes) -> FourthMoments:
        """Return the sums of some classes only."""
        return FourthMoments(self.thirds[codes], self.fourths[codes])

    def select(self, columns: Codes) -> FourthMoments:
        """Return the sums of some features only."""
        pick = np.ix_(np.arange(len(self.thirds)), columns, columns)
        return FourthMoments(self.thirds[pick], self.fourths[pick])

    def scaled(self, factor: float) -> FourthMoments:
        """Return every sum times ``factor``."""
        return FourthMoments(self.thirds * factor, self.fourths * factor)
