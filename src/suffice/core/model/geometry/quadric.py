"""A quadric between two classes with quadratic scores, and the shortest steps to a quadric."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from suffice.core.linalg import EPS
from suffice.core.model.geometry.quadric_kind import quadric_kind
from suffice.core.model.geometry.surface import (
    ClassTerms,
    Expansion,
    Sides,
    Surface,
    as_points,
    fixed,
)
from suffice.typing import Floats

# a tiny shift of points on an axis of symmetry, which decides between two nearest points
ASIDE = 1e-100
LOG_RANGE = (-690.0, 300.0)  # range of log v, so that v and v² stay finite
ROUNDS = 200


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quadric(Surface):
    """The quadric {x : xᵀAx + bᵀx + c = 0} and its two sides.

    A point x lies on the side of ``labels[0]`` if y(x) = xᵀAx + bᵀx + c is positive.

    Duda, Hart & Stork (2001), *Pattern Classification*, section 2.6.3.

    Parameters
    ----------
    A : array of shape (d, d)
        The quadratic part; only its symmetric part ½ (A + Aᵀ) matters.
    b : array of shape (d,)
        The gradient of y at the origin.
    c : float
        The value of y at the origin.
    feature_names, labels : tuples, optional
        Names of the d features; labels of the positive and the negative side.

    Examples
    --------
    >>> circle = Quadric([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], -4.0, labels=("out", "in"))
    >>> circle.equation(), circle.kind
    ('x₁² + x₂² − 4 = 0', 'ellipse')
    >>> circle.signed_distance([[3.0, 4.0], [1.0, 0.0]])
    array([ 3., -1.])
    """

    A: Floats  # (d, d), symmetric
    b: Floats  # ∇y(0)  (d,)
    c: float  # y(0)
    feature_names: tuple[str, ...] | None = None
    labels: Sides | None = None
    _anchor: Floats = field(init=False, repr=False)  # m  (d,)
    _gradient_at_anchor: Floats = field(init=False, repr=False)  # ∇y(m)  (d,)
    _value_at_anchor: float = field(init=False, repr=False)  # y(m)

    def __post_init__(self) -> None:
        d = np.size(self.b)
        A = fixed("A", self.A, (d, d))
        b = fixed("b", self.b, (d,))
        c = float(fixed("c", self.c, ()))
        object.__setattr__(self, "A", fixed("A", 0.5 * (A + A.T), (d, d)))
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "c", c)
        object.__setattr__(self, "_anchor", fixed("anchor", np.zeros(d), (d,)))
        object.__setattr__(self, "_gradient_at_anchor", b)
        object.__setattr__(self, "_value_at_anchor", c)
        self._check_names(d)

    @classmethod
    def about(
        cls,
        point: npt.ArrayLike,
        A: npt.ArrayLike,
        gradient: npt.ArrayLike,
        value: float,
        feature_names: tuple[str, ...] | None = None,
        labels: Sides | None = None,
    ) -> Quadric:
        """Return the quadric, given A, and the gradient and value of y at a point.

        The values of y near that point are accurate, even if the point is far from the origin.
        """
        d = np.size(gradient)
        anchor = fixed("point", point, (d,))
        square = fixed("A", A, (d, d))
        symmetric = 0.5 * (square + square.T)
        slope = fixed("gradient", gradient, (d,))
        level = float(fixed("value", value, ()))
        expansion = Expansion(anchor=anchor, A=symmetric, gradient=slope, value=level)
        b, c = expansion.at_origin()
        quadric = cls(symmetric, b, c, feature_names, labels)
        object.__setattr__(quadric, "_anchor", anchor)
        object.__setattr__(quadric, "_gradient_at_anchor", slope)
        object.__setattr__(quadric, "_value_at_anchor", level)
        return quadric

    @property
    def kind(self) -> str:
        """Name of the quadric; in the plane "ellipse", "hyperbola", "parabola", "line", …."""
        return quadric_kind(self.A, self._gradient_at_anchor, self._value_at_anchor)

    @property
    def _coefficients(self) -> tuple[Floats, Floats, float]:
        return self.A, self.b, self.c

    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): for classes, the log odds of ``labels[0]`` against ``labels[1]``."""
        # y(x) = xᵀAx + bᵀx + c = uᵀAu + ∇y(m)ᵀu + y(m),  u = x − m
        u = as_points(x, self.n_features) - self._anchor
        slopes = u @ self.A + self._gradient_at_anchor
        return np.asarray(np.einsum("ij,ij->i", slopes, u) + self._value_at_anchor)

    def _section(
        self,
        axes: list[int],
        gradient: Floats,
        value: float,
        feature_names: tuple[str, ...] | None,
    ) -> Quadric:
        return Quadric.about(
            point=self._anchor[axes],
            A=self.A[np.ix_(axes, axes)],
            gradient=gradient,
            value=value,
            feature_names=feature_names,
            labels=self.labels,
        )

    def _steps(self, x: npt.ArrayLike) -> Floats:
        y = self.evaluate(x)
        gradient = self.gradient(x)
        kind = self.kind
        if kind == "empty":
            return np.full_like(gradient, np.inf)
        if kind.startswith("double"):
            # a double plane has y = λ (nᵀ(x − p))²; the general formula would amplify rounding
            # errors of
            # the eigenvalues that should be zero
            return np.asarray(-gradient / (2 * np.trace(self.A)))
        steps = np.zeros_like(gradient)
        for sign in (1.0, -1.0):
            rows = sign * y > 0
            lam, V = np.linalg.eigh(sign * self.A)
            steps[rows] = shortest_steps(lam, sign * gradient[rows] @ V, sign * y[rows]) @ V.T
        return steps


