"""The sums of a table are those of its rows in memory, on every engine and by either way."""

import datetime
import logging

import ibis
import numpy as np
import polars as pl
import pytest
from tests.data.sql.conftest import HOSTILE, copied_in

from suffice import LDA, Columns, Moments
from suffice.data.columns.roles import Roles, roles_for_learning
from suffice.data.opening import open_source
from suffice.data.options import SumSettings
from suffice.data.predict import predict_stream
from suffice.data.sql.database import TableSource, is_table
from suffice.data.sql.engines import Engine, engine_of, place_for
from suffice.data.sql.sums import TableSums
from suffice.data.summarize import summarize, summarize_source
from suffice.errors import InvalidInputError, InvalidParameterError, SufficeWarning

GAPS = "rows (is|are) left out: no usable value in"


def assert_same(ours, theirs, tolerance=1e-10):
    """Compare moments: means by the spread of their class and their size, scatter by its scale."""
    assert ours.classes.tolist() == theirs.classes.tolist()
    assert ours.feature_names == theirs.feature_names
    assert ours.storage == theirs.storage
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-13)
    scale = np.sqrt(theirs.scatter.pooled_diagonal() / theirs.total_weight)
    gap = (ours.means - theirs.means) + (ours.means_low - theirs.means_low)
    assert np.all(np.abs(gap) <= tolerance * scale)
    if ours.storage == "per-class":
        spread = np.sqrt(theirs.diagonals)
        limit = tolerance * spread[:, :, None] * spread[:, None, :]
        assert np.all(np.abs(ours.scatters - theirs.scatters) <= limit)
    elif ours.storage == "pooled":
        spread = np.sqrt(theirs.scatter.pooled_diagonal())
        limit = tolerance * spread[:, None] * spread
        assert np.all(np.abs(ours.pooled_scatter - theirs.pooled_scatter) <= limit)
    else:
        np.testing.assert_allclose(ours.diagonals, theirs.diagonals, rtol=tolerance)


def complete(rows, target, weight=None, method="auto", **options):
    """Return the sums of the numbers of complete rows, of a frame or of a table."""
    source = TableSource.of(rows, method).source if is_table(rows) else open_source(rows)
    roles = roles_for_learning(source, target, weight, categories=False, allow_missing=False)
    return summarize_source(source, roles, SumSettings(**options))


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("method", ["database", "local"])
def test_a_table_gives_the_sums_of_its_rows(filled, frame, method, weight, storage):
    options = {"target": "colour", "weight": weight, "storage": storage}
    with pytest.warns(SufficeWarning, match=GAPS) as in_memory:
        theirs = complete(frame, **options)
    table = filled(frame)
    with pytest.warns(SufficeWarning, match=GAPS) as in_database:
        ours = complete(table, method=method, **options)
    assert_same(ours, theirs)
    assert [str(w.message) for w in in_database] == [str(w.message) for w in in_memory]


def test_a_column_that_is_constant_in_a_class_has_no_scatter_at_all_there(filled, frame):
    table = filled(frame)
    with pytest.warns(SufficeWarning, match=GAPS):
        ours = complete(table, target="colour", method="database")
    red, column = list(ours.classes).index("red"), ours.feature_names.index("constant_in_red")
    assert not ours.scatters[red, column].any()
    assert not ours.scatters[red, :, column].any()


@pytest.mark.parametrize("method", ["database", "local"])
@pytest.mark.parametrize("labels", ["integers", "Booleans", "text"])
def test_labels_of_every_kind_keep_their_type(filled, method, labels):
    code = np.arange(60) % 2
    words = np.array(['it\'s; "x"', "日本語,\n"])[code]
    y = {"integers": code + 7, "Booleans": code == 1, "text": words}[labels]
    frame = pl.DataFrame({"x": np.sin(np.arange(60.0)), "y": y})
    theirs, ours = summarize(frame, "y"), summarize(filled(frame), "y", on=method)
    assert_same(ours, theirs)
    assert ours.classes.dtype.kind == theirs.classes.dtype.kind


@pytest.mark.parametrize("method", ["database", "local"])
def test_hostile_column_names_are_only_names(filled, method):
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=50) for name in HOSTILE}
    target = 'the "target"; --'
    frame = pl.DataFrame({**columns, target: np.arange(50) % 3})
    theirs = summarize(frame, target)
    assert_same(summarize(filled(frame, 'ta"ble; --'), target, on=method), theirs)


