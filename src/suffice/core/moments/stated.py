"""Moments made from given parameters instead of rows."""

import numpy as np

from suffice.core.moments.moments import Moments


def is_stated(moments: Moments) -> bool:
    """Return whether moments were made from given parameters.

    Such moments have one row per class, and a scatter that is not zero, which no rows can have.
    """
    if moments.storage == "pooled" or np.any(moments.counts > 1):
        return False
    scatter = moments.scatter.diagonals()
    return bool(np.any(scatter[moments.counts == 1] > 0))
