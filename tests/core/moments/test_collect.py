"""The compiled kernels, against plain NumPy and extended precision."""

import numpy as np
import pytest

from suffice import Moments
from suffice.core.moments import collect
from suffice.errors import InvalidParameterError
from suffice.persistence.moments_file import arrays_of

STORAGES = ["per-class", "pooled", "diagonal"]


def rows(n=70_001, d=7, n_classes=5, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    mix = rng.normal(size=(d, d))
    x = rng.normal(size=(n, d)) @ mix + rng.normal(size=(n_classes, d))[y] + offset
    return x, y, rng.choice([0.0, 0.5, 1.0, 2.5], n)


def assert_close(a, b, rtol=1e-11):
    left, right = arrays_of(a), arrays_of(b)
    # the loop of the diagonal storage keeps no higher moments
    assert left.keys() - {"higher"} == right.keys() - {"higher"}
    assert ("higher" in left and "higher" in right) or a.storage == "diagonal"
    for name in left.keys() & right.keys():
        scale = np.abs(right[name]).max() if left[name].dtype.kind == "f" else 0
        if name == "means_low":
            continue
        np.testing.assert_allclose(
            left[name], right[name], rtol=rtol, atol=rtol * scale, err_msg=name
        )


@pytest.fixture
def plain(monkeypatch):
    """Return moments as NumPy alone computes them."""

    def collected(*args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(collect, "SMALL", 10**12)
            return Moments.of(*args, **options)

    return collected


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", STORAGES)
def test_kernels_agree_with_numpy(plain, storage, weighted):
    x, y, w = rows()
    w = w if weighted else None
    assert_close(Moments.of(x, y, w, storage=storage), plain(x, y, w, storage=storage))


INPUTS = {
    "F": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "float32 F": lambda x: np.asfortranarray(x.astype(np.float32)),
    "int32": lambda x: np.rint(10 * x).astype(np.int32),
    "int64": lambda x: np.rint(10 * x).astype(np.int64),
    "columns": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "rows": lambda x: np.repeat(x, 2, axis=0)[::2],
    "swapped": lambda x: x.astype(">f8"),
    "half": lambda x: x.astype(np.float16),
    "bool": lambda x: x > 0,
}
# pooled sums read rows by the same lines as sums per class: they are not compiled for these, too
ELSEWHERE = ("float32 F", "int32", "int64", "bool")
COMPILED_LONG = ("float32 F", "int32", "bool", "columns")  # 3 s of compilation each


def cases():
    for name in INPUTS:
        for storage in STORAGES:
            if storage == "pooled" and name in ELSEWHERE:
                continue
            is_slow = name in COMPILED_LONG and storage != "diagonal"
            yield pytest.param(storage, name, marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.parametrize(("storage", "name"), list(cases()))
def test_any_number_type_and_memory_order_gives_the_same_sums(storage, name):
    x, y, w = rows(n=40_000, d=6)
    given = INPUTS[name](x)
    expected = Moments.of(np.ascontiguousarray(given, np.float64), y, w, storage=storage)
    assert_close(Moments.of(given, y, w, storage=storage), expected)


def test_read_only_rows_are_accepted():
    x, y, _ = rows()
    x.flags.writeable = False
    assert Moments.of(x, y).total_weight == len(x)


@pytest.mark.parametrize("storage", STORAGES)
def test_the_number_of_threads_changes_no_bit(storage):
    x, y, w = rows(n=300_000, d=3)
    one, *others = (
        arrays_of(Moments.of(x, y, w, storage=storage, n_jobs=n)) for n in (1, 2, 16)
    )
    for other in others:
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name], err_msg=name)


def two_pass(x, y, k):
    """Return the covariance of one class in extended precision."""
    z = x[y == k].astype(np.longdouble)
    z = z - z[0]
    z = z - z.mean(0)
    return (z.T @ z) / len(z)


@pytest.mark.parametrize("n", [3_000, 100_000])
@pytest.mark.parametrize("n_chunks", [1, 1000])
def test_a_mean_of_1e8_loses_no_digits(n, n_chunks):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    # correlated by design, so that every entry has a size to be relative to
    x = rng.normal(size=(n, 1)) + rng.normal(size=(n, 3)) + 1e8
    parts = np.array_split(np.arange(n), n_chunks)
    total = sum(Moments.of(x[rows], y[rows]) for rows in parts)
    for k in range(2):
        expected = two_pass(x, y, k)
        found = total.scatters[k] / total.weights[k]
        assert np.max(np.abs(found - expected) / np.abs(expected)) < 1e-12
        exact_mean = (x[y == k] - 1e8).astype(np.longdouble).mean(0)
        assert np.abs((total.means[k] - 1e8) + total.means_low[k] - exact_mean).max() < 1e-14


def test_sorted_drifting_rows_keep_their_digits():
    x, y, _ = rows(n=200_000, d=2)
    x[:, 0] += np.linspace(0, 1e6, len(x))
    expected = two_pass(x, y, 0)
    found = Moments.of(x, y).scatters[0] / np.sum(y == 0)
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-11)


def test_fourth_moments_agree_with_their_definition():
    x, y, w = rows(n=50_000, d=5)
    m = Moments.of(x, y, w)
    z = x[y == 2] - m.means[2]
    expected = (w[y == 2, None] * z**2).T @ z**2
    np.testing.assert_allclose(m.fourth.fourths[2], expected, rtol=1e-10)


def test_many_classes_keep_one_pooled_scatter():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20_000), 2)
    x = rng.normal(size=(40_000, 40))
    m = Moments.of(x, y)
    assert m.storage == "pooled"
    assert m.pooled_scatter.nbytes + m.means.nbytes + m.means_low.nbytes < 20e6
    centred = x - (x[::2] + x[1::2]).repeat(2, axis=0) / 2
    np.testing.assert_allclose(m.pooled_scatter, centred.T @ centred, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_without_weight_take_no_digits_however_far_they_are(storage, order, monkeypatch):
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(1000, 3)), np.repeat([0, 1], 500), rng.random(1000)
    x[:300], w[:300] = 1e20, 0.0
    near = Moments.of(x[300:], y[300:], w[300:], storage=storage)
    monkeypatch.setattr(collect, "SMALL", 0)
    far = Moments.of(np.array(x, order=order), y, w, storage=storage)
    np.testing.assert_allclose(far.means, near.means, atol=1e-14)
    np.testing.assert_allclose(far.scatter.values, near.scatter.values, atol=1e-10)


def test_auto_storage_refuses_a_matrix_beyond_the_limit_and_other_storages_do_not(monkeypatch):
    monkeypatch.setattr(collect, "AFFORDABLE", 10)
    monkeypatch.setattr(collect, "LARGEST_POOLED", 36)
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    with pytest.raises(InvalidParameterError, match=r"7 × 7.*storage='diagonal'"):
        Moments.of(rng.normal(size=(20, 7)), y)
    assert Moments.of(rng.normal(size=(20, 6)), y).storage == "pooled"
    assert Moments.of(rng.normal(size=(20, 7)), y, storage="diagonal").storage == "diagonal"
    assert Moments.of(rng.normal(size=(20, 7)), y, storage="pooled").storage == "pooled"
