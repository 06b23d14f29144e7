"""Sums of a table inside its database against rows streamed out, by engine and width."""

from __future__ import annotations

import argparse
import warnings

import ibis
import numpy as np
import onnxruntime
import polars as pl
from tests.data.sql.server import running_postgres

import suffice as sf
from benchmarks.timing import best_of, machine, table
from suffice.data.summarize import summarize
from suffice.export.onnx import to_onnx
from suffice.export.sql import to_sql

WIDTHS = (10, 30, 56, 100)


def frame(n, d):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    columns = {f"x{j}": rng.normal(size=n) + 0.1 * j + 0.2 * y for j in range(d)}
    return pl.DataFrame({**columns, "y": y})


def in_duckdb(connection, rows):
    connection.con.register("arrow", rows.to_arrow())
    connection.con.execute("CREATE OR REPLACE TABLE rows AS SELECT * FROM arrow")
    return connection.table("rows")


def in_postgres(connection, rows):
    columns = ", ".join(f"{name} float8" for name in rows.columns[:-1])
    with connection.con.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS rows; CREATE TABLE rows ({columns}, y int8)")
        with cursor.copy("COPY rows FROM STDIN (FORMAT CSV)") as copy:
            for part in rows.iter_slices(20_000):
                copy.write(part.write_csv(include_header=False))
        cursor.execute("VACUUM ANALYZE rows")
    return connection.table("rows")


def measured(engine, connection, load, n, rounds):
    for d in WIDTHS:
        rows = load(connection, frame(n, d))
        cases = {
            way: lambda way=way, rows=rows: summarize(rows, "y", on=way)
            for way in ("database", "local")
        }
        best = best_of(cases, rounds, limit=20.0)
        ratio = best["stream"] / best["database"]
        yield {"engine": engine, "rows": n, "d": d, **best, "stream / database": ratio}


def scored(connection, load, rows, models, rounds):
    """Yield the seconds that a database takes to score a table into another."""
    load(connection, rows)
    run = connection.con.execute
    if connection.name == "postgres":
        run("SET jit = off")
    for name, model in models.items():
        query = to_sql(model, "rows", connection.name)

        def score(query=query):
            run("DROP TABLE IF EXISTS answers")
            run(f"CREATE TABLE answers AS {query}")

        yield name, best_of({name: score}, rounds, limit=20.0)[name]


def scoring(options):
    """Yield a line for each way to score the same rows by a linear and a quadratic model."""
    rows = frame(options.rows[0], 30)
    x, y = rows.drop("y").to_pandas(), rows["y"].to_numpy()
    models = {"LDA": sf.LDA().fit(x, y), "QDA": sf.QDA().fit(x, y)}
    ours = {name: lambda m=model: m.predict_proba(x) for name, model in models.items()}
    yield {"by": "suffice", **best_of(ours, options.rounds)}
    sessions = {
        name: onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        for name, model in models.items()
    }
    numbers = x.to_numpy()
    graphs = {name: lambda s=s: s.run(None, {"X": numbers}) for name, s in sessions.items()}
    yield {"by": "onnxruntime", **best_of(graphs, options.rounds)}
    connection = ibis.duckdb.connect()
    yield {"by": "DuckDB", **dict(scored(connection, in_duckdb, rows, models, options.rounds))}
    with running_postgres() as settings:
        connection = ibis.postgres.connect(**settings)
        line = dict(scored(connection, in_postgres, rows, models, options.rounds))
        yield {"by": "PostgreSQL", **line}
        connection.disconnect()


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks sql")
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--scoring", action="store_true", help="score rows instead of summing them"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{machine()}; seconds, best of {options.rounds}\n")
    for at, line in enumerate(scoring(options) if options.scoring else every_line(options)):
        text = table([line]).splitlines()
        print("\n".join(text[2 if at else 0 :]), flush=True)


def every_line(options):
    connection = ibis.duckdb.connect()
    for n in options.rows:
        yield from measured("DuckDB", connection, in_duckdb, n, options.rounds)
    with running_postgres() as settings:
        connection = ibis.postgres.connect(**settings)
        for n in options.rows:
            yield from measured("PostgreSQL", connection, in_postgres, n, options.rounds)
        connection.disconnect()
