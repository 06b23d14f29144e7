"""Small values of decisions, worked by hand."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.core.decision.classifier import Classifier
from suffice.core.decision.conformal import NonconformityScores, PredictionSets
from suffice.core.decision.predictions import Predictions
from suffice.core.decision.prior_shift import shifted_priors
from suffice.core.decision.rules import BoundaryRule
from suffice.core.estimation.degenerate import filled_variances
from suffice.core.model.predicted import PredictedModel
from suffice.errors import InvalidParameterError
from suffice.selection.validation.streamed import hashed
from suffice.selection.validation.time_order import time_codes


def test_the_mean_row_is_the_mean_of_class_means_by_their_priors(iris):
    X, y = iris
    X, y = X[:120], y[:120]  # 50, 50 and 20 rows
    for estimator in (sf.LDA(), sf.LogisticRegression()):
        classifier = estimator.fit(X, y).model_
        np.testing.assert_allclose(classifier._mean_row(), X.mean(0))


def test_a_row_that_no_class_takes_is_predicted_as_none():
    predictions = Predictions(
        classes=np.array(["a", "b"]),
        truth=np.array([0, 1, 1]),
        predicted=np.array([0, -1, 1]),
        logs=None,
        rows=np.arange(3),
        weight=None,
    )
    assert predictions.predicted_labels.tolist() == ["a", None, "b"]


def test_sets_of_classes_are_counted_by_size_in_notebooks():
    members = np.array([[1, 0], [1, 1], [1, 1], [1, 1]], bool)
    html = PredictionSets(np.array(["a", "b"]), members, 0.9)._repr_html_()
    cells = html.replace("\n", "").split("classes in the set")[1].split("</table>")[0]
    numbers = [int(part) for part in cells.replace("<", ">").split(">") if part.isdigit()]
    assert numbers == [1, 1, 2, 3]


def test_priors_of_new_rows_do_not_depend_on_a_factor_of_each_row():
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet([1.0, 2.0, 3.0], size=60))
    factors = rng.uniform(-3000, -1000, size=(60, 1))
    expected = shifted_priors(logs, [0.2, 0.3, 0.5]).priors
    np.testing.assert_allclose(
        shifted_priors(logs + factors, [0.2, 0.3, 0.5]).priors, expected, atol=1e-9
    )


def test_a_column_without_any_variance_gets_the_variance_one():
    filled = filled_variances(
        np.array([[0.0, 0.0, 2.0]]), np.array([0.0, 3.0, 5.0]), np.array([0.0, 4.0, 6.0])
    )
    np.testing.assert_array_equal(filled, [[1.0, 3.0, 2.0]])


def test_two_times_are_enough_to_tell_earlier_from_later():
    assert time_codes(np.array([7, 3, 7]), 3).tolist() == [1, 0, 1]


def test_rows_that_differ_by_little_fall_into_all_folds():
    x = np.arange(1, 201)[:, None] * 1e-20
    counts = np.bincount(hashed(x, 4), minlength=4)
    assert counts.min() > 25
    np.testing.assert_array_equal(hashed(-0.0 * x, 4), hashed(0.0 * x, 4))


def test_labels_are_those_of_the_classes_predicted():
    predictions = Predictions(
        classes=np.array(["a", "b", "c"]),
        truth=np.array([0, 1, 1]),
        predicted=np.array([2, 1, 0]),
        logs=None,
        rows=np.arange(3),
        weight=None,
    )
    labels = predictions.predicted_labels
    assert labels.tolist() == ["c", "b", "a"]
    assert labels.dtype == predictions.classes.dtype


@pytest.mark.parametrize("coverage", [-0.5, 0.0, 1.0])
def test_coverage_lies_between_nothing_and_all(iris, coverage):
    held_out = sf.leave_one_out(sf.LDA(), *iris)
    scores = NonconformityScores.of(held_out)
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        scores.threshold(coverage)


def test_a_curved_boundary_has_no_coefficients(iris):
    X, y = iris
    curved = sf.QDA().fit(X[:100], y[:100]).boundary(y[0], y[99])
    rule = BoundaryRule(curved)
    assert rule.coef_.shape == (0,)
    assert rule.intercept_.shape == (0,)


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_the_iteration_come_in_pairs(seed):
    logs = np.log(np.random.default_rng(seed).dirichlet([0.3, 0.5, 0.8], size=40))
    found = shifted_priors(logs, [0.5, 0.3, 0.2])
    assert found.converged
    assert found.iterations % 2 == 0
    assert shifted_priors(logs, [0.5, 0.3, 0.2], max_iter=2).iterations == 2
    assert shifted_priors(logs, [0.5, 0.3, 0.2], max_iter=2).gap > found.gap


def test_a_posterior_of_zero_counts_as_a_log_posterior_of_minus_700():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    classifier = Classifier.of(np.array([0, 1]), None, PredictedModel(tree, 2, 1))
    told = classifier.explain_row([0.0], [11.0])
    assert told.reference + told.parts.sum() == pytest.approx(700.0)
