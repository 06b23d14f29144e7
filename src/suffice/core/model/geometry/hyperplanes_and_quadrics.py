"""The boundary between two classes whose scores are linear or quadratic, and what it is called."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.linalg import EPS
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.geometry.surface import Surface, fixed, with_sign
from suffice.errors import InvalidParameterError
from suffice.typing import Floats

ASIDE = 1e-100  # a push off an axis of symmetry, too small to measure: one side is chosen
LOG_RANGE = (-690.0, 300.0)  # of log v, so that v and v² stay finite
ROUNDS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane(Surface):
    """The hyperplane {x : wᵀ(x − m) + w_m = 0} and its two sides.

    An anchor m near the data keeps every digit. Where y(x) is positive, ``labels[0]`` is preferred.

    Bishop (2006), *Pattern Recognition and Machine Learning*, section 4.1.1.

    Parameters
    ----------
    normal : array of shape (d,)
        w, orthogonal to the hyperplane.
    offset : float
        The value at the anchor: w_0 where the anchor is zero.
    feature_names, labels : tuples, optional
        Names of the d features; labels of the positive and the negative side.
    anchor : array of shape (d,), default zero
        m.

    Examples
    --------
    >>> plane = Hyperplane([3.0, -4.0], 10.0, ("length", "width"), ("bass", "salmon"))
    >>> plane.equation()
    '3·length − 4·width + 10 = 0'
    >>> plane.signed_distance([[0.0, 0.0], [0.0, 5.0]])
    array([ 2., -2.])
    """

    normal: Floats  # w  (d,)
    offset: float  # y(m)
    feature_names: tuple[str, ...] | None = None
    labels: tuple[Any, Any] | None = None
    anchor: Floats = field(default_factory=lambda: np.zeros(()))  # m  (d,)

    def __post_init__(self) -> None:
        d = np.size(self.normal)
        offset = float(fixed("offset", self.offset, ()))
        self._set_fields(d, normal=fixed("normal", self.normal, (d,)), offset=offset)

    @property
    def intercept(self) -> float:
        """Value at the origin, w_0."""
        return float(self.offset - self.normal @ self.anchor)

    @property
    def coefficients(self) -> tuple[None, Floats, float]:
        return None, self.normal, self.offset

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return y(x) / ‖w‖, (n,); infinite where there is no boundary since w = 0."""
        y = self.evaluate(x)
        length = np.linalg.norm(self.normal)
        return with_sign(y, np.abs(y) / length if length > 0 else np.full_like(y, np.inf))

    def _steps(self, x: npt.ArrayLike) -> Floats:
        # −(y(x) / ‖w‖) w / ‖w‖
        unit = self.normal / (np.linalg.norm(self.normal) or 1.0)
        with np.errstate(invalid="ignore"):
            return -self.signed_distance(x)[:, None] * unit


@dataclass(frozen=True, slots=True, eq=False)
class Quadric(Surface):
    """The quadric {x : (x − m)ᵀA(x − m) + bᵀ(x − m) + c = 0} and its two sides.

    An anchor m near the data keeps every digit. Where y(x) is positive, ``labels[0]`` is preferred.

    Duda, Hart & Stork (2001), *Pattern Classification*, section 2.6.3.

    Parameters
    ----------
    A : array of shape (d, d)
        The quadratic part; only its symmetric half matters.
    b : array of shape (d,)
        The gradient at the anchor.
    c : float
        The value at the anchor.
    feature_names, labels : tuples, optional
        Names of the d features; labels of the positive and the negative side.
    anchor : array of shape (d,), default zero
        m.

    Examples
    --------
    >>> circle = Quadric([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], -4.0, labels=("out", "in"))
    >>> circle.equation(), circle.kind
    ('x₁² + x₂² − 4 = 0', 'ellipse')
    >>> circle.signed_distance([[3.0, 4.0], [1.0, 0.0]])
    array([ 3., -1.])
    """

    A: Floats  # (d, d), symmetric
    b: Floats  # ∇y(m)  (d,)
    c: float  # y(m)
    feature_names: tuple[str, ...] | None = None
    labels: tuple[Any, Any] | None = None
    anchor: Floats = field(default_factory=lambda: np.zeros(()))  # m  (d,)

    def __post_init__(self) -> None:
        d = np.size(self.b)
        A, c = fixed("A", self.A, (d, d)), float(fixed("c", self.c, ()))
        A = fixed("A", 0.5 * (A + A.T), (d, d))
        self._set_fields(d, A=A, b=fixed("b", self.b, (d,)), c=c)

    @property
    def kind(self) -> str:
        """What the quadric is: in the plane "ellipse", "hyperbola", "parabola", "line", …."""
        return quadric_kind(self.A, self.b, self.c)

    @property
    def coefficients(self) -> tuple[Floats, Floats, float]:
        return self.A, self.b, self.c

    def _steps(self, x: npt.ArrayLike) -> Floats:
        y, gradient = self.evaluate(x), self.gradient(x)
        kind = self.kind
        if kind == "empty":
            return np.full_like(gradient, np.inf)
        if kind.startswith("double"):
            # y = λ (nᵀ(x − p))²: what rounding leaves of other eigenvalues would count for much
            return np.asarray(-gradient / (2 * np.trace(self.A)))
        steps = np.zeros_like(gradient)
        for sign in (1.0, -1.0):
            rows = sign * y > 0
            lam, V = np.linalg.eigh(sign * self.A)
            steps[rows] = shortest_steps(lam, sign * gradient[rows] @ V, sign * y[rows]) @ V.T
        return steps


