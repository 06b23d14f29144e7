"""Fit boosted trees, and choose the number of rounds on held-out rows."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.core.model.trees import BoostedTrees
from suffice.core.table import Table
from suffice.core.threads import side_by_side
from suffice.selection.search.tree_growing import bin_edges, bounded_columns
from suffice.typing import Codes, Floats

N_EDGES = 127  # number of split points per feature, which are quantiles
MOST_ROUNDS = 240
_RATE = 0.1  # learning rate of the first rounds
_STEADY_ROUNDS = 60  # after this many rounds, the learning rate grows
_LARGEST_RATE = 0.4
_MIN_LEAF_ROWS = 20
_MIN_LEAF_CURVATURE = 1e-3
_L2 = 1.0
_ROW_SHARE = 0.7
_FEW_FEATURES = 10  # with at most this many features, a tree may split on all of them
_FEATURE_SHARE = 0.6  # with more features, the share that a tree may split on
_PATIENCE = 20  # boosting stops after this many rounds without a lower held-out loss
_FEWEST_LEAVES = 12
_MOST_LEAVES = 40
# the arrays that describe the trees in the result of ``boost``
_Trees: TypeAlias = tuple[Codes, Codes, Codes, Codes, Floats]
_PSEUDO_COUNT = 0.5  # pseudo-count of each class in the scores before the first tree


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutBoosting:
    """The number of rounds with the lowest held-out loss, and the held-out posteriors then."""

    n_rounds: int
    posterior: Floats  # (m, K)


def judge_boosting(table: Table, held_out: Table, seed: int) -> HeldOutBoosting:
    """Return the result of boosting that stops at the lowest log-loss of held-out rows."""
    edges = bin_edges(bounded_columns(table.x), N_EDGES)
    parts = _boosted(table, edges, held_out, n_rounds=MOST_ROUNDS, seed=seed)
    losses, scores = parts[5:]
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return HeldOutBoosting(int(losses.argmin()), powers / powers.sum(1, keepdims=True))


def fit_boosting(table: Table, *, n_rounds: int, n_repeats: int, seed: int) -> BoostedTrees:
    """Return the mean of ``n_repeats`` boosted models, each with its own samples of rows."""
    edges = bin_edges(bounded_columns(table.x), N_EDGES)
    nobody = table.take(np.zeros(0, np.intp))
    n_outputs = 1 if table.n_classes == 2 else table.n_classes

    def boosted(repeat: int) -> _Trees:
        return _boosted(table, edges, nobody, n_rounds=n_rounds, seed=seed + repeat)[:5]

    repeats = []
    n_nodes = 0
    for parts in side_by_side(boosted, range(n_repeats), n_numbers=table.x.size):
        roots, children, feature, split_bin, value = parts
        is_leaf = children[:, 0] == np.arange(len(children))
        threshold = np.where(is_leaf, 0.0, edges[feature, split_bin])
        class_of_tree = np.arange(len(roots)) % n_outputs + table.n_classes - n_outputs
        repeats.append(
            BoostedTrees(
                roots=roots + n_nodes,
                left=children[:, 0] + n_nodes,
                right=children[:, 1] + n_nodes,
                feature=feature,
                threshold=threshold,
                value=value / n_repeats,
                class_of_tree=class_of_tree,
                baseline=_baseline(table),
            )
        )
        n_nodes += len(children)
    return BoostedTrees(
        roots=np.concatenate([each.roots for each in repeats]),
        left=np.concatenate([each.left for each in repeats]),
        right=np.concatenate([each.right for each in repeats]),
        feature=np.concatenate([each.feature for each in repeats]),
        threshold=np.concatenate([each.threshold for each in repeats]),
        value=np.concatenate([each.value for each in repeats]),
        class_of_tree=np.concatenate([each.class_of_tree for each in repeats]),
        baseline=_baseline(table),
    )


def _boosted(
    table: Table,
    edges: Floats,
    held_out: Table,
    *,
    n_rounds: int,
    seed: int,
) -> tuple[Codes, Codes, Codes, Codes, Floats, Floats, Floats]:
    """Return the seven arrays of ``boost``, which describes them."""
    from suffice.selection.search.boosting_loops import (  # Numba is slow to import
        BoostingSettings,
        boost,
        fill_bins,
    )

    d = table.n_features
    n_leaves = int(np.clip(np.sqrt(table.n_rows) / 4, _FEWEST_LEAVES, _MOST_LEAVES))
    n_tried = min(d, max(_FEW_FEATURES, round(_FEATURE_SHARE * d)))
    settings = BoostingSettings(
        rate=_RATE,
        steady_rounds=_STEADY_ROUNDS,
        largest_rate=_LARGEST_RATE,
        n_leaves=n_leaves,
        min_leaf_rows=_MIN_LEAF_ROWS,
        min_leaf_curvature=_MIN_LEAF_CURVATURE,
        l2=_L2,
        n_rows=max(int(_ROW_SHARE * table.n_rows), min(table.n_rows, 2 * _MIN_LEAF_ROWS)),
        n_features=n_tried,
        patience=_PATIENCE,
    )
    mean_weight = table.weights.mean()
    boosted: tuple[Codes, Codes, Codes, Codes, Floats, Floats, Floats] = boost(
        fill_bins(bounded_columns(table.x), edges),
        table.codes,
        table.weights / mean_weight,
        fill_bins(bounded_columns(held_out.x), edges),
        held_out.codes,
        held_out.weights,
        _baseline(table),
        settings,
        n_rounds,
        seed,
    )
    return boosted


def _baseline(table: Table) -> Floats:
    """Return the log frequencies of the classes relative to the first class, (K,)."""
    log_weights = np.log(table.class_weights / table.weights.mean() + _PSEUDO_COUNT)
    return np.asarray(log_weights - log_weights[0])
