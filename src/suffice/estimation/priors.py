"""Class priors: shares of the rows, smoothed by a Dirichlet prior, equal, or given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.table.labels import in_order
from suffice.typing import Floats, Labels

TOLERANCE = 1e-8  # of the sum of given priors, before they are made to sum to one


# Rules for the class priors π (K,), non-negative and of sum one, given the weights w of the classes
# (K,); ``pseudo_count`` is a where π_k ∝ w_k + a, and None where w has no say.


@dataclass(frozen=True, slots=True)
class LearntPriors:
    """π_k ∝ w_k + a: the share of each class in the rows, where a = 0.

    Under a symmetric Dirichlet prior of concentration α the posterior of π is Dirichlet(w + α):
    a = α gives its mean, and a = α − 1 its mode.
    """

    pseudo_count: float = 0.0  # a

    def of(self, classes: Labels, weights: Floats) -> Floats:  # noqa: ARG002
        """Return π, (K,)."""
        return _shares(weights + self.pseudo_count)


@dataclass(frozen=True, slots=True)
class UniformPriors:
    """Equal for every class with any weight."""

    pseudo_count = None

    def of(self, classes: Labels, weights: Floats) -> Floats:  # noqa: ARG002
        """Return π, (K,)."""
        return _shares((weights > 0).astype(np.float64))


@dataclass(frozen=True, slots=True)
class GivenPriors:
    """Numbers that sum to one within 1e-8: one for each class in order, or by label."""

    values: Any  # (K,), or {label: prior}
    pseudo_count = None

    def of(self, classes: Labels, weights: Floats) -> Floats:  # noqa: ARG002
        """Return π, (K,)."""
        by_label = isinstance(self.values, Mapping)
        given = in_order(self.values, classes, where="priors") if by_label else self.values
        return _checked(given, classes)


PriorRule: TypeAlias = LearntPriors | UniformPriors | GivenPriors


def _shares(weights: Floats) -> Floats:
    """Return each weight's part of the sum."""
    total = weights.sum()
    if not total > 0:
        msg = "no class has any weight, so priors cannot be estimated: give priors"
        raise InvalidInputError(msg)
    return np.asarray(weights / total)


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
