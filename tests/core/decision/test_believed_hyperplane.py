"""A hyperplane that a classifier states is believed if the first thousand rows agree with it."""

import numpy as np
import pytest

from suffice.core.decision.any_classifier import DecisionRule


class Rule:
    """The side of 2 x₀ − x₁ = 1, but for rows with x₁ = 77."""

    classes_ = np.array([0, 1])
    coef_ = np.array([[2.0, -1.0]])
    intercept_ = np.array([-1.0])

    def predict(self, X):
        is_second = X @ self.coef_[0] + self.intercept_[0] > 0
        return np.where(X[:, 1] == 77, ~is_second, is_second).astype(int)


@pytest.mark.parametrize(
    ("at", "is_believed"), [(None, True), (0, False), (999, False), (1000, True)]
)
def test_rows_from_the_thousandth_on_are_not_asked(at, is_believed):
    x = np.random.default_rng(0).normal(size=(1200, 2))
    if at is not None:
        x[at] = [-3.0, 77.0]
    found = DecisionRule.of(Rule(), np.array([0, 1]), None).hyperplane(x)
    if not is_believed:
        assert found is None
        return
    w, w_0 = found
    np.testing.assert_array_equal(w, [2.0, -1.0])
    assert w_0 == -1.0
