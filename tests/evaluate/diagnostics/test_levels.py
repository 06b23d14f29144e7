"""Each test raises an alarm in about 5 % of the cases where nothing happened, and sees an effect.

Seeds are fixed, so that a rate outside its band means that a formula changed.
``python -m benchmarks levels`` has more settings and repeats.
"""

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.core.decision.error_intervals import newcombe
from suffice.core.decision.prior_shift import PriorShift
from suffice.diagnostics import (
    adapt_priors,
    box_m,
    calibration,
    class_separation,
    drift,
    predictive_check,
)
from suffice.errors import InvalidInputError
from suffice.evaluate.comparison.importance import REPEATS, _importances, _rises
from suffice.evaluate.comparison.paired import LOG_LOSS, LOSSES
from suffice.evaluate.diagnostics.column_tests import (
    Column,
    mean_test,
    share_test,
    spread_test,
)
from suffice.evaluate.diagnostics.normality import henze_zirkler, whitened

LEAST, MOST = 0.02, 0.075
DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "log-normal": lambda rng, shape: rng.lognormal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
}


def columns(x):
    z = x - x.mean(0)
    return [
        Column(len(x), *values)
        for values in zip(
            x.mean(0), (z**2).mean(0), (z**3).mean(0), (z**4).mean(0), strict=True
        )
    ]


def rate(test, old, new):
    pairs = zip(columns(old), columns(new), strict=True)
    return np.mean([test(*pair) <= 0.05 for pair in pairs])


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize(("n", "m"), [(500, 30), (60, 60)])
def test_means_of_columns(name, n, m):
    rng = np.random.default_rng(0)
    old, new = DRAWS[name](rng, (n, 600)), DRAWS[name](rng, (m, 600))
    assert LEAST <= rate(mean_test, old, new) <= MOST
    assert rate(mean_test, old, new + old.std()) > 0.7


@pytest.mark.parametrize(("n", "m"), [(500, 30), (60, 60), (600, 300)])
@pytest.mark.parametrize(("name", "least"), [("normal", 0.035), ("exponential", 0.035)])
def test_spreads_of_columns(name, least, n, m):
    rng = np.random.default_rng(1)
    old, new = DRAWS[name](rng, (n, 800)), DRAWS[name](rng, (m, 800))
    # nearly no exponential column of 30 rows has a test
    least = 0.0 if name == "exponential" and m == 30 else least
    assert least <= rate(spread_test, old, new) <= 0.065
    if name == "normal":
        assert rate(spread_test, old, 1.5 * new) > 0.6


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_shares_of_two_values(share):
    rng = np.random.default_rng(2)
    old, new = rng.binomial(500, share, 2000), rng.binomial(200, share, 2000)
    tables = np.array([[old, 500 - old], [new, 200 - new]], float).transpose(2, 0, 1)
    assert LEAST <= np.mean([share_test(counts) <= 0.05 for counts in tables]) <= MOST
    assert share_test(np.array([[10.0, 490], [14, 186]])) < 0.01


def test_rare_values_in_few_new_rows_are_no_drift():
    rng = np.random.default_rng(3)

    def rows(n):
        return (rng.random((n, 5)) < 0.02).astype(float)

    alarms = [
        bool(drift(sf.LDA().fit(rows(500), np.arange(500) % 2), rows(30)).moved)
        for _ in range(120)
    ]
    assert LEAST <= np.mean(alarms) <= MOST


@pytest.mark.parametrize(("n", "m"), [(200, 2000), (500, 500)])
def test_prior_shift(n, m):
    rng = np.random.default_rng(5)
    means = 2 * np.eye(3)
    p = []
    for _ in range(120):
        y, new = rng.integers(0, 3, n), rng.integers(0, 3, m)
        fitted = sf.LDA().fit(rng.normal(size=(n, 3)) + means[y], y)
        p.append(adapt_priors(fitted, rng.normal(size=(m, 3)) + means[new])[1].p_value)
    assert LEAST <= np.mean(np.array(p) <= 0.05) <= MOST
    assert np.mean(np.array(p) <= 0.5) >= 0.35


