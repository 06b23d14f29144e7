"""The words for covariances: three structures, fourteen EDDA codes, or "auto"."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from suffice.errors import InvalidParameterError
from suffice.estimation.codes import CODES
from suffice.estimation.structures import (
    DiagonalStructure,
    FullStructure,
    SphericalStructure,
    Structure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.estimation.gaps import Gap
    from suffice.estimation.structures import Dials
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
