import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    SufficeError,
)

D = 3
numbers = st.floats(-100, 100).map(lambda v: round(v, 3))
normals = arrays(np.float64, D, elements=numbers).filter(np.any)
rows = arrays(np.float64, (5, D), elements=numbers)
planes = st.builds(Hyperplane.about, arrays(np.float64, D, elements=numbers), normals, numbers)


@settings(deadline=None)
@given(planes, rows)
def test_projections_lie_on_the_plane_at_the_signed_distance_along_the_normal(plane, x):
    p, s = plane.project(x), plane.signed_distance(x)
    np.testing.assert_allclose(plane.signed_distance(p), 0, atol=1e-10)
    unit = plane.w / np.linalg.norm(plane.w)
    np.testing.assert_allclose(p + s[:, None] * unit, x, atol=1e-10)
    np.testing.assert_allclose(plane.project(p), p, atol=1e-10)


@settings(deadline=None)
@given(planes, rows, st.floats(1e-9, 1e9))
def test_distances_scale_with_the_unit(plane, x, unit):
    scaled = Hyperplane.about(plane._anchor * unit, plane.w / unit, plane._value_at_anchor)
    expected = plane.signed_distance(x) * unit
    np.testing.assert_allclose(
        scaled.signed_distance(x * unit), expected, rtol=1e-9, atol=1e-10 * unit
    )


@settings(deadline=None)
@given(planes, rows)
def test_the_anchor_does_not_change_the_plane(plane, x):
    plain = Hyperplane(plane.w, plane.w_0)
    np.testing.assert_allclose(plain.evaluate(x), plane.evaluate(x), atol=1e-8)


def test_distance_of_the_origin_has_the_sign_of_the_specification():
    plane = Hyperplane([3.0, 4.0], -10.0)
    assert plane.distance_of_origin == pytest.approx(2.0)  # −w_0 / ‖w‖
    shifted = Hyperplane.about([2.0, 1.0], [3.0, 4.0], 0.0)
    assert shifted.distance_of_origin == pytest.approx(2.0)
    assert shifted.w_0 == pytest.approx(-10.0)


def test_scores_of_two_classes_are_equal_on_the_plane_between_them():
    rng = np.random.default_rng(0)
    w_a, w_b, x = rng.normal(size=2), rng.normal(size=2), rng.normal(size=(9, 2))
    plane = Hyperplane(w_a - w_b, 0.3 - -1.0, labels=("a", "b"))
    np.testing.assert_allclose(plane.evaluate(x), (x @ w_a + 0.3) - (x @ w_b - 1.0))
    assert list(plane.side(x)) == ["a" if v >= 0 else "b" for v in plane.evaluate(x)]


def test_sides_keep_the_type_of_the_labels():
    x = [[1.0], [-1.0]]
    assert Hyperplane([1.0], 0.0, labels=(7, 3)).side(x).tolist() == [7, 3]
    assert Hyperplane([1.0], 0.0, labels=(7, 3)).side(x).dtype.kind == "i"
    assert Hyperplane([1.0], 0.0, labels=("a", 3)).side(x).tolist() == ["a", 3]
    assert Hyperplane([1.0], 0.0, labels=((1, 2), (3, 4))).side(x).tolist() == [(1, 2), (3, 4)]
    assert Hyperplane([1.0], 0.0).side(x).tolist() == [1, -1]


def test_a_plane_without_normal_is_infinitely_far():
    nowhere = Hyperplane([0.0, 0.0], -2.0)
    assert nowhere.signed_distance([1.0, 1.0]).tolist() == [-np.inf]
    assert nowhere.curve(((-1, 1), (-1, 1))) == []
    with pytest.raises(InvalidInputError, match="no boundary"):
        nowhere.project([1.0, 1.0])


def test_the_line_is_clipped_to_the_window():
    (line,) = Hyperplane([1.0, -1.0], 0.0).curve(((0, 2), (-1, 1)), n=5)
    np.testing.assert_allclose(np.sort(line[[0, -1]], axis=0), [[0, 0], [1, 1]], atol=1e-15)
    assert line.shape == (5, 2)