def test_a_prior_shift_counts_the_rows_of_the_fit():
    known = PriorShift(np.ones(2) / 2, 0, 0.0, True, statistic=8.0, df=1, n_rows=100)
    assert known.p_value == pytest.approx(0.004678, rel=1e-3)
    unsure = PriorShift(
        np.ones(2) / 2, 0, 0.0, True, statistic=8.0, df=1, n_rows=100, fitted_weight=100.0
    )
    assert unsure.p_value == pytest.approx(0.0455, rel=1e-3)
    alone = PriorShift(np.ones(2) / 2, 0, 0.0, True, statistic=8.0, df=1, n_rows=1)
    assert np.isnan(alone.p_value)


def test_normality_of_fewer_rows_than_twice_the_columns():
    rng = np.random.default_rng(6)
    draws = [rng.normal(size=(30, 20)) for _ in range(400)]
    assert np.mean([henze_zirkler(whitened(x))[1] <= 0.05 for x in draws]) <= MOST


def test_box_m_of_exponential_columns():
    rng = np.random.default_rng(7)
    y = np.arange(120) % 3
    p = [
        box_m(sf.Moments.of(rng.exponential(size=(120, 3)), y, fourth=True)).p_value
        for _ in range(200)
    ]
    assert LEAST <= np.mean(np.array(p) <= 0.05) <= MOST


def test_wilks_lambda():
    rng = np.random.default_rng(8)
    y = np.arange(60) % 3
    p = [
        class_separation(sf.Moments.of(rng.exponential(size=(60, 5)), y)).p_value
        for _ in range(400)
    ]
    assert LEAST <= np.mean(np.array(p) <= 0.05) <= MOST


def test_calibration():
    rng = np.random.default_rng(9)
    p = []
    for i in range(300):
        stated = rng.uniform(0.5, 1, 200)
        y = (rng.random(200) < stated).astype(int)
        both = np.stack([1 - stated, stated], axis=1)
        p.append(calibration(y, both, [0, 1], simulations=99, random_state=i).p_value)
    assert LEAST <= np.mean(np.array(p) <= 0.05) <= MOST
    too_sharp = both**3 / (both**3).sum(1, keepdims=True)
    assert calibration(y, too_sharp, [0, 1], simulations=99).p_value <= 0.02


@pytest.mark.parametrize(("n", "m"), [(60, 60), (200, 50), (200, 2000)])
def test_errors_of_new_rows_are_compared_with_uncertain_ones(n, m):
    rng = np.random.default_rng(10)
    before, after = rng.binomial(n, 0.15, 2000) / n, rng.binomial(m, 0.15, 2000) / m
    intervals = [newcombe(b, n, a, m) for b, a in zip(before, after, strict=True)]
    level = np.mean([not low <= 0 <= high for low, high in intervals])
    assert LEAST <= level <= MOST


def test_one_row_or_one_class_has_no_test_of_calibration():
    one_row = calibration([1], [[0.4, 0.6]], [0, 1])
    one_class = calibration([0] * 60, np.ones((60, 1)), [0])
    for found in (one_row, one_class):
        assert np.isnan(found.p_value)
        assert repr(found).startswith("Not enough rows to test")
        assert found.caveats == ()


def test_as_many_rows_as_classes_have_no_predictive_check():
    x = np.random.default_rng(11).normal(size=(60, 3))
    y = np.arange(60) % 2
    with pytest.raises(InvalidInputError, match="not enough rows to test"):
        predictive_check(sf.LDA().fit(x, y), x[:2], y[:2], simulations=39)


