"""Drawing from a model: a class from the priors, then a row from the density of that class."""

from collections.abc import Sequence

import numpy as np

from suffice.core.model.covariance import Covariance
from suffice.typing import Codes, Floats


def drawn_classes(priors: Floats, n_rows: int, rng: np.random.Generator) -> Codes:
    """Draw a class for each row from π, (n,)."""
    return rng.choice(len(priors), size=n_rows, p=priors / priors.sum())


def scaled_deviations(
    z: Floats,
    radii: Floats,
    group_of_row: Codes,
    shapes: Sequence[Covariance],
) -> Floats:
    """Return x − m = r Ψ^½ z of Gaussian z (n, d), given r and the group of each row (n,)."""
    z = radii[:, None] * z
    for g, shape in enumerate(shapes):
        rows = group_of_row == g
        z[rows] = shape.colorize(z[rows])
    return z
