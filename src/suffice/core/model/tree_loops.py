"""Compiled growth of trees, of random splits or of the best ones, and the way of rows to leaves."""

import math
from typing import Any

import numpy as np

from suffice.core.compiled import njit

_FAST = {"nnan", "nsz", "reassoc"}
_BLOCK = 1024  # rows that stay in the cache


@njit(nogil=True)
def grown(columns: Any, edges: Any, known: Any, drawn: Any, n_classes: int, least: int) -> Any:
    """Return the roots, and left, right and feature, threshold and class weights of the nodes.

    Features that vary at a node are drawn: √d of them, each with one threshold between its least
    and greatest value, or, where edges of bins are given, d / 2 (at most 16) with all of their
    edges. The pair with the least Gini impurity splits, unless a part would have fewer than
    ``least`` rows. A leaf leads to itself. Each tree has rows drawn for it, some several times.

    Geurts, Ernst & Wehenkel (2006), *Machine Learning* 63, 3–42; Breiman (2001), ibid. 45, 5–32.
    """
    (codes, weights), (every, seeds), bins = known, drawn, np.zeros(columns.shape, np.uint8)
    for j in range(len(edges)):
        bins[j] = np.searchsorted(edges[j], columns[j])
    n_trees, n = len(seeds), every.shape[1]
    ways, threshold, node = np.zeros((2 * n, 3), np.intp), np.zeros(2 * n), 0
    sums, roots = np.zeros((2 * n, n_classes)), np.zeros(n_trees, np.intp)
    first, last = np.zeros(2 * n, np.intp), np.zeros(2 * n, np.intp)
    rows, times = np.zeros(n, np.intp), np.zeros(len(codes))
    # of the rows of a node: class, weight, how often drawn, and a feature
    part = np.zeros(n, np.intp), np.zeros(n), np.zeros(n), np.zeros(n, np.float32)
    label, weight, count, _ = part
    room = np.zeros((edges.shape[1] + 1, n_classes + 1)), np.zeros(n_classes)
    for tree in range(n_trees):
        np.random.seed(seeds[tree])  # noqa: NPY002 (of compiled code)
        if node + 2 * n > len(threshold):  # as long again
            ways, sums = np.concatenate((ways, 0 * ways)), np.concatenate((sums, 0 * sums))
            threshold = np.append(threshold, 0 * threshold)
        root, n_nodes, order, last[0] = node, node + 1, np.arange(len(columns)), 0
        roots[tree] = root
        for row in every[tree % len(every)]:
            rows[last[0]] = row
            last[0] += times[row] == 0.0
            times[row] += 1.0
        while node < n_nodes:
            lo, hi = first[node - root], last[node - root]
            total, m = sums[node], 0.0
            for i in range(lo, hi):
                row = rows[i]
                label[i - lo], count[i - lo] = codes[row], times[row]
                weight[i - lo] = times[row] * weights[row]
                total[codes[row]] += weight[i - lo]
                m += times[row]
            ways[node, 0] = ways[node, 1] = node
            if m >= 2 * least and np.count_nonzero(total) > 1:
                limits, here = (least, m - least), rows[lo:hi]
                if len(edges):
                    j, t = _best(bins, edges, here, part, total, limits, order, room)
                else:
                    j, t = _drawn(columns, here, part, total, limits, order, room[1])
                if j >= 0:
                    middle, at = lo + _parted(columns, here, j, t), n_nodes - root
                    first[at], last[at], first[at + 1], last[at + 1] = lo, middle, middle, hi
                    ways[node, 0], ways[node, 1], ways[node, 2] = n_nodes, n_nodes + 1, j
                    threshold[node] = t
                    n_nodes += 2
            node += 1
        times[rows[: last[0]]] = 0.0
    return roots, ways[:node].copy(), threshold[:node].copy(), sums[:node].copy()


