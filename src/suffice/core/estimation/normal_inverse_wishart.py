"""Bayesian estimates of Gaussian classes, with parameters at the mode or integrated out.

With the prior Σ ~ IW(Ψ, ν), μ_k ∣ Σ ~ N(m, Σ / κ), and the weight w_k, the mean x̄_k and the
scatter M_k of each of K classes that share Σ,

    κ_k = κ + w_k,  m_k = (κ m + w_k x̄_k) / κ_k,  ν ← ν + Σ_k w_k
    Ψ ← Ψ + Σ_k (M_k + κ w_k / κ_k · (x̄_k − m)(x̄_k − m)ᵀ)                   (``posteriors``)
    mode: μ_k = m_k,  Σ = Ψ / (ν + d + 1 + K)                                 (``map_covariance``)
    predictive: Student t with f = ν − d + 1 degrees, mean m_k and shape Ψ (κ_k + 1) / (κ_k f)

``core/model/student.py`` computes the log density of the Student t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from suffice.core.estimation.covariance_structures import factored
from suffice.core.estimation.degenerate import resolved_variances
from suffice.core.estimation.groups import full_groups
from suffice.core.estimation.plug_in import EstimationInput, gaussian_model
from suffice.core.estimation.priors import priors_among
from suffice.core.linalg import inverse_lower, rank_tolerance, resolved, scaled_cholesky
from suffice.core.model.covariance import FullCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.student import StudentModel
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    require_word,
    warn,
)
from suffice.typing import Floats

WEAK = 0.01  # pseudo-count of the default prior of a mean
# a variance within classes below this share of the total variance is a rounding error
NO_SPREAD = 1e-26


@dataclass(frozen=True, slots=True, eq=False)
class NormalInverseWishart:
    """A conjugate prior or posterior of the means and the covariance of Gaussian classes.

    Σ ~ IW(Ψ, ν) and μ ∣ Σ ~ N(m, Σ / κ).

    Geisser (1964), JRSS B 26; Fraley & Raftery (2007), J. Classification 24.

    Parameters
    ----------
    mean : array (d,)
        m.
    mean_strength : float
        κ: the prior counts as κ rows at m.
    scale : array (d, d)
        Ψ.
    degrees : float
        ν: the mean of Σ is Ψ / (ν − d − 1).
    n_means : int, default=1
        Number of classes that share Σ, each with its own mean.
    use : {"predictive", "map"}, default="predictive"
        How an estimator with this prior as ``estimate`` treats the parameters.
        "predictive" integrates out the parameters, which gives a Student t for each class.
        "map" takes the most probable parameters.

    Examples
    --------
    >>> import numpy as np
    >>> prior = NormalInverseWishart(np.zeros(1), 1.0, np.eye(1), 3.0)
    >>> posterior = prior.posterior(3.0, np.array([4.0]), np.array([[2.0]]))
    >>> posterior.map_mean, posterior.map_covariance
    (array([3.]), array([[1.66666667]]))
    >>> posterior.predictive_degrees
    6.0
    """

    mean: Floats
    mean_strength: float
    scale: Floats
    degrees: float
    n_means: int = 1
    use: Literal["predictive", "map"] = "predictive"

    def __post_init__(self) -> None:
        require_word(self.use, ("predictive", "map"), "the use of a NormalInverseWishart")
        if np.ndim(self.mean_strength) != 0 or np.ndim(self.degrees) != 0:
            raise InvalidParameterError(
                f"mean_strength={self.mean_strength!r} and degrees={self.degrees!r} must be "
                "numbers: give one number for each"
            )
        d = np.shape(self.mean)[0]
        if np.shape(self.scale) != (d, d) or not self.mean_strength >= 0:
            raise InvalidParameterError(
                f"for a mean of length {d}, scale must have shape ({d}, {d}) and mean_strength "
                f"must be at least 0, got shape {np.shape(self.scale)} and {self.mean_strength!r}"
            )

    @classmethod
    def flat(
        cls,
        n_features: int,
        n_means: int = 1,
        use: Literal["predictive", "map"] = "predictive",
    ) -> NormalInverseWishart:
        """Return the reference prior p(μ, Σ) ∝ |Σ|^{−(d+1)/2}, which is improper."""
        return cls(
            mean=np.zeros(n_features),
            mean_strength=0.0,
            scale=np.zeros((n_features, n_features)),
            degrees=-float(n_means),
            n_means=n_means,
            use=use,
        )

    @property
    def is_flat(self) -> bool:
        """Whether this is the reference prior."""
        says_nothing = self.mean_strength == 0 and not np.any(self.scale)
        return bool(says_nothing and self.degrees == -self.n_means)

    @classmethod
    def default(
        cls,
        weights: Floats,
        means: Floats,
        pooled: Floats,
        *,
        quiet: bool = False,
    ) -> NormalInverseWishart:
        """Return a weak proper prior in the units of the features.

        The arguments are class weights (K,), class means (K, d) and the pooled scatter Σ_k M_k
        (d, d). The degrees ν = d + 2 are the smallest integer for which E Σ is finite. E Σ is the
        diagonal of the pooled covariance with divisor n. For a feature without variance within
        classes, E Σ is the variance of all rows.
        """
        n = weights.sum()
        d = means.shape[1]
        m = weights @ means / n
        within = np.diagonal(pooled) / n
        total = within + weights @ np.square(means - m) / n
        variances = np.where(within > NO_SPREAD * total, within, total)
        constant = np.flatnonzero(variances <= 0)
        if len(constant) and not quiet:
            verb, pronoun = ("is", "its") if len(constant) == 1 else ("are", "their")
            warn(
                f"{noun_for(len(constant), 'column')} {quoted(constant)} {verb} constant over all "
                f"rows, so {pronoun} prior variance is set to 1. Drop constant columns",
                DegenerateDataWarning,
            )
        scale = np.diag(np.where(variances > 0, variances, 1.0))
        return cls(mean=m, mean_strength=WEAK, scale=scale, degrees=d + 2.0)

    def posterior(self, weight: float, mean: Floats, scatter: Floats) -> NormalInverseWishart:
        """Return the posterior after observing rows of one class, given their sums."""
        (posterior,) = self.posteriors(np.array([weight]), mean[None], scatter)
        return replace(posterior, n_means=self.n_means)

    def posteriors(
        self,
        weights: Floats,
        means: Floats,
        pooled: Floats,
    ) -> tuple[NormalInverseWishart, ...]:
        """Return the posteriors of K classes with a common covariance, given Σ_k M_k (d, d)."""
        shifts = means - self.mean
        kappas = self.mean_strength + weights
        # the share of the prior in each mean is κ / (κ + w), which is 1 without rows
        is_known = kappas > 0
        shares = np.where(is_known, self.mean_strength / np.where(is_known, kappas, 1.0), 1.0)
        # m_k = (κ m + w_k x̄_k) / (κ + w_k)
        centres = means - shares[:, None] * shifts
        # Ψ ← Ψ + Σ_k (M_k + κ w_k / (κ + w_k) · (x̄_k − m)(x̄_k − m)ᵀ),  ν ← ν + Σ_k w_k
        w = weights.tolist()
        scale = self.scale + pooled + (shares * w * shifts.T) @ shifts
        degrees = self.degrees + sum(w)
        n_means = max(int(np.count_nonzero(w)), 1)
        return tuple(
            NormalInverseWishart(centre, kappa, scale, degrees, n_means, self.use)
            for centre, kappa in zip(centres, kappas.tolist(), strict=True)
        )

    @property
    def map_mean(self) -> Floats:
        """Return the mean at the joint mode of (μ, Σ)."""
        return self.mean

    @property
    def map_covariance(self) -> Floats:
        """Return the covariance at the joint mode of the means and Σ."""
        # Σ = Ψ / (ν + d + 1 + number of means)
        return self.scale / (self.degrees + len(self.mean) + 1 + self.n_means)

    @property
    def predictive_degrees(self) -> float:
        """Return the degrees of freedom f of the predictive Student t, which is proper if f > 0."""
        # f = ν − d + 1,  shape Ψ (κ + 1) / (κ f)
        return self.degrees - len(self.mean) + 1

    @property
    def predictive_share(self) -> float:
        """Return s = κ / (κ + 1): the shape matrix of the predictive density is Ψ / (s f)."""
        return self.mean_strength / (self.mean_strength + 1)

    @property
    def improper(self) -> str:
        """Return the error message for a predictive density that is not proper."""
        d = len(self.mean)
        return (
            f"the predictive density of {counted(d, 'feature')} is not proper: it needs more than "
            f"{d - 1:,} degrees of freedom, of which there are {self.degrees:g}, and a scale of "
            "full rank. Collect more rows, drop constant or duplicated columns, or use a proper "
            "prior"
        )


def prior_of_group(
    prior: NormalInverseWishart | None,
    inputs: EstimationInput,
    n_means: int,
) -> NormalInverseWishart:
    """Return the prior of classes that share Σ, with the grand mean subtracted from its mean.

    If ``prior`` is None, the result is a weak prior.
    """
    if prior is None:
        return _weak_prior(inputs)
    n_features = inputs.moments.n_features
    if len(prior.mean) != n_features:
        raise InvalidParameterError(
            f"the NormalInverseWishart prior has {counted(len(prior.mean), 'feature')}, but the "
            f"rows have {n_features:,}: give a mean and a scale of {n_features} features"
        )
    if prior.is_flat:
        return NormalInverseWishart.flat(n_features, n_means, prior.use)
    return replace(prior, mean=prior.mean - inputs.moments.grand_mean)


def _weak_prior(inputs: EstimationInput) -> NormalInverseWishart:
    """Return a weak, proper prior in the units of the features."""
    moments = inputs.moments
    totals = moments.total_variances
    within = moments.scatter.pooled_diagonal() / moments.total_weight
    within = resolved(within, moments.grand_mean, totals)
    # in a constant column, differences between means are rounding errors
    means = np.where(totals > 0, moments.centred_means, 0.0)
    pooled = np.diag(within * moments.total_weight)
    return NormalInverseWishart.default(moments.weights, means, pooled, quiet=inputs.quiet)


def check_prior(prior: NormalInverseWishart) -> None:
    """Raise if a prior holds non-finite numbers, or if its scale is not positive semi-definite."""
    for numbers in (prior.mean, prior.scale, prior.mean_strength, prior.degrees):
        if not np.isfinite(numbers).all():
            raise InvalidParameterError(
                "the NormalInverseWishart prior holds non-finite numbers: give finite numbers"
            )
    deviations = np.sqrt(np.maximum(np.diagonal(prior.scale), 0.0))
    unit = np.where(deviations > 0, deviations, 1.0)
    correlation = np.asarray(prior.scale) / np.outer(unit, unit)
    smallest = np.linalg.eigvalsh((correlation + correlation.T) / 2).min(initial=0.0)
    slack = rank_tolerance(len(unit))
    asymmetry = np.abs(correlation - correlation.T).max(initial=0.0)
    if asymmetry > slack or smallest < -slack:
        raise InvalidParameterError(
            "the NormalInverseWishart prior needs a symmetric scale without negative eigenvalues"
        )


def most_probable(
    prior: NormalInverseWishart | None, inputs: EstimationInput
) -> GaussianModel:
    """Return the Gaussian model with the most probable parameters."""
    learned = posteriors_by_group(inputs, prior)
    firsts = [learned[inputs.members(g)[0]] for g in range(inputs.n_groups)]
    for posterior in firsts:
        if not posterior.degrees + len(posterior.mean) + 1 + posterior.n_means > 0:
            raise InvalidParameterError(
                f"with this prior, the posterior has {posterior.degrees:g} degrees of freedom, "
                "which are too few for a posterior mode of the covariance: give the prior more "
                "degrees, or add rows"
            )
    sigmas = np.stack([posterior.map_covariance for posterior in firsts])
    diagonals = np.diagonal(sigmas, axis1=1, axis2=2)
    variances = resolved_variances(diagonals, inputs.moments, inputs.group_of)
    means = np.stack([posterior.map_mean for posterior in learned])
    return gaussian_model(inputs, means, factored(sigmas, variances, inputs.moments))


def predictive(prior: NormalInverseWishart | None, inputs: EstimationInput) -> StudentModel:
    """Return the Student t model of a new row, with the parameters integrated out."""
    learned = posteriors_by_group(inputs, prior)
    # a class without rows has a density only if the prior is proper
    before = prior_of_group(prior, replace(inputs, quiet=True), 1)
    is_proper = before.predictive_degrees > 0 and before.mean_strength > 0
    has_density = inputs.present | (is_proper & (inputs.priors > 0))
    scales = []
    for g in range(inputs.n_groups):
        members = inputs.members(g)
        first = learned[members[0]]
        # a group in which no class has a density gets a matrix that is not used
        scale = first.scale if has_density[members].any() else np.eye(len(first.mean))
        factor = scaled_cholesky(scale)
        if factor is None:
            raise InvalidInputError(f"{inputs.describe(members)}: {first.improper}")
        scales.append(FullCovariance(factor, inverse_lower(factor)))
    strengths = np.where(has_density, [p.mean_strength for p in learned], 1.0)
    degrees = np.where(has_density, [p.predictive_degrees for p in learned], 1.0)
    shares = np.where(has_density, [p.predictive_share for p in learned], 0.5)
    improper = np.flatnonzero((degrees <= 0) | (strengths <= 0))
    if len(improper):
        k = improper[0]
        raise InvalidInputError(f"{inputs.describe(np.array([k]))}: {learned[k].improper}")
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors_among(has_density, inputs.priors))
    return StudentModel(
        log_priors,
        inputs.moments.grand_mean,
        np.stack([posterior.mean for posterior in learned]),
        tuple(scales),
        inputs.group_of,
        degrees,
        shares,
    )


def posteriors_by_group(
    inputs: EstimationInput,
    prior: NormalInverseWishart | None,
) -> list[NormalInverseWishart]:
    """Return the posterior of each class, with the grand mean subtracted from its mean.

    The classes of a group share the scale and the degrees.
    """
    moments = inputs.moments
    learned: dict[int, NormalInverseWishart] = {}
    for g, scatter in enumerate(full_groups(moments, inputs.group_of).scatters):
        members = inputs.members(g)
        n_means = max(int(inputs.present[members].sum()), 1)
        # warn only once, for the first group
        first_inputs = inputs if g == 0 else replace(inputs, quiet=True)
        before = prior_of_group(prior, first_inputs, n_means)
        weights = moments.weights[members]
        means = moments.centred_means[members]
        posteriors = before.posteriors(weights, means, scatter)
        learned.update(zip(members.tolist(), posteriors, strict=True))
    return [learned[k] for k in range(moments.n_classes)]
