"""Decisions from posteriors: the fitted classifier, costs, rejection and prior shift."""

from suffice.core.decision.bayes_decision import Costs, Decision, decision_by
from suffice.core.decision.classifier import Classifier, classifier_of
from suffice.core.decision.prior_shift import PriorShift, shifted_priors

__all__ = [
    "Classifier",
    "Costs",
    "Decision",
    "PriorShift",
    "classifier_of",
    "decision_by",
    "shifted_priors",
]
