"""The boundary between two classes whose scores are linear."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.model.geometry.conic import trace_line
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

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    r"""The hyperplane :math:`\{x : w^\top (x - m) + w_m = 0\}` and its two sides.

    With the default anchor m = 0 this is wᵀx + w_0 = 0. An anchor near the data keeps every
    digit where the data are far from zero. Where y(x) is positive, ``labels[0]`` is preferred.

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

    References
    ----------
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 4.1.1.

    Examples
    --------
    >>> plane = Hyperplane([3.0, -4.0], 10.0, ("length", "width"), ("bass", "salmon"))
    >>> plane.equation()
    '3·length − 4·width + 10 = 0'
    >>> plane.signed_distance([[0.0, 0.0], [0.0, 5.0]])
    array([ 2., -2.])
    >>> plane.side([[0.0, 0.0], [0.0, 5.0]])
    array(['bass', 'salmon'], dtype='<U6')
    """

    normal: Floats  # w  (d,)
    offset: float  # y(m)
    feature_names: tuple[str, ...] | None = None
    labels: tuple[Any, Any] | None = None
    anchor: Floats = field(default_factory=lambda: np.zeros(()))  # m  (d,)

    def __post_init__(self) -> None:
        d = np.size(self.normal)
        anchor = np.broadcast_to(self.anchor, (d,)) if np.ndim(self.anchor) == 0 else self.anchor
        object.__setattr__(self, "normal", fixed("normal", self.normal, (d,)))
        object.__setattr__(self, "offset", float(fixed("offset", self.offset, ())))
        object.__setattr__(self, "anchor", fixed("anchor", anchor, (d,)))
        object.__setattr__(self, "feature_names", checked_names(self.feature_names, d))

    @classmethod
    def between_scores(
        cls,
        w_a: npt.ArrayLike,
        w_a0: float,
        w_b: npt.ArrayLike,
        w_b0: float,
        *,
        feature_names: tuple[str, ...] | None = None,
        labels: tuple[Any, Any] | None = None,
    ) -> Hyperplane:
        """Return where two linear scores wᵀx + w_0 are equal, positive where a is larger."""
        # (w_a − w_b)ᵀ x + (w_a0 − w_b0) = 0
        return cls(np.subtract(w_a, w_b), w_a0 - w_b0, feature_names, labels)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.normal)

    @property
    def intercept(self) -> float:
        """Value at the origin, w_0."""
        return float(self.offset - self.normal @ self.anchor)

    @property
    def distance_of_origin(self) -> float:
        """Signed distance −w_0 / ‖w‖ of the plane from the origin, along w."""
        return float(-self.signed_distance(np.zeros(self.n_features))[0])

    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): of classes the log odds of ``labels[0]`` against ``labels[1]``."""
        # y(x) = wᵀ(x − m) + y(m)
        y: Floats = (points(x, self.n_features) - self.anchor) @ self.normal + self.offset
        return y

    def gradient(self, x: npt.ArrayLike) -> Floats:
        """Return ∇y = w at each row, (n, d)."""
        return np.tile(self.normal, (len(points(x, self.n_features)), 1))

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return y(x) / ‖w‖, (n,); infinite where there is no boundary since w = 0."""
        y = self.evaluate(x)
        length = np.linalg.norm(self.normal)
        return signed(y, np.abs(y) / length if length > 0 else np.full_like(y, np.inf))

    def project(self, x: npt.ArrayLike) -> Floats:
        """Return the nearest point of the hyperplane to each row, (n, d)."""
        rows = points(x, self.n_features)
        distance = self.signed_distance(rows)
        require_reached(distance)
        # x − (y(x) / ‖w‖) w / ‖w‖
        unit = self.normal / (np.linalg.norm(self.normal) or 1.0)
        return rows - distance[:, None] * unit

    def side(self, x: npt.ArrayLike) -> Labels:
        """Return the label of each row's side, (n,): +1 and −1 where there are no labels."""
        return side_labels(self.evaluate(x), self.labels)

    def section(
        self, features: tuple[int | str, int | str] = (0, 1), at: npt.ArrayLike | None = None
    ) -> Hyperplane:
        """Return the line over two features, the others held at ``at`` (d,), default zero."""
        axes = plane_axes(features, self.feature_names, self.n_features)
        here = held(at, self.anchor, axes)
        names = self.feature_names and tuple(self.feature_names[i] for i in axes)
        value = float(self.evaluate(here)[0])
        return Hyperplane(self.normal[axes], value, names, self.labels, self.anchor[axes])

    def curve(
        self,
        window: npt.ArrayLike,
        features: tuple[int | str, int | str] = (0, 1),
        at: npt.ArrayLike | None = None,
        n: int = 100,
    ) -> list[Floats]:
        """Return the line in ((x_lo, x_hi), (y_lo, y_hi)) as a list of none or one (n, 2)."""
        frame, line = Window.of(window), self.section(features, at)
        value = float(line.evaluate(frame.centre)[0])
        traced = trace_line(line.normal * frame.half, value, checked_count(n))
        return [frame.place(u) for u in traced]

    def roots(self) -> Floats:
        """Return the boundary point of a single feature, as an array of none or one."""
        require_one_feature(self.n_features)
        if self.normal[0] == 0:
            return np.empty(0)
        return self.anchor - self.offset / self.normal

    def equation(self, digits: int = 4, about: npt.ArrayLike | None = None) -> str:
        """Return the equation as text, in x or in x − ``about``; its left side is y(x)."""
        return written(self._form(about), self.feature_names, digits, Text())

    def latex(self, digits: int = 4, about: npt.ArrayLike | None = None) -> str:
        """Return the equation as LaTeX, in x or in x − ``about``."""
        return written(self._form(about), self.feature_names, digits, Latex())

    def _form(self, about: npt.ArrayLike | None) -> tuple[None, Floats, float, Floats]:
        m = np.zeros(self.n_features) if about is None else points(about, self.n_features)[0]
        size = np.abs(self.normal) @ np.abs(m - self.anchor) + abs(self.offset)
        return None, self.normal, float(beyond_rounding(self.evaluate(m)[0], size)), m
