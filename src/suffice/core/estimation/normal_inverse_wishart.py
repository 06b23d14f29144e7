"""Bayesian learning of Gaussian classes: parameters most probable (MAP), or integrated out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from suffice.core.estimation.covariance_estimates import (
    factored,
    full_groups,
    resolved_variances,
)
from suffice.core.estimation.plug_in_and_debiased import Evidence, gaussian_model
from suffice.core.estimation.priors import priors_among
from suffice.core.linalg import inverse_lower, rank_tolerance, resolved, scaled_cholesky
from suffice.core.model.covariance import FullCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.student import StudentModel
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    warn,
)
from suffice.typing import Floats

WEAK = 0.01  # rows that the default prior of a mean counts as
NO_SPREAD = 1e-26  # a within-class variance below this part of the total one is rounding


@dataclass(frozen=True, slots=True, eq=False)
class NormalInverseWishart:
    """A conjugate prior, or posterior, of the mean(s) and the covariance of Gaussian classes.

    Σ ~ IW(Ψ, ν) and μ ∣ Σ ~ N(m, Σ / κ).

    Geisser (1964), JRSS B 26; Fraley & Raftery (2007), J. Classification 24.

    Parameters
    ----------
    mean : array (d,)
        m.
    mean_strength : float
        κ: the prior counts as this many rows at m.
    scale : array (d, d)
        Ψ.
    degrees : float
        ν: the mean of Σ is Ψ / (ν − d − 1).
    n_means : int, default=1
        Classes that share the one Σ, each with a mean of its own.

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

    def __post_init__(self) -> None:
        d = np.shape(self.mean)[0]
        if np.shape(self.scale) != (d, d) or not self.mean_strength >= 0:
            raise InvalidParameterError(
                f"mean of length {d}, scale {np.shape(self.scale)}, mean_strength "
                f"{self.mean_strength!r}: scale must be ({d}, {d}) and mean_strength ≥ 0"
            )

    @classmethod
    def flat(cls, n_features: int, n_means: int = 1) -> NormalInverseWishart:
        """Return the reference prior p(μ, Σ) ∝ |Σ|^{−(d+1)/2}: improper, free of any choice."""
        scale = np.zeros((n_features, n_features))
        return cls(np.zeros(n_features), 0.0, scale, -float(n_means), n_means)

    @classmethod
    def default(
        cls,
        weights: Floats,
        means: Floats,
        pooled: Floats,
        *,
        quiet: bool = False,
    ) -> NormalInverseWishart:
        """Return a weak proper prior that follows the units of the features.

        It needs class weights (K,), class means (K, d) and the pooled scatter Σ_k S_k (d, d).
        ν = d + 2, the least whole number with a finite expectation; E Σ is the diagonal of the
        pooled covariance (divisor n), of all rows for a feature without spread within classes.
        """
        n, d = weights.sum(), means.shape[1]
        m = weights @ means / n
        within = np.diagonal(pooled) / n
        total = within + weights @ np.square(means - m) / n
        scale = np.where(within > NO_SPREAD * total, within, total)
        flat = np.flatnonzero(scale <= 0)
        if len(flat) and not quiet:
            told = f"columns {flat.tolist()} are constant over all rows: their prior variance is 1"
            warn(told, DegenerateDataWarning)
        return cls(m, WEAK, np.diag(np.where(scale > 0, scale, 1.0)), d + 2.0)

    def posterior(self, weight: float, mean: Floats, scatter: Floats) -> NormalInverseWishart:
        """Return what is known after rows of one class, given by their sums."""
        (known,) = self.posteriors(np.array([weight]), mean[None], scatter)
        return replace(known, n_means=self.n_means)

    def posteriors(
        self,
        weights: Floats,
        means: Floats,
        pooled: Floats,
    ) -> tuple[NormalInverseWishart, ...]:
        """Return the posterior of each of K classes of one covariance, from Σ_k S_k (d, d)."""
        w, shifts = weights.tolist(), means - self.mean
        kappas = self.mean_strength + weights
        # the share of the prior in each mean, κ / (κ + w), and all of it where there is no row
        pulls = np.where(
            kappas > 0, self.mean_strength / np.where(kappas > 0, kappas, 1.0), 1.0
        )
        # m_k = (κ m + w_k x̄_k) / (κ + w_k)
        centres = means - pulls[:, None] * shifts
        # Ψ ← Ψ + Σ_k (S_k + κ w_k / (κ + w_k) · (x̄_k − m)(x̄_k − m)ᵀ),  ν ← ν + Σ_k w_k
        scale = self.scale + pooled + (pulls * w * shifts.T) @ shifts
        degrees, n_means = self.degrees + sum(w), max(int(np.count_nonzero(w)), 1)
        pairs = zip(centres, kappas.tolist(), strict=True)
        return tuple(
            NormalInverseWishart(m, kappa, scale, degrees, n_means) for m, kappa in pairs
        )

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
        """Return f of the predictive density, a Student t at m; none is proper if f ≤ 0."""
        # f = ν − d + 1,  shape Ψ (κ + 1) / (κ f)
        return self.degrees - len(self.mean) + 1

    @property
    def predictive_share(self) -> float:
        """Return s = κ / (κ + 1): the shape of the predictive density is Ψ / (s f)."""
        return self.mean_strength / (self.mean_strength + 1)

    @property
    def improper(self) -> str:
        """Return what to say where the predictive density is not proper."""
        d = len(self.mean)
        return (
            f"no proper predictive density of {d} features from {self.degrees:g} degrees "
            f"of freedom (more than {d - 1} are needed, and a scale of full rank): "
            "collect more rows, drop constant or duplicated columns, or use a proper prior"
        )


