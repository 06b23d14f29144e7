"""The boundary between two classes whose scores are quadratic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.model.geometry.conic import real_roots, trace_conic
from suffice.model.geometry.coordinates import (
    Window,
    checked_count,
    checked_names,
    fixed,
    held,
    plane_axes,
    points,
    require_one_feature,
    require_reached,
    side_labels,
    signed,
)
from suffice.model.geometry.equation import Latex, Text, beyond_rounding, written
from suffice.model.geometry.kind import balanced, kind_of, rank_of
from suffice.model.geometry.nearest import shortest_steps

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Quadric:
    r"""The quadric :math:`\{x : (x-m)^\top A (x-m) + b^\top (x-m) + c = 0\}` and its two sides.

    With the default anchor m = 0 this is xᵀAx + bᵀx + c = 0. An anchor near the data keeps
    every digit where the data are far from zero. Where y(x) is positive, ``labels[0]`` is
    preferred.

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

    References
    ----------
    Duda, Hart & Stork (2001), *Pattern Classification*, section 2.6.3.

    Examples
    --------
    >>> circle = Quadric([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], -4.0, labels=("out", "in"))
    >>> circle.equation(), circle.kind
    ('x₁² + x₂² − 4 = 0', 'ellipse')
    >>> circle.signed_distance([[3.0, 4.0], [1.0, 0.0]])
    array([ 3., -1.])
    >>> circle.side([[3.0, 4.0], [1.0, 0.0]])
    array(['out', 'in'], dtype='<U3')
    """

    A: Floats  # (d, d), symmetric
    b: Floats  # ∇y(m)  (d,)
    c: float  # y(m)
    feature_names: tuple[str, ...] | None = None
    labels: tuple[Any, Any] | None = None
    anchor: Floats = field(default_factory=lambda: np.zeros(()))  # m  (d,)

    def __post_init__(self) -> None:
        d = np.size(self.b)
        A = fixed("A", self.A, (d, d))
        anchor = np.broadcast_to(self.anchor, (d,)) if np.ndim(self.anchor) == 0 else self.anchor
        object.__setattr__(self, "A", fixed("A", 0.5 * (A + A.T), (d, d)))
        object.__setattr__(self, "b", fixed("b", self.b, (d,)))
        object.__setattr__(self, "c", float(fixed("c", self.c, ())))
        object.__setattr__(self, "anchor", fixed("anchor", anchor, (d,)))
        object.__setattr__(self, "feature_names", checked_names(self.feature_names, d))

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.b)

    @property
    def kind(self) -> str:
        """What the quadric is: in the plane "ellipse", "hyperbola", "parabola", "line", …."""
        return kind_of(self.A, self.b, self.c)

    @property
    def centre(self) -> Floats | None:
        """Centre of symmetry (d,), or None where there is not exactly one (a parabola)."""
        if rank_of(self.A) < self.n_features:
            return None
        # 2A(x − m) + b = 0, each feature in a unit of its own
        M, s = balanced(self.A)
        return self.anchor - 0.5 * s * np.linalg.solve(M, s * self.b)

    @property
    def distance_of_origin(self) -> float:
        """Signed distance of the quadric from the origin: negative where y(0) is positive."""
        return float(-self.signed_distance(np.zeros(self.n_features))[0])

    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): of classes the log odds of ``labels[0]`` against ``labels[1]``."""
        u = points(x, self.n_features) - self.anchor
        # y(x) = uᵀAu + bᵀu + c,  u = x − m
        y: Floats = np.einsum("ij,ij->i", u @ self.A + self.b, u) + self.c
        return y

    def gradient(self, x: npt.ArrayLike) -> Floats:
        """Return ∇y at each row, (n, d)."""
        # ∇y = 2Au + b
        g: Floats = 2 * (points(x, self.n_features) - self.anchor) @ self.A + self.b
        return g

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return the exact distance to the quadric with the sign of y, (n,).

        Infinite where there is no boundary, since one side is everywhere.
        """
        return signed(self.evaluate(x), np.linalg.norm(self._steps(x), axis=1))

    def first_order_distance(self, x: npt.ArrayLike) -> Floats:
        """Return y / ‖∇y‖, (n,): Sampson's quick approximation, good near the quadric."""
        y, slope = self.evaluate(x), np.linalg.norm(self.gradient(x), axis=1)
        return signed(y, np.divide(np.abs(y), slope, out=np.full_like(y, np.inf), where=slope > 0))

    def project(self, x: npt.ArrayLike) -> Floats:
        """Return a nearest point of the quadric to each row, (n, d)."""
        steps = self._steps(x)
        require_reached(steps)
        return points(x, self.n_features) + steps

    def side(self, x: npt.ArrayLike) -> Labels:
        """Return the label of each row's side, (n,): +1 and −1 where there are no labels."""
        return side_labels(self.evaluate(x), self.labels)

    def section(
        self, features: tuple[int | str, int | str] = (0, 1), at: npt.ArrayLike | None = None
    ) -> Quadric:
        """Return the conic over two features, the others held at ``at`` (d,), default zero."""
        axes = plane_axes(features, self.feature_names, self.n_features)
        here = held(at, self.anchor, axes)
        names = self.feature_names and tuple(self.feature_names[i] for i in axes)
        b, c = self.gradient(here)[0, axes], float(self.evaluate(here)[0])
        return Quadric(self.A[np.ix_(axes, axes)], b, c, names, self.labels, self.anchor[axes])

    def curve(
        self,
        window: npt.ArrayLike,
        features: tuple[int | str, int | str] = (0, 1),
        at: npt.ArrayLike | None = None,
        n: int = 100,
    ) -> list[Floats]:
        """Return the conic in ((x_lo, x_hi), (y_lo, y_hi)) as polylines (m, 2).

        Each has n points to a smooth arc; an ellipse inside the window is closed.
        """
        frame, conic = Window.of(window), self.section(features, at)
        A = frame.half[:, None] * conic.A * frame.half
        b = frame.half * conic.gradient(frame.centre)[0]
        traced = trace_conic(A, b, float(conic.evaluate(frame.centre)[0]), checked_count(n))
        return [frame.place(u) for u in traced]

    def roots(self) -> Floats:
        """Return the boundary points of a single feature, ascending: none, one or two."""
        require_one_feature(self.n_features)
        return self.anchor + real_roots(float(self.A[0, 0]), float(self.b[0]), self.c)

    def equation(self, digits: int = 4, about: npt.ArrayLike | None = None) -> str:
        """Return the equation as text, in x or in x − ``about``; its left side is y(x)."""
        return written(self._form(about), self.feature_names, digits, Text())

    def latex(self, digits: int = 4, about: npt.ArrayLike | None = None) -> str:
        """Return the equation as LaTeX, in x or in x − ``about``."""
        return written(self._form(about), self.feature_names, digits, Latex())

    def _form(self, about: npt.ArrayLike | None) -> tuple[Floats, Floats, float, Floats]:
        m = np.zeros(self.n_features) if about is None else points(about, self.n_features)[0]
        far, A, b = np.abs(m - self.anchor), np.abs(self.A), np.abs(self.b)
        gradient = beyond_rounding(self.gradient(m)[0], 2 * A @ far + b)
        value = beyond_rounding(self.evaluate(m)[0], far @ A @ far + b @ far + abs(self.c))
        return self.A, gradient, float(value), m

    def _steps(self, x: npt.ArrayLike) -> Floats:
        """Return the shortest step from each row to the quadric, (n, d)."""
        y, gradient = self.evaluate(x), self.gradient(x)
        if self.kind == "empty":
            return np.full_like(gradient, np.inf)
        steps = np.zeros_like(gradient)
        for sign in (1.0, -1.0):
            rows = sign * y > 0
            lam, V = np.linalg.eigh(sign * self.A)
            g = sign * gradient[rows] @ V
            steps[rows] = shortest_steps(lam, g, sign * y[rows]) @ V.T
        return steps
