"""The fourteen EDDA families: Σ_k = λ_k D_k A_k D_kᵀ, with volume λ, shape A and orientation D.

Celeux & Govaert (1995), Pattern Recognition 28; Bensmail & Celeux (1996), JASA 91.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeAlias

import numpy as np

from suffice.core.estimation.covariance_structures import (
    DiagonalStructure,
    Estimates,
    FullStructure,
)
from suffice.core.estimation.degenerate import RankDeficiency
from suffice.core.estimation.regularisation import Regularisation
from suffice.core.linalg import Pair, inverse_lower, quasi_newton, rank_tolerance
from suffice.core.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.core.moments import Moments
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError, NotConvergedWarning, warn
from suffice.typing import Codes, Flags, Floats, Labels

TOLERANCE = 1e-22  # stop when a step gains less log-likelihood than this per unit of weight
MOST_STEPS = 1000
LONGEST_STEP = 3.0  # largest change of the logarithm of a volume in a Newton step
PARTED = 1e-4  # with a smaller overlap, classes may be separated; their ranks decide
# a standard deviation below this share of the pooled one is a rounding error
NO_SPREAD = 1e-13
SLACK = 16 * float(np.finfo(float).eps)  # rounding error of a sum of logarithms
WIDEST = 1e7  # axes are computed if the features' scales have at most this ratio
SCOUTS = 12  # number of starting axes
SCOUT_STEPS = 40  # most steps from each starting point
FINALISTS = 3  # number of best points that continue until they converge
MEMORY = 10
# warn if one more step would gain more log-likelihood than this per unit of weight
UNFINISHED = 1e-9
FLATTEST = 1e-2  # lower limit of curvatures, which have no unit


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


@dataclass(frozen=True, slots=True, eq=False)
class EddaProblem:
    """The family to fit, and the labels and weights of the classes."""

    code: str
    classes: Labels  # (K,)
    weights: Floats  # n_k  (K,)

    @property
    def own_volumes(self) -> bool:
        return self.code.startswith("V")

    def settle(self, q: Floats) -> Floats:
        """Return the best log λ_k, (K,), given q_k = tr(C_k⁻¹ W_k) / m."""
        # λ_k = tr(C_k⁻¹ W_k) / (n_k m),  or λ = Σ_k tr(C_k⁻¹ W_k) / (n m)
        if self.own_volumes:
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
        """Raise if no class varies in some direction."""
        m = w.shape[-1]
        _, ranks = roots(w.sum(0, keepdims=True))
        if ranks[0] < m:
            self.refuse(f"all classes together vary in {ranks[0]} of {m} directions")

    def require_like_units(self, w: Floats) -> None:
        """Raise if features' scales differ so much that rounding would lose the small ones."""
        scales = np.sqrt(np.diagonal(w, axis1=1, axis2=2).sum(0) / self.weights.sum())
        least = scales[scales > 0].min(initial=np.inf)
        most = scales.max()
        if most > WIDEST * least:
            raise InvalidInputError(
                f"family {self.code!r} depends on the units of the features, and their standard "
                f"deviations range from {least:.1g} to {most:.1g}: rescale them, or choose a "
                "family without units, such as 'VVV', 'EEE' or 'VVI'"
            )

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error: the likelihood has no maximum, for a reason that names the classes."""
        raise InvalidInputError(
            f"the likelihood of family {self.code!r} has no maximum, or more than one, because "
            f"{reason}: drop columns without variance or that combine others, or choose a family "
            "with fewer parameters, such as 'EEE' or 'EEI'"
        )


def symmetrised(c: Floats) -> Floats:
    """Return (C + Cᵀ) / 2 for each matrix C of a stack."""
    return np.asarray((c + np.swapaxes(c, -1, -2)) / 2)


def diagonal(values: Floats) -> Floats:
    """Return diagonal matrices (K, d, d) with the given diagonals (K, d)."""
    return values[:, :, None] * np.eye(values.shape[1])


def rotated(forms: Floats, axes: Floats) -> Floats:
    """Return Dᵀ C D for each C of a stack, where the rows of D are the axes."""
    return np.swapaxes(axes, -1, -2) @ forms @ axes


# returns the best Σ_k = λ_k C_k for scatters W (K, m, m); C is symmetric with determinant 1
Pattern: TypeAlias = Callable[[EddaProblem, Floats], Floats]
# the same if the axes of C are restricted; the pattern solves the remaining problem
Frame: TypeAlias = Callable[[EddaProblem, Pattern, Floats], Floats]


def common_form(problem: EddaProblem, w: Floats) -> Floats:
    """Return the best Σ_k = λ_k C; with equal volumes, each is (W_1 + … + W_K) / n."""
    m = w.shape[-1]
    u = np.zeros(len(w))
    problem.require_pooled_full_rank(w)
    if problem.own_volumes:
        try:
            u = _relative_volumes(problem, w)
        except np.linalg.LinAlgError:
            problem.refuse("rounding errors hide how the classes with little variance vary")
    # C ∝ Σ_k W_k / λ_k,  |C| = 1
    s = np.einsum("k,kij->ij", np.exp(-u), w)
    factor = np.linalg.cholesky(s)
    size = np.exp(2 * np.log(np.diag(factor)).mean())
    q = size * np.trace(_whitened(w, factor), axis1=1, axis2=2) / m
    return np.asarray(np.exp(problem.settle(q))[:, None, None] * (s / size))


# --- relative volumes u_k = log λ_k of classes that share C --------------------------------------
# With C ∝ Σ_k W_k / λ_k, the likelihood is largest where this function of u is least:
#     φ(u) = Σ_k n_k u_k / n + log|Σ_k e^{−u_k} W_k| / m
# φ is convex, and adding a constant to u does not change it. It has one minimum, up to that
# constant, if and only if rank(Σ_{k∈Q} W_k) / m > Σ_{k∈Q} n_k / n for every proper subset Q of the
# classes. Otherwise, lowering the volumes of Q alone never increases φ.


def _relative_volumes(problem: EddaProblem, w: Floats) -> Floats:
    """Return the u that minimises φ, by Newton steps, or raise if φ has no single minimum."""
    n = problem.weights / problem.weights.sum()
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
        slope, curvature = _derivatives(n, p)
        step = -np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        step *= LONGEST_STEP / max(LONGEST_STEP, float(np.abs(step).max()))
        gain = float(-slope @ step) / 2
        if gain <= TOLERANCE:
            break
        start = _phi(n, a, u)
        t = 1.0
        # take the first of u + step, u + step/2, … that decreases φ enough (Armijo)
        while _phi(n, a, u + t * step) > start - 1e-4 * t * gain + SLACK and t > SLACK:
            t /= 2
        u = u + t * step
    else:
        if can_fail:
            problem.refuse("the volumes of its classes do not converge")
    return u


def _shares(a: Floats, u: Floats) -> Floats:
    """Return each class's share P_k of the common form, (K, m, m); they add up to I."""
    # P_k = e^{−u_k} L⁻¹ W_k L⁻ᵀ,  Σ_k e^{−u_k} W_k = L Lᵀ
    scaled = np.exp(-u)[:, None, None] * a
    return _whitened(scaled, np.linalg.cholesky(scaled.sum(0)))


