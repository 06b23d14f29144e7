"""Bayesian learning of class densities and priors, and the debiased plug-in, from sums."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.special import gammaln

from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError
from suffice.linalg import scaled_cholesky

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from suffice.typing import Floats

Density = TypeVar("Density")


@dataclass(frozen=True, slots=True, eq=False)
class StudentT:
    """A multivariate Student t density."""

    degrees: float  # f
    location: Floats  # (d,)
    shape: Floats  # (d, d); the covariance is shape · f / (f − 2)

    @property
    def log_constant(self) -> float:
        """Return the log density at the location."""
        f, d = self.degrees, len(self.location)
        # log Γ((f+d)/2) − log Γ(f/2) − ½ (d log(π f) + log|shape|)
        gammas = gammaln((f + d) / 2) - gammaln(f / 2)
        return float(gammas - 0.5 * (d * np.log(np.pi * f) + np.linalg.slogdet(self.shape)[1]))

    def score(self, squared_distances: Floats) -> Floats:
        """Return log densities at squared distances Δ², shape (n,)."""
        f, d = self.degrees, len(self.location)
        # log t(x) = constant − (f+d)/2 · log(1 + Δ²/f)
        return self.log_constant - (f + d) / 2 * np.log1p(squared_distances / f)


@dataclass(frozen=True, slots=True, eq=False)
class DebiasedGaussian:
    """An unbiased estimate of log N(x; μ, Σ), for each x: not the log of any density."""

    log_constant: float
    location: Floats  # (d,)
    shape: Floats  # (d, d)

    def score(self, squared_distances: Floats) -> Floats:
        """Return estimated log densities at squared distances Δ², shape (n,)."""
        return self.log_constant - 0.5 * squared_distances


def each_class(
    make: Callable[..., Density], *columns: Sequence[Any] | Floats
) -> tuple[Density, ...]:
    """Return one density per class, or say which class has none."""
    made = []
    for k, arguments in enumerate(zip(*columns, strict=True)):
        try:
            made.append(make(*arguments))
        except InvalidInputError as error:
            msg = f"class {k}: {error}"
            raise InvalidInputError(msg) from error
    return tuple(made)


NO_SPREAD = 1e-26  # a within-class variance below this part of the total one is rounding


@dataclass(frozen=True, slots=True, eq=False)
class NormalInverseWishart:
    r"""A conjugate prior, or posterior, of the mean(s) and the covariance of Gaussian classes.

    :math:`\Sigma \sim IW(\Psi, \nu)` and :math:`\mu \mid \Sigma \sim N(m, \Sigma / \kappa)`;
    ``n_means`` classes share the one Σ, each with a mean of its own.

    References
    ----------
    Geisser (1964), JRSS B 26; Fraley & Raftery (2007), J. Classification 24.

    Examples
    --------
    >>> import numpy as np
    >>> prior = NormalInverseWishart(np.zeros(1), 1.0, np.eye(1), 3.0)
    >>> posterior = prior.posterior(3.0, np.array([4.0]), np.array([[2.0]]))
    >>> posterior.map_mean, posterior.map_covariance
    (array([3.]), array([[1.66666667]]))
    >>> posterior.predictive().degrees
    6.0
    """

    mean: Floats  # m  (d,)
    mean_strength: float  # κ: the prior counts as this many rows at m
    scale: Floats  # Ψ  (d, d)
    degrees: float  # ν: E Σ = Ψ / (ν − d − 1)
    n_means: int = 1

    def __post_init__(self) -> None:
        d = np.shape(self.mean)[0]
        if np.shape(self.scale) != (d, d) or not self.mean_strength >= 0:
            msg = (
                f"mean of length {d}, scale {np.shape(self.scale)}, mean_strength "
                f"{self.mean_strength!r}: scale must be ({d}, {d}) and mean_strength ≥ 0"
            )
            raise InvalidParameterError(msg)

    @classmethod
    def flat(cls, n_features: int, n_means: int = 1) -> NormalInverseWishart:
        """Return the reference prior p(μ, Σ) ∝ |Σ|^{−(d+1)/2}: improper, free of any choice."""
        d = n_features
        return cls(np.zeros(d), 0.0, np.zeros((d, d)), -float(n_means), n_means)

    @classmethod
    def default(
        cls,
        weights: Floats,
        means: Floats,
        pooled: Floats,
        *,
        mean_strength: float = 0.01,
        quiet: bool = False,
    ) -> NormalInverseWishart:
        """Return a weak proper prior that follows the units of the features.

        It needs class weights (K,), class means (K, d) and the pooled scatter Σ_k S_k (d, d).
        The mean is the mean of all rows, ν = d + 2 is the least whole number with a finite
        expectation, and E Σ is the diagonal of the pooled within-class covariance (divisor n).
        A feature without spread within classes takes its spread over all rows, and one without
        any spread takes one, with a warning unless ``quiet``.
        """
        n, d = weights.sum(), means.shape[1]
        m = weights @ means / n
        within = np.diagonal(pooled) / n
        total = within + weights @ np.square(means - m) / n
        scale = np.where(within > NO_SPREAD * total, within, total)
        return cls(m, mean_strength, np.diag(_positive(scale, quiet=quiet)), d + 2.0)

    def posterior(self, weight: float, mean: Floats, scatter: Floats) -> NormalInverseWishart:
        """Return what is known after rows of one class, given by their sums."""
        pull = self.pull(weight)
        shift = mean - self.mean
        return NormalInverseWishart(
            # m ← (κ m + w x̄) / (κ + w)
            mean - pull * shift,
            self.mean_strength + weight,
            # Ψ ← Ψ + S + κ w / (κ + w) · (x̄ − m)(x̄ − m)ᵀ
            self.scale + scatter + pull * weight * np.outer(shift, shift),
            self.degrees + weight,
            self.n_means,
        )

    def pull(self, weight: float) -> float:
        """Return the share of the prior in the posterior mean, κ / (κ + w)."""
        kappa = self.mean_strength + weight
        return self.mean_strength / kappa if kappa > 0 else 1.0

    @property
    def map_mean(self) -> Floats:
        """Return the mean at the joint mode of (μ, Σ)."""
        return self.mean

    @property
    def map_covariance(self) -> Floats:
        """Return the covariance at the joint mode of the mean(s) and Σ."""
        # Σ = Ψ / (ν + d + 1 + number of means)
        return self.scale / (self.degrees + len(self.mean) + 1 + self.n_means)

    @property
    def predictive_degrees(self) -> float:
        """Return the degrees of freedom f of the predictive density; none is proper if f ≤ 0."""
        # f = ν − d + 1
        return self.degrees - len(self.mean) + 1

    def predictive(self) -> StudentT:
        """Return the density of the next row, (μ, Σ) integrated out."""
        f, kappa = self.predictive_degrees, self.mean_strength
        if not (f > 0 and kappa > 0) or scaled_cholesky(self.scale) is None:
            raise InvalidInputError(self.improper)
        # t with f degrees at m, shape Ψ (κ + 1) / (κ f)
        return StudentT(f, self.mean, self.scale * ((kappa + 1) / (kappa * f)))

    @property
    def improper(self) -> str:
        """Return what to say where the predictive density is not proper."""
        d = len(self.mean)
        return (
            f"no proper predictive density of {d} features from {self.degrees:g} degrees "
            f"of freedom (more than {d - 1} are needed, and a scale of full rank): "
            "collect more rows, drop constant or duplicated columns, or use a proper prior"
        )


def posteriors(
    prior: NormalInverseWishart, weights: Floats, means: Floats, scatters: Floats
) -> tuple[NormalInverseWishart, ...]:
    """Return the posterior of each class, every class with a covariance of its own."""
    classes = zip(weights.tolist(), means, scatters, strict=True)
    return tuple(prior.posterior(*sums) for sums in classes)


def tied_posteriors(
    prior: NormalInverseWishart, weights: Floats, means: Floats, pooled: Floats
) -> tuple[NormalInverseWishart, ...]:
    """Return the posterior of each class, all sharing one covariance, from Σ_k S_k (d, d).

    All have the same scale and degrees. The reference prior of K classes is
    ``NormalInverseWishart.flat(d, n_means=K)``.
    """
    n = weights.tolist()
    shifts = means - prior.mean
    pulls = np.array([prior.pull(n_k) for n_k in n])
    # Ψ ← Ψ + Σ_k (S_k + κ n_k / (κ + n_k) · (x̄_k − m)(x̄_k − m)ᵀ),  ν ← ν + n
    scale = prior.scale + pooled + (pulls * n * shifts.T) @ shifts
    degrees = prior.degrees + sum(n)
    return tuple(
        NormalInverseWishart(m, prior.mean_strength + n_k, scale, degrees, len(n))
        for m, n_k in zip(means - pulls[:, None] * shifts, n, strict=True)
    )


def predictives(learned: Sequence[NormalInverseWishart]) -> tuple[StudentT, ...]:
    """Return the density of the next row of each class."""
    return each_class(NormalInverseWishart.predictive, learned)


def _positive(variances: Floats, *, quiet: bool) -> Floats:
    """Return variances, one where there is none, and say which features these are."""
    flat = np.flatnonzero(variances <= 0)
    if len(flat) and not quiet:
        msg = f"columns {flat.tolist()} are constant over all rows: their prior variance is 1"
        warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
    return np.where(variances > 0, variances, 1.0)
