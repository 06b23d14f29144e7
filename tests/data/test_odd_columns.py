"""Odd columns, labels and categories: the same schema and the same sums whatever holds the rows."""

import datetime as dt
import html
import re
import sqlite3
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.errors import InvalidInputError

pytestmark = pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")

N = 60
X = np.random.default_rng(3).normal(size=N)
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=13 * i) for i in range(N)]


def repeated(*values):
    return [values[i % len(values)] for i in range(N)]


def holed(values, every=7):
    return [None if i % every == 0 else value for i, value in enumerate(values)]


COLUMNS = {
    "whole": pl.Series(range(N)),
    "whole with gaps": pl.Series(holed(range(N))),
    "beyond 2^53": pl.Series([2**62 + 2**12 * i for i in range(N)]),
    "tiny": pl.Series(X * 1e-100),
    "huge": pl.Series(X * 1e100),
    "far": pl.Series(X + 1e9),
    "constant": pl.Series(repeated(7.5)),
    "constant text": pl.Series(repeated("k")),
    "empty": pl.Series(repeated(None), dtype=pl.Float64),
    "truth": pl.Series(repeated(True, False, False)),
    "truth with gaps": pl.Series(holed(repeated(True, False, False))),
    "quotes and marks": pl.Series(repeated('say "hi"', "it's", "a,b;c\t|", "two\nlines")),
    "letters": pl.Series(repeated("Zürich", "東京", "e\u0301", "é", "😀")),
    "case": pl.Series(repeated("A", "a", "b")),
    "text with gaps": pl.Series(holed(repeated("u", "v"))),
    "free text": pl.Series([f"t{i}" for i in range(N)]),
    "dates": pl.Series(DAYS),
    "dates with gaps": pl.Series(holed(DAYS)),
    "dates after 2262": pl.Series(DAYS).dt.offset_by("500y"),
    "dates before 1678": pl.Series(DAYS).dt.offset_by("-500y"),
    "times": pl.Series(DAYS).cast(pl.Datetime("us")) + dt.timedelta(hours=5, minutes=30),
}
LABELS = {
    "whole": pl.Series(repeated(0, 1, 2)),
    "whole with gaps": pl.Series(holed(repeated(-1, 0, 1))),
    "beyond 2^53": pl.Series(repeated(2**62, 2**62 + 1)),
    "beyond 2^53 with gaps": pl.Series(holed(repeated(2**62, 2**62 + 1))),
    "real": pl.Series(repeated(0.0, 1.0)),
    "real with NaN": pl.Series(repeated(0.0, 1.0, float("nan"))),
    "truth with gaps": pl.Series(holed(repeated(True, False, False))),
    "text with gaps": pl.Series(holed(repeated("u", "v"))),
    "quotes and marks": pl.Series(repeated('say "hi"', "it's", "a,b;c\t|", "two\nlines")),
    "case": pl.Series(repeated("A", "ab", "b")),
}
NAMED_AS_CATEGORIES = {
    "whole": pl.Series(repeated(0, 1, 2, 3)),
    "whole with gaps": pl.Series(holed(repeated(0, 1, 2))),
    "real": pl.Series(repeated(0.5, 1.0, 1.5)),
    "beyond 2^53": pl.Series(repeated(2**62, 2**62 + 1)),
    "truth": pl.Series(repeated(True, False)),
    "dates": pl.Series(repeated(*DAYS[:4])),
    "times": pl.Series(repeated(dt.datetime(2020, 1, 1, 3), dt.datetime(2500, 1, 1, 4))),
    "another in every row": pl.Series(range(N)),
}
DECLARED = {pl.Float64: "REAL", pl.Int64: "INTEGER", pl.Boolean: "BOOLEAN", pl.String: "TEXT"}
IN_POSTGRES = {
    pl.Float64: "float8",
    pl.Int64: "int8",
    pl.Boolean: "boolean",
    pl.String: "text",
}
IN_POSTGRES |= {pl.Date: "date", pl.Datetime("us"): "timestamp"}
DECLARED |= {pl.Date: "DATE", pl.Datetime("us"): "TIMESTAMP"}


def nullable(frame):
    """Return a pandas frame of types that have NA."""
    return pd.DataFrame(
        {name: pd.array(frame[name].to_list(), dtype(frame[name])) for name in frame.columns}
    )


def dtype(column):
    plain = {
        pl.Int64: "Int64",
        pl.Float64: "Float64",
        pl.Boolean: "boolean",
        pl.String: "string",
    }
    return plain.get(column.dtype, object)


