"""The rows that bias and variance are estimated from."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

import suffice as sf

SIZES = []
ERRORS = []  # of the first class, among the rows of each training set


class Counting(ClassifierMixin, BaseEstimator):
    """A classifier that states equal shares, and keeps how many rows it was fitted to."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        SIZES.append(len(X))
        ERRORS.append(np.mean(y != self.classes_[0]))
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


def test_as_many_training_sets_of_as_many_rows_are_drawn_as_were_asked_for():
    truth = sf.GaussianClassifier.from_parameters([0.5, 0.5], [[0.0], [2.0]], 1.0)
    SIZES.clear()
    ERRORS.clear()
    found = sf.lectures.bias_variance(truth, {"counting": Counting()}, n_rows=23, repeats=4)
    assert SIZES == [23] * 4
    assert (found.n_rows, found.repeats) == (23, 4)
    assert repr(found) == "BiasVariance(counting; 4 × 23 rows)"
    (row,) = found.rows()
    assert row["training_error"] == pytest.approx(np.mean(ERRORS))
    assert row["true_error"] == pytest.approx(0.5, abs=0.05)
    assert row["bayes_error"] == pytest.approx(stats.norm.cdf(-1.0))
    # the same posterior every time: E (p − ½)² over the classes, without variance
    assert row["variance"] == 0.0
    x, _ = truth.sample(2000, random_state=0)
    expected = np.square(truth.predict_proba(x) - 0.5).sum(1).mean()
    assert row["squared_bias"] == pytest.approx(expected, rel=0.05)
