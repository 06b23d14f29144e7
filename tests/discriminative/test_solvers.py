from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from suffice.discriminative import design
from suffice.discriminative.gradient_descent import AveragedDescent, BatchDescent, safe_rate
from suffice.discriminative.logistic_fit import suitable_solver
from suffice.discriminative.newton import Newton, QuasiNewton, SampledNewton
from suffice.discriminative.solver import damped
from suffice.discriminative.starts import lda_start, random_start, zero_start
from suffice.discriminative.stopping import Stopping
from suffice.errors import InvalidInputError, InvalidParameterError, SeparationWarning
from suffice.estimators.logistic import LogisticRegression

EXACT = [Newton(), QuasiNewton(), SampledNewton(), BatchDescent()]
name = lambda value: type(value).__name__  # noqa: E731


def losses_of(solution):
    return np.array([passed.loss for passed in solution.trace])


@pytest.mark.parametrize("solver", EXACT, ids=name)
@pytest.mark.parametrize("start", [lda_start, zero_start, partial(random_start, seed=5)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_solver_finds_the_same_minimum_from_every_start(
    rows_and_codes, problem, solver, start, n_classes
):
    task = problem(*rows_and_codes(300, 4, n_classes), l2=1.0)
    best = Newton().solve(task, zero_start(task), Newton.default)
    found = solver.solve(task, start(task), solver.default)
    assert found.converged
    assert task.objective.gradient_norm(task.objective.evaluate(found.point.phi)) <= 1e-8
    np.testing.assert_allclose(found.point.phi, best.point.phi, atol=2e-6)


def test_stochastic_descent_arrives_within_its_tolerance(rows_and_codes, problem):
    task = problem(*rows_and_codes(400, 3, 3), l2=1.0)
    solver = AveragedDescent(seed=1)
    found = solver.solve(task, zero_start(task), solver.default)
    assert found.converged
    assert task.objective.gradient_norm(found.point) <= solver.default.tol


def test_stochastic_descent_is_seeded(rows_and_codes, problem):
    task = problem(*rows_and_codes(100, 2, 2), l2=1.0)
    rule = Stopping(tol=1e-12, max_iter=3)
    first, again, other = (
        AveragedDescent(seed=s).solve(task, zero_start(task), rule).point.phi
        for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_newton_survives_a_start_where_full_steps_overshoot(rows_and_codes, problem):
    task = problem(*rows_and_codes(300, 3, 3))
    start = 8 * random_start(task)
    found = Newton().solve(task, start, Newton.default)
    assert found.converged
    assert min(passed.step_size for passed in found.trace[1:]) < 1
    assert (np.diff(losses_of(found)) <= 1e-9).all()


def test_the_lda_start_saves_at_least_two_newton_steps(rows_and_codes, problem):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 2000)
    x = rng.normal(size=(4000, 5)) + 1.3 * codes[:, None]
    task = problem(x, codes)
    near, far = (
        Newton().solve(task, start(task), Newton.default).n_iter
        for start in (lda_start, zero_start)
    )
    assert near <= far - 2


def test_the_lda_start_is_linear_discriminant_analysis(rows_and_codes, problem):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [50, 60, 70])
    x = rng.normal(size=(180, 4)) @ rng.normal(size=(4, 4)) + codes[:, None] * [1, 0, 0.5, 0]
    for standardize in (True, False):
        task = problem(x, codes, standardize=standardize)
        beta = task.scaling.to_original(lda_start(task))
        # scikit-learn's lsqr solver divides the pooled scatter by n, as maximum likelihood does
        lda = LinearDiscriminantAnalysis(solver="lsqr").fit(x, codes)
        rows = np.column_stack([lda.intercept_, lda.coef_])
        np.testing.assert_allclose(beta, rows[1:] - rows[0], rtol=1e-9)


def test_gradient_descent_never_rises_at_the_safe_rate_and_rises_far_above_it(
    rows_and_codes, problem
):
    task = problem(*rows_and_codes(200, 3, 3))
    rule = Stopping(tol=1e-12, max_iter=50)
    rate, start = safe_rate(task), zero_start(task)
    losses = losses_of(BatchDescent(rate).solve(task, start, rule))
    assert (np.diff(losses) <= 1e-12 * losses[1:]).all()
    with pytest.raises(InvalidParameterError, match="the loss rose"):
        BatchDescent(40 * rate).solve(task, start, rule)


def test_gradient_descent_treats_all_classes_alike(rows_and_codes, problem):
    x, codes = rows_and_codes(120, 2, 3)
    rule = Stopping(tol=1e-12, max_iter=7)
    task, turned = problem(x, codes, l2=1.0), problem(x, (codes + 1) % 3, l2=1.0)
    a = BatchDescent().solve(task, zero_start(task), rule).point.phi
    b = BatchDescent().solve(turned, zero_start(turned), rule).point.phi
    rows = np.vstack([np.zeros_like(a[:1]), a])[[2, 0, 1]]
    np.testing.assert_allclose(b, rows[1:] - rows[0], rtol=1e-9)


def test_a_descent_can_stop_on_the_change_of_the_log_likelihood(rows_and_codes, problem):
    task = problem(*rows_and_codes(200, 3, 2))
    loose = Stopping(tol=1e-12, epsilon=0.5, max_iter=1000)
    found = BatchDescent().solve(task, zero_start(task), loose)
    losses = losses_of(found)
    assert found.converged
    assert abs(losses[-1] - losses[-2]) < 0.5 <= abs(losses[-2] - losses[-3])


def test_newton_stops_where_arithmetic_ends(rows_and_codes, problem):
    task = problem(*rows_and_codes(200, 3, 3))
    found = Newton().solve(task, lda_start(task), Stopping(tol=1e-300, max_iter=100))
    assert found.converged
    assert found.n_iter < 15


def test_quasi_newton_may_begin_with_a_bound_on_the_hessian(
    rows_and_codes, problem, monkeypatch
):
    from suffice.discriminative import newton

    task = problem(*rows_and_codes(400, 6, 5), l2=1.0)
    best = Newton().solve(task, lda_start(task), Newton.default).point.phi
    monkeypatch.setattr(newton, "WIDEST_HESSIAN", 0)
    found = QuasiNewton().solve(task, lda_start(task), QuasiNewton.default)
    np.testing.assert_allclose(found.point.phi, best, atol=1e-6)


def test_many_rows_of_many_classes_are_solved_on_compiled_sums(
    rows_and_codes, problem, monkeypatch
):
    x, codes = rows_and_codes(6000, 8, 6)
    plain = problem(x, codes, l2=1.0)
    best = Newton().solve(plain, lda_start(plain), Newton.default).point.phi
    monkeypatch.setattr(design, "SMALL", 0)
    task = problem(x, codes, l2=1.0)
    for solver in (Newton(), QuasiNewton()):
        found = solver.solve(task, lda_start(task), solver.default)
        assert found.converged
        np.testing.assert_allclose(found.point.phi, best, atol=1e-6)


@pytest.mark.parametrize(
    ("n", "d", "n_classes", "solver"),
    [
        (200, 3, 2, Newton),
        (9000, 60, 2, SampledNewton),
        (90_000, 6, 4, Newton),
        (9000, 60, 6, QuasiNewton),
        (60, 900, 3, QuasiNewton),
    ],
)
def test_the_solver_suits_the_size(n, d, n_classes, solver, problem):
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(n, d)), rng.integers(0, n_classes, n)
    assert type(suitable_solver(problem(x, codes, l2=1.0))) is solver


