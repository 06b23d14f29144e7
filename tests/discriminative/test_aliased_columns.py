"""Columns that are combinations of others, with an intercept and without."""

import numpy as np
import pytest

from suffice import Moments
from suffice.discriminative.problem import aliased_columns

A, B = np.random.default_rng(0).normal(size=(2, 30))
ONE = np.ones(30)
Y = np.arange(30) % 2


@pytest.mark.parametrize(
    ("columns", "with_intercept", "without"),
    [
        ([A, B], 0, 0),
        ([A, B, A + 2 * B], 1, 1),
        # a constant is the intercept, and a feature like any other where there is none
        ([ONE, A], 1, 0),
        ([A, A + 3], 1, 0),
        ([ONE, A, A + 3], 2, 1),
        ([A, 0 * A], 1, 1),
        # means a hundred times the spread
        ([A + 100, B + 100, A - B], 1, 1),
        ([A + 100, B + 100, A - B + 1], 1, 0),
    ],
)
def test_columns_that_tell_nothing_new_are_aliased(columns, with_intercept, without):
    x = np.column_stack(columns)
    for fit_intercept, n in ((True, with_intercept), (False, without)):
        aliased = aliased_columns(Moments.of(x, Y), fit_intercept=fit_intercept)
        assert len(aliased) == n
        rest = Moments.of(np.delete(x, aliased, axis=1), Y)
        assert len(aliased_columns(rest, fit_intercept=fit_intercept)) == 0
