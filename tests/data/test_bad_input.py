"""Input that cannot be used is refused in one line that names the file, the column and the cure."""

import polars as pl
import pytest

from suffice import Columns
from suffice.data.summarize import summarize
from suffice.errors import InvalidInputError

pytestmark = pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")


@pytest.fixture
def file(tmp_path):
    def file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def refused(source, match, **options):
    with pytest.raises(InvalidInputError, match=match) as caught:
        summarize(source, **options)
    assert "\n" not in str(caught.value)


CASES = {
    "empty file": ("", "is empty: it needs a line of column names"),
    "blank file": ("\n\n  \n", "is empty"),
    "header only": ("a,b,t\n", "has columns but no rows"),
    "one column": ("a b t\n1 2 x\n3 4 y\n", "one column only, 'a b t'.*delimiter"),
    "twin columns": ("a,a,t\n1,2,x\n", "two columns called 'a': rename"),
    "binary": (b"\x00\x01\x02,\n" * 20, "not text but binary"),
    "ragged": ("a,t\n1,x\n1,2,3,x\n", "line 3 has 4 fields, but the table has 2 columns"),
    "ragged at once": ("a,t\n1,2,3,x\n", "line 2 has 4 fields.*--skip-rows.*--comment"),
    "ragged evenly": (
        "a,b,t\n1,2,x\n1,2\n3,4,x,5\n",
        "line 4 has 4 fields, but the table has 3 columns.*--delimiter",
    ),
    "ragged evenly and late": (
        "a,b,t\n" + "1,2,x\n1,3,y\n" * 20000 + "1,2\n3,4,x,5\n",
        "line 40,003 has 4 fields, but the table has 3 columns.*--delimiter",
    ),
    "mixed": ("a,b,t\n1,2,x\n2,oops,y\n3,4,x\n", "'b' mixes numbers and text such as 'oops'"),
    "text late": (
        "a,b,t\n" + "1,2,x\n1,3,y\n" * 20000 + "1,oops,x\n",
        "column 'b' holds 'oops' but values of another type in",
    ),
    "nothing to learn": (
        "a,t\nu,x\nu,y\nu,x\n",
        r"no column besides the target.*'a' \(constant\)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_text_file_is_refused(file, case):
    content, match = CASES[case]
    target = {} if case in ("one column", "empty file", "blank file") else {"target": "t"}
    refused(file(content), match, **target)


def test_a_missing_file_is_named(tmp_path):
    refused(tmp_path / "nothing.csv", r"there is no file '.*nothing\.csv'")


def test_a_glob_without_files_is_named(tmp_path):
    refused(f"{tmp_path}/*.parquet", "no file matches .*: check the pattern")


def test_a_folder_without_files_is_refused(tmp_path):
    refused(tmp_path, "no file matches")


@pytest.mark.parametrize("name", ["data.doc", "data.numbers"])
def test_an_unknown_extension_lists_the_known(file, name):
    refused(file("x", name), "names no format that can be read: use CSV")


def test_a_file_of_our_own_is_not_data(file):
    refused(file("x", "m.suffice"), "is a file of suffice, not a table")


def test_an_unknown_column_suggests_the_nearest(file):
    path = file("length,Width,kind\n1,2,x\n3,4,y\n")
    refused(
        path,
        "no column 'widht': did you mean 'Width'",
        target="kind",
        columns=Columns(ignore=["widht"]),
    )
    refused(path, "did you mean 'kind'", target="kinds")
    refused(path, "it has 'length', 'Width', 'kind'", target="zzz")


def test_a_chosen_feature_of_another_type_is_refused():
    data = pl.DataFrame({"a": [1, 2], "b": [[1], [2]], "t": ["x", "y"]})
    refused(data, "'b' must hold numbers, but holds", target="t", columns=["a", "b"])


def test_a_target_of_many_distinct_numbers_looks_like_regression():
    data = pl.DataFrame({"x": range(300), "price": [i * 7 for i in range(300)]})
    refused(data, "300 distinct numbers, .* regression: cut the target .*qcut", target="price")


def test_a_target_of_fractions_looks_like_regression():
    data = pl.DataFrame({"x": range(4), "price": [0.5, 1.5, 0.5, 1.5]})
    refused(data, "2 distinct numbers, .* regression", target="price")


def test_many_classes_with_many_rows_each_are_fine():
    data = pl.DataFrame(
        {"x": [float(i) for i in range(6000)], "t": [i % 300 for i in range(6000)]}
    )
    assert summarize(data, target="t").n_classes == 300


def test_a_target_that_differs_in_every_row_is_an_id():
    data = pl.DataFrame({"x": range(40), "name": [f"n{i}" for i in range(40)]})
    refused(data, "different value in every row, like an id", target="name")


def test_a_target_of_dates_is_refused():
    data = pl.DataFrame({"x": range(3), "t": pl.Series(range(3)).cast(pl.Date)})
    refused(data, "holds Date: convert the labels to text", target="t")


def test_an_empty_target_is_refused():
    data = pl.DataFrame({"x": range(3), "t": [None, None, None]})
    refused(data, "'t' is empty", target="t")


@pytest.mark.parametrize("name", ["data.parquet", "data.feather"])
def test_a_file_that_lies_about_its_format_is_named(file, name):
    refused(
        file("a,b,t\n1,2,x\n", name), f"{name} cannot be read .*its extension names its format"
    )


def test_broken_json_is_named(file):
    refused(file('{"a": 1, "t": "x"}\n{"a": 2, "t":\n', "d.jsonl"), r"d\.jsonl cannot be read")


def test_a_truncated_parquet_file_is_named(file, frame, tmp_path):
    frame.write_parquet(tmp_path / "whole.parquet")
    half = (tmp_path / "whole.parquet").read_bytes()[:2000]
    refused(file(half, "half.parquet"), r"half\.parquet cannot be read")


def test_a_file_with_another_column_is_named(file, tmp_path):
    file("a,b,t\n1,2,x\n", "p1.csv")
    file("a,c,t\n1,2,x\n", "p2.csv")
    refused(f"{tmp_path}/p*.csv", r"p\d\.csv lacks the column '[bc]' that .*p\d\.csv has")


def test_a_file_with_another_type_is_named(file, tmp_path):
    file("a,b,t\n1,2,x\n", "p1.csv")
    file("a,b,t\n1,u,x\n", "p2.csv")
    refused(f"{tmp_path}/p*.csv", r"'b' holds text in .*p2\.csv but numbers in .*p1\.csv")


def test_a_column_that_one_file_leaves_empty_is_no_conflict(file, tmp_path):
    file("a,b,t\n1,,x\n2,,y\n", "p1.csv")
    file("a,b,t\n1,2,x\n3,4,y\n", "p2.csv")
    m = summarize(f"{tmp_path}/p*.csv", target="t")
    assert (m.feature_names, m.counts.tolist()) == (("a", "b"), [2, 2])


def test_something_else_altogether_is_refused():
    refused(3, "cannot read rows from int")


def test_a_pandas_frame_needs_names():
    import pandas as pd

    refused(pd.DataFrame([[1, 2]]), "named by text")


def test_a_label_missing_in_a_pandas_frame_is_a_missing_label():
    import pandas as pd

    data = pd.DataFrame({"x": [1.0, 2.0, 3.0], "t": ["a", None, "b"]})
    assert summarize(data, target="t").counts.tolist() == [1, 1]


def test_labels_with_fractions_in_a_later_file_are_refused(file):
    first, second = ({"x": [1.5, 2.5], "t": labels} for labels in ([1, 2], [1.5, 2.0]))
    paths = [file(b"", f"{i}.parquet") for i in range(2)]
    for path, columns in zip(paths, (first, second), strict=True):
        pl.DataFrame(columns).write_parquet(path)
    refused(paths, r"continuous \(row 2 of y is 1\.5\)", target="t")


def test_weights_that_are_all_zero_are_named(file):
    path = file("a,w,t\n1,0,x\n2,0,y\n")
    refused(
        path, "has no row that can be used: each lacks .* a weight", target="t", weight="w"
    )


def test_a_label_that_ends_in_nothing_is_no_second_class_of_that_name():
    frame = pl.DataFrame({"x": range(6), "y": ["a", "a\0", "b"] * 2})
    with pytest.raises(InvalidInputError, match=r"label 'a\\x00' ends in a null character"):
        summarize(frame, "y")


def test_a_word_among_truth_values_far_down_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,t,y\n" + "1,true,a\n2,false,b\n" * 6000 + "1,yes,a\n")
    with pytest.raises(InvalidInputError, match="column 't' holds 'yes' but values"):
        summarize(path, "y")


def test_digits_of_other_scripts_are_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "١٢,a\n٣,b\n" * 20)
    assert summarize(path, "y").feature_names == ("x=١٢", "x=٣")
