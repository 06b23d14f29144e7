"""The error of the best possible rule if the model were true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from suffice.model.covariance import FullCovariance

if TYPE_CHECKING:
    from suffice.model.gaussian import GaussianModel
    from suffice.model.protocol import ClassModel
    from suffice.typing import Floats


class BayesError(float):
    """An error rate, with how it was found.

    A number like any other (``round(e, 3)``, ``e < 0.1``) that also says how sure it is.
    """

    standard_error: float  # 0 where exact
    is_exact: bool
    n_samples: int
    pair_bounds: Floats  # Bhattacharyya's upper bound on each pair's share of the error  (K, K)

    @classmethod
    def of(
        cls,
        value: float,
        pair_bounds: Floats,
        *,
        standard_error: float = 0.0,
        n_samples: int = 0,
    ) -> BayesError:
        """Return the error with its account; no samples means exact."""
        error = cls(value)
        error.standard_error = standard_error
        error.is_exact = n_samples == 0
        error.n_samples = n_samples
        error.pair_bounds = pair_bounds
        return error

    @property
    def upper_bound(self) -> float:
        """Sum of the pairs' bounds: never below the error."""
        return float(np.triu(self.pair_bounds, 1).sum())

    def __repr__(self) -> str:
        how = "exact" if self.is_exact else f"± {self.standard_error:.2g}, Monte Carlo"
        return f"{float(self):.6g} ({how})"


def gaussian_error(model: GaussianModel, n_samples: int, rng: np.random.Generator) -> BayesError:
    """Return E[1 − max_k p(k | x)]: exact for two tied classes, else by simulation."""
    bounds = bhattacharyya_bounds(model)
    present = np.flatnonzero(np.isfinite(model.log_priors))
    if model.is_tied and len(present) == 2:
        return BayesError.of(_two_tied(model, int(present[0]), int(present[1])), bounds)
    return simulated_error(model, n_samples, rng, bounds)


def simulated_error(
    model: ClassModel, n_samples: int, rng: np.random.Generator, bounds: Floats | None = None
) -> BayesError:
    """Return E[1 − max_k p(k | x)] by simulation, and so the pairs' bounds if not given."""
    x, _ = model.sample(n_samples, rng)
    p = model.with_temperature(1.0).posterior(x)
    # averaging 1 − max p, not 0 or 1, has less variance and the same mean
    losses = 1 - p.max(1)
    if bounds is None:
        # ∫ √(π_i p_i π_j p_j) dx = E √(p(i | x) p(j | x))
        root = np.sqrt(p)
        bounds = root.T @ root / n_samples
        np.fill_diagonal(bounds, 0.0)
    se = float(losses.std() / np.sqrt(n_samples))
    return BayesError.of(float(losses.mean()), bounds, standard_error=se, n_samples=n_samples)


def _two_tied(model: GaussianModel, a: int, b: int) -> float:
    gap = model.covariances[0].whiten((model.offsets[a] - model.offsets[b])[None])
    delta = float(np.linalg.norm(gap))
    log_odds = float(model.log_priors[a] - model.log_priors[b])
    if delta == 0:
        return float(model.priors[[a, b]].min())
    # π_a Φ(−Δ/2 − τ/Δ) + π_b Φ(−Δ/2 + τ/Δ),  τ = log π_a/π_b;  Φ(−Δ/2) at equal priors
    half, tilt = delta / 2, log_odds / delta
    return float(model.priors[a] * ndtr(-half - tilt) + model.priors[b] * ndtr(-half + tilt))


def bhattacharyya_bounds(model: GaussianModel) -> Floats:
    """Return √(π_i π_j) exp(−D_ij), an upper bound on each pair's error, shape (K, K)."""
    k_classes = model.n_classes
    bounds = np.zeros((k_classes, k_classes))
    for i in range(k_classes):
        for j in range(i + 1, k_classes):
            half = 0.5 * (model.log_priors[i] + model.log_priors[j])
            bounds[i, j] = bounds[j, i] = np.exp(half - _distance(model, i, j))
    return bounds


def _distance(model: GaussianModel, i: int, j: int) -> float:
    """Return D = ⅛ δᵀ Σ̄⁻¹ δ + ½ log(|Σ̄| / √(|Σ_i| |Σ_j|)),  Σ̄ = ½ (Σ_i + Σ_j)."""
    one, two = model.covariance_of(i), model.covariance_of(j)
    middle = one if one is two else FullCovariance.of(0.5 * (one.dense() + two.dense()))
    delta = middle.whiten((model.offsets[i] - model.offsets[j])[None])
    log_ratio = middle.log_det - 0.5 * (one.log_det + two.log_det)
    return float(np.square(delta).sum() / 8 + 0.5 * log_ratio)