def in_sqlite(frame, folder):
    with sqlite3.connect(folder / "rows.db") as database:
        types = ", ".join(f'"{name}" {DECLARED[t]}' for name, t in frame.schema.items())
        database.execute(f"CREATE TABLE rows ({types})")
        rows = (
            [str(v) if isinstance(v, dt.date) else v for v in row] for row in frame.iter_rows()
        )
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * frame.width)})", rows)
    database.close()
    return f"sqlite:{folder / 'rows.db'}"


def in_postgres(frame, settings):
    import psycopg

    types = ", ".join(f'"{name}" {IN_POSTGRES[t]}' for name, t in frame.schema.items())
    address = "postgresql://{user}@{host}:{port}/{database}".format(**settings)
    with psycopg.connect(address) as database, database.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS odd_rows; CREATE TABLE odd_rows ({types})")
        with cursor.copy("COPY odd_rows FROM STDIN") as copy:
            for row in frame.iter_rows():
                copy.write_row(row)
    return address


def in_duckdb(frame, folder):
    import duckdb

    with duckdb.connect(folder / "rows.duckdb") as database:
        database.register("given", frame.to_arrow())
        database.execute("CREATE TABLE rows AS SELECT * FROM given")
    return folder / "rows.duckdb"


def written(write, name):
    def source(frame, folder):
        write(frame, folder / name)
        return folder / name

    return source


SOURCES = {
    "lazy": lambda frame, _: frame.lazy(),
    "pandas": lambda frame, _: nullable(frame),
    "Arrow": lambda frame, _: frame.to_arrow(),
    "stream": lambda frame, _: frame.to_arrow().to_reader(max_chunksize=17),
    "chunks": lambda frame, _: [frame[lo : lo + 17] for lo in range(0, N, 17)],
    "CSV": written(pl.DataFrame.write_csv, "rows.csv"),
    "CSV with semicolons": written(lambda f, p: f.write_csv(p, separator=";"), "rows.csv"),
    "TSV": written(lambda f, p: f.write_csv(p, separator="\t"), "rows.tsv"),
    "Parquet": written(pl.DataFrame.write_parquet, "rows.parquet"),
    "Feather": written(pl.DataFrame.write_ipc, "rows.feather"),
    "SQLite": in_sqlite,
    "DuckDB": in_duckdb,
}


def assert_same(ours, theirs):
    assert ours.feature_names == theirs.feature_names
    assert ours.schema == theirs.schema
    assert ours.classes.tolist() == theirs.classes.tolist()
    assert ours.counts.tolist() == theirs.counts.tolist()
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-9)
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-6, atol=1e-9)


def table(**columns):
    return pl.DataFrame({"x": X, "y": repeated("a", "b", "c")} | columns)


@pytest.fixture
def check_every_source(tmp_path, postgres_settings):
    def check(frame, theirs, **options):
        for source, made in SOURCES.items():
            place = tmp_path / source
            place.mkdir()
            assert_same(sf.summarize(made(frame, place), "y", **options), theirs)
        address = in_postgres(frame, postgres_settings)
        assert_same(sf.summarize(address, "y", table="odd_rows", **options), theirs)

    return check


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_alike_from_every_source(name, check_every_source):
    frame = table(c=COLUMNS[name])
    check_every_source(frame, sf.summarize(frame, "y"))


def test_an_infinite_number_is_refused_by_every_source(tmp_path, postgres_settings):
    frame = table(c=pl.Series([float("inf") if i == 9 else x for i, x in enumerate(X)]))
    sources = []
    for name, made in SOURCES.items():
        (tmp_path / name).mkdir()
        sources.append(made(frame, tmp_path / name))
    for source in sources:
        with pytest.raises(
            InvalidInputError, match=r"contains infinity: row 9 .counted from 0., column 'c'"
        ):
            sf.summarize(source, "y")
    address = in_postgres(frame, postgres_settings)
    with pytest.raises(
        InvalidInputError, match=r"contains infinity: row 9 .counted from 0., column 'c'"
    ):
        sf.summarize(address, "y", table="odd_rows")


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_read_alike_from_every_source(name, check_every_source):
    frame = table(y=LABELS[name])
    check_every_source(frame, sf.summarize(frame, "y"))


@pytest.mark.parametrize("name", NAMED_AS_CATEGORIES)
def test_levels_are_called_alike_from_every_source(name, check_every_source):
    frame = table(c=NAMED_AS_CATEGORIES[name])
    whole = sf.Moments.of(frame.drop("y"), frame["y"].to_list(), categorical=["c"])
    assert [category.name for category in whole.schema.categories] == ["c"]
    check_every_source(frame, whole, columns=sf.Columns(categorical=["c"]))


