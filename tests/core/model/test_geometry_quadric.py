import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError

numbers = st.floats(-10, 10).map(lambda v: round(v, 2))


def quadrics(d):
    return st.builds(
        lambda A, b, c, m: Quadric.about(m, A + A.T, b, c),
        arrays(np.float64, (d, d), elements=numbers),
        arrays(np.float64, d, elements=numbers),
        numbers,
        arrays(np.float64, d, elements=numbers),
    )


def terms(q, *points):
    u = sum(np.abs(x - q._anchor) for x in points)
    return (
        np.einsum("ij,ij->i", u @ np.abs(q.A), u)
        + u @ np.abs(q._gradient_at_anchor)
        + abs(q._value_at_anchor)
    )


@settings(deadline=None)
@given(quadrics(3), arrays(np.float64, (4, 3), elements=numbers))
def test_the_gradient_is_the_derivative(q, x):
    h = 1e-3 * np.eye(3)
    slope = [(q.evaluate(x + step) - q.evaluate(x - step)) / 2e-3 for step in h]
    np.testing.assert_allclose(q.gradient(x), np.transpose(slope), atol=1e-7)


@settings(deadline=None, max_examples=200)
@given(quadrics(2) | quadrics(3) | quadrics(1), st.integers(0, 10**6))
def test_projections_are_on_the_quadric_and_no_point_of_it_is_nearer(q, seed):
    rng = np.random.default_rng(seed)
    d = q.n_features
    x = np.vstack([rng.normal(size=(6, d)) * 10, q._anchor])
    distance = q.signed_distance(x)
    assert np.all(np.sign(distance) == np.sign(q.evaluate(x)))
    if not np.all(np.isfinite(distance)):
        assert q.kind == "empty"
        return
    p = q.project(x)
    assert np.all(np.abs(q.evaluate(p)) <= 1e-11 * terms(q, p, x))
    np.testing.assert_allclose(np.linalg.norm(p - x, axis=1), np.abs(distance), rtol=1e-8)
    # inside the ball up to the quadric nothing changes side
    step = rng.normal(size=(50, 1, d))
    step *= (1 - 1e-7) * rng.random((50, 1, 1)) / np.linalg.norm(step, axis=2, keepdims=True)
    ball = x + step * np.abs(distance)[:, None]
    y = q.evaluate(ball.reshape(-1, d)).reshape(50, -1)
    assert np.all(y * np.sign(distance) >= -1e-11 * terms(q, p, x))


def test_the_distance_agrees_with_a_constrained_minimiser():
    q = Quadric([[1.0, 0.4], [0.4, -0.7]], [0.3, -1.0], -0.5)
    for x in np.random.default_rng(3).normal(size=(5, 2)):
        found = min(
            minimize(
                lambda z, x=x: np.sum((z - x) ** 2),
                start,
                constraints={"type": "eq", "fun": lambda z: q.evaluate(z)[0]},
                options={"ftol": 1e-14},
            ).fun
            for start in np.vstack([x, np.random.default_rng(0).normal(size=(6, 2)) * 2])
        )
        assert abs(q.signed_distance(x)[0]) == pytest.approx(np.sqrt(found), rel=1e-5)


def test_on_an_axis_of_symmetry_one_of_the_nearest_points_is_found():
    ellipse = Quadric(np.diag([1.0, 4.0]), [0.0, 0.0], -4.0)  # half axes 2 and 1
    assert ellipse.signed_distance([0.0, 0.0])[0] == pytest.approx(-1.0)
    assert np.abs(ellipse.project([0.0, 0.0])) == pytest.approx(np.array([[0.0, 1.0]]))
    # the centre of curvature of the vertex (2, 0) is at 3/2: nearer in, other points are nearer
    assert ellipse.signed_distance([1.6, 0.0])[0] == pytest.approx(-0.4)
    assert ellipse.signed_distance([1.0, 0.0])[0] == pytest.approx(-np.sqrt(2 / 3))
    sphere = Quadric(np.eye(5), np.zeros(5), -9.0)
    assert sphere.signed_distance(np.zeros(5))[0] == pytest.approx(-3.0)


@settings(deadline=None)
@given(quadrics(2), arrays(np.float64, (4, 2), elements=numbers), st.floats(1e-9, 1e9))
def test_distance_and_kind_do_not_depend_on_the_unit(q, x, unit):
    scaled = Quadric.about(
        q._anchor * unit, q.A / unit**2, q._gradient_at_anchor / unit, q._value_at_anchor
    )
    expected = q.signed_distance(x)
    if np.abs(expected[np.isfinite(expected)]).max(initial=0) < 1e6:
        assert scaled.kind == q.kind
        np.testing.assert_allclose(
            scaled.signed_distance(x * unit) / unit, expected, rtol=1e-5, atol=1e-6
        )


