"""What only some engines hold: odd types beside the columns asked for, NaN, tiny products."""

import datetime

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, UnusedDataWarning

FAR = (datetime.date(2600, 1, 1) - datetime.date(1970, 1, 1)).days
EXOTIC = {
    "money": "'$1.50'::money",
    "point": "point(1, 2)",
    "forever": "CASE i % 2 WHEN 0 THEN 'infinity' ELSE '-infinity' END::timestamp",
    "zoned": "'infinity'::timestamptz",
    "day": "'infinity'::date",
    "span": "int4range(1, i + 1)",
    "document": "('{\"a\": ' || i || '}')::json",
    "several": "ARRAY[i, NULL]",
    "address": "'10.0.0.1'::inet",
    "bytes": "'\\xdead'::bytea",
}


def made(postgres, columns):
    """Return a table of 60 rows with these expressions beside x, z and the label."""
    postgres.con.execute("DROP TABLE IF EXISTS odd")
    rows = "i::float8 AS x, (i * i % 7)::float8 AS z, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END AS t"
    postgres.con.execute(
        f"CREATE TABLE odd AS SELECT {rows}, {columns} FROM generate_series(1, 60) i"
    )
    return postgres.table("odd")


@pytest.mark.parametrize("method", ["local", "database"])
def test_columns_of_any_type_may_stand_beside_those_asked_for(postgres, method):
    table = made(postgres, ", ".join(f"{value} AS {name}" for name, value in EXOTIC.items()))
    ours = sf.summarize(table, "t", columns=["x", "z"], on=method)
    i = np.arange(1.0, 61)
    frame = pl.DataFrame({"x": i, "z": i * i % 7, "t": ["b", "a"] * 30})
    np.testing.assert_allclose(ours.scatters, sf.summarize(frame, "t").scatters, rtol=1e-12)
    with pytest.raises(
        InvalidInputError, match="column 'money' must hold numbers, but holds Bin"
    ):
        sf.summarize(table, "t", columns=["money"])


def test_columns_that_cannot_be_read_are_left_out_by_name(postgres):
    table = made(postgres, "'$1.50'::money AS price, point(1, 2) AS place")
    with pytest.warns(
        UnusedDataWarning, match=r"columns left out: 'price', 'place' \(holds Bin"
    ):
        assert sf.summarize(table, "t").feature_names == ("x", "z")


def test_infinite_times_are_empty_cells_among_others(postgres):
    table = made(
        postgres, "CASE i WHEN 3 THEN 'infinity' ELSE '2026-01-01' END::timestamp AS at"
    )
    with pytest.warns(match="dates count as days"):
        ours = sf.summarize(table, "t")
    assert ours.counts.tolist() == [30, 30]
    assert ours.cells_lost == 0
    np.testing.assert_allclose(ours.means[:, 2], 20454)


@pytest.mark.parametrize("dtype", ["float8", "numeric"])
@pytest.mark.parametrize("method", ["local", "database"])
def test_rows_whose_label_or_weight_is_nan_are_left_out_and_told(postgres, dtype, method):
    label = f"CASE i WHEN 3 THEN 'NaN' ELSE (i % 2)::text END::{dtype} AS code"
    table = made(postgres, f"{label}, CASE i WHEN 5 THEN 'NaN' ELSE '2' END::{dtype} AS w")
    with pytest.warns(
        UnusedDataWarning, match=r"2 of 60 rows are left out: .*'code' \(1\), 'w' \(1\)"
    ):
        m = sf.summarize(table, "code", weight="w", columns=["x", "z"], on=method)
    assert (m.classes.tolist(), m.counts.tolist()) == ([0, 1], [30, 28])
    assert m.weights.tolist() == [60, 56]


def test_rows_whose_label_or_weight_is_nan_are_left_out_of_frames_too():
    nan = float("nan")
    frame = pl.DataFrame(
        {"x": range(6), "t": [0.0, 1, nan, 0, 1, 0], "w": [1.0, nan, 1, 1, 1, 1]}
    )
    with pytest.warns(
        UnusedDataWarning, match=r"2 of 6 rows are left out: .*'t' \(1\), 'w' \(1\)"
    ):
        assert sf.summarize(frame, "t", weight="w", columns=["x"]).counts.tolist() == [3, 1]


