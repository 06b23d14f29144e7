"""Draws from a model: a class from the priors, then a row from the density of this class."""

from collections.abc import Sequence

import numpy as np

from suffice.core.model.covariance import Covariance
from suffice.typing import Codes, Floats


def drawn_classes(priors: Floats, n_rows: int, rng: np.random.Generator) -> Codes:
    """Draw a class for each row from π, (n,)."""
    return rng.choice(len(priors), size=n_rows, p=priors / priors.sum())


def drawn_rows(
    z: Floats,
    centre: Floats,
    offsets: Floats,
    radii: Floats,
    group_of_row: Codes,
    shapes: Sequence[Covariance],
) -> Floats:
    """Return rows x = m + r L z, given Gaussian z (n, d) and the shape Ψ = L Lᵀ of each group.

    The centre of a row is m = ``centre`` + ``offsets`` (n, d). The radius r (n,) is 1 for a
    Gaussian.
    """
    deviations = radii[:, None] * z
    for g, shape in enumerate(shapes):
        rows = group_of_row == g
        deviations[rows] = shape.colorize(deviations[rows])  # L z
    return centre + (deviations + offsets)