@settings(deadline=None)
@given(planes, st.sampled_from([(0, 1), (2, 0), (1, 2)]), numbers, numbers)
def test_every_point_of_a_section_lies_on_the_plane(plane, features, left, at):
    window = ((left, left + 7), (-3, 5))
    for line in plane.curve(window, features, at=[at] * D, n=7):
        x = np.full((7, D), at)
        x[:, features] = line
        # a line is as exact as the window that it is seen in
        far = np.maximum(np.abs(x), 4) + np.abs(plane._anchor)
        size = far @ np.abs(plane.w) + abs(plane._value_at_anchor)
        assert np.all(np.abs(plane.evaluate(x)) <= 1e-13 * size.max())
        assert np.all((line >= [left, -3]) & (line <= [left + 7, 5]))


def test_axis_parallel_lines_and_lines_along_the_edge_are_drawn():
    window = ((0, 1), (0, 1))
    for offset in (-0.5, 0.0, -1.0):
        for normal in ([1.0, 0.0], [0.0, 1.0]):
            (line,) = Hyperplane(normal, offset).curve(window)
            assert np.abs(np.diff(line[[0, -1]], axis=0)).max() == pytest.approx(1)
    assert Hyperplane([1.0, 0.0], 0.1).curve(window) == []


def test_a_single_feature_has_a_point_for_its_boundary():
    assert Hyperplane([2.0], -1.0).roots().tolist() == [0.5]
    assert Hyperplane([0.0], -1.0).roots().tolist() == []
    assert Hyperplane([2.0], -1.0).side([0.0, 1.0]).tolist() == [-1, 1]


def test_a_plane_far_from_the_origin_keeps_every_digit():
    far = Hyperplane.about([1e8, -1e8], [1.0, -2.0], 0.25)
    near = Hyperplane([1.0, -2.0], 0.25)
    u = np.array([[0.5, 0.125], [-0.75, 0.25]])
    np.testing.assert_array_equal(far.evaluate(u + np.array([1e8, -1e8])), near.evaluate(u))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Hyperplane([[1.0]], 0.0), FeatureMismatchError, "shape"),
        (lambda: Hyperplane([np.nan], 0.0), InvalidParameterError, "finite"),
        (lambda: Hyperplane([1.0], np.inf), InvalidParameterError, "finite"),
        (lambda: Hyperplane([1.0], 0.0, ("a", "b")), FeatureMismatchError, "2 feature names"),
        (lambda: Hyperplane([1.0, 1.0], 0.0).evaluate(np.ones((3, 3))), SufficeError, "n, 2"),
        (lambda: Hyperplane([1.0, 1.0], 0.0).evaluate(np.ones(4)), SufficeError, "n, 2"),
        (lambda: Hyperplane([1.0, 1.0], 0.0).roots(), InvalidParameterError, "one feature"),
        (lambda: Hyperplane([1.0, 1.0], 0.0).curve((0, 1)), InvalidParameterError, "window"),
        (
            lambda: Hyperplane([1.0, 1.0], 0.0).curve(((1, 0), (0, 1))),
            InvalidParameterError,
            "lo < hi",
        ),
        (
            lambda: Hyperplane([1.0, 1.0], 0.0).section((0, 0)),
            InvalidParameterError,
            "two different",
        ),
        (
            lambda: Hyperplane([1.0, 1.0], 0.0, ("u", "v")).section(("u", "z")),
            InvalidParameterError,
            "'z'",
        ),
        (
            lambda: Hyperplane([1.0, 1.0], 0.0).curve(((0, 1), (0, 1)), n=1),
            InvalidParameterError,
            "two ends",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_features_may_be_given_by_name():
    plane = Hyperplane([1.0, 2.0, 3.0], 4.0, ("u", "v", "w"))
    section = plane.section(("w", "u"), at=[0.0, 10.0, 0.0])
    assert section.feature_names == ("w", "u")
    assert section.equation() == "3·w + u + 24 = 0"


def test_arrays_of_a_plane_cannot_be_changed():
    w = np.ones(2)
    plane = Hyperplane(w, 0.0)
    w[0] = 5.0
    assert plane.w.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        plane.w[0] = 2.0
