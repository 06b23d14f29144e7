"""The tolerance and the most steps of each solver are those that the docstring states."""

import numpy as np
import pytest

import suffice as sf
from suffice.discriminative.gradient_descent import (
    AveragedDescent,
    BatchDescent,
    StochasticDescent,
)
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.starts import zero_start
from suffice.discriminative.stopping import Stopping

DEFAULTS = {
    "newton": (Newton(), Stopping(tol=1e-8, max_iter=100)),
    "quasi-newton": (QuasiNewton(), Stopping(tol=1e-8, max_iter=1000)),
    "gd": (BatchDescent(), Stopping(tol=1e-8, max_iter=10_000)),
    "sgd": (StochasticDescent(), Stopping(tol=0.0, epsilon=1e-4, max_iter=1000)),
    "averaged-sgd": (AveragedDescent(), Stopping(tol=1e-3, max_iter=1000)),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_solver_stops_where_its_docstring_says(rows_and_codes, problem, name):
    solver, expected = DEFAULTS[name]
    assert solver.default == expected
    text = " ".join(sf.LogisticRegression.__doc__.split())
    assert '100 for "newton", 10000 for "gd", else 1000' in text
    assert (
        'The default is 1e-3 for "averaged-sgd", 0 for "sgd", and 1e-8 for all other' in text
    )
    # a few steps, of which each point is recorded with the start
    task = problem(*rows_and_codes(60, 2, 3), l2=1.0)
    solution = solver.solve(task, zero_start(task), Stopping(tol=-1.0, max_iter=3))
    assert not solution.converged
    assert solution.n_iter == 3
    assert len(solution.trace) == 4
    losses = [point.loss for point in solution.trace]
    assert losses[0] == pytest.approx(60 * np.log(3), rel=1e-12)
