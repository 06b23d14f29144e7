"""A rectangle of a 2-D plane, and its map to the square [−1, 1]² in which curves are traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats


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