@njit(nogil=True, error_model="numpy")
def _drawn(
    columns: Any,
    rows: Any,
    part: Any,
    total: Any,
    limits: Any,
    order: Any,
    below: Any,
) -> Any:
    """Return the best of the features and thresholds drawn, −1 where none splits."""
    (label, weight, count, value), (least, most), d = part, limits, len(order)
    best, feature, threshold, left = 0.0, -1, 0.0, max(1, int(math.sqrt(d)))
    for at in range(d):
        pick = np.random.randint(at, d)  # noqa: NPY002
        order[at], order[pick] = order[pick], order[at]
        low, high = _spread(columns, rows, order[at], value)
        if low == high:
            continue
        between = low + np.random.random() * (high - low)  # noqa: NPY002
        t = min(np.float32(between), np.nextafter(high, low))
        below[:] = 0.0
        n_below = 0.0
        for i in range(len(rows)):
            inside = value[i] <= t
            below[label[i]] += inside * weight[i]
            n_below += inside * count[i]
        a = b = squares = others = 0.0
        for k in range(len(total)):
            a, squares = a + below[k], squares + below[k] ** 2
            b, others = b + total[k] - below[k], others + (total[k] - below[k]) ** 2
        # Σ_k a_k² / a + Σ_k b_k² / b of the class weights of the two parts
        found = squares / a + others / b
        if least <= n_below <= most and found > best:
            best, feature, threshold = found, order[at], t
        left -= 1
        if left == 0:
            break
    return feature, threshold


@njit(nogil=True, error_model="numpy")
def _best(
    bins: Any,
    edges: Any,
    rows: Any,
    part: Any,
    total: Any,
    limits: Any,
    order: Any,
    room: Any,
) -> Any:
    """Return the best of half the features and the edges of their bins, −1 where none splits."""
    (label, weight, count, _), (least, most), (table, below) = part, limits, room
    d, k, whole, all_squares = len(order), len(total), total.sum(), (total**2).sum()
    best, feature, threshold, left = 0.0, -1, 0.0, min((d + 1) // 2, 16)
    for at in range(d):
        pick = np.random.randint(at, d)  # noqa: NPY002
        order[at], order[pick] = order[pick], order[at]
        j = order[at]
        low = high = bins[j, rows[0]]
        for i in range(len(rows)):  # class weights and the number of rows in each bin
            b = bins[j, rows[i]]
            table[b, label[i]] += weight[i]
            table[b, k] += count[i]
            low, high = min(low, b), max(high, b)
        below[:] = 0.0
        n_below = weight_below = squares = cross = 0.0
        for b in range(low, high):
            if table[b, k] == 0.0:
                continue
            for c in range(k):
                w = table[b, c]
                squares += w * (2 * below[c] + w)
                cross += w * total[c]
                below[c] += w
                weight_below += w
            n_below += table[b, k]
            if least <= n_below <= most:
                # Σ_k a_k² / a + Σ_k b_k² / b of the class weights of the two parts
                others = all_squares - 2 * cross + squares
                found = squares / weight_below + others / (whole - weight_below)
                if found > best:
                    best, feature, threshold = found, j, edges[j, b]
        table[low : high + 1] = 0.0
        left -= low < high
        if left == 0:
            break
    return feature, threshold


@njit(nogil=True, fastmath=_FAST)
def _spread(columns: Any, rows: Any, j: int, value: Any) -> Any:
    """Copy a feature of some rows; return its least and greatest value."""
    low = high = columns[j, rows[0]]
    for i in range(len(rows)):
        v = columns[j, rows[i]]
        value[i] = v
        low, high = v if v < low else low, v if v > high else high
    return low, high


@njit(nogil=True)
def _parted(columns: Any, rows: Any, j: int, t: float) -> int:
    """Put the rows with x_j ≤ t first; return how many there are."""
    n = 0
    for i in range(len(rows)):
        row = rows[i]
        rows[i], rows[n] = rows[n], row
        n += columns[j, row] <= t
    return n


@njit(nogil=True)
def add_leaves(
    x: Any,
    roots: Any,
    left: Any,
    right: Any,
    feature: Any,
    threshold: Any,
    shares: Any,
    out: Any,
) -> None:
    """Add the shares of the leaf that each row reaches from each root."""
    for first in range(0, len(x), _BLOCK):
        for root in roots:
            for i in range(first, min(first + _BLOCK, len(x))):
                node = root
                while left[node] != node:
                    node = (
                        left[node] if x[i, feature[node]] <= threshold[node] else right[node]
                    )
                for k in range(shares.shape[1]):
                    out[i, k] += shares[node, k]
