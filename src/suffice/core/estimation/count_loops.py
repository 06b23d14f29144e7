"""Compiled sums of logarithms over sparse rows, with each row left out of its class."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

import math

import numpy as np

from suffice.core.compiled import njit

_TABLE = 512  # a table holds log (m + α) for all integers m below this


@njit(nogil=True)
def log_table(alpha):
    """Return log (m + α) for m = 0 … 511."""
    table = np.empty(_TABLE)
    for m in range(_TABLE):
        table[m] = math.log(m + alpha)
    return table


@njit(nogil=True)
def log_plus(rest, alpha, table):
    """Return log (max(rest, 0) + α)."""
    if rest < _TABLE:
        whole = int(rest) if rest > 0.0 else 0
        if whole == rest or rest <= 0.0:
            return table[whole]
    return math.log(rest + alpha)


@njit(nogil=True)
def log_of_smoothed(sums, alpha, logs):
    """Write log (N_kj + α) of sums (K, d) to logs (d, K)."""
    table = log_table(alpha)
    for j in range(len(logs)):
        for k in range(len(sums)):
            logs[j, k] = log_plus(sums[k, j], alpha, table)


@njit(nogil=True)
def log_tables(alphas):
    """Return log (m + α) for m = 0 … 511 and each α, (512, A)."""
    tables = np.empty((_TABLE, len(alphas)))
    for m in range(_TABLE):
        for a in range(len(alphas)):
            tables[m, a] = math.log(m + alphas[a])
    return tables


@njit(nogil=True)
def left_out_sums(values, columns, starts, codes, w, sums, alphas, tables, order, lo, hi, own):
    """Write Σ_j x_ij log (N_yj − w_i x_ij + α) for rows order[lo:hi] and each α to own (n, A)."""
    n_alphas = len(alphas)
    for i in order[lo:hi]:
        class_sums = sums[codes[i]]
        u = w[i]
        total = own[i]
        total[:] = 0.0
        for cell in range(starts[i], starts[i + 1]):
            x = float(values[cell])
            rest = max(class_sums[columns[cell]] - u * x, 0.0)
            whole = int(rest) if rest < _TABLE else -1
            if whole == rest:
                logs = tables[whole]
                for a in range(n_alphas):
                    total[a] += x * logs[a]
            else:
                for a in range(n_alphas):
                    total[a] += x * math.log(rest + alphas[a])


@njit(nogil=True)
def changed_complement_sums(
    values, columns, starts, codes, w, complements, alpha, lo, hi, changed
):
    """Write Σ_j x_ij log (c_jk − w_i x_ij [k ≠ y] + α) for rows lo … hi − 1; c is (d, K)."""
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
