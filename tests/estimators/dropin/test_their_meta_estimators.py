"""scikit-learn's tests of what is built around a classifier, our classes in them."""

import pytest
from tests.estimators.dropin.borrowed import borrowed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("patched"),
]


def _gathered(path, *without):
    tests, fixtures = borrowed(path, without=without)
    globals().update(fixtures)
    return type(path, (), {name: staticmethod(test) for name, test in tests.items()})


TestCalibration = _gathered("tests/test_calibration")
TestVoting = _gathered("ensemble/tests/test_voting", "parallel")  # starts processes
TestStacking = _gathered("ensemble/tests/test_stacking")
TestMulticlass = _gathered("tests/test_multiclass")
TestPipeline = _gathered("tests/test_pipeline")
TestRecursiveElimination = _gathered("feature_selection/tests/test_rfe")
TestBagging = _gathered("ensemble/tests/test_bagging")
TestSelfTraining = _gathered("semi_supervised/tests/test_self_training")
