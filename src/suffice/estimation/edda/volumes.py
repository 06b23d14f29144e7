"""The first letter of a code: one volume for all classes, or one each."""

from dataclasses import dataclass, replace

import numpy as np

from suffice.estimation.edda.family_problem import EddaProblem, Parts, Volume, ranks, symmetric
from suffice.linalg import inverse_lower
from suffice.typing import Floats

SLACK = 16 * float(np.finfo(float).eps)  # what rounding may add to a sum of logarithms


@dataclass(frozen=True, slots=True)
class EqualVolume:
    """λ_k = λ."""

    def settle(self, n: Floats, q: Floats) -> Floats:
        """Return the best log λ_k where q_k = tr(C_k⁻¹ W_k) / m, shape (K,)."""
        # λ = Σ_k tr(C_k⁻¹ W_k) / (n m)
        return np.full(len(n), np.log(q.sum() / n.sum()))

    def pool(self, problem: EddaProblem, w: Floats) -> Parts:
        """Return the parts of Σ = Σ_k W_k / n."""
        pooled, m = w.sum(0), w.shape[-1]
        rank = int(ranks(pooled[None])[0])
        if rank < m:
            problem.refuse(np.arange(len(w)), f"pooled scatter of rank {rank} < {m}")
        return _proportional(self, problem.weights, w, np.zeros(len(w)))


@dataclass(frozen=True, slots=True)
class OwnVolume:
    """Every class has its own λ_k."""

    def settle(self, n: Floats, q: Floats) -> Floats:
        """Return log λ_k."""
        # λ_k = tr(C_k⁻¹ W_k) / (n_k m)
        return np.log(q / n)

    def pool(self, problem: EddaProblem, w: Floats) -> Parts:
        """Return the parts of Σ_k = λ_k C."""
        _require_balance(problem, w)
        u, iterations, converged = _relative_volumes(problem, w)
        parts = _proportional(self, problem.weights, w, u)
        return replace(parts, iterations=iterations, converged=converged)


def _proportional(volume: Volume, n: Floats, w: Floats, u: Floats) -> Parts:
    """Return the parts of Σ_k = λ_k C where C is the sum of scatters divided by e^u."""
    m = w.shape[-1]
    # C ∝ Σ_k W_k / λ_k,  |C| = 1
    s = np.einsum("k,kij->ij", np.exp(-u), w)
    factor = np.linalg.cholesky(s)
    size = np.exp(2 * np.log(np.diag(factor)).mean())
    q = size * np.trace(_whitened(w, factor), axis1=1, axis2=2) / m
    return Parts(volume.settle(n, q), np.broadcast_to(s / size, w.shape))


def _require_balance(problem: EddaProblem, w: Floats) -> None:
    """Refuse classes that span too few directions for their weight.

    φ below has a minimum only if rank(Σ_{k∈Q} W_k) / m > Σ_{k∈Q} n_k / n for every proper
    subset Q of the classes.
    """
    n, m, found = problem.weights, w.shape[-1], ranks(w)
    if (found == m).all():
        return
    order = np.argsort(found, kind="stable")
    spans, loads = ranks(np.cumsum(w[order], axis=0)), np.cumsum(n[order]) / n.sum()
    short = np.flatnonzero(np.append(spans[:-1] <= m * loads[:-1] * (1 + SLACK), spans[-1] < m))
    if len(short):
        i = int(short[0])
        need = f"more than {m * loads[i]:.3g}" if i < len(w) - 1 else f"{m}"
        problem.refuse(order[: i + 1], f"scatter of rank {spans[i]}, needs {need} of {m}")


def _relative_volumes(problem: EddaProblem, w: Floats) -> tuple[Floats, int, bool]:
    """Return u minimising φ(u) = Σ_k n_k u_k / n + log|Σ_k e^{−u_k} W_k| / m, by Newton steps.

    φ is convex in u, and constant along u + t: the maximum of the likelihood is unique.
    """
    n = problem.weights / problem.weights.sum()
    a = _whitened(w, np.linalg.cholesky(w.sum(0)))
    u = np.log(np.trace(a, axis1=1, axis2=2) / n)
    for iteration in range(problem.max_iter):
        slope, curvature = _derivatives(n, a, u)
        step = -np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        gain = float(-slope @ step) / 2
        if gain <= problem.tol:
            return u, iteration, True
        u = _backtrack(n, a, u, step, gain)
    return u, problem.max_iter, False


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


def _backtrack(n: Floats, a: Floats, u: Floats, step: Floats, gain: float) -> Floats:
    """Return the first of u + step, u + step/2, … that gains its fair share."""
    start, t = _phi(n, a, u), 1.0
    while _phi(n, a, u + t * step) > start - 1e-4 * t * gain + SLACK and t > SLACK:
        t /= 2
    return u + t * step


def _phi(n: Floats, a: Floats, u: Floats) -> float:
    s = np.einsum("k,kij->ij", np.exp(-u), a)
    return float(n @ u + np.linalg.slogdet(s)[1] / len(s))
