import numpy as np
import pytest

from suffice.core.moments import Moments
from suffice.core.table.table import Table
from suffice.discriminative import separation as module
from suffice.discriminative.gradient_descent import BatchDescent
from suffice.discriminative.logistic_fit import SUBSTITUTE_L2, fit_logistic
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.separation import find_separation
from suffice.discriminative.starts import lda_start


def separation(problem, x, codes, solver=None):
    solver = solver or Newton()
    task = problem(x, codes)
    return find_separation(task, solver.solve(task, lda_start(task), solver.default))


@pytest.fixture
def noise():
    return np.random.default_rng(0).normal(size=(80, 4))


SOLVERS = [Newton(), QuasiNewton(), BatchDescent()]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_complete_separation_names_the_feature(problem, noise, solver):
    codes = (noise[:, 2] > 0.1).astype(int)
    found = separation(problem, noise, codes, solver)
    assert found.complete
    assert found.features.tolist() == [2]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_an_empty_cell_of_a_table_is_quasi_separation(problem, noise, solver):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, 80)
    noise[:, 1] = (codes == 1) & (rng.uniform(size=80) < 0.3)  # all ones are of class 1
    found = separation(problem, noise, codes, solver)
    assert not found.complete
    assert found.features.tolist() == [1]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_separation_by_two_features_together_is_found_in_any_units(problem, noise, scale):
    codes = (noise[:, 0] + noise[:, 3] > 0.2).astype(int)
    found = separation(problem, noise * [scale, 1, 1, 1 / scale], codes)
    assert found.complete
    assert {0, 3} <= set(found.features.tolist())


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_overlapping_classes_are_not_separated(problem, noise, offset):
    codes = (noise[:, 0] > 0).astype(int)
    codes[[3, 50]] = 1 - codes[[3, 50]]
    noise = noise[:, :1] * 100 + offset
    assert separation(problem, noise, codes) is None


def test_one_class_apart_from_two_that_overlap_is_quasi_separation(problem, noise):
    codes = np.random.default_rng(2).integers(0, 2, 80)
    codes[noise[:, 0] > 1] = 2
    found = separation(problem, noise, codes)
    assert not found.complete
    assert found.features.tolist() == [0]


def test_iris_and_wine_are_judged_right(problem, table):
    x, y, _ = table("iris")
    codes = np.unique(y, return_inverse=True)[1]
    assert not separation(problem, x, codes).complete
    assert separation(problem, x[50:], codes[50:] - 1) is None
    x, y, _ = table("wine")
    assert separation(problem, x, np.unique(y, return_inverse=True)[1]).complete


def test_the_hardest_rows_of_many_decide(problem, monkeypatch):
    from suffice.discriminative import design

    monkeypatch.setattr(design, "SMALL", 0)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30_000, 3))
    codes = (x @ [1.0, 2.0, -1.0] > 0).astype(int)
    assert separation(problem, x, codes).complete
    codes[rng.integers(0, 30_000, 5)] ^= 1
    assert separation(problem, x, codes) is None


def test_with_too_many_parameters_only_complete_separation_is_looked_for(
    problem, noise, monkeypatch
):
    monkeypatch.setattr(module, "_WIDEST", 0)
    codes = (noise[:, 2] > 0.1).astype(int)
    assert separation(problem, noise, codes).complete
    codes[4] = 1 - codes[4]
    assert separation(problem, noise, codes) is None


def test_a_separated_fit_answers_with_a_penalty_and_says_so(noise):
    codes = (noise[:, 2] > 0.1).astype(int)
    table = Table.of(noise, codes)
    moments = Moments.of_table(table)
    asked = fit_logistic(table, moments, l2=0.0)
    plain = fit_logistic(table, moments, l2=SUBSTITUTE_L2)
    assert asked.separation.complete
    assert asked.l2 == SUBSTITUTE_L2
    np.testing.assert_array_equal(asked.beta, plain.beta)
    assert plain.separation is None
