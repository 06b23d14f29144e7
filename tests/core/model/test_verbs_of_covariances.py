"""Every kind of covariance has the verbs of its dense matrix, and models count its parameters."""

import numpy as np
import pytest

from suffice.core.model import FullCovariance
from suffice.core.model.covariance import DiagonalCovariance
from suffice.core.model.few_rows_covariance import (
    LowRankCovariance,
    NestedCovariance,
    ShrunkRowsCovariance,
    UnshrunkRowsCovariance,
)
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.student import StudentModel, StudentTail

rng = np.random.default_rng(0)
D = 5
SQUARE = rng.normal(size=(D, D))
SCALE = np.exp(rng.normal(size=D))


def low_rank(seed, base, eigenvalues):
    """Return D (a I + Vᵀ diag(λ − a) V) D, its directions combinations of rows."""
    rng = np.random.default_rng(seed)
    r = len(eigenvalues)
    scale = np.exp(rng.normal(size=D))
    squares = rng.uniform(0.5, 2.0, r)
    directions = np.linalg.qr(rng.normal(size=(D, r)))[0].T * np.sqrt(squares)[:, None]
    combinations = rng.normal(size=(r, r))
    rows = np.linalg.solve(combinations, directions) * scale
    return LowRankCovariance(scale, base, rows, combinations, squares, np.array(eigenvalues))


def shrunk_rows(gamma):
    """Return D ((1 − γ) ZᵀZ + γ I) D of three rows, and its dense matrix."""
    rows = rng.normal(size=(3, D))
    roots = rng.uniform(0.5, 2.0, 3)
    z = rows / SCALE * roots[:, None]
    covariance = ShrunkRowsCovariance.of(
        gamma, scale=SCALE, rows=rows, roots=roots, gram=z @ z.T
    )
    sigma = (1 - gamma) * z.T @ z + gamma * np.eye(D)
    return covariance, SCALE[:, None] * sigma * SCALE


def unshrunk_rows(rank, variance_apart):
    """Return the covariance of three rows of which ``rank`` vary, and its dense matrix."""
    z = rng.normal(size=(3, D))
    covariance = UnshrunkRowsCovariance(
        SCALE, z, np.linalg.cholesky(z @ z.T), rank, variance_apart
    )
    within = z[:rank]
    inside = np.linalg.pinv(within) @ within
    spanned = np.linalg.pinv(z) @ z
    s = within.T @ within + variance_apart * (spanned - inside) + np.eye(D) - spanned
    return covariance, SCALE[:, None] * s * SCALE


def dense_of(low):
    v = (low.combinations @ low.rows / low.scale) / np.sqrt(low.squares)[:, None]
    between = low.base * np.eye(D) + v.T @ np.diag(low.eigenvalues - low.base) @ v
    return low.scale[:, None] * between * low.scale


OUTER = low_rank(1, 0.3, [2.0, 0.7])
INNER = low_rank(2, 1.5, [0.4])
ROOT = OUTER.colorize(np.eye(D))
KINDS = {
    "full": (FullCovariance.of(SQUARE @ SQUARE.T), SQUARE @ SQUARE.T),
    "diagonal": (DiagonalCovariance(SCALE), np.diag(SCALE**2)),
    "shrunk rows": shrunk_rows(0.3),
    "unshrunk rows": unshrunk_rows(2, 0.2),
    "unshrunk rows of one class": unshrunk_rows(3, 0.2),
    "low rank": (OUTER, dense_of(OUTER)),
    "nested": (NestedCovariance(OUTER, INNER), ROOT.T @ dense_of(INNER) @ ROOT),
}


