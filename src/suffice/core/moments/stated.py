"""Moments that were stated as parameters instead of collected from rows."""

import numpy as np

from suffice.core.moments.moments import Moments


def is_stated(moments: Moments) -> bool:
    """Return whether parameters were stated: a class with one row has no scatter."""
    if moments.storage == "pooled" or np.any(moments.counts > 1):
        return False
    scatter = moments.scatter.diagonals()
    return bool(np.any(scatter[moments.counts == 1] > 0))
