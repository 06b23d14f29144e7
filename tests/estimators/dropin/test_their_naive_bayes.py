"""scikit-learn's test_naive_bayes.py, our classes in the place of its own."""

import pytest
from tests.estimators.dropin.borrowed import borrowed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("patched"),
]
_tests, _fixtures = borrowed("tests/test_naive_bayes", whole=True)
globals().update(_tests | _fixtures)
