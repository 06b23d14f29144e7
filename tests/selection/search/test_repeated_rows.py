"""Equal rows are found, whatever their units."""

from itertools import product

import numpy as np

from suffice.selection.search.repeated_rows import distinct_rows


def test_distinct_rows_are_the_first_of_each_kind_in_any_units():
    x = np.array(list(product([0.0, 1.0], repeat=3)) * 40)
    for units in ([1.0, 1.0, 1.0], [1.0, 1e-9, 1e9]):
        first, place = distinct_rows(x * units)
        assert sorted(first) == list(range(8))
        np.testing.assert_array_equal(x[first][place], x)
    assert len(distinct_rows(np.random.default_rng(0).normal(size=(50, 2)))[0]) == 50