def test_products_below_the_smallest_number_are_summed_from_rows(postgres):
    # 1e-170 squared is an error in PostgreSQL, and zero everywhere else
    tiny = "CASE WHEN i IN (7, 8) THEN 1e-170 ELSE i % 3 - 1 END"
    table = made(postgres, f"({tiny})::float8 AS u")
    with pytest.raises(InvalidInputError, match="underflow"):
        sf.summarize(table, "t", columns=["u", "z"], on="database")
    ours = sf.summarize(table, "t", columns=["u", "z"])
    theirs = sf.summarize(pl.DataFrame(table.to_pyarrow()), "t", columns=["u", "z"])
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-12, atol=1e-12)


def test_squares_beyond_the_largest_number_are_told_by_column(postgres):
    table = made(postgres, "CASE i WHEN 7 THEN 1e170 ELSE sin(i) END::float8 AS far")
    with pytest.raises(InvalidInputError, match=r"column 'far'.* rescale"):
        sf.summarize(table, "t", columns=["x", "far"])


@pytest.mark.parametrize("method", ["local", "database"])
def test_numeric_of_sqlite_holds_labels_and_numbers(sqlite, method):
    sqlite.con.execute("CREATE TABLE rows (x NUMERIC, z DECIMAL(4, 2), kind NUMERIC)")
    values = [(i if i % 3 else i + 0.5, i * 1e4 + 0.125, i % 2) for i in range(60)]
    sqlite.con.executemany("INSERT INTO rows VALUES (?, ?, ?)", values)
    sqlite.con.commit()
    ours = sf.summarize(sqlite.table("rows"), "kind", columns=["x", "z"], on=method)
    theirs = sf.summarize(pl.DataFrame(values, ["x", "z", "kind"], orient="row"), "kind")
    assert ours.counts.tolist() == [30, 30]
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-9)


@pytest.mark.parametrize("method", ["local", "database"])
@pytest.mark.parametrize("dtype", ["NUMERIC", "REAL", "INTEGER"])
def test_text_among_the_numbers_of_sqlite_is_not_taken_for_zero(sqlite, dtype, method):
    sqlite.con.execute(f"CREATE TABLE rows (x {dtype}, z REAL, t TEXT)")
    values = [("oops" if i == 11_000 else i % 17, i % 5, "ab"[i % 2]) for i in range(12_000)]
    sqlite.con.executemany("INSERT INTO rows VALUES (?, ?, ?)", values)
    sqlite.con.commit()
    assert (
        sf.summarize(sqlite.table("rows"), "t", columns=["z"], on=method).counts.sum()
        == 12_000
    )
    with pytest.raises(InvalidInputError, match="column 'x' holds text among its numbers"):
        sf.summarize(sqlite.table("rows"), "t", columns=["x", "z"], on=method)


