import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from suffice import QDA
from suffice.core.model import DiagonalCovariance, FullCovariance, GaussianModel
from suffice.core.model.bayes_error import bhattacharyya_bounds
from suffice.errors import InvalidParameterError


def model_of(priors, means, sigmas, cov=FullCovariance.of):
    means = np.asarray(means, float)
    return GaussianModel.of(
        priors=np.asarray(priors, float),
        centre=np.zeros(means.shape[1]),
        offsets=means,
        covariances=[cov(np.asarray(s, float)) for s in sigmas],
        group_of=np.arange(len(means)) % len(sigmas),
    )


def random_model(seed, k=3, d=3, tied=False):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(1 if tied else k, d, d))
    sigmas = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(d)
    return model_of(rng.dirichlet(np.ones(k) * 4), 1.5 * rng.normal(size=(k, d)), sigmas)


def overlap(model, i, j):
    """∫ √(p_i p_j) by completing the square with precisions."""
    P, Q = (np.linalg.inv(model.covariance_of(k).dense()) for k in (i, j))
    a, b = model.means[i], model.means[j]
    M, h = (P + Q) / 2, (P @ a + Q @ b) / 2
    peak = h @ np.linalg.solve(M, h) / 2 - (a @ P @ a + b @ Q @ b) / 4
    dets = (np.linalg.det(P) * np.linalg.det(Q)) ** 0.25 / np.sqrt(np.linalg.det(M))
    return dets * np.exp(peak)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_bhattacharyya_bounds_have_their_closed_form(seed, tied):
    model = random_model(seed, tied=tied)
    bounds = bhattacharyya_bounds(model)
    for i in range(3):
        assert bounds[i, i] == 0
        for j in set(range(3)) - {i}:
            weight = np.sqrt(model.priors[i] * model.priors[j])
            assert bounds[i, j] == pytest.approx(weight * overlap(model, i, j), rel=1e-10)


@pytest.mark.parametrize(
    ("mu", "sigma", "priors"),
    [
        ((0, 1), (1, 1), (0.5, 0.5)),
        ((0, 3), (1, 1), (0.9, 0.1)),
        ((1, 1), (0.5, 4), (0.3, 0.7)),
        ((-2, 1), (0.7, 1.9), (0.2, 0.8)),
    ],
)
def test_bhattacharyya_is_the_integral_and_bounds_the_error_from_both_sides(mu, sigma, priors):
    one, two = (stats.norm(m, s) for m, s in zip(mu, sigma, strict=True))
    a, b = priors
    model = model_of(priors, [[mu[0]], [mu[1]]], [[[s**2]] for s in sigma])
    rho = quad(lambda x: np.sqrt(one.pdf(x) * two.pdf(x)), -60, 60, points=[*mu], limit=400)[0]
    bound = bhattacharyya_bounds(model)[0, 1]
    assert bound == pytest.approx(np.sqrt(a * b) * rho, rel=1e-7)
    error = quad(
        lambda x: min(a * one.pdf(x), b * two.pdf(x)), -60, 60, points=[*mu], limit=800
    )[0]
    found = model.bayes_error(200_000, np.random.default_rng(0))
    assert found == pytest.approx(error, abs=5 * max(found.standard_error, 1e-4))
    assert found.upper_bound == pytest.approx(bound)
    # ½ (1 − √(1 − 4 B²)) ≤ error ≤ B
    assert (1 - np.sqrt(1 - 4 * bound**2)) / 2 <= error <= bound


def test_diagonal_and_full_covariances_have_the_same_bounds():
    scales = np.array([[1.0, 2.0], [0.5, 3.0]])
    means = [[0.0, 1.0], [2.0, -1.0]]
    diagonal = model_of([0.4, 0.6], means, scales, cov=DiagonalCovariance)
    full = model_of([0.4, 0.6], means, [np.diag(s**2) for s in scales])
    np.testing.assert_allclose(bhattacharyya_bounds(diagonal), bhattacharyya_bounds(full))


def test_two_tied_classes_with_equal_priors_err_by_phi_of_half_their_distance():
    model = model_of([0.5, 0.5], [[0.0, 0.0], [3.0, 4.0]], [4 * np.eye(2)])
    found = model.bayes_error(10, np.random.default_rng(0))
    assert found.is_exact
    assert found == pytest.approx(stats.norm.cdf(-2.5 / 2), rel=1e-12)  # Δ = 5 / 2


@pytest.mark.parametrize("priors", [(0.8, 0.2), (0.2, 0.8)])
def test_two_tied_classes_with_other_priors_err_by_the_integral_of_the_smaller_joint_density(
    priors,
):
    a, b = priors
    one, two = stats.norm(0, 2), stats.norm(3, 2)
    error = quad(lambda x: min(a * one.pdf(x), b * two.pdf(x)), -40, 40, limit=400)[0]
    model = model_of(priors, [[0.0], [3.0]], [[[4.0]]])
    found = model.bayes_error(10, np.random.default_rng(0))
    assert found.is_exact
    assert found == pytest.approx(error, rel=1e-7)


def test_bounds_of_many_classes_are_only_formed_when_asked_for():
    k = 3000  # a table of pairs would be 72 MB, and 4.5 million distances
    rng = np.random.default_rng(0)
    model = model_of(np.full(k, 1 / k), rng.normal(size=(k, 2)), [np.eye(2)])
    found = model.bayes_error(200, rng)
    assert 0 < found < 1
    assert "pair_bounds" not in vars(found)


def test_a_simulation_without_compiled_loops_is_the_one_with_them(monkeypatch):
    model, seed = random_model(3), np.random.default_rng
    plain = model.bayes_error(20_000, seed(0))
    monkeypatch.setattr("suffice.core.model.bayes_error.FEWEST", np.inf)
    compiled = model.bayes_error(20_000, seed(0))
    assert float(plain) == pytest.approx(float(compiled), rel=1e-13)
    assert plain.standard_error == pytest.approx(compiled.standard_error, rel=1e-12)
    np.testing.assert_allclose(plain.pair_bounds, compiled.pair_bounds, rtol=1e-12)


@pytest.mark.parametrize("n", [0, -1, 2.5, None, "3"])
def test_rows_are_drawn_by_whole_numbers(n):
    model = QDA().fit([[0.0], [1.0], [4.0], [7.0]], [0, 0, 1, 1])
    with pytest.raises(
        InvalidParameterError, match=r"integer of at least 0|cannot be simulated without rows"
    ):
        model.model_.bayes_error(n_samples=n)
    if n != 0:
        with pytest.raises(InvalidParameterError, match=r"integer of at least 0, got"):
            model.sample(n)
