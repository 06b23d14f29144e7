"""The grid of exact sums: every value is rounded to a multiple of a power of two."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.core.table.matrix import Matrix, column_name
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Array, Floats

BITS = 39  # |q| < 2³⁹, so that sums of 2⁴⁸ products fit into 127 bits
_LARGEST = float(1 << BITS)
_EXPONENTS = range(-900, 901)
HEADROOM = 3  # later rows may lie 2^HEADROOM times as far from the origin as the first rows


@dataclass(frozen=True, slots=True, eq=False)
class RoundingGrid:
    """The grid to which each feature is rounded: q = round((x − origin) / 2^exponent).

    |q| must stay below 2³⁹. All sums that are added need the same grid.

    Examples
    --------
    >>> import numpy as np
    >>> grid = RoundingGrid.around(np.array([[4.0, 1e8], [8.0, 1e8 + 1]]))
    >>> grid.exponents.tolist(), grid.origins.tolist()
    ([-34, -36], [6.0, 100000000.5])
    """

    origins: Floats  # (d,)
    exponents: npt.NDArray[np.int64]  # (d,)

    def __post_init__(self) -> None:
        if self.origins.shape != self.exponents.shape or self.origins.ndim != 1:
            raise InvalidParameterError(
                "a grid needs one origin and one exponent for each feature, got arrays of shape "
                f"{self.origins.shape} and {self.exponents.shape}"
            )
        if not np.isfinite(self.origins).all():
            raise InvalidParameterError(
                "the origins of a grid must be finite: make the grid from rows without infinite "
                "or missing values"
            )
        is_possible = np.isin(self.exponents, _EXPONENTS)
        if not is_possible.all():
            worst = self.exponents[~is_possible][0]
            raise InvalidParameterError(
                f"the exponents of a grid must lie between -900 and 900, got {worst}"
            )
        # −0 has other bits than 0, which would change digests
        self.origins[self.origins == 0] = 0.0
        self.origins.flags.writeable = False
        self.exponents.flags.writeable = False

    @classmethod
    def of(
        cls, origins: Sequence[float] | Floats, exponents: Sequence[int] | Array
    ) -> RoundingGrid:
        """Return a grid, given an origin and an exponent for each feature."""
        return cls(
            origins=np.array(origins, dtype=np.float64),
            exponents=np.array(exponents, dtype=np.int64),
        )

    @classmethod
    def around(cls, x: Matrix, *, headroom: int = HEADROOM) -> RoundingGrid:
        """Return a grid for rows up to 2^headroom times as far from the origin as the rows ``x``.

        Parameters
        ----------
        x : array (n, d)
            Rows without missing values.
        headroom : int
            Adding 1 doubles the range and halves the resolution.
        """
        if not len(x):
            raise InvalidInputError(
                "a grid cannot be made from 0 rows: pass some typical rows, or a stated grid"
            )
        low = np.asarray(x.min(0), dtype=np.float64)
        high = np.asarray(x.max(0), dtype=np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidInputError(
                "a grid cannot be made from missing or infinite values: pass complete rows"
            )
        half_range = high / 2 - low / 2
        size = np.maximum(np.abs(low), np.abs(high))
        # a constant feature gets its absolute value as spread, or 1 if it is zero
        spread = np.where(half_range > 0, half_range, np.where(size > 0, size, 1.0))
        # round the origin to few bits, so that it is short in files
        unit = np.frexp(spread)[1] - 2
        origins = np.ldexp(np.rint(np.ldexp(low / 2 + high / 2, -unit)), unit)
        # the reach is measured from the rounded origin, so that the rows fit even without headroom
        reach = np.maximum(np.maximum(high - origins, origins - low), spread)
        exponents = np.frexp(reach)[1].astype(np.int64) + headroom - BITS
        # a reach just below a power of two may be rounded up to that power, which is out of range
        exponents += np.rint(np.ldexp(reach, -exponents)) >= _LARGEST
        return cls(origins=origins, exponents=np.clip(exponents, -900, 900))

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.origins)

    @property
    def steps(self) -> Floats:
        """Distance of neighbouring points of the grid, 2^exponent, (d,)."""
        return np.ldexp(1.0, self.exponents)

    def equals(self, other: RoundingGrid) -> bool:
        """Return whether both grids have the same points."""
        has_same_origins = np.array_equal(self.origins, other.origins)
        return has_same_origins and np.array_equal(self.exponents, other.exponents)

    def select(self, columns: Array) -> RoundingGrid:
        """Return the grid of some features."""
        return RoundingGrid(
            origins=self.origins[columns].copy(), exponents=self.exponents[columns]
        )

    def in_steps(self, x: Matrix) -> Floats:
        """Return q, also for values outside the range, for which ``rounded`` raises."""
        q = np.subtract(x, self.origins, dtype=np.float64)
        q *= np.ldexp(1.0, -self.exponents)
        return np.rint(q, out=q)

    @staticmethod
    def holds(q: Floats) -> bool:
        """Return whether all q lie in the range, where NaN does not."""
        return not q.size or bool(q.max() < _LARGEST and q.min() > -_LARGEST)

    def rounded(
        self,
        x: Matrix,
        names: tuple[str, ...] | None,
        first_row: int | None = 0,
    ) -> Floats:
        """Return q = round((x − origin) / 2^exponent), integers as floats, (n, d).

        Errors name rows by numbers that start at ``first_row``, or not at all if it is None.
        """
        if x.shape[1] != self.n_features:
            raise FeatureMismatchError(
                f"the grid has {self.n_features} features, but the rows have {x.shape[1]}: use a "
                "grid made for these columns"
            )
        q = self.in_steps(x)
        is_inside = np.abs(q) < _LARGEST
        if not is_inside.all():
            row, column = np.argwhere(~is_inside)[0].tolist()
            place = "some row" if first_row is None else f"row {first_row + row}"
            self._refuse(float(x[row, column]), place, column_name(names, column))
        return q

    def _refuse(self, value: float, place: str, column: str) -> None:
        if np.isnan(value):
            raise InvalidInputError(
                f"{place} has no value in column {column}, and exact sums need complete rows: "
                "leave the row out, or fill the value"
            )
        raise InvalidInputError(
            f"{place} has {value:g} in column {column}, which lies outside the range of the "
            "grid: correct the value, or make a grid with more headroom and sum all parts again"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the grid as JSON values, for files."""
        return {
            "origins": [origin.hex() for origin in self.origins.tolist()],
            "exponents": self.exponents.tolist(),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> RoundingGrid:
        """Return the grid from the values that ``to_json`` returned."""
        try:
            origins = [float.fromhex(origin) for origin in fields["origins"]]
            exponents = [operator.index(exponent) for exponent in fields["exponents"]]
            np.array(exponents, dtype=np.int64)  # raises if an exponent is too large
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise InvalidParameterError(
                "this is not a grid: it needs 'origins' (hexadecimal floats as text) and "
                "'exponents' (integers), one of each for every feature"
            ) from error
        return cls.of(origins, exponents)
