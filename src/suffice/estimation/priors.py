"""Class priors, validated in one place whatever way they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.table.labels import in_order

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Dirichlet:
    """A prior, or posterior, of the class probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> belief = Dirichlet.symmetric(2, 2.0).posterior(np.array([3.0, 1.0]))
    >>> belief.mean.tolist(), belief.mode.round(3).tolist()
    ([0.625, 0.375], [0.667, 0.333])
    """

    concentrations: Floats  # α  (K,)

    def __post_init__(self) -> None:
        if not (np.asarray(self.concentrations) > 0).all():
            msg = f"Dirichlet concentrations must be positive, found {self.concentrations!r}"
            raise InvalidParameterError(msg)

    @classmethod
    def symmetric(cls, n_classes: int, concentration: float = 1.0) -> Dirichlet:
        """Return the prior that treats all classes alike; 1 is uniform over all π."""
        return cls(np.full(n_classes, float(concentration)))

    def posterior(self, weights: Floats) -> Dirichlet:
        """Return what is known after rows of given weight per class."""
        return Dirichlet(self.concentrations + weights)

    @property
    def mean(self) -> Floats:
        """Return the expected class probabilities."""
        expected: Floats = self.concentrations / self.concentrations.sum()
        return expected

    @property
    def mode(self) -> Floats:
        """Return the most probable class probabilities (MAP)."""
        # π_k = (α_k − 1) / (Σ α − K)
        excess = self.concentrations - 1
        if excess.min() < 0 or not excess.sum() > 0:
            k = int(np.argmin(excess))
            msg = (
                f"no most probable priors: class {k} has concentration "
                f"{self.concentrations[k]:g}; use at least 1, with some rows, or take the mean"
            )
            raise InvalidParameterError(msg)
        most_probable: Floats = excess / excess.sum()
        return most_probable


@dataclass(frozen=True, slots=True)
class SmoothedPriors:
    """π from class weights and α imagined rows of each class (α − 1 at the mode)."""

    concentration: float  # α
    at_mode: bool  # most probable π rather than its expectation

    def of(self, weights: Floats) -> Floats:
        """Return π, (K,)."""
        belief = Dirichlet.symmetric(len(weights), self.concentration).posterior(weights)
        return belief.mode if self.at_mode else belief.mean


def parse_smoothing(priors: Any, dirichlet: Any, *, at_mode: bool) -> Any:
    """Return ``priors``, or the rule that ``dirichlet`` names in their place."""
    if dirichlet is None:
        return priors
    if priors is not None:
        msg = (
            "priors fixes the class priors and dirichlet learns them: give one of the two, "
            f"found priors={priors!r} and dirichlet={dirichlet!r}"
        )
        raise InvalidParameterError(msg)
    number = isinstance(dirichlet, (int, float, np.number)) and not isinstance(dirichlet, bool)
    if not number or not 0 < float(dirichlet) < np.inf:
        msg = f"dirichlet must be None or a positive number, got {dirichlet!r}"
        raise InvalidParameterError(msg)
    if at_mode and dirichlet < 1:
        msg = (
            f"dirichlet={dirichlet!r} has no most probable priors: use at least 1 with "
            "estimate='map', or another estimate"
        )
        raise InvalidParameterError(msg)
    return SmoothedPriors(float(dirichlet), at_mode)


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
