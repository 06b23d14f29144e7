"""New rows of the population of a fit are flagged as often as the rate says."""

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.data.density_threshold import fitted_row_threshold, outlier_threshold

LEAST, MOST = 0.02, 0.075  # band of a rate of 0.05


def two_classes(rng, n, d):
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + y[:, None], y


def flagged_share(estimator, n, d, *, shift=0.0, n_fits=25, rate=0.05):
    """Return how often new rows are flagged, over several fits."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(n_fits):
        fitted = estimator.fit(*two_classes(rng, n, d)).model_
        new_rows, _ = two_classes(rng, 400, d)
        new_rows[:, 0] += shift
        threshold = outlier_threshold(fitted, rate)
        shares.append(np.mean(fitted.log_density(new_rows) < threshold))
    return np.mean(shares)


@pytest.mark.parametrize(
    ("estimator", "n", "d"),
    [(sf.LDA(), 60, 8), (sf.QDA(), 60, 8), (sf.QDA(), 200, 12)],
)
def test_few_rows_for_each_column_keep_the_rate(estimator, n, d):
    assert LEAST <= flagged_share(estimator, n, d) <= MOST


def test_a_far_row_is_flagged_though_rows_are_few():
    assert flagged_share(sf.LDA(), 60, 8, shift=8.0, n_fits=5) > 0.95


def test_a_single_class_in_reach_has_hotellings_quantile():
    n, d, rate = 30, 8, 0.05
    rng = np.random.default_rng(1)
    x, y = two_classes(rng, 2 * n, d)
    fitted = sf.LDA().fit(x + 1000.0 * y[:, None], y).model_
    nu = 2 * n - 2
    f = nu - d + 1
    # (x − m)ᵀ M⁻¹ (x − m) ~ (1 + 1/n) d/f F(d, f),  Σ = M / (2 n)
    distance = 2 * n * (1 + 1 / n) * d / f * stats.f.isf(rate, d, f)
    log_det = np.linalg.slogdet(fitted.covariances)[1]
    expected = np.log(0.5) - 0.5 * (d * np.log(2 * np.pi) + log_det + distance)
    assert outlier_threshold(fitted, rate) == pytest.approx(expected, abs=0.15)
    # the quantile of χ² is that of many rows: far from this one
    assert fitted_row_threshold(fitted, rate) > expected + 1


def test_a_stated_model_has_the_quantile_of_its_own_draws():
    stated = sf.GaussianClassifier.from_parameters(
        priors=[0.4, 0.6], means=[[0.0, 0.0], [3.0, 0.0]], covariances=[np.eye(2), np.eye(2)]
    ).model_
    assert outlier_threshold(stated, 0.01) == fitted_row_threshold(stated, 0.01)


def test_a_saved_model_flags_the_same_rows(tmp_path):
    fitted = sf.QDA().fit(*two_classes(np.random.default_rng(2), 60, 8))
    fitted.save(tmp_path / "model.suffice")
    loaded = sf.load(tmp_path / "model.suffice")
    assert outlier_threshold(loaded.model_, 0.01) == outlier_threshold(fitted.model_, 0.01)
