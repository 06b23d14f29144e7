"""A hyperplane between two classes whose scores are linear."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from suffice.core.model.geometry.surface import ClassTerms, Sides, Surface, fixed, with_sign
from suffice.typing import Floats


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
    labels: Sides | None = None
    anchor: Floats = field(default_factory=lambda: np.zeros(()))  # m  (d,)

    def __post_init__(self) -> None:
        d = np.size(self.normal)
        object.__setattr__(self, "normal", fixed("normal", self.normal, (d,)))
        object.__setattr__(self, "offset", float(fixed("offset", self.offset, ())))
        self._check_anchor_and_names(d)

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
        distance = np.abs(y) / length if length > 0 else np.full_like(y, np.inf)
        return with_sign(y, distance)

    def _section(
        self,
        axes: list[int],
        gradient: Floats,
        value: float,
        feature_names: tuple[str, ...] | None,
    ) -> Hyperplane:
        return Hyperplane(
            normal=gradient,
            offset=value,
            feature_names=feature_names,
            labels=self.labels,
            anchor=self.anchor[axes],
        )

    def _steps(self, x: npt.ArrayLike) -> Floats:
        # −(y(x) / ‖w‖) w / ‖w‖
        unit = self.normal / (np.linalg.norm(self.normal) or 1.0)
        with np.errstate(invalid="ignore"):
            return -self.signed_distance(x)[:, None] * unit


def hyperplane_between(
    a: ClassTerms,
    b: ClassTerms,
    *,
    anchor: Floats,
    feature_names: tuple[str, ...] | None,
    labels: Sides | None,
) -> Hyperplane:
    """Return where two Gaussian classes of one covariance are equally probable."""
    # w = P(μ_a − μ_b),  y(m) = log π_a/π_b − ½ wᵀ((μ_a − m) + (μ_b − m))
    w = a.precision @ (a.mean - b.mean)
    value = a.log_prior - b.log_prior - 0.5 * w @ (a.offset + b.offset)
    return Hyperplane(
        normal=w,
        offset=float(value),
        feature_names=feature_names,
        labels=labels,
        anchor=anchor,
    )
