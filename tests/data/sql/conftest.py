"""Three real engines, and tables in them."""

import numpy as np
import polars as pl
import pytest

# names of columns
HOSTILE = (
    'a"b',
    "semi;colon",
    "Robert'); DROP TABLE rows;--",
    "naïve ☃ column",
    "new\nline",
    "$1 %s {x}",
    "back\\slash",
    "x" * 63,
    "SELECT",
)


@pytest.fixture
def postgres(postgres_settings):
    ibis = pytest.importorskip("ibis")
    connection = ibis.postgres.connect(**postgres_settings)
    yield connection
    connection.disconnect()


@pytest.fixture
def duckdb():
    ibis = pytest.importorskip("ibis")
    connection = ibis.duckdb.connect()
    yield connection
    connection.disconnect()


@pytest.fixture
def sqlite(tmp_path):
    ibis = pytest.importorskip("ibis")
    connection = ibis.sqlite.connect(tmp_path / "rows.db")
    yield connection
    connection.disconnect()


@pytest.fixture(params=["duckdb", "postgres", "sqlite"])
def database(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def filled(database):
    """Return the table of a database that holds the rows of a frame."""

    def fill(frame, name="rows"):
        load = copied_in if database.name == "postgres" else created
        return load(database, frame, name)

    return fill


def created(database, frame, name):
    return database.create_table(name, frame.to_arrow(), overwrite=True)


TYPES = {pl.Float64: "float8", pl.Int64: "int8", pl.Boolean: "boolean", pl.String: "text"}


def copied_in(database, frame, name):
    """Fill a table by COPY; Ibis trips over percent signs in the names of columns."""
    columns = ", ".join(f"{quoted(c)} {TYPES[t]}" for c, t in frame.schema.items())
    with database.con.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
        cursor.execute(f"CREATE TABLE {quoted(name)} ({columns})")
        with cursor.copy(f"COPY {quoted(name)} FROM STDIN (FORMAT CSV)") as copy:
            copy.write(frame.write_csv(include_header=False, quote_style="non_numeric"))
    return database.table(name)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def labelled_frame(n=600, seed=0):
    """Return far means, tiny and huge scales, integers, Booleans, weights and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["blue", "green", "red"], n)
    gap = rng.random(n)
    return pl.DataFrame(
        {
            "far": 1e8 + rng.normal(size=n),
            "tiny": 1e-9 * rng.normal(size=n) * (1 + (y == "red")),
            "huge": 1e12 * rng.normal(size=n) + 3e12 * (y == "green"),
            "apart": rng.normal(size=n) + 1e6 * (y == "blue"),
            "constant_in_red": np.where(y == "red", 0.1, rng.normal(size=n)),
            "count": rng.integers(0, 50, n),
            "flag": rng.random(n) > 0.5,
            "gaps": rng.normal(size=n),
            "weight": rng.integers(0, 4, n) / 2,
            "colour": y,
        }
    ).with_columns(
        pl.when(pl.Series(gap >= 0.05)).then("gaps").alias("gaps"),
        pl.when(pl.Series(gap <= 0.95)).then("colour").alias("colour"),
    )


@pytest.fixture(scope="session")
def frame():
    return labelled_frame()
