"""How many rows of each class are found."""

from suffice.core.decision.predictions import Predictions
from suffice.evaluate.comparison.verdict import _recalls


def test_classes_without_judged_rows_have_no_recall():
    posteriors = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]
    rows = Predictions.of(["a", "a", "b", "b"], posteriors, ["a", "b", "c"])
    found = [(recall.label, recall.n_found, recall.of) for recall in _recalls(rows)]
    assert found == [("a", 1, 2), ("b", 1, 2)]


def test_the_class_that_is_found_least_comes_first():
    posteriors = [[0.8, 0.2], [0.2, 0.8], [0.6, 0.4], [0.6, 0.4], [0.3, 0.7]]
    rows = Predictions.of([0, 0, 1, 1, 1], posteriors, [0, 1])
    found = [(recall.label, recall.n_found, recall.of) for recall in _recalls(rows)]
    assert found == [(1, 1, 3), (0, 1, 2)]