def test_names_that_polars_takes_for_patterns_are_only_names(tmp_path):
    named = ["^.*$", "*", "^x$", "^y$"]
    rows = table(
        a=pl.Series(holed(X[::-1].tolist())),
        b=pl.Series(repeated("=u", "v")),
        c=pl.Series(X**2),
    ).select("x", "a", "b", "c", "y")
    odd = rows.rename(dict(zip(rows.columns[1:], named, strict=True)))
    odd.write_csv(tmp_path / "odd.csv")
    rows.write_csv(tmp_path / "rows.csv")
    sums = sf.summarize(tmp_path / "rows.csv", "y")
    posteriors = []
    for frame, target, path in ((rows, "y", "rows.csv"), (odd, "^y$", "odd.csv")):
        for source in (frame, tmp_path / path):
            np.testing.assert_array_equal(sf.summarize(source, target).means, sums.means)
        features = frame[[name for name in frame.columns if name != target]]
        model = sf.LDA().fit(features, frame[target].to_numpy())
        kept = sf.Columns(ids=frame.columns)
        sf.streams.predict_stream(model, tmp_path / path, tmp_path / "out.csv", columns=kept)
        answers = pl.read_csv(tmp_path / "out.csv")
        assert answers.columns[:5] == frame.columns
        posteriors.append(answers.select(pl.selectors.starts_with("p_")).to_numpy())
        found = sf.diagnostics.drift(model, features)
        assert found.p_value == pytest.approx(1.0)
    np.testing.assert_array_equal(*posteriors)


PLAIN_NAMES = ("x", "gap", "level", "day", "flag", "price", "site", "y")
PATTERNS = ("x", "^x$", "*", "^day.*$", "^flag$", "^.*$", "^site$", "^y$")


def mixed_rows(names):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 160)
    x = rng.normal(size=(160, 3)) + y[:, None]
    columns = [
        x[:, 0],
        [None if i % 17 == 0 else value for i, value in enumerate(x[:, 1])],
        rng.choice(["a", "b", "c"], 160),
        [dt.date(2024, 1 + i % 12, 1 + i % 28) for i in range(160)],
        rng.choice([True, False], 160),
        [f"€{value:.2f}" for value in x[:, 2]],
        [f"s{i % 20}" for i in range(160)],
        np.array(["u", "v"])[y],
    ]
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_commands_take_names_that_are_patterns_as_names(tmp_path, monkeypatch, ending):
    from suffice.cli.group import suffice

    answers = []
    for number, names in enumerate((PLAIN_NAMES, PATTERNS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        frame = mixed_rows(names)
        rows = f"rows.{ending}"
        frame.write_csv(rows) if ending == "csv" else frame.write_parquet(rows)
        run = partial(CliRunner().invoke, suffice, catch_exceptions=False)
        target = ["--target", names[-1], "--ignore", names[-2]]
        assert run(["fit", rows, *target, "-o", "m.suffice"]).exit_code == 0
        drift = run(["drift", "m.suffice", rows]).output
        report = run(["report", rows, *target, "--against", rows, "--fast", "-o", "r.html"])
        assert report.exit_code == 0, report.output
        page = Path("r.html").read_text()
        assert all(html.escape(name) in page for name in names[:-2])
        shares = re.findall(r"[0-9.]+ % ", page)[:3]
        answers.append((sorted(re.findall(r"[0-9]+\.[0-9]+", drift)), shares))
    assert answers[0] == answers[1]


def test_a_target_is_guessed_among_names_that_are_patterns(tmp_path):
    frame = pl.DataFrame({"x": X, "^x$": X**2, "class": repeated("u", "v", "v")})
    kept = sf.Columns(ids=["^x$"])
    with pytest.warns(sf.errors.SufficeWarning, match="taking 'class'"):
        assert sf.summarize(frame, columns=kept).feature_names == ("x",)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_without_a_name_may_hold_text(tmp_path, ending):
    named = pl.DataFrame(
        {"c": repeated("red", "blue", "red"), "x": X, "y": repeated("u", "v", "v", "u")}
    )
    nameless = named.rename({"c": ""})
    rows = tmp_path / f"rows.{ending}"
    nameless.write_csv(rows) if ending == "csv" else nameless.write_parquet(rows)
    expected = sf.summarize(named, "y")
    pairs = [(nameless.drop("y"), nameless["y"].to_list())]
    for source in (nameless, rows, nameless.to_pandas()):
        sums = sf.summarize(source, "y")
        assert sums.feature_names == ("x", "=blue", "=red")
        np.testing.assert_array_equal(sums.means, expected.means)
    np.testing.assert_array_equal(sf.summarize(pairs).means, expected.means)
    model = sf.LDA().fit_moments(sums)
    kept = sf.Columns(ids=[""])
    sf.streams.predict_stream(model, rows, tmp_path / "out.csv", columns=kept)
    assert pl.read_csv(tmp_path / "out.csv").height == N
    assert sf.diagnostics.drift(model, nameless.drop("y")).p_value == pytest.approx(1.0)
