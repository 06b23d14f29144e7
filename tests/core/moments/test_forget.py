"""Forgetting gives the model of the other rows, or says that it cannot."""

import numpy as np
import pytest

import suffice as sf
from suffice import LDA, QDA, GaussianNB, Moments
from suffice.errors import ForgetError

ESTIMATORS = [QDA(), LDA(), GaussianNB(), QDA(shrinkage="ledoit-wolf")]


def outlier(X, size):
    """Return a row so many standard deviations from the mean, with signs of its own."""
    return (X.mean(0) + size * X.std(0) * [1.0, -1.0, 1.0, 1.0])[None]


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4, 1e6, 1e8, 1e9, 1e12])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_gross_outlier_is_forgotten_or_the_digits_left_are_told(iris, estimator, size):
    X, y = iris
    never = estimator.fit(X, y).predict_proba(X)
    far = outlier(X, size)
    estimator.partial_fit(far, y[60:61])
    if size < (1e6 if estimator.settings().shrinkage is None else 1e4):
        np.testing.assert_allclose(
            estimator.forget(far, y[60:61]).predict_proba(X), never, atol=1e-7
        )
        return
    with pytest.raises(ForgetError, match=r"exactly.* digits .*fit again without"):
        estimator.forget(far, y[60:61])


def test_what_one_outlier_lost_is_remembered_when_the_next_is_forgotten(iris, tmp_path):
    X, y = iris
    sums, near, far = Moments.of(X, y), outlier(X, 1e4), outlier(X, 1e8)
    whole = sums + Moments.of(far, y[:1]) + Moments.of(near, y[:1])
    with pytest.raises(ForgetError, match="digits"):
        whole - Moments.of(far, y[:1]) - Moments.of(near, y[:1])
    less = whole - Moments.of(far, y[:1])
    less.save(tmp_path / "less.moments")
    kept = sf.load(tmp_path / "less.moments")
    for each in (less, kept, less.select([2, 1]), less + sums):
        near_too = Moments.of(near, y[:1]) if each.n_features == 4 else None
        part = near_too or Moments.of(near, y[:1]).select([2, 1])
        with pytest.raises(ForgetError, match="digits"):
            each - part


def test_a_single_row_that_would_be_left_has_no_variance():
    added = Moments.of([[1.0], [2.0], [6.0]], ["a"] * 3)
    with pytest.raises(
        ForgetError, match=r"at most 1 value in column 0 of class 'a' would be"
    ):
        added - Moments.of([[2.5], [2.6]], ["a"] * 2)


@pytest.mark.parametrize("estimator", [QDA(), LDA(), GaussianNB()], ids=str)
def test_rows_that_were_never_added_cannot_be_forgotten(iris, estimator):
    X, y = iris
    fitted = estimator.fit(X, y)
    before = fitted.moments_
    variance = r"without them, the variance in column 0 of class 'setosa' would be negative"
    for shift in (10, 1000):
        with pytest.raises(
            ForgetError, match=rf"{variance}, so some of these rows were never"
        ):
            fitted.forget(X[:5] + shift, y[:5])
    assert fitted.moments_ is before
    pooled = Moments.of(X, y, storage="pooled")
    with pytest.raises(ForgetError, match="never added"):
        pooled - Moments.of(X[:5] + 1000, y[:5], storage="pooled")


@pytest.mark.parametrize("storage", ["per-class", "diagonal"])
def test_a_column_that_becomes_constant_is_exactly_constant(storage):
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=60), np.arange(60) == 7, np.arange(60) % 20 == 7]
    y = np.repeat([0, 1, 2], 20)
    rest = Moments.of(X, y, storage=storage) - Moments.of(X[7:8], y[7:8], storage=storage)
    never = Moments.of(np.delete(X, 7, 0), np.delete(y, 7), storage=storage)
    # the flag of row 7 alone is constant everywhere now, the other one in its class
    assert rest.diagonals[:, 1].tolist() == [0, 0, 0]
    assert rest.diagonals[0, 2] == 0
    np.testing.assert_allclose(rest.diagonals, never.diagonals, rtol=1e-12)


def test_a_class_of_one_row_left_has_no_scatter():
    x = np.array([[0.1], [0.7], [123.4], [5.0]])
    rest = Moments.of(x, list("aaab")) - Moments.of(x[:2], list("aa"))
    assert rest.scatters.ravel().tolist() == [0.0, 0.0]


