"""The error of the best possible rule, and of any other, if the model were true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from suffice.core.model.covariance import FullCovariance
from suffice.core.model.scoring import SMALL
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.model.class_model import ClassModel
    from suffice.core.model.gaussian import GaussianModel

BLOCK = 1 << 22  # posteriors held at a time
FEWEST = 200  # rows of a block for which it pays not to load compiled loops
Bounds: TypeAlias = Callable[[], Floats]  # of pairs of classes, when somebody asks  (K, K)


class ErrorRate(float):
    """An error rate: a number like any other, ``e < 0.1``, that also says how sure it is."""

    standard_error: float = 0.0  # 0 where exact
    n_samples: int = 0  # 0 where exact

    @classmethod
    def mean(cls, losses: Floats) -> Self:
        """Return the mean of simulated losses (n,), with its standard error."""
        error, n = cls(losses.mean()), len(losses)
        error.standard_error, error.n_samples = float(losses.std() / np.sqrt(n)), n
        return error

    @property
    def is_exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.n_samples == 0

    def __repr__(self) -> str:
        how = "exact" if self.is_exact else f"± {self.standard_error:.2g}, Monte Carlo"
        return f"{float(self):.6g} ({how})"


class BayesError(ErrorRate):
    """The least error that any rule can have, and bounds on what pairs of classes add to it."""

    _bounds: Bounds

    def bounded(self, bounds: Bounds) -> Self:
        """Return the error, with what gives its bounds when somebody asks."""
        self._bounds = bounds
        return self

    @cached_property
    def pair_bounds(self) -> Floats:
        """Bhattacharyya's upper bound on each pair's share of the error, (K, K)."""
        return self._bounds()

    @property
    def upper_bound(self) -> float:
        """Sum of the pairs' bounds: never below the error."""
        return float(np.triu(self.pair_bounds, 1).sum())

    def __reduce__(self) -> tuple[Any, ...]:
        known = {"pair_bounds": self.pair_bounds, "standard_error": self.standard_error}
        return BayesError, (float(self),), known | {"n_samples": self.n_samples}


def linear_error(model: GaussianModel, w: Floats, w_0: float) -> ErrorRate:
    """Return the error of saying the second of two classes where wᵀx + w_0 > 0."""
    from scipy.special import ndtr  # slow to import, and seldom needed

    # wᵀx + w_0 ~ N(wᵀμ_k + w_0, wᵀΣ_k w) in class k
    means = model.offsets @ w + (model.centre @ w + w_0)
    deviations = [np.sqrt(w @ model.covariance_of(k).dense() @ w) for k in range(2)]
    first, second = ndtr(means / deviations * [1, -1])
    return ErrorRate(model.priors @ [first, second])


def rule_error(posteriors: Floats, decided: Codes) -> ErrorRate:
    """Return E[1 − p(decided class | x)] over rows drawn from a model, those refused left out."""
    answered = np.flatnonzero(decided >= 0)
    if not len(answered):
        raise InvalidInputError(
            "the rule refuses every row of the model: it has no error rate"
        )
    return ErrorRate.mean(1 - posteriors[answered, decided[answered]])


def gaussian_error(
    model: GaussianModel,
    n_samples: int,
    rng: np.random.Generator,
) -> BayesError:
    """Return E[1 − max_k p(k | x)]: exact for two tied classes, else by simulation."""
    present = np.flatnonzero(np.isfinite(model.log_priors))
    if model.is_tied and len(present) == 2:
        exact = _two_tied(model, int(present[0]), int(present[1]))
        return BayesError(exact).bounded(lambda: bhattacharyya_bounds(model))
    return simulated_error(model, n_samples, rng, lambda: bhattacharyya_bounds(model))


def simulated_error(
    model: ClassModel,
    n_samples: int,
    rng: np.random.Generator,
    bounds: Bounds | None = None,
) -> BayesError:
    """Return E[1 − max_k p(k | x)] by simulation, and so the pairs' bounds if not given."""
    if n_samples == 0:
        raise InvalidParameterError(
            "n_samples=0: an error cannot be simulated without any rows"
        )
    x, _ = model.sample(n_samples, rng)
    calm = model.with_temperature(1.0)
    # averaging 1 − max p, not 0 or 1, has less variance and the same mean
    losses = np.concatenate([1 - p.max(1) for p in _posteriors(calm, x)])
    return BayesError.mean(losses).bounded(bounds or (lambda: _simulated_bounds(calm, x)))


def _simulated_bounds(model: ClassModel, x: Floats) -> Floats:
    """Return ∫ √(π_i p_i π_j p_j) dx = E √(p(i | x) p(j | x)) of drawn rows, shape (K, K)."""
    roots = map(np.sqrt, _posteriors(model, x))
    bounds: Floats = sum((root.T @ root / len(x) for root in roots), start=np.zeros(()))
    np.fill_diagonal(bounds, 0.0)
    return bounds


def _posteriors(model: ClassModel, x: Floats) -> Iterator[Floats]:
    few = SMALL // (
        x.shape[1] * model.n_classes
    )  # rows that are scored without compiled loops
    step = few if few >= FEWEST else max(BLOCK // model.n_classes, 1)
    for start in range(0, len(x), step):
        yield model.posterior(x[start : start + step])


def _two_tied(model: GaussianModel, a: int, b: int) -> float:
    from scipy.special import ndtr  # slow to import, and seldom needed

    gap = model.covariances[0].whiten((model.offsets[a] - model.offsets[b])[None])
    delta = float(np.linalg.norm(gap))
    if delta == 0:
        return float(model.priors[[a, b]].min())
    # π_a Φ(−Δ/2 − τ/Δ) + π_b Φ(−Δ/2 + τ/Δ),  τ = log π_a/π_b;  Φ(−Δ/2) at equal priors
    half, tilt = delta / 2, float(model.log_priors[a] - model.log_priors[b]) / delta
    return float(model.priors[a] * ndtr(-half - tilt) + model.priors[b] * ndtr(-half + tilt))


def bhattacharyya_bounds(model: GaussianModel) -> Floats:
    """Return √(π_i π_j) exp(−D_ij), an upper bound on each pair's error, shape (K, K)."""
    bounds = np.zeros((model.n_classes, model.n_classes))
    for i, j in combinations(range(model.n_classes), 2):
        one, two = model.covariance_of(i), model.covariance_of(j)
        # D = ⅛ δᵀ Σ̄⁻¹ δ + ½ log(|Σ̄| / √(|Σ_i| |Σ_j|)),  Σ̄ = ½ (Σ_i + Σ_j)
        middle = one if one is two else FullCovariance.of(0.5 * (one.dense() + two.dense()))
        delta = middle.whiten((model.offsets[i] - model.offsets[j])[None])
        log_ratio = middle.log_det - 0.5 * (one.log_det + two.log_det)
        distance = np.square(delta).sum() / 8 + 0.5 * log_ratio
        half = 0.5 * (model.log_priors[i] + model.log_priors[j])
        bounds[i, j] = bounds[j, i] = np.exp(half - distance)
    return bounds
