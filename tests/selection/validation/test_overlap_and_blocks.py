"""How far folds overlap, where blocks of time begin, and how many folds copies leave."""

import numpy as np
import pytest

from suffice.core.table.table import Table
from suffice.selection.validation.fitting import Belonging
from suffice.selection.validation.folds import Folds, search_folds
from suffice.selection.validation.time_order import time_blocks

X = np.random.default_rng(0).normal(size=(100, 2))
Y = np.arange(100) % 2


@pytest.mark.parametrize("n_folds", [2, 4, 5, 10])
def test_the_overlap_is_the_judged_rows_for_each_row_learnt_from(n_folds):
    folds = Folds.of(X, Y, n_folds)
    assert folds.overlap == pytest.approx(n_folds / (n_folds - 1))


def test_a_single_fold_overlaps_with_none():
    rows = np.arange(100)
    assert Folds.of(X, Y, [(rows[:70], rows[70:])]).overlap == 0.0


@pytest.mark.parametrize(
    ("counts", "n_blocks", "blocks"),
    [
        # the middle of the second time is the sixth of ten rows
        ([4, 4, 2], 2, [0, 1, 1]),
        ([4, 1, 5], 2, [0, 0, 1]),
        ([1, 1, 1, 1, 1, 1], 3, [0, 0, 1, 1, 2, 2]),
        # no middle lies in the second third, so that two blocks are left
        ([9, 1], 3, [0, 1]),
    ],
)
def test_a_time_belongs_to_the_block_of_the_middle_of_its_rows(counts, n_blocks, blocks):
    times = np.repeat(np.arange(len(counts)), counts)
    found = time_blocks(times, n_blocks)
    np.testing.assert_array_equal(found, np.repeat(blocks, counts))


@pytest.mark.parametrize(("n_folds", "n"), [(10, 6), (6, 6), (4, 4)])
def test_copies_leave_at_most_two_sets_to_a_fold(n_folds, n):
    table = Table.of(np.repeat(X[:12], 2, axis=0), np.arange(24) // 2 % 2)
    splits = search_folds(table, n_folds, seed=0)
    assert len(splits) == n


def test_groups_leave_one_to_a_fold():
    table = Table.of(X[:24], np.arange(24) % 2)
    belonging = Belonging(groups=np.arange(24) // 4)
    splits = search_folds(table, 10, seed=0, belonging=belonging)
    assert len(splits) == 6
    for train, test in splits:
        assert not set(belonging.groups[train]) & set(belonging.groups[test])