def test_a_window_that_slides_for_long_is_the_model_of_its_rows():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(350, 3)) * [1, 1e6, 1e-6], rng.integers(0, 2, 350)
    window = Moments.of(X[:50], y[:50])
    for i in range(300):
        new, old = slice(i + 50, i + 51), slice(i, i + 1)
        window = window + Moments.of(X[new], y[new]) - Moments.of(X[old], y[old])
    never = Moments.of(X[-50:], y[-50:])
    scale = np.sqrt(never.diagonals)
    unit = scale[:, :, None] * scale[:, None, :]
    np.testing.assert_allclose(window.scatters / unit, never.scatters / unit, atol=1e-11)


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_sums_with_empty_cells_are_as_careful(iris, storage, tmp_path):
    X, y = iris[0].copy(), iris[1]
    X[::3, 1] = np.nan
    sums = Moments.of(X, y, storage=storage)
    never, far = (Moments.of(X[1:2] + by, y[1:2], storage=storage) for by in (1000, 1e9))
    with pytest.raises(ForgetError, match=r"in column 0.*never added"):
        sums - never
    with pytest.raises(
        ForgetError, match=r"exactly.*in column 0.* digits .*fit again without"
    ):
        (sums + far) - far
    near, farther = (Moments.of(X[1:2] + by, y[1:2], storage=storage) for by in (3e3, 3e5))
    less = sums + near + farther - farther
    less.save(tmp_path / "less.moments")
    for each in (less, sf.load(tmp_path / "less.moments")):
        with pytest.raises(ForgetError, match="digits"):
            each - near


@pytest.mark.parametrize("storage", ["per-class", "diagonal"])
def test_a_column_with_empty_cells_that_becomes_constant_is_exactly_constant(storage):
    rng = np.random.default_rng(0)
    X, y = np.c_[rng.normal(size=60), np.arange(60) == 7], np.repeat([0, 1], 30)
    X[::4, 0] = np.nan
    parts = [Moments.of(X[at], y[at], storage=storage) for at in (slice(None), slice(7, 8))]
    rest = parts[0] - parts[1]
    assert rest.scatter.pooled_diagonal()[1] == 0
    again = Moments.of(np.delete(X, 7, 0), np.delete(y, 7), storage=storage)
    np.testing.assert_allclose(rest.scatter.values, again.scatter.values, atol=1e-12)


def test_weights_beside_which_the_others_vanish_are_not_forgotten():
    x, y, w = np.array([[0.0], [1.0], [5.0], [1.0], [7.0]]), list("aaaab"), [1, 1, 1, 1e20, 1]
    sums, heavy = Moments.of(x, y, w), Moments.of(x[3:4], y[3:4], w[3:4])
    with pytest.raises(ForgetError, match=r"weight of class 'a' was 1e\+20.*digits left"):
        sums - heavy
    assert (sums - Moments.of(x[:3], y[:3])).weights.tolist() == [1e20, 1]


# with 1, the forgotten rows are all complete rows of their class
@pytest.mark.parametrize("step", [1, 2])
def test_classes_forgotten_from_pooled_sums_with_empty_cells_leave_the_scatter_of_others(step):
    rng = np.random.default_rng(0)
    X, H, y = (
        rng.normal(size=(50, 2)),
        rng.normal(size=(20, 2)),
        np.repeat(["a", "b"], [30, 20]),
    )
    H[::step, 0], labels = np.nan, np.repeat(["a", "b"], 10)

    def sums(x, y):
        return Moments.of(x, y, storage="pooled", classes=["a", "b"])

    whole = sums(X, y) + sums(H, labels)
    at_once = sums(np.concatenate([X, H]), np.concatenate([y, labels]))
    np.testing.assert_allclose(whole.pooled_scatter, at_once.pooled_scatter, rtol=1e-12)
    never = sums(X[30:], y[30:]) + sums(H, labels)
    rest = whole - sums(X[:30], y[:30])
    np.testing.assert_allclose(rest.pooled_scatter, never.pooled_scatter, rtol=1e-12)
    np.testing.assert_allclose(
        (whole - sums(X[10:40], y[10:40])).pooled_scatter,
        (sums(X[:10], y[:10]) + sums(X[40:], y[40:]) + sums(H, labels)).pooled_scatter,
        rtol=1e-12,
    )