Boundary: TypeAlias = Hyperplane | Quadric
Names: TypeAlias = tuple[str, ...] | None  # of features
Sides: TypeAlias = tuple[Any, Any] | None  # labels of the positive and the negative side


def shortest_steps(eigenvalues: Floats, gradients: Floats, values: Floats) -> Floats:
    """Return the shortest e with q + gᵀe + eᵀΛe = 0 for each row, (n, d), where there is one.

    Of the stationary e = −½ t (I + tΛ)⁻¹ g that with I + tΛ ⪰ 0 is the global minimum, and on that
    interval the constraint is monotone in t. Moré (1993), *Optim. Methods Softw.* 2.
    """
    lowest = eigenvalues[0]
    kappa = float(lowest < 0)  # 1 where the interval of t is bounded, else 0
    with np.errstate(all="ignore"):
        # 1 + tλ ≥ 0 up to t = T = −1/λ_min, or up to infinity; T is then the first-order root
        T = 2 * values / np.square(gradients).sum(1)
        T = np.full(len(values), -1 / lowest) if kappa else T
        # 1 + tλᵢ = 1/hᵢ with t = Tτ, τ = v/(1+κv), hᵢ = (1+κv)/(1+v gapᵢ): no difference of near
        # numbers is ever formed
        gap = 1 - eigenvalues / lowest if kappa else eigenvalues * T[:, None]
        gap = np.broadcast_to(gap, gradients.shape)
        gamma = gradients * np.sqrt(0.25 * T / values)[:, None]
        if kappa:
            gamma[:, 0] = np.where(np.abs(gamma[:, 0]) < ASIDE, ASIDE, gamma[:, 0])
        v = _root(np.square(gamma), gap, kappa)
        # e = −½ t (I + tΛ)⁻¹ g = −√(qT) τ h γ
        e: Floats = -np.sqrt(values * T)[:, None] * v[:, None] / (1 + v[:, None] * gap) * gamma
    return np.nan_to_num(e)  # no gradient and no curvature down: already there


def _root(squares: Floats, gap: Floats, kappa: float) -> Floats:
    """Return v > 0 with S = τ Σᵢ γᵢ² hᵢ (1 + hᵢ) = 1, (n,), by bracketed Newton steps in logs."""
    low, high = (np.full(len(squares), end) for end in LOG_RANGE)
    w = np.clip(-np.log(2 * squares.sum(1)), low, high)
    for _ in range(ROUNDS):
        v = np.exp(w)
        whole, lengths = 1 + kappa * v, 1 + v[:, None] * gap
        h = whole[:, None] / lengths
        total = (squares * h * (1 + h)).sum(1)
        excess = np.log(v / whole * total)
        # dS/dτ = 2 Σ γ² h³,  dτ/d log v = τ / (1 + κv)
        slope = 2 * (squares * h**2 / lengths).sum(1) / total
        low, high = np.where(excess <= 0, w, low), np.where(excess >= 0, w, high)
        step = w - excess / slope
        last, w = w, np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
        settled = np.abs(w - last) <= 4 * EPS * np.maximum(1, np.abs(w))
        if np.all(settled | (np.abs(excess) <= 16 * EPS)):
            break
    return np.asarray(np.exp(w))


def boundary_between(
    model: GaussianModel,
    a: int,
    b: int,
    *,
    feature_names: Names = None,
    labels: Sides = None,
) -> Boundary:
    """Return where two Gaussian classes are equally probable, positive on the side of a.

    Its ``evaluate`` is the log odds log p(a∣x) − log p(b∣x).
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.
    """
    for k, label in zip((a, b), labels or (a, b), strict=True):
        if np.isneginf(model.log_priors[k]):
            msg = (
                f"class {label!r} has prior 0, so it has no boundary: give it a positive prior"
            )
            raise InvalidParameterError(msg)
    (mu_a, mu_b), (prior_a, prior_b) = model.means[[a, b]], model.log_priors[[a, b]]
    P_a, P_b = (model.covariance_of(k).dense_precision() for k in (a, b))
    m = _middle(mu_a, mu_b, P_a, P_b)
    u_a, u_b = mu_a - m, mu_b - m
    if model.group_of[a] == model.group_of[b]:
        # w = P(μ_a − μ_b),  y(m) = log π_a/π_b − ½ wᵀ((μ_a − m) + (μ_b − m))
        w = P_a @ (mu_a - mu_b)
        value = prior_a - prior_b - 0.5 * w @ (u_a + u_b)
        return Hyperplane(w, float(value), feature_names, labels, m)
    # δ_k(m) = log π_k − ½ (log|Σ_k| + (μ_k − m)ᵀP_k(μ_k − m))
    delta_a = prior_a - 0.5 * (model.covariance_of(a).log_det + u_a @ P_a @ u_a)
    delta_b = prior_b - 0.5 * (model.covariance_of(b).log_det + u_b @ P_b @ u_b)
    # A = ½(P_b − P_a),  ∇y(m) = P_a(μ_a − m) − P_b(μ_b − m),  y(m) = δ_a(m) − δ_b(m)
    A, gradient = 0.5 * (P_b - P_a), P_a @ u_a - P_b @ u_b
    return Quadric(A, gradient, float(delta_a - delta_b), feature_names, labels, m)