def _require_overlap(problem: EddaProblem, a: Floats, p: Floats) -> None:
    """Raise if some subset Q of the classes varies in too few directions for its weight."""
    # if φ has no single minimum, the steps separate some Q from the other classes: tr P_k P_l → 0
    # for k in Q and l outside, until rounding errors of about 1e-6 stop it
    flat = p.reshape(len(p), -1)
    sizes = np.sqrt(np.trace(p, axis1=1, axis2=2))
    overlaps = flat @ flat.T / sizes / sizes[:, None]
    if overlaps.min() > PARTED:
        return
    from scipy.sparse.csgraph import connected_components  # slow to import, and seldom needed

    n_parts, part_of = connected_components(overlaps > PARTED, directed=False)
    if n_parts > 1:
        for part in range(n_parts):
            _refuse_subset(problem, a, part_of == part)


def _refuse_subset(problem: EddaProblem, a: Floats, chosen: Flags) -> None:
    """Raise if rank(Σ_{k∈Q} W_k) / m ≤ Σ_{k∈Q} n_k / n for the chosen subset Q."""
    m = a.shape[-1]
    sizes = np.trace(a[chosen], axis1=1, axis2=2)
    pooled = (a[chosen] / np.where(sizes > 0, sizes, 1.0)[:, None, None]).sum(0)
    # whitened scatters have one unit in all directions
    rank = np.count_nonzero(np.linalg.eigvalsh(pooled) > rank_tolerance(m))
    weight = problem.weights[chosen].sum()
    total = problem.weights.sum()
    if rank > m * weight / total * (1 + SLACK):
        return
    names = problem.classes[chosen]
    if len(names) == 1:
        subject = f"class {quoted(names)} has {weight:g} of the weight {total:g} but varies"
    else:
        subject = f"classes {quoted(names)} have {weight:g} of the weight {total:g} but vary"
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


