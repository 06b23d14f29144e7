"""What is believed of means and covariances before any row is seen, in users' words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.degenerate import resolved, total_variances
from suffice.estimation.niw.learning import NormalInverseWishart
from suffice.linalg import rank_tolerance

if TYPE_CHECKING:
    from suffice.moments import Moments


class Belief(Protocol):
    """A prior, once the moments are known."""

    @property
    def is_proper(self) -> bool:
        """Whether it has a density before any row is seen."""
        ...

    def about(self, moments: Moments, *, n_means: int, quiet: bool) -> NormalInverseWishart:
        """Return the prior of ``n_means`` classes that share Σ, about the grand mean."""
        ...


@dataclass(frozen=True, slots=True)
class DefaultBelief:
    """Weak, proper, and in the units of the features."""

    is_proper = True

    def about(self, moments: Moments, *, n_means: int, quiet: bool) -> NormalInverseWishart:  # noqa: ARG002
        """Return the prior of ``n_means`` classes that share Σ, about the grand mean."""
        totals = total_variances(moments)
        within = moments.scatter.pooled_diagonal() / moments.total_weight
        within = resolved(within, moments.grand_mean, totals)
        # a column that is constant but for rounding tells no class apart
        means = np.where(totals > 0, moments.centred_means, 0.0)
        pooled = np.diag(within * moments.total_weight)
        return NormalInverseWishart.default(moments.weights, means, pooled, quiet=quiet)


@dataclass(frozen=True, slots=True)
class FlatBelief:
    """The reference prior: improper."""

    is_proper = False

    def about(self, moments: Moments, *, n_means: int, quiet: bool) -> NormalInverseWishart:  # noqa: ARG002
        """Return the prior of ``n_means`` classes that share Σ, about the grand mean."""
        return NormalInverseWishart.flat(moments.n_features, n_means)


@dataclass(frozen=True, slots=True)
class GivenBelief:
    """A prior of the user's own."""

    prior: NormalInverseWishart

    @property
    def is_proper(self) -> bool:
        """Whether it has a density before any row is seen."""
        return self.prior.predictive_degrees > 0 and self.prior.mean_strength > 0

    def about(self, moments: Moments, *, n_means: int, quiet: bool) -> NormalInverseWishart:  # noqa: ARG002
        """Return the prior of ``n_means`` classes that share Σ, about the grand mean."""
        if len(self.prior.mean) != moments.n_features:
            found = len(self.prior.mean)
            msg = f"prior speaks of {found} features, but there are {moments.n_features}"
            raise InvalidParameterError(msg)
        return replace(self.prior, mean=self.prior.mean - moments.grand_mean)


def parse_belief(prior: Any) -> Belief:
    """Return the belief that ``prior`` names: None, "flat", or a NormalInverseWishart."""
    if prior is None:
        return DefaultBelief()
    if isinstance(prior, str) and prior == "flat":
        return FlatBelief()
    if isinstance(prior, NormalInverseWishart):
        _check(prior)
        return GivenBelief(prior)
    msg = f"prior must be None, 'flat' or a NormalInverseWishart, got {prior!r}"
    raise InvalidParameterError(msg)


def _check(prior: NormalInverseWishart) -> None:
    """Refuse a scale that is no covariance, or numbers that are none."""
    numbers = (prior.mean, prior.scale, prior.mean_strength, prior.degrees)
    if not all(np.isfinite(each).all() for each in numbers):
        msg = "prior holds numbers that are not finite"
        raise InvalidParameterError(msg)
    deviations = np.sqrt(np.maximum(np.diagonal(prior.scale), 0.0))
    unit = np.where(deviations > 0, deviations, 1.0)
    corr = np.asarray(prior.scale) / np.outer(unit, unit)
    least = np.linalg.eigvalsh((corr + corr.T) / 2).min(initial=0.0)
    slack = rank_tolerance(len(unit))
    if np.abs(corr - corr.T).max(initial=0.0) > slack or least < -slack:
        msg = "the scale of prior must be symmetric, without negative eigenvalues"
        raise InvalidParameterError(msg)
