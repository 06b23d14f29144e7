"""A database file that someone else wrote reads nothing else and changes nothing."""

import sqlite3

import polars as pl
import pytest

import suffice as sf
from suffice.data.sql import files
from suffice.errors import InvalidInputError, SufficeError
from suffice.present.lab.server import LabTable

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("the words of a local file")
    return path


def duckdb_file(path, *statements):
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE good AS SELECT i AS x, i % 2 AS y FROM range(20) t(i)"
        )
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize("call", ["read_text", "read_csv", "read_blob"])
def test_a_view_of_duckdb_reads_no_local_file(tmp_path, secret, call):
    view = f"CREATE VIEW bad AS SELECT 1 AS x, 2 AS y, * FROM {call}('{secret}')"
    path = duckdb_file(tmp_path / "a.duckdb", view)
    with pytest.raises(SufficeError) as caught:
        sf.summarize(str(path), "y", table="bad")
    assert "the words of" not in str(caught.value)
    assert "external" in str(caught.value) or "disabled" in str(caught.value)
    assert sf.summarize(str(path), "y", table="good").counts.sum() == 20


def test_a_query_over_a_file_of_duckdb_cannot_open_the_gate_again(tmp_path, secret):
    path = duckdb_file(tmp_path / "a.duckdb")
    for query in (
        "SET enable_external_access = true",
        f"SELECT 1 AS x, content AS y FROM read_text('{secret}')",
        f"ATTACH '{tmp_path / 'b.duckdb'}' AS b",
        f"COPY good TO '{tmp_path / 'out.csv'}'",
        "INSTALL httpfs",
        "LOAD httpfs",
    ):
        with pytest.raises(SufficeError):
            sf.summarize(str(path), "y", table=query)
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "b.duckdb").exists()


def test_external_access_stays_off_while_a_file_of_duckdb_is_open(tmp_path, secret):
    from suffice.data.sql.addresses import table_at

    path = duckdb_file(tmp_path / "a.duckdb")
    connection = table_at(str(path), "good").get_backend().con
    for statement in (
        "SET enable_external_access = true",
        "SET GLOBAL enable_external_access = true",
        "RESET enable_external_access",
        "SET allow_unsigned_extensions = true",
        f"SELECT * FROM read_text('{secret}')",
        f"ATTACH '{tmp_path / 'b.duckdb'}' AS b",
        f"ATTACH '{tmp_path / 'a.duckdb'}' AS c",
        f"COPY good TO '{tmp_path / 'out.csv'}'",
        f"EXPORT DATABASE '{tmp_path / 'out'}'",
        f"LOAD '{secret}'",
        "CREATE TABLE more AS SELECT 1",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(statement)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.duckdb", "secret.txt"]


def test_the_lab_reads_no_local_file_through_an_upload(tmp_path, secret):
    from suffice.present.lab.server import Lab

    statements = ["DROP TABLE good", f"CREATE VIEW v AS SELECT * FROM read_text('{secret}')"]
    path = duckdb_file(tmp_path / "a.duckdb", *statements)
    lab = Lab()
    with pytest.raises(InvalidInputError) as caught:
        lab.upload(path.read_bytes(), "a.duckdb", "content")
    assert "the words of" not in str(caught.value)
    assert lab.table is None


def sqlite_file(path, *statements):
    frame = pl.DataFrame({"x": range(20), "y": [0, 1] * 10})
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE good (x INTEGER, y INTEGER)")
    connection.executemany("INSERT INTO good VALUES (?, ?)", frame.rows())
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_file_of_sqlite_is_neither_changed_nor_a_way_to_others(tmp_path):
    path = sqlite_file(tmp_path / "a.sqlite")
    other = sqlite_file(tmp_path / "other.sqlite")
    before = path.read_bytes()
    for query in (
        f"ATTACH DATABASE '{other}' AS other",
        f"ATTACH DATABASE '{tmp_path / 'new.sqlite'}' AS new",
        "DELETE FROM good",
        "SELECT load_extension('libm.so.6') AS y",
        "PRAGMA writable_schema = ON",
        f"VACUUM INTO '{tmp_path / 'new.sqlite'}'",
    ):
        with pytest.raises(SufficeError):
            sf.summarize(str(path), "y", table=query)
    assert path.read_bytes() == before
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.sqlite", "other.sqlite"]
    assert sf.summarize(str(path), "y", table="good").counts.sum() == 20


def test_a_file_of_sqlite_can_be_read_where_nothing_can_be_written(tmp_path):
    folder = tmp_path / "read-only"
    folder.mkdir()
    path = sqlite_file(folder / "a.sqlite")
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert sf.summarize(str(path), "y").counts.sum() == 20
    finally:
        folder.chmod(0o755)


def test_connections_of_other_threads_are_as_restricted(tmp_path):
    import threading

    from suffice.data.sql.addresses import table_at
    from suffice.data.sql.engines import engine_of

    path = sqlite_file(tmp_path / "a.sqlite")
    backend = table_at(str(path), "good").get_backend()
    connection_of_thread = engine_of(backend).backend_of_thread(backend)
    errors = []

    def write():
        try:
            connection_of_thread().con.execute("DELETE FROM good")
        except sqlite3.Error as error:
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert "readonly" in str(errors[0]) or "not authorized" in str(errors[0])


def test_a_connection_to_a_file_of_duckdb_writes_nothing(tmp_path):
    path = duckdb_file(tmp_path / "a.duckdb")
    backend = files.duckdb_file(path)
    try:
        with pytest.raises(duckdb.InvalidInputException, match="read-only mode"):
            backend.con.execute("DELETE FROM good")
    finally:
        backend.disconnect()


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE ':memory:' AS other",
        "PRAGMA writable_schema = ON",
        "PRAGMA trusted_schema = ON",
    ],
)
def test_a_connection_to_a_file_of_sqlite_cannot_be_opened_further(tmp_path, statement):
    connection = files.sqlite_file(sqlite_file(tmp_path / "a.sqlite"))
    try:
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            connection.execute(statement)
    finally:
        connection.close()


def test_a_view_of_sqlite_calls_no_function_of_the_program(tmp_path):
    calls = []
    path = sqlite_file(tmp_path / "a.sqlite", "CREATE VIEW spy AS SELECT spied() AS x")
    connection = files.sqlite_file(path)
    connection.create_function("spied", 0, lambda: calls.append(1))
    try:
        with pytest.raises(sqlite3.OperationalError, match="unsafe use"):
            connection.execute("SELECT * FROM spy")
    finally:
        connection.close()
    assert not calls


def test_the_lab_reads_no_local_file_through_an_uploaded_database(tmp_path, secret):
    view = f"CREATE VIEW bad AS SELECT 1 AS x, content AS y FROM read_text('{secret}')"
    path = duckdb_file(tmp_path / "a.duckdb", view, "DROP TABLE good")
    with pytest.raises(SufficeError) as caught:
        LabTable.opened(str(path), "y")
    assert "the words of" not in str(caught.value)
    assert "external" in str(caught.value) or "disabled" in str(caught.value)
