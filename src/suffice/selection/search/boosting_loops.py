"""Compiled gradient boosting of classification trees over binned features."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.core.compiled import njit
from suffice.typing import Codes, Floats

Bins = npt.NDArray[np.uint8]

_LEAST_CURVATURE = 1e-16


class BoostingSettings(NamedTuple):
    """Settings of gradient boosting."""

    rate: float  # learning rate η of the first rounds
    steady_rounds: int  # number of rounds after which η grows in proportion to the round
    largest_rate: float
    n_leaves: int  # largest number of leaves of a tree
    min_leaf_rows: int
    min_leaf_curvature: float  # smallest Σ h in a leaf
    l2: float  # penalty λ on the value of a leaf
    n_rows: int  # number of rows drawn for each round
    n_features: int  # number of features drawn for each tree, on which it may split
    patience: int  # boosting stops after this many rounds without a lower held-out loss


@njit(nogil=True)
def boost(
    bins: Bins,
    codes: Codes,
    weights: Floats,
    held_bins: Bins,
    held_codes: Codes,
    held_weights: Floats,
    baseline: Floats,
    settings: BoostingSettings,
    n_rounds: int,
    seed: int,
) -> tuple[Codes, Codes, Codes, Codes, Floats, Floats, Floats]:
    """Return the trees of at most ``n_rounds`` rounds, the held-out losses and the best scores.

    Five arrays describe the T trees with N nodes: the root of each tree (T,), and for each node its
    children (N, 2), feature (N,), last bin on the left (N,) and value (N,). The children of a leaf
    are the leaf itself. The losses (R + 1,) are the mean held-out log-loss before the first round
    and after each of R rounds. The scores (m, K) are those of the held-out rows after the best
    round. Boosting stops early if the held-out loss no longer falls.

    ``bins`` (d, n) are the bins of the training rows, and ``held_bins`` (d, m) those of the
    held-out rows. ``baseline`` (K,) are the scores before the first tree. With two classes, there
    is one tree per round, which changes the score of the second class.

    Friedman (2001), *Annals of Statistics* 29, 1189–1232; Ke et al. (2017), *NeurIPS* 30.
    """
    np.random.seed(seed)  # noqa: NPY002 (of compiled code)
    d, n = bins.shape
    n_classes = len(baseline)
    n_outputs = 1 if n_classes == 2 else n_classes
    first_output = n_classes - n_outputs
    most_nodes = 2 * settings.n_leaves - 1
    capacity = n_rounds * n_outputs * most_nodes
    roots = np.zeros(n_rounds * n_outputs, np.intp)
    children = np.zeros((capacity, 2), np.intp)
    feature = np.zeros(capacity, np.intp)
    split_bin = np.zeros(capacity, np.intp)
    value = np.zeros(capacity)
    scores = np.empty((n, n_classes))
    scores[:] = baseline
    held_scores = np.empty((held_bins.shape[1], n_classes))
    held_scores[:] = baseline
    best_scores = held_scores.copy()
    losses = np.zeros(n_rounds + 1)
    losses[0] = _log_loss(held_scores, held_codes, held_weights)
    best_round = 0
    posterior = np.empty((n, n_classes))
    n_drawn = settings.n_rows
    n_features = settings.n_features
    rows = np.arange(n)
    held_rows = np.arange(held_bins.shape[1])
    order = np.arange(d)
    tree_rows = np.empty(n_drawn, np.intp)
    gradient = np.empty(n_drawn)
    curvature = np.empty(n_drawn)
    n_bins = np.ones(d, np.intp)
    for j in range(d):
        n_bins[j] = int(bins[j].max()) + 1
    # sums of gradients, curvatures and rows, for each leaf, feature and bin
    sums = np.zeros((settings.n_leaves, n_features, n_bins.max(), 3))
    leaf_edges = np.zeros((settings.n_leaves, 2), np.intp)
    leaf_nodes = np.zeros(settings.n_leaves, np.intp)
    n_nodes = 0
    n_trees = 0
    n_done = 0
    for round_ in range(n_rounds):
        _softmax(scores, posterior)
        _draw(rows, n_drawn)
        rate = _rate_of(round_, settings)
        for output in range(n_outputs):
            k = first_output + output
            _draw(order, n_features)
            for i in range(n_drawn):
                row = rows[i]
                tree_rows[i] = row
                p = posterior[row, k]
                # g = w (p − y),  h = w p (1 − p)
                gradient[i] = weights[row] * (p - (codes[row] == k))
                curvature[i] = weights[row] * max(p * (1 - p), _LEAST_CURVATURE)
            root = n_nodes
            roots[n_trees] = root
            n_leaves = _grow_tree(
                bins,
                n_bins,
                tree_rows,
                gradient,
                curvature,
                order[:n_features],
                sums,
                rate,
                settings,
                root,
                children,
                feature,
                split_bin,
                value,
                leaf_nodes,
                leaf_edges,
            )
            n_nodes = root + 2 * n_leaves - 1
            n_trees += 1
            # The drawn rows are sorted by leaf, so their leaves are known. All other rows descend
            # the tree.
            for leaf in range(n_leaves):
                step = value[leaf_nodes[leaf]]
                for i in range(leaf_edges[leaf, 0], leaf_edges[leaf, 1]):
                    scores[tree_rows[i], k] += step
            others = rows[n_drawn:]
            _add_tree(bins, others, root, children, feature, split_bin, value, scores, k)
            _add_tree(
                held_bins, held_rows, root, children, feature, split_bin, value, held_scores, k
            )
        n_done = round_ + 1
        losses[n_done] = _log_loss(held_scores, held_codes, held_weights)
        if losses[n_done] < losses[best_round]:
            best_round = n_done
            best_scores[:] = held_scores
        elif len(held_codes) > 0 and n_done - best_round >= settings.patience:
            break
    return (
        roots[:n_trees].copy(),
        children[:n_nodes].copy(),
        feature[:n_nodes].copy(),
        split_bin[:n_nodes].copy(),
        value[:n_nodes].copy(),
        losses[: n_done + 1].copy(),
        best_scores,
    )


@njit(nogil=True)
def _rate_of(round_: int, settings: BoostingSettings) -> float:
    """Return η of a round.

    In late rounds, gradients and curvatures are small, and the penalty on leaf values slows
    learning. A growing η makes up for that.
    """
    growth = max(1.0, round_ / settings.steady_rounds)
    return float(min(settings.rate * growth, settings.largest_rate))


@njit(nogil=True)
def fill_bins(columns: Floats, edges: Floats) -> Bins:
    """Return the number of edges (at most 255) below each value of the columns (d, n)."""
    bins = np.empty(columns.shape, np.uint8)
    for j in range(len(columns)):
        bins[j] = np.searchsorted(edges[j], columns[j])
    return bins


@njit(nogil=True)
def _draw(items: Codes, n: int) -> None:
    """Move n items, drawn at random without replacement, to the front."""
    if n == len(items):
        return
    for i in range(n):
        pick = np.random.randint(i, len(items))  # noqa: NPY002
        items[i], items[pick] = items[pick], items[i]


@njit(nogil=True, fastmath=True)
def _softmax(scores: Floats, posterior: Floats) -> None:
    n, n_classes = scores.shape
    for i in range(n):
        top = scores[i, 0]
        for k in range(1, n_classes):
            top = max(top, scores[i, k])
        total = 0.0
        for k in range(n_classes):
            posterior[i, k] = np.exp(scores[i, k] - top)
            total += posterior[i, k]
        for k in range(n_classes):
            posterior[i, k] /= total


@njit(nogil=True)
def _log_loss(scores: Floats, codes: Codes, weights: Floats) -> float:
    """Return the mean log-loss, log Σ_k exp(a_k) − a_true, of scores a; 0 without rows."""
    total = 0.0
    weight = 0.0
    for i in range(len(codes)):
        top = scores[i].max()
        partition = 0.0
        for k in range(scores.shape[1]):
            partition += np.exp(scores[i, k] - top)
        total += weights[i] * (top + np.log(partition) - scores[i, codes[i]])
        weight += weights[i]
    return total / weight if weight > 0 else 0.0


@njit(nogil=True)
def _add_tree(
    bins: Bins,
    rows: Codes,
    root: int,
    children: Codes,
    feature: Codes,
    split_bin: Codes,
    value: Floats,
    scores: Floats,
    k: int,
) -> None:
    """Add the value of the leaf that each row reaches to the row's score of class k."""
    for row in rows:
        node = root
        while children[node, 0] != node:
            node = children[node, 0 if bins[feature[node], row] <= split_bin[node] else 1]
        scores[row, k] += value[node]


