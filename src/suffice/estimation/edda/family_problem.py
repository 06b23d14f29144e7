"""An EDDA family to be fitted to scatters: class weights, when to stop, and the parts found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from suffice.errors import InvalidInputError
from suffice.linalg import rank_tolerance
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.estimation.edda.volumes import EqualVolume, OwnVolume

NO_SPREAD = 1e-13  # a standard deviation below this part of the pooled one is rounding


def roots(w: Floats) -> tuple[Floats, Codes]:
    """Return F (K, d, d) with W_k = F_kᵀ F_k, and the ranks (K,)."""
    s = _scales(w)
    unit = np.where(s > 0, s, np.inf)
    # W = S R S,  R = Q Λ Qᵀ,  F = Λ^½ Qᵀ S
    values, q = np.linalg.eigh(w / (unit[:, :, None] * unit[:, None, :]))
    values = np.where(values > rank_tolerance(w.shape[-1]), values, 0.0)
    f = np.sqrt(values)[:, :, None] * np.swapaxes(q, 1, 2) * s[:, None, :]
    return f, np.count_nonzero(values, axis=1)


def ranks(w: Floats) -> Codes:
    """Return the rank of each scatter of a stack, shape (K,)."""
    return roots(w)[1]


def _scales(w: Floats) -> Floats:
    s: Floats = np.sqrt(np.maximum(np.diagonal(w, axis1=1, axis2=2), 0.0))
    pooled = np.sqrt(np.square(s).sum(0))
    return np.where(s > NO_SPREAD * pooled, s, 0.0)


WIDEST = 1e7  # scales of features, the greatest by the least, that axes can be found among
CURE = (
    "give these classes more rows, drop constant or duplicated columns, or choose a family "
    "that shares more between classes ('EII' asks least, then 'EEI', then 'EEE')"
)


@dataclass(frozen=True, slots=True, eq=False)
class EddaProblem:
    """One family to be fitted to classes of given weights."""

    code: str
    weights: Floats  # n_k  (K,)
    tol: float  # stop when a step gains less log-likelihood than this per unit of weight
    max_iter: int

    def require_full_rank(self, w: Floats) -> None:
        """Refuse the first class without spread in some direction."""
        found, m = ranks(w), w.shape[-1]
        for k in np.flatnonzero(found < m)[:1]:
            self.refuse(np.array([k]), f"scatter of rank {found[k]} < {m}")

    def require_like_units(self, w: Floats) -> None:
        """Refuse scales so different that a family which depends on units loses the small ones."""
        scales = np.sqrt(np.diagonal(w, axis1=1, axis2=2).sum(0) / self.weights.sum())
        least, most = scales[scales > 0].min(initial=np.inf), scales.max()
        if most > WIDEST * least:
            msg = (
                f"family {self.code!r} depends on the units of the features, and their standard "
                f"deviations range from {least:.1g} to {most:.1g}: rescale them, or choose a "
                "family without units, such as 'VVV', 'EEE' or 'VVI'"
            )
            raise InvalidInputError(msg)

    def refuse(self, classes: Codes, found: str) -> NoReturn:
        """Say which classes leave the likelihood of this family without a maximum."""
        k, w = classes.tolist(), self.weights[classes].tolist()
        who = f"class {k[0]} (weight {w[0]:g})" if len(k) == 1 else f"classes {k} (weights {w})"
        msg = f"family {self.code!r} has no maximum-likelihood covariance: {who}: {found}; {CURE}"
        raise InvalidInputError(msg)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Covariances Σ_k = λ_k C_k taken apart, C_k = D_k A_k D_kᵀ: volume, shape, orientation."""

    log_volumes: Floats  # log λ  (K,)
    forms: Floats  # C, of determinant one  (K, m, m)
    iterations: int = 0
    converged: bool = True


Volume: TypeAlias = "EqualVolume | OwnVolume"  # how the volumes λ_k of the classes are related
# the best parts for scatters (K, m, m) where every symmetric C is allowed
Pattern: TypeAlias = "Callable[[EddaProblem, Volume, Floats], Parts]"
# the same where the axes of C are restricted, given a pattern for what remains
Frame: TypeAlias = "Callable[[EddaProblem, Volume, Pattern, Floats], Parts]"


def symmetric(c: Floats) -> Floats:
    """Return (C + Cᵀ) / 2 of each matrix of a stack."""
    return np.asarray((c + np.swapaxes(c, -1, -2)) / 2)


def diagonal(values: Floats) -> Floats:
    """Return diagonal matrices (K, d, d) of given diagonals (K, d)."""
    return values[:, :, None] * np.eye(values.shape[1])


def turned(forms: Floats, axes: Floats) -> Floats:
    """Return Dᵀ C D for each C of a stack, D having axes as its rows."""
    return np.swapaxes(axes, -1, -2) @ forms @ axes
