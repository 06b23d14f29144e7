"""Gaussian models with estimates in the place of parameters."""

from dataclasses import dataclass

import numpy as np

from suffice.core.estimation.covariance_estimates import Estimates, FullStructure, Structure
from suffice.core.estimation.degenerate import RankDeficiency, warn_of_deficient
from suffice.core.estimation.divisors import divisors
from suffice.core.estimation.priors import priors_among
from suffice.core.estimation.shrinkage import Regularisation
from suffice.core.model.covariance import Covariance, FullCovariance
from suffice.core.model.gaussian import GaussianModel, SampleSizes
from suffice.core.moments import Moments
from suffice.core.moments.whole_weights import has_whole_weights
from suffice.core.table.schema import Encoding
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.errors import TooFewClassesError
from suffice.typing import Codes, Flags, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Moments of at least two classes, and how the settings read them."""

    moments: Moments
    structure: Structure
    how: Regularisation
    group_of: Codes  # group of each class  (K,)
    priors: Floats  # π  (K,); not yet zero for classes without rows
    quiet: bool  # whether to keep silent about directions without variance
    encoding: Encoding | None = None  # where some features are indicators of levels
    counts_rows: bool = False  # whether the sums are of complete rows, each counted once

    @property
    def present(self) -> Flags:
        """Which classes have rows, (K,)."""
        return self.moments.weights > 0

    @property
    def n_groups(self) -> int:
        return int(self.group_of.max(initial=0)) + 1

    def members(self, g: int) -> Codes:
        return np.flatnonzero(self.group_of == g)

    def describe(self, classes: Codes) -> str:
        """Return how messages call some classes."""
        return f"{noun_for(len(classes), 'class')} {quoted(self.moments.classes[classes])}"


def require_two_classes(classes: Labels, weights: Floats) -> None:
    """Refuse data of fewer than two classes."""
    present = classes[weights > 0].tolist()
    if len(present) < 2:
        raise TooFewClassesError(
            "a classifier needs at least 2 classes with rows, found "
            f"{counted(len(present), 'class')} {present}: check the labels"
        )


def plug_in(evidence: Evidence) -> tuple[GaussianModel, list[RankDeficiency]]:
    """Return the model of means and structured covariances, and which variance was missing."""
    moments = evidence.moments
    covariances, deficient = evidence.structure.covariances(
        moments, evidence.group_of, evidence.how
    )
    sizes = _sample_sizes(evidence, deficient)
    model = gaussian_model(evidence, moments.centred_means, (covariances, deficient), sizes)
    return model, deficient


def gaussian_model(
    evidence: Evidence,
    offsets: Floats,
    estimates: Estimates,
    sample_sizes: SampleSizes | None = None,
) -> GaussianModel:
    """Return the model, and warn of groups with rows that lacked variance."""
    covariances, deficient = estimates
    if not evidence.quiet:
        _warn_of_missing_variance(evidence, deficient)
    return GaussianModel.of(
        priors=priors_among(evidence.present, evidence.priors),
        centre=evidence.moments.grand_mean,
        offsets=offsets,
        covariances=covariances,
        group_of=evidence.group_of,
        n_covariance_parameters=_n_covariance_parameters(evidence, covariances),
        sample_sizes=sample_sizes,
    )


def _sample_sizes(evidence: Evidence, deficient: list[RankDeficiency]) -> SampleSizes | None:
    """Return the rows behind scatters that are only divided; None where they are regularised."""
    how = evidence.how
    is_plain = how.pooling == 0 and how.shrinkage.fixed == 0
    if not evidence.counts_rows or not is_plain or evidence.structure != FullStructure():
        return None
    group_of = evidence.group_of
    present = evidence.present
    n_deficient = sum(present[group_of == each.group].any() for each in deficient)
    if n_deficient or not has_whole_weights(evidence.moments):
        return None
    weights = evidence.moments.weights
    group_weights: Floats = np.bincount(group_of, weights).astype(np.float64)
    n_means: Floats = np.bincount(group_of, present).astype(np.float64)
    return SampleSizes(
        rows=weights,
        degrees=(group_weights - n_means)[group_of],  # ν = w − K of each group
        divisors=divisors(group_weights, n_means, unbiased=how.unbiased)[group_of],
    )


def _warn_of_missing_variance(evidence: Evidence, deficient: list[RankDeficiency]) -> None:
    moments = evidence.moments
    group_of = evidence.group_of
    surprising = []
    for each in deficient:
        if not evidence.present[group_of == each.group].any():
            continue
        encoding = evidence.encoding
        if encoding is not None and each.is_expected(moments, group_of, encoding):
            continue
        surprising.append(each)
    if surprising:
        warn_of_deficient(surprising, moments, group_of)


def _n_covariance_parameters(evidence: Evidence, covariances: list[Covariance]) -> int:
    """Return the number of free parameters; a covariance shrunk to its target has those of it."""
    d = evidence.moments.n_features
    how = evidence.how
    groups = np.unique(evidence.group_of[evidence.present])
    estimated = [covariances[g] for g in groups]
    nominal = evidence.structure.n_parameters(len(estimated), d)
    if how.shrinkage.fixed == 0 or evidence.structure.is_diagonal:
        return nominal
    n_shrunk = 0
    for covariance in estimated:
        if isinstance(covariance, FullCovariance) and not np.tril(covariance.factor, -1).any():
            n_shrunk += 1
    n_of_target = d if how.target.keeps_variances or how.target.pooled_units else 1
    return nominal - n_shrunk * (d * (d + 1) // 2 - n_of_target)