@njit(nogil=True, error_model="numpy")
def _grow_tree(
    bins: Bins,
    n_bins: Codes,
    rows: Codes,
    gradient: Floats,
    curvature: Floats,
    features: Codes,
    sums: Floats,
    rate: float,
    settings: BoostingSettings,
    root: int,
    children: Codes,
    feature: Codes,
    split_bin: Codes,
    value: Floats,
    leaf_nodes: Codes,
    leaf_edges: Codes,
) -> int:
    """Grow a tree by splitting the leaf with the largest gain; return the number of leaves.

    ``rows`` become sorted by leaf: leaf i has the rows from ``leaf_edges[i, 0]`` up to
    ``leaf_edges[i, 1]``, and the node ``leaf_nodes[i]``.
    """
    n_leaves = settings.n_leaves
    gain = np.full(n_leaves, -1.0)
    best_feature = np.zeros(n_leaves, np.intp)
    best_bin = np.zeros(n_leaves, np.intp)
    place = np.arange(n_leaves)  # position of the sums of each leaf in ``sums``
    leaf_nodes[0] = root
    leaf_edges[0, 0] = 0
    leaf_edges[0, 1] = len(rows)
    children[root] = root
    n_nodes = root + 1
    _fill_sums(bins, n_bins, rows, gradient, curvature, features, sums[0])
    gain[0], best_feature[0], best_bin[0] = _best_split(sums[0], n_bins, features, settings)
    n_grown = 1
    while n_grown < n_leaves:
        leaf = int(gain[:n_grown].argmax())
        if gain[leaf] <= 0.0:
            break
        lo, hi = leaf_edges[leaf]
        j = features[best_feature[leaf]]
        last_bin = best_bin[leaf]
        middle = lo + _partition(
            bins[j], last_bin, rows[lo:hi], gradient[lo:hi], curvature[lo:hi]
        )
        node = leaf_nodes[leaf]
        feature[node] = j
        split_bin[node] = last_bin
        children[node, 0] = n_nodes
        children[node, 1] = n_nodes + 1
        children[n_nodes] = n_nodes
        children[n_nodes + 1] = n_nodes + 1
        # the left child takes the place of the leaf, and the right child becomes a new leaf
        other = n_grown
        leaf_nodes[leaf] = n_nodes
        leaf_edges[leaf, 1] = middle
        leaf_nodes[other] = n_nodes + 1
        leaf_edges[other, 0] = middle
        leaf_edges[other, 1] = hi
        n_nodes += 2
        n_grown += 1
        gain[leaf] = -1.0
        larger = max(middle - lo, hi - middle)
        if n_grown == n_leaves or larger < 2 * settings.min_leaf_rows:
            continue
        # sums of the larger child = sums of the parent − sums of the smaller child
        small, large = (leaf, other) if middle - lo <= hi - middle else (other, leaf)
        place[large], place[small] = place[leaf], place[other]
        small_sums = sums[place[small]]
        large_sums = sums[place[large]]
        part = slice(leaf_edges[small, 0], leaf_edges[small, 1])
        _fill_sums(
            bins, n_bins, rows[part], gradient[part], curvature[part], features, small_sums
        )
        for at in range(len(features)):
            for b in range(n_bins[features[at]]):
                for i in range(3):
                    large_sums[at, b, i] -= small_sums[at, b, i]
        for side in (leaf, other):
            gain[side], best_feature[side], best_bin[side] = _best_split(
                sums[place[side]], n_bins, features, settings
            )
    for leaf in range(n_grown):
        part = slice(leaf_edges[leaf, 0], leaf_edges[leaf, 1])
        value[leaf_nodes[leaf]] = _leaf_value(gradient[part], curvature[part], rate, settings)
    return n_grown


