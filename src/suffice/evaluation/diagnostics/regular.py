"""Which classes have a covariance of full rank, and what to say of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import TooFewClassesError
from suffice.estimation.degenerate import resolved, total_variances
from suffice.estimation.gaps import Gap
from suffice.linalg import scaled_cholesky

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Codes


def present_classes(moments: Moments) -> Codes:
    """Return the positions of the classes that have rows; two or more."""
    present = np.flatnonzero(moments.weights > 0)
    if len(present) < 2:
        found = moments.classes[present].tolist()
        msg = f"comparing classes needs at least 2 with rows, found {found}: check the labels"
        raise TooFewClassesError(msg)
    return present


def is_weighted(moments: Moments) -> bool:
    """Return whether the weights are anything but counts of rows."""
    return bool(np.any(moments.weights != moments.counts))


def singular_classes(moments: Moments, codes: Codes) -> list[Gap]:
    """Return the classes among ``codes`` whose covariance lacks rank, described."""
    totals = total_variances(moments)
    gaps = []
    for k in codes:
        sigma = moments.scatters[k] / moments.weights[k]
        variances = resolved(np.diagonal(sigma), moments.means[k], totals)
        few = moments.counts[k] <= moments.n_features
        if few or not variances.all() or scaled_cholesky(sigma) is None:
            gaps.append(Gap.of(int(k), sigma, variances))
    return gaps


def described(gaps: list[Gap], moments: Moments) -> tuple[str, ...]:
    """Return a sentence for each class without full rank."""
    return tuple(gap.describe(moments, np.arange(moments.n_classes)) for gap in gaps)
