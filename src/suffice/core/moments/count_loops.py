"""Compiled loops that add the non-zero cells of rows to the sums of their classes."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

import math

import numpy as np

from suffice.core.compiled import njit

_TABLE = 256  # a table holds log x! of all integers below this


@njit(nogil=True)
def log_factorials():
    """Return a table of log x! for x = 0 … 255."""
    table = np.zeros(_TABLE)
    for x in range(2, _TABLE):
        table[x] = table[x - 1] + math.log(x)
    return table


@njit(nogil=True)
def log_factorial(x, table):
    """Return log x! = log Γ(x + 1)."""
    whole = int(x) if x < _TABLE else -1
    if whole == x:
        return table[whole]
    return math.lgamma(x + 1.0)


@njit(nogil=True)
def add_counts(values, columns, starts, rows, codes, w, sums, weights, factorials, totals):
    """Add rows to sums (K, d); return the first bad cell, or −1, and whether all are integers.

    The loop adds Σ w Σ_j log x_j! to ``factorials`` (K,), and Σ w log (Σ_j x_j)! to ``totals``
    (K,). ``w`` is empty if every weight is 1. A bad cell is negative, infinite or NaN.
    """
    table = log_factorials()
    all_whole = True
    for i in rows:
        k = codes[i]
        u = w[i] if len(w) else 1.0
        if u == 0.0:
            continue
        row_sums = sums[k]
        total = 0.0
        logs = 0.0
        for cell in range(starts[i], starts[i + 1]):
            x = float(values[cell])
            if not 0.0 <= x < np.inf:
                return cell, all_whole
            row_sums[columns[cell]] += u * x
            total += x
            # log x! = 0 for x = 0 and 1, but a test for these x would cost mispredicted branches
            whole = int(x) if x < _TABLE else -1
            if whole == x:
                logs += table[whole]
            else:
                logs += math.lgamma(x + 1.0)
                all_whole &= x == math.floor(x)
        weights[k] += u
        factorials[k] += u * logs
        totals[k] += u * log_factorial(total, table)
    return -1, all_whole


@njit(nogil=True)
def add_presence(values, columns, starts, rows, codes, w, threshold, sums, weights):
    """Add the weight of rows to their features above the threshold; see ``add_counts``."""
    for i in rows:
        k = codes[i]
        u = w[i] if len(w) else 1.0
        if u == 0.0:
            continue
        row_sums = sums[k]
        for cell in range(starts[i], starts[i + 1]):
            x = float(values[cell])
            if not 0.0 <= x < np.inf:
                return cell, True
            if x > threshold:
                row_sums[columns[cell]] += u
        weights[k] += u
    return -1, True


@njit(nogil=True, fastmath={"contract", "nsz"})
def add_products(values, columns, starts, weights, products):
    """Add Σ w x xᵀ to the lower triangle of products (d, d); the columns of each row ascend."""
    for i in range(len(starts) - 1):
        for cell in range(starts[i], starts[i + 1]):
            x = weights[i] * values[cell]
            product = products[columns[cell]]
            for other in range(starts[i], cell + 1):
                product[columns[other]] += x * values[other]
