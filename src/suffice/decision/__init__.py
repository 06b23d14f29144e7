"""From posteriors to decisions: priors, costs, reject, and a shift of priors."""

from suffice.decision.costs import CostMatrix, parse_costs
from suffice.decision.priors import parse_priors
from suffice.decision.shift import PriorShift, shifted_priors

__all__ = ["CostMatrix", "PriorShift", "parse_costs", "parse_priors", "shifted_priors"]
