"""Bayesian learning of class densities and priors, and the debiased plug-in, from sums."""

from suffice.estimation.niw.debiased import (
    debiased,
    debiased_classes,
    tied_debiased_classes,
)
from suffice.estimation.niw.densities import DebiasedGaussian, StudentT
from suffice.estimation.niw.dirichlet import Dirichlet
from suffice.estimation.niw.learning import (
    NormalInverseWishart,
    posteriors,
    predictives,
    tied_posteriors,
)

__all__ = [
    "DebiasedGaussian",
    "Dirichlet",
    "NormalInverseWishart",
    "StudentT",
    "debiased",
    "debiased_classes",
    "posteriors",
    "predictives",
    "tied_debiased_classes",
    "tied_posteriors",
]
