"""The third divisor: covariances made unbiased class by class, then averaged by weight."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InvalidParameterError, MissingStatisticsError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [5, 12, 30])
    return rng.normal(size=(47, 3)) @ rng.normal(size=(3, 3)) + 2 * (y == "b")[:, None], y


def by_class(X, y):
    """Return n_k and S_k / (n_k − 1) of each class."""
    parts = [X[y == k] for k in np.unique(y)]
    return np.array([len(p) for p in parts]), np.array([np.cov(p.T) for p in parts])


def test_tied_classes_share_the_mean_of_unbiased_covariances_by_number_of_rows(rows):
    n, sigmas = by_class(*rows)
    fit = sf.LDA(divisor="averaged").fit(*rows)
    expected = np.average(sigmas, axis=0, weights=n)
    np.testing.assert_allclose(fit.covariance_, expected, rtol=1e-12)
    for other in ("mle", "unbiased"):
        assert not np.allclose(
            sf.LDA(divisor=other).fit(*rows).covariance_, expected, rtol=1e-3
        )
    diagonal = sf.GaussianClassifier("diagonal", tied=True, divisor="averaged").fit(*rows)
    np.testing.assert_allclose(np.diagonal(diagonal.covariance_), np.diagonal(expected))
    sphere = sf.GaussianClassifier("spherical", tied=True, divisor="averaged").fit(*rows)
    np.testing.assert_allclose(sphere.covariance_[0, 0], np.diagonal(expected).mean())


def test_classes_alone_are_unbiased_and_groups_are_averaged(rows):
    n, sigmas = by_class(*rows)
    np.testing.assert_allclose(sf.QDA(divisor="averaged").fit(*rows).covariance_, sigmas)
    fit = sf.GaussianClassifier(tied=[["a", "c"]], divisor="averaged").fit(*rows)
    both = np.average(sigmas[[0, 2]], axis=0, weights=n[[0, 2]])
    np.testing.assert_allclose(fit.covariance_, [both, sigmas[1], both])


def test_pooling_and_shrinkage_follow_their_formulas(rows):
    n, sigmas = by_class(*rows)
    tied = np.average(sigmas, axis=0, weights=n)
    lent = (1 - 0.4) * n[:, None, None] * sigmas + 0.4 * n.sum() * tied
    lent = lent / ((1 - 0.4) * n + 0.4 * n.sum())[:, None, None]
    found = sf.GaussianClassifier(divisor="averaged", pooling=0.4).fit(*rows).covariance_
    np.testing.assert_allclose(found, lent)
    pulled = sf.LDA(divisor="averaged", shrinkage=0.3).fit(*rows).covariance_
    np.testing.assert_allclose(pulled, 0.7 * tied + 0.3 * np.diag(np.diagonal(tied)))


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_leaving_out_and_cross_validation_are_those_of_refits(rows, covariance):
    X, y = rows
    est = sf.GaussianClassifier(covariance, tied=True, divisor="averaged")
    found = sf.leave_one_out(est, X, y).log_posteriors
    for row in (0, 20, 46):
        others = np.arange(len(y)) != row
        refit = est.fit(X[others], y[others])
        np.testing.assert_allclose(found[row], refit.predict_log_proba(X[[row]])[0], atol=1e-9)
    grid = {"divisor": ["mle", "unbiased", "averaged"]}
    table = sf.cross_validate(est, X, y, grid=grid, cv=5).to_frame()
    assert table["log_loss"].nunique() == 3


def test_what_has_no_such_formula_is_refused_by_name(rows):
    X, y = rows
    for settings in (
        {"covariance": "EEE"},
        {"shrinkage": "oas"},
        {"shrinkage": "ledoit-wolf"},
    ):
        with pytest.raises(InvalidParameterError, match="divisor='mle'"):
            sf.GaussianClassifier(divisor="averaged", **settings).fit(X, y)
    pooled = sf.Moments.of(X, y, storage="pooled")
    with pytest.raises(
        MissingStatisticsError, match="divisor='averaged' needs the scatter of each"
    ):
        sf.LDA(divisor="averaged").fit_moments(pooled)
    pd = pytest.importorskip("pandas")
    mixed = pd.DataFrame(X, columns=list("uvw")).assign(level=np.where(X[:, 0] > 0, "p", "q"))
    with pytest.raises(InvalidParameterError, match="numeric columns"):
        sf.LDA(divisor="averaged").fit(mixed, y)
    with pytest.raises(InvalidParameterError, match="'mle', 'unbiased', 'averaged'"):
        sf.LDA(divisor="bessel").fit(X, y)


def test_a_class_of_one_row_adds_nothing(rows):
    X, y = np.vstack([rows[0], [[9.0, 9.0, 9.0]]]), np.append(rows[1], "d")
    n, sigmas = by_class(*rows)
    found = sf.LDA(divisor="averaged").fit(X, y).covariance_
    np.testing.assert_allclose(found, (n[:, None, None] * sigmas).sum(0) / 48)
