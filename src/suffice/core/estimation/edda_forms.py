"""The best Σ_k = λ_k C_k of an EDDA family with unrestricted axes, where |C_k| = 1.

C_k is the form of class k, and λ_k its volume. The volumes follow from the forms (``log_volumes``).
With W_k the scatter and n_k the weight of class k, and d features,

    λ_k = tr(C_k⁻¹ W_k) / (n_k d),     or, equal for all classes,     λ = Σ_k tr(C_k⁻¹ W_k) / (n d)

``common_form`` gives all classes the same form: EII, VII, EEI, VEI, EEE, VEE, EEV, VEV.
``separate_forms`` gives each class its own form: EVI, VVI, EVE, VVE, EVV, VVV. ``edda_axes.py``
restricts the axes of the forms.
"""

from __future__ import annotations

import numpy as np

from suffice.core.estimation.edda_problem import (
    SLACK,
    TOLERANCE,
    UNFINISHED,
    EddaProblem,
    roots,
    symmetrised,
)
from suffice.core.linalg import inverse_lower, rank_tolerance
from suffice.core.text.lists import quoted
from suffice.errors import NotConvergedWarning, warn
from suffice.typing import Flags, Floats

MOST_STEPS = 1000
LONGEST_STEP = 3.0  # largest change of the logarithm of a volume in a Newton step
# if two classes overlap less than this, check whether the likelihood has a maximum
LEAST_OVERLAP = 1e-4


def separate_forms(problem: EddaProblem, w: Floats) -> Floats:
    """Return the best Σ_k = λ_k C_k, where C_k ∝ W_k."""
    problem.require_each_full_rank(w)
    # C_k = W_k / |W_k|^{1/m}
    sizes = np.exp(np.linalg.slogdet(w)[1] / w.shape[-1])
    return np.asarray(
        np.exp(problem.log_volumes(sizes))[:, None, None] * (w / sizes[:, None, None])
    )


def common_form(problem: EddaProblem, w: Floats) -> Floats:
    """Return the best Σ_k = λ_k C; with equal volumes, each Σ_k is (W_1 + … + W_K) / n."""
    m = w.shape[-1]
    u = np.zeros(len(w))
    problem.require_pooled_full_rank(w)
    if problem.volumes_vary:
        try:
            u = _relative_volumes(problem, w)
        except np.linalg.LinAlgError:
            problem.refuse("rounding errors hide how the classes with little variance vary")
    # C ∝ Σ_k W_k / λ_k,  |C| = 1
    s = np.einsum("k,kij->ij", np.exp(-u), w)
    factor = np.linalg.cholesky(s)
    size = np.exp(2 * np.log(np.diag(factor)).mean())
    q = size * np.trace(_whitened(w, factor), axis1=1, axis2=2) / m
    return np.asarray(np.exp(problem.log_volumes(q))[:, None, None] * (s / size))


# --- relative volumes u_k = log λ_k of classes that share C --------------------------------------
# With C ∝ Σ_k W_k / λ_k, the likelihood is largest where this function of u is least:
#     φ(u) = Σ_k n_k u_k / n + log|Σ_k e^{−u_k} W_k| / m
# φ is convex, and adding a constant to u does not change φ. Up to this constant, φ has a single
# minimum if and only if rank(Σ_{k∈Q} W_k) / m > Σ_{k∈Q} n_k / n for every proper subset Q of the
# classes. If this fails for some Q, lowering the volumes of Q alone never increases φ.


def _relative_volumes(problem: EddaProblem, w: Floats) -> Floats:
    """Return the u that minimises φ, by Newton steps.

    Raise an error if φ has no single minimum; warn if the steps have not converged.
    """
    n = problem.weights / problem.weights.sum()
    # scatters in units in which their sum is I, which adds a constant to φ
    a = _whitened(w, np.linalg.cholesky(w.sum(0)))
    _, ranks = roots(w)
    if not ranks.all():
        _refuse_subset(problem, a, ranks == 0)
    can_fail = bool((ranks < w.shape[-1]).any())
    u: Floats = np.log(np.trace(a, axis1=1, axis2=2) / n)
    for _ in range(MOST_STEPS):
        p = _shares(a, u)
        if can_fail:
            _require_overlap(problem, a, p)
        step, gain = _newton_step(n, p)
        if gain <= TOLERANCE:
            return u
        start = _phi(n, a, u)
        t = 1.0
        # take the first of u + step, u + step/2, … that decreases φ enough (Armijo)
        while _phi(n, a, u + t * step) > start - 1e-4 * t * gain + SLACK and t > SLACK:
            t /= 2
        u = u + t * step
    if can_fail:
        problem.refuse("the volumes of its classes do not converge")
    # −2 log L is n m φ, plus a constant
    _, gain = _newton_step(n, _shares(a, u))
    gain_per_row = gain * w.shape[-1] / 2
    if gain_per_row > UNFINISHED:
        warn(
            f"the volumes of family {problem.code!r} have not converged: another step would gain "
            f"{gain_per_row:.1g} of log-likelihood per row. Choose a family with equal volumes, "
            "such as 'EEE' or 'EEI', or with separate shapes, such as 'VVV' or 'VVI'",
            NotConvergedWarning,
        )
    return u


