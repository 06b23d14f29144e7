"""The fourteen EDDA families: volume, shape and orientation, equal, varying or the identity.

Their covariances are those of maximum likelihood; classes that leave none are filled first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from suffice.errors import InvalidInputError
from suffice.estimation.degenerate import RankDeficiency
from suffice.estimation.edda.shared_axes import shared_axes
from suffice.estimation.edda.volumes import (
    EddaProblem,
    Frame,
    Parts,
    Pattern,
    common_form,
    diagonal,
    roots,
    symmetric,
    turned,
)
from suffice.estimation.regularisation import Regularisation
from suffice.estimation.structures import DiagonalStructure, Estimates, FullStructure
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.moments import Moments
from suffice.typing import Codes, Floats


def own_form(problem: EddaProblem, w: Floats) -> Parts:
    """Return the best parts of Σ_k = λ_k C_k: C_k ∝ W_k."""
    problem.require_full_rank(w)
    # C_k = W_k / |W_k|^{1/m}
    sizes = np.exp(np.linalg.slogdet(w)[1] / w.shape[-1])
    return Parts(problem.settle(sizes), w / sizes[:, None, None])


def sphere(problem: EddaProblem, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with C = I: all that matters of a scatter is its trace."""
    d = w.shape[-1]
    traces = np.trace(w, axis1=1, axis2=2) / d
    parts = pattern(problem, traces[:, None, None])
    return replace(parts, forms=np.broadcast_to(np.eye(d), w.shape))


def feature_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with diagonal C: all that matters of a scatter is its diagonal."""
    return pattern(problem, w * np.eye(w.shape[-1]))


def own_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with C_k = D_k A D_kᵀ: a scatter matters by its spectrum alone.

    Whatever A is, the best D_k are the eigenvectors of W_k in the order of A, largest first.
    """
    problem.require_like_units(w)
    f, found = roots(w)
    # W_k = F_kᵀ F_k = D_k diag(s²) D_kᵀ
    _, s, axes = np.linalg.svd(f)
    s = np.where(np.arange(w.shape[-1]) < found[:, None], s, 0.0)
    parts = pattern(problem, diagonal(np.square(s)))
    return replace(parts, forms=turned(parts.forms, axes))


def _any_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Parts:
    return pattern(problem, w)  # shape and orientation go together


_FORMS: dict[str, tuple[Pattern, Frame]] = {
    "II": (common_form, sphere),
    "EI": (common_form, feature_axes),
    "VI": (own_form, feature_axes),
    "EE": (common_form, _any_axes),
    "VE": (own_form, shared_axes),
    "EV": (common_form, own_axes),
    "VV": (own_form, _any_axes),
}
# Σ_k = λ_k D_k A_k D_kᵀ, each of λ, A, D equal (E), varying (V) or the identity (I)
FAMILIES: Mapping[str, tuple[Pattern, Frame]] = {
    volume + form: found for form, found in _FORMS.items() for volume in "EV"
}


def edda_covariances(code: str, weights: Floats, scatters: Floats) -> Floats:
    """Return the maximum-likelihood covariances of one of the 14 EDDA families, (K, d, d).

    Σ_k = λ_k D_k A_k D_kᵀ (volume, shape, orientation), each part equal for all classes (E),
    varying (V) or the identity (I): EII VII EEI VEI EVI VVI EEE VEE EVE VVE EEV VEV EVV VVV.
    EII, VII, EVE, VVE, EEV and VEV depend on the units of the features.
    Celeux & Govaert (1995), Pattern Recognition 28; Bensmail & Celeux (1996), JASA 91.
    """
    pattern, frame = FAMILIES[code]
    parts = frame(EddaProblem(code, weights), pattern, symmetric(scatters))
    # Σ_k = λ_k C_k
    return symmetric(np.exp(parts.log_volumes)[:, None, None] * parts.forms)


@dataclass(frozen=True, slots=True)
class EddaStructure:
    """A family as a covariance structure: classes that leave it no maximum are filled first."""

    code: str

    @property
    def is_diagonal(self) -> bool:
        """Whether features are independent given the class."""
        return self.code.endswith("I")

    def covariances(self, moments: Moments, group_of: Codes, how: Regularisation) -> Estimates:
        """Return the covariances of greatest likelihood; classes without rows take the first."""
        seen = np.flatnonzero(moments.weights > 0)
        w = moments.weights[seen]
        deficient: list[RankDeficiency] = []
        scatters = diagonal(moments.diagonals) if self.is_diagonal else moments.scatters
        try:
            sigmas = edda_covariances(self.code, w, scatters[seen])
        except InvalidInputError:
            plain = DiagonalStructure() if self.is_diagonal else FullStructure()
            filled, deficient = plain.covariances(moments, group_of, how)
            dense = np.stack([filled[k].dense() for k in seen])
            sigmas = edda_covariances(self.code, w, dense * w[:, None, None])
        found: list[Covariance] = (
            [DiagonalCovariance(np.sqrt(np.diagonal(sigma))) for sigma in sigmas]
            if self.is_diagonal
            else [FullCovariance.of(sigma) for sigma in sigmas]
        )
        place = np.zeros(moments.n_classes, np.intp)
        place[seen] = np.arange(len(seen))
        return [found[i] for i in place], deficient

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free parameters of the family."""
        d, copies = n_features, {"E": 1, "V": n_groups, "I": 0}
        sizes = (1, d - 1, d * (d - 1) // 2)  # of λ, A and D
        return sum(copies[letter] * size for letter, size in zip(self.code, sizes, strict=True))
