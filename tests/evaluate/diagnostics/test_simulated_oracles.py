"""Simulated expectations of diagnostics against exact ones, and their rows against arrays."""

import numpy as np
import pytest
from scipy import stats

from suffice.diagnostics import calibration, normality


def test_the_expected_calibration_error_is_that_of_binomial_bins():
    rng = np.random.default_rng(0)
    stated = np.repeat([0.62, 0.78, 0.97], [40, 25, 10])
    posteriors = np.column_stack([stated, 1 - stated])
    truth = (rng.random(75) > stated).astype(int)
    found = calibration(truth, posteriors, bins=10, simulations=20_000)
    # E Σ_b (n_b / n) |X_b / n_b − p_b|,  X_b ~ Binomial(n_b, p_b)
    expected = 0.0
    for p, n in [(0.62, 40), (0.78, 25), (0.97, 10)]:
        x = np.arange(n + 1)
        expected += n / 75 * stats.binom(n, p).pmf(x) @ np.abs(x / n - p)
    assert found.expected_error == pytest.approx(expected, rel=0.02)


def test_the_rows_of_a_normality_test_are_those_of_its_arrays(iris):
    X, y = iris
    found = normality(X, y)
    table = found.rows()
    assert [row["class"] for row in table] == found.classes.tolist()
    for name, values in [
        ("henze_zirkler", found.statistics),
        ("p_value", found.p_values),
        ("adjusted_p_value", found.adjusted_p_values),
        ("directions", found.directions),
        ("n_used", found.n_used),
        ("n_rows", found.n_rows),
    ]:
        assert [row[name] for row in table] == pytest.approx(values.tolist())
    assert found.n_rows.tolist() == [50, 50, 50]
    assert found.p_value == pytest.approx(min(found.adjusted_p_values))


def test_the_p_value_of_normality_is_adjusted_for_the_classes():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=(60, 1)), rng.gamma(4, size=(60, 1))])
    found = normality(x, np.repeat([0, 1], 60))
    least, most = sorted(found.p_values)
    assert 1e-4 < least < 0.3
    assert found.p_value == pytest.approx(min(2 * least, 1.0))
    assert max(found.adjusted_p_values) == pytest.approx(max(2 * least, most))