def _newton_step(n: Floats, p: Floats) -> tuple[Floats, float]:
    """Return the Newton step, limited to ``LONGEST_STEP``, and the predicted decrease of φ."""
    slope, curvature = _derivatives(n, p)
    step = -np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
    step *= LONGEST_STEP / max(LONGEST_STEP, float(np.abs(step).max()))
    return step, float(-slope @ step) / 2


def _shares(a: Floats, u: Floats) -> Floats:
    """Return the share P_k of each class in the common form, (K, m, m); all shares add up to I."""
    # P_k = e^{−u_k} L⁻¹ W_k L⁻ᵀ,  Σ_k e^{−u_k} W_k = L Lᵀ
    scaled = np.exp(-u)[:, None, None] * a
    return _whitened(scaled, np.linalg.cholesky(scaled.sum(0)))


def _require_overlap(problem: EddaProblem, a: Floats, p: Floats) -> None:
    """Raise if some subset Q of the classes varies in too few directions for its weight."""
    # The overlap of classes k and l is tr P_k P_l / √(tr P_k tr P_l). If φ has no single minimum,
    # the
    # overlap of a class in some Q and a class outside of Q goes to 0 as the steps proceed, until
    # rounding errors stop it at about 1e-6.
    flat = p.reshape(len(p), -1)
    sizes = np.sqrt(np.trace(p, axis1=1, axis2=2))
    overlaps = flat @ flat.T / sizes / sizes[:, None]
    if overlaps.min() > LEAST_OVERLAP:
        return
    from scipy.sparse.csgraph import connected_components  # slow to import, and seldom needed

    n_parts, part_of = connected_components(overlaps > LEAST_OVERLAP, directed=False)
    if n_parts > 1:
        for part in range(n_parts):
            _refuse_subset(problem, a, part_of == part)


def _refuse_subset(problem: EddaProblem, a: Floats, chosen: Flags) -> None:
    """Raise if rank(Σ_{k∈Q} W_k) / m ≤ Σ_{k∈Q} n_k / n for the chosen subset Q."""
    m = a.shape[-1]
    sizes = np.trace(a[chosen], axis1=1, axis2=2)
    pooled = (a[chosen] / np.where(sizes > 0, sizes, 1.0)[:, None, None]).sum(0)
    # the scatters are whitened, so that the rank does not depend on units
    rank = np.count_nonzero(np.linalg.eigvalsh(pooled) > rank_tolerance(m))
    weight = problem.weights[chosen].sum()
    total = problem.weights.sum()
    if rank > m * weight / total * (1 + SLACK):
        return
    names = problem.classes[chosen]
    shares = f"a weight of {weight:g} (all classes: {total:g})"
    if len(names) == 1:
        subject = f"class {quoted(names)} has {shares} but varies"
    else:
        subject = f"classes {quoted(names)} have {shares} but vary"
    problem.refuse(f"{subject} in {rank} of {m} directions")


def _whitened(w: Floats, factor: Floats) -> Floats:
    """Return L⁻¹ W_k L⁻ᵀ for each scatter W_k of a stack, where L is lower triangular."""
    inverse = inverse_lower(factor)
    return symmetrised(inverse @ w @ inverse.T)


def _derivatives(n: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Return the gradient and Hessian of φ, with 1/K added to make the Hessian regular."""
    k, m = p.shape[:2]
    traces = np.trace(p, axis1=1, axis2=2) / m
    flat = p.reshape(k, -1)
    # ∂φ/∂u_k = n_k/n − tr P_k / m,   ∂²φ/∂u_k∂u_l = (δ_kl tr P_k − tr P_k P_l) / m
    return n - traces, np.diag(traces) - flat @ flat.T / m + 1 / k


def _phi(n: Floats, a: Floats, u: Floats) -> float:
    """Return φ(u), up to a constant."""
    s = np.einsum("k,kij->ij", np.exp(-u), a)
    return float(n @ u + np.linalg.slogdet(s)[1] / len(s))
