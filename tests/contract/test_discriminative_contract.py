"""scikit-learn's own suite for every discriminative estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice.estimators.least_squares import LeastSquaresClassifier, LinearGaussianRegressor
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.perceptron import Perceptron
from suffice.lectures import GradientDescent

REPRESENTATIVES = [
    LogisticRegression(),
    Perceptron(max_iter=20),
    LeastSquaresClassifier(),
    LinearGaussianRegressor(),
]
OTHERS = [
    LogisticRegression(l2=0),
    LogisticRegression(solver="quasi-newton"),
    LogisticRegression(solver="gd", max_iter=300),
    LogisticRegression(solver=GradientDescent("averaged-sgd", start="zero"), max_iter=30),
    LogisticRegression(solver=GradientDescent("sgd", batch_size=10), max_iter=10),
    Perceptron(learning="batch", multiclass="one-against-rest", variant="pocket", max_iter=20),
    Perceptron(variant="averaged", start="random", max_iter=20),
]


def expected_failures(estimator):
    """Stochastic steps visit repeated rows and weighted rows in other orders, so their answers
    differ by noise; the law holds for the other solvers, which do not end within noise.
    """
    if not isinstance(getattr(estimator, "solver", None), GradientDescent):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "stochastic order of rows",
        "check_sample_weight_equivalence_on_sparse_data": "stochastic order of rows",
    }


# the suite feeds separable, constant, collinear and tiny data on purpose: warnings are right
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks(REPRESENTATIVES, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract_of_every_setting(estimator, check):
    check(estimator)
