"""Choosing among Gaussian models by exact cross-validation, and averaging the best of them."""

from suffice.evaluation.search.members import Member
from suffice.evaluation.search.plan import chosen
from suffice.evaluation.search.search import Choice

__all__ = ["Choice", "Member", "chosen"]
