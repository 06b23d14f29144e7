"""How many rows differ from another in one column only, counted in some of the columns."""

import numpy as np
import pytest

from suffice.core.table.table import Table
from suffice.selection.validation import copies
from suffice.selection.validation.copies import _feature_columns, _n_near_pairs, row_hashes


def near_pairs(x, enough=10**9):
    table = Table.of(x, np.arange(len(x)) % 2)
    return _n_near_pairs(_feature_columns(table), row_hashes(table), enough)


@pytest.mark.parametrize("n_read", [19, 10])
def test_ten_columns_at_least_stand_for_all(monkeypatch, n_read):
    monkeypatch.setattr(copies, "MOST_COMPARED", 0 if n_read == 10 else 10**6)
    x = np.random.default_rng(0).normal(size=(40, 19))
    x[1] = x[0]
    x[1, 2] += 1  # a pair that differs in a column with an even number: it is read
    x[3] = x[2]
    x[3, 5] += 1  # an odd number: it is read if all columns are
    expected = 2.0 if n_read == 19 else 1.9
    assert near_pairs(x) == pytest.approx(expected)


def test_equal_rows_differ_in_no_column():
    x = np.random.default_rng(0).normal(size=(40, 4))
    x[1] = x[0]
    assert near_pairs(x) == 0.0


def test_the_count_ends_once_it_is_enough():
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[1::2] = x[::2]
    x[1::2, 0] += 1  # twenty pairs that differ in the first column
    x[1, 0] = x[0, 0]
    x[1, 1] += 1  # and one in the second
    assert near_pairs(x) == 20.0
    assert near_pairs(x, enough=19) == 19.0