@pytest.mark.parametrize("record", [False, True])
def test_a_sample_leads_newton_to_the_same_minimum_and_hessian(
    rows_and_codes, problem, monkeypatch, record
):
    x, codes = rows_and_codes(20_000, 6, 2)
    monkeypatch.setattr(design, "SMALL", 0)
    task = problem(x, codes, l2=0.5)
    best = Newton().solve(task, lda_start(task), Newton.default)
    found = SampledNewton().solve(task, lda_start(task), Newton.default, record=record)
    assert found.converged
    np.testing.assert_allclose(found.point.phi, best.point.phi, rtol=1e-9)
    np.testing.assert_allclose(found.point.hessian, best.point.hessian, rtol=1e-5)
    assert len(found.trace) == found.n_iter + 1
    assert all((passed.parameters.size > 0) is record for passed in found.trace)
    assert (np.diff(losses_of(found)) <= 1e-9).all()


def test_many_rows_of_separated_classes_are_told():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60_000, 9))
    y = x[:, 2] > 0.3
    with pytest.warns(SeparationWarning, match="separates the classes"):
        fit = LogisticRegression(l2=0).fit(x, y)
    assert fit.separation_.features.tolist() == [2]


def test_a_start_without_a_finite_loss_is_refused(rows_and_codes, problem):
    task = problem(*rows_and_codes(30, 2, 2))
    with pytest.raises(InvalidInputError, match="not finite at the start"):
        BatchDescent().solve(task, np.full((1, 3), np.inf), BatchDescent.default)


def test_a_damped_step_may_raise_the_loss_by_the_rounding_of_a_long_sum_and_no_more():
    def evaluate(phi):
        # 1e-8 φ²: a step from 1 to −2 would raise the loss by 3e-8
        return SimpleNamespace(phi=phi, loss=1e-8 * float(phi @ phi), gradient=2e-8 * phi)

    steps = damped(evaluate, np.ones(1), lambda point: -3 * point.phi)
    next(steps)
    second = next(steps)
    assert second.size == 0.5
    np.testing.assert_array_equal(second.point.phi, [-0.5])


def test_the_misfit_after_the_last_step_is_the_loss_without_the_penalty(
    rows_and_codes, problem, monkeypatch
):
    monkeypatch.setattr(design, "SMALL", 0)
    x, codes = rows_and_codes(600, 3, 3)
    own = problem(x, codes, l2=5.0)
    found = Newton().solve(own, zero_start(own), Newton.default).point
    exact = own.objective.curve(found.phi)
    assert found.loss == pytest.approx(exact.loss, rel=1e-10)
    assert found.misfit == pytest.approx(exact.misfit, rel=1e-10)
    assert exact.misfit < (1 - 1e-6) * exact.loss
