"""scikit-learn's own suite for the classifier that chooses its own settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import AutoGaussian

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "settings are judged on folds of rows: repeating a row and doubling its weight make "
        "other folds, and so may choose other settings"
    )
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@parametrize_with_checks([AutoGaussian()], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
