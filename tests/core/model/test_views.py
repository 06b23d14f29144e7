"""Views of rows: what each of their features is."""

import sys
from itertools import product

import numpy as np
import pytest

import suffice as sf
import suffice.core.model.loops  # loads the compiler
from suffice.core.model.averaged import over_kernels
from suffice.core.model.views import KernelFeatures, Plain, distinct_rows

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3)) * [1.0, 1e6, 1e-6]
Z = (X - X.mean(0)) / X.std(0)
# distances between rows of unit scale: their typical ones are √(2 d) and 2 d / √π
SQUARES = np.square(Z[:, None] - Z[None]).sum(2)
CITY_BLOCKS = np.abs(Z[:, None] - Z[None]).sum(2)
KERNELS = {
    "Gaussian": np.exp(-SQUARES / (2 * 0.7**2 * 6)),
    "Laplace": np.exp(-CITY_BLOCKS / (0.7 * 6 / np.sqrt(np.pi))),
}


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_kernel_is_that_between_rows_and_landmarks(kernel):
    view = KernelFeatures.of(Plain(), X, 0.7, 30, 0, kernel).unmixed()
    found = view.apply(X)
    np.testing.assert_allclose(found[:, :3], Z, atol=1e-9)
    landmarks = [int(np.abs(Z - each).sum(1).argmin()) for each in view.landmarks]
    assert len(set(landmarks)) == 30
    np.testing.assert_allclose(found[:, 3:], KERNELS[kernel][:, landmarks], atol=1e-9)


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_inner_products_of_mixed_features_are_the_kernel_where_every_row_is_a_landmark(kernel):
    view = KernelFeatures.of(Plain(), X, 0.7, 1000, 0, kernel)
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
    y = rng.integers(0, 3, 200)
    view = KernelFeatures.of(Plain(), X, 0.7, 50, 0, kernel)
    model = sf.LDA(shrinkage=0.1, temperature=1.7).fit(view.apply(X), y).model_.model
    folded = over_kernels(view, model).posterior(view.unmixed().apply(X))
    np.testing.assert_allclose(folded, model.posterior(view.apply(X)), atol=1e-9)


def test_rows_far_from_all_landmarks_are_near_none():
    for kernel in KERNELS:
        view = KernelFeatures.of(Plain(), X, 0.7, 20, 0, kernel)
        far = np.array([[1e300, 0.0, 0.0], [0.0, -1e300, 1e200]])
        np.testing.assert_allclose(view.apply(far)[:, 3:], 0.0, atol=1e-30)


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_compiled_kernel_is_the_same(kernel, monkeypatch):
    view = KernelFeatures.of(Plain(), X, 0.7, 20, 0, kernel)
    far = np.vstack([X, 1e9 * X])
    compiled = view.apply(far)
    monkeypatch.delitem(sys.modules, "numba")
    np.testing.assert_allclose(view.apply(far), compiled, rtol=1e-12, atol=1e-14)


def test_distinct_rows_are_the_first_of_each_kind_in_any_units():
    x = np.array(list(product([0.0, 1.0], repeat=3)) * 40)
    for units in ([1.0, 1.0, 1.0], [1.0, 1e-9, 1e9]):
        first, place = distinct_rows(x * units)
        assert sorted(first) == list(range(8))
        np.testing.assert_array_equal(x[first][place], x)
    assert len(distinct_rows(rng.normal(size=(50, 2)))[0]) == 50
