"""What was never added cannot be forgotten: neither rows nor weight."""

import numpy as np
import pytest

from suffice import Moments
from suffice.errors import ForgetError


@pytest.fixture
def rows(iris):
    X, y = iris
    return X[40:60], y[40:60]


def test_more_weight_than_was_added_is_refused_though_the_rows_are_fewer(rows):
    X, y = rows
    total = Moments.of(X, y)  # ten rows of each class
    with pytest.raises(ForgetError, match=r"weight of 30 .*weight of 10"):
        total - Moments.of(X[:3], y[:3], [10.0, 10.0, 10.0])


def test_more_rows_than_were_added_are_refused_though_their_weight_is_less(rows):
    X, y = rows
    total = Moments.of(X, y)
    many = np.concatenate([X[:10], X[:1]])
    with pytest.raises(ForgetError, match=r"cannot forget 11 rows .*only 10 rows"):
        total - Moments.of(many, y[:1].repeat(11), np.full(11, 0.5))


def test_all_the_weight_of_a_class_can_be_forgotten(rows):
    X, y = rows
    weights = np.linspace(0.1, 0.7, 20)
    total = Moments.of(X, y, weights)
    rest = total - Moments.of(X[:10], y[:10], weights[:10])
    assert rest.weights.sum() == pytest.approx(weights[10:].sum(), rel=1e-12)


def test_weights_that_leave_few_digits_of_the_rest_are_refused(rows):
    X, y = rows
    weights = np.ones(20)
    weights[:9] = 0.1 + 1e12  # the tenth row of the class weighs 1
    total = Moments.of(X, y, weights)
    with pytest.raises(
        ForgetError, match=r"weight of class 'setosa' was 9e\+12 and would be 1"
    ):
        total - Moments.of(X[:9], y[:9], weights[:9])
