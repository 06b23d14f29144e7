"""Class probabilities learned from class weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.typing import Floats


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
