"""Class priors: shares of the rows, smoothed by a Dirichlet prior, equal, or given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.core.table.labels import values_by_class
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Flags, Floats, Labels

TOLERANCE = 1e-8  # of the sum of given priors, before they are made to sum to one


@dataclass(frozen=True, slots=True)
class PriorRule:
    """π_k ∝ w_k + a: the share of each class in the rows, where a = 0.

    Under a symmetric Dirichlet prior of concentration α the posterior of π is Dirichlet(w + α):
    a = α gives its mean, and a = α − 1 its mode.
    """

    pseudo_count: float | None = 0.0  # a; None: weights have no say
    given: Any = None  # (K,), or {label: prior}; None: equal

    def of(self, classes: Labels, weights: Floats) -> Floats:
        """Return π (K,), non-negative and of sum one, given the weights w of the classes (K,)."""
        if self.pseudo_count is not None:
            return _shares(weights + self.pseudo_count)
        if self.given is None:
            return _shares((weights > 0).astype(np.float64))
        by_label = isinstance(self.given, Mapping)
        given = (
            values_by_class(self.given, classes, where="priors") if by_label else self.given
        )
        return _checked(given, classes)


def priors_among(present: Flags, priors: Floats) -> Floats:
    """Return the priors of the classes that are present, of sum one again, (K,)."""
    if present.all():
        return priors
    left = np.where(present, priors, 0.0)
    if not left.any():
        raise InvalidParameterError(
            "no class with rows has a prior: give one of them one above 0"
        )
    return _shares(left)


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    if not total > 0:
        raise InvalidInputError("no class has any weight to estimate priors from: give priors")
    return np.asarray(weights / total)


def _checked(given: npt.ArrayLike, classes: Labels) -> Floats:
    try:
        pi = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"priors={given!r} are not numbers") from None
    if pi.shape != classes.shape:
        msg = f"priors has shape {pi.shape}, but there are {len(classes)} classes"
        raise InvalidParameterError(msg)
    wrong = np.flatnonzero(~np.isfinite(pi) | (pi < 0))
    if wrong.size:
        label, value = classes[wrong].tolist()[0], pi[wrong[0]]
        msg = f"the prior of class {label!r} is {value:g}: a prior is a number of at least 0"
        raise InvalidParameterError(msg)
    if not abs(pi.sum() - 1) <= TOLERANCE:
        raise InvalidParameterError(
            f"priors sum to {pi.sum():.10g}, not to 1: divide by their sum"
        )
    return _shares(pi)
