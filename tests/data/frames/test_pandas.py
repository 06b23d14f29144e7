"""Tables of other libraries become polars frames, without pyarrow where none is installed."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pytest

import suffice as sf
from suffice.data.frames.tables import as_frame
from suffice.errors import InvalidInputError

COLUMNS = {
    "float": [1.5, np.nan, 3.0],
    "float32": np.array([1.5, np.nan, 3.0], np.float32),
    "int": [1, 2, 3],
    "uint8": np.array([1, 2, 3], np.uint8),
    "bool": [True, False, True],
    "text": ["a", None, "c"],
    "objects": pd.Series(["a", None, "c"], dtype=object),
    "times": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
    "nullable int": pd.array([1, None, 3], dtype="Int64"),
    "nullable float": pd.array([1.5, None, 3.0], dtype="Float64"),
    "nullable bool": pd.array([True, None, False], dtype="boolean"),
    "python text": pd.array(["a", None, "c"], dtype=pd.StringDtype("python")),
    "arrow text": pd.array(["a", None, "c"], dtype=pd.StringDtype("pyarrow")),
    "arrow int": pd.array([1, None, 3], dtype="int64[pyarrow]"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_pandas_column_is_read_as_polars_itself_reads_it_with_pyarrow(name):
    frame = pd.DataFrame({name: COLUMNS[name]})
    polars.testing.assert_frame_equal(as_frame(frame), pl.from_pandas(frame))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", None, "a"], ["b", None, "a"]),
        ([2, None, 1], [2, None, 1]),
        ([True, False], None),
    ],
)
def test_categories_are_read_as_their_values(values, expected):
    frame = as_frame(pd.DataFrame({"c": pd.Categorical(values)}))
    assert frame["c"].to_list() == (expected or values)


def test_a_column_without_values_is_empty_rather_than_text():
    frame = pd.DataFrame({"x": pd.Series([None, None], dtype=object)})
    assert as_frame(frame).schema == {"x": pl.Null}


def test_a_column_of_several_types_is_refused_with_the_cure():
    with pytest.raises(InvalidInputError, match="give each column values of one type"):
        as_frame(pd.DataFrame({"x": pd.Series([1, "a", 2.5], dtype=object)}))


def test_an_index_that_is_not_counted_from_zero_changes_nothing():
    frame = pd.DataFrame({"x": [1.0, 2.0], "c": pd.Categorical(["u", "v"])}, index=[7, 3])
    assert as_frame(frame).rows() == [(1.0, "u"), (2.0, "v")]


@pytest.mark.slow
def test_pandas_frames_are_summed_without_pyarrow(tmp_path):
    iris = sf.datasets.load("iris").frame()
    path = tmp_path / "iris.csv"
    iris.write_csv(path)
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas as pd, suffice as sf\n"
        f"frame = pd.read_csv({str(path)!r})\n"
        "frame['species'] = frame['species'].astype('category')\n"
        "print(sf.summarize(frame, 'species').counts.tolist())\n"
        "print(sf.LDA().fit(frame.drop(columns='species'), frame['species']).classes_.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.splitlines() == ["[50, 50, 50]", str(sorted(set(iris["species"])))], (
        done.stderr
    )


@pytest.mark.parametrize("source", [lambda x, y: (x, y), lambda x, y: ([(x, y)],)])
def test_labels_beyond_the_signed_whole_numbers_stay_as_they_are(source):
    x, y = np.arange(6.0)[:, None], np.array([2**63 + 1, 2**63 + 3, 5] * 2, np.uint64)
    m = sf.summarize(*source(x, y))
    assert (
        m.classes.tolist() == sf.Moments.of(x, y).classes.tolist() == sorted(set(y.tolist()))
    )
    assert m.counts.tolist() == [2, 2, 2]
