"""One set of axes for all classes, each class with its own variances along them (EVE, VVE)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.edda.frames import diagonal, require_full_rank, turned
from suffice.estimation.edda.problem import roots
from suffice.estimation.edda.rotation import Descent, Point, descend

if TYPE_CHECKING:
    from suffice.estimation.edda.problem import Parts, Pattern, Task, Volume
    from suffice.typing import Floats

SCOUTS = 12  # starting axes
SCOUT_STEPS = 40  # steps each may take
FINALISTS = 3  # the best, which go on until they converge


@dataclass(frozen=True, slots=True)
class SharedAxes:
    """C_k = D A_k Dᵀ: common principal components.

    The likelihood may have several maxima in D. Several starts go a short way, the best of them
    go on until they converge, and the best of these is the answer.
    """

    def fit(self, task: Task, volume: Volume, pattern: Pattern, w: Floats) -> Parts:
        """Return the best parts with axes D."""
        require_full_rank(task, w)
        f, _ = roots(w)
        criterion = AxesCriterion(task.weights, f, volume)
        scouts = [
            descend(criterion.at(axes), criterion.at, task.tol, min(SCOUT_STEPS, task.max_iter))
            for axes in starting_axes(task.weights, f)
        ]
        best = min(_finish(criterion, task, scouts), key=lambda found: found.point.value)
        axes = best.point.axes
        parts = pattern.fit(task, volume, diagonal(np.square(f @ axes).sum(1)))
        return replace(
            parts,
            forms=turned(parts.forms, axes.T),
            iterations=best.iterations,
            converged=best.converged,
        )


def _finish(criterion: AxesCriterion, task: Task, scouts: list[Descent]) -> list[Descent]:
    """Return the finalists, converged."""
    finalists = sorted(scouts, key=lambda found: found.point.value)[:FINALISTS]
    return [
        found
        if found.converged
        else descend(
            found.point,
            criterion.at,
            task.tol,
            task.max_iter - found.iterations,
            found.iterations,
        )
        for found in finalists
    ]


@dataclass(frozen=True, slots=True, eq=False)
class AxesCriterion:
    """−2 log-likelihood per unit of weight as a function of the axes, variances fitted.

    References
    ----------
    Flury & Gautschi (1986), SIAM J. Sci. Stat. Comput. 7; Browne & McNicholas (2014), Adv. Data
    Anal. Classif. 8; the preconditioner is that of Ablin, Cardoso & Gramfort (2018).
    """

    weights: Floats  # n_k  (K,)
    roots: Floats  # F  (K, d, d), W_k = F_kᵀ F_k
    volume: Volume

    def at(self, axes: Floats) -> Point:
        """Return value, gradient and curvature for D → D exp(Ω), Ω skew, at Ω = 0."""
        n, total = self.weights, self.weights.sum()
        # M_k = Dᵀ W_k D,  its diagonal w_kj
        y = self.roots @ axes
        m = np.swapaxes(y, 1, 2) @ y
        w = np.square(y).sum(1)
        # Σ_k n_k log|Σ_k| = d Σ_k n_k log λ_k,  q_k = (Π_j w_kj)^{1/d}
        q = np.exp(np.log(w).mean(1))
        u = self.volume.settle(n, q)
        value = float(w.shape[1] * (n @ u) / total)
        # 1/σ²_kj = q_k / (λ_k w_kj)
        p = (q * np.exp(-u) / total)[:, None] / w
        # ∂/∂Ω = 2 Σ_k (M_k P_k − P_k M_k)
        mp = np.einsum("kij,kj->ij", m, p)
        # ∂²/∂Ω_ij² = 2 Σ_k (w_ki − w_kj)(p_kj − p_ki) where M_k is diagonal
        wp = w.T @ p
        own = np.diag(wp)
        return Point(axes, value, 2 * (mp - mp.T), 2 * (wp + wp.T - own - own[:, None]))


def starting_axes(n: Floats, f: Floats) -> list[Floats]:
    """Return eigenvectors of pooled, log-averaged and heaviest scatters, and random axes."""
    d = f.shape[-1]
    _, s, axes = np.linalg.svd(f)
    pooled = np.linalg.svd(f.reshape(-1, d), full_matrices=False)[2].T
    # exp(Σ_k n_k log W_k / n): the same whichever class is measured in larger units
    logs = np.einsum("k,kji,kj,kjl->il", n / n.sum(), axes, np.log(s), axes)
    heaviest = np.argsort(-n, kind="stable")[: SCOUTS // 2]
    named = [pooled, np.linalg.eigh(logs)[1], *np.swapaxes(axes[heaviest], 1, 2)]
    rng = np.random.default_rng(0)
    others = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(SCOUTS - len(named))]
    return [*named, *others]
