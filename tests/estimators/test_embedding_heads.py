"""Embeddings of other kinds of numbers, and steps that do not fit: nothing is lost."""

import ml_dtypes
import numpy as np
import pytest

import suffice as sf
from suffice.errors import InvalidInputError


def embeddings(n_features=420):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.normal(size=(60, n_features)) + rng.normal(size=(3, n_features))[y], y


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int8])
def test_a_head_of_short_numbers_is_that_of_the_same_numbers(dtype):
    X, y = embeddings()
    short = np.round(20 * X).clip(-127, 127).astype(dtype)
    same = short.astype(np.float64)
    head = sf.LDA(shrinkage="auto", temperature="auto").fit(short, y)
    again = sf.LDA(shrinkage="auto", temperature="auto").fit(same, y)
    assert head.settings_.shrinkage == again.settings_.shrinkage
    np.testing.assert_allclose(
        head.predict_proba(short), again.predict_proba(same), atol=1e-12
    )


def test_a_step_with_other_features_is_refused_and_changes_nothing():
    X, y = embeddings()
    head = sf.LDA(shrinkage=0.5).fit(X, y)
    before = head.predict_proba(X)
    with pytest.raises(
        ValueError, match="X has 419 features, but LDA is expecting 420 features"
    ):
        head.partial_fit(X[:, :419], y + 3)
    assert head.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(head.predict_proba(X), before)


def test_a_step_with_a_missing_number_among_many_names_it_and_changes_nothing():
    X, y = embeddings(n_features=2_100)
    head = sf.LDA(shrinkage=0.5).fit(X, y)
    before = head.predict_proba(X)
    damaged = X.copy()
    damaged[7, 123] = np.nan
    with pytest.raises(InvalidInputError, match="NaN: row 7, column 123"):
        head.partial_fit(damaged, y)
    np.testing.assert_array_equal(head.predict_proba(X), before)


def test_fifty_rows_of_a_hundred_thousand_features_have_a_head():
    rng = np.random.default_rng(0)
    y = np.arange(50) % 3
    X = rng.normal(size=(50, 100_000)) + 0.5 * rng.normal(size=(3, 100_000))[y]
    head = sf.LDA(shrinkage="auto", temperature="auto").fit(X[:40], y[:40])
    assert head.score(X[40:], y[40:]) == 1.0
    assert head.moments_.storage == "rows"
