"""The fourteen EDDA families: volume, shape and orientation, equal, varying or the identity."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.edda.family_problem import (
    EddaProblem,
    Frame,
    Parts,
    Pattern,
    Volume,
    diagonal,
    roots,
    turned,
)
from suffice.estimation.edda.shared_axes import shared_axes
from suffice.estimation.edda.volumes import EqualVolume, OwnVolume
from suffice.typing import Floats


def own_form(problem: EddaProblem, volume: Volume, w: Floats) -> Parts:
    """Return the best parts of Σ_k = λ_k C_k: C_k ∝ W_k."""
    problem.require_full_rank(w)
    # C_k = W_k / |W_k|^{1/m}
    sizes = np.exp(np.linalg.slogdet(w)[1] / w.shape[-1])
    return Parts(volume.settle(problem.weights, sizes), w / sizes[:, None, None])


def sphere(problem: EddaProblem, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with C = I: all that matters of a scatter is its trace."""
    d = w.shape[-1]
    traces = np.trace(w, axis1=1, axis2=2) / d
    parts = pattern(problem, volume, traces[:, None, None])
    return replace(parts, forms=np.broadcast_to(np.eye(d), w.shape))


def feature_axes(problem: EddaProblem, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with diagonal C: all that matters of a scatter is its diagonal."""
    return pattern(problem, volume, w * np.eye(w.shape[-1]))


def own_axes(problem: EddaProblem, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with C_k = D_k A D_kᵀ: a scatter matters by its spectrum alone.

    Whatever A is, the best D_k are the eigenvectors of W_k in the order of A, largest first.
    """
    problem.require_like_units(w)
    f, found = roots(w)
    # W_k = F_kᵀ F_k = D_k diag(s²) D_kᵀ
    _, s, axes = np.linalg.svd(f)
    s = np.where(np.arange(w.shape[-1]) < found[:, None], s, 0.0)
    parts = pattern(problem, volume, diagonal(np.square(s)))
    return replace(parts, forms=turned(parts.forms, axes))


@dataclass(frozen=True, slots=True)
class Family:
    """Σ_k = λ_k D_k A_k D_kᵀ, each of λ, A, D equal (E), varying (V) or the identity (I)."""

    code: str
    volume: Volume
    pattern: Pattern
    frame: Frame

    def fit(self, problem: EddaProblem, w: Floats) -> Parts:
        """Return the parts of greatest likelihood."""
        return self.frame(problem, self.volume, self.pattern, w)

    def n_parameters(self, n_classes: int, n_features: int) -> int:
        """Return the number of free covariance parameters."""
        d, copies = n_features, {"E": 1, "V": n_classes, "I": 0}
        sizes = (1, d - 1, d * (d - 1) // 2)  # of λ, A and D
        return sum(copies[letter] * size for letter, size in zip(self.code, sizes, strict=True))


def _common_form(problem: EddaProblem, volume: Volume, w: Floats) -> Parts:
    return volume.pool(problem, w)  # Σ_k = λ_k C


def _any_axes(problem: EddaProblem, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
    return pattern(problem, volume, w)  # shape and orientation go together


_VOLUMES: dict[str, Volume] = {"E": EqualVolume(), "V": OwnVolume()}
_FORMS: dict[str, tuple[Pattern, Frame]] = {
    "II": (_common_form, sphere),
    "EI": (_common_form, feature_axes),
    "VI": (own_form, feature_axes),
    "EE": (_common_form, _any_axes),
    "VE": (own_form, shared_axes),
    "EV": (_common_form, own_axes),
    "VV": (own_form, _any_axes),
}
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        first + rest: Family(first + rest, volume, pattern, frame)
        for rest, (pattern, frame) in _FORMS.items()
        for first, volume in _VOLUMES.items()
    }
)


def family(code: str) -> Family:
    """Return the family of a code such as ``"VEV"``."""
    if code not in FAMILIES:
        msg = f"unknown EDDA family {code!r}: choose one of {', '.join(FAMILIES)}"
        raise InvalidParameterError(msg)
    return FAMILIES[code]
