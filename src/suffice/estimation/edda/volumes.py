"""EDDA: sums of groups, volumes, and covariances in proportion, Σ_k = λ_k C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import numpy as np

from suffice.errors import InvalidInputError, NotConvergedWarning, warn
from suffice.linalg import inverse_lower, rank_tolerance
from suffice.typing import Codes, Floats

TOLERANCE = 1e-22  # gain of log-likelihood, per unit of weight, at which steps end
MOST_STEPS = 1000
NO_SPREAD = 1e-13  # a standard deviation below this part of the pooled one is rounding


def roots(w: Floats) -> tuple[Floats, Codes]:
    """Return F (K, d, d) with W_k = F_kᵀ F_k, and the ranks (K,)."""
    s: Floats = np.sqrt(np.maximum(np.diagonal(w, axis1=1, axis2=2), 0.0))
    s = np.where(s > NO_SPREAD * np.sqrt(np.square(s).sum(0)), s, 0.0)
    unit = np.where(s > 0, s, np.inf)
    # W = S R S,  R = Q Λ Qᵀ,  F = Λ^½ Qᵀ S
    values, q = np.linalg.eigh(w / (unit[:, :, None] * unit[:, None, :]))
    values = np.where(values > rank_tolerance(w.shape[-1]), values, 0.0)
    f = np.sqrt(values)[:, :, None] * np.swapaxes(q, 1, 2) * s[:, None, :]
    return f, np.count_nonzero(values, axis=1)


SLACK = 16 * float(np.finfo(float).eps)  # what rounding may add to a sum of logarithms
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

    @property
    def own_volumes(self) -> bool:
        """Whether every class has its own λ_k, rather than one λ for all."""
        return self.code.startswith("V")

    def settle(self, q: Floats) -> Floats:
        """Return the best log λ_k where q_k = tr(C_k⁻¹ W_k) / m, shape (K,)."""
        # λ_k = tr(C_k⁻¹ W_k) / (n_k m),  or λ = Σ_k tr(C_k⁻¹ W_k) / (n m)
        if self.own_volumes:
            return np.log(q / self.weights)
        return np.full(len(q), np.log(q.sum() / self.weights.sum()))

    def require_full_rank(self, w: Floats) -> None:
        """Refuse the first class without spread in some direction."""
        found, m = roots(w)[1], w.shape[-1]
        for k in np.flatnonzero(found < m)[:1]:
            self.refuse(np.array([k]), f"scatter of rank {found[k]} < {m}")

    def require_like_units(self, w: Floats) -> None:
        """Refuse scales so different that a family which depends on units loses the small ones."""
        scales = np.sqrt(np.diagonal(w, axis1=1, axis2=2).sum(0) / self.weights.sum())
        least, most = scales[scales > 0].min(initial=np.inf), scales.max()
        if most > WIDEST * least:
            raise InvalidInputError(
                f"family {self.code!r} depends on the units of the features, and their standard "
                f"deviations range from {least:.1g} to {most:.1g}: rescale them, or choose a "
                "family without units, such as 'VVV', 'EEE' or 'VVI'"
            )

    def warn_unfinished(self, gain: float) -> None:
        """Warn that axes still moved when the steps were used up."""
        warn(
            f"family {self.code!r} stopped before its axes settled: another step would gain "
            f"{gain:.1g} of log-likelihood per row; choose a family without common axes, such as "
            "'VVV' or 'EEE', or drop columns that are nearly combinations of others",
            NotConvergedWarning,
        )

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


def symmetric(c: Floats) -> Floats:
    """Return (C + Cᵀ) / 2 of each matrix of a stack."""
    return np.asarray((c + np.swapaxes(c, -1, -2)) / 2)


def diagonal(values: Floats) -> Floats:
    """Return diagonal matrices (K, d, d) of given diagonals (K, d)."""
    return values[:, :, None] * np.eye(values.shape[1])


def turned(forms: Floats, axes: Floats) -> Floats:
    """Return Dᵀ C D for each C of a stack, D having axes as its rows."""
    return np.swapaxes(axes, -1, -2) @ forms @ axes


# the best parts for scatters (K, m, m) where every symmetric C is allowed
Pattern: TypeAlias = Callable[[EddaProblem, Floats], Parts]
# the same where the axes of C are restricted, given a pattern for what remains
Frame: TypeAlias = Callable[[EddaProblem, Pattern, Floats], Parts]


def common_form(problem: EddaProblem, w: Floats) -> Parts:
    """Return the best parts of Σ_k = λ_k C; where the volumes are equal, Σ = Σ_k W_k / n."""
    m, u = w.shape[-1], np.zeros(len(w))
    if problem.own_volumes:
        _require_balance(problem, w)
        u = _relative_volumes(problem, w)
    elif (rank := int(roots(w.sum(0)[None])[1][0])) < m:
        problem.refuse(np.arange(len(w)), f"pooled scatter of rank {rank} < {m}")
    # C ∝ Σ_k W_k / λ_k,  |C| = 1
    s = np.einsum("k,kij->ij", np.exp(-u), w)
    factor = np.linalg.cholesky(s)
    size = np.exp(2 * np.log(np.diag(factor)).mean())
    q = size * np.trace(_whitened(w, factor), axis1=1, axis2=2) / m
    return Parts(problem.settle(q), np.broadcast_to(s / size, w.shape))


def _require_balance(problem: EddaProblem, w: Floats) -> None:
    """Refuse classes that span too few directions for their weight.

    φ below has a minimum only if rank(Σ_{k∈Q} W_k) / m > Σ_{k∈Q} n_k / n for every proper
    subset Q of the classes.
    """
    n, m, found = problem.weights, w.shape[-1], roots(w)[1]
    if (found == m).all():
        return
    order = np.argsort(found, kind="stable")
    spans, loads = roots(np.cumsum(w[order], axis=0))[1], np.cumsum(n[order]) / n.sum()
    short = np.flatnonzero(np.append(spans[:-1] <= m * loads[:-1] * (1 + SLACK), spans[-1] < m))
    if len(short):
        i = int(short[0])
        need = f"more than {m * loads[i]:.3g}" if i < len(w) - 1 else f"{m}"
        problem.refuse(order[: i + 1], f"scatter of rank {spans[i]}, needs {need} of {m}")


def _relative_volumes(problem: EddaProblem, w: Floats) -> Floats:
    """Return u minimising φ(u) = Σ_k n_k u_k / n + log|Σ_k e^{−u_k} W_k| / m, by Newton steps.

    φ is convex in u, and constant along u + t: the maximum of the likelihood is unique.
    """
    n = problem.weights / problem.weights.sum()
    a = _whitened(w, np.linalg.cholesky(w.sum(0)))
    u: Floats = np.log(np.trace(a, axis1=1, axis2=2) / n)
    for _ in range(MOST_STEPS):
        slope, curvature = _derivatives(n, a, u)
        step = -np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        gain = float(-slope @ step) / 2
        if gain <= TOLERANCE:
            break
        start, t = _phi(n, a, u), 1.0
        # the first of u + step, u + step/2, … that gains its fair share
        while _phi(n, a, u + t * step) > start - 1e-4 * t * gain + SLACK and t > SLACK:
            t /= 2
        u = u + t * step
    return u


def _whitened(w: Floats, factor: Floats) -> Floats:
    """Return L⁻¹ W_k L⁻ᵀ for each scatter of a stack, L lower triangular."""
    inverse = inverse_lower(factor)
    return symmetric(inverse @ w @ inverse.T)


def _derivatives(n: Floats, a: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return gradient and Hessian of φ, the Hessian made regular along constant u."""
    k, m = a.shape[:2]
    # P_k = e^{−u_k} L⁻¹ W_k L⁻ᵀ,  Σ_k e^{−u_k} W_k = L Lᵀ
    scaled = np.exp(-u)[:, None, None] * a
    p = _whitened(scaled, np.linalg.cholesky(scaled.sum(0)))
    traces = np.trace(p, axis1=1, axis2=2) / m
    flat = p.reshape(k, -1)
    # ∂φ/∂u_k = n_k/n − tr P_k / m,   ∂²φ/∂u_k∂u_l = (δ_kl tr P_k − tr P_k P_l) / m
    return n - traces, np.diag(traces) - flat @ flat.T / m + 1 / k


def _phi(n: Floats, a: Floats, u: Floats) -> float:
    s = np.einsum("k,kij->ij", np.exp(-u), a)
    return float(n @ u + np.linalg.slogdet(s)[1] / len(s))
