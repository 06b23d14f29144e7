"""Class priors: class frequencies, smoothed frequencies, equal priors, or given values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.checks import is_number
from suffice.core.table.labels import values_by_class
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Flags, Floats, Labels

TOLERANCE = 1e-8  # given priors are normalised if their sum differs from 1 by at most this


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """A symmetric Dirichlet prior on the class priors, for the parameter ``priors``.

    Parameters
    ----------
    alpha : float
        Concentration α: the pseudo-count added to each class. ``estimate="map"`` uses the mode of
        the posterior, which needs α ≥ 1; every other estimate uses the mean of the posterior.

    Examples
    --------
    >>> import suffice as sf
    >>> sf.LDA(priors=sf.Dirichlet(1.0)).fit([[0.0], [1.0], [5.0]], [0, 0, 1]).priors_
    array([0.6, 0.4])
    """

    alpha: float

    def __post_init__(self) -> None:
        alpha: object = self.alpha
        if not is_number(alpha) or not 0 < float(alpha) < np.inf:
            raise InvalidParameterError(
                f"the alpha of a Dirichlet prior must be a positive number, got {alpha!r}"
            )


Priors: TypeAlias = (
    Literal["uniform"] | Dirichlet | Mapping[object, float] | npt.ArrayLike | None
)


def check_priors(priors: Priors, *, at_mode: bool = False) -> None:
    """Raise if a value of the parameter ``priors`` is invalid for any classes."""
    if isinstance(priors, str) and priors != "uniform":
        raise InvalidParameterError(
            "priors must be None, 'uniform', an array (K,), {label: prior} or a Dirichlet, got "
            f"{priors!r}"
        )
    if isinstance(priors, Dirichlet) and at_mode and priors.alpha < 1:
        raise InvalidParameterError(
            f"with {priors!r}, the posterior of the priors may have no mode: with estimate='map', "
            "use an alpha of at least 1, or use another estimate"
        )


def class_priors(
    priors: Priors,
    classes: Labels,
    weights: Floats,
    *,
    at_mode: bool = False,
) -> Floats:
    """Return π (K,), non-negative with sum 1, given the weights w of the classes (K,).

    π_k ∝ w_k + a. With a = 0, π_k is the share of class k. Under a symmetric Dirichlet prior with
    concentration α, the posterior of π is Dirichlet(w + α): a = α gives its mean, and a = α − 1
    its mode.
    """
    check_priors(priors, at_mode=at_mode)
    pseudo_count = prior_pseudo_count(priors, at_mode=at_mode)
    if pseudo_count is not None:
        return _shares(weights + pseudo_count)
    if isinstance(priors, str):
        return _shares((weights > 0).astype(np.float64))
    if isinstance(priors, Mapping):
        return _checked(values_by_class(priors, classes, where="priors"), classes)
    return _checked(priors, classes)


def prior_pseudo_count(priors: Priors, *, at_mode: bool) -> float | None:
    """Return the pseudo-count a of each class, or None if priors do not depend on the weights."""
    if priors is None:
        return 0.0
    if isinstance(priors, Dirichlet):
        return float(priors.alpha) - (1.0 if at_mode else 0.0)
    return None


def priors_among(present: Flags, priors: Floats) -> Floats:
    """Return the priors with 0 for classes without rows, normalised to sum 1, (K,)."""
    if present.all():
        return priors
    present_priors = np.where(present, priors, 0.0)
    if not present_priors.any():
        raise InvalidParameterError(
            "every class with rows has prior 0: give one of them a positive prior"
        )
    return _shares(present_priors)


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    if not total > 0:
        raise InvalidInputError(
            "no class has any weight to estimate the priors from: set priors"
        )
    return np.asarray(weights / total)


def _checked(given: object, classes: Labels) -> Floats:
    try:
        pi = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"priors={given!r} are not numbers: give one number for each class"
        ) from None
    if pi.shape != classes.shape:
        raise InvalidParameterError(
            f"priors has shape {pi.shape}, but there are {len(classes)} classes: give one prior "
            "for each class"
        )
    wrong = np.flatnonzero(~np.isfinite(pi) | (pi < 0))
    if wrong.size:
        label = classes[wrong].tolist()[0]
        raise InvalidParameterError(
            f"the prior of class {label!r} is {pi[wrong[0]]:g}: give a finite number of at least 0"
        )
    if not abs(pi.sum() - 1) <= TOLERANCE:
        raise InvalidParameterError(
            f"priors sum to {pi.sum():.10g}, not to 1: divide them by their sum"
        )
    return _shares(pi)
