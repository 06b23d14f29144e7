"""How far to shrink a covariance towards a sphere, from sums alone.

Each feature is divided by a scale first, by default its own standard deviation, so that the
sphere is the diagonal and no intensity depends on units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import unit_scale

if TYPE_CHECKING:
    from suffice.typing import Floats


def oas_intensity(weight: float, trace: float, trace_of_square: float, n_features: int) -> float:
    """Return the oracle-approximating shrinkage of a covariance R, from tr R and tr R².

    Leaves out the terms 2/d of the paper, as scikit-learn does.

    References
    ----------
    Chen, Wiesel, Eldar & Hero (2010), IEEE Trans. Signal Processing 58.

    Examples
    --------
    >>> oas_intensity(20, 2.0, 2.5, 2)
    0.6190476190476191
    """
    if n_features == 1 or not weight > 0:
        return 0.0
    # ρ = (tr R² + tr² R) / ((n + 1)(tr R² − tr² R / d))
    spread = (weight + 1) * (trace_of_square - trace**2 / n_features)
    size = trace_of_square + trace**2
    return float(size / spread) if size < spread else 1.0


def oas_from_scatter(weight: float, scatter: Floats, scale: Floats | None = None) -> float:
    """Return the OAS intensity of a scatter (d, d) of features divided by a scale (d,).

    Examples
    --------
    >>> import numpy as np
    >>> oas_from_scatter(20.0, np.array([[20.0, 10.0], [10.0, 20.0]]))
    0.6190476190476191
    """
    r = _scaled(weight, scatter, scale)
    return oas_intensity(weight, float(np.trace(r)), float(np.square(r).sum()), len(r))


def ledoit_wolf_intensity(
    weight: float, scatter: Floats, fourth_moments: Floats, scale: Floats | None = None
) -> float:
    """Return the Ledoit–Wolf shrinkage of a covariance of features divided by a scale.

    Parameters
    ----------
    weight : float
        Rows n, or sum of sample weights.
    scatter : (d, d) array
        Σ w z zᵀ, z = x − mean.
    fourth_moments : (d, d) array
        Q, Q_jl = Σ w z_j² z_l².
    scale : (d,) array, optional
        σ: what each feature is divided by; None is its standard deviation.

    References
    ----------
    Ledoit & Wolf (2004), J. Multivariate Analysis 88.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.array([[-1.0, -1.0], [-1.0, -1.0], [1.0, 0.0], [1.0, 2.0]])
    >>> round(ledoit_wolf_intensity(4.0, z.T @ z, (z**2).T @ z**2), 4)
    0.3125
    """
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
    r: Floats = s[:, None] * scatter * s / max(weight, np.finfo(float).tiny)
    return r


def _reciprocals(weight: float, scatter: Floats, scale: Floats | None) -> Floats:
    """Return 1 / σ, zero where a feature has no spread."""
    squares = np.diagonal(scatter)
    if scale is None:
        scale = unit_scale(squares / max(weight, np.finfo(float).tiny))
    return (squares > 0) / scale
