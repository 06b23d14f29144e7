"""The one look-up of labels, and rows of any kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import suffice as sf
from suffice.core.table import Table
from suffice.core.table.labels import code_of, codes_of, encode, has_label, label_written
from suffice.core.table.matrix import is_complete, taken
from suffice.errors import InvalidInputError, UnknownLabelError


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (["b", "a"], ["b", "a"], [0, 1]),  # classes in an order of their own
        ([3.0, 1.0], [1, 2, 3], [2, 0]),
        ([True, False], [0, 1], [1, 0]),
        (["1", "2"], [1, 2], [-1, -1]),
        ([None, "a", float("nan")], ["a", "b"], [-1, 0, -1]),
        ([np.nan, 2.0], [1, 2], [-1, 1]),
        (["a"], [], [-1]),
        (np.array([2**62 + 1, 5], np.uint64), np.array([2**62, 2**62 + 1]), [1, -1]),
        (np.array([2**62 + 1, -5]), np.array([2**62, 2**62 + 1], np.uint64), [1, -1]),
    ],
)
def test_labels_are_found_among_the_classes_or_are_none(labels, classes, codes):
    assert codes_of(labels, classes, strict=False).tolist() == codes


@pytest.mark.parametrize("kind", [list, pl.Series, pd.Series, pd.Categorical, pa.array])
def test_a_zero_character_that_numpy_would_drop_is_refused(kind):
    with pytest.raises(InvalidInputError, match=r"row 1 of y is 'a\\x00': NumPy drops zero"):
        encode(kind(["a", "a\0", "b"]))


def test_a_strange_label_is_named_with_its_row():
    with pytest.raises(
        UnknownLabelError, match=r"row 1 has label 'c', which is not one of 'a'"
    ):
        codes_of(["a", "c"], ["a", "b"])


def test_one_label_is_found_or_the_nearest_is_suggested():
    assert code_of(np.str_("b"), ["a", "b"]) == 1
    with pytest.raises(UnknownLabelError, match="did you mean 'setosa'"):
        code_of("setoza", ["setosa", "virginica"])


def test_text_of_a_command_line_names_labels_of_any_type():
    assert label_written("2", np.array([1, 2])) == 2
    with pytest.raises(
        UnknownLabelError, match=r"no class is called 'tow'.*did you mean 'two'"
    ):
        label_written("tow", np.array(["one", "two"]))


FRAME = pl.DataFrame({"x": [1.0, None, float("nan"), 4.0], "t": ["a", "b", "c", None]})


@pytest.mark.parametrize("form", [pl.DataFrame, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_rows_of_a_frame_are_taken_and_judged_alike(form):
    table = form(FRAME)
    assert is_complete(table).tolist() == [True, False, False, False]
    some = taken(table, np.array([3, 0]))
    assert type(some) is type(table)
    assert pl.DataFrame(some)["x"].to_list() == [4.0, 1.0]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (np.array([5, 6, 7]), [7, 5]),
        ([5, 6, 7], [7, 5]),
        (pd.Series([5, 6, 7], index=[2, 1, 0]), [7, 5]),
        (pl.Series([5, 6, 7]), [7, 5]),
        (pa.chunked_array([[5, 6], [7]]), [7, 5]),
    ],
)
def test_labels_of_any_kind_are_taken_by_number(table, expected):
    found = taken(table, np.array([2, 0]))
    values = (
        found if isinstance(found, list) else getattr(found, "to_pylist", found.__iter__)()
    )
    assert list(values) == expected


def test_rows_of_a_sparse_matrix_are_taken():
    matrix = sparse.coo_array(np.eye(3))
    np.testing.assert_array_equal(taken(matrix, np.array([2, 0])).toarray(), np.eye(3)[[2, 0]])
    assert is_complete(matrix).all()


def test_a_table_needs_a_label_for_every_row():
    with pytest.raises(InvalidInputError, match="X has 2 rows but y has 3 labels"):
        Table.of(np.zeros((2, 1)), [0, 1, 0])


def test_whole_numbers_of_pandas_keep_their_digits():
    large = 2**60
    y = pd.Series([large + 1, large] * 4, dtype="Int64")
    x = np.random.default_rng(0).normal(size=(8, 2))
    assert Table.of(x, y).classes.tolist() == [large, large + 1]
    model = sf.LDA().fit(x, y)
    assert model.classes_.dtype.kind == "i"
    assert model.classes_.tolist() == [large, large + 1]


@pytest.mark.parametrize(
    "labels",
    [
        [2**63 + 1, 2**63 + 3, -1],  # NumPy makes floats of these, of which two are one
        [2**53, 2**53 + 1, 1.0],
        np.array([2**53, 2**53 + 1, 1.0], object),
    ],
)
def test_labels_that_floats_cannot_tell_apart_are_refused(labels):
    with pytest.raises(
        InvalidInputError, match=r"beyond 2⁵³, so different labels may be equal: convert"
    ):
        encode(labels)


@pytest.mark.parametrize("dtype", ["string", "boolean", object])
def test_a_label_that_pandas_calls_missing_is_named_by_its_row(dtype):
    labels = pd.Series(
        [True, False, pd.NA] if dtype == "boolean" else ["a", "b", pd.NA], dtype=dtype
    )
    assert has_label(labels).tolist() == [True, True, False]
    with pytest.raises(InvalidInputError, match="row 2 has no label"):
        encode(labels)