def test_without_a_quadratic_part_it_is_a_hyperplane():
    rng = np.random.default_rng(1)
    w, m, x = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(7, 3))
    plane = Hyperplane.about(m, w, 0.4)
    quadric = Quadric.about(m, np.zeros((3, 3)), w, 0.4)
    assert quadric.distance_of_origin == pytest.approx(plane.distance_of_origin)
    for verb in ("evaluate", "gradient", "signed_distance", "project", "side"):
        np.testing.assert_allclose(getattr(quadric, verb)(x), getattr(plane, verb)(x))
    assert quadric.equation() == plane.equation()


# (signs of A) -> names where the constant is of the other sign, zero, of the same sign, and where
# a linear term is left over in a direction without curvature
KINDS = {
    (1,): ("two points", "point", "empty", None),
    (0,): ("empty", "everything", "empty", "point"),
    (1, 1): ("ellipse", "point", "empty", None),
    (1, -1): ("hyperbola", "intersecting lines", "hyperbola", None),
    (1, 0): ("parallel lines", "double line", "empty", "parabola"),
    (0, 0): ("empty", "everything", "empty", "line"),
    (1, 1, 1): ("ellipsoid", "point", "empty", None),
    (1, 1, -1): ("hyperboloid of one sheet", "cone", "hyperboloid of two sheets", None),
    (1, 1, 0): ("elliptic cylinder", "line", "empty", "elliptic paraboloid"),
    (1, -1, 0): (
        "hyperbolic cylinder",
        "intersecting planes",
        "hyperbolic cylinder",
        "hyperbolic paraboloid",
    ),
    (1, 0, 0): ("parallel planes", "double plane", "empty", "parabolic cylinder"),
    (0, 0, 0): ("empty", "everything", "empty", "plane"),
    (1, 1, 1, 1): ("ellipsoid", "point", "empty", None),
    (1, 1, 1, -1): ("hyperboloid", "cone", "hyperboloid", None),
    (1, 1, -1, -1): ("hyperboloid", "cone", "hyperboloid", None),
    (1, 1, 1, 0): ("elliptic cylinder", "affine subspace", "empty", "elliptic paraboloid"),
    (1, 1, -1, 0): (
        "hyperbolic cylinder",
        "cone",
        "hyperbolic cylinder",
        "hyperbolic paraboloid",
    ),
    (1, 1, 0, 0): ("elliptic cylinder", "affine subspace", "empty", "parabolic cylinder"),
    (1, -1, 0, 0): (
        "hyperbolic cylinder",
        "intersecting hyperplanes",
        "hyperbolic cylinder",
        "parabolic cylinder",
    ),
    (1, 0, 0, 0): ("parallel hyperplanes", "double hyperplane", "empty", "parabolic cylinder"),
    (0, 0, 0, 0): ("empty", "everything", "empty", "hyperplane"),
}
CASES = [
    (signs, case, name)
    for signs, names in KINDS.items()
    for case, name in enumerate(names)
    if name is not None
]


def canonical(signs, case, rng):
    """Return A, b, c of a quadric in its own axes."""
    A = np.diag(rng.uniform(0.5, 2.0, len(signs)) * signs)
    b = np.zeros(len(signs))
    if case == 3:
        b[signs.index(0)] = rng.uniform(0.5, 2.0)
        return A, b, rng.normal()
    return A, b, rng.uniform(0.5, 2.0) * (case - 1)


@pytest.mark.parametrize(("signs", "case", "name"), CASES)
def test_every_kind_is_called_by_its_name(signs, case, name):
    rng = np.random.default_rng(len(signs) * 10 + case)
    d = len(signs)
    for factor in (1.0, -1.0, 1e-9, -1e9):
        for shift in (0.0, 1.0, 10.0):
            A, b, c = canonical(signs, case, rng)
            V, m = np.linalg.qr(rng.normal(size=(d, d)))[0], shift * rng.normal(size=d)
            A, b = V @ A @ V.T, V @ b
            # in x = u + m: (x − m)ᵀA(x − m) + bᵀ(x − m) + c
            moved = (A, b - 2 * A @ m, m @ A @ m - b @ m + c)
            assert Quadric(*(factor * part for part in moved)).kind == name
            assert Quadric.about(m, factor * A, factor * b, factor * c).kind == name