def own_form(problem: EddaProblem, w: Floats) -> Floats:
    """Return the best Σ_k = λ_k C_k, where C_k ∝ W_k."""
    problem.require_each_full_rank(w)
    # C_k = W_k / |W_k|^{1/m}
    sizes = np.exp(np.linalg.slogdet(w)[1] / w.shape[-1])
    return np.asarray(
        np.exp(problem.settle(sizes))[:, None, None] * (w / sizes[:, None, None])
    )


def sphere(problem: EddaProblem, pattern: Pattern, w: Floats) -> Floats:
    """Return the best Σ_k with C = I, which depends on the traces of the scatters only."""
    d = w.shape[-1]
    return pattern(problem, (np.trace(w, axis1=1, axis2=2) / d)[:, None, None]) * np.eye(d)


def feature_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Floats:
    """Return the best Σ_k with diagonal C, which depends on the diagonals of the scatters only."""
    return pattern(problem, w * np.eye(w.shape[-1]))


def own_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Floats:
    """Return the best Σ_k with C_k = D_k A D_kᵀ; it depends on the scatters' eigenvalues only."""
    # for any A, the best D_k are the eigenvectors of W_k in the order of A, largest first
    problem.require_like_units(w)
    f, ranks = roots(w)
    # W_k = F_kᵀ F_k = D_k diag(s²) D_kᵀ
    _, s, axes = np.linalg.svd(f)
    s = np.where(np.arange(w.shape[-1]) < ranks[:, None], s, 0.0)
    return rotated(pattern(problem, diagonal(np.square(s))), axes)


# --- common axes of all classes, with different variances along them (EVE, VVE) ------------------
# Limited-memory quasi-Newton steps are skew matrices Ω, with D → D Cayley(Ω). Steps and gradients
# are written in the frame of the current D, so that earlier ones can be used without transport.


def shared_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Floats:
    """Return the best Σ_k with C_k = D A_k Dᵀ (common principal components) from several starts."""
    problem.require_each_full_rank(w)
    problem.require_like_units(w)
    f, _ = roots(w)
    at = partial(axes_point, problem, f)
    scouts = [
        descend_axes(at(axes), at, SCOUT_STEPS) for axes in starting_axes(problem.weights, f)
    ]
    finalists = sorted(scouts, key=lambda point: point.value)[:FINALISTS]
    ends = [descend_axes(point, at, MOST_STEPS) for point in finalists]
    best = min(ends, key=lambda point: point.value)
    # with gradient g and curvature c of −2 log L, a Newton step in a plane gains g²/(2c) of it,
    # which is g²/(4c) of log L. Each plane stands twice in the matrices: above and below the
    # diagonal. So the sum over their elements is divided by 4 · 2
    step = best.gradient / np.maximum(best.curvature, FLATTEST)
    left = float(np.vdot(best.gradient, step)) / (4 * 2)
    if left > UNFINISHED:
        warn(
            f"the axes of family {problem.code!r} have not converged: another step would gain "
            f"{left:.1g} of log-likelihood per row. Choose a family without common axes, such as "
            "'VVV' or 'EEE', or drop columns that are nearly combinations of others",
            NotConvergedWarning,
        )
    return rotated(pattern(problem, diagonal(np.square(f @ best.axes).sum(1))), best.axes.T)


def axes_point(problem: EddaProblem, f: Floats, axes: Floats) -> AxesPoint:
    """Return −2 log L per unit of weight as a function of the axes (Flury & Gautschi 1986).

    ``f`` holds the roots F_k of the scatters, W_k = F_kᵀ F_k, (K, d, d).
    """
    n = problem.weights
    total = n.sum()
    # M_k = Dᵀ W_k D, whose diagonal holds the squares v_kj along each axis
    y = f @ axes
    m = np.swapaxes(y, 1, 2) @ y
    v = np.square(y).sum(1)
    # Σ_k n_k log|Σ_k| = d Σ_k n_k log λ_k,  q_k = (Π_j v_kj)^{1/d}
    q = np.exp(np.log(v).mean(1))
    u = problem.settle(q)
    value = float(v.shape[1] * (n @ u) / total)
    # 1/σ²_kj = q_k / (λ_k v_kj)
    p = (q * np.exp(-u) / total)[:, None] / v
    # ∂/∂Ω = 2 Σ_k (M_k P_k − P_k M_k)
    mp = np.einsum("kij,kj->ij", m, p)
    # ∂²/∂Ω_ij² = 2 Σ_k (v_ki − v_kj)(p_kj − p_ki) if M_k is diagonal (Ablin et al. 2018)
    vp = v.T @ p
    on_diagonal = np.diag(vp)
    return AxesPoint(
        axes=axes,
        value=value,
        gradient=2 * (mp - mp.T),
        curvature=2 * (vp + vp.T - on_diagonal - on_diagonal[:, None]),
    )


