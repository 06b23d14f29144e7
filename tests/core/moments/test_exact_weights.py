"""Rows without weight are not in exact sums."""

import numpy as np

from suffice import Moments
from suffice.core.moments.rounding_grid import RoundingGrid

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
W = np.array([2.0, 1, 0, 3, 0, 1, 1, 0, 1, 1, 0, 2])


def test_rows_without_weight_are_neither_counted_nor_summed():
    grid = RoundingGrid.around(X)
    found = Moments.of(X, Y, W, exact=grid).exact
    kept = W > 0
    expected = Moments.of(X[kept], Y[kept], W[kept], exact=grid).exact
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.sums.equals(expected.sums)
    assert found.products.equals(expected.products)
