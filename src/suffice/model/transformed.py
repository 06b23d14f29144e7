"""A model of transformed rows, known by what it says of the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.model.bayes_error import BayesError
    from suffice.model.covariance import Covariance
    from suffice.model.gaussian import GaussianModel
    from suffice.model.protocol import ClassModel
    from suffice.moments import Moments
    from suffice.power import PowerTransform
    from suffice.typing import Codes, Floats

Values = TypeVar("Values", "Floats", "Codes")
BLOCK = 1 << 20  # numbers transformed at a time


@dataclass(frozen=True, slots=True, eq=False)
class TransformedModel:
    """Densities of x through those of t(x): p(x | k) = p_t(t(x) | k) · |dt/dx|.

    Rows come in, and samples go out, in the units of the rows; parameters are those of the
    transformed rows. Posteriors need no Jacobian: it is the same for every class.
    """

    inner: ClassModel  # of t(x)
    transform: PowerTransform  # t

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.inner.n_classes

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.inner.n_features

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, each exponent other than 1 counted."""
        return self.inner.n_parameters + int((self.transform.exponents != 1).sum())

    @property
    def priors(self) -> Floats:
        """π, shape (K,)."""
        return self.inner.priors

    @property
    def means(self) -> Floats:
        """Means of transformed rows, shape (K, d)."""
        return self.inner.means

    @property
    def covariance_matrices(self) -> Floats:
        """Covariances of transformed rows."""
        return self.inner.covariance_matrices

    @property
    def shared_covariance(self) -> Covariance | None:
        """Σ of all classes for transformed rows, where they share one."""
        return self.inner.shared_covariance

    @property
    def temperature(self) -> float:
        """T of the posterior, softmax(a / T)."""
        return self.inner.temperature

    def with_priors(self, priors: Floats) -> TransformedModel:
        """Return the same densities under other priors."""
        return replace(self, inner=self.inner.with_priors(priors))

    def with_temperature(self, temperature: float) -> TransformedModel:
        """Return the same scores under another temperature."""
        return replace(self, inner=self.inner.with_temperature(temperature))

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return self._each_block(x, self.inner.posterior)

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K), exact far from the data."""
        return self._each_block(x, self.inner.log_posterior)

    def scores(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k up to a term common to all classes, shape (n, K)."""
        return self._each_block(x, self.inner.scores)

    def most_probable(self, x: Any) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return self._each_block(x, self.inner.most_probable)

    def log_joint(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k, shape (n, K)."""
        joint = self._each_block(x, self.inner.log_joint)
        joint += self.transform.log_jacobian(x)[:, None]
        return joint

    def class_log_density(self, x: Any) -> Floats:
        """Return log p(x | k), shape (n, K)."""
        density = self._each_block(x, self.inner.class_log_density)
        density += self.transform.log_jacobian(x)[:, None]
        return density

    def log_density(self, x: Any) -> Floats:
        """Return log p(x), shape (n,)."""
        density = self._each_block(x, self.inner.log_density)
        density += self.transform.log_jacobian(x)
        return density

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Draw n pairs (x, k), in the units of the rows."""
        y, k = self.inner.sample(n, rng)
        return self.transform.inverse(y), k

    def as_gaussian(self) -> GaussianModel:
        """Return the Gaussian model of transformed rows with the same posterior."""
        return self.inner.as_gaussian()

    def log_likelihood(self, moments: Moments) -> float:
        """Return Σ w (log p(x | y) + log π_y) of the rows that the moments sum up."""
        slopes = 0.0 if moments.power_sums is None else float(moments.power_sums.log_slopes.sum())
        return self.inner.log_likelihood(moments) + slopes

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        """Return the error of the best rule if the model were true: no matter which units."""
        return self.inner.bayes_error(n_samples, rng)

    def _each_block(self, rows: Any, verb: Callable[[Any], Values]) -> Values:
        """Return ``verb`` of the transformed rows, some at a time."""
        x = np.asarray(rows)
        step = max(BLOCK // max(self.n_features, 1), 1)
        parts = [self._said(verb, x, start, step) for start in range(0, max(len(x), 1), step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _said(self, verb: Callable[[Any], Values], x: Any, start: int, step: int) -> Values:
        try:
            return verb(self.transform.apply(x[start : start + step]))
        except InvalidInputError as error:
            if not start:
                raise
            msg = f"in the rows from {start} on, counted from there: {error}"
            raise InvalidInputError(msg) from error
