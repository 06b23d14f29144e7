"""Settings of mixtures of Gaussians."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MixtureSettings:
    """Settings for fitting mixtures of Gaussians to rows."""

    covariance: Literal["full", "diagonal"] = "full"
    # False: one covariance per component; "class": one per class; True: one for all components
    tied: Literal["class"] | bool = False
    prior_rows: float = 1.0  # κ, the number of pseudo-rows of the inverse-Wishart prior
    n_init: int = 3
    max_iter: int = 500
    tol: float = 1e-6  # EM ends when a step gains less than this per unit of weight

    @property
    def is_diagonal(self) -> bool:
        return self.covariance == "diagonal"
