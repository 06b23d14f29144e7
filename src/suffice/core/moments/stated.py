"""Moments that stand for given parameters instead of rows."""

import numpy as np

from suffice.core.moments.moments import Moments


def is_stated(moments: Moments) -> bool:
    """Return whether the moments stand for given parameters: scatter with one row per class."""
    if moments.storage == "pooled" or np.any(moments.counts > 1):
        return False
    scatter = moments.scatter.diagonals()
    return bool(np.any(scatter[moments.counts == 1] > 0))
