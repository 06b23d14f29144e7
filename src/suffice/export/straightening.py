"""A Yeo–Johnson transform of one column, in SQL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suffice.export.words import number

if TYPE_CHECKING:
    from suffice.power import PowerTransform

_NEARLY_ZERO = 1e-5  # exponent under which a series is exact


@dataclass(frozen=True, slots=True)
class Side:
    """P(u) = ((1 + u)^e − 1) / e, from a knee on a straight line where e < 0."""

    exponent: float
    knee: float

    def sql(self, u: str) -> str:
        """Return P of an expression that is not negative."""
        if self.exponent >= 0:
            return self._curve(u)
        b = math.log1p(self.knee)
        top = math.expm1(self.exponent * b) / self.exponent
        slope = math.exp((self.exponent - 1) * b)
        line = f"{number(top)} + {number(slope)} * ({u} - {number(self.knee)})"
        return f"CASE WHEN {u} <= {number(self.knee)} THEN {self._curve(u)} ELSE {line} END"

    def _curve(self, u: str) -> str:
        e, log = self.exponent, f"LN(1e0 + {u})"
        if e == 0:
            return log
        if abs(e) < _NEARLY_ZERO:
            # (exp(e L) − 1) / e = L (1 + e L/2 (1 + e L/3)) + …
            inner = f"(1e0 + {number(e / 3)} * {log})"
            return f"{log} * (1e0 + {number(e / 2)} * {log} * {inner})"
        return f"(EXP({number(e)} * {log}) - 1e0) / {number(e)}"


def straightened(transform: PowerTransform, j: int, x: str) -> str:
    """Return feature j of transformed rows, from its value ``x``."""
    exponent, centre, scale = (
        float(values[j]) for values in (transform.exponents, transform.centre, transform.scale)
    )
    if exponent == 1:
        return x
    up = Side(exponent, (float(transform.high[j]) - centre) / scale)
    down = Side(2 - exponent, (centre - float(transform.low[j])) / scale)
    c, s = number(centre), number(scale)
    above, below = f"(({x} - {c}) / {s})", f"(({c} - {x}) / {s})"
    # t(x) = c + s P(z) for z ≥ 0, c − s P(−z) below
    return (
        f"CASE WHEN {x} >= {c} THEN {c} + {s} * ({up.sql(above)}) "
        f"ELSE {c} - {s} * ({down.sql(below)}) END"
    )
