"""Gaussian scores with the bias of estimated parameters taken out: constants differ by class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    import numpy as np

    from suffice.model.bayes_error import BayesError
    from suffice.model.covariance import Covariance
    from suffice.model.gaussian import GaussianModel
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class DebiasedModel:
    """Unbiased estimates of log N(x; μ_k, Σ_k) for every x: the logarithm of no density.

    They are log N(x; x̄_k, V_k) + b_k, so that boundaries are those of a Gaussian model with
    π_k exp b_k in the place of priors; but nothing can be drawn from them.

    References
    ----------
    Moran & Murphy (1979), *Applied Statistics* 28, 223–232; Ripley (1996), section 2.4.
    """

    plain: GaussianModel  # N(x̄_k, V_k), with priors π
    corrections: Floats  # b  (K,)

    @property
    def tilted(self) -> GaussianModel:
        """The Gaussian model with the same posterior."""
        return replace(self.plain, log_priors=self.plain.log_priors + self.corrections)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.plain.n_classes

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.plain.n_features

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.plain.n_parameters

    @property
    def priors(self) -> Floats:
        """π, shape (K,)."""
        return self.plain.priors

    @property
    def means(self) -> Floats:
        """x̄, shape (K, d)."""
        return self.plain.means

    @property
    def covariance_matrices(self) -> Floats:
        """V, whose inverse estimates Σ⁻¹ without bias: (d, d) if shared, else (K, d, d)."""
        return self.plain.covariance_matrices

    @property
    def shared_covariance(self) -> Covariance | None:
        """V of all classes, where they share one."""
        return self.plain.shared_covariance

    @property
    def temperature(self) -> float:
        """T of the posterior, softmax(a / T)."""
        return self.plain.temperature

    def with_priors(self, priors: Floats) -> DebiasedModel:
        """Return the same scores under other priors."""
        return replace(self, plain=self.plain.with_priors(priors))

    def with_temperature(self, temperature: float) -> DebiasedModel:
        """Return the same scores under another temperature T: softmax(a / T)."""
        return replace(self, plain=self.plain.with_temperature(temperature))

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return self.tilted.posterior(x)

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K), exact far from the data."""
        return self.tilted.log_posterior(x)

    def scores(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k up to a term common to all classes, shape (n, K)."""
        return self.tilted.scores(x)

    def most_probable(self, x: Any) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return self.tilted.most_probable(x)

    def log_joint(self, x: Any) -> Floats:
        """Return the estimates of log p(x | k) + log π_k, shape (n, K)."""
        return self.tilted.log_joint(x)

    def class_log_density(self, x: Any) -> Floats:
        """Return the estimates of log p(x | k), shape (n, K)."""
        return self.plain.class_log_density(x) + self.corrections

    def log_density(self, x: Any) -> Floats:
        """Return log Σ_k π_k exp(estimate of log p(x | k)), shape (n,)."""
        return self.tilted.log_density(x)

    def sample(self, n: int, rng: np.random.Generator) -> NoReturn:  # noqa: ARG002
        """Refuse: there is nothing to draw from."""
        raise InvalidParameterError(_NO_DENSITY)

    def as_gaussian(self) -> GaussianModel:
        """Return the Gaussian model with the same posterior; its priors do not sum to one."""
        return self.tilted

    def log_likelihood(self, moments: Moments) -> NoReturn:  # noqa: ARG002
        """Refuse: what is no density has no likelihood."""
        raise InvalidParameterError(_NO_DENSITY)

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:  # noqa: ARG002
        """Refuse: there is nothing to draw from."""
        raise InvalidParameterError(_NO_DENSITY)


_NO_DENSITY = (
    "debiased scores are estimates of log densities, not densities: they give posteriors, but "
    "no samples, likelihood or Bayes error; use estimate='predictive', 'map' or 'plug-in'"
)
