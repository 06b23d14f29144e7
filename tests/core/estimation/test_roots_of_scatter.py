"""Roots of scatter matrices, and the rank up to which they are no rounding."""

import numpy as np
import pytest

from suffice.core.estimation.edda import roots
from suffice.core.linalg import EPS, rank_tolerance


def correlated(least):
    """Return a correlation matrix (4, 4) whose least eigenvalue is ``least``."""
    w = np.eye(4)
    w[0, 1] = w[1, 0] = 1 - least
    return w


@pytest.mark.parametrize("n_classes", [1, 7])
@pytest.mark.parametrize(("multiple", "rank"), [(0.8, 3), (1.25, 4)])
def test_the_rank_of_a_class_counts_eigenvalues_above_rounding(n_classes, multiple, rank):
    assert rank_tolerance(4) == 256 * EPS
    least = multiple * rank_tolerance(4)
    _, ranks = roots(np.tile(correlated(least), (n_classes, 1, 1)))
    np.testing.assert_array_equal(ranks, np.full(n_classes, rank))


def test_a_root_gives_its_matrix_back():
    rng = np.random.default_rng(0)
    scales = np.array([1e-3, 1.0, 1e4])
    a = rng.normal(size=(2, 3, 5)) * scales[:, None]
    w = a @ np.swapaxes(a, 1, 2)
    f, ranks = roots(w)
    np.testing.assert_allclose(np.swapaxes(f, 1, 2) @ f, w, rtol=1e-12)
    np.testing.assert_array_equal(ranks, [3, 3])
