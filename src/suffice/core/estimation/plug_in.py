"""Plug-in Gaussian models, which use the estimates in place of the parameters.

The maximum-likelihood estimates, from the weight w_k, mean and scatter M_k of each class, are:

    π_k = w_k / w          (``priors.py``)
    μ_k = Σ_{i: y_i = k} w_i x_i / w_k          (the means that ``Moments`` holds)
    Σ_k = M_k / w_k,  tied  Σ = Σ_k M_k / w          (``divisors.py``)

``covariance_structures.py`` has the structures of covariances, and ``regularisation.py`` pooling
and shrinkage.
"""

from dataclasses import dataclass

import numpy as np

from suffice.core.estimation.covariance_structures import Estimates, FullStructure, Structure
from suffice.core.estimation.degenerate import RankDeficiency, warn_of_deficient
from suffice.core.estimation.divisors import divisors
from suffice.core.estimation.priors import priors_among
from suffice.core.estimation.regularisation import Regularisation
from suffice.core.model.covariance import Covariance, FullCovariance
from suffice.core.model.gaussian import GaussianModel, SampleSizes
from suffice.core.moments import Moments
from suffice.core.moments.whole_weights import has_whole_weights
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.errors import TooFewClassesError
from suffice.typing import Codes, Flags, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class EstimationInput:
    """Moments of at least two classes, and the settings of their estimation."""

    moments: Moments
    structure: Structure
    regularisation: Regularisation
    group_of: Codes  # group of each class  (K,)
    priors: Floats  # π  (K,), before classes without rows get prior 0
    quiet: bool  # whether to suppress warnings about singular covariances
    encoding: Encoding | None = None  # None if no feature is an indicator of a level
    # whether all summed rows are complete and have numeric columns only
    sums_of_complete_rows: bool = False

    @property
    def present(self) -> Flags:
        """Whether each class has rows, (K,)."""
        return self.moments.weights > 0

    @property
    def n_groups(self) -> int:
        return int(self.group_of.max(initial=0)) + 1

    def members(self, g: int) -> Codes:
        return np.flatnonzero(self.group_of == g)

    def describe(self, classes: Codes) -> str:
        """Return "class" or "classes" with the quoted labels, for error messages."""
        return f"{noun_for(len(classes), 'class')} {quoted(self.moments.classes[classes])}"


def require_two_classes(classes: Labels, weights: Floats) -> None:
    """Raise unless at least two classes have rows."""
    present = classes[weights > 0].tolist()
    if len(present) < 2:
        raise TooFewClassesError(
            "a classifier needs at least 2 classes with rows, found "
            f"{counted(len(present), 'class')} {present}: check the labels"
        )


def plug_in(inputs: EstimationInput) -> tuple[GaussianModel, list[RankDeficiency]]:
    """Return the Gaussian model of plug-in estimates, and the groups with singular estimates."""
    moments = inputs.moments
    covariances, deficient = inputs.structure.covariances(
        moments, inputs.group_of, inputs.regularisation
    )
    sizes = _sample_sizes(inputs, deficient)
    model = gaussian_model(inputs, moments.centred_means, (covariances, deficient), sizes)
    return model, deficient


def gaussian_model(
    inputs: EstimationInput,
    offsets: Floats,
    estimates: Estimates,
    sample_sizes: SampleSizes | None = None,
) -> GaussianModel:
    """Return the model; warn if the estimated covariance of a group with rows is singular."""
    covariances, deficient = estimates
    if not inputs.quiet:
        _warn_of_singular(inputs, deficient)
    return GaussianModel.of(
        priors=priors_among(inputs.present, inputs.priors),
        centre=inputs.moments.grand_mean,
        offsets=offsets,
        covariances=covariances,
        group_of=inputs.group_of,
        n_covariance_parameters=_n_covariance_parameters(inputs, covariances),
        sample_sizes=sample_sizes,
    )


def _sample_sizes(
    inputs: EstimationInput, deficient: list[RankDeficiency]
) -> SampleSizes | None:
    """Return the sample sizes of the estimates, or None if some covariance is not M / divisor."""
    regularisation = inputs.regularisation
    is_plain = regularisation.pooling == 0 and regularisation.shrinkage.fixed == 0
    if not inputs.sums_of_complete_rows or not is_plain:
        return None
    if inputs.structure != FullStructure():
        return None
    group_of = inputs.group_of
    has_deficient = any(_has_rows(inputs, singular) for singular in deficient)
    if has_deficient or not has_whole_weights(inputs.moments):
        return None
    weights = inputs.moments.weights
    group_weights: Floats = np.bincount(group_of, weights).astype(np.float64)
    n_means: Floats = np.bincount(group_of, inputs.present).astype(np.float64)
    group_divisors = divisors(group_weights, n_means, unbiased=regularisation.unbiased)
    return SampleSizes(
        rows=weights,
        degrees=(group_weights - n_means)[group_of],  # ν = w − K of each group
        divisors=group_divisors[group_of],
    )


def _has_rows(inputs: EstimationInput, deficiency: RankDeficiency) -> bool:
    return bool(inputs.present[inputs.group_of == deficiency.group].any())


def _warn_of_singular(inputs: EstimationInput, deficient: list[RankDeficiency]) -> None:
    encoding = inputs.encoding

    def is_expected(deficiency: RankDeficiency) -> bool:
        if encoding is None:
            return False
        return deficiency.is_expected(inputs.moments, inputs.group_of, encoding)

    unexpected = [d for d in deficient if _has_rows(inputs, d) and not is_expected(d)]
    if unexpected:
        warn_of_deficient(unexpected, inputs.moments, inputs.group_of)


def _n_covariance_parameters(inputs: EstimationInput, covariances: list[Covariance]) -> int:
    """Return the number of free parameters.

    A covariance that was shrunk with γ = 1 has only the parameters of its target.
    """
    d = inputs.moments.n_features
    regularisation = inputs.regularisation
    groups = np.unique(inputs.group_of[inputs.present])
    estimated = [covariances[g] for g in groups]
    nominal = inputs.structure.n_parameters(len(estimated), d)
    if regularisation.shrinkage.fixed == 0 or inputs.structure.is_diagonal:
        return nominal
    n_shrunk = 0
    for covariance in estimated:
        # the factor is diagonal if γ = 1
        if isinstance(covariance, FullCovariance) and not np.tril(covariance.factor, -1).any():
            n_shrunk += 1
    target = regularisation.target
    # a sphere in units of the d pooled standard deviations has d estimated parameters
    n_of_target = d if target.keeps_variances or target.pooled_units else 1
    return nominal - n_shrunk * (d * (d + 1) // 2 - n_of_target)