@given(st.sampled_from(CASES), st.sampled_from([1.0, 1e9, 1e-9, 1e4]), st.integers(0, 9))
def test_kinds_do_not_depend_on_the_units_of_features(quadric, units, seed):
    signs, case, name = quadric
    rng = np.random.default_rng(seed)
    A, b, c = canonical(signs, case, rng)
    mix = np.eye(len(signs)) + np.triu(
        rng.integers(1, 3, A.shape), 1
    )  # linear, not orthogonal
    s = np.ones(len(signs))
    s[0] = units
    for T in (np.diag(s), mix * s):
        assert Quadric(T.T @ A @ T, T.T @ b, c).kind == name


@pytest.mark.parametrize(("signs", "case", "name"), CASES)
def test_names_agree_with_the_points_of_the_quadric(signs, case, name):
    q = Quadric(*canonical(signs, case, np.random.default_rng(case)))
    x = np.random.default_rng(1).normal(size=(400, len(signs))) * 5
    x[:200] /= 20
    y = q.evaluate(x)
    if name == "empty":
        assert np.all(y > 0) or np.all(y < 0)
        assert np.all(np.isinf(q.signed_distance(x)))
    elif name == "everything":
        assert np.all(y == 0)
    else:
        assert np.all(np.isfinite(q.signed_distance(x)))
    if case == 1 and -1 not in signs:  # a point, line or plane that y only touches
        assert np.all(y >= 0)
    elif name != "empty":
        assert y.min() < 0 < y.max()


def test_roots_of_a_single_feature_are_exact_when_far_from_zero_and_when_one_is_tiny():
    assert Quadric.about([1e8], [[1.0]], [0.0], -0.25).roots().tolist() == [
        1e8 - 0.5,
        1e8 + 0.5,
    ]
    small, large = Quadric([[1.0]], [-1e9], 1.0).roots()
    assert small == pytest.approx(1e-9, rel=1e-15)
    assert large == pytest.approx(1e9, rel=1e-15)
    assert Quadric([[1.0]], [2.0], 1.0).roots().tolist() == [-1.0]
    assert Quadric([[1.0]], [0.0], 1.0).roots().tolist() == []
    assert Quadric([[0.0]], [2.0], 1.0).roots().tolist() == [-0.5]


def test_an_empty_quadric_is_infinitely_far_even_from_far_away():
    nowhere = Quadric(np.eye(2), [0.0, 0.0], 1.0)
    assert nowhere.signed_distance([[0.0, 0.0], [1e8, 1.0]]).tolist() == [np.inf, np.inf]
    assert nowhere.curve(((-2, 2), (-2, 2))) == []
    with pytest.raises(InvalidInputError, match="more probable everywhere"):
        nowhere.project([0.0, 0.0])


def test_only_the_symmetric_half_of_a_matters():
    q = Quadric([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0], 0.0)
    assert q.A.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_section_is_the_quadric_with_the_other_features_held():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, 4))
    q = Quadric.about(rng.normal(size=4), A, rng.normal(size=4), 0.3, ("p", "q", "r", "s"))
    at, uv = rng.normal(size=4), rng.normal(size=(6, 2))
    x = np.tile(at, (6, 1))
    x[:, [3, 1]] = uv
    section = q.section(("s", "q"), at=at)
    np.testing.assert_allclose(section.evaluate(uv), q.evaluate(x))
    assert section.feature_names == ("s", "q")
    x = np.zeros((6, 4))
    x[:, [0, 1]] = uv
    np.testing.assert_allclose(q.section().evaluate(uv), q.evaluate(x))


def test_wrong_shapes_are_refused():
    with pytest.raises(FeatureMismatchError, match=r"A has shape \(2, 2\), expected \(3, 3\)"):
        Quadric(np.eye(2), np.zeros(3), 0.0)
    with pytest.raises(InvalidParameterError, match="A holds nan"):
        Quadric([[np.nan]], [0.0], 0.0)
    with pytest.raises(FeatureMismatchError, match="at has shape"):
        Quadric(np.eye(2), np.zeros(2), 0.0).section(at=[0.0])


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_double_plane_is_as_far_as_the_plane(d):
    rng = np.random.default_rng(d)
    for scale in (1e-6, 1.0, 1e6) * 20:
        w, point = rng.normal(size=d), rng.normal(size=d)
        A, x = np.outer(w, w), scale * rng.normal(size=(5, d))
        square = Quadric(A / scale**2, -2 * A @ point / scale, point @ A @ point)
        plane = Hyperplane(w / scale, -w @ point)
        if square.kind.startswith("double"):  # not empty, or two planes, by rounding
            far = np.abs(plane.signed_distance(x))
            np.testing.assert_allclose(square.signed_distance(x), far, atol=1e-6 * scale)
