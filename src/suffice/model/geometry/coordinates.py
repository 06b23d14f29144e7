"""What every boundary shares: checked arrays, points, names of axes, labels of sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The rectangle low ≤ x ≤ high; tracing in units of it makes answers free of units."""

    low: Floats  # (2,)
    high: Floats  # (2,)

    @classmethod
    def of(cls, window: npt.ArrayLike) -> Window:
        """Read ((x_lo, x_hi), (y_lo, y_hi))."""
        limits = np.asarray(window, dtype=np.float64)
        sound = limits.shape == (2, 2) and np.all(np.isfinite(limits))
        if not sound or not np.all(limits[:, 0] < limits[:, 1]):
            msg = f"window={window!r}: expected ((x_lo, x_hi), (y_lo, y_hi)), finite, lo < hi"
            raise InvalidParameterError(msg)
        return cls(limits[:, 0], limits[:, 1])

    @property
    def centre(self) -> Floats:
        """Middle of the rectangle, (2,)."""
        return self.low + self.half

    @property
    def half(self) -> Floats:
        """Half of each side, (2,)."""
        return 0.5 * (self.high - self.low)

    def place(self, u: Floats) -> Floats:
        """Return points of the square as points of the plane, inside the rectangle."""
        return np.clip(self.centre + self.half * u, self.low, self.high)


def checked_count(n: int) -> int:
    """Return n, at least the two ends of an arc."""
    if n < 2:
        msg = f"n={n}: an arc needs at least its two ends"
        raise InvalidParameterError(msg)
    return int(n)


def fixed(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return a read-only copy as finite floats of the given shape, or say what is wrong."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        msg = f"{name} has shape {array.shape}, expected {shape}"
        raise FeatureMismatchError(msg)
    strange = array[~np.isfinite(array)]
    if strange.size:
        msg = f"{name} holds {strange[0]}: a boundary needs finite coefficients"
        raise InvalidParameterError(msg)
    array.flags.writeable = False
    return array


def points(x: npt.ArrayLike, d: int) -> Floats:
    """Return rows (n, d); a single point (d,), or a column of numbers if d = 1, will do."""
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim < 2 and (d == 1 or rows.size == d):
        rows = rows.reshape(-1, d)
    if rows.ndim != 2 or rows.shape[1] != d:
        msg = f"points have shape {rows.shape}, expected (n, {d}): one column per feature"
        raise FeatureMismatchError(msg)
    return rows


def checked_names(names: tuple[str, ...] | None, d: int) -> tuple[str, ...] | None:
    """Return the names as a tuple of d strings, or None."""
    if names is None:
        return None
    if len(names) != d:
        msg = f"{len(names)} feature names for {d} features"
        raise FeatureMismatchError(msg)
    return tuple(str(name) for name in names)


def side_labels(y: Floats, labels: tuple[Any, Any] | None) -> Labels:
    """Return the first label where y ≥ 0 and the second elsewhere; +1 and −1 without labels."""
    pair: Labels = np.array([1, -1])
    if labels is not None and type(labels[0]) is type(labels[1]) and np.ndim(labels[0]) == 0:
        pair = np.array(labels)
    elif labels is not None:
        pair = np.empty(2, dtype=object)
        pair[0], pair[1] = labels
    chosen: Labels = pair[(y < 0).astype(np.intp)]
    return chosen


def signed(y: Floats, distance: Floats) -> Floats:
    """Return the distances with the sign of y, zero on the boundary itself."""
    return np.where(y == 0, 0.0, np.copysign(distance, y))


def plane_axes(
    features: tuple[int | str, int | str], names: tuple[str, ...] | None, d: int
) -> list[int]:
    """Return the indices of two different features, given by index or by name."""
    axes = [_axis(feature, names, d) for feature in features]
    if len(axes) != 2 or axes[0] == axes[1]:
        msg = f"features={features!r}: a plane is drawn over two different features"
        raise InvalidParameterError(msg)
    return axes


def held(at: npt.ArrayLike | None, anchor: Floats, axes: list[int]) -> Floats:
    """Return the anchor of a section (d,): ``at``, or zero, but for the axes that vary."""
    values = np.zeros(len(anchor)) if at is None else fixed("at", at, anchor.shape).copy()
    values[axes] = anchor[axes]
    return values


def _axis(feature: int | str, names: tuple[str, ...] | None, d: int) -> int:
    known = names or ()
    if isinstance(feature, str):
        if feature in known:
            return known.index(feature)
    elif 0 <= feature < d:
        return int(feature)
    msg = f"no feature {feature!r}: there are {d}" + (f", {list(known)}" if known else "")
    raise FeatureMismatchError(msg)


def require_one_feature(d: int) -> None:
    """Refuse roots of a boundary that is more than a few points."""
    if d != 1:
        msg = f"roots are for one feature, here are {d}: trace the curve in a plane instead"
        raise InvalidParameterError(msg)


def require_reached(distance: Floats) -> None:
    """Refuse to project on a boundary that has no points."""
    if not np.all(np.isfinite(distance)):
        msg = "there is no boundary: one of the two classes is more probable everywhere"
        raise InvalidInputError(msg)
