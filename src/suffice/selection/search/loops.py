"""Compiled loops that grow trees with random splits or best splits."""

import math

import numpy as np
import numpy.typing as npt

from suffice.core.compiled import njit
from suffice.typing import Codes, Floats

_FAST = {"nnan", "nsz", "reassoc"}
_MOST_FEATURES = 16  # largest number of features that a node of a random forest tries


@njit(nogil=True)
def grow(
    columns: Floats,
    edges: Floats,
    codes: Codes,
    weights: Floats,
    drawn_rows: Codes,
    seeds: Codes,
    n_classes: int,
    min_leaf_rows: int,
) -> tuple[Codes, Codes, Codes, Floats, Floats]:
    """Return roots (T,), children (N, 2), feature (N,), threshold (N,), class weights (N, K).

    The roots are those of T trees, and the other arrays describe their N nodes. ``columns`` (d, n)
    are the features; ``codes`` and ``weights`` (n,) are the classes and weights of the rows.
    ``drawn_rows`` (T, m) are the rows drawn for each tree, possibly with repetition. With shape (1,
    m), all trees use the same rows.

    Without ``edges``, a node draws √d of the features that vary among its rows, each with a random
    threshold between the feature's minimum and maximum. With ``edges`` (d, B), a node draws d / 2
    features, at most 16, and tries all of their edges. The feature and threshold with the lowest
    Gini impurity split the node, unless a child would have fewer than ``min_leaf_rows`` rows. The
    children of a leaf are the leaf itself.

    Geurts, Ernst & Wehenkel (2006), *Machine Learning* 63, 3–42; Breiman (2001), ibid. 45, 5–32.
    """
    n_trees = len(seeds)
    n = drawn_rows.shape[1]
    bins = np.zeros(columns.shape, np.uint8)
    for j in range(len(edges)):
        bins[j] = np.searchsorted(edges[j], columns[j])
    # arrays over the nodes of all trees
    roots = np.zeros(n_trees, np.intp)
    children = np.zeros((2 * n, 2), np.intp)
    feature = np.zeros(2 * n, np.intp)
    threshold = np.zeros(2 * n)
    class_weights = np.zeros((2 * n, n_classes))
    # arrays over the nodes of one tree; a node has the rows rows[first : last]
    first = np.zeros(2 * n, np.intp)
    last = np.zeros(2 * n, np.intp)
    rows = np.zeros(n, np.intp)
    times = np.zeros(len(codes))  # how often each row was drawn for this tree
    # arrays over the rows of one node
    label = np.zeros(n, np.intp)
    weight = np.zeros(n)
    count = np.zeros(n)
    value = np.zeros(n)
    # work arrays of a split
    bin_sums = np.zeros((edges.shape[1] + 1, n_classes + 1))
    below = np.zeros(n_classes)
    node = 0
    for tree in range(n_trees):
        np.random.seed(seeds[tree])  # noqa: NPY002 (of compiled code)
        if node + 2 * n > len(
            threshold
        ):  # the arrays over nodes are full, so they are doubled
            children = np.concatenate((children, 0 * children))
            feature = np.append(feature, 0 * feature)
            threshold = np.append(threshold, 0 * threshold)
            class_weights = np.concatenate((class_weights, 0 * class_weights))
        root = node
        roots[tree] = root
        n_nodes = root + 1
        order = np.arange(len(columns))
        last[0] = _count_draws(drawn_rows[tree % len(drawn_rows)], rows, times)
        while node < n_nodes:
            lo = first[node - root]
            hi = last[node - root]
            node_rows = rows[lo:hi]
            total = class_weights[node]
            m = _gather(node_rows, codes, weights, times, label, weight, count, total)
            children[node, 0] = node
            children[node, 1] = node
            if m >= 2 * min_leaf_rows and np.count_nonzero(total) > 1:
                most = m - min_leaf_rows
                if len(edges):
                    j, t = _best_split(
                        bins,
                        edges,
                        node_rows,
                        label,
                        weight,
                        count,
                        total,
                        min_leaf_rows,
                        most,
                        order,
                        bin_sums,
                        below,
                    )
                else:
                    j, t = _random_split(
                        columns,
                        node_rows,
                        label,
                        weight,
                        count,
                        value,
                        total,
                        min_leaf_rows,
                        most,
                        order,
                        below,
                    )
                if j >= 0:
                    middle = lo + _partition(columns, node_rows, j, t)
                    child = n_nodes - root
                    first[child] = lo
                    last[child] = middle
                    first[child + 1] = middle
                    last[child + 1] = hi
                    children[node, 0] = n_nodes
                    children[node, 1] = n_nodes + 1
                    feature[node] = j
                    threshold[node] = t
                    n_nodes += 2
            node += 1
        times[rows[: last[0]]] = 0.0
    return (
        roots,
        children[:node].copy(),
        feature[:node].copy(),
        threshold[:node].copy(),
        class_weights[:node].copy(),
    )


@njit(nogil=True)
def _count_draws(drawn: Codes, rows: Codes, times: Floats) -> int:
    """Write the distinct drawn rows and how often each was drawn; return their number."""
    n = 0
    for row in drawn:
        rows[n] = row
        if times[row] == 0.0:
            n += 1
        times[row] += 1.0
    return n


