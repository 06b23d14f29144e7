"""k-means++ and Lloyd's algorithm, from which EM starts (Arthur & Vassilvitskii 2007, SODA)."""

from typing import NamedTuple

import numpy as np

from suffice.core.linalg import EPS
from suffice.typing import Floats

_LLOYD_STEPS = 10
# number of rows that are drawn for each new centre; the best row becomes the centre
_TRIALS = 4


class Clusters(NamedTuple):
    """Clusters of weighted rows."""

    centres: Floats  # (k, d)
    shares: Floats  # each cluster's share of the weight  (k,)
    within_scatter: Floats  # sum of the clusters' scatters about their centres  (d, d)


def k_means(z: Floats, w: Floats, k: int, rng: np.random.Generator) -> Clusters:
    """Return k clusters of rows z (n, d) with weights w (n,)."""
    centres = _first_centres(z, w, k, rng)
    negligible = EPS * w.sum()
    for _ in range(_LLOYD_STEPS):
        nearest = _squared_distances(z, centres).argmin(1)
        weights = np.maximum(np.bincount(nearest, w, k), negligible)
        sums = np.stack([np.bincount(nearest, w * column, k) for column in z.T], axis=1)
        is_empty = weights[:, None] <= negligible
        centres = np.where(is_empty, centres, sums / weights[:, None])
    offsets = z - centres[nearest]
    return Clusters(centres, weights / weights.sum(), (w * offsets.T) @ offsets)


def _first_centres(z: Floats, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Return the centres of k-means++, (k, d)."""
    centres = z[rng.choice(len(z), 1, p=w / w.sum())]
    for _ in range(k - 1):
        # draw rows with probability ∝ w D², where D is the distance to the nearest centre, and take
        # the row that lowers Σ w D² most
        nearest = _squared_distances(z, centres).min(1)
        p = w * nearest if nearest.any() else w
        trials = z[rng.choice(len(z), _TRIALS, p=p / p.sum())]
        remaining = w @ np.minimum(nearest[:, None], _squared_distances(z, trials))
        centres = np.vstack([centres, trials[remaining.argmin()]])
    return centres


def _squared_distances(z: Floats, centres: Floats) -> Floats:
    return np.stack([np.square(z - centre).sum(1) for centre in centres], axis=1)
