"""Along which axes the ellipsoids lie: none, the features, each class's own, or any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.edda.problem import Parts, ranks, roots

if TYPE_CHECKING:
    from suffice.estimation.edda.problem import Pattern, Task, Volume
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class CommonForm:
    """Σ_k = λ_k C."""

    def fit(self, task: Task, volume: Volume, w: Floats) -> Parts:
        """Return the best C and volumes."""
        return volume.pool(task, w)


@dataclass(frozen=True, slots=True)
class OwnForm:
    """Σ_k = λ_k C_k."""

    def fit(self, task: Task, volume: Volume, w: Floats) -> Parts:
        """Return C_k ∝ W_k, and the best volumes."""
        require_full_rank(task, w)
        # C_k = W_k / |W_k|^{1/m}
        sizes = np.exp(np.linalg.slogdet(w)[1] / w.shape[-1])
        return Parts(volume.settle(task.weights, sizes), w / sizes[:, None, None])


def require_full_rank(task: Task, w: Floats) -> None:
    """Refuse the first class without spread in some direction."""
    found, m = ranks(w), w.shape[-1]
    for k in np.flatnonzero(found < m)[:1]:
        task.refuse(np.array([k]), f"scatter of rank {found[k]} < {m}")


@dataclass(frozen=True, slots=True)
class Sphere:
    """C = I: all that matters of a scatter is its trace."""

    def fit(self, task: Task, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
        """Return the best parts with C = I."""
        d = w.shape[-1]
        traces = np.trace(w, axis1=1, axis2=2) / d
        parts = pattern.fit(task, volume, traces[:, None, None])
        return replace(parts, forms=np.broadcast_to(np.eye(d), w.shape))


@dataclass(frozen=True, slots=True)
class FeatureAxes:
    """C diagonal: all that matters of a scatter is its diagonal."""

    def fit(self, task: Task, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
        """Return the best parts with diagonal C."""
        return pattern.fit(task, volume, w * np.eye(w.shape[-1]))


@dataclass(frozen=True, slots=True)
class AnyAxes:
    """C any matrix: shape and orientation go together."""

    def fit(self, task: Task, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
        """Return the best parts."""
        return pattern.fit(task, volume, w)


@dataclass(frozen=True, slots=True)
class OwnAxes:
    """C_k = D_k A D_kᵀ: all that matters of a scatter is its spectrum, largest first.

    Whatever A is, the best D_k are the eigenvectors of W_k in the order of A.
    """

    def fit(self, task: Task, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
        """Return the best parts with axes D_k."""
        f, found = roots(w)
        # W_k = F_kᵀ F_k = D_k diag(s²) D_kᵀ
        _, s, axes = np.linalg.svd(f)
        s = np.where(np.arange(w.shape[-1]) < found[:, None], s, 0.0)
        parts = pattern.fit(task, volume, diagonal(np.square(s)))
        return replace(parts, forms=turned(parts.forms, axes))


def diagonal(values: Floats) -> Floats:
    """Return diagonal matrices (K, d, d) of given diagonals (K, d)."""
    return values[:, :, None] * np.eye(values.shape[1])


def turned(forms: Floats, axes: Floats) -> Floats:
    """Return Dᵀ C D for each C of a stack, D having axes as its rows."""
    return np.swapaxes(axes, -1, -2) @ forms @ axes