@njit(nogil=True)
def _gather(
    rows: Codes,
    codes: Codes,
    weights: Floats,
    times: Floats,
    label: Codes,
    weight: Floats,
    count: Floats,
    total: Floats,
) -> float:
    """Copy the classes, weights and counts of a node's rows, and add the weights to ``total``.

    Return the sum of the counts.
    """
    m = 0.0
    for i in range(len(rows)):
        row = rows[i]
        label[i] = codes[row]
        count[i] = times[row]
        weight[i] = times[row] * weights[row]
        total[codes[row]] += weight[i]
        m += times[row]
    return m


@njit(nogil=True, error_model="numpy")
def _random_split(
    columns: Floats,
    rows: Codes,
    label: Codes,
    weight: Floats,
    count: Floats,
    value: Floats,
    total: Floats,
    least: int,
    most: float,
    order: Codes,
    below: Floats,
) -> tuple[int, float]:
    """Return the best of the drawn features, and its threshold; feature −1 without a split."""
    d = len(order)
    best = 0.0
    feature = -1
    threshold = 0.0
    n_left = max(1, int(math.sqrt(d)))  # number of features still to try
    for at in range(d):
        pick = np.random.randint(at, d)  # noqa: NPY002
        order[at], order[pick] = order[pick], order[at]
        low, high = _copy_with_range(columns, rows, order[at], value)
        if low == high:
            continue
        between = low + np.random.random() * (high - low)  # noqa: NPY002
        t = min(between, np.nextafter(high, low))
        below[:] = 0.0
        n_below = 0.0
        for i in range(len(rows)):
            inside = value[i] <= t
            below[label[i]] += inside * weight[i]
            n_below += inside * count[i]
        a = 0.0
        b = 0.0
        a_squares = 0.0
        b_squares = 0.0
        for k in range(len(total)):
            a += below[k]
            a_squares += below[k] ** 2
            b = b + total[k] - below[k]
            b_squares += (total[k] - below[k]) ** 2
        # Σ_k a_k² / a + Σ_k b_k² / b, where a and b are the class weights of the two children
        purity = a_squares / a + b_squares / b
        if least <= n_below <= most and purity > best:
            best = purity
            feature = order[at]
            threshold = t
        n_left -= 1
        if n_left == 0:
            break
    return feature, threshold


@njit(nogil=True, error_model="numpy")
def _best_split(
    bins: npt.NDArray[np.uint8],
    edges: Floats,
    rows: Codes,
    label: Codes,
    weight: Floats,
    count: Floats,
    total: Floats,
    least: int,
    most: float,
    order: Codes,
    bin_sums: Floats,
    below: Floats,
) -> tuple[int, float]:
    """Return the best of half of the features, and its edge; feature −1 without a split."""
    d = len(order)
    k = len(total)
    whole = total.sum()
    all_squares = (total**2).sum()
    best = 0.0
    feature = -1
    threshold = 0.0
    n_left = min((d + 1) // 2, _MOST_FEATURES)  # number of features still to try
    for at in range(d):
        pick = np.random.randint(at, d)  # noqa: NPY002
        order[at], order[pick] = order[pick], order[at]
        j = order[at]
        low = high = bins[j, rows[0]]
        for i in range(len(rows)):  # class weights and number of rows in each bin
            b = bins[j, rows[i]]
            bin_sums[b, label[i]] += weight[i]
            bin_sums[b, k] += count[i]
            low = min(low, b)
            high = max(high, b)
        below[:] = 0.0
        n_below = 0.0
        weight_below = 0.0
        squares = 0.0  # Σ_k a_k²
        cross = 0.0  # Σ_k a_k (a_k + b_k)
        for b in range(low, high):
            if bin_sums[b, k] == 0.0:
                continue
            for c in range(k):
                w = bin_sums[b, c]
                squares += w * (2 * below[c] + w)
                cross += w * total[c]
                below[c] += w
                weight_below += w
            n_below += bin_sums[b, k]
            if least <= n_below <= most:
                # Σ_k a_k² / a + Σ_k b_k² / b, where a and b are the class weights of the two
                # children
                b_squares = all_squares - 2 * cross + squares
                purity = squares / weight_below + b_squares / (whole - weight_below)
                if purity > best:
                    best = purity
                    feature = j
                    threshold = edges[j, b]
        bin_sums[low : high + 1] = 0.0
        if low < high:
            n_left -= 1
        if n_left == 0:
            break
    return feature, threshold


@njit(nogil=True, fastmath=_FAST)
def _copy_with_range(
    columns: Floats, rows: Codes, j: int, value: Floats
) -> tuple[float, float]:
    """Copy a feature of some rows; return its minimum and maximum."""
    low = columns[j, rows[0]]
    high = low
    for i in range(len(rows)):
        v = columns[j, rows[i]]
        value[i] = v
        low = v if v < low else low
        high = v if v > high else high
    return low, high


@njit(nogil=True)
def _partition(columns: Floats, rows: Codes, j: int, t: float) -> int:
    """Move the rows with x_j ≤ t to the front; return their number."""
    n = 0
    for i in range(len(rows)):
        row = rows[i]
        rows[i] = rows[n]
        rows[n] = row
        if columns[j, row] <= t:
            n += 1
    return n
