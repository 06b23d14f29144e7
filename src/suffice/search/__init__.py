"""Choosing among Gaussian models by exact cross-validation, and averaging the best of them."""

from __future__ import annotations

from suffice.search.candidates import Choice
from suffice.search.members import Member
from suffice.search.plan import chosen

__all__ = ["Choice", "Member", "chosen"]
