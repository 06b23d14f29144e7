"""scikit-learn's test_logistic.py, our classes in the place of its own."""

import pytest
from tests.estimators.dropin.borrowed import borrowed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("patched"),
]
# LogisticRegressionCV is scikit-learn's own; most of the last one is its search, and slow
_tests, _fixtures = borrowed(
    "linear_model/tests/test_logistic", without=("cv", "CV", "string_inputs")
)
globals().update(_tests | _fixtures)
