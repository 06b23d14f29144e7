"""A hyperplane between two classes whose scores are linear."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from suffice.core.model.geometry.surface import (
    Expansion,
    Sides,
    Surface,
    as_points,
    fixed,
    with_sign,
)
from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hyperplane(Surface):
    """The hyperplane {x : wᵀx + w_0 = 0} and its two sides.

    A point x lies on the side of ``labels[0]`` if y(x) = wᵀx + w_0 is positive.

    Bishop (2006), *Pattern Recognition and Machine Learning*, section 4.1.1.

    Parameters
    ----------
    w : array of shape (d,)
        The normal vector, orthogonal to the hyperplane.
    w_0 : float
        The value of y at the origin.
    feature_names, labels : tuples, optional
        Names of the d features; labels of the positive and the negative side.

    Examples
    --------
    >>> plane = Hyperplane([3.0, -4.0], 10.0, ("length", "width"), ("bass", "salmon"))
    >>> plane.equation()
    '3·length − 4·width + 10 = 0'
    >>> plane.signed_distance([[0.0, 0.0], [0.0, 5.0]])
    array([ 2., -2.])
    """

    w: Floats  # (d,)
    w_0: float
    feature_names: tuple[str, ...] | None = None
    labels: Sides | None = None
    _anchor: Floats = field(init=False, repr=False)  # m  (d,)
    _gradient_at_anchor: Floats = field(init=False, repr=False)  # w  (d,)
    _value_at_anchor: float = field(init=False, repr=False)  # wᵀm + w_0

    def __post_init__(self) -> None:
        d = np.size(self.w)
        w = fixed("w", self.w, (d,))
        w_0 = float(fixed("w_0", self.w_0, ()))
        object.__setattr__(self, "w", w)
        object.__setattr__(self, "w_0", w_0)
        object.__setattr__(self, "_anchor", fixed("anchor", np.zeros(d), (d,)))
        object.__setattr__(self, "_gradient_at_anchor", w)
        object.__setattr__(self, "_value_at_anchor", w_0)
        self._check_names(d)

    @classmethod
    def about(
        cls,
        point: npt.ArrayLike,
        w: npt.ArrayLike,
        value: float,
        feature_names: tuple[str, ...] | None = None,
        labels: Sides | None = None,
    ) -> Hyperplane:
        """Return the hyperplane, given its normal vector and the value of y at a point.

        The values of y near that point are accurate, even if the point is far from the origin.
        """
        d = np.size(w)
        anchor = fixed("point", point, (d,))
        normal = fixed("w", w, (d,))
        level = float(fixed("value", value, ()))
        expansion = Expansion(anchor=anchor, A=None, gradient=normal, value=level)
        _, w_0 = expansion.at_origin()
        plane = cls(normal, w_0, feature_names, labels)
        object.__setattr__(plane, "_anchor", anchor)
        object.__setattr__(plane, "_value_at_anchor", level)
        return plane

    @property
    def _coefficients(self) -> tuple[None, Floats, float]:
        return None, self.w, self.w_0

    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): for classes, the log odds of ``labels[0]`` against ``labels[1]``."""
        # y(x) = wᵀx + w_0 = wᵀ(x − m) + y(m)
        return (as_points(x, self.n_features) - self._anchor) @ self.w + self._value_at_anchor

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return y(x) / ‖w‖, (n,), or infinity if w = 0, since there is no boundary."""
        return self._over_length(self.evaluate(x))

    @property
    def distance_of_origin(self) -> float:
        """Signed distance of the plane from the origin, −w_0 / ‖w‖: negative if w_0 > 0."""
        return -float(self._over_length(np.array(self.w_0)))

    def _over_length(self, y: Floats) -> Floats:
        """Return y / ‖w‖, or infinity if w = 0."""
        length = np.linalg.norm(self.w)
        distance = np.abs(y) / length if length > 0 else np.full_like(y, np.inf)
        return with_sign(y, distance)

    def _section(
        self,
        axes: list[int],
        gradient: Floats,
        value: float,
        feature_names: tuple[str, ...] | None,
    ) -> Hyperplane:
        return Hyperplane.about(
            point=self._anchor[axes],
            w=gradient,
            value=value,
            feature_names=feature_names,
            labels=self.labels,
        )

    def _steps(self, x: npt.ArrayLike) -> Floats:
        # from x to its projection x − (y(x) / ‖w‖) w / ‖w‖, which ``Surface.project`` returns
        unit = self.w / (np.linalg.norm(self.w) or 1.0)
        with np.errstate(invalid="ignore"):
            return -self.signed_distance(x)[:, None] * unit
