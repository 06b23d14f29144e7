"""Embeddings of other kinds of numbers, and steps that do not fit: nothing is lost."""

import warnings

import ml_dtypes
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import suffice as sf
from suffice.errors import DegenerateDataWarning, InvalidInputError


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


HEADS = (
    sf.LDA(),
    sf.LDA(shrinkage=0.5),
    sf.LDA(shrinkage="auto", temperature="auto"),
    sf.RDA(pooling=0.5, shrinkage=0.5),
    sf.LogisticRegression(),
    sf.LogisticRegression(l2="auto"),
)


@pytest.mark.parametrize("head", HEADS, ids=repr)
def test_identical_rows_have_the_posterior_of_the_class_frequencies(head):
    X = np.ones((12, 420))
    y = np.repeat([0, 1, 2], [6, 4, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        posterior = clone(head).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(posterior.argmax(1), 0)
    np.testing.assert_allclose(posterior, posterior[:1].repeat(12, 0))


@pytest.mark.parametrize("head", HEADS, ids=repr)
def test_a_class_of_one_row_is_learnt(head):
    X, y = embeddings()
    y = np.where(np.arange(60) == 7, 3, y)
    X[7] += 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        fitted = clone(head).fit(X, y)
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert fitted.predict(X[7:8]).tolist() == [3]


def test_classes_learnt_one_after_another_equal_those_learnt_together():
    X, y = embeddings()
    head = sf.LDA(shrinkage=0.1)
    for label in range(3):
        head.partial_fit(X[y == label], y[y == label])
    jointly = sf.LDA(shrinkage=0.1).fit(X, y)
    new = X + 0.1
    np.testing.assert_allclose(
        head.predict_proba(new), jointly.predict_proba(new), rtol=0, atol=1e-12
    )


def test_rows_of_a_mapped_file_are_those_in_memory(tmp_path):
    X, y = embeddings()
    np.save(tmp_path / "rows.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for head in (sf.LDA(shrinkage=0.5), sf.LogisticRegression()):
        from_file = clone(head).fit(mapped, y).predict_proba(mapped)
        in_memory = clone(head).fit(np.array(mapped), y).predict_proba(np.array(mapped))
        np.testing.assert_array_equal(from_file, in_memory)


def test_rows_of_a_parquet_file_give_the_sums_of_those_in_memory(tmp_path):
    X, y = embeddings()
    names = [f"e{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(label=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    moments = sf.summarize(tmp_path / "rows.parquet", target="label")
    head = sf.LDA(shrinkage=0.5).fit_moments(moments)
    in_memory = sf.LDA(shrinkage=0.5).fit(frame[names], y)
    a, b = head.predict_proba(frame[names]), in_memory.predict_proba(frame[names])
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