def test_nan_and_null_are_gaps_where_rows_must_be_complete(filled):
    x = [np.nan, None, None, 1.0, 2.0, 3.0, 4.0, 5.0]
    frame = pl.DataFrame({"x": x, "z": np.arange(8.0), "y": np.arange(8) % 2})
    table = filled(frame)
    for method in ("database", "local"):
        with pytest.warns(
            SufficeWarning, match=r"3 of 8 rows are left out: no usable value in 'x'"
        ):
            ours = complete(table, "y", method=method)
        with pytest.warns(SufficeWarning, match="3 of 8 rows"):
            assert_same(ours, complete(frame, "y"))


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("column", ["x", "w"])
def test_infinity_is_refused_inside_a_database_and_outside(filled, infinity, column):
    columns = {"x": np.arange(8.0), "w": np.ones(8), "z": np.sin(np.arange(8.0))}
    columns[column][5] = infinity
    frame = pl.DataFrame({**columns, "y": np.arange(8) % 2})
    table = filled(frame)
    inside = f"contains infinity in 1 cell of column '{column}': correct the cells"
    outside = rf"row 5 \(counted from 0\), column '{column}'\. Correct the cell"
    with pytest.raises(InvalidInputError, match=inside):
        complete(table, "y", "w", method="database")
    with pytest.raises(InvalidInputError, match=outside):
        complete(table, "y", "w", method="local")
    with pytest.raises(InvalidInputError, match=outside):
        complete(frame, "y", "w")


def test_nan_and_null_are_empty_cells(filled):
    x = [None, np.nan, *np.sin(np.arange(18.0))]
    frame = pl.DataFrame({"x": x, "z": np.arange(20.0), "y": np.arange(20) % 2})
    table = filled(frame)
    for method in (None, "local"):
        ours, theirs = summarize(table, "y", on=method), summarize(frame, "y")
        assert_same(ours, theirs)
        assert ours.counts.sum() == 20
    with pytest.raises(
        InvalidParameterError, match=r"empty or infinite cells of 'x' cannot be sum"
    ):
        summarize(table, "y", on="database")


def test_empty_cells_after_the_first_rows_are_found_and_count(filled, caplog):
    n = 10_400
    x = np.sin(np.arange(float(n)))
    late = pl.when(pl.Series(np.arange(n) > 10_300)).then(None).otherwise("x").alias("x")
    frame = pl.DataFrame({"x": x, "z": x**2, "y": np.arange(n) % 2}).with_columns(late)
    table = filled(frame)
    with caplog.at_level(logging.INFO, "suffice"):
        assert_same(summarize(table, "y"), summarize(frame, "y"))
    told = [record.message for record in caplog.records if record.name == "suffice"]
    if table.get_backend().name != "duckdb":  # whose rows are streamed anyhow
        assert "sums inside the database" in told[0]
        assert (
            "rows streamed out: empty or infinite cells of 'x' are summed from rows" in told[1]
        )


def test_levels_are_not_summed_inside(filled):
    frame = pl.DataFrame({"x": np.arange(9.0), "c": list("abcabcabc"), "y": np.arange(9) % 2})
    with pytest.raises(
        InvalidParameterError, match="levels of 'c' cannot be summed inside a data"
    ):
        summarize(filled(frame), "y", on="database")


def test_a_query_is_as_good_as_a_table(filled, frame):
    table = filled(frame)
    wanted = table.filter(table["far"] > 1e8).select("far", "huge", "colour")
    rows = frame.filter(pl.col("far") > 1e8).select("far", "huge", "colour")
    with pytest.warns(SufficeWarning, match=GAPS):
        ours, theirs = (
            summarize(wanted, "colour", on="database"),
            summarize(rows, "colour"),
        )
    assert_same(ours, theirs)


def test_sums_split_over_several_queries_are_the_same(database, filled, frame):
    frame = frame.drop("gaps").drop_nulls()
    source = TableSource.of(filled(frame))
    features = ("far", "tiny", "huge", "apart", "count")
    theirs = summarize(frame, "colour", columns=features)
    asked = []

    def ask(query):
        asked.append(query)
        return pl.DataFrame(database.to_pyarrow(query))

    rows = (source.table, Roles(features, "colour"), source.sample, np.zeros(5))
    total = TableSums(*rows, Engine(max_outputs=9), ask, "rows").summed("per-class")
    assert_same(total.moments, theirs)
    # 20 sums, 4 a query, then the same with the 5 centres of each class, and the count
    assert len(asked) == 5 + 7 + 1


