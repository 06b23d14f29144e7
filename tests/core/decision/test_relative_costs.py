"""Costs relative to the worst class for each truth, and the recalls of classes without rows."""

import numpy as np

from suffice.core.decision.bayes_decision import Decision
from suffice.core.decision.predictions import Predictions
from suffice.evaluate.comparison.caveats import caveats_of_counts


def test_relative_costs_are_those_above_the_most_that_a_class_costs():
    costs = np.array([[0.0, 5.0, 1.0], [2.0, 0.0, 7.0], [3.0, 4.0, 0.0]])
    reject = np.array([1.0, 1.0, 9.0])
    decision = Decision(np.array([0, 1, 2, -1]), costs, reject)
    expected = np.vstack([costs, reject]) - [3.0, 5.0, 7.0]
    np.testing.assert_array_equal(decision.relative, expected)


def test_rows_that_were_judged_twice_count_once_whatever_their_order():
    posteriors = np.tile([0.5, 0.5], (80, 1))
    truth = np.repeat([0, 1], [36, 4])
    rows = Predictions.of(np.tile(truth, 2), posteriors, [0, 1])
    order = np.concatenate([np.arange(40)[::-1], np.arange(40)])
    shuffled = rows.take(order)
    object.__setattr__(shuffled, "rows", order + 1000)
    (caveat,) = caveats_of_counts(shuffled)
    assert caveat.figures == {"n_rows": 40}
