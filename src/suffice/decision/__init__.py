"""From posteriors to decisions: costs, reject, and a shift of priors."""

from suffice.decision.costs import CostMatrix, parse_costs
from suffice.decision.shift import PriorShift, shifted_priors

__all__ = ["CostMatrix", "PriorShift", "parse_costs", "shifted_priors"]
