"""Pairs of floats and texts of patterns, against exact fractions and their own inverses."""

from fractions import Fraction

import numpy as np
import pytest

from suffice.core.moments.int128 import Pair
from suffice.core.moments.pattern_keys import pattern_keys, read_keys


def exact(pair):
    return Fraction(float(pair.high[0])) + Fraction(float(pair.low[0]))


def pair(high, low):
    return Pair(np.array([high]), np.array([low]))


def test_a_quotient_has_twice_the_digits_of_a_float():
    dividend = pair(1.0, 2.0**-60)
    quotient = exact(dividend.divided(np.array([3.0])))
    expected = (1 + Fraction(1, 2**60)) / 3
    assert abs(quotient - expected) < Fraction(1, 2**104)


@pytest.mark.parametrize(
    ("a", "b"), [((1.0, 2.0**-60), (3.0, 2.0**-59)), ((1.0, 2.0**-54), (-1.0, 2.0**-107))]
)
def test_a_sum_of_pairs_has_twice_the_digits_of_a_float(a, b):
    total = exact(pair(*a) + pair(*b))
    expected = sum(Fraction(number) for number in (*a, *b))
    assert abs(total - expected) <= abs(expected) * Fraction(1, 2**104)


def test_a_key_tells_the_class_and_the_observed_columns():
    classes = np.array([0, 9, 10, 19, 99, 123_456, 999_999])
    observed = np.arange(14).reshape(7, 2) % 3 == 1
    keys = pattern_keys(classes, observed)
    assert keys[3] == "000019" + "".join("1" if flag else "0" for flag in observed[3])
    classes_read, observed_read = read_keys(keys, 2)
    np.testing.assert_array_equal(classes_read, classes)
    np.testing.assert_array_equal(observed_read, observed)
