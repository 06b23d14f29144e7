"""Whether the classes share one matrix C of determinant one, or have one each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.edda.ranks import ranks
from suffice.estimation.edda.task import Parts

if TYPE_CHECKING:
    from suffice.estimation.edda.task import Task, Volume
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
