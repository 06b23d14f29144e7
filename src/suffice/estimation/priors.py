"""Class priors, validated in one place whatever way they are given."""

from suffice.decision.priors import parse_priors

__all__ = ["parse_priors"]
