"""Gaussian models with estimates in the place of parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.core.estimation.covariance_estimates import Estimates, Regularisation, Structure
from suffice.core.estimation.degenerate import RankDeficiency, warn_of_deficient
from suffice.core.estimation.priors import priors_among
from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import Covariance, FullCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.moments import Moments
from suffice.core.table.schema import Encoding
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.errors import TooFewClassesError
from suffice.typing import Codes, Flags, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Moments with at least two classes, read as a recipe says."""

    moments: Moments
    structure: Structure
    how: Regularisation
    group_of: Codes  # group of each class  (K,)
    priors: Floats  # π  (K,); not yet zero for classes without rows
    quiet: bool  # whether to keep silent about directions without variance
    encoding: Encoding | None = None  # where some features are indicators of levels

    @property
    def present(self) -> Flags:
        """Which classes have rows, (K,)."""
        return self.moments.weights > 0

    @property
    def n_groups(self) -> int:
        return int(self.group_of.max(initial=0)) + 1

    def members(self, g: int) -> Codes:
        return np.flatnonzero(self.group_of == g)

    def named(self, classes: Codes) -> str:
        """Return how messages call some classes."""
        return f"{noun_for(len(classes), 'class')} {quoted(self.moments.classes[classes])}"


def require_two_classes(classes: Labels, weights: Floats) -> None:
    """Refuse data in which there is nothing to tell apart."""
    found = classes[weights > 0].tolist()
    if len(found) < 2:
        raise TooFewClassesError(
            "a classifier needs at least 2 classes with rows, found "
            f"{counted(len(found), 'class')} {found}: check the labels"
        )


class Learning(NamedTuple):
    """A way to turn evidence into a model."""

    model: Callable[..., ClassModel]
    plugs_in: bool = (
        False  # whether a structure's covariances stand in the place of the true ones
    )
    at_mode: bool = False  # whether class priors too are the most probable ones


def plug_in_model(evidence: Evidence) -> GaussianModel:
    """Return the Gaussian model of means and structured covariances."""
    return plug_in(evidence)[0]


def plug_in(evidence: Evidence) -> tuple[GaussianModel, list[RankDeficiency]]:
    """Return the model of means and structured covariances, and which variance was missing."""
    moments, group_of = evidence.moments, evidence.group_of
    estimates = evidence.structure.covariances(moments, group_of, evidence.how)
    return gaussian_model(evidence, moments.centred_means, estimates), estimates[1]


def gaussian_model(evidence: Evidence, offsets: Floats, estimates: Estimates) -> GaussianModel:
    """Return the model, and say which groups with rows lacked variance."""
    covariances, deficient = estimates
    present, group_of = evidence.present, evidence.group_of
    told = [each for each in deficient if present[group_of == each.group].any()]
    if evidence.encoding is not None:
        told = [
            e for e in told if not e.is_expected(evidence.moments, group_of, evidence.encoding)
        ]
    if told and not evidence.quiet:
        warn_of_deficient(told, evidence.moments, group_of)
    return GaussianModel.of(
        priors=priors_among(present, evidence.priors),
        centre=evidence.moments.grand_mean,
        offsets=offsets,
        covariances=covariances,
        group_of=group_of,
        n_covariance_parameters=_n_free(evidence, covariances),
    )


def _n_free(evidence: Evidence, covariances: list[Covariance]) -> int:
    """Return the number of free parameters; a covariance shrunk to its target has those of it."""
    d, how = evidence.moments.n_features, evidence.how
    seen = [covariances[g] for g in np.unique(evidence.group_of[evidence.present])]
    nominal = evidence.structure.n_parameters(len(seen), d)
    if how.shrinkage.fixed == 0 or evidence.structure.is_diagonal:
        return nominal
    of_target = d if how.target.keeps_variances or how.target.pooled_units else 1
    full = (c.factor for c in seen if isinstance(c, FullCovariance))
    shrunk = sum(not np.tril(factor, -1).any() for factor in full)
    return nominal - shrunk * (d * (d + 1) // 2 - of_target)


PLUG_IN = Learning(plug_in_model, plugs_in=True)
