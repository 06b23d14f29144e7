import numpy as np
import pytest

from suffice.discriminative.perceptron import (
    Averaged,
    Batch,
    Direct,
    Last,
    OneAgainstRest,
    Pocket,
    State,
    Stochastic,
    criterion,
    learn,
    margin,
    n_errors,
)
from suffice.discriminative.problem import Scaling
from suffice.discriminative.rows import Block, PlainRows, StreamedRows


def plain(x, codes, n_classes=2):
    z = np.column_stack([np.ones(len(x)), x])
    return PlainRows(Block(z, np.asarray(codes), np.ones(len(x))), n_classes)


def clusters(n_classes, seed=0, n=60, spread=0.3):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    codes = np.arange(n) % n_classes
    return centres[codes] + spread * rng.normal(size=(n, 2)), codes


def rng():
    return np.random.default_rng(0)


def test_one_batch_step_adds_every_mistake():
    rows = plain([[1.0, 2.0], [3.0, -1.0]], [0, 1])
    state = Batch(0.5).taught(rows, OneAgainstRest(2), State.at(np.zeros((1, 3))))
    # w ← w + η Σ t x with t = −1 and +1
    np.testing.assert_allclose(state.weights, [[0.0, 1.0, -1.5]])
    assert state.n_updates == 2


def test_a_stochastic_pass_follows_the_rule_row_by_row():
    x, codes = clusters(2, spread=2.0)
    rows = plain(x, codes)
    state = Stochastic(0.7, rng()).taught(rows, OneAgainstRest(2), State.at(np.zeros((1, 3))))
    w, total, wrong = np.zeros(3), np.zeros(3), 0
    for i in rng().permutation(len(x)):
        t, z = 2 * codes[i] - 1, np.array([1.0, *x[i]])
        if t * (w @ z) <= 0:
            w, wrong = w + 0.7 * t * z, wrong + 1
        total += w
    np.testing.assert_allclose(state.weights[0], w, rtol=1e-12)
    np.testing.assert_allclose(state.average[0], total / len(x), rtol=1e-9, atol=1e-12)
    assert state.n_updates == wrong


@pytest.mark.parametrize("rule", [OneAgainstRest(3), Direct(3)], ids=lambda r: type(r).__name__)
def test_the_compiled_rule_is_the_plain_one(rule):
    x, codes = clusters(3, spread=1.5, n=200)
    start = State.at(rng().normal(size=(3, 3)))
    streamed = StreamedRows(x, codes, None, 3, Scaling.raw(2))
    a = Stochastic(1.0, rng()).taught(plain(x, codes, 3), rule, start)
    b = Stochastic(1.0, rng()).taught(streamed, rule, start)
    assert a.n_updates == b.n_updates
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-9)
    np.testing.assert_allclose(a.drift, b.drift, rtol=1e-9)


def test_the_direct_rule_moves_the_right_class_and_its_best_rival():
    scores = np.array([[1.0, 0.0], [2.0, 0.0], [1.5, -1.0]])
    c = Direct(3).corrections(scores, np.array([0, 0]))
    # row 0: class 0 loses to 1; row 1: a tie with class 1 is a mistake too
    np.testing.assert_array_equal(c, [[1, 1], [-1, -1], [0, 0]])


@pytest.mark.parametrize("seed", range(6))
def test_mistakes_stay_within_novikoffs_bound(seed):
    draw = np.random.default_rng(seed)
    w = draw.normal(size=4)
    x = draw.normal(size=(300, 3))
    distance = (w[0] + x @ w[1:]) / np.linalg.norm(w)
    x, codes = x[np.abs(distance) > 0.1], (distance[np.abs(distance) > 0.1] > 0).astype(int)
    rows = plain(x, codes)
    lesson = learn(
        rows, OneAgainstRest(2), Stochastic(1.0, rng()), Last(), np.zeros((1, 4)), 10_000
    )
    # (R / γ)²: w separates with margin γ ≥ 0.1 in the space of (1, x)
    radius = np.linalg.norm(rows.block.z, axis=1).max()
    gamma = np.abs(distance)[np.abs(distance) > 0.1].min()
    assert lesson.converged
    assert 0 < lesson.n_updates <= (radius / gamma) ** 2
    assert n_errors(rows, lesson.weights) == 0
    assert margin(rows, lesson.weights) > 0


@pytest.mark.parametrize("teaching", ["batch", "stochastic"])
@pytest.mark.parametrize("rule", [OneAgainstRest(3), Direct(3)], ids=lambda r: type(r).__name__)
def test_separated_clusters_are_learnt_by_every_rule(teaching, rule):
    x, codes = clusters(3, seed=4)
    way = Batch(1.0) if teaching == "batch" else Stochastic(1.0, rng())
    rows = plain(x, codes, 3)
    lesson = learn(rows, rule, way, Last(), np.zeros((3, 3)), 2000)
    assert lesson.converged
    assert criterion(rows, rule, lesson.weights)[0] == 0


def test_overlap_never_converges_and_the_pocket_keeps_the_best():
    x, codes = clusters(2, seed=1, spread=3.0, n=100)
    rows, rule, start = plain(x, codes), OneAgainstRest(2), np.zeros((1, 3))
    lessons = {
        keeping: learn(rows, rule, Stochastic(1.0, rng()), keeping, start, 30)
        for keeping in (Last(), Averaged(), Pocket())
    }
    assert not any(lesson.converged for lesson in lessons.values())
    errors = {type(k).__name__: n_errors(rows, v.weights) for k, v in lessons.items()}
    assert errors["Pocket"] <= errors["Last"]
    assert errors["Averaged"] <= errors["Last"]


def test_the_criterion_and_its_gradient_agree():
    x, codes = clusters(2, spread=2.0)
    rows, rule = plain(x, codes), OneAgainstRest(2)
    w, h = rng().normal(size=(1, 3)), 1e-7
    _, gradient = criterion(rows, rule, w)
    for j in range(3):
        step = np.eye(3)[None, j] * h
        slope = (criterion(rows, rule, w + step)[0] - criterion(rows, rule, w - step)[0]) / (2 * h)
        assert gradient[0, j] == pytest.approx(slope, rel=1e-5)


def test_the_margin_is_the_distance_to_the_nearest_boundary():
    rows = plain([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    # 3x + 4y − 5 = 0 lies at distance 1 from the origin and 4 from (3, 4)
    assert margin(rows, np.array([[-5.0, 3.0, 4.0]])) == pytest.approx(1.0)
    assert margin(rows, np.array([[5.0, -3.0, -4.0]])) == pytest.approx(-4.0)
    two = np.array([[0.0, 0.0, 0.0], [-5.0, 3.0, 4.0]])
    assert margin(rows, two) == pytest.approx(1.0)
