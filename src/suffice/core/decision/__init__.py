"""From posteriors to decisions: the fitted classifier, costs, reject, and a shift of priors."""

from suffice.core.decision.classifier import Classifier, classifier_of
from suffice.core.decision.costs import Decision, parse_costs
from suffice.core.decision.prior_shift import PriorShift, shifted_priors

__all__ = [
    "Classifier",
    "Decision",
    "PriorShift",
    "classifier_of",
    "parse_costs",
    "shifted_priors",
]
