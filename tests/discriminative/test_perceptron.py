from functools import partial

import numpy as np
import pytest

from suffice.core.table.table import Table
from suffice.discriminative.design import CompiledDesign, Design
from suffice.discriminative.perceptron import (
    State,
    batch_pass,
    criterion,
    direct_rule,
    learn,
    margin,
    n_errors,
    one_against_rest,
    pocket_weights,
    stochastic_pass,
    trace_of,
)
from suffice.discriminative.scaling import Scaling


def raw(n_features):
    return Scaling(np.zeros(n_features), np.ones(n_features))


def plain(x, codes, n_classes=2):
    table = Table.of(x, codes, classes=range(n_classes))
    return Design(raw(table.n_features).standardised(table))


def clusters(n_classes, seed=0, n=60, spread=0.3):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    codes = np.arange(n) % n_classes
    return centres[codes] + spread * rng.normal(size=(n, 2)), codes


def rng():
    return np.random.default_rng(0)


def before(weights):
    return State(weights, np.zeros_like(weights))


def test_one_batch_step_adds_every_mistake():
    design = plain([[1.0, 2.0], [3.0, -1.0]], [0, 1])
    state = batch_pass(design, one_against_rest, before(np.zeros((1, 3))), 0.5)
    # w ← w + η Σ t x with t = −1 and +1
    np.testing.assert_allclose(state.weights, [[0.0, 1.0, -1.5]])
    assert state.n_updates == 2


def test_a_stochastic_pass_follows_the_rule_row_by_row():
    x, codes = clusters(2, spread=2.0)
    design = plain(x, codes)
    state = stochastic_pass(design, one_against_rest, before(np.zeros((1, 3))), 0.7, rng())
    w, total, wrong = np.zeros(3), np.zeros(3), 0
    for i in rng().permutation(len(x)):
        t, z = 2 * codes[i] - 1, np.array([1.0, *x[i]])
        if t * (w @ z) <= 0:
            w, wrong = w + 0.7 * t * z, wrong + 1
        total += w
    np.testing.assert_allclose(state.weights[0], w, rtol=1e-12)
    np.testing.assert_allclose(state.average[0], total / len(x), rtol=1e-9, atol=1e-12)
    assert state.n_updates == wrong


@pytest.mark.parametrize("rule", [one_against_rest, direct_rule])
def test_the_compiled_rule_is_the_plain_one(rule):
    x, codes = clusters(3, spread=1.5, n=200)
    start = before(rng().normal(size=(3, 3)))
    compiled = CompiledDesign(Table.of(x, codes), raw(2))
    a = stochastic_pass(plain(x, codes, 3), rule, start, 1.0, rng())
    b = stochastic_pass(compiled, rule, start, 1.0, rng())
    assert a.n_updates == b.n_updates
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-9)
    np.testing.assert_allclose(a.drift, b.drift, rtol=1e-9)


def test_the_direct_rule_moves_the_right_class_and_its_best_rival():
    scores = np.array([[1.0, 0.0], [2.0, 0.0], [1.5, -1.0]])
    c = direct_rule(scores, np.array([0, 0]))
    # row 0: class 0 loses to 1; row 1: a tie with class 1 is a mistake too
    np.testing.assert_array_equal(c, [[1, 1], [-1, -1], [0, 0]])


@pytest.mark.parametrize("seed", range(6))
def test_mistakes_stay_within_novikoffs_bound(seed):
    draw = np.random.default_rng(seed)
    w = draw.normal(size=4)
    x = draw.normal(size=(300, 3))
    distance = (w[0] + x @ w[1:]) / np.linalg.norm(w)
    x, codes = x[np.abs(distance) > 0.1], (distance[np.abs(distance) > 0.1] > 0).astype(int)
    design = plain(x, codes)
    one_pass = partial(stochastic_pass, design, one_against_rest, rate=1.0, rng=rng())
    states, converged = learn(one_pass, np.zeros((1, 4)), 10_000)
    # (R / γ)²: w separates with margin γ ≥ 0.1 in the space of (1, x)
    radius = np.linalg.norm(design.table.x, axis=1).max()
    gamma = np.abs(distance)[np.abs(distance) > 0.1].min()
    assert converged
    assert 0 < states[-1].n_updates <= (radius / gamma) ** 2
    assert n_errors(design, states[-1].weights) == 0
    assert margin(design, states[-1].weights) > 0


@pytest.mark.parametrize("learning", ["batch", "stochastic"])
@pytest.mark.parametrize("rule", [one_against_rest, direct_rule])
def test_separated_clusters_are_learnt_by_every_rule(learning, rule):
    x, codes = clusters(3, seed=4)
    one_pass = batch_pass if learning == "batch" else partial(stochastic_pass, rng=rng())
    design = plain(x, codes, 3)
    states, converged = learn(
        partial(one_pass, design, rule, rate=1.0), np.zeros((3, 3)), 2000
    )
    assert converged
    assert criterion(design, rule, states[-1].weights)[0] == 0


def test_overlap_never_converges_and_the_pocket_keeps_the_best():
    x, codes = clusters(2, seed=1, spread=3.0, n=100)
    design, rule, start = plain(x, codes), one_against_rest, np.zeros((1, 3))
    one_pass = partial(stochastic_pass, design, rule, rate=1.0, rng=rng())
    states, converged = learn(one_pass, start, 30)
    assert not converged
    last = n_errors(design, states[-1].weights)
    assert n_errors(design, states[-1].average) <= last
    pocket = pocket_weights(design, states)
    errors = [n_errors(design, state.weights) for state in states[1:]]
    assert n_errors(design, pocket[-1]) == min(errors) <= last
    for passes in range(1, len(states)):
        assert n_errors(design, pocket[passes]) == min(errors[:passes])


def test_the_criterion_and_its_gradient_agree():
    x, codes = clusters(2, spread=2.0)
    design, rule = plain(x, codes), one_against_rest
    w, h = rng().normal(size=(1, 3)), 1e-7
    _, gradient = criterion(design, rule, w)
    for j in range(3):
        step = np.eye(3)[None, j] * h
        slope = (
            criterion(design, rule, w + step)[0] - criterion(design, rule, w - step)[0]
        ) / (2 * h)
        assert gradient[0, j] == pytest.approx(slope, rel=1e-5)


def test_the_margin_is_the_distance_to_the_nearest_boundary():
    design = plain([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    # 3x + 4y − 5 = 0 lies at distance 1 from the origin and 4 from (3, 4)
    assert margin(design, np.array([[-5.0, 3.0, 4.0]])) == pytest.approx(1.0)
    assert margin(design, np.array([[5.0, -3.0, -4.0]])) == pytest.approx(-4.0)
    two = np.array([[0.0, 0.0, 0.0], [-5.0, 3.0, 4.0]])
    assert margin(design, two) == pytest.approx(1.0)


def test_before_the_first_pass_the_pocket_holds_the_start_and_no_step_was_taken():
    x, codes = clusters(2, seed=1, spread=3.0, n=40)
    design, rule = plain(x, codes), one_against_rest
    one_pass = partial(stochastic_pass, design, rule, rate=1.0, rng=rng())
    states, _ = learn(one_pass, np.zeros((1, 3)), 3)
    np.testing.assert_array_equal(pocket_weights(design, states)[0], np.zeros((1, 3)))
    trace = trace_of(design, rule, 0.25, [state.weights for state in states])
    assert [point.step_size for point in trace] == [0.0, 0.25, 0.25, 0.25]
