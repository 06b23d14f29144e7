"""Newton steps by conjugate gradients, for more parameters than a Hessian is affordable for."""

import numpy as np
import pytest

from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.discriminative import newton, truncated_newton
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.problem import Problem
from suffice.discriminative.truncated_newton import TruncatedNewton, is_product_affordable


def problem_of(n_rows=60, n_features=8, n_classes=4, weight=None, l2=1.0):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    x = rng.normal(size=(n_rows, n_features)) + rng.normal(size=(n_classes, n_features))[y]
    table = Table.of(x, y, weight)
    return Problem.of(table, Moments.of(x, y, weight), l2=l2)


@pytest.mark.parametrize("weight", [None, np.resize([1.0, 3.0], 60)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_steps_solve_the_newton_equation(n_classes, weight, monkeypatch):
    monkeypatch.setattr(truncated_newton, "_LARGEST_RESIDUAL", 1e-12)
    objective = problem_of(n_classes=n_classes, weight=weight).objective
    rng = np.random.default_rng(1)
    point = objective.curve(rng.normal(size=objective.shape))
    step = TruncatedNewton.of(objective).step(point)
    again = -np.linalg.solve(point.required_hessian(), point.gradient.ravel())
    np.testing.assert_allclose(step.ravel(), again, rtol=1e-7, atol=1e-9)


def test_the_residual_is_at_most_a_share_of_the_gradient():
    objective = problem_of().objective
    point = objective.curve(np.zeros(objective.shape))
    step = TruncatedNewton.of(objective).step(point)
    residual = point.required_hessian() @ step.ravel() + point.gradient.ravel()
    assert np.linalg.norm(residual) <= 0.1 * np.linalg.norm(point.gradient)
    assert np.vdot(step, point.gradient) < 0


@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_many_parameters_reach_the_point_of_newton(l2, monkeypatch):
    problem = problem_of(l2=l2)
    start = np.zeros(problem.objective.shape)
    exact = Newton().solve(problem, start, Newton.default)
    monkeypatch.setattr(newton, "WIDEST_HESSIAN", 0)
    truncated = QuasiNewton().solve(problem, start, QuasiNewton.default)
    assert truncated.converged
    assert truncated.n_iter < 40
    np.testing.assert_allclose(truncated.point.phi, exact.point.phi, rtol=1e-5, atol=1e-6)


def test_rows_that_take_too_much_memory_in_standard_units_are_not_kept(monkeypatch):
    problem = problem_of()
    assert is_product_affordable(problem.objective)
    monkeypatch.setattr(truncated_newton, "_MOST_NUMBERS", 60 * 9 - 1)
    assert not is_product_affordable(problem.objective)
    monkeypatch.setattr(newton, "WIDEST_HESSIAN", 0)
    start = np.zeros(problem.objective.shape)
    assert QuasiNewton().solve(problem, start, QuasiNewton.default).converged
