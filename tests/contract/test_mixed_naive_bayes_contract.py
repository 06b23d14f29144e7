"""scikit-learn's own suite for naive Bayes over numbers, categories and counts."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import Dirichlet, MixedNB


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@parametrize_with_checks([MixedNB(), MixedNB(priors=Dirichlet(1.0), temperature=2.0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
