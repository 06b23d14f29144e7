"""Mixed tables: what each column is, levels and their codes, whatever library holds the frame."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from suffice.core.table import Table
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.matrix import is_mixed
from suffice.core.table.mixed import read
from suffice.core.table.schema import Category, LeftOut, Number, Schema
from suffice.errors import (
    FeatureMismatchError,
    FileFormatError,
    InvalidInputError,
    SufficeWarning,
)

FRAME = pd.DataFrame(
    {
        "age": [30.0, np.nan, 50.0, 41.0],
        "sex": ["f", "m", None, "f"],
        "old": [False, True, True, False],
        "n": [1, 2, 3, 2],
    }
)


def frames():
    yield "pandas", FRAME
    yield "polars", pl.DataFrame(FRAME)
    yield "arrow", pl.DataFrame(FRAME).to_arrow()
    yield "category", FRAME.astype({"sex": "category", "n": "Int64"})
    yield "objects", FRAME.astype(object)
    yield "polars categories", pl.DataFrame(FRAME).cast({"sex": pl.Categorical})
    yield "enum", pl.DataFrame(FRAME).cast({"sex": pl.Enum(["m", "f", "x"])})


@pytest.mark.parametrize("frame", [pytest.param(f, id=name) for name, f in frames()])
def test_every_library_gives_the_same_schema_and_codes(frame):
    assert is_mixed(frame)
    schema, x, codes = read(frame)
    assert schema.columns == (
        Number("age"),
        Category("sex", ("f", "m"), missing=True),
        Category("old", ("False", "True")),
        Number("n"),
    )
    np.testing.assert_array_equal(x, [[30, 1], [np.nan, 2], [50, 3], [41, 2]])
    np.testing.assert_array_equal(codes, [[0, 0], [1, 1], [2, 1], [0, 0]])


def test_plain_numbers_are_not_mixed():
    for plain in (np.eye(2), pd.DataFrame(np.eye(2)), pl.DataFrame(np.eye(2)), [[1.0]]):
        assert not is_mixed(plain)
    assert not is_mixed(FRAME[["age", "n"]])


def test_numbers_named_as_categories_are_levels_in_any_spelling():
    ints, floats = ({"c": np.array([1, 2, 2], kind)} for kind in (np.int64, np.float64))
    for made in (pd.DataFrame(ints), pd.DataFrame(floats), pl.DataFrame(floats)):
        assert read(made, categorical=["c"]).schema.columns == (Category("c", ("1", "2")),)
    assert read(np.array([[0.5, 1], [2, 3]]), categorical=[1]).schema.names == ("x0", "x1")
    with pytest.raises(FeatureMismatchError, match="'d', but the columns are 'c'"):
        read(pd.DataFrame(ints), categorical=["d"])


def test_an_unknown_level_and_an_unknown_gap_leave_the_indicators_open():
    schema = Schema((Number("age"), Category("sex", ("f", "m"))))
    _, x, codes = read(pd.DataFrame({"age": [1.0, 2.0], "sex": ["x", None]}), schema)
    assert codes.tolist() == [[-1], [-1]]
    rows = Encoding(schema, (0,)).rows(x, codes)
    np.testing.assert_array_equal(rows, [[1, np.nan], [2, np.nan]])


def test_many_levels_become_the_most_frequent_and_other():
    text = [f"l{i % 60:02}" for i in range(600)] + ["l07"] * 5
    with pytest.warns(SufficeWarning, match="60 levels: the 39 most frequent"):
        category = read(pd.DataFrame({"c": text})).schema.columns[0]
    assert category.other
    assert len(category.levels) == 39
    assert "l07" in category.levels
    codes = category.codes_of(["l07", "l59", "new"], np.array([0, 1, 2, -1]))
    assert codes.tolist() == [category.levels.index("l07"), 39, 39, -1]


def test_free_text_is_left_out_and_named():
    with pytest.warns(SufficeWarning, match="'note' is left out: nearly all"):
        schema = read(pd.DataFrame({"note": [f"t{i}" for i in range(100)], "x": 1.0})).schema
    assert isinstance(schema.columns[0], LeftOut)
    assert schema.feature_names == ("x",)


def test_levels_that_differ_by_blanks_or_case_are_pointed_out():
    with pytest.warns(SufficeWarning, match="'Yes' and 'yes ' differ only by blanks or case"):
        read(pd.DataFrame({"c": ["Yes", "yes ", "no"]}))


def test_dates_are_days():
    dates = pd.to_datetime(["1970-01-02 00:00", None, "2000-01-01 12:00"])
    for made in (
        pd.DataFrame({"d": dates, "c": "a"}),
        pl.DataFrame({"d": dates, "c": ["a"] * 3}),
    ):
        with pytest.warns(SufficeWarning, match="'d' holds dates"):
            x = read(made).x
        np.testing.assert_allclose(x[:, 0], [1, np.nan, 10957.5])


def test_dates_far_away_and_of_time_zones_are_days_too():
    days = np.array(["9999-12-31", "0001-01-01", "NaT"], "datetime64[s]")
    expected = np.where(np.isnat(days), np.nan, days.astype("datetime64[D]").astype(float))
    far = pd.DataFrame({"d": days, "c": "a"})
    local = pd.DataFrame(
        {"d": pd.to_datetime(["1970-01-02 01:00"]).tz_localize("Europe/Berlin")}
    )
    for made, known in ((far, expected), (pl.DataFrame(far), expected), (local, [1.0])):
        with pytest.warns(SufficeWarning, match="'d' holds dates"):
            np.testing.assert_array_equal(read(made).x[:, 0], known)


def test_decimals_of_a_database_are_numbers():
    prices = [Decimal("1.25"), None, Decimal("-3")]
    schema, x, _ = read(pd.DataFrame({"p": pd.Series(prices, dtype=object), "c": list("aba")}))
    assert schema.columns[0] == Number("p")
    np.testing.assert_array_equal(x[:, 0], [1.25, np.nan, -3])


def test_durations_are_days_in_whatever_unit_they_are_kept():
    waits = pd.to_timedelta(["1 days", None, "36 h"])
    made = [pd.DataFrame({"w": waits.as_unit(unit), "c": "a"}) for unit in ("s", "ns")]
    kept = pl.DataFrame({"w": waits, "c": ["a"] * 3})
    made += [kept, kept.with_columns(pl.col("w").cast(pl.Duration("ms")))]
    for frame in made:
        with pytest.warns(SufficeWarning, match="'w' holds durations: they count as days"):
            x = read(frame).x
        np.testing.assert_allclose(x[:, 0], [1, np.nan, 1.5])


def test_text_where_the_model_knows_numbers_is_refused_by_row():
    schema = Schema((Number("age"), Category("c", ("a",))))
    with pytest.raises(InvalidInputError, match=r"'age' held numbers .*row 1 holds 'old'"):
        read(pd.DataFrame({"age": [1.0, "old"], "c": ["a", "a"]}), schema)
    with pytest.raises(FeatureMismatchError, match="lacks the column 'c'"):
        read(pd.DataFrame({"age": [1.0]}), schema)


def test_filled_numbers_have_an_indicator():
    schema, x, codes = read(FRAME, missing="indicator")
    assert schema.numbers[0].fill == pytest.approx(121 / 3)
    assert x[1, 0] == schema.numbers[0].fill
    assert codes[:, 0].tolist() == [-1, 0, -1, -1]
    assert schema.feature_names[2] == "age missing"


def test_columns_come_back_from_encoded_rows():
    table = Table.of(FRAME, [0, 1, 0, 1], missing="indicator")
    encoded, encoding = table.encoded()
    back = pd.DataFrame(encoding.columns(encoded.x))
    assert back["sex"].fillna("").tolist() == ["f", "m", "", "f"]
    assert back["old"].tolist() == ["False", "True", "True", "False"]
    np.testing.assert_array_equal(back["age"], FRAME["age"])
    assert list(back) == list(FRAME)


def test_a_schema_survives_json_and_refuses_nonsense():
    schema = read(FRAME, missing="indicator").schema
    assert Schema.from_json(schema.to_json()) == schema
    encoding = Encoding(schema, (1, 0))
    assert Encoding.from_json(encoding.to_json()) == encoding
    for bad in ([{"kind": "word", "name": "a"}], [{"kind": "number", "name": 3}], 7):
        with pytest.raises(FileFormatError, match="schema"):
            Schema.from_json(bad)
    with pytest.raises(FileFormatError, match="reference"):
        Encoding.from_json({"columns": schema.to_json(), "reference": [5, 0]})


def test_kinds_that_differ_between_sides_are_refused_by_column():
    a, b = Schema((Number("c"),)), Schema((Category("c", ("1",)),))
    with pytest.raises(FeatureMismatchError, match="'c' is a number on one side"):
        a.merged(b)
    with pytest.raises(FeatureMismatchError, match="only one side has the column 'c', 'd'"):
        a.merged(Schema((Number("d"),)))


def moments(x):
    return sf.Moments.of(x, np.arange(len(x)) % 2)


DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i * i) for i in range(8)]
SPANS = [datetime.timedelta(hours=6 * i) for i in range(8)]


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (DAYS, 18262),
        ([datetime.datetime.combine(day, datetime.time(12)) for day in DAYS], 18262.5),
        (SPANS, 0.0),
        ([datetime.time(3 * i) for i in range(8)], 0.0),
    ],
)
def test_dates_and_times_in_boxes_are_those_of_polars(values, first):
    with pytest.warns(SufficeWarning, match="'c' holds"):
        theirs = moments(pl.DataFrame({"c": values}))
    for gap in (values, [*values[:-1], None]):
        boxed = pd.DataFrame({"c": pd.Series(gap, dtype=object)})
        with pytest.warns(SufficeWarning, match="'c' holds"):
            ours = moments(boxed)
        assert ours.schema == theirs.schema
        np.testing.assert_allclose(ours.means[0], theirs.means[0], rtol=1e-12)
    assert theirs.means[0] >= first


def test_a_date_that_is_called_a_category_is_one():
    frame = pl.DataFrame({"c": DAYS[:2] * 4, "x": np.arange(8.0)})
    for table in (frame, frame.to_pandas(), frame.to_pandas(use_pyarrow_extension_array=True)):
        (category,) = sf.Moments.of(table, [0, 1] * 4, categorical=["c"]).schema.categories
        assert category.levels == ("2020-01-01", "2020-01-02")


def test_numbers_of_any_type_make_the_same_levels():
    values = [Decimal("0.50"), Decimal("2.00")] * 4
    frames = [pl.DataFrame({"c": values}), pl.DataFrame({"c": list(map(float, values))})]
    named = [sf.Moments.of(f, [0, 1] * 4, categorical=["c"]).feature_names for f in frames]
    assert named == [("c=0.5", "c=2")] * 2


def test_a_category_that_was_named_is_not_left_out_for_its_many_levels():
    with pytest.warns(SufficeWarning, match="the 39 most frequent are kept"):
        m = sf.Moments.of(pl.DataFrame({"c": range(60)}), [0, 1] * 30, categorical=["c"])
    assert m.schema.categories[0].other


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64[pyarrow]"])
def test_numbers_of_pandas_that_lack_some_are_numbers_with_gaps(dtype):
    x = pd.DataFrame({"a": pd.Series([1, 2, None, 4], dtype=dtype), "b": [1.0, 3.0, 5.0, 8.0]})
    theirs = moments(np.array([[1, 1], [2, 3], [np.nan, 5], [4, 8]]))
    assert moments(x).counts.tolist() == [2, 2]
    np.testing.assert_array_equal(moments(x).means, theirs.means)


def test_a_dictionary_of_numbers_is_a_category_in_arrow_too():
    x = pa.table({"c": pa.array([3, 1, 3, 1]).dictionary_encode(), "x": [1.0, 2.0, 4.0, 8.0]})
    labelled = x.append_column("y", pa.array([0, 1] * 2))
    for table in (x, x.to_pandas(), x.to_pandas(types_mapper=pd.ArrowDtype)):
        assert moments(table).feature_names == ("x", "c=1", "c=3")
    for table in (
        labelled,
        labelled.to_pandas(),
        labelled.to_pandas(types_mapper=pd.ArrowDtype),
    ):
        assert sf.summarize(table, "y").feature_names == ("x", "c=1", "c=3")


def test_a_category_of_dates_or_intervals_is_one_in_streams_too():
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 4)).astype("category")
    cuts = pd.cut(pd.Series(np.arange(8.0)), [-1, 3, 9])
    x = pd.DataFrame({"day": days, "cut": cuts, "x": np.arange(8.0) ** 2})
    ours = sf.summarize(x.assign(y=["u", "u", "v", "v"] * 2), "y")
    assert ours.schema == sf.Moments.of(x, ["u", "u", "v", "v"] * 2).schema
    assert ours.feature_names[1:3] == ("day=2020-01-01", "day=2020-01-02")


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA])
def test_any_empty_cell_of_an_array_of_objects_is_one(empty):
    x = np.array([[1, "a"], [2.5, empty], [empty, "c"], [4, "a"]], dtype=object)
    for m in (moments(x), sf.summarize(x, [0, 1, 0, 1])):
        assert m.schema.names == ("x0", "x1")
        assert m.feature_names == ("x0", "x1=a", "x1=c", "x1=(missing)")


@pytest.mark.parametrize("column", [[[1], [2]], [{"a": 1}, {"a": 2}]])
def test_a_column_of_neither_numbers_nor_levels_is_named(column):
    x = pa.table({"c": pa.array(column), "x": [1.0, 2.0]})
    for table in (x, x.to_pandas(types_mapper=pd.ArrowDtype)):
        with pytest.raises(InvalidInputError, match="column 'c' holds"):
            moments(table)
