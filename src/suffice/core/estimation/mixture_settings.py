"""The settings of mixtures of Gaussians."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MixtureSettings:
    """How rows become mixtures of Gaussians."""

    covariance: Literal["full", "diagonal"] = "full"
    tied: Literal["class"] | bool = False  # a covariance per component, per class, or for all
    prior_rows: float = 1.0  # κ, the pseudo-rows of the inverse-Wishart prior
    n_init: int = 3
    max_iter: int = 500
    tol: float = 1e-6  # gain of the objective by one step, per unit of weight

    @property
    def is_diagonal(self) -> bool:
        return self.covariance == "diagonal"
