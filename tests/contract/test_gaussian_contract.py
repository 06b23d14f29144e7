"""scikit-learn's own suite for every estimator of the Gaussian family."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import LDA, QDA, GaussianClassifier, GaussianNB

ESTIMATORS = [
    LDA(),
    QDA(),
    GaussianNB(),
    GaussianClassifier(covariance="spherical"),
    GaussianClassifier(tied=True, covariance="diagonal", divisor="unbiased"),
    GaussianClassifier(pooling=0.5, shrinkage=0.1, target="sphere", priors="uniform"),
]


# the suite feeds collinear, constant and tiny data on purpose: the warning is right there
@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
