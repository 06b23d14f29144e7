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
    if size < (1e6 if estimator.shrinkage is None else 1e4):
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


@pytest.mark.parametrize("estimator", [QDA(), LDA(), GaussianNB()], ids=str)
def test_rows_that_were_never_added_cannot_be_forgotten(iris, estimator):
    X, y = iris
    fitted = estimator.fit(X, y)
    before = fitted.moments_
    with pytest.raises(ForgetError, match=r"class 'setosa'.*never added"):
        fitted.forget(X[:5] + 1000, y[:5])
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
