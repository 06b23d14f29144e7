"""Which cells of a matrix are missing."""

import numpy as np
import pytest

from suffice.core.table.matrix import missing_bits


@pytest.mark.parametrize("n_rows", [9, 40_000])
@pytest.mark.parametrize("n_columns", [1, 8, 13, 40])
@pytest.mark.parametrize(("dtype", "width"), [("<u4", 32), ("<u8", 64)])
def test_bits_mark_the_missing_columns_of_few_and_many_rows(n_rows, n_columns, dtype, width):
    rng = np.random.default_rng(0)
    is_missing = rng.random((n_rows, n_columns)) < 0.3
    words = missing_bits(np.where(is_missing, np.nan, 1.0), dtype)
    assert words.shape == (n_rows, -(-n_columns // width))
    for j in range(n_columns):
        bit = words[:, j // width] >> np.array(j % width, dtype) & np.array(1, dtype)
        np.testing.assert_array_equal(bit == 1, is_missing[:, j])
