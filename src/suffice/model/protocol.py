"""The verbs that every fitted model knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    import numpy as np

    from suffice.model.bayes_error import BayesError
    from suffice.model.covariance import Covariance
    from suffice.model.gaussian import GaussianModel
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


class ClassModel(Protocol):
    """Priors and class-conditional densities, whatever their shape."""

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features d."""
        ...

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        ...

    @property
    def priors(self) -> Floats:
        """π, shape (K,)."""
        ...

    @property
    def means(self) -> Floats:
        """Centre of each class, shape (K, d)."""
        ...

    @property
    def covariance_matrices(self) -> Floats:
        """Covariance of the rows of each class: (d, d) if all share it, else (K, d, d)."""
        ...

    @property
    def shared_covariance(self) -> Covariance | None:
        """Σ of all classes, where they share one."""
        ...

    @property
    def temperature(self) -> float:
        """T of the posterior, softmax(a / T)."""
        ...

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        ...

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K), exact far from the data."""
        ...

    def scores(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k up to a term common to all classes, shape (n, K)."""
        ...

    def most_probable(self, x: Any) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        ...

    def log_joint(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k, shape (n, K)."""
        ...

    def class_log_density(self, x: Any) -> Floats:
        """Return log p(x | k), shape (n, K)."""
        ...

    def log_density(self, x: Any) -> Floats:
        """Return log p(x), shape (n,)."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Draw n pairs (x, k)."""
        ...

    def with_priors(self, priors: Floats) -> Self:
        """Return the same densities under other priors."""
        ...

    def with_temperature(self, temperature: float) -> Self:
        """Return the same scores under another temperature."""
        ...

    def as_gaussian(self) -> GaussianModel:
        """Return the Gaussian model with the same posterior, or say that there is none."""
        ...

    def log_likelihood(self, moments: Moments) -> float:
        """Return Σ w (log p(x | y) + log π_y) of the rows that the moments sum up."""
        ...

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        """Return the error of the best rule if the model were true."""
        ...
