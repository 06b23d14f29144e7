"""Newton's method that starts from a sample tells every step it took."""

import numpy as np
import pytest

from suffice.discriminative.logistic_loss import Objective
from suffice.discriminative.newton import Newton, QuasiNewton, SampledNewton
from suffice.discriminative.starts import zero_start
from suffice.discriminative.stopping import Stopping


def test_both_parts_count_where_the_first_runs_out_of_steps(rows_and_codes, problem):
    task = problem(*rows_and_codes(4000, 3, 3), l2=2.0)
    start = np.full((2, 4), 3.0)
    solution = SampledNewton().solve(task, start, Stopping(tol=0.0, max_iter=2))
    # two steps of each, and the start
    assert solution.n_iter == 4
    assert len(solution.trace) == 5


def test_the_trace_holds_the_steps_of_both_parts(rows_and_codes, problem):
    task = problem(*rows_and_codes(4000, 3, 3), l2=2.0)
    solution = SampledNewton().solve(task, zero_start(task), Newton.default)
    assert solution.converged
    assert len(solution.trace) == solution.n_iter + 1
    losses = [point.loss for point in solution.trace]
    assert losses == sorted(losses, reverse=True)
    exact = Newton().solve(task, zero_start(task), Newton.default)
    np.testing.assert_allclose(solution.point.phi, exact.point.phi, rtol=1e-9)
    assert solution.trace[-1].gradient_norm < Newton.default.tol


@pytest.mark.parametrize(("n_rows", "n"), [(4000, 250), (3200, 200), (1000, 160)])
def test_a_sample_is_a_sixteenth_of_the_rows_or_twenty_for_a_parameter(
    rows_and_codes, problem, monkeypatch, n_rows, n
):
    asked = []
    sample = Objective.sample

    def recorded(self, n):
        asked.append(n)
        return sample(self, n)

    monkeypatch.setattr(Objective, "sample", recorded)
    task = problem(*rows_and_codes(n_rows, 3, 3), l2=2.0)  # 8 parameters
    QuasiNewton().solve(task, zero_start(task), QuasiNewton.default)
    assert asked == [n]
