"""Compiled growth of trees, of random splits or of the best ones, and the way of rows to leaves."""

import math
from typing import Any

import numpy as np

from suffice.compiled import njit

_FAST = {"nnan", "nsz", "reassoc"}
_BLOCK = 1024  # rows that stay in the cache


@njit(nogil=True)
def grown(x: Any, bins: Any, edges: Any, known: Any, n_classes: int, least: int, seed: int) -> Any:
    """Return left, right, feature, threshold and class weights of the nodes of a tree.

    Features that vary at a node are drawn: √d of them, each with one threshold between its least
    and greatest value, or, where bins of the rows are given, d / 2 (at most 16) with all edges of
    their bins. The pair with the least Gini impurity splits, unless a part would have fewer than
    ``least`` rows. A leaf leads to itself. Rows are reordered.

    Geurts, Ernst & Wehenkel (2006), *Machine Learning* 63, 3–42; Breiman (2001), ibid. 45, 5–32.
    """
    np.random.seed(seed)  # noqa: NPY002 (of compiled code)
    codes, w, rows = known
    n, most = len(rows), 2 * len(rows)
    left, right, feature = np.zeros(most, np.intp), np.zeros(most, np.intp), np.zeros(most, np.intp)
    first, last = np.zeros(most, np.intp), np.zeros(most, np.intp)
    threshold, sums = np.zeros(most), np.zeros((most, n_classes))
    order, value, below = np.arange(x.shape[1]), np.zeros(n, np.float32), np.zeros(n_classes)
    table = np.zeros((edges.shape[1] + 1, n_classes + 1))
    label, weight = codes[rows], w[rows]  # in the order of the rows, whatever that is
    last[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        lo, hi = first[node], last[node]
        for i in range(lo, hi):
            sums[node, label[i]] += weight[i]
        left[node] = right[node] = node
        if hi - lo >= 2 * least and np.count_nonzero(sums[node]) > 1:
            part = rows[lo:hi], label[lo:hi], weight[lo:hi]
            if len(bins):
                j, t = _best(bins, edges, part, sums[node], least, order, table, below)
            else:
                j, t = _drawn(x, part, sums[node], least, order, value, below)
            if j >= 0:
                middle = lo + _parted(x, part, j, t)
                feature[node], threshold[node] = j, t
                left[node], right[node] = n_nodes, n_nodes + 1
                first[n_nodes], last[n_nodes] = lo, middle
                first[n_nodes + 1], last[n_nodes + 1] = middle, hi
                n_nodes += 2
        node += 1
    return left[:n_nodes], right[:n_nodes], feature[:n_nodes], threshold[:n_nodes], sums[:n_nodes]


@njit(nogil=True, error_model="numpy")
def _drawn(x: Any, part: Any, total: Any, least: int, order: Any, value: Any, below: Any) -> Any:
    """Return the best of the features and thresholds drawn, −1 where none splits."""
    rows, label, weight = part
    n, d = len(rows), len(order)
    best, feature, threshold, left = 0.0, -1, 0.0, max(1, int(math.sqrt(d)))
    for at in range(d):
        pick = np.random.randint(at, d)  # noqa: NPY002
        order[at], order[pick] = order[pick], order[at]
        low, high = _spread(x, rows, order[at], value)
        if low == high:
            continue
        between = low + np.random.random() * (high - low)  # noqa: NPY002
        t = min(np.float32(between), np.nextafter(high, low))
        below[:] = 0.0
        count = 0
        for i in range(n):
            inside = value[i] <= t
            below[label[i]] += inside * weight[i]
            count += inside
        a = b = squares = others = 0.0
        for k in range(len(total)):
            a, squares = a + below[k], squares + below[k] ** 2
            b, others = b + total[k] - below[k], others + (total[k] - below[k]) ** 2
        # Σ_k a_k² / a + Σ_k b_k² / b of the class weights of the two parts
        found = squares / a + others / b
        if least <= count <= n - least and found > best:
            best, feature, threshold = found, order[at], t
        left -= 1
        if left == 0:
            break
    return feature, threshold


@njit(nogil=True, error_model="numpy")
def _best(
    bins: Any, edges: Any, part: Any, total: Any, least: int, order: Any, table: Any, below: Any
) -> Any:
    """Return the best of half the features and the edges of their bins, −1 where none splits."""
    rows, label, weight = part
    n, d, k = len(rows), len(order), len(total)
    best, feature, threshold, left, whole = 0.0, -1, 0.0, min((d + 1) // 2, 16), total.sum()
    for at in range(d):
        pick = np.random.randint(at, d)  # noqa: NPY002
        order[at], order[pick] = order[pick], order[at]
        j = order[at]
        low = high = bins[rows[0], j]
        for i in range(n):  # class weights and the number of rows in each bin
            b = bins[rows[i], j]
            table[b, label[i]] += weight[i]
            table[b, k] += 1.0
            low, high = min(low, b), max(high, b)
        below[:] = 0.0
        count = weight_below = squares = 0.0
        others = (total**2).sum()
        for b in range(low, high):
            if table[b, k] == 0.0:
                continue
            count += table[b, k]
            for c in range(k):
                w = table[b, c]
                squares += w * (2 * below[c] + w)
                others -= w * (2 * (total[c] - below[c]) - w)
                below[c] += w
                weight_below += w
            if least <= count <= n - least:
                # Σ_k a_k² / a + Σ_k b_k² / b of the class weights of the two parts
                found = squares / weight_below + others / (whole - weight_below)
                if found > best:
                    best, feature, threshold = found, j, edges[j, b]
        table[low : high + 1] = 0.0
        left -= low < high
        if left == 0:
            break
    return feature, threshold


@njit(nogil=True, fastmath=_FAST)
def _spread(x: Any, rows: Any, j: int, value: Any) -> Any:
    """Copy a feature of some rows; return its least and greatest value."""
    low = high = x[rows[0], j]
    for i in range(len(rows)):
        v = x[rows[i], j]
        value[i] = v
        low, high = v if v < low else low, v if v > high else high
    return low, high


@njit(nogil=True)
def _parted(x: Any, part: Any, j: int, t: float) -> int:
    """Put the rows with x_j ≤ t first; return how many there are."""
    rows, label, weight = part
    i, end = 0, len(rows)
    while i < end:
        if x[rows[i], j] <= t:
            i += 1
        else:
            end -= 1
            rows[i], rows[end] = rows[end], rows[i]
            label[i], label[end] = label[end], label[i]
            weight[i], weight[end] = weight[end], weight[i]
    return i


@njit(nogil=True)
def add_leaves(
    x: Any, roots: Any, left: Any, right: Any, feature: Any, threshold: Any, shares: Any, out: Any
) -> None:
    """Add the shares of the leaf that each row reaches from each root."""
    for first in range(0, len(x), _BLOCK):
        for root in roots:
            for i in range(first, min(first + _BLOCK, len(x))):
                node = root
                while left[node] != node:
                    node = left[node] if x[i, feature[node]] <= threshold[node] else right[node]
                for k in range(shares.shape[1]):
                    out[i, k] += shares[node, k]