def test_the_interval_of_an_importance_counts_receivers_and_givers_of_values():
    rng = np.random.default_rng(12)

    def rows(n):
        y = rng.integers(0, 2, n)
        return rng.normal(size=(n, 2)) + 1.6 * y[:, None], y

    def rises(x, y):
        return _rises(fitted, x, y, fitted.classes_, 1, REPEATS, rng)[:, :, LOG_LOSS]

    fitted = sf.LDA().fit(*rows(400))
    truth = rises(*rows(40_000))[0].mean()
    found = []
    for _ in range(250):
        x, y = rows(80)
        found += _importances(
            rises(x, y), LOSSES[LOG_LOSS], ("a",), np.ones(80), np.arange(80)
        )
    missed = [not each.low <= truth <= each.high for each in found]
    assert np.mean([each.mean for each in found]) == pytest.approx(truth, rel=0.05)
    assert 0.015 <= np.mean(missed) <= MOST


def test_rows_of_a_group_give_an_importance_together():
    rng = np.random.default_rng(13)
    rises = rng.normal(size=(2, 1, 60))
    twice = np.repeat(rises, 2, axis=2)
    names = ("a",)
    (alone,) = _importances(rises, "log_loss", names, np.ones(60), np.arange(60))
    (copied,) = _importances(twice, "log_loss", names, np.ones(120), np.arange(120) // 2)
    assert (copied.low, copied.high) == pytest.approx((alone.low, alone.high))


def test_the_predictive_check_fits_every_drawn_data_set_again():
    rng = np.random.default_rng(14)
    y = np.arange(30) % 2
    p = []
    for i in range(18):
        x = rng.normal(size=(30, 2)) + y[:, None]
        found = predictive_check(sf.LDA().fit(x, y), x, y, simulations=39, random_state=i)
        p.append(found.p_values)
    shares = np.mean(np.array(p) <= 0.5, axis=0)
    assert (shares > 0.3).all()
    assert (shares < 0.75).all()


def test_weights_are_no_drift_once_they_sum_to_the_effective_number_of_rows():
    rng = np.random.default_rng(15)
    y = np.arange(300) % 2
    p_values = []
    for _ in range(150):
        weight = rng.gamma(2, size=300)
        weight *= weight.sum() / (weight @ weight)
        fitted = sf.LDA().fit(rng.normal(size=(300, 3)), y, sample_weight=weight)
        p_values.append(drift(fitted, rng.normal(size=(300, 3))).p_value)
    assert LEAST <= np.mean(np.array(p_values) <= 0.05) <= MOST


def test_a_feature_with_extreme_tails_has_no_part_in_the_test_of_all_means():
    rng = np.random.default_rng(16)
    x = rng.normal(size=(200, 3))
    x[0, 1] = 1e4
    found = drift(sf.LDA().fit(x, np.arange(200) % 2), rng.normal(size=(60, 3)))
    assert found.df == 2
    kept = drift(sf.LDA().fit(x[1:], np.arange(199) % 2), rng.normal(size=(60, 3)))
    assert kept.df == 3


def test_the_interval_of_an_odds_ratio_is_that_of_wald():
    rng = np.random.default_rng(17)
    x = rng.normal(size=(150, 2))
    y = (rng.random(150) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    fitted = sf.LogisticRegression(l2=0.0).fit(x, y)
    summary = fitted.summary(x, y)
    p = fitted.predict_proba(x)[:, 1]
    rows = np.column_stack([np.ones(150), x])
    # the inverse of Fisher's information Xᵀ diag(p (1 − p)) X
    errors = np.sqrt(np.diagonal(np.linalg.inv(rows.T @ (rows * (p * (1 - p))[:, None]))))
    coefficients = np.concatenate([np.ravel(fitted.intercept_), np.ravel(fitted.coef_)])
    low, high = summary.odds_intervals
    assert np.ravel(low) == pytest.approx(np.exp(coefficients - 1.959964 * errors), rel=1e-4)
    assert np.ravel(high) == pytest.approx(np.exp(coefficients + 1.959964 * errors), rel=1e-4)
    z = np.abs(coefficients) / errors
    assert np.ravel(summary.p_values) == pytest.approx(2 * stats.norm.sf(z), rel=1e-3)