@njit(nogil=True)
def _leaf_value(
    gradient: Floats, curvature: Floats, rate: float, settings: BoostingSettings
) -> float:
    """Return −η Σ g / (Σ h + λ)."""
    return float(-rate * gradient.sum() / (curvature.sum() + settings.l2))


@njit(nogil=True)
def _fill_sums(
    bins: Bins,
    n_bins: Codes,
    rows: Codes,
    gradient: Floats,
    curvature: Floats,
    features: Codes,
    sums: Floats,
) -> None:
    """Write Σ g, Σ h and the number of rows for each feature and bin, (d, B, 3)."""
    for at in range(len(features)):
        j = features[at]
        column = bins[j]
        total = sums[at]
        total[: n_bins[j]] = 0.0
        for i in range(len(rows)):
            b = column[rows[i]]
            total[b, 0] += gradient[i]
            total[b, 1] += curvature[i]
            total[b, 2] += 1.0


@njit(nogil=True, error_model="numpy")
def _best_split(
    sums: Floats, n_bins: Codes, features: Codes, settings: BoostingSettings
) -> tuple[float, int, int]:
    """Return the gain of the best split, its feature's position and its last bin on the left."""
    best = 0.0
    place = -1
    last = 0
    n_first = n_bins[features[0]]
    g_all = sums[0, :n_first, 0].sum()
    h_all = sums[0, :n_first, 1].sum()
    n_all = sums[0, :n_first, 2].sum()
    if n_all < 2 * settings.min_leaf_rows or h_all < 2 * settings.min_leaf_curvature:
        return -1.0, 0, 0
    whole = g_all**2 / (h_all + settings.l2)
    for at in range(len(sums)):
        g = 0.0
        h = 0.0
        n = 0.0
        for b in range(n_bins[features[at]] - 1):
            if sums[at, b, 2] == 0.0:
                continue
            g += sums[at, b, 0]
            h += sums[at, b, 1]
            n += sums[at, b, 2]
            if n_all - n < settings.min_leaf_rows:
                break
            if h_all - h < settings.min_leaf_curvature:
                break
            if n < settings.min_leaf_rows or h < settings.min_leaf_curvature:
                continue
            # G_l² / (H_l + λ) + G_r² / (H_r + λ) − G² / (H + λ)
            gain = (
                g**2 / (h + settings.l2) + (g_all - g) ** 2 / (h_all - h + settings.l2) - whole
            )
            if gain > best:
                best = gain
                place = at
                last = b
    return (best, place, last) if place >= 0 else (-1.0, 0, 0)


@njit(nogil=True)
def _partition(
    column: Bins, last_bin: int, rows: Codes, gradient: Floats, curvature: Floats
) -> int:
    """Move rows in bins up to ``last_bin`` to the front, with gradients; return their number."""
    n = 0
    for i in range(len(rows)):
        if column[rows[i]] <= last_bin:
            rows[i], rows[n] = rows[n], rows[i]
            gradient[i], gradient[n] = gradient[n], gradient[i]
            curvature[i], curvature[n] = curvature[n], curvature[i]
            n += 1
    return n
