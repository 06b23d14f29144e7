"""Shrinkage (1 − γ) Σ + γ T: targets T, and the closed forms OAS and Ledoit–Wolf for γ."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from suffice.core.checks import is_number
from suffice.core.estimation.groups import GroupScatter
from suffice.core.linalg import unit_scale
from suffice.errors import InvalidParameterError, require_word
from suffice.typing import Floats

IntensityWord: TypeAlias = Literal["oas", "ledoit-wolf", "auto"]
TargetWord: TypeAlias = Literal["diagonal", "sphere", "identity"]


@dataclass(frozen=True, slots=True)
class ShrinkageTarget:
    """The rule for a diagonal target T: diag Σ, or a sphere with the trace of Σ in some units."""

    keeps_variances: bool = False  # T = diag Σ, so that only correlations shrink
    # whether a sphere T is in units of pooled standard deviations (Friedman) or of the features
    pooled_units: bool = False

    def scales(self, variances: Floats, pooled: Floats) -> Floats:
        """Return scales of the features, (G, d), in which T is a multiple of the identity."""
        if self.keeps_variances:
            return unit_scale(variances)
        if self.pooled_units:
            return np.broadcast_to(pooled, variances.shape)
        return np.broadcast_to(1.0, variances.shape)

    def variances(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the diagonal of T, given the diagonals of Σ (G, d) and pooled deviations (d,)."""
        if self.keeps_variances:
            return variances
        # T = (tr(D⁻¹ Σ D⁻¹) / d) D²,  D = diag(units)
        squares = np.square(self.scales(variances, pooled))
        return np.asarray((variances / squares).mean(1, keepdims=True) * squares)


TARGETS: dict[str, ShrinkageTarget] = {
    "diagonal": ShrinkageTarget(keeps_variances=True),
    "sphere": ShrinkageTarget(pooled_units=True),
    "identity": ShrinkageTarget(),
}


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """Shrinkage of a covariance towards a target, for the parameter ``shrinkage``.

    Parameters
    ----------
    intensity : float in [0, 1], "oas", "ledoit-wolf" or "auto"
        Friedman's γ. The closed forms "oas" and "ledoit-wolf" give each group of tied classes its
        own γ. With "auto", ``fit`` chooses γ by cross-validation.
    target : {"diagonal", "sphere", "identity"}, default="diagonal"
        "diagonal" is the diagonal of the covariance, "sphere" a sphere with equal trace on
        standardised features, and "identity" (tr Σ / d) I in the units of the data. With the
        parameter ``shrinkage="auto"`` of a shared covariance, more than 400 features and fewer
        than five rows per feature, ``fit`` chooses between "diagonal" and "identity".

    Examples
    --------
    >>> import suffice as sf
    >>> sf.LDA(shrinkage=sf.Shrinkage(0.3, target="sphere"))
    LDA(shrinkage=Shrinkage(intensity=0.3, target='sphere'))
    """

    intensity: float | IntensityWord
    target: TargetWord = "diagonal"

    def __post_init__(self) -> None:
        require_word(self.target, TARGETS, "the target of a Shrinkage")
        words = ("oas", "ledoit-wolf", "auto")
        is_word = isinstance(self.intensity, str) and self.intensity in words
        if not is_word and not is_share(self.intensity):
            raise InvalidParameterError(
                "shrinkage must be None, a number from 0 to 1, 'oas', 'ledoit-wolf', 'auto' or a "
                f"Shrinkage, got {self.intensity!r}"
            )


def is_share(value: object) -> bool:
    """Return whether the value is a number in [0, 1]."""
    return is_number(value) and 0 <= float(value) <= 1


def oas_intensity(weight: float, scatter: Floats, scale: Floats | None = None) -> float:
    """Return the OAS shrinkage γ of scaled rows, in the form of ``oas_rule``."""
    r, _ = _scaled(weight, scatter, scale)
    if len(r) == 1 or not weight > 0:
        return 0.0
    return oas_rule(weight, len(r), float(np.square(r).sum()), float(np.trace(r)))


