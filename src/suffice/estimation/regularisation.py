"""Regularised covariances: RDA's pooling and shrinkage, OAS and Ledoit–Wolf intensities."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.estimation.divisors_and_tied_covariances import GroupScatter
from suffice.linalg import unit_scale
from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class ShrinkageTarget:
    """A diagonal matrix T made of Σ: diag Σ, or the sphere of equal trace, in some units.

    The units are those of the features, which is Friedman's own choice, or with ``pooled_units``
    their pooled standard deviations.
    """

    keeps_variances: bool = False  # T = diag Σ: correlations go, variances stay
    pooled_units: bool = False

    def scales(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the units in which T is a multiple of the identity, (G, d)."""
        if self.keeps_variances:
            return unit_scale(variances)
        return np.broadcast_to(pooled if self.pooled_units else 1.0, variances.shape)

    def variances(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the diagonal of T, from those of Σ (G, d) and pooled standard deviations (d,)."""
        if self.keeps_variances:
            return variances
        # T = (tr(D⁻¹ Σ D⁻¹) / d) D²,  D = diag(units)
        squares = np.square(self.scales(variances, pooled))
        return np.asarray((variances / squares).mean(1, keepdims=True) * squares)


def shrunk(sigmas: Floats, target: Floats, gammas: Floats) -> Floats:
    """Return (1 − γ) Σ + γ T, given the diagonals of T (G, d), of matrices or their diagonals."""
    towards = target[:, :, None] * np.eye(target.shape[1]) if sigmas.ndim == 3 else target
    gamma = gammas.reshape(-1, *[1] * (sigmas.ndim - 1))
    return np.asarray((1 - gamma) * sigmas + gamma * towards)


def oas_intensity(weight: float, scatter: Floats, scale: Floats | None = None) -> float:
    """Return the oracle-approximating shrinkage of a scatter (d, d), features divided by a scale.

    Chen, Wiesel, Eldar & Hero (2010), IEEE Trans. Signal Processing 58; without its terms 2/d, as
    in scikit-learn.
    """
    r = _scaled(weight, scatter, scale)
    if len(r) == 1 or not weight > 0:
        return 0.0
    # ρ = (tr R² + tr² R) / ((n + 1)(tr R² − tr² R / d))
    of_square, square = float(np.square(r).sum()), float(np.trace(r)) ** 2
    spread = (weight + 1) * (of_square - square / len(r))
    return (of_square + square) / spread if of_square + square < spread else 1.0


def ledoit_wolf_intensity(
    weight: float, scatter: Floats, fourth_moments: Floats, scale: Floats | None = None
) -> float:
    """Return the shrinkage of Ledoit & Wolf (2004), J. Multivariate Analysis 88, of scaled rows."""
    n, d, r = weight, len(scatter), _scaled(weight, scatter, scale)
    if d == 1 or not n > 0:
        return 0.0
    # Σ_i ‖z_i/σ‖⁴ = σ⁻²ᵀ Q σ⁻²
    precisions = np.square(_reciprocals(weight, scatter, scale))
    quartic = precisions @ fourth_moments @ precisions
    # b² = (Σ_i ‖z_i/σ‖⁴ / n − ‖R‖²) / (d n),   δ² = ‖R − (tr R / d) I‖² / d
    b2 = (quartic / n - np.square(r).sum()) / (d * n)
    delta2 = np.square(r - np.trace(r) / d * np.eye(d)).sum() / d
    return float(max(b2, 0.0) / delta2) if b2 < delta2 else float(b2 > 0)


def _scaled(weight: float, scatter: Floats, scale: Floats | None) -> Floats:
    """Return R = S / n of scaled features (d, d), with zeros for features without spread."""
    s = _reciprocals(weight, scatter, scale)
    return np.asarray(s[:, None] * scatter * s / max(weight, np.finfo(float).tiny))


def _reciprocals(weight: float, scatter: Floats, scale: Floats | None) -> Floats:
    """Return 1 / σ, zero where a feature has no spread."""
    squares = np.diagonal(scatter)
    if scale is None:
        scale = unit_scale(squares / max(weight, np.finfo(float).tiny))
    return (squares > 0) / scale


def pooled_groups(groups: GroupScatter, pooling: float) -> GroupScatter:
    """Return groups that borrow from all of them (Friedman 1989, eq. 14–16).

    S_g(λ) = (1 − λ) S_g + λ S,   w_g(λ) = (1 − λ) w_g + λ W
    """
    if pooling == 0:
        return groups
    whole = groups.pooled
    return GroupScatter(
        (1 - pooling) * groups.scatters + pooling * whole.scatters,
        (1 - pooling) * groups.weights + pooling * whole.weights,
        (1 - pooling) * groups.n_means + pooling * whole.n_means,
    )


@dataclass(frozen=True, slots=True)
class Intensity:
    """γ of each group: a number, or that of least expected error.

    In closed form for Gaussian rows (OAS, Chen et al. 2010), or whatever the distribution (Ledoit &
    Wolf 2004).
    """

    fixed: float | None = None  # γ, where it is the same for every group
    needs_fourth: bool = False  # Ledoit–Wolf

    def intensities(
        self, groups: GroupScatter, scales: Floats, fourths: Callable[[], Floats]
    ) -> Floats:
        """Return γ (G,), from sums, the target's units (G, d) and Σ w z_i² z_j²."""
        if self.fixed is not None:
            return np.full(len(groups.weights), self.fixed)
        sums = zip(groups.weights.tolist(), groups.scatters, scales, strict=True)
        if not self.needs_fourth:
            return np.array([oas_intensity(*each) for each in sums])
        quartic = zip(sums, fourths(), strict=True)
        return np.array([ledoit_wolf_intensity(w, s, q, scale) for (w, s, scale), q in quartic])


@dataclass(frozen=True, slots=True, eq=False)
class Regularisation:
    """How sums are turned into covariances: divisor, pooling λ, shrinkage γ and its target."""

    unbiased: bool  # Bessel's correction, rather than the divisor of maximum likelihood
    pooling: float  # λ
    shrinkage: Intensity
    target: ShrinkageTarget