def _middle(mu_a: Floats, mu_b: Floats, P_a: Floats, P_b: Floats) -> Floats:
    """Return the point least far from both classes, in their own units: the best anchor."""
    # m = (P_a + P_b)⁻¹ (P_a μ_a + P_b μ_b) = μ_a + (P_a + P_b)⁻¹ P_b (μ_b − μ_a)
    M, s = balanced(P_a + P_b)
    return mu_a + s * (np.linalg.pinv(M, hermitian=True) @ (s * (P_b @ (mu_b - mu_a))))


# (d, p, q), signs p ≥ q of the eigenvalues of A → names of zᵀΛz + c̃ = 0 for c̃ < 0, c̃ = 0, c̃ > 0,
# and of zᵀΛz + t = 0, where b has a part t outside the range of A
_NAMES: dict[tuple[int, int, int], tuple[str, str, str, str]] = {
    (1, 1, 0): ("two points", "point", "empty", ""),
    (1, 0, 0): ("empty", "everything", "empty", "point"),
    (2, 2, 0): ("ellipse", "point", "empty", ""),
    (2, 1, 1): ("hyperbola", "intersecting lines", "hyperbola", ""),
    (2, 1, 0): ("parallel lines", "double line", "empty", "parabola"),
    (2, 0, 0): ("empty", "everything", "empty", "line"),
}


def quadric_kind(A: Floats, b: Floats, c: float) -> str:
    """Return the name of {u : uᵀAu + bᵀu + c = 0}."""
    d = len(b)
    up, down = _inertia(A)
    half = 0.5 * b[:, None]
    whole_up, whole_down = _inertia(np.block([[A, half], [half.T, np.array([[c]])]]))
    # the whole form [A ½b; ½bᵀ c] adds to the signs of A: that of c̃, or + and − if b ∉ range A
    extra = whole_up + whole_down - up - down
    sign = np.sign(extra) * (1 if whole_up > up else -1)
    case = 3 if extra > 1 and up + down < d else 1 + int(sign if up >= down else -sign)
    signs = (max(up, down), min(up, down))
    found = (_NAMES[d, *signs] if d < 3 else _surface(d, *signs))[case]
    if d != 3:
        return found
    if found == "hyperboloid":
        return f"hyperboloid of {'one sheet' if case == 0 else 'two sheets'}"
    return found.replace("hyperplane", "plane").replace("affine subspace", "line")


def _surface(d: int, p: int, q: int) -> tuple[str, str, str, str]:
    """Return the four names from three dimensions on, where p + q eigenvalues are not zero."""
    if p == 0:
        return "empty", "everything", "empty", "hyperplane"
    if p + q == 1:
        return "parallel hyperplanes", "double hyperplane", "empty", "parabolic cylinder"
    shape = "elliptic" if q == 0 else "hyperbolic"
    bowl = f"{shape} paraboloid" if p + q == d - 1 else "parabolic cylinder"
    if p == d:
        return "ellipsoid", "point", "empty", ""
    if q == 0:
        return f"{shape} cylinder", "affine subspace", "empty", bowl
    body = "hyperboloid" if p + q == d else "hyperbolic cylinder"
    return body, "intersecting hyperplanes" if p == 1 else "cone", body, bowl


def _inertia(M: Floats) -> tuple[int, int]:
    """Return how many eigenvalues are positive and negative, whatever the units of axes."""
    values = np.linalg.eigvalsh(balanced(M)[0])
    floor = 8 * len(M) * EPS * np.abs(values).max(initial=0.0)
    return int((values > floor).sum()), int((values < -floor).sum())


def balanced(M: Floats) -> tuple[Floats, Floats]:
    """Return (sᵢ Mᵢⱼ sⱼ, s) with s powers of two that bring every row near to one."""
    s = np.ones(len(M))
    for _ in range(8):
        largest = np.abs(s[:, None] * M * s).max(axis=1, initial=0.0)
        with np.errstate(divide="ignore"):
            s = s * np.exp2(-np.round(0.5 * np.log2(np.where(largest > 0, largest, 1.0))))
    return s[:, None] * M * s, s
