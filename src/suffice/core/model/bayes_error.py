"""The error of the best possible rule, and of a given rule, if the model were true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from suffice.core.model.covariance import Covariance, FullCovariance
from suffice.core.model.scoring import SMALL
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.model.class_model import ClassModel
    from suffice.core.model.gaussian import GaussianModel

BLOCK = 1 << 22  # most posteriors in memory at a time
FEWEST = 200  # if a block of rows for NumPy is smaller, compiled loops are faster
# returns upper bounds of errors between pairs of classes  (K, K)
Bounds: TypeAlias = Callable[[], Floats]


class ErrorRate(float):
    """An error rate, which is a float, with its standard error."""

    standard_error: float = 0.0  # 0 if the error rate is exact
    n_samples: int = 0  # number of simulated rows; 0 if the error rate is exact

    @classmethod
    def mean(cls, losses: Floats) -> Self:
        """Return the mean of simulated losses (n,), with its standard error."""
        error = cls(losses.mean())
        error.standard_error = float(losses.std() / np.sqrt(len(losses)))
        error.n_samples = len(losses)
        return error

    @property
    def is_exact(self) -> bool:
        """Whether the error rate is exact, not simulated."""
        return self.n_samples == 0

    def __repr__(self) -> str:
        if self.is_exact:
            return f"{float(self):.6g} (exact)"
        return f"{float(self):.6g} (± {self.standard_error:.2g}, Monte Carlo)"


class BayesError(ErrorRate):
    """The lowest error of any rule, with upper bounds of the contributions of pairs of classes."""

    bounds_function: Bounds

    @cached_property
    def pair_bounds(self) -> Floats:
        """Bhattacharyya's upper bound on each pair's contribution to the error, (K, K)."""
        return self.bounds_function()

    @property
    def upper_bound(self) -> float:
        """Sum of the bounds of all pairs, an upper bound on the error."""
        return float(np.triu(self.pair_bounds, 1).sum())

    def __reduce__(self) -> tuple[object, ...]:
        attributes = {
            "pair_bounds": self.pair_bounds,
            "standard_error": self.standard_error,
            "n_samples": self.n_samples,
        }
        return BayesError, (float(self),), attributes


def linear_error(model: GaussianModel, w: Floats, w_0: float) -> ErrorRate:
    """Return the error of predicting the second of two classes if wᵀx + w_0 > 0."""
    from scipy.special import ndtr  # slow to import, and seldom needed

    # wᵀx + w_0 ~ N(wᵀμ_k + w_0, wᵀΣ_k w) in class k
    means = model.offsets @ w + (model.centre @ w + w_0)
    deviations = [np.sqrt(w @ model.covariance_of(k).dense() @ w) for k in range(2)]
    first, second = ndtr(means / deviations * [1, -1])
    return ErrorRate(model.priors @ [first, second])


def rule_error(posteriors: Floats, decided: Codes) -> ErrorRate:
    """Return E[1 − p(predicted class | x)] over the drawn rows that the rule does not reject."""
    answered = np.flatnonzero(decided >= 0)
    if not len(answered):
        raise InvalidInputError(
            "the rule rejects every row that was drawn, so it has no error rate: "
            "raise the cost of rejecting"
        )
    return ErrorRate.mean(1 - posteriors[answered, decided[answered]])


def gaussian_error(
    model: GaussianModel,
    n_samples: int,
    rng: np.random.Generator,
) -> BayesError:
    """Return E[1 − max_k p(k | x)], exact for two tied classes, otherwise simulated."""
    present = np.flatnonzero(np.isfinite(model.log_priors))
    if model.is_tied and len(present) == 2:
        error = BayesError(_two_tied(model, int(present[0]), int(present[1])))
    else:
        error = simulated_error(model, n_samples, rng)
    error.bounds_function = partial(bhattacharyya_bounds, model)
    return error


def simulated_error(
    model: ClassModel,
    n_samples: int,
    rng: np.random.Generator,
) -> BayesError:
    """Return E[1 − max_k p(k | x)] of drawn rows, which also give the bounds of pairs."""
    if n_samples == 0:
        raise InvalidParameterError(
            "n_samples is 0, but an error cannot be simulated without rows: draw at least 1"
        )
    x, _ = model.sample(n_samples, rng)
    untempered = model.with_temperature(1.0)
    # 1 − max p has the same mean as the errors of drawn rows, but less variance
    losses = np.concatenate([1 - p.max(1) for p in _posteriors(untempered, x)])
    error = BayesError.mean(losses)
    error.bounds_function = partial(_simulated_bounds, untempered, x)
    return error


def _simulated_bounds(model: ClassModel, x: Floats) -> Floats:
    """Return ∫ √(π_i p_i π_j p_j) dx = E √(p(i | x) p(j | x)) from drawn rows, shape (K, K)."""
    bounds = np.zeros((model.n_classes, model.n_classes))
    for posteriors in _posteriors(model, x):
        roots = np.sqrt(posteriors)
        bounds += roots.T @ roots / len(x)
    np.fill_diagonal(bounds, 0.0)
    return bounds


def _posteriors(model: ClassModel, x: Floats) -> Iterator[Floats]:
    """Yield the posteriors of the rows, block by block."""
    n_without_compiling = SMALL // (x.shape[1] * model.n_classes)
    if n_without_compiling >= FEWEST:
        step = n_without_compiling
    else:
        step = max(BLOCK // model.n_classes, 1)
    for start in range(0, len(x), step):
        yield model.posterior(x[start : start + step])


def _two_tied(model: GaussianModel, a: int, b: int) -> float:
    """Return the Bayes error of two classes a and b that share Σ."""
    from scipy.special import ndtr  # slow to import, and seldom needed

    gap = model.covariances[0].whiten((model.offsets[a] - model.offsets[b])[None])
    delta = float(np.linalg.norm(gap))
    if delta == 0:
        return float(model.priors[[a, b]].min())
    # π_a Φ(−Δ/2 − τ/Δ) + π_b Φ(−Δ/2 + τ/Δ),  τ = log π_a/π_b;  Φ(−Δ/2) for equal priors
    half = delta / 2
    tilt = float(model.log_priors[a] - model.log_priors[b]) / delta
    return float(model.priors[a] * ndtr(-half - tilt) + model.priors[b] * ndtr(-half + tilt))


def bhattacharyya_bounds(model: GaussianModel) -> Floats:
    """Return √(π_i π_j) exp(−D_ij), an upper bound of the error between each pair, (K, K)."""
    bounds = np.zeros((model.n_classes, model.n_classes))
    for i, j in combinations(range(model.n_classes), 2):
        sigma_i = model.covariance_of(i)
        sigma_j = model.covariance_of(j)
        # D = ⅛ δᵀ Σ̄⁻¹ δ + ½ log(|Σ̄| / √(|Σ_i| |Σ_j|)),  Σ̄ = ½ (Σ_i + Σ_j)
        if sigma_i is sigma_j:
            middle: Covariance = sigma_i
        else:
            middle = FullCovariance.of(0.5 * (sigma_i.dense() + sigma_j.dense()))
        delta = middle.whiten((model.offsets[i] - model.offsets[j])[None])
        log_ratio = middle.log_det - 0.5 * (sigma_i.log_det + sigma_j.log_det)
        distance = np.square(delta).sum() / 8 + 0.5 * log_ratio
        log_root = 0.5 * (model.log_priors[i] + model.log_priors[j])
        bounds[i, j] = bounds[j, i] = np.exp(log_root - distance)
    return bounds
