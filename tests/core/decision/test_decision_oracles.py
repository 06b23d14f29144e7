"""Small values of decisions, worked by hand."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.decision.conformal import PredictionSets
from suffice.core.decision.predictions import Predictions
from suffice.core.decision.prior_shift import shifted_priors
from suffice.core.estimation.degenerate import filled_variances
from suffice.discriminative.calculus import numerical_gradient
from suffice.discriminative.gradient_descent import AveragedDescent
from suffice.discriminative.stream import Stream
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


def test_a_numerical_gradient_is_as_exact_far_from_zero():
    at = np.array([1e8, -3e6])
    gradient = numerical_gradient(lambda x: float(x @ x), at)
    np.testing.assert_allclose(gradient, 2 * at, rtol=1e-7)


def test_a_step_of_averaged_descent_takes_a_tenth_of_the_rows():
    descent = AveragedDescent(batch_size=32)
    assert [descent.rows_per_step(n) for n in (1, 9, 20, 100, 5000)] == [1, 1, 2, 10, 32]


def test_a_stream_begins_without_a_step():
    assert Stream.before(3, 2).n_steps == 0


def test_two_times_are_enough_to_tell_earlier_from_later():
    assert time_codes(np.array([7, 3, 7]), 3).tolist() == [1, 0, 1]


def test_rows_that_differ_by_little_fall_into_all_folds():
    x = np.arange(1, 201)[:, None] * 1e-20
    counts = np.bincount(hashed(x, 4), minlength=4)
    assert counts.min() > 25
    np.testing.assert_array_equal(hashed(-0.0 * x, 4), hashed(0.0 * x, 4))


@pytest.mark.parametrize("storage", ["pooled", "per-class"])
def test_layouts_count_the_lower_triangle_of_products(storage):
    from types import SimpleNamespace

    from suffice.core.moments.masked import SumLayout

    layout = SumLayout(
        grid=SimpleNamespace(n_features=3),
        classes=np.array(["a", "b"]),
        feature_names=None,
        storage=storage,
    )
    n_matrices = 2 if storage == "per-class" else 1
    assert layout.sizes == (2, 2, 6, 6 * n_matrices)
