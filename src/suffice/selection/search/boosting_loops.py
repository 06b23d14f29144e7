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

    rate: float  # learning rate η
    n_leaves: int  # largest number of leaves of a tree
    min_leaf_rows: int
    min_leaf_curvature: float  # smallest Σ h in a leaf
    l2: float  # penalty λ on the value of a leaf
    n_rows: int  # rows drawn for each round
    n_features: int  # features drawn for each tree, on which it may split
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

    The trees are roots (T,), children (N, 2), feature (N,), the last bin on the left (N,) and value
    (N,). The children of a leaf are the leaf itself. The losses (R + 1,) are the mean held-out
    log-loss before the first round and after each round. The scores (m, K) of the held-out rows are
    those after the best round. Boosting stops early if the held-out loss no longer falls.

    ``bins`` (d, n) are the bins of the training rows, ``held_bins`` (d, m) those of held-out rows.
    ``baseline`` (K,) are the scores before the first tree. Two classes need one tree per round,
    which changes the score of the second class.

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
    order = np.arange(d)
    tree_rows = np.empty(n_drawn, np.intp)
    gradient = np.empty(n_drawn)
    curvature = np.empty(n_drawn)
    n_bins = 1
    for j in range(d):
        n_bins = max(n_bins, int(bins[j].max()) + 1)
    # sums of gradient, curvature and rows, for each leaf and bin
    sums = np.zeros((settings.n_leaves, n_features, n_bins, 3))
    n_nodes = 0
    n_trees = 0
    n_done = 0
    for round_ in range(n_rounds):
        _softmax(scores, posterior)
        _draw(rows, n_drawn)
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
            roots[n_trees] = n_nodes
            n_nodes = _grow_tree(
                bins,
                tree_rows,
                gradient,
                curvature,
                order[:n_features],
                sums,
                settings,
                n_nodes,
                children,
                feature,
                split_bin,
                value,
            )
            root = roots[n_trees]
            n_trees += 1
            _add_tree(bins, root, children, feature, split_bin, value, scores, k)
            _add_tree(held_bins, root, children, feature, split_bin, value, held_scores, k)
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
    """Return the mean of log Σ_k exp(a_k) − a_true; 0 without rows."""
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
    root: int,
    children: Codes,
    feature: Codes,
    split_bin: Codes,
    value: Floats,
    scores: Floats,
    k: int,
) -> None:
    """Add to each row's score of class k the value of the leaf that the row reaches."""
    for i in range(bins.shape[1]):
        node = root
        while children[node, 0] != node:
            node = children[node, 0 if bins[feature[node], i] <= split_bin[node] else 1]
        scores[i, k] += value[node]


@njit(nogil=True, error_model="numpy")
def _grow_tree(
    bins: Bins,
    rows: Codes,
    gradient: Floats,
    curvature: Floats,
    features: Codes,
    sums: Floats,
    settings: BoostingSettings,
    first_node: int,
    children: Codes,
    feature: Codes,
    split_bin: Codes,
    value: Floats,
) -> int:
    """Grow a tree by splitting the leaf with the largest gain; return the next free node."""
    n_leaves = settings.n_leaves
    node_of = np.zeros(n_leaves, np.intp)
    start = np.zeros(n_leaves, np.intp)
    end = np.zeros(n_leaves, np.intp)
    gain = np.full(n_leaves, -1.0)
    best_feature = np.zeros(n_leaves, np.intp)
    best_bin = np.zeros(n_leaves, np.intp)
    root = first_node
    node_of[0] = root
    end[0] = len(rows)
    children[root, 0] = root
    children[root, 1] = root
    value[root] = _leaf_value(gradient, curvature, settings)
    n_nodes = root + 1
    _fill_sums(bins, rows, gradient, curvature, features, sums[0])
    gain[0], best_feature[0], best_bin[0] = _best_split(sums[0], settings)
    for n_grown in range(1, n_leaves):
        leaf = int(gain[:n_grown].argmax())
        if gain[leaf] <= 0.0:
            break
        lo = start[leaf]
        hi = end[leaf]
        j = features[best_feature[leaf]]
        last_bin = best_bin[leaf]
        middle = lo + _partition(
            bins[j], last_bin, rows[lo:hi], gradient[lo:hi], curvature[lo:hi]
        )
        node = node_of[leaf]
        feature[node] = j
        split_bin[node] = last_bin
        children[node, 0] = n_nodes
        children[node, 1] = n_nodes + 1
        for child in range(n_nodes, n_nodes + 2):
            children[child, 0] = child
            children[child, 1] = child
        value[n_nodes] = _leaf_value(gradient[lo:middle], curvature[lo:middle], settings)
        value[n_nodes + 1] = _leaf_value(gradient[middle:hi], curvature[middle:hi], settings)
        # the left child replaces the leaf, the right child is a new leaf
        node_of[leaf] = n_nodes
        end[leaf] = middle
        node_of[n_grown] = n_nodes + 1
        start[n_grown] = middle
        end[n_grown] = hi
        n_nodes += 2
        if n_grown + 1 == n_leaves:
            break
        # sum the smaller child's rows; subtract to get the larger child's sums
        is_left_small = middle - lo <= hi - middle
        small = leaf if is_left_small else n_grown
        large = n_grown if is_left_small else leaf
        if is_left_small:
            sums[large] = sums[leaf]
        part = slice(start[small], end[small])
        _fill_sums(bins, rows[part], gradient[part], curvature[part], features, sums[small])
        sums[large] -= sums[small]
        for side in (leaf, n_grown):
            gain[side], best_feature[side], best_bin[side] = _best_split(sums[side], settings)
    return n_nodes


@njit(nogil=True)
def _leaf_value(gradient: Floats, curvature: Floats, settings: BoostingSettings) -> float:
    """Return −η Σ g / (Σ h + λ)."""
    return float(-settings.rate * gradient.sum() / (curvature.sum() + settings.l2))


@njit(nogil=True)
def _fill_sums(
    bins: Bins,
    rows: Codes,
    gradient: Floats,
    curvature: Floats,
    features: Codes,
    sums: Floats,
) -> None:
    """Write Σ g, Σ h and the number of rows for each feature and bin, (d, B, 3)."""
    sums[:] = 0.0
    for at in range(len(features)):
        column = bins[features[at]]
        total = sums[at]
        for i in range(len(rows)):
            b = column[rows[i]]
            total[b, 0] += gradient[i]
            total[b, 1] += curvature[i]
            total[b, 2] += 1.0


@njit(nogil=True, error_model="numpy")
def _best_split(sums: Floats, settings: BoostingSettings) -> tuple[float, int, int]:
    """Return the gain, the feature's position and the last bin on the left; gain −1 if none."""
    best = 0.0
    place = -1
    last = 0
    g_all = sums[0, :, 0].sum()
    h_all = sums[0, :, 1].sum()
    n_all = sums[0, :, 2].sum()
    whole = g_all**2 / (h_all + settings.l2)
    for at in range(len(sums)):
        g = 0.0
        h = 0.0
        n = 0.0
        for b in range(sums.shape[1] - 1):
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
    """Move the rows of the bins up to ``bin`` to the front, with gradients; return their number."""
    n = 0
    for i in range(len(rows)):
        if column[rows[i]] <= last_bin:
            rows[i], rows[n] = rows[n], rows[i]
            gradient[i], gradient[n] = gradient[n], gradient[i]
            curvature[i], curvature[n] = curvature[n], curvature[i]
            n += 1
    return n
