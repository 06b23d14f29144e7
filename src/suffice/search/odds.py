"""Class log-odds of the levels of categories, from counts of the rows that a fold learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.model.views import LevelLogOdds, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.search.training import Cells, Training
    from suffice.table import Table
    from suffice.typing import Codes, Floats

_PSEUDO_ROWS = 2.0  # of each level, with the classes of all rows


def log_odds_view(below: View, table: Table, levels: Sequence[Codes]) -> LevelLogOdds:
    """Return the log-odds that all rows of a table tell, for rows as a view shows them."""
    sums = np.zeros((table.n_classes, table.n_features))
    np.add.at(sums, table.codes, table.weights[:, None] * table.x)
    unit = np.ptp(below.apply(table.x), 0)
    return LevelLogOdds(below, log_odds_map(sums, table.class_weights, levels, unit))


def fold_maps(training: Training, cells: Cells, levels: Sequence[Codes]) -> Floats:
    """Return the map of each fold (F, d, D), from the labels of the other folds only."""
    table, others = cells.table, (1.0 - np.eye(cells.n_folds))[cells.teaching]
    sums = np.tensordot(others, cells.summed(table.weights[:, None] * table.x), 1)
    unit = np.ptp(training.x, 0)
    pairs = zip(sums, training.weights, strict=True)
    return np.stack([log_odds_map(s, w, levels, unit) for s, w in pairs])


def log_odds_map(sums: Floats, weights: Floats, levels: Sequence[Codes], unit: Floats) -> Any:
    """Return T (d, D): features that are no levels as they are, then K − 1 for each category.

    ``sums`` (K, d) hold the weight of each level in each class, ``unit`` (d,) the difference that
    its indicator makes in the rows to be mapped.
    """
    (k, d), n_k = sums.shape, np.maximum(weights, 1.0)
    unit = np.where(unit > 0, unit, 1.0)
    kept = np.setdiff1d(np.arange(d), np.concatenate(levels))
    change = np.zeros((d, len(kept) + len(levels) * (k - 1)))
    change[kept, np.arange(len(kept))] = 1.0
    for i, block in enumerate(levels):
        # the reference first, which has no feature
        n = np.column_stack([weights - sums[:, block].sum(1), sums[:, block]])
        # log p(l | k) with pseudo-counts α π_k, up to a term that all classes share
        log_p = np.log(n / n_k[:, None] + _PSEUDO_ROWS / n_k.sum())
        odds = log_p[1:] - log_p[0]
        at = len(kept) + i * (k - 1)
        change[block, at : at + k - 1] = ((odds[:, 1:] - odds[:, :1]) / unit[block]).T
    return change
