"""Which settings go together; each refusal says what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.codes import CODES
from suffice.estimation.intensity import CLOSED_FORMS, FixedIntensity

if TYPE_CHECKING:
    from suffice.estimation.structures import Dials


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
