"""The softmax of scores, with any base."""

import numpy as np
import numpy.typing as npt

from suffice.errors import InvalidParameterError
from suffice.typing import Floats


def softmax(scores: npt.ArrayLike, base: float | None = None) -> Floats:
    """Return the softmax of scores along the last axis, bᵃ / Σ bᵃ.

    Parameters
    ----------
    scores : array (…, K)
        Scores a_k of each class.
    base : float, optional
        b, above 1; by default e. Base b is the temperature T = 1 / ln b.

    Returns
    -------
    array (…, K)
        Positive numbers that sum to one.

    Examples
    --------
    >>> from suffice.lectures import softmax
    >>> softmax([0.0, 1.0, 2.0], base=2).round(3).tolist()
    [0.143, 0.286, 0.571]
    """
    if base is not None and not (np.isfinite(base) and base > 1):
        raise InvalidParameterError(
            f"base={base!r} does not favour larger scores: use a finite number above 1"
        )
    a = np.asarray(scores, np.float64)
    log_base = 1.0 if base is None else np.log(base)
    # bᵃ / Σ bᵃ, each power divided by the greatest
    powers = np.exp(log_base * (a - a.max(axis=-1, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
