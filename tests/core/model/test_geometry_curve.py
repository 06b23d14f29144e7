import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.model.geometry.quadric import Quadric

WINDOW = ((-2.0, 2.0), (-1.5, 2.5))
CURVATURES = [(1, 1), (1, 0.1), (1, -1), (1, -1e-3), (1, 0), (1, 1e-9), (1, -1e-16), (0, 0)]


@st.composite
def conics(draw):
    angle = draw(st.sampled_from([0.0, 0.3, np.pi / 4, 1.2, np.pi / 2]))
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    size = 10.0 ** draw(st.integers(-9, 9))
    A = size * draw(st.sampled_from([1, -1])) * R @ np.diag(draw(st.sampled_from(CURVATURES)))
    A = A @ R.T
    middle = np.array([draw(st.floats(-2, 2)), draw(st.floats(-2, 2))])
    level = draw(st.sampled_from([0.0, 1e-12, -1e-6, 0.3, -0.3, 2.0, -2.0]))
    tilt = draw(st.sampled_from([0.0, 1e-9, 1.0, 1e6]))
    direction = np.array([np.cos(2 * angle + 1), np.sin(2 * angle + 1)])
    return Quadric.about(middle, A, size * tilt * direction, size * level)


def residual(q, curve, window=WINDOW):
    """|y| relative to the size its terms have in the window."""
    half = np.ptp(np.asarray(window), axis=1) / 2
    u = np.maximum(np.abs(curve - q._anchor), half)
    size = np.einsum("ij,ij->i", u @ np.abs(q.A), u) + u @ np.abs(q._gradient_at_anchor)
    size += abs(q._value_at_anchor)
    return np.abs(q.evaluate(curve)) / np.maximum(size, 1e-300)


def crossings(q, axis, level, window):
    """Return where y changes its sign along a line of the window, by brute force."""
    low, high = window[1 - axis]
    x = np.empty((801, 2))
    x[:, axis], x[:, 1 - axis] = level, np.linspace(low, high, 801)
    y = q.evaluate(x)
    y[residual(q, x) < 1e-13] = 0.0
    (k,) = np.nonzero(y[:-1] * y[1:] < 0)
    return 0.5 * (x[k] + x[k + 1])


def distance_to_polylines(curves, point):
    best = np.inf
    for c in curves:
        a, step = c[:-1], np.diff(c, axis=0)
        length = np.maximum((step**2).sum(1), 1e-300)
        t = np.clip(((point - a) * step).sum(1) / length, 0, 1)
        best = min(best, np.linalg.norm(a + t[:, None] * step - point, axis=1).min())
    return best


@settings(deadline=None, max_examples=300)
@given(conics(), st.sampled_from([0, 1]), st.floats(0.01, 0.99))
def test_curves_are_accurate_inside_the_window_and_miss_no_crossing(q, axis, share):
    curves = q.curve(WINDOW, n=80)
    low, high = np.asarray(WINDOW).T
    for curve in curves:
        assert np.all(residual(q, curve) < 1e-12)
        assert np.all((curve >= low) & (curve <= high))
    level = low[axis] + share * (high - low)[axis]
    for point in crossings(q, axis, level, WINDOW):
        assert distance_to_polylines(curves, point) < 0.02


@settings(deadline=None)
@given(conics())
def test_polylines_have_no_jumps(q):
    for curve in q.curve(WINDOW, n=80):
        assert np.linalg.norm(np.diff(curve, axis=0), axis=1).max() < 0.5


def test_an_ellipse_inside_is_one_closed_curve():
    q = Quadric([[1.0, 0.3], [0.3, 2.0]], [0.1, 0.2], -1.0)
    (curve,) = q.curve(WINDOW)
    np.testing.assert_allclose(curve[0], curve[-1], atol=1e-12)
    x, y = curve.T
    area = 0.5 * abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    level = q.evaluate(-0.5 * np.linalg.solve(q.A, q.b))[0]
    assert area == pytest.approx(np.pi * -level / np.sqrt(np.linalg.det(q.A)), rel=1e-3)


def test_an_ellipse_larger_than_the_window_is_cut_into_arcs():
    q = Quadric(np.eye(2), [0.0, 0.0], -4.5)  # radius 2.12: four arcs in the corners
    assert len(q.curve(((-2, 2), (-2, 2)))) == 4


def test_a_hyperbola_has_both_branches_in_any_position():
    for A in ([[1, 0], [0, -1]], [[-1, 0], [0, 1]], [[0, 1], [1, 0]]):
        assert len(Quadric(A, [0.0, 0.0], -0.5).curve(((-2, 2), (-2, 2)))) == 2


def test_lines_are_lines():
    window = ((-2, 2), (-2, 2))
    pair = Quadric([[0, 1], [1, 0]], [0, 0], 0.0).curve(window)
    assert len(pair) == 2
    for line in pair:
        assert np.abs(line).min(axis=0).min() < 1e-15
        assert np.ptp(line, axis=0).max() == pytest.approx(4)
    assert len(Quadric([[1, 0], [0, 0]], [0, 0], -1.0).curve(window)) == 2  # x = ±1
    assert len(Quadric([[1, 2], [2, 4]], [0, 0], 0.0).curve(window)) == 1  # counted once
    assert len(Quadric(np.zeros((2, 2)), [1, 0], 0.5).curve(window)) == 1
    assert Quadric(np.eye(2), [0, 0], 0.0).curve(window) == []  # a point has no curve


def test_a_parabola_turns_inside_the_window():
    (curve,) = Quadric([[1, 0], [0, 0]], [0, -1], 0.0).curve(((-2, 2), (-1, 3)))
    assert curve[:, 1].min() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.abs(curve[[0, -1], 0]), np.sqrt(3))


@pytest.mark.parametrize("units", [(1e9, 1e-9), (1e-9, 1e9), (1e9, 1e9)])
def test_features_of_very_different_units_draw_the_same_curve(units):
    s = np.array(units)
    A, b, c = np.array([[1.0, 0.2], [0.2, -0.5]]), np.array([0.3, 0.1]), -0.4
    plain = Quadric(A, b, c).curve(WINDOW)
    scaled = Quadric(A / np.outer(s, s), b / s, c).curve(np.asarray(WINDOW) * s[:, None])
    assert len(plain) == len(scaled)
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(one, other / s, rtol=1e-7, atol=1e-9)


def test_a_curve_far_from_the_origin_is_as_accurate_as_its_coordinates():
    near = Quadric([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], -1.0)
    far = Quadric.about([1e8, -1e8], near.A, near.b, near.c)
    (curve,) = far.curve(((1e8 - 2, 1e8 + 2), (-1e8 - 2, -1e8 + 2)))
    assert np.abs(far.evaluate(curve)).max() < 1e-7
