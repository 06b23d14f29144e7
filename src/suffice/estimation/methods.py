"""The words for ``estimate``, and what each stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError
from suffice.estimation.learning import Learning, LearntStructure, PlugIn

if TYPE_CHECKING:
    from suffice.estimation.structures import Structure

ESTIMATES = ("plug-in", "map", "predictive", "debiased")


@dataclass(frozen=True, slots=True)
class Method:
    """How parameters are learnt."""

    learning: Learning
    structure: Structure | None = None  # None: the one that ``covariance`` names
    at_mode: bool = False  # whether class priors too are the most probable ones


def parse_estimate(estimate: Any, prior: Any) -> Method:
    """Return the method that ``estimate`` names, with its prior."""
    if not isinstance(estimate, str) or estimate not in ESTIMATES:
        msg = f"estimate must be one of {', '.join(map(repr, ESTIMATES))}, got {estimate!r}"
        raise InvalidParameterError(msg)
    if prior is not None and estimate not in ("map", "predictive"):
        msg = f"prior is for estimate='map' or 'predictive', not for {estimate!r}: leave it out"
        raise InvalidParameterError(msg)
    if estimate == "plug-in":
        return Method(PlugIn())
    from suffice.estimation.bayes import MostProbable, Predictive
    from suffice.estimation.debiasing import Debiased
    from suffice.estimation.niw.beliefs import parse_belief

    belief, learnt = parse_belief(prior), LearntStructure()
    methods = {
        "map": Method(MostProbable(belief), learnt, at_mode=True),
        "predictive": Method(Predictive(belief), learnt),
        "debiased": Method(Debiased(), learnt),
    }
    return methods[estimate]