def test_sixty_features_pass_the_limit_on_outputs(filled):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 60)), np.arange(80) % 2
    frame = pl.DataFrame({**{f"x{j}": X[:, j] for j in range(60)}, "y": y})
    assert_same(summarize(filled(frame), "y", on="database"), summarize(frame, "y"))


def test_first_rows_that_mislead_cost_a_second_look_but_no_digit(filled):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 11_000)  # the first rows, by which pilots are chosen, lack class 1
    x = rng.normal(size=22_000) + np.where(y, 1e9, 0.0)
    frame = pl.DataFrame({"x": x, "z": rng.normal(size=22_000), "y": y})
    assert_same(summarize(filled(frame), "y", on="database"), summarize(frame, "y"))


def test_many_classes_are_pooled_as_in_memory(duckdb):
    rng = np.random.default_rng(4)
    n, d = 3000, 40
    frame = pl.DataFrame(
        {
            **{f"x{j}": rng.normal(size=n) for j in range(d)},
            "y": [f"c{k}" for k in rng.integers(0, 700, n)],
        }
    )
    table = duckdb.create_table("rows", frame.to_arrow())
    ours, theirs = summarize(table, "y", on="database"), summarize(frame, "y")
    assert theirs.storage == "pooled"
    assert_same(ours, theirs)


@pytest.mark.parametrize("n_classes", [10, 20])
def test_storage_is_chosen_by_all_classes_not_by_the_first_rows(
    duckdb, monkeypatch, n_classes
):
    monkeypatch.setattr("suffice.core.moments.collect.AFFORDABLE", 60)
    y = np.sort(np.arange(30_000) % n_classes)
    frame = pl.DataFrame({"a": np.sin(np.arange(30_000.0)), "b": np.cos(y), "y": y})
    theirs = Moments.of(frame.select("a", "b"), y, fourth=False)
    table = duckdb.create_table("rows", frame.to_arrow())
    ours = summarize(table, "y", columns=["a", "b"], on="database")
    assert ours.storage == {10: "per-class", 20: "pooled"}[n_classes]
    assert_same(ours, theirs)


def test_postgres_cuts_long_names_and_so_do_we(postgres):
    long = "y" * 80
    frame = pl.DataFrame({long: np.arange(9.0), "y": np.arange(9) % 2})
    moments = summarize(copied_in(postgres, frame, "rows"), "y", on="database")
    assert moments.feature_names == (long[:63],)


def test_bad_weights_are_refused_by_column(filled):
    frame = pl.DataFrame(
        {"x": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1], "w": [1.0, -1.0, 1.0, 2.0]}
    )
    with pytest.raises(InvalidInputError, match=r"weight column 'w' holds 1 negative value"):
        summarize(filled(frame), "y", weight="w", on="database")


def test_squares_that_overflow_name_the_column(duckdb):
    frame = pl.DataFrame({"x": [1e200, -1e200, 0.0, 1.0], "y": [0, 1, 0, 1]})
    table = duckdb.create_table("rows", frame.to_arrow())
    with pytest.raises(InvalidInputError, match="the squares of column 'x' overflow"):
        summarize(table, "y", on="database")


@pytest.mark.parametrize("method", ["database", "local"])
def test_a_table_without_usable_rows_is_refused(filled, method):
    frame = pl.DataFrame({"x": [None, 1.0], "y": ["a", None]}, schema={"x": float, "y": str})
    table = filled(frame)
    with (
        pytest.warns(SufficeWarning, match="2 of 2 rows"),
        pytest.raises(InvalidInputError, match="has no row that can be used"),
    ):
        complete(table, "y", method=method)


def test_the_choice_is_stated_and_can_be_overridden(sqlite, duckdb, caplog):
    frame = pl.DataFrame({"x": np.arange(9.0), "y": np.arange(9) % 2})
    table = sqlite.create_table("rows", frame.to_arrow())
    with caplog.at_level(logging.INFO, "suffice"):
        summarize(table, "y")
        summarize(table, "y", on="local")
        summarize(table, "y", fourth=True)
        summarize(duckdb.create_table("rows", frame.to_arrow()), "y")
    texts = [record.message for record in caplog.records if record.name == "suffice"]
    assert "sums inside the database: that is quicker with at most 10" in texts[0]
    assert texts[1] == "table 'rows' of sqlite: rows streamed out: set by the user"
    assert "fourth moments" in texts[2]
    assert "rows streamed out: rows leave this engine without a copy" in texts[3]
    assert place_for("auto", engine_of(sqlite), 100_000)[0] == "local"
    with pytest.raises((InvalidInputError, InvalidParameterError), match="device"):
        summarize(table, "y", on="magic")
    with pytest.raises(
        InvalidParameterError, match=r"on='database' is allowed only for a table"
    ):
        summarize(frame, "y", on="database")
    with pytest.raises(InvalidParameterError, match=r"use on='local'"):
        summarize(table, "y", fourth=True, on="database")