@pytest.mark.parametrize(("covariance", "sigma"), KINDS.values(), ids=KINDS)
def test_a_covariance_has_the_verbs_of_its_dense_matrix(covariance, sigma):
    close = np.testing.assert_allclose
    inverse = np.linalg.inv(sigma)
    x = rng.normal(size=(4, D))
    close(covariance.dense(), sigma, atol=1e-12)
    close(covariance.dense_precision(), inverse, rtol=1e-9, atol=1e-11)
    close(covariance.log_det, np.linalg.slogdet(sigma)[1])
    close(covariance.variances(), np.diagonal(sigma))
    close(covariance.precision_diagonal(), np.diagonal(inverse))
    close(covariance.precision_times(x), x @ inverse, rtol=1e-9)
    close(covariance.squared_distances(x), np.einsum("ni,ij,nj->n", x, inverse, x))
    close(np.square(covariance.whiten(x)).sum(1), covariance.squared_distances(x))
    close(covariance.colorize(covariance.whiten(x)), x)
    close(covariance.whiten_transposed(covariance.whiten(x)), x @ inverse, rtol=1e-9)
    observed, missing = np.array([0, 3]), np.array([1, 2, 4])
    close(covariance.marginal(observed).dense(), sigma[np.ix_(observed, observed)])
    l_oo, l_mo, l_mm = covariance.conditional(observed, missing)
    close(l_oo @ l_oo.T, sigma[np.ix_(observed, observed)], atol=1e-12)
    close(l_mo @ l_oo.T, sigma[np.ix_(missing, observed)], atol=1e-12)
    close(l_mo @ l_mo.T + l_mm @ l_mm.T, sigma[np.ix_(missing, missing)], atol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "n"),
    [(KINDS["full"][0], 6), (KINDS["diagonal"][0], 3)],
    ids=["full", "diagonal"],
)
def test_some_features_have_the_parameters_of_their_own_covariances(covariance, n):
    n_all = 2 * (15 if n == 6 else 5)
    model = GaussianModel.of(
        priors=np.array([0.4, 0.6]),
        centre=np.zeros(D),
        offsets=np.zeros((2, D)),
        covariances=(covariance, covariance),
        group_of=np.array([0, 1]),
        n_covariance_parameters=n_all,
    )
    assert model.n_parameters == 1 + 2 * D + n_all
    # two matrices, or diagonals, of three features
    assert model.marginal(np.array([0, 2, 4])).n_parameters == 1 + 2 * 3 + 2 * n


def test_missing_cells_change_the_constants_of_a_student_t_as_its_marginals_do():
    shape = FullCovariance.of(np.eye(3))
    model = StudentModel(
        log_priors=np.log([0.3, 0.7]),
        centre=np.zeros(3),
        offsets=np.zeros((2, 3)),
        shapes=(shape,),
        group_of=np.array([0, 0]),
        degrees=np.array([4.0, 7.5]),
        shares=np.array([0.8, 0.5]),
    )
    tail = model.formula.tail
    assert isinstance(tail, StudentTail)
    gains = tail.hole_constants(3)
    at_mean = model.class_log_density(np.zeros((1, 3)))[0]
    np.testing.assert_array_equal(gains[0], [0.0, 0.0])
    for n_missing in (1, 2):
        some = model.marginal(np.arange(3 - n_missing))
        of_some = some.class_log_density(np.zeros((1, 3 - n_missing)))[0]
        np.testing.assert_allclose(gains[n_missing], of_some - at_mean, rtol=1e-12)
    # of no feature, the density is one
    np.testing.assert_allclose(gains[3], -at_mean, rtol=1e-12)


def test_a_missing_number_of_a_student_t_has_a_degree_more_for_each_that_is_there():
    class Expected:
        """Random numbers that are all their expectation."""

        def chisquare(self, degrees):
            return np.asarray(degrees, float)

    model = StudentModel(
        log_priors=np.log([0.3, 0.7]),
        centre=np.zeros(3),
        offsets=np.zeros((2, 3)),
        shapes=(FullCovariance.of(np.eye(3)),),
        group_of=np.array([0, 0]),
        degrees=np.array([4.0, 7.5]),
        shares=np.array([0.8, 0.5]),
    )
    codes, distances, n_observed = (
        np.array([0, 1, 1]),
        np.array([2.0, 0.0, 6.0]),
        np.array([2, 0, 1]),
    )
    found = model._radii(codes, distances, n_observed, Expected())
    # √((1 + s Δ²) / (s (f + d_o))): Kotz & Nadarajah (2004), section 1.11
    expected = np.sqrt([2.6 / (0.8 * 6), 1 / (0.5 * 7.5), 4 / (0.5 * 8.5)])
    np.testing.assert_allclose(found, expected, rtol=1e-15)
