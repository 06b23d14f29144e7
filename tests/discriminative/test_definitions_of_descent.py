"""Parts of descents against their definitions."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.discriminative import separation
from suffice.discriminative.calculus import numerical_gradient
from suffice.discriminative.gradient_descent import AveragedDescent
from suffice.discriminative.newton import LimitedMemory, Newton, _last_step, _scaled_steepest
from suffice.discriminative.penalty_choice import penalties
from suffice.discriminative.solver import Step, Stopping
from suffice.discriminative.starts import lda_start, random_start, zero_start
from suffice.discriminative.stream import Stream


def test_a_descent_starts_with_a_step_of_size_zero(rows_and_codes, problem):
    task = problem(*rows_and_codes(200, 3, 3), l2=1.0)
    trace = Newton().solve(task, zero_start(task), Newton.default).trace
    assert trace[0].step_size == 0.0
    assert trace[1].step_size == 1.0


def test_a_random_start_holds_standard_normal_numbers_of_the_seed(rows_and_codes, problem):
    task = problem(*rows_and_codes(50, 3, 3))
    expected = np.random.default_rng(4).standard_normal((2, 4))
    np.testing.assert_array_equal(random_start(task, seed=4), expected)


def test_classes_that_lie_far_apart_start_at_log_odds_of_fifteen(problem):
    rng = np.random.default_rng(0)
    codes = np.arange(400) % 2
    x = rng.normal(size=(400, 2)) + np.where(codes == 1, 8.0, -8.0)[:, None]
    task = problem(x, codes)
    beta = task.scaling.to_original(lda_start(task))
    slopes = beta[0, 1:]
    gap = x[codes == 1].mean(0) - x[codes == 0].mean(0)
    assert slopes @ gap / 2 == pytest.approx(15.0)


def test_a_gain_that_no_arithmetic_shows_ends_a_descent():
    rule = Stopping(tol=1e-300)
    for loss in (1e-6, 1.0, 1e6):
        point = SimpleNamespace(loss=loss, misfit=loss)
        assert rule.met(1.0, None, Step(point, 1.0, decrement=0.9e-24 * loss))
        assert not rule.met(1.0, None, Step(point, 1.0, decrement=1.1e-24 * loss))


def test_two_penalties_are_tried_for_each_power_of_ten():
    found = penalties(1000.0)
    np.testing.assert_allclose(found, 1000.0 * 10.0 ** (-np.arange(13) / 2))


def test_intervals_of_odds_ratios_are_those_of_a_normal_coefficient(iris):
    X, y = iris
    summary = sf.LogisticRegression(l2=1.0).fit(X[:, :2], y).summary()
    lower, upper = summary.odds_intervals
    z = stats.norm.ppf(1 - (1 - summary.level) / 2)
    errors = summary.standard_errors
    np.testing.assert_allclose(lower, np.exp(summary.coefficients - z * errors))
    np.testing.assert_allclose(upper, np.exp(summary.coefficients + z * errors))


def test_limited_memory_begins_with_a_step_of_length_one_and_then_uses_its_curvature():
    rng = np.random.default_rng(0)
    g, s, y = rng.normal(size=(3, 2, 4))
    direction = g + g.sum(0)  # M⁻¹ g of three classes, M = I − 1/K
    first = _scaled_steepest(g, pairs=[], n_classes=3)
    np.testing.assert_allclose(first, direction / np.linalg.norm(direction))
    # H₀ = c M⁻¹ with c such that H₀ has the curvature of the pair: yᵀ H₀ y = sᵀ y
    again = _scaled_steepest(y, pairs=[(s, y)], n_classes=3)
    assert np.vdot(y, again) == pytest.approx(np.vdot(s, y))
    assert not _scaled_steepest(np.zeros((2, 4)), pairs=[], n_classes=3).any()


def test_limited_memory_reaches_the_point_of_newton(rows_and_codes, problem):
    task = problem(*rows_and_codes(200, 5, 3), l2=0.5)
    start = zero_start(task)
    exact = Newton().solve(task, start, Newton.default).point
    found = LimitedMemory().solve(task, start, LimitedMemory.default)
    assert found.converged
    np.testing.assert_allclose(found.point.phi, exact.phi, atol=1e-6)


def test_a_numerical_gradient_is_as_exact_far_from_zero():
    at = np.array([1e8, -3e6])
    gradient = numerical_gradient(lambda x: float(x @ x), at)
    np.testing.assert_allclose(gradient, 2 * at, rtol=1e-7)


def test_a_step_of_averaged_descent_takes_a_tenth_of_the_rows():
    descent = AveragedDescent(batch_size=32)
    assert [descent.rows_per_step(n) for n in (1, 9, 20, 100, 5000)] == [1, 1, 2, 10, 32]


def test_a_stream_begins_without_a_step():
    assert Stream.before(3, 2).n_steps == 0


def test_the_misfit_after_the_last_newton_step_leaves_the_penalty_out(
    rows_and_codes, problem, monkeypatch
):
    monkeypatch.setattr("suffice.discriminative.design.SMALL", 0)  # compiled loops
    task = problem(*rows_and_codes(3000, 3, 3), l2=500.0)
    end = Newton().solve(task, zero_start(task), Newton.default).point
    exact = task.objective.curve(end.phi)
    assert exact.loss - exact.misfit > 1  # what the penalty adds
    assert end.misfit == pytest.approx(exact.misfit, rel=1e-9)
    assert end.loss == pytest.approx(exact.loss, rel=1e-9)


def test_the_last_newton_step_foretells_the_fall_of_the_loss(
    rows_and_codes, problem, monkeypatch
):
    monkeypatch.setattr("suffice.discriminative.design.SMALL", 0)  # compiled loops
    task = problem(*rows_and_codes(3000, 3, 3), l2=500.0)
    least = Newton().solve(task, zero_start(task), Newton.default).point
    point = task.objective.curve(1.02 * least.phi)
    end = _last_step(task.objective, point)
    fall = point.loss - task.objective.curve(end.phi).loss
    assert fall > 1e-3
    assert point.loss - end.loss == pytest.approx(fall, rel=0.1)


def test_without_an_intercept_the_null_model_has_equal_shares(iris):
    X, y = iris
    summary = sf.LogisticRegression(l2=1.0, fit_intercept=False).fit(X, y).summary()
    assert summary.null_log_likelihood == pytest.approx(150 * np.log(1 / 3))


@pytest.mark.parametrize(("n_parameters", "n_programs"), [(1500, 1), (1501, 0)])
def test_separating_directions_are_sought_up_to_1500_parameters(
    monkeypatch, n_parameters, n_programs
):
    programs = []
    monkeypatch.setattr(separation, "_is_flat", lambda problem, point: True)
    monkeypatch.setattr(separation, "_hardest", lambda design, phi, n: np.array([[-1.0]]))
    monkeypatch.setattr(separation, "_gain", lambda problem: None)
    monkeypatch.setattr(separation, "_separating", lambda *args: programs.append(args))
    problem = SimpleNamespace(objective=SimpleNamespace(design=None))
    solution = SimpleNamespace(
        converged=False, point=SimpleNamespace(phi=np.zeros((1, n_parameters)))
    )
    assert separation.find_separation(problem, solution) is None
    assert len(programs) == n_programs
