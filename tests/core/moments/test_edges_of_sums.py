"""Sums that start from nothing or lie far from zero, and rows that were never added."""

from fractions import Fraction

import numpy as np
import pytest

import suffice as sf
from suffice.core.moments.count_sums import CountSums
from suffice.core.moments.higher_moments import HigherMoments
from suffice.core.moments.mixed_sums import MixedSums
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import ForgetError, InvalidParameterError

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 0, 0, 1, 1, 1])
SUMS = {
    "moments": sf.Moments.of(X, Y),
    "counts": CountSums.of(X, Y),
    "counts beside numbers": MixedSums.of(X, Y, kinds={"x1": "poisson"}),
}


@pytest.mark.parametrize("sums", SUMS.values(), ids=SUMS)
def test_a_sum_starts_from_zero_and_from_no_other_number(sums):
    assert sum([sums]) is sums
    for other in (1, -1, "0"):
        with pytest.raises(TypeError):
            other + sums


def test_the_mean_of_no_rows_is_zero():
    empty = sf.Moments.of(X[:0], Y[:0], classes=[0, 1])
    np.testing.assert_array_equal(empty.grand_mean, [0.0, 0.0])
    assert empty.total_weight == 0.0


def test_the_mean_of_all_rows_far_from_zero_is_rounded_once():
    rng = np.random.default_rng(0)
    x = 1e8 + rng.normal(size=(61, 40))
    found = sf.Moments.of(x, np.arange(61) % 3).grand_mean
    for j in range(40):
        exact = sum(Fraction(value) for value in x[:, j].tolist()) / 61
        assert abs(Fraction(found[j]) - exact) <= Fraction(np.spacing(1e8)) * Fraction(
            501, 1000
        )


def test_rows_that_have_all_the_weight_but_are_fewer_were_never_added():
    total = sf.Moments.of(X[:3], Y[:3], [1.0, 1.0, 2.0])
    with pytest.raises(ForgetError, match=r"2 rows of weight 4 .*3 rows of weight 4"):
        total - sf.Moments.of(X[:2], Y[:2], [2.0, 2.0])


@pytest.mark.parametrize("exponent", [-900, 900])
def test_the_exponents_of_a_grid_lie_within_nine_hundred(exponent):
    assert RoundingGrid.of([0.0], [exponent]).steps == 2.0**exponent
    beyond = exponent + np.sign(exponent)
    with pytest.raises(InvalidParameterError, match=f"-900 and 900, got {beyond}"):
        RoundingGrid.of([0.0, 0.0], [0, beyond])


def test_higher_moments_of_columns_that_are_not_known_are_nan():
    moments = HigherMoments.of_rows(X, np.ones(6))
    chosen = moments.select(np.array([1, 2, -1, 0])).as_array()
    np.testing.assert_array_equal(chosen[:, [0, 3]], moments.as_array()[:, [1, 0]])
    assert np.isnan(chosen[:, 1:3]).all()
    none = HigherMoments.of_rows(X[:, :0], np.ones(6)).select(np.array([0, 1]))
    assert np.isnan(none.as_array()).all()
