"""The boundary between two classes whose scores are linear."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.model.geometry.surface import Surface, fixed, signed
from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane(Surface):
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
        offset = float(fixed("offset", self.offset, ()))
        self._set_fields(d, normal=fixed("normal", self.normal, (d,)), offset=offset)

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
    def intercept(self) -> float:
        """Value at the origin, w_0."""
        return float(self.offset - self.normal @ self.anchor)

    @property
    def coefficients(self) -> tuple[None, Floats, float]:
        """None, w and y(m)."""
        return None, self.normal, self.offset

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return y(x) / ‖w‖, (n,); infinite where there is no boundary since w = 0."""
        y = self.evaluate(x)
        length = np.linalg.norm(self.normal)
        return signed(y, np.abs(y) / length if length > 0 else np.full_like(y, np.inf))

    def _steps(self, x: npt.ArrayLike) -> Floats:
        # −(y(x) / ‖w‖) w / ‖w‖
        unit = self.normal / (np.linalg.norm(self.normal) or 1.0)
        with np.errstate(invalid="ignore"):
            return -self.signed_distance(x)[:, None] * unit
