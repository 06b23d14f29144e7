"""How long a fit is expected to take: laws of growth, and values worked by hand."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from suffice.evaluate.comparison.fit_times import _SECONDS, FitSize, seconds_to_fit
from suffice.evaluate.comparison.learning_curve import _power_law
from suffice.evaluate.comparison.model_size import n_parameters
from suffice.evaluate.comparison.paired import _t


@pytest.mark.parametrize("name", _SECONDS)
def test_a_larger_table_is_never_expected_to_take_less(name):
    size = FitSize(rows=5000, columns=20, classes=3)
    seconds = seconds_to_fit(name, size)
    assert 0 < seconds < 600
    assert seconds_to_fit(name, size._replace(rows=10_000)) >= seconds
    assert seconds_to_fit(name, size._replace(columns=40)) >= seconds
    assert seconds_to_fit(name, size._replace(classes=6)) >= seconds


@pytest.mark.parametrize(
    ("name", "size", "seconds"),
    [
        ("QDA (OAS)", FitSize(100, 50, 3), 4e-10 * 3 * 125_000),
        ("RBF-SVM", FitSize(1000, 50, 3), 0.06 + 0.3),
        ("CatBoost", FitSize(1000, 10, 2), 300 * (0.0003 + 0.001 + 0.001)),
        ("CatBoost", FitSize(1000, 10, 3), 900 * (0.0003 + 0.001 + 0.001)),
        ("AutoGaussian", FitSize(30_000, 10, 5), 0.05 + 0.02 + 2e-4 + 1.0),
        # EM with 12 holed columns of 3 classes takes long below 3 · (12 + 2) = 42 rows
        ("QDA", FitSize(41, 0, 3, n_incomplete=12), 3 * 7.5e-6 * 1728),
        ("QDA", FitSize(42, 0, 3, n_incomplete=12), 3 * 1.5e-6 * 1728),
        # 1 + 80 / 40 leaves; and 31 from 1,200 rows on
        ("gradient boosting", FitSize(80, 10, 2), 3 * (0.004 + 0.0012)),
        ("gradient boosting", FitSize(79, 10, 2), 2 * (0.004 + 0.0012)),
        ("RDA", FitSize(35, 10, 3), 5 * 3 * (0.005 + 0.0015)),
        ("RDA", FitSize(36, 10, 3), 3 * (0.005 + 0.0015)),
        ("RDA", FitSize(5000, 500, 3), 6.0),
        # with very many features, the pooled covariances alone cost d³
        ("RDA", FitSize(5000, 1000, 3), 12.0),
        # inner products of 100 rows in 10,000 columns
        ("LDA", FitSize(100, 10_000, 2), 0.005 + 0.02 + 0.02),
        # 2 · 11 coefficients, each curved with each other, and 3³ of every row
        ("logistic regression", FitSize(1000, 10, 3), 1.1e-5 * 400 + 1.2e-5 * 27),
        # 2 · 750 coefficients are the most that a Hessian is made for
        ("logistic regression", FitSize(2000, 749, 3), 2.2e-5 * 1498**2 + 2.4e-5 * 27),
        ("logistic regression", FitSize(9000, 8000, 3), 3e-6 * 9000 * 8000 * 3),
    ],
)
def test_expected_seconds_are_as_worked_by_hand(name, size, seconds):
    assert seconds_to_fit(name, size) == pytest.approx(seconds)


def test_an_exact_power_law_is_extrapolated_exactly():
    sizes = np.array([50, 100, 200, 400])
    # 0.1 + 2 n^(−0.5), whose exponent is one of those that are tried
    errors = 0.1 + 2 * sizes**-0.5
    larger = np.array([1600, 10_000])
    assert _power_law(sizes, errors, larger) == pytest.approx([0.15, 0.12])


def test_a_constant_rule_has_a_share_for_each_class_but_one():
    fitted = DummyClassifier(strategy="prior").fit(np.zeros((6, 1)), list("aabbcc"))
    assert n_parameters(fitted) == 2.0


def test_a_difference_without_error_is_infinitely_many_errors_away_from_zero():
    assert _t(-0.5, 0.25) == 2.0
    assert _t(-0.5, 0.0) == np.inf
    assert _t(0.0, 0.0) == 0.0
