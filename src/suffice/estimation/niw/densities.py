"""Densities that are a constant less a function of one squared distance.

Δ² = (x − location)ᵀ shape⁻¹ (x − location) is all that a model needs to score rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.special import gammaln

from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from suffice.typing import Floats

Density = TypeVar("Density")


@dataclass(frozen=True, slots=True, eq=False)
class StudentT:
    """A multivariate Student t density."""

    degrees: float  # f
    location: Floats  # (d,)
    shape: Floats  # (d, d); the covariance is shape · f / (f − 2)

    @property
    def log_constant(self) -> float:
        """Return the log density at the location."""
        f, d = self.degrees, len(self.location)
        # log Γ((f+d)/2) − log Γ(f/2) − ½ (d log(π f) + log|shape|)
        gammas = gammaln((f + d) / 2) - gammaln(f / 2)
        return float(gammas - 0.5 * (d * np.log(np.pi * f) + np.linalg.slogdet(self.shape)[1]))

    def score(self, squared_distances: Floats) -> Floats:
        """Return log densities at squared distances Δ², shape (n,)."""
        f, d = self.degrees, len(self.location)
        # log t(x) = constant − (f+d)/2 · log(1 + Δ²/f)
        return self.log_constant - (f + d) / 2 * np.log1p(squared_distances / f)


@dataclass(frozen=True, slots=True, eq=False)
class DebiasedGaussian:
    """An unbiased estimate of log N(x; μ, Σ), for each x: not the log of any density."""

    log_constant: float
    location: Floats  # (d,)
    shape: Floats  # (d, d)

    def score(self, squared_distances: Floats) -> Floats:
        """Return estimated log densities at squared distances Δ², shape (n,)."""
        return self.log_constant - 0.5 * squared_distances


def each_class(
    make: Callable[..., Density], *columns: Sequence[Any] | Floats
) -> tuple[Density, ...]:
    """Return one density per class, or say which class has none."""
    made = []
    for k, arguments in enumerate(zip(*columns, strict=True)):
        try:
            made.append(make(*arguments))
        except InvalidInputError as error:
            msg = f"class {k}: {error}"
            raise InvalidInputError(msg) from error
    return tuple(made)
