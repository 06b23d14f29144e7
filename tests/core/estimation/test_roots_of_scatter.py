"""Roots of scatter matrices, and the rank up to which they are no rounding."""

import numpy as np
import pytest

import suffice as sf
from suffice.core.estimation.edda_problem import roots
from suffice.core.estimation.few_rows_estimates import FewRows, FilledReference
from suffice.core.estimation.settings import Settings
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


def two_tight_classes(squares):
    """Return few rows of two classes, which vary by squares (2,) in the column that parts them."""
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], float)
    X = np.zeros((8, 12))
    for k, square in enumerate(squares):
        X[4 * k : 4 * k + 4, :2] = signs * [1, np.sqrt(square)] + [0, 2 * k - 1]
    moments = sf.Moments.of(X, np.repeat([0, 1], 4), storage="rows")
    return FewRows.of(moments, np.arange(2), Settings().regularisation)


@pytest.mark.parametrize(("multiple", "rank"), [(0.96, 1), (1.04, 2)])
def test_few_rows_vary_in_a_direction_if_they_do_by_more_than_rounding(multiple, rank):
    # of the whole variance of the column, 1, a share within classes
    share = multiple * rank_tolerance(12)
    few = two_tight_classes([share, share])
    assert len(FilledReference.of(few).eigenvalues) == rank


@pytest.mark.parametrize(("share", "rank"), [(1e-4, 1), (1e-2, 2)])
def test_a_class_varies_if_it_does_by_more_than_the_rounding_of_all(share, rank):
    # rounding is 1.7e-13 of the variance of all rows, 1.7e-3 of that within classes
    few = two_tight_classes([2e-10 * share, 2e-10 * (1 - share)])
    reference = FilledReference.of(few)
    np.testing.assert_allclose(np.sort(reference.eigenvalues), [1e-10, 1.0], rtol=1e-4)
    assert reference.filled(0)[1] == rank
    assert reference.filled(1)[1] == 2