# the prior of some number of classes that share Σ, about the grand mean
Belief: TypeAlias = "Callable[[Evidence, int], NormalInverseWishart]"


def default_belief(evidence: Evidence, _n_means: int) -> NormalInverseWishart:
    """Return the prior that is weak, proper, and in the units of the features."""
    moments = evidence.moments
    totals = moments.total_variances
    within = moments.scatter.pooled_diagonal() / moments.total_weight
    within = resolved(within, moments.grand_mean, totals)
    # a column that is constant but for rounding tells no class apart
    means = np.where(totals > 0, moments.centred_means, 0.0)
    pooled = np.diag(within * moments.total_weight)
    return NormalInverseWishart.default(moments.weights, means, pooled, quiet=evidence.quiet)


def flat_belief(evidence: Evidence, n_means: int) -> NormalInverseWishart:
    """Return the reference prior: improper."""
    return NormalInverseWishart.flat(evidence.moments.n_features, n_means)


def given_belief(
    prior: NormalInverseWishart,
    evidence: Evidence,
    _n_means: int,
) -> NormalInverseWishart:
    """Return a prior of the user's own."""
    found, needed = len(prior.mean), evidence.moments.n_features
    if found != needed:
        raise InvalidParameterError(
            f"prior speaks of {found} features, but there are {needed}"
        )
    return replace(prior, mean=prior.mean - evidence.moments.grand_mean)


def check_prior(prior: NormalInverseWishart) -> None:
    """Refuse a scale that is no covariance, or numbers that are none."""
    numbers = (prior.mean, prior.scale, prior.mean_strength, prior.degrees)
    if not all(np.isfinite(each).all() for each in numbers):
        raise InvalidParameterError("prior holds numbers that are not finite")
    deviations = np.sqrt(np.maximum(np.diagonal(prior.scale), 0.0))
    unit = np.where(deviations > 0, deviations, 1.0)
    corr = np.asarray(prior.scale) / np.outer(unit, unit)
    least = np.linalg.eigvalsh((corr + corr.T) / 2).min(initial=0.0)
    slack = rank_tolerance(len(unit))
    if np.abs(corr - corr.T).max(initial=0.0) > slack or least < -slack:
        raise InvalidParameterError(
            "prior needs a symmetric scale without negative eigenvalues"
        )


def most_probable(belief: Belief, evidence: Evidence) -> GaussianModel:
    """Return the Gaussian model of the most probable parameters."""
    learned = posteriors_by_group(evidence, belief)
    firsts = [learned[evidence.members(g)[0]] for g in range(evidence.n_groups)]
    for posterior in firsts:
        if not posterior.degrees + len(posterior.mean) + 1 + posterior.n_means > 0:
            found = f"prior leaves {posterior.degrees:g} degrees of freedom"
            msg = f"{found}, too few for a most probable covariance: give it more, or add rows"
            raise InvalidParameterError(msg)
    sigmas = np.stack([posterior.map_covariance for posterior in firsts])
    diagonals = np.diagonal(sigmas, axis1=1, axis2=2)
    variances = resolved_variances(diagonals, evidence.moments, evidence.group_of)
    means = np.stack([posterior.map_mean for posterior in learned])
    return gaussian_model(evidence, means, factored(sigmas, variances, evidence.moments))


def predictive(belief: Belief, evidence: Evidence) -> StudentModel:
    """Return the Student t model of the next row, parameters integrated out."""
    learned = posteriors_by_group(evidence, belief)
    # a class without rows is known by a proper prior, or not at all
    prior = belief(replace(evidence, quiet=True), 1)
    proper = prior.predictive_degrees > 0 and prior.mean_strength > 0
    known = evidence.present | (proper & (evidence.priors > 0))
    scales = []
    for members in map(evidence.members, range(evidence.n_groups)):
        first = learned[members[0]]
        # any matrix where no class of the group is known
        factor = scaled_cholesky(
            first.scale if known[members].any() else np.eye(len(first.mean))
        )
        if factor is None:
            raise InvalidInputError(f"{evidence.named(members)}: {first.improper}")
        scales.append(FullCovariance(factor, inverse_lower(factor)))
    strengths = np.where(known, [p.mean_strength for p in learned], 1.0)
    degrees = np.where(known, [p.predictive_degrees for p in learned], 1.0)
    for k in np.flatnonzero((degrees <= 0) | (strengths <= 0))[:1]:
        raise InvalidInputError(f"{evidence.named(np.array([k]))}: {learned[k].improper}")
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors_among(known, evidence.priors))
    centre, means = evidence.moments.grand_mean, np.stack([p.mean for p in learned])
    shares = np.where(known, [p.predictive_share for p in learned], 0.5)
    return StudentModel(
        log_priors, centre, means, tuple(scales), evidence.group_of, degrees, shares
    )


def posteriors_by_group(evidence: Evidence, belief: Belief) -> list[NormalInverseWishart]:
    """Return what is known of each class about the grand mean; groups share scale and degrees."""
    moments = evidence.moments
    learned: list[NormalInverseWishart | None] = [None] * moments.n_classes
    for g, scatter in enumerate(full_groups(moments, evidence.group_of).scatters):
        members = evidence.members(g)
        n_means = max(int(evidence.present[members].sum()), 1)
        # what is missing is told once, with the first group
        prior = belief(evidence if g == 0 else replace(evidence, quiet=True), n_means)
        weights, means = moments.weights[members], moments.centred_means[members]
        for k, posterior in zip(
            members, prior.posteriors(weights, means, scatter), strict=True
        ):
            learned[k] = posterior
    return [posterior for posterior in learned if posterior is not None]
