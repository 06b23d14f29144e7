"""Class priors, validated in one place whatever way they are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.estimation.smoothing import SmoothedPriors
from suffice.labels import in_order

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats, Labels

Priors: TypeAlias = "Literal['uniform'] | Mapping[Any, float] | npt.ArrayLike | None"

TOLERANCE = 1e-8  # of the sum of given priors, before they are made to sum to one


def parse_priors(priors: Priors, classes: Labels, weights: Floats) -> Floats:
    """Return π, (K,): non-negative and of sum one.

    Parameters
    ----------
    priors : None, "uniform", array of shape (K,), or mapping of label to prior
        None: the share of each class in the weights. "uniform": equal for every class with
        any weight. Numbers must sum to one within 1e-8; a mapping must name every class.
    classes : array of shape (K,)
        Labels, in the order of the answer.
    weights : array of shape (K,)
        Weight seen of each class.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> classes, weights = np.array(["ham", "spam"]), np.array([30.0, 10.0])
    >>> parse_priors(None, classes, weights)
    array([0.75, 0.25])
    >>> parse_priors({"spam": 0.1, "ham": 0.9}, classes, weights)
    array([0.9, 0.1])
    """
    if isinstance(priors, SmoothedPriors):
        return priors.of(np.asarray(weights, dtype=np.float64))
    if priors is None:
        return _shares(np.asarray(weights, dtype=np.float64))
    if isinstance(priors, str):
        return _named(priors, weights)
    given = in_order(priors, classes, where="priors") if isinstance(priors, Mapping) else priors
    return _checked(given, classes)


def _shares(weights: Floats) -> Floats:
    """Return each weight's part of the sum."""
    total = weights.sum()
    if not total > 0:
        msg = "no class has any weight, so priors cannot be estimated: give priors"
        raise InvalidInputError(msg)
    return np.asarray(weights / total)


def _named(priors: str, weights: Floats) -> Floats:
    """Return priors known by a word."""
    if priors != "uniform":
        msg = (
            f"priors={priors!r}: expected None, 'uniform', an array with a prior for each "
            f"class, or a mapping {{label: prior}}"
        )
        raise InvalidParameterError(msg)
    return _shares((np.asarray(weights) > 0).astype(np.float64))


def _checked(given: npt.ArrayLike, classes: Labels) -> Floats:
    """Return the priors, or say which of them is wrong."""
    try:
        pi = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        msg = f"priors={given!r} are not numbers"
        raise InvalidParameterError(msg) from None
    if pi.shape != classes.shape:
        msg = f"priors has shape {pi.shape}, but there are {len(classes)} classes"
        raise InvalidParameterError(msg)
    wrong = np.flatnonzero(~np.isfinite(pi) | (pi < 0))
    if wrong.size:
        label, value = classes[wrong].tolist()[0], pi[wrong[0]]
        msg = f"the prior of class {label!r} is {value:g}: a prior is a number of at least 0"
        raise InvalidParameterError(msg)
    if not abs(pi.sum() - 1) <= TOLERANCE:
        msg = f"priors sum to {pi.sum():.10g}, not to 1: divide them by their sum"
        raise InvalidParameterError(msg)
    return _shares(pi)
