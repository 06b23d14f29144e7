"""Views fitted to rows: landmarks, mixed kernel features, pieces between quantiles."""

import numpy as np
import pytest
from tests.core.model.test_views import KERNELS, X

import suffice as sf
from suffice.core.model.views import Plain
from suffice.selection.search.view_fitting import (
    fit_kernel_features,
    fit_pieces,
    fold_mixing,
)


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_inner_products_of_mixed_features_are_the_kernel_where_every_row_is_a_landmark(kernel):
    view = fit_kernel_features(Plain(), X, width=0.7, n_landmarks=1000, seed=0, kernel=kernel)
    assert len(view.landmarks) == 200
    features = view.apply(X)[:, 3:]
    smooth = kernel == "Gaussian"
    assert (
        features.shape[1] < 200
    ) == smooth  # directions of next to no variance are left out
    np.testing.assert_allclose(
        features @ features.T, KERNELS[kernel], atol=0.15 if smooth else 1e-9
    )
    # turned at random, no feature has most of the variance
    assert features.var(0).max() < 20 * features.var(0).mean()


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_a_tied_gaussian_of_mixed_kernels_is_linear_in_the_kernels(kernel):
    y = np.random.default_rng(0).integers(0, 3, 200)
    view = fit_kernel_features(Plain(), X, width=0.7, n_landmarks=50, seed=0, kernel=kernel)
    model = sf.LDA(shrinkage=0.1, temperature=1.7).fit(view.apply(X), y).model_.model
    folded = fold_mixing(view, model).posterior(view.unmixed().apply(X))
    np.testing.assert_allclose(folded, model.posterior(view.apply(X)), atol=1e-9)


def test_pieces_add_up_to_the_feature_within_its_range():
    x = np.random.default_rng(0).normal(size=(200, 2))
    view = fit_pieces(x, 12)
    pieces = view.apply(x) * view.length
    for j in range(2):
        np.testing.assert_allclose(
            x[:, j].min() + pieces[:, view.features == j].sum(1), x[:, j], atol=1e-12
        )


def test_a_feature_of_two_values_is_one_piece_and_rare_values_are_not_far():
    x = np.zeros((400, 2))
    x[:4, 0], x[:, 1] = 1.0, np.random.default_rng(0).normal(size=400)
    view = fit_pieces(x, 20)
    assert (view.features == 0).sum() <= 1
    assert fit_kernel_features(Plain(), x, width=0.8, n_landmarks=10, seed=0).scale[0] == 0.5
