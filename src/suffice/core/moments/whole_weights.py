"""A test for integer weights, such as counts of rows."""

import numpy as np

from suffice.core.moments.moments import Moments


def has_whole_weights(moments: Moments) -> bool:
    """Return whether the weights of each class sum to an integer."""
    distances = np.abs(moments.weights - np.rint(moments.weights))
    return bool(np.all(distances <= 1e-9 * moments.weights))
