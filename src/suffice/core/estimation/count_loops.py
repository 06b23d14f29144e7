"""Compiled sums of logarithms over sparse rows, with the row's own counts left out."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

import math

import numpy as np

from suffice.core.compiled import njit

_TABLE = 2048  # log (m + α) of smaller whole numbers m is looked up


@njit(nogil=True)
def log_table(alpha):
    """Return log (m + α) of m = 0 … 2047."""
    table = np.empty(_TABLE)
    for m in range(_TABLE):
        table[m] = math.log(m + alpha)
    return table


@njit(nogil=True)
def log_plus(rest, alpha, table):
    """Return log (rest + α), for rest below 0 that of 0."""
    if rest < _TABLE:
        whole = int(rest) if rest > 0.0 else 0
        if whole == rest or rest <= 0.0:
            return table[whole]
    return math.log(rest + alpha)


@njit(nogil=True)
def left_out_sums(values, columns, starts, codes, w, sums, alpha, lo, hi, own):
    """Write Σ_j x_ij log (N_yj − w_i x_ij + α) of rows lo … hi − 1."""
    table = log_table(alpha)
    for i in range(lo, hi):
        class_sums = sums[codes[i]]
        u = w[i]
        total = 0.0
        for cell in range(starts[i], starts[i + 1]):
            x = float(values[cell])
            total += x * log_plus(class_sums[columns[cell]] - u * x, alpha, table)
        own[i] = total


@njit(nogil=True)
def changed_complement_sums(
    values, columns, starts, codes, w, complements, alpha, lo, hi, changed
):
    """Write Σ_j x_ij log (c_jk − w_i x_ij [k ≠ y] + α) of rows lo … hi − 1; c is (d, K)."""
    table = log_table(alpha)
    n_classes = complements.shape[1]
    for i in range(lo, hi):
        out = changed[i]
        out[:] = 0.0
        y = codes[i]
        for cell in range(starts[i], starts[i + 1]):
            x = float(values[cell])
            removed = w[i] * x
            c = complements[columns[cell]]
            for k in range(n_classes):
                rest = c[k] if k == y else c[k] - removed
                out[k] += x * log_plus(rest, alpha, table)
