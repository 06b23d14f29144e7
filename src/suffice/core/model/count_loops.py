"""Compiled scores of sparse rows: Σ_j x_j W_kj over the non-zero cells of each row."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from suffice.core.compiled import njit


@njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def sparse_products(values, columns, starts, lo, hi, weights, products):
    """Write Σ_j x_ij W_jk for rows lo … hi − 1 to products (hi − lo, K); weights are (d, K)."""
    n_classes = weights.shape[1]
    for i in range(lo, hi):
        product = products[i - lo]
        product[:] = 0.0
        for cell in range(starts[i], starts[i + 1]):
            x = float(values[cell])
            w = weights[columns[cell]]
            for k in range(n_classes):
                product[k] += x * w[k]
