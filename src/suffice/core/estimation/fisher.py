"""Fisher's discriminant coordinates: the directions that separate the classes most."""

from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np

from suffice.core.linalg import EPS
from suffice.core.model.covariance import Covariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.moments.collect import ratio
from suffice.core.table.foreign import constants_like
from suffice.errors import InvalidParameterError
from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class DiscriminantSpace:
    """A linear map to at most K − 1 coordinates, in which classes have covariance I.

    The columns v of ``scalings`` solve S_B v = λ S_W v with vᵀ S_W v = 1, where S_W is the
    covariance within classes and S_B = Σ_k π_k (μ_k − μ)(μ_k − μ)ᵀ.
    """

    centre: Floats  # Σ_k π_k μ_k  (d,)
    # one column per coordinate, the coordinate that separates best first  (d, r)
    scalings: Floats
    # √λ, the standard deviation of the class means along each coordinate  (r,)
    singular_values: Floats
    directions: Floats  # the coordinates as unit vectors in whitened space  (r, d)
    within: Covariance  # S_W

    @classmethod
    def of(cls, priors: Floats, centre: Floats, offsets: Floats, within: Covariance) -> Self:
        """Return the coordinates, given class means ``centre + offsets`` and covariance S_W."""
        # Fisher (1936), *Annals of Eugenics* 7, 179–188; Rao (1948), *JRSS B* 10, 159–203
        middle = priors @ offsets
        # with S_W = L Lᵀ, the eigenvectors of L⁻¹ S_B L⁻ᵀ are the right singular vectors of the
        # matrix with the rows √π_k L⁻¹(μ_k − μ)
        spread = np.sqrt(priors)[:, None] * within.whiten(offsets - middle)
        _, s, vt = np.linalg.svd(spread, full_matrices=False)
        rank = min(int((s > len(s) * EPS * 8 * s.max(initial=0.0)).sum()), len(priors) - 1)
        # the map Vᵀ z of whitened rows z = L⁻¹ x is (L⁻ᵀ V)ᵀ x
        scalings = within.whiten_transposed(vt[:rank]).T
        scale = 1 / np.sqrt(within.precision_diagonal())
        # choose signs so that each column's largest entry, in within-class units, is positive
        largest = np.argmax(np.abs(scalings * scale[:, None]), axis=0)
        signs = np.sign(scalings[largest, np.arange(rank)])
        return cls(
            centre=centre + middle,
            scalings=scalings * signs,
            singular_values=s[:rank],
            directions=signs[:, None] * vt[:rank],
            within=within,
        )

    @property
    def explained_ratio(self) -> Floats:
        """Share of the variance between classes that lies along each coordinate, shape (r,)."""
        squares = self.singular_values**2
        return np.asarray(squares / squares.sum())

    def project(self, x: Floats) -> Floats:
        """Return the coordinates of each row, shape (n, r), on the device that holds the rows."""
        projected = (x - constants_like(self.centre, x)) @ constants_like(self.scalings, x)
        return cast(Floats, projected)

    @property
    def loadings(self) -> Floats:
        """Correlation within classes of each feature with each coordinate, (d, r)."""
        # coordinates have variance 1 within classes: cov(x, z) = Σ w = L v,  w = L⁻ᵀ v
        covariances = self.within.colorize(self.directions).T
        return ratio(covariances, np.sqrt(self.within.variances())[:, None])


def reduced_rank(model: GaussianModel, rank: int) -> GaussianModel:
    """Return tied Gaussians with means in the space of the first ``rank`` coordinates.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.3.
    """
    within = model.shared_covariance
    if within is None:
        raise InvalidParameterError(
            "n_components needs one covariance for all classes: tied=True"
        )
    middle = model.priors @ model.offsets
    z = within.whiten(model.offsets - middle)
    _, _, vt = np.linalg.svd(np.sqrt(model.priors)[:, None] * z, full_matrices=False)
    # z Vᵣ Vᵣᵀ projects the whitened means z
    return replace(model, offsets=middle + within.colorize(z @ vt[:rank].T @ vt[:rank]))
