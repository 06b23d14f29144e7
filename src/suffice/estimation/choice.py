"""Choosing among recipes by what the moments alone can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.degenerate import total_variances
from suffice.linalg import dependent_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.estimation.recipe import Recipe
    from suffice.moments import Moments
    from suffice.typing import Codes


def of_least_bic(candidates: Sequence[Recipe], moments: Moments) -> Recipe:
    """Return the recipe of least p log n − 2 log L.

    Columns that are constant, or combinations of others, within classes have no say: no family
    has a likelihood there. Families without a maximum for some class are left out.

    References
    ----------
    Schwarz (1978), *Annals of Statistics* 6, 461–464.
    """
    columns = _independent(moments)
    judged = moments.select(columns) if len(columns) < moments.n_features else moments
    scores = [recipe.bic(judged) if len(columns) else None for recipe in candidates]
    finite = [np.inf if score is None else score for score in scores]
    return candidates[int(np.argmin(finite))]


def _independent(moments: Moments) -> Codes:
    """Return the columns whose pooled within-class covariance has full rank."""
    pooled = moments.pooled_scatter
    # a variance within classes below rounding of the total one is none
    floor = 1e-26 * moments.total_weight * total_variances(moments)
    varying = np.flatnonzero(np.diagonal(pooled) > floor)
    if not len(varying):
        return varying
    gone = dependent_columns(pooled[np.ix_(varying, varying)])
    return np.delete(varying, gone)
