"""Moments of transformed rows: the header records the transform, merging checks it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.errors import FeatureMismatchError, FileFormatError, InvalidParameterError

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.lognormal(size=90), RNG.normal(size=90), RNG.gamma(2, size=90)])
Y = np.array(["a", "b", "c"])[RNG.integers(0, 3, 90)]
T = PowerTransform.of(X)


def assert_same(a, b, rtol=1e-10):
    for name in ("weights", "means", "scatters"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-10)
    np.testing.assert_allclose(a.log_slopes, b.log_slopes, rtol=rtol, atol=1e-10)


def test_moments_are_those_of_the_transformed_rows():
    found = Moments.of(X, Y, power="yeo-johnson")
    plain = Moments.of(T.apply(X), Y)
    np.testing.assert_allclose(found.means, plain.means, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found.scatters, plain.scatters, rtol=1e-12, atol=1e-12)
    slopes = np.stack([T.log_slopes(X[k == Y]).sum(0) for k in "abc"])
    np.testing.assert_allclose(found.log_slopes, slopes, rtol=1e-12)
    assert found.power.equals(T)
    assert plain.power is None


@given(st.integers(2, 89), st.booleans())
def test_parts_add_up_and_can_be_taken_out(cut, weighted):
    w = np.linspace(0, 2, 90) if weighted else None

    def part(rows):
        weight = None if w is None else w[rows]
        return Moments.of(X[rows], Y[rows], weight, power=T)

    first, second, whole = part(slice(0, cut)), part(slice(cut, None)), part(slice(None))
    assert_same(first + second, whole)
    assert_same((first + second) - second + second, whole, rtol=1e-6)
    assert_same(sum([first, second], start=Moments.empty()), whole)


def test_compiled_blocks_agree_with_numpy():
    rng = np.random.default_rng(1)
    x, y = rng.lognormal(size=(80_000, 3)), rng.integers(0, 2, 80_000)
    t = PowerTransform.of(x)
    for order in ("C", "F"):
        found = Moments.of(np.asarray(x, order=order), y, power=t)
        plain = Moments.of(t.apply(x), y)
        np.testing.assert_allclose(found.means, plain.means, rtol=1e-12)
        np.testing.assert_allclose(found.scatters, plain.scatters, rtol=1e-11)
        expected = np.stack([t.log_slopes(x[y == k]).sum(0) for k in (0, 1)])
        np.testing.assert_allclose(found.log_slopes, expected, rtol=1e-11)


def test_other_coordinates_do_not_merge():
    plain, warped = Moments.of(X, Y), Moments.of(X, Y, power=T)
    other = Moments.of(X, Y, power=PowerTransform([0.5, 1.0, 1.0]))
    with pytest.raises(FeatureMismatchError, match="plain rows"):
        plain + warped
    with pytest.raises(FeatureMismatchError, match="at feature 0"):
        warped + other
    with pytest.raises(FeatureMismatchError, match="that were transformed differently"):
        warped - other


def test_files_keep_the_transform(tmp_path):
    moments = Moments.of(X, Y, power=T)
    moments.save(tmp_path / "m.moments")
    back = sf.load(tmp_path / "m.moments")
    assert back.power.equals(T)
    assert_same(back, moments, rtol=0)
    assert_same(back + moments, moments + moments)


def test_a_file_with_a_broken_transform_is_refused(tmp_path):
    from suffice.persistence import archive
    from suffice.persistence.moments_file import arrays_of, header_of

    moments = Moments.of(X, Y, power=T)
    arrays = {**arrays_of(moments), "transform_scale": np.zeros(3)}
    archive.write(tmp_path / "m", "moments", header_of(moments), arrays)
    with pytest.raises(FileFormatError, match="unusable"):
        sf.load(tmp_path / "m")


def test_features_classes_and_weights_take_the_transform_along():
    moments = Moments.of(X, Y, power=T)
    part = moments.select([2, 0])
    assert_same(part, Moments.of(X[:, [2, 0]], Y, power=T.select(np.array([2, 0]))))
    without_c = moments - Moments.of(X[Y == "c"], Y[Y == "c"], power=T)
    assert not without_c.log_slopes[2].any()


def test_rows_of_weight_zero_are_absent_even_if_unusable():
    x, w = X.copy(), np.ones(90)
    x[5], w[5] = np.nan, 0.0
    assert_same(
        Moments.of(x, Y, w, power=T), Moments.of(np.delete(X, 5, 0), np.delete(Y, 5), power=T)
    )


def test_unknown_transforms_are_refused():
    with pytest.raises(InvalidParameterError, match="'box-cox'"):
        Moments.of(X, Y, power="box-cox")
    with pytest.raises(FeatureMismatchError, match="fitted to 2 features"):
        Moments.of(X, Y, power=PowerTransform([1.0, 1.0]))
