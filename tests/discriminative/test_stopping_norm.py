"""The gradient that a descent stops by, and the objective of some of the rows."""

import numpy as np
import pytest

from suffice.discriminative.logistic_loss import Evaluation


def test_the_gradient_of_the_first_class_counts_too(rows_and_codes, problem):
    objective = problem(*rows_and_codes(50, 2, 3)).objective
    # the gradients of all three classes sum to zero: that of the first is −(5, 1, 0)
    gradient = np.array([[3.0, 1.0, 0.5], [2.0, 0.0, -0.5]])
    point = Evaluation(phi=np.zeros((2, 3)), loss=1.0, misfit=1.0, gradient=gradient)
    assert objective.gradient_norm(point) == pytest.approx(5.0 / 50)


def test_a_sample_has_the_penalty_of_its_share_of_the_weight(rows_and_codes, problem):
    weight = np.random.default_rng(0).exponential(size=900)
    objective = problem(*rows_and_codes(900, 3, 3), weight, l2=6.0).objective
    sample = objective.sample(90)
    share = sample.design.total_weight / weight.sum()
    assert abs(share - 1) > 0.01
    np.testing.assert_allclose(sample.penalty, share * objective.penalty, rtol=1e-12)
