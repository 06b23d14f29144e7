"""A number near the mean of each feature, about which a database sums without cancellation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from suffice.typing import Floats

_DIGITS = 15  # that every engine reads as the same number


def pilots_of(sample: pl.DataFrame, features: Sequence[str]) -> Floats:
    """Return a pilot for each feature, shape (d,), from some first rows."""
    return np.array([_pilot(sample.get_column(name).to_numpy()) for name in features])


def _pilot(values: object) -> float:
    """Return the mean to as many digits as bring it within a tenth of a standard deviation."""
    x = np.asarray(values, np.float64)
    x = x[np.isfinite(x)]
    if not len(x):
        return 0.0
    if x.min() == x.max():
        return float(x[0])
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = float(x.mean()), float(x.std())
    if not (math.isfinite(mean) and 0 < spread < math.inf):
        return float(x[0])
    wanted = math.log10(max(abs(mean) / spread, 1.0)) + 2
    return float(f"{mean:.{min(math.ceil(wanted), _DIGITS)}g}")