def oas_rule(n: float, d: int, trace_of_square: float, trace: float) -> float:
    """Return the OAS shrinkage γ of n rows in d features, given tr R² and tr R.

    The form is scikit-learn's. Equation 23 of Chen et al. (2010), IEEE Trans. Signal Proc. 58, has
    (1 − 2/d) tr R² in the numerator and n + 1 − 2/d in the denominator. scikit-learn leaves out
    2/d, which is small if d is large. With many rows, γ is 1.5 to 2 times as large as in the paper
    for d = 2, and 1.02 to 1.11 times for d = 10.
    """
    # ρ = (tr R² + tr² R) / ((n + 1)(tr R² − tr² R / d))
    square_of_trace = trace**2
    spread = (n + 1) * (trace_of_square - square_of_trace / d)
    total = trace_of_square + square_of_trace
    return total / spread if total < spread else 1.0


def ledoit_wolf_intensity(
    weight: float,
    scatter: Floats,
    fourth_moments: Floats,
    scale: Floats | None = None,
) -> float:
    """Return the shrinkage of scaled rows by Ledoit & Wolf (2004), J. Multivariate Analysis 88."""
    n = weight
    d = len(scatter)
    r, reciprocals = _scaled(weight, scatter, scale)
    if d == 1 or not n > 0:
        return 0.0
    # Σ_i ‖z_i/σ‖⁴ = σ⁻²ᵀ Q σ⁻²
    precisions = np.square(reciprocals)
    quartic = float(precisions @ fourth_moments @ precisions / n)
    spread = float(np.square(r - np.trace(r) / d * np.eye(d)).sum())
    return ledoit_wolf_rule(n, d, quartic, float(np.square(r).sum()), spread)


def ledoit_wolf_rule(
    n: float,
    d: int,
    quartic: float,
    trace_of_square: float,
    spread: float,
) -> float:
    """Return the shrinkage of n rows, given Σ ‖z/σ‖⁴ / n, tr R² and ‖R − (tr R / d) I‖²."""
    # γ = min(b², δ²) / δ²
    # b² = (Σ_i ‖z_i/σ‖⁴ / n − ‖R‖²) / (d n),   δ² = ‖R − (tr R / d) I‖² / d
    b2 = (quartic - trace_of_square) / (d * n)
    delta2 = spread / d
    if b2 < delta2:
        return float(max(b2, 0.0) / delta2)
    return float(b2 > 0)


def _scaled(weight: float, scatter: Floats, scale: Floats | None) -> tuple[Floats, Floats]:
    """Return R = M / n of scaled features (d, d), and 1 / σ, which is 0 for constant features."""
    n = max(weight, np.finfo(float).tiny)
    squares = np.diagonal(scatter)
    units = unit_scale(squares / n) if scale is None else scale
    reciprocals = (squares > 0) / units
    return reciprocals[:, None] * scatter * reciprocals / n, reciprocals


@dataclass(frozen=True, slots=True)
class Intensity:
    """The rule for γ: a number, or a closed form that minimises the expected error of a group."""

    fixed: float | None = None  # γ, if it is a given number
    needs_fourth: bool = False  # whether the closed form is that of Ledoit and Wolf

    def intensities(
        self,
        groups: GroupScatter,
        scales: Floats,
        fourths: Floats | None,
    ) -> Floats:
        """Return γ (G,), given sums, scales of the target (G, d), and fourth moments if needed."""
        n_groups = len(groups.weights)
        if self.fixed is not None:
            return np.full(n_groups, self.fixed)
        weights = groups.weights.tolist()
        gammas = np.empty(n_groups)
        for g in range(n_groups):
            if fourths is None:
                gammas[g] = oas_intensity(weights[g], groups.scatters[g], scales[g])
            else:
                gammas[g] = ledoit_wolf_intensity(
                    weights[g], groups.scatters[g], fourths[g], scales[g]
                )
        return gammas


def shrunk_towards(target_variances: Floats, sigmas: Floats, gammas: Floats) -> Floats:
    """Return Σ_g (G, d, d), or its diagonals (G, d), shrunk by γ_g towards the diagonal T_g."""
    if sigmas.ndim == 2:
        gamma = gammas[:, None]
        target = target_variances
    else:
        gamma = gammas[:, None, None]
        target = target_variances[:, :, None] * np.eye(target_variances.shape[1])
    # (1 − γ) Σ + γ T
    return np.asarray((1 - gamma) * sigmas + gamma * target)
