"""A database that goes away, or is told to stop: said so, and nothing is counted twice."""

import threading
import time
from contextlib import contextmanager

import ibis
import numpy as np
import polars as pl
import psycopg
import pytest
from tests.data.sql.conftest import copied_in
from tests.data.sql.test_summarize import assert_same

from suffice.data.columns.roles import Roles
from suffice.data.sql import engines
from suffice.data.sql.database import TableSource
from suffice.data.sql.engines import Engine, engine_of
from suffice.data.sql.sums import TableSums
from suffice.data.summarize import summarize
from suffice.errors import DatabaseError, InvalidInputError

MANY = 60_000


@pytest.fixture
def rows(postgres):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {**{f"x{j}": rng.normal(size=MANY) for j in range(6)}, "y": np.arange(MANY) % 3}
    )
    copied_in(postgres, frame, "rows")
    return frame


@pytest.fixture
def control(postgres_settings):
    """Return what asks another connection."""
    settings = {**postgres_settings, "dbname": postgres_settings["database"]}
    del settings["database"], settings["password"]
    with psycopg.connect(**settings, autocommit=True) as other:
        yield lambda query: other.execute(query).fetchall()


@contextmanager
def locked(settings, table):
    """Hold a lock that no reader passes; yield what gives it up."""
    other = ibis.postgres.connect(**settings)
    other.con.autocommit = False
    other.con.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    try:
        yield
    finally:
        other.con.rollback()
        other.disconnect()


def stop_when_waiting(send, connection, command):
    """Stop the query of a connection once it waits for the lock."""
    waiting = f"SELECT 1 FROM pg_locks WHERE NOT granted AND pid = {connection}"
    while not send(waiting):
        time.sleep(0.01)
    send(f"SELECT {command}({connection})")


@pytest.mark.parametrize("method", ["database", "local"])
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("pg_terminate_backend", "connection was lost while reading table 'rows' of postgres"),
        ("pg_cancel_backend", "query over table 'rows' of postgres was cancelled"),
    ],
)
def test_a_query_stopped_in_the_middle_is_told_and_the_next_is_right(
    postgres, postgres_settings, rows, control, method, command, said
):
    source = TableSource.of(postgres.table("rows"), method).source
    pid = postgres.con.info.backend_pid
    stopper = threading.Thread(target=stop_when_waiting, args=(control, pid, command))
    with locked(postgres_settings, "rows"):
        stopper.start()
        with pytest.raises(DatabaseError, match=said):
            summarize(source, "y")
        stopper.join()
    if command == "pg_terminate_backend":
        postgres.reconnect()
    assert_same(summarize(postgres.table("rows"), "y", on=method), summarize(rows, "y"))


def test_a_connection_lost_between_batches_leaves_nothing_behind(
    postgres, rows, control, monkeypatch
):
    monkeypatch.setattr("suffice.data.rows.loading._NUMBERS", 6 * 4096)
    monkeypatch.setattr(engines, "_BYTES", 1 << 16)
    source, seen = TableSource.of(postgres.table("rows"), "local").source, []

    def progress(done, _):
        seen.append(done)
        if len(seen) == 1:
            control(f"SELECT pg_terminate_backend({postgres.con.info.backend_pid})")

    with pytest.raises(DatabaseError, match="connection was lost"):
        summarize(source, "y", progress=progress)
    assert 0 < seen[-1] < MANY


def test_rows_that_come_between_two_queries_are_noticed(duckdb):
    frame = pl.DataFrame(
        {"a": np.arange(9.0), "b": np.arange(9.0) ** 2, "y": np.arange(9) % 2}
    )
    table = duckdb.create_table("rows", frame.to_arrow())
    source = TableSource.of(table)

    def ask(query):
        answer = pl.DataFrame(duckdb.to_pyarrow(query))
        duckdb.raw_sql("INSERT INTO rows VALUES (1, 2, 1)")
        return answer

    sums = TableSums(
        table=table,
        roles=Roles(("a", "b"), "y"),
        sample=source.sample,
        pilots=np.zeros(2),
        engine=Engine(max_outputs=7),
        ask=ask,
        label="rows",
    )
    with pytest.raises(DatabaseError, match="changed while it was summed"):
        sums.summed("per-class")


def test_postgres_shows_one_snapshot_to_all_queries(postgres, postgres_settings):
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {**{f"x{j}": rng.normal(size=40) for j in range(3)}, "y": np.arange(40) % 2}
    )
    table = copied_in(postgres, frame, "rows")
    with engine_of(postgres).session(postgres):
        before = postgres.execute(table.count())
        other = ibis.postgres.connect(**postgres_settings)
        other.raw_sql("INSERT INTO rows VALUES (1, 2, 3, 1)")
        other.disconnect()
        assert postgres.execute(table.count()) == before
    assert postgres.execute(table.count()) == before + 1


def test_a_table_that_was_dropped_meanwhile_is_named(filled, database):
    table = filled(pl.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}))
    database.drop_table("rows")
    with pytest.raises(InvalidInputError, match=r"table 'rows' of .* cannot be read: .*rows"):
        summarize(table, "y")