def test_fourth_moments_come_by_streaming(duckdb, frame):
    rows = frame.select("far", "count", "colour").drop_nulls()
    table = duckdb.create_table("rows", rows.to_arrow())
    ours, theirs = (
        summarize(table, "colour", fourth=True),
        summarize(rows, "colour", fourth=True),
    )
    np.testing.assert_array_equal(ours.fourth.fourths, theirs.fourth.fourths)


def test_an_unbound_table_is_refused_with_the_cure():
    with pytest.raises(InvalidInputError, match="belongs to no database"):
        summarize(ibis.table({"x": "float64", "y": "int64"}, name="rows"), "y")


def test_a_model_of_a_table_scores_the_table_to_a_file(filled, frame, tmp_path):
    rows = frame.select("far", "count", "colour").drop_nulls().with_row_index("id")
    table = filled(rows.with_columns(pl.col("id").cast(pl.Int64)))
    lda = LDA().fit_moments(summarize(table, "colour", columns=["far", "count"]))
    out = tmp_path / "out.parquet"
    done = predict_stream(lda, table, out, columns=Columns(ids=["id"]))
    answers = pl.read_parquet(out).sort("id")
    assert done.rows == rows.height
    expected = lda.predict(rows.select("far", "count").to_pandas())
    assert answers["label"].to_list() == expected.tolist()


def test_columns_of_other_types_are_left_out_or_kept(postgres, tmp_path):
    postgres.raw_sql(
        "CREATE TEMP TABLE kinds AS SELECT i::int8 AS id, i::numeric(9, 2) ^ 2 AS price, "
        "DATE '2024-01-31' + i AS day, now() + cos(i) * interval '1 day' AS seen, "
        "ARRAY[i] AS many, i % 2 = 0 AS even, '{}'::jsonb AS extra, sin(i) AS x "
        "FROM generate_series(1, 50) AS i"
    ).close()
    table = postgres.table("kinds")
    with (
        pytest.warns(
            SufficeWarning, match=r"columns left out: 'extra' \(constant\); 'id', 'many'"
        ),
        pytest.warns(SufficeWarning, match="dates count as days since 1970: 'day', 'seen'"),
    ):
        moments = summarize(table, "even")
    assert moments.feature_names == ("price", "day", "seen", "x")
    predict_stream(
        LDA().fit_moments(moments),
        table,
        tmp_path / "o.parquet",
        columns=Columns(ids=["id", "day"]),
    )
    kept = pl.read_parquet(tmp_path / "o.parquet").sort("id")
    assert str(kept["day"][0]) == "2024-02-01"


@pytest.mark.filterwarnings("ignore:dates count as days")
def test_dates_count_as_days_whatever_the_time_zone_of_the_session(database):
    start = datetime.datetime(2024, 1, 1, 6, 30)
    times = pl.Series([start + datetime.timedelta(hours=37 * k % 500) for k in range(40)])
    frame = pl.DataFrame(
        {
            "day": times.dt.date().set(pl.Series([True] * 3 + [False] * 37), None),
            "local": times,
            "utc": times.dt.replace_time_zone("UTC"),
            "y": ["u", "v"] * 20,
        }
    )
    table = database.create_table("moments_in_time", frame.to_arrow(), temp=True)
    if database.name == "postgres":
        database.raw_sql("SET TIME ZONE 'America/New_York'").close()
    assert_same(summarize(table, "y"), summarize(frame, "y"))
    with pytest.raises(
        InvalidParameterError, match="dates of 'day', 'local', 'utc' cannot be summ"
    ):
        summarize(table, "y", on="database")


@pytest.mark.parametrize("method", ["database", "local"])
def test_an_engine_that_nothing_is_known_of_is_summed_too(frame, method):
    table = ibis.polars.connect(tables={"rows": frame}).table("rows")
    with pytest.warns(SufficeWarning, match=GAPS):
        ours, theirs = complete(table, "colour", method=method), complete(frame, "colour")
    assert_same(ours, theirs)
