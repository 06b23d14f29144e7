"""Outlier scores of the Gaussian estimators against the formula, written out."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError


def rows_of_three_classes(n_rows=60, n_features=4):
    rng = np.random.default_rng(5)
    y = np.arange(n_rows) % 3
    y[:6] = 0  # classes of different sizes
    X = rng.normal(size=(n_rows, n_features)) + rng.normal(size=(3, n_features))[y] + 50
    return X, y


def distances(x, mean, covariance):
    """Return (x − μ)ᵀ Σ⁻¹ (x − μ) of each row."""
    return np.array([z @ np.linalg.solve(covariance, z) for z in x - mean])


def nearest_of(model, X):
    covariances = model.covariance_
    if covariances.ndim == 2:
        covariances = np.broadcast_to(covariances, (3, *covariances.shape))
    each = [distances(X, model.means_[k], covariances[k]) for k in range(3)]
    return np.min(each, axis=0)


MODELS = (
    sf.LDA(),
    sf.LDA(shrinkage=0.3),
    sf.QDA(),
    sf.RDA(pooling=0.4, shrinkage=0.2),
    sf.GaussianNB(),
    sf.GaussianClassifier(tied=[[0, 1], [2]]),
)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_score_is_the_squared_distance_to_the_nearest_class(model):
    X, y = rows_of_three_classes()
    model.fit(X, y)
    new = X[:9] + np.linspace(-6, 6, 9)[:, None]
    np.testing.assert_allclose(model.outlier_score(new), nearest_of(model, new), rtol=1e-9)


@pytest.mark.parametrize("model", [sf.LDA(), sf.QDA()], ids=repr)
def test_the_relative_score_subtracts_the_distance_under_the_gaussian_of_all_rows(model):
    X, y = rows_of_three_classes()
    model.fit(X, y)
    new = X[:9] + np.linspace(-6, 6, 9)[:, None]
    overall = distances(new, X.mean(0), np.cov(X.T, bias=True))
    expected = nearest_of(model, new) - overall
    np.testing.assert_allclose(
        model.outlier_score(new, kind="relative"), expected, rtol=1e-8, atol=1e-8
    )


def test_the_relative_score_adds_the_spread_of_means_to_the_shrunk_covariance():
    X, y = rows_of_three_classes()
    model = sf.LDA(shrinkage=0.3).fit(X, y)
    centred = model.means_ - X.mean(0)
    between = (np.bincount(y)[:, None] / len(y) * centred).T @ centred
    expected = nearest_of(model, X) - distances(X, X.mean(0), model.covariance_ + between)
    np.testing.assert_allclose(
        model.outlier_score(X, kind="relative"), expected, rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["mahalanobis", "relative"])
@pytest.mark.parametrize("model", [sf.LDA(shrinkage=0.3), sf.QDA(shrinkage=0.3)], ids=repr)
def test_scores_of_kept_rows_equal_those_of_dense_sums(model, kind):
    X, y = rows_of_three_classes(20, 40)
    rows = model.fit_moments(sf.Moments.of(X, y, storage="rows")).outlier_score(X, kind)
    dense = model.fit_moments(sf.Moments.of(X, y, storage="per-class")).outlier_score(X, kind)
    np.testing.assert_allclose(rows, dense, rtol=1e-8, atol=1e-8)


def test_a_row_far_from_all_classes_scores_highest():
    X, y = rows_of_three_classes()
    model = sf.LDA().fit(X, y)
    new = np.vstack([X[:5], np.full((1, 4), 80.0)])
    assert model.outlier_score(new).argmax() == 5
    assert model.outlier_score(new, kind="relative").argmax() == 5


def test_classes_without_rows_are_no_neighbours():
    X, y = rows_of_three_classes()
    model = sf.LDA().partial_fit(X, y, classes=[0, 1, 2, 3])
    np.testing.assert_allclose(
        model.outlier_score(X, kind="relative"),
        sf.LDA().fit(X, y).outlier_score(X, kind="relative"),
        rtol=1e-9,
        atol=1e-9,
    )


def test_what_has_no_score_is_refused_with_a_reason():
    X, y = rows_of_three_classes()
    model = sf.LDA().fit(X, y)
    with pytest.raises(InvalidParameterError, match="kind"):
        model.outlier_score(X, kind="euclidean")
    X[3, 1] = np.nan
    with pytest.raises(InvalidInputError, match="complete rows"):
        model.outlier_score(X)
    X[3, 1] = np.inf
    with pytest.raises(InvalidInputError):
        model.outlier_score(X)
    X[3, 1] = 50.0
    with pytest.raises(InvalidParameterError, match="power transform"):
        sf.LDA(power="yeo-johnson").fit(X, y).outlier_score(X)