def starting_axes(n: Floats, f: Floats) -> list[Floats]:
    """Return the starting axes.

    They are the axes of the pooled scatter, of the mean log scatter and of the heaviest classes,
    and random axes.
    """
    d = f.shape[-1]
    _, s, axes = np.linalg.svd(f)
    pooled = np.linalg.svd(f.reshape(-1, d), full_matrices=False)[2].T
    # exp(Σ_k n_k log W_k / n): scaling the scatter of one class does not change these axes
    logs = np.einsum("k,kji,kj,kjl->il", n / n.sum(), axes, np.log(s), axes)
    heaviest = np.argsort(-n, kind="stable")[: SCOUTS // 2]
    named = [pooled, np.linalg.eigh(logs)[1], *np.swapaxes(axes[heaviest], 1, 2)]
    rng = np.random.default_rng(0)
    others = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(SCOUTS - len(named))]
    return [*named, *others]


@dataclass(frozen=True, slots=True, eq=False)
class AxesPoint:
    """The value of a function of D exp(Ω), and its derivatives with respect to Ω, at Ω = 0."""

    axes: Floats  # D  (d, d)
    value: float
    gradient: Floats  # (d, d), skew
    curvature: Floats  # second derivative for the rotation in each plane  (d, d), symmetric


def descend_axes(start: AxesPoint, at: Callable[[Floats], AxesPoint], most: int) -> AxesPoint:
    """Take at most ``most`` descent steps; stop when a step would gain less than ``TOLERANCE``."""
    point = start
    pairs = deque[Pair](maxlen=MEMORY)
    for _ in range(most):
        inverse = partial(np.multiply, 1 / np.maximum(point.curvature, FLATTEST))
        omega = -quasi_newton(point.gradient, pairs, inverse)
        # a skew matrix has two entries for each plane, so divide by 2
        slope = float(np.vdot(point.gradient, omega)) / 2
        if -slope / 2 <= TOLERANCE:
            break
        # take the first of the steps 1, ½, … that decreases the value enough (Armijo)
        t = 1.0
        slack = SLACK * (1 + abs(point.value))
        following = at(point.axes @ cayley(omega))
        while following.value > point.value + 1e-4 * t * slope + slack and t > SLACK:
            t /= 2
            following = at(point.axes @ cayley(t * omega))
        s = t * omega
        y = following.gradient - point.gradient
        # keep the pair only if the function curves upwards along the step
        if np.vdot(s, y) > SLACK * np.linalg.norm(s) * np.linalg.norm(y):
            pairs.append((s, y))
        point = following
    return point


def cayley(omega: Floats) -> Floats:
    """Return the rotation (I − Ω/2)⁻¹ (I + Ω/2) for a skew matrix Ω."""
    eye = np.eye(len(omega))
    return np.asarray(np.linalg.solve(eye - omega / 2, eye + omega / 2), dtype=np.float64)


def _any_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Floats:
    return pattern(problem, w)  # the axes of C are not restricted


_FORMS: dict[str, tuple[Pattern, Frame]] = {
    "II": (common_form, sphere),
    "EI": (common_form, feature_axes),
    "VI": (own_form, feature_axes),
    "EE": (common_form, _any_axes),
    "VE": (own_form, shared_axes),
    "EV": (common_form, own_axes),
    "VV": (own_form, _any_axes),
}
# Σ_k = λ_k D_k A_k D_kᵀ; each of λ, A and D is equal (E), varying (V) or the identity (I)
FAMILIES: Mapping[str, tuple[Pattern, Frame]] = {
    volume + form: solver for form, solver in _FORMS.items() for volume in "EV"
}


def edda_covariances(
    code: str,
    weights: Floats,
    scatters: Floats,
    classes: Labels | None = None,
) -> Floats:
    """Return the maximum-likelihood covariances of one of the families, (K, d, d).

    Errors name the classes; without labels, they are numbered.
    """
    pattern, frame = FAMILIES[code]
    labels = np.arange(len(weights)) if classes is None else classes
    problem = EddaProblem(code=code, classes=labels, weights=weights)
    return symmetrised(frame(problem, pattern, symmetrised(scatters)))


@dataclass(frozen=True, slots=True)
class EddaStructure:
    """A family as a covariance structure.

    If the likelihood has no maximum, missing variance of the classes is filled first.
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
