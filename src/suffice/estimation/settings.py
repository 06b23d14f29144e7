"""Which settings go together; each refusal says what to change."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.auto import CODES
from suffice.estimation.plug_in import Learning, LearntStructure, PlugIn
from suffice.estimation.shrinkage import CLOSED_FORMS, FixedIntensity
from suffice.estimation.structures import (
    DiagonalStructure,
    FullStructure,
    SphericalStructure,
    Structure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.estimation.degenerate import Gap
    from suffice.estimation.structures import Dials, Structure
    from suffice.model.covariance import Covariance
    from suffice.moments import Moments
    from suffice.typing import Codes


@dataclass(frozen=True, slots=True)
class Word:
    """What a word for ``covariance`` stands for."""

    structure: Structure
    tied: bool | None = None  # None: the user says who shares a covariance
    code: str | None = None  # the EDDA code, where it is one


_FULL, _DIAGONAL, _SPHERICAL = FullStructure(), DiagonalStructure(), SphericalStructure()
# six families are plain structures, tied or not
_PLAIN: dict[str, Structure] = {"EEE": _FULL, "VVV": _FULL, "EEI": _DIAGONAL, "VVI": _DIAGONAL,
    "EII": _SPHERICAL, "VII": _SPHERICAL}  # fmt: skip


def _word(code: str) -> Word:
    if code in _PLAIN:
        return Word(_PLAIN[code], code[0] == "E", code)
    from suffice.estimation.edda_structures import DiagonalEddaStructure, EddaStructure

    diagonal = code.endswith("I")
    structure = DiagonalEddaStructure(code) if diagonal else EddaStructure(code)
    return Word(structure, tied=False, code=code)


@dataclass(frozen=True, slots=True)
class AnyFamily:
    """A family that the moments are to choose."""

    def covariances(
        self,
        moments: Moments,  # noqa: ARG002
        group_of: Codes,  # noqa: ARG002
        dials: Dials,  # noqa: ARG002
    ) -> tuple[list[Covariance], list[Gap]]:
        """Refuse: no family is chosen yet."""
        msg = "covariance='auto' must be settled by moments before covariances are estimated"
        raise InvalidParameterError(msg)

    def n_parameters(self, n_groups: int, n_features: int) -> int:  # noqa: ARG002
        """Refuse: no family is chosen yet."""
        msg = "covariance='auto' must be settled by moments before parameters are counted"
        raise InvalidParameterError(msg)

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices for every family."""
        return "per-class"


WORDS: Mapping[str, Word] = MappingProxyType(
    {
        "full": Word(_FULL),
        "diagonal": Word(_DIAGONAL),
        "spherical": Word(_SPHERICAL),
    }
)


def parse_word(covariance: Any) -> Word:
    """Return what ``covariance`` stands for."""
    if not isinstance(covariance, str) or covariance not in (*WORDS, *CODES):
        msg = (
            "covariance must be one of 'full', 'diagonal', 'spherical', 'auto', or an EDDA code "
            f"({', '.join(CODES)}), got {covariance!r}"
        )
        raise InvalidParameterError(msg)
    return WORDS[covariance] if covariance in WORDS else _word(covariance)


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
    from suffice.estimation.bayes import MostProbable, Predictive, parse_belief
    from suffice.estimation.debiased import Debiased

    belief, learnt = parse_belief(prior), LearntStructure()
    methods = {
        "map": Method(MostProbable(belief), learnt, at_mode=True),
        "predictive": Method(Predictive(belief), learnt),
        "debiased": Method(Debiased(), learnt),
    }
    return methods[estimate]


def check_compatible(covariance: Any, tied: Any, estimate: str, dials: Dials) -> None:
    """Refuse settings that contradict each other."""
    if isinstance(covariance, str) and (covariance == "auto" or covariance in CODES):
        _check_family(covariance, tied, estimate, dials)
    elif estimate != "plug-in":
        _check_learning(covariance, estimate, dials)
    elif covariance in ("diagonal", "spherical") and dials.shrinkage in CLOSED_FORMS.values():
        msg = (
            f"shrinkage='oas' and 'ledoit-wolf' shrink correlations, and covariance="
            f"{covariance!r} has none: use covariance='full', or a number"
        )
        raise InvalidParameterError(msg)


def _check_family(covariance: str, tied: Any, estimate: str, dials: Dials) -> None:
    code = f"covariance={covariance!r}"
    if not (isinstance(tied, (bool, np.bool_)) and not tied):
        msg = f"{code} says itself what classes share: leave tied=False, found tied={tied!r}"
        raise InvalidParameterError(msg)
    if estimate != "plug-in":
        msg = f"{code} is estimated by maximum likelihood: leave estimate='plug-in'"
        raise InvalidParameterError(msg)
    if dials.divisor != "mle":
        msg = f"{code} is estimated by maximum likelihood: leave divisor='mle'"
        raise InvalidParameterError(msg)
    if _is_dialled(dials):
        msg = f"{code} takes no pooling or shrinkage: use covariance='full', or leave them out"
        raise InvalidParameterError(msg)


def _check_learning(covariance: Any, estimate: str, dials: Dials) -> None:
    if covariance != "full":
        msg = f"estimate={estimate!r} learns full covariances: leave covariance='full'"
        raise InvalidParameterError(msg)
    if _is_dialled(dials):
        msg = (
            f"estimate={estimate!r} takes no pooling or shrinkage (a prior does their work): "
            "leave them out, or use estimate='plug-in'"
        )
        raise InvalidParameterError(msg)


def _is_dialled(dials: Dials) -> bool:
    return dials.pooling != 0 or dials.shrinkage != FixedIntensity(0.0)
