"""Bayesian learning of Gaussian classes: parameters most probable (MAP), or integrated out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.estimation.divisors_and_tied_covariances import full_groups, resolved_variances
from suffice.estimation.normal_inverse_wishart import NormalInverseWishart
from suffice.estimation.plug_in import Evidence, gaussian_model
from suffice.estimation.structures import factored
from suffice.linalg import inverse_lower, rank_tolerance, resolved, scaled_cholesky
from suffice.model.covariance import FullCovariance
from suffice.model.gaussian import GaussianModel
from suffice.model.student import StudentModel

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
    prior: NormalInverseWishart, evidence: Evidence, _n_means: int
) -> NormalInverseWishart:
    """Return a prior of the user's own."""
    found, needed = len(prior.mean), evidence.moments.n_features
    if found != needed:
        raise InvalidParameterError(f"prior speaks of {found} features, but there are {needed}")
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
        raise InvalidParameterError("prior needs a symmetric scale without negative eigenvalues")


@dataclass(frozen=True, slots=True)
class MostProbable:
    """Parameters at the mode of their posterior."""

    belief: Belief
    plugs_in, at_mode = False, True

    def model(self, evidence: Evidence) -> GaussianModel:
        """Return the Gaussian model of the most probable means and covariances."""
        learned = posteriors_by_group(evidence, self.belief)
        firsts = [learned[evidence.members(g)[0]] for g in range(evidence.n_groups)]
        for posterior in firsts:
            if not posterior.degrees + len(posterior.mean) + 1 + posterior.n_means > 0:
                found = f"prior leaves {posterior.degrees:g} degrees of freedom"
                msg = f"{found}, too few for a most probable covariance: give it more, or add rows"
                raise InvalidParameterError(msg)
        sigmas = np.stack([posterior.map_covariance for posterior in firsts])
        diagonals = np.diagonal(sigmas, axis1=1, axis2=2)
        variances = resolved_variances(diagonals, evidence.moments, evidence.group_of)
        covariances, deficient = factored(sigmas, variances, evidence.moments)
        means = np.stack([posterior.map_mean for posterior in learned])
        return gaussian_model(evidence, means, covariances, deficient)


@dataclass(frozen=True, slots=True)
class Predictive:
    """Parameters integrated out."""

    belief: Belief
    plugs_in, at_mode = False, False

    def model(self, evidence: Evidence) -> StudentModel:
        """Return the Student t model of the next row."""
        learned = posteriors_by_group(evidence, self.belief)
        # a class without rows is known by a proper prior, or not at all
        prior = self.belief(replace(evidence, quiet=True), 1)
        proper = prior.predictive_degrees > 0 and prior.mean_strength > 0
        known = evidence.present | (proper & (evidence.priors > 0))
        scales = []
        for members in map(evidence.members, range(evidence.n_groups)):
            first = learned[members[0]]
            # any matrix where no class of the group is known
            psi = first.scale if known[members].any() else np.eye(len(first.mean))
            factor = scaled_cholesky(psi)
            if factor is None:
                raise InvalidInputError(f"{evidence.named(members)}: {first.improper}")
            scales.append(FullCovariance(factor, inverse_lower(factor)))
        strengths = np.where(known, [p.mean_strength for p in learned], 1.0)
        degrees = np.where(known, [p.predictive_degrees for p in learned], 1.0)
        for k in np.flatnonzero((degrees <= 0) | (strengths <= 0))[:1]:
            raise InvalidInputError(f"{evidence.named(np.array([k]))}: {learned[k].improper}")
        with np.errstate(divide="ignore"):
            log_priors = np.log(np.where(known, evidence.priors, 0.0))
        return StudentModel(
            log_priors,
            evidence.moments.grand_mean,
            np.stack([posterior.mean for posterior in learned]),
            tuple(scales),
            evidence.group_of,
            degrees,
            np.where(known, [p.predictive_share for p in learned], 0.5),
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
        for k, posterior in zip(members, prior.posteriors(weights, means, scatter), strict=True):
            learned[k] = posterior
    return [posterior for posterior in learned if posterior is not None]