def shortest_steps(eigenvalues: Floats, gradients: Floats, values: Floats) -> Floats:
    """Return the shortest e with q + gᵀe + eᵀΛe = 0 for each row, (n, d), if there is one.

    The stationary points are e = −½ t (I + tΛ)⁻¹ g. The stationary point with I + tΛ ⪰ 0 is the
    shortest step. On the interval of t with I + tΛ ⪰ 0, the constraint is monotone in t. Moré
    (1993), *Optim. Methods Softw.* 2.
    """
    lowest = eigenvalues[0]
    is_bounded = bool(lowest < 0)  # whether the interval of t is bounded
    kappa = float(is_bounded)
    with np.errstate(all="ignore"):
        # 1 + tλᵢ = 1/hᵢ with t = Tτ, τ = v/(1+κv), hᵢ = (1+κv)/(1+v gapᵢ): these formulas never
        # subtract numbers that are nearly equal
        if is_bounded:
            # 1 + tλ ≥ 0 up to t = T = −1/λ_min
            T = np.full(len(values), -1 / lowest)
            gap = np.broadcast_to(1 - eigenvalues / lowest, gradients.shape)
        else:
            # 1 + tλ ≥ 0 for all t ≥ 0; T solves the equation with Λ = 0
            T = 2 * values / np.square(gradients).sum(1)
            gap = eigenvalues * T[:, None]
        gamma = gradients * np.sqrt(0.25 * T / values)[:, None]
        if is_bounded:
            gamma[:, 0] = np.where(np.abs(gamma[:, 0]) < ASIDE, ASIDE, gamma[:, 0])
        v = _root(np.square(gamma), gap, kappa)
        # e = −½ t (I + tΛ)⁻¹ g = −√(qT) τ h γ
        e: Floats = -np.sqrt(values * T)[:, None] * v[:, None] / (1 + v[:, None] * gap) * gamma
    return np.nan_to_num(e)  # e is NaN for a row on the quadric, whose step is 0


def _root(squares: Floats, gap: Floats, kappa: float) -> Floats:
    """Return v > 0 with S = τ Σᵢ γᵢ² hᵢ (1 + hᵢ) = 1, (n,), by bracketed Newton steps in logs."""
    lowest, highest = LOG_RANGE
    low = np.full(len(squares), lowest)
    high = np.full(len(squares), highest)
    w = np.clip(-np.log(2 * squares.sum(1)), low, high)
    for _ in range(ROUNDS):
        v = np.exp(w)
        whole = 1 + kappa * v
        lengths = 1 + v[:, None] * gap
        h = whole[:, None] / lengths
        total = (squares * h * (1 + h)).sum(1)
        excess = np.log(v / whole * total)
        # dS/dτ = 2 Σ γ² h³,  dτ/d log v = τ / (1 + κv)
        slope = 2 * (squares * h**2 / lengths).sum(1) / total
        low = np.where(excess <= 0, w, low)
        high = np.where(excess >= 0, w, high)
        newton = w - excess / slope
        is_bracketed = (newton >= low) & (newton <= high)
        previous = w
        w = np.where(is_bracketed, newton, 0.5 * (low + high))
        is_settled = np.abs(w - previous) <= 4 * EPS * np.maximum(1, np.abs(w))
        if np.all(is_settled | (np.abs(excess) <= 16 * EPS)):
            break
    return np.asarray(np.exp(w))


def quadric_between(
    a: ClassTerms,
    b: ClassTerms,
    *,
    anchor: Floats,
    feature_names: tuple[str, ...] | None,
    labels: Sides | None,
) -> Quadric:
    """Return the quadric on which two Gaussian classes with different Σ are equally probable."""
    # δ_k(m) = log π_k − ½ (log|Σ_k| + (μ_k − m)ᵀP_k(μ_k − m))
    delta_a = a.log_prior - 0.5 * (a.log_det + a.offset @ a.precision @ a.offset)
    delta_b = b.log_prior - 0.5 * (b.log_det + b.offset @ b.precision @ b.offset)
    # A = ½(P_b − P_a),  ∇y(m) = P_a(μ_a − m) − P_b(μ_b − m),  y(m) = δ_a(m) − δ_b(m)
    # so that y(x) = xᵀAx + bᵀx + c with b = ∇y(m) − 2Am, c = y(m) − ∇y(m)ᵀm + mᵀAm
    return Quadric.about(
        point=anchor,
        A=0.5 * (b.precision - a.precision),
        gradient=a.precision @ a.offset - b.precision @ b.offset,
        value=float(delta_a - delta_b),
        feature_names=feature_names,
        labels=labels,
    )
