"""Views of rows: what each of their features is."""

import sys

import numpy as np
import pytest

from suffice.core.model.views import Plain
from suffice.selection.search.view_fitting import fit_kernel_features

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
    view = fit_kernel_features(
        Plain(), X, width=0.7, n_landmarks=30, seed=0, kernel=kernel
    ).unmixed()
    found = view.apply(X)
    np.testing.assert_allclose(found[:, :3], Z, atol=1e-9)
    landmarks = [int(np.abs(Z - each).sum(1).argmin()) for each in view.landmarks]
    assert len(set(landmarks)) == 30
    np.testing.assert_allclose(found[:, 3:], KERNELS[kernel][:, landmarks], atol=1e-9)


def test_rows_far_from_all_landmarks_are_near_none():
    for kernel in KERNELS:
        view = fit_kernel_features(
            Plain(), X, width=0.7, n_landmarks=20, seed=0, kernel=kernel
        )
        far = np.array([[1e300, 0.0, 0.0], [0.0, -1e300, 1e200]])
        np.testing.assert_allclose(view.apply(far)[:, 3:], 0.0, atol=1e-30)


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_compiled_kernel_is_the_same(kernel, monkeypatch):
    view = fit_kernel_features(Plain(), X, width=0.7, n_landmarks=20, seed=0, kernel=kernel)
    far = np.vstack([X, 1e9 * X])
    compiled = view.apply(far)
    monkeypatch.delitem(sys.modules, "numba")
    np.testing.assert_allclose(view.apply(far), compiled, rtol=1e-12, atol=1e-14)
