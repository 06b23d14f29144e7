"""Calibration errors and tests against their definitions, and where posteriors are true."""

import numpy as np
import pytest
from scipy import stats

from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError
from suffice.evaluate.diagnostics import calibration


def drawn(rng, n=600, k=3, sharpness=2.0):
    """Return posteriors and classes drawn from them."""
    a = sharpness * rng.standard_normal((n, k))
    p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    y = (rng.uniform(size=(n, 1)) > np.cumsum(p, 1)).sum(1).clip(max=k - 1)
    return p, y


def sharpened(p, t):
    q = p**t
    return q / q.sum(1, keepdims=True)


def test_p_values_are_uniform_where_posteriors_are_true():
    rng = np.random.default_rng(4)
    p = []
    for seed in range(150):
        q, y = drawn(rng)
        found = calibration(y, q, simulations=99, random_state=seed)
        p.append(found.p_value)
    assert stats.kstest(p, "uniform").pvalue > 0.005


def test_confident_posteriors_keep_the_level_too():
    rng = np.random.default_rng(5)
    p = []
    for seed in range(150):
        q, y = drawn(rng, n=200, sharpness=30.0)
        p.append(calibration(y, q, simulations=99, random_state=seed).p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.09


@pytest.mark.parametrize(("t", "word"), [(2.0, "too large"), (0.5, "too small")])
def test_false_confidence_is_found_and_called_by_name(t, word):
    rng = np.random.default_rng(6)
    p, y = drawn(rng, n=1500)
    found = calibration(y, sharpened(p, t))
    assert found.p_value < 0.01
    assert str(found).startswith(
        f"The model's probabilities are {word}: on average, the predicted class has a "
    )
    assert found.calibration_error > 3 * found.expected_error
    assert np.sign(found.excess) == np.sign(t - 1)
    assert str(calibration(y, p)).startswith("No evidence of miscalibration (the calibration ")


def test_the_calibration_error_is_its_definition_and_of_a_true_model_as_expected():
    rng = np.random.default_rng(7)
    p, y = drawn(rng, n=400)
    top, right = p.max(1), p.argmax(1) == y
    bins = np.ceil(top * 15).astype(int)
    error = (
        sum(abs(right[bins == b].sum() - top[bins == b].sum()) for b in np.unique(bins)) / 400
    )
    found = calibration(y, p)
    np.testing.assert_allclose(found.calibration_error, error, rtol=1e-12)
    errors = []
    for seed in range(200):
        codes = (np.random.default_rng(seed).uniform(size=(400, 1)) > np.cumsum(p, 1)).sum(1)
        errors.append(
            calibration(codes.clip(max=2), p, [0, 1, 2], simulations=39).calibration_error
        )
    np.testing.assert_allclose(np.mean(errors), found.expected_error, rtol=0.06)


def test_labels_of_any_kind_are_kept():
    rng = np.random.default_rng(8)
    p, y = drawn(rng, k=2)
    found = calibration(np.array(["no", "yes"])[y], p)
    swapped = calibration(np.array(["no", "yes"])[y], p[:, ::-1], ["yes", "no"])
    np.testing.assert_allclose(swapped.calibration_error, found.calibration_error)


def test_posteriors_without_doubt_are_judged_by_their_errors():
    p = np.tile([[1.0, 0.0]], (50, 1))
    sure = calibration(np.zeros(50, int), p, [0, 1])
    assert sure.calibration_error == 0
    assert sure.p_value == 1
    wrong = calibration(np.repeat([0, 1], [40, 10]), p, [0, 1])
    assert wrong.p_value < 0.01
    said = (
        "probabilities are too large: on average, the predicted class has a probability of 100"
    )
    assert said in str(wrong)


def test_bad_input_is_refused_by_name():
    p, y = drawn(np.random.default_rng(9), n=30)
    with pytest.raises(InvalidInputError, match="posteriors of row 0 sum to 2"):
        calibration(y, 2 * p)
    with pytest.raises(InvalidInputError, match="shape"):
        calibration(y, p[:, :2])
    with pytest.raises(UnknownLabelError, match="label 2"):
        calibration(y, p[:, :2], [0, 1])
    with pytest.raises(InvalidParameterError, match="at least 19"):
        calibration(y, p, simulations=3)
    with pytest.raises(InvalidParameterError, match="bins must be at least 1, got 0"):
        calibration(y, p, bins=0)


def test_probabilities_that_are_wrong_both_ways_are_not_said_to_be_wrong_one_way():
    rng = np.random.default_rng(0)
    p = np.where(rng.random(2000) < 0.5, 0.95, 0.55)
    y = (rng.random(2000) < 0.75).astype(int)
    found = calibration(y, np.stack([1 - p, p], axis=1))
    assert found.p_value < 0.01
    assert "too large for some rows and too small for others" in repr(found)
    # the bins that are wrong, not the means of all rows, which agree
    beginning = (
        "where the predicted class has a probability of about 95.0\N{NO-BREAK SPACE}%, it"
    )
    assert beginning in repr(found)
    assert "where it has about 55.0\N{NO-BREAK SPACE}%, it is right in" in repr(found)
    assert "on average" not in repr(found)


def test_a_weight_of_two_counts_as_a_row_that_stands_twice():
    p, y = drawn(np.random.default_rng(10), n=200)
    weight = np.where(np.arange(200) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(200), weight.astype(int))
    weighted = calibration(y, p, [0, 1, 2], sample_weight=weight, simulations=39)
    repeated = calibration(y[twice], p[twice], [0, 1, 2], simulations=39)
    np.testing.assert_allclose(weighted.calibration_error, repeated.calibration_error)
    np.testing.assert_allclose(weighted.excess, repeated.excess)
    # two copies of a row are right or wrong together, so that the mean varies more
    assert weighted.deviation > repeated.deviation


def test_rows_of_weight_zero_change_nothing():
    p, y = drawn(np.random.default_rng(11), n=120)
    weight = np.where(np.arange(120) < 100, 1.5, 0.0)
    found = calibration(y, p, [0, 1, 2], sample_weight=weight, simulations=39)
    kept = calibration(y[:100], p[:100], [0, 1, 2], sample_weight=weight[:100], simulations=39)
    assert found.n_rows == 100
    assert found.rows() == kept.rows()


def test_calibrated_posteriors_with_uneven_weights_are_rarely_refuted():
    p_values = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p, y = drawn(rng, n=150)
        weight = rng.lognormal(0, 1.2, 150)
        found = calibration(y, p, [0, 1, 2], sample_weight=weight, simulations=99)
        p_values.append(found.p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.11


def test_two_rows_of_two_classes_are_enough_for_a_test():
    both = calibration([0, 1], [[0.7, 0.3], [0.4, 0.6]], simulations=99)
    assert 0 < both.p_value <= 1
    assert np.isnan(calibration([0], [[0.7, 0.3]], [0, 1], simulations=99).p_value)
    assert np.isnan(calibration([0, 0], [[1.0], [1.0]], [0], simulations=99).p_value)
