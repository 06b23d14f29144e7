"""scikit-learn's own suite for mixtures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import MixtureClassifier

REPRESENTATIVE = MixtureClassifier(2, n_init=1)
OTHERS = [
    MixtureClassifier(2, "diagonal", tied=True, n_init=1),
    MixtureClassifier(n_init=1, max_iter=8),
]
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "starts and folds are drawn among rows: a row repeated and a row of double weight make "
        "others, and EM may end at another maximum"
    )
}


# the suite feeds constant, collinear and tiny data on purpose: warnings are right
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks([REPRESENTATIVE], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
@parametrize_with_checks(OTHERS, expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_contract_of_every_setting(estimator, check):
    check(estimator)
