"""Many text labels become codes, with the same checks as few."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import suffice as sf
from suffice.core.table.labels import codes_of, encode, has_label
from suffice.core.table.text_labels import EncodedLabels, encoded_text
from suffice.errors import InvalidInputError, UnknownLabelError, UnusedDataWarning

N = 60_000
NAMES = np.array(["setosa", "", "a", "Ωμέγα", "virginica"])
CODES = np.random.default_rng(0).integers(0, len(NAMES), N)
TEXT = NAMES[CODES]


def shared_objects(text):
    """Return texts as objects of which equal ones are mostly the same object."""
    pool = np.concatenate([NAMES.astype(object), NAMES.astype(object)])
    return pool[CODES + len(NAMES) * (np.arange(N) % 2)]


FORMS = {
    "fixed width": lambda text: text,
    "fixed width, strided": lambda text: np.repeat(text, 2)[::2],
    "own objects": lambda text: text.astype(object),
    "shared objects": shared_objects,
    "pandas objects": lambda text: pd.Series(shared_objects(text), dtype=object),
    "pandas text": lambda text: pd.Series(text, dtype="str"),
    "pandas categories": lambda text: pd.Series(text).astype("category"),
    "pandas index": lambda text: pd.Index(text),
    "polars": lambda text: pl.Series(text),
    "polars categories": lambda text: pl.Series(text).cast(pl.Categorical),
    "arrow": lambda text: pl.Series(text).to_arrow(),
    "chunked arrow": lambda text: pl.DataFrame({"y": text}).to_arrow()["y"],
}


@pytest.mark.parametrize("form", FORMS)
def test_many_texts_have_the_codes_of_sorted_distinct_texts(form):
    classes, codes = encode(FORMS[form](TEXT))
    assert classes.dtype == NAMES.dtype
    assert classes.tolist() == sorted(NAMES.tolist())
    np.testing.assert_array_equal(classes[codes], TEXT)


@pytest.mark.parametrize("form", [name for name in FORMS if "fixed" not in name])
def test_encoded_labels_are_the_labels_again_as_an_array(form):
    text = encoded_text(FORMS[form](TEXT))
    assert text is not None
    np.testing.assert_array_equal(np.asarray(text), TEXT)


def test_categories_that_no_row_has_are_no_classes():
    few = pl.Series(TEXT).cast(pl.Enum([*NAMES.tolist(), "unseen"]))
    assert encode(few)[0].tolist() == sorted(NAMES.tolist())
    of_pandas = pd.Categorical(TEXT, categories=[*NAMES.tolist(), "unseen"])
    assert encode(pd.Series(of_pandas))[0].tolist() == sorted(NAMES.tolist())


def test_as_many_objects_as_rows_are_numbered_by_what_they_say():
    text = np.array([f"label {i % 40_000}" for i in range(N)])
    for y in (text, text.astype(object)):
        classes, codes = encode(y)
        assert len(classes) == 40_000
        np.testing.assert_array_equal(classes[codes], text)


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, pd.NaT])
def test_rows_without_a_label_are_found_among_many_texts(empty):
    y = shared_objects(TEXT)
    y[[3, 70, N - 1]] = empty
    np.testing.assert_array_equal(np.flatnonzero(~has_label(y)), [3, 70, N - 1])
    np.testing.assert_array_equal(
        np.flatnonzero(~has_label(pd.Series(y, dtype="str"))), [3, 70, N - 1]
    )
    with pytest.raises(InvalidInputError, match="row 3 has no label"):
        encode(y)


def test_fit_leaves_out_the_rows_without_a_label_and_says_so():
    x = np.random.default_rng(1).normal(size=(N, 2))
    y = pd.Series(TEXT, dtype="str")
    y[:10] = None
    with pytest.warns(UnusedDataWarning, match="10 of 60,000 rows have no label"):
        fitted = sf.LDA().fit(x, y)
    np.testing.assert_array_equal(fitted.means_, sf.LDA().fit(x[10:], TEXT[10:]).means_)


def test_a_zero_character_at_the_end_is_refused_by_row():
    y = shared_objects(TEXT)
    y[7] = "a\0"
    with pytest.raises(InvalidInputError, match=r"row 7 of y is 'a\\x00'"):
        encode(y)


@pytest.mark.parametrize("stranger", [1, 2.5, True, (1,), b"a"])
def test_text_mixed_with_anything_else_is_refused(stranger):
    y = shared_objects(TEXT)
    y[5] = stranger
    with pytest.raises(InvalidInputError, match="Unknown label type: y mixes"):
        encode(y)


def test_objects_that_are_numbers_stay_numbers():
    classes, codes = encode(CODES.astype(object))
    np.testing.assert_array_equal(classes, np.arange(5))
    np.testing.assert_array_equal(codes, CODES)
    assert classes.dtype.kind == "i"


def test_only_rows_without_a_label_are_not_text():
    assert encoded_text(np.full(N, None)) is None
    assert encoded_text(shared_objects(TEXT)[:100]) is None


def test_many_texts_are_looked_up_among_the_classes():
    y = shared_objects(TEXT)
    expected = np.where(TEXT == "a", 0, np.where(TEXT == "setosa", 1, -1))
    y[11] = None
    expected[11] = -1
    np.testing.assert_array_equal(codes_of(y, ["a", "setosa"], strict=False), expected)
    with pytest.raises(UnknownLabelError, match="row 11 has label None"):
        codes_of(y, NAMES)


def test_encoded_labels_without_some_rows_hold_none_there():
    labels = EncodedLabels(np.array(["a", "b"]), np.array([1, -1, 0]))
    assert np.asarray(labels).tolist() == ["b", None, "a"]
    assert labels.shape == (3,)