def test_labels_of_decimals_in_a_file_are_numbers(tmp_path):
    frame = pl.DataFrame({"x": range(6), "t": [1, 2, 1, 2, 1, 2]}).cast(
        {"t": pl.Decimal(5, 0)}
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    assert sf.summarize(tmp_path / "rows.parquet", "t").classes.tolist() == [1, 2]


def filled_sqlite(sqlite, columns, values):
    sqlite.con.execute(f"CREATE TABLE rows ({columns})")
    marks = ", ".join("?" * len(values[0]))
    sqlite.con.executemany(f"INSERT INTO rows VALUES ({marks})", values)
    sqlite.con.commit()
    return sqlite.table("rows")


@pytest.mark.filterwarnings("ignore:.*rows (is|are) left out")
@pytest.mark.parametrize("method", ["local", "database"])
def test_large_whole_numbers_of_sqlite_keep_their_digits_beside_gaps(sqlite, method, tmp_path):
    ids = [None if i % 7 == 0 else 2**62 + i for i in range(60)]
    codes = [None if i % 7 == 0 else 2**62 + i % 3 for i in range(60)]
    values = [
        (key, i * i % 11, code) for i, (key, code) in enumerate(zip(ids, codes, strict=True))
    ]
    table = filled_sqlite(sqlite, "k INTEGER, x REAL, code INTEGER", values)
    m = sf.summarize(table, "code", columns=["x"], on=method)
    assert (m.classes.tolist(), m.counts.tolist()) == ([2**62, 2**62 + 1, 2**62 + 2], [17] * 3)
    sf.streams.predict_stream(
        sf.LDA().fit_moments(m), table, tmp_path / "out.parquet", columns=sf.Columns(ids=["k"])
    )
    assert pl.read_parquet(tmp_path / "out.parquet")["k"].to_list() == ids


@pytest.mark.parametrize("method", ["local", "database"])
@pytest.mark.parametrize("declared", ["TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "TEXT"])
def test_labels_that_sqlite_takes_for_one_stay_apart(sqlite, declared, method):
    other = {"TEXT COLLATE NOCASE": "A", "TEXT COLLATE RTRIM": "a  ", "TEXT": b"a"}[declared]
    values = [(i * i % 11, ("a", other, "b")[i % 3]) for i in range(60)]
    rows = filled_sqlite(sqlite, f"x REAL, t {declared}", values)
    columns = sf.Columns(features=["x"], target_kind="class")
    m = sf.summarize(rows, "t", columns=columns, on=method)
    apart = sorted({"a", "b", other}) if isinstance(other, str) else ["a", "b"]
    assert m.classes.tolist() == apart
    assert m.counts.tolist() == ([20] * 3 if len(apart) == 3 else [40, 20])


def test_seconds_in_a_column_of_dates_are_not_read_as_dates(sqlite):
    values = [(1_600_000_000 + 86_400 * i, i * i % 11, "ab"[i % 2]) for i in range(60)]
    table = filled_sqlite(sqlite, "at TIMESTAMP, x REAL, t TEXT", values)
    with pytest.warns(UnusedDataWarning, match=r"columns left out: 'at' \(holds Binary"):
        assert sf.summarize(table, "t").feature_names == ("x",)


def test_dates_of_sqlite_are_those_of_a_frame(sqlite):
    texts = [
        "2024-03-10",
        "2024-03-10 06:00:00.5",
        "2024-03-10T06:00Z",
        "2600-01-01 01:00+02:00",
    ]
    values = [(texts[i % 4], i * i % 11, "ab"[i // 4 % 2]) for i in range(40)]
    table = filled_sqlite(sqlite, "at TIMESTAMP, x REAL, t TEXT", values)
    with pytest.warns(match="dates count as days"):
        m = sf.summarize(table, "t")
    days = np.mean([19792, 19792 + (6 * 3600 + 0.5) / 86_400, 19792.25, FAR - 1 / 24])
    np.testing.assert_allclose(m.means[:, 0], days, rtol=1e-12)


def test_intervals_of_duckdb_do_not_stand_in_the_way(duckdb):
    rows = (
        "i::DOUBLE AS x, INTERVAL (i) HOUR AS during, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END"
    )
    table = duckdb.sql(f"SELECT {rows} AS t FROM range(60) t(i)")
    with pytest.warns(UnusedDataWarning, match=r"columns left out: 'during' \(holds Binary"):
        assert sf.summarize(table, "t").feature_names == ("x",)


@pytest.mark.parametrize("method", ["local", "database"])
def test_squares_that_vanish_are_told_by_column(sqlite, method):
    values = [(1e-200 * (i % 7), 3.5, i * i % 11, "ab"[i % 2]) for i in range(60)]
    table = filled_sqlite(sqlite, "u REAL, same REAL, x REAL, t TEXT", values)
    assert sf.summarize(table, "t", columns=["same", "x"], on=method).counts.sum() == 60
    with pytest.raises(InvalidInputError, match=r"squares of .*(vanish|underflow).*rescale"):
        sf.summarize(table, "t", columns=["u", "x"], on=method)


def test_whole_numbers_of_sqlite_that_turn_to_fractions_are_read_as_such(sqlite):
    values = [(i if i < 9000 else i + 0.5, i % 11, "ab"[i % 2]) for i in range(9500)]
    table = filled_sqlite(sqlite, "x INTEGER, z REAL, t TEXT", values)
    theirs = sf.summarize(
        pl.DataFrame([(float(x), z, t) for x, z, t in values], ["x", "z", "t"], orient="row"),
        "t",
    )
    for method in ("local", "database"):
        ours = sf.summarize(table, "t", on=method)
        np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-12)
