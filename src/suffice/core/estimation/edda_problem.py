"""The problem that fitting an EDDA family solves, its checks, and small functions of matrices.

W_k (m, m) is the scatter of class k, where m is the number of features d, or 1 for a sphere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from suffice.core.linalg import rank_tolerance
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats, Labels

TOLERANCE = 1e-22  # steps end when one gains less log-likelihood than this per unit of weight
# a warning says if another step would gain more log-likelihood than this per unit of weight
UNFINISHED = 1e-9
SLACK = 16 * float(np.finfo(float).eps)  # rounding error of a sum of logarithms
# a standard deviation below this share of the pooled standard deviation is a rounding error
NO_SPREAD = 1e-13
WIDEST = 1e7  # largest ratio of the features' scales for which axes can be computed


@dataclass(frozen=True, slots=True, eq=False)
class EddaProblem:
    """The code of the family to fit, and the labels and weights of the classes."""

    code: str
    classes: Labels  # (K,)
    weights: Floats  # n_k  (K,)

    @property
    def volumes_vary(self) -> bool:
        return self.code.startswith("V")

    def log_volumes(self, q: Floats) -> Floats:
        """Return the best log λ_k, (K,), given q_k = tr(C_k⁻¹ W_k) / m."""
        # λ_k = tr(C_k⁻¹ W_k) / (n_k m),  or λ = Σ_k tr(C_k⁻¹ W_k) / (n m)
        if self.volumes_vary:
            return np.log(q / self.weights)
        return np.full(len(q), np.log(q.sum() / self.weights.sum()))

    def require_each_full_rank(self, w: Floats) -> None:
        """Raise if a class does not vary in some direction."""
        m = w.shape[-1]
        _, ranks = roots(w)
        deficient = np.flatnonzero(ranks < m)
        if len(deficient):
            k = deficient[0]
            self.refuse(
                f"class {quoted(self.classes[[k]])} varies in {ranks[k]} of {m} directions"
            )

    def require_pooled_full_rank(self, w: Floats) -> None:
        """Raise if there is a direction in which no class varies."""
        m = w.shape[-1]
        _, ranks = roots(w.sum(0, keepdims=True))
        if ranks[0] < m:
            self.refuse(f"all classes together vary in {ranks[0]} of {m} directions")

    def require_like_units(self, w: Floats) -> None:
        """Raise if the features' scales differ so much that rounding would lose small features."""
        scales = np.sqrt(np.diagonal(w, axis1=1, axis2=2).sum(0) / self.weights.sum())
        least = scales[scales > 0].min(initial=np.inf)
        most = scales.max()
        if most > WIDEST * least:
            raise InvalidInputError(
                f"family {self.code!r} depends on the units of the features, and their standard "
                f"deviations range from {least:.1g} to {most:.1g}: rescale the features, or "
                "choose a family that does not depend on units, such as 'VVV', 'EEE' or 'VVI'"
            )

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error that the likelihood has no maximum; ``reason`` names the classes."""
        raise InvalidInputError(
            f"the likelihood of family {self.code!r} has no maximum, or more than one, because "
            f"{reason}. Drop columns that are constant or combinations of others, or choose a "
            "family with fewer parameters, such as 'EEE' or 'EEI'"
        )


def roots(w: Floats) -> tuple[Floats, Codes]:
    """Return F (K, d, d) with W_k = F_kᵀ F_k for scatters W (K, d, d), and the ranks (K,)."""
    s: Floats = np.sqrt(np.maximum(np.diagonal(w, axis1=1, axis2=2), 0.0))
    s = np.where(s > NO_SPREAD * np.sqrt(np.square(s).sum(0)), s, 0.0)
    unit = np.where(s > 0, s, np.inf)
    # W = S R S,  R = Q Λ Qᵀ,  F = Λ^½ Qᵀ S
    values, q = np.linalg.eigh(w / (unit[:, :, None] * unit[:, None, :]))
    values = np.where(values > rank_tolerance(w.shape[-1]), values, 0.0)
    f = np.sqrt(values)[:, :, None] * np.swapaxes(q, 1, 2) * s[:, None, :]
    return f, np.count_nonzero(values, axis=1)


def symmetrised(c: Floats) -> Floats:
    """Return (C + Cᵀ) / 2 for each matrix C of a stack."""
    return np.asarray((c + np.swapaxes(c, -1, -2)) / 2)


def diagonal(values: Floats) -> Floats:
    """Return diagonal matrices (K, d, d) with the given diagonals (K, d)."""
    return values[:, :, None] * np.eye(values.shape[1])
