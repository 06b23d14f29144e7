import numpy as np
import pytest

from suffice.core.table.table import Table
from suffice.discriminative.gradient_descent import AveragedDescent
from suffice.discriminative.newton import Newton
from suffice.discriminative.starts import lda_start
from suffice.discriminative.stream import Stream


def feed(stream, x, codes, l2=0.0, size=50, seed=0):
    descent = AveragedDescent(seed=seed)
    for lo in range(0, len(x), size):
        table = Table.of(x[lo : lo + size], codes[lo : lo + size], classes=[0, 1, 2])
        stream = stream.fed(table, descent, l2)
    return stream


@pytest.fixture
def long(rows_and_codes):
    return rows_and_codes(20_000, 3, 3)


def test_a_long_stream_comes_near_the_fit_of_all_rows(long, problem):
    x, codes = long
    stream = feed(Stream.before(3, 3), x, codes)
    task = problem(x, codes)
    best = Newton().solve(task, lda_start(task), Newton.default).point
    here = task.objective.evaluate(task.scaling.from_original(stream.average))
    assert (here.loss - best.loss) / len(x) < 2e-3
    assert stream.moments.total_weight == len(x)


def test_units_do_not_change_what_a_stream_learns(long):
    x, codes = long[0][:1000], long[1][:1000]
    factor, shift = np.array([1e-6, 1.0, 1e9]), np.array([0.0, 3.0, -7.0])
    before = Stream.before(3, 3)
    a, b = feed(before, x, codes, l2=1.0), feed(before, (x + shift) * factor, codes, l2=1.0)
    np.testing.assert_allclose(b.average[:, 1:] * factor, a.average[:, 1:], rtol=1e-7)


def test_a_stream_goes_on_from_a_fit(long, problem):
    x, codes = long
    task = problem(x, codes)
    best = Newton().solve(task, lda_start(task), Newton.default).point
    beta = task.scaling.to_original(best.phi)
    stream = feed(Stream.after(task.moments, beta), x[:500], codes[:500])
    assert stream.moments.total_weight == len(x) + 500
    assert np.abs(task.scaling.from_original(stream.average) - best.phi).max() < 0.5
