"""The fourteen EDDA families: Σ_k = λ_k D_k A_k D_kᵀ, with volume λ, shape A and orientation D.

The letters of a family's code stand for λ, A and D, in this order: E for equal in all classes, V
for varying, I for the identity. The table ``_SOLVERS`` holds the two functions that fit a family.

Celeux & Govaert (1995), Pattern Recognition 28; Bensmail & Celeux (1996), JASA 91.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.core.estimation.covariance_structures import (
    DiagonalStructure,
    Estimates,
    FullStructure,
)
from suffice.core.estimation.degenerate import RankDeficiency
from suffice.core.estimation.edda_axes import (
    FormSolver,
    any_axes,
    common_axes,
    feature_axes,
    separate_axes,
    sphere,
)
from suffice.core.estimation.edda_forms import common_form, separate_forms
from suffice.core.estimation.edda_problem import EddaProblem, diagonal, symmetrised
from suffice.core.estimation.regularisation import Regularisation
from suffice.core.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.core.moments import Moments
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats, Labels

# a function that turns the scatters into the frame of the allowed axes, and calls a form solver
AxesSolver: TypeAlias = Callable[[EddaProblem, FormSolver, Floats], Floats]

# the form solver and the axes solver for the letters of A and D
_SOLVERS: dict[str, tuple[FormSolver, AxesSolver]] = {
    "II": (common_form, sphere),
    "EI": (common_form, feature_axes),
    "VI": (separate_forms, feature_axes),
    "EE": (common_form, any_axes),
    "VE": (separate_forms, common_axes),
    "EV": (common_form, separate_axes),
    "VV": (separate_forms, any_axes),
}
FAMILIES: Mapping[str, tuple[FormSolver, AxesSolver]] = {
    volume + form: solvers for form, solvers in _SOLVERS.items() for volume in "EV"
}


def edda_covariances(
    code: str,
    weights: Floats,
    scatters: Floats,
    classes: Labels | None = None,
) -> Floats:
    """Return the maximum-likelihood covariances of one of the families, (K, d, d).

    Errors name the classes by their labels or, without labels, by numbers.
    """
    solve_forms, solve_axes = FAMILIES[code]
    labels = np.arange(len(weights)) if classes is None else classes
    problem = EddaProblem(code=code, classes=labels, weights=weights)
    return symmetrised(solve_axes(problem, solve_forms, symmetrised(scatters)))


@dataclass(frozen=True, slots=True)
class EddaStructure:
    """An EDDA family as a covariance structure.

    If the likelihood has no maximum, the variance that classes lack is filled first.
    """

    code: str

    @property
    def is_diagonal(self) -> bool:
        return self.code.endswith("I")

    def covariances(
        self, moments: Moments, group_of: Codes, regularisation: Regularisation
    ) -> Estimates:
        """Return the maximum-likelihood covariances; a class without rows gets the first one."""
        seen = np.flatnonzero(moments.weights > 0)
        classes = moments.classes[seen]
        w = moments.weights[seen]
        deficient: list[RankDeficiency] = []
        scatters = diagonal(moments.diagonals) if self.is_diagonal else moments.scatters
        try:
            sigmas = edda_covariances(self.code, w, scatters[seen], classes)
        except InvalidInputError:
            plain = DiagonalStructure() if self.is_diagonal else FullStructure()
            filled, deficient = plain.covariances(moments, group_of, regularisation)
            dense = np.stack([filled[k].dense() for k in seen])
            sigmas = edda_covariances(self.code, w, dense * w[:, None, None], classes)
        covariances: list[Covariance]
        if self.is_diagonal:
            covariances = [DiagonalCovariance(np.sqrt(np.diagonal(sigma))) for sigma in sigmas]
        else:
            covariances = [FullCovariance.of(sigma) for sigma in sigmas]
        place = np.zeros(moments.n_classes, np.intp)
        place[seen] = np.arange(len(seen))
        return [covariances[i] for i in place], deficient

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        d = n_features
        copies = {"E": 1, "V": n_groups, "I": 0}
        n_volumes = copies[self.code[0]]
        n_shapes = copies[self.code[1]] * (d - 1)
        n_angles = copies[self.code[2]] * (d * (d - 1) // 2)
        return n_volumes + n_shapes + n_angles
