"""Databases by their addresses, wherever rows are taken; a password is never repeated."""

import gc
import json
import threading
import traceback

import ibis
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.data.sql.conftest import copied_in, labelled_frame

import suffice as sf
from suffice.cli.group import suffice as main
from suffice.data.sql.addresses import table_at
from suffice.errors import InvalidInputError, InvalidParameterError

ROWS = labelled_frame(n=300).drop("gaps", "flag", "weight").drop_nulls()


@pytest.fixture(params=["postgresql", "duckdb:", "sqlite:", ".duckdb", ".sqlite"])
def address(request, tmp_path):
    """Return the address of a database that holds the rows, and one table more."""
    if request.param == "postgresql":
        settings = request.getfixturevalue("postgres_settings")
        database = ibis.postgres.connect(**settings)
        for table in database.list_tables():
            database.drop_table(table)
        copied_in(database, ROWS, "rows")
        copied_in(database, ROWS.head(7), "few")
        url = "postgresql://suffice:s3cret@{host}:{port}/{database}".format(**settings)
    else:
        kind = request.param.strip(":.")
        path = tmp_path / ("rows.db" if ":" in request.param else f"rows.{kind}")
        database = getattr(ibis, kind).connect(path)
        database.create_table("rows", ROWS.to_arrow())
        database.create_table("few", ROWS.head(7).to_arrow())
        url = f"{kind}:{path}" if ":" in request.param else str(path)
    database.disconnect()
    return url


def assert_same(ours, theirs):
    assert ours.counts.tolist() == theirs.counts.tolist()
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-6)


def test_every_row_of_a_table_or_a_query_is_summed_and_answered(address, tmp_path):
    theirs = sf.summarize(ROWS, "colour")
    assert_same(sf.summarize(address, "colour", table="rows"), theirs)
    some = sf.summarize(address, "colour", table="SELECT * FROM rows WHERE count < 25")
    assert_same(some, sf.summarize(ROWS.filter(pl.col("count") < 25), "colour"))
    model = sf.LDA().fit_moments(theirs)
    done = sf.streams.predict_stream(model, address, tmp_path / "out.csv", table="rows")
    assert done.rows == pl.read_csv(tmp_path / "out.csv").height == ROWS.height


def test_a_connection_is_closed_by_whichever_thread_lets_go_of_it(address, monkeypatch):
    # a collection of garbage runs in any thread
    complaints = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    held = [table_at(address, "rows")]
    connection = held[0].get_backend().con
    other = threading.Thread(target=lambda: (held.clear(), gc.collect()))
    other.start()
    other.join()
    assert not complaints
    with pytest.raises(Exception, match=r"(?i)closed"):
        connection.cursor().execute("SELECT 1")


def test_the_command_line_takes_a_table_or_a_query(address, tmp_path):
    model, out = str(tmp_path / "m.suffice"), str(tmp_path / "out.csv")
    query = ["--query", "SELECT * FROM rows WHERE count < 25"]
    run = CliRunner().invoke
    fitted = run(main, ["fit", address, "-t", "colour", "--table", "rows", "-o", model])
    scored = run(main, ["predict", model, address, *query, "-o", out, "--json"])
    assert (fitted.exit_code, scored.exit_code) == (0, 0), fitted.output + scored.output
    wanted = ROWS.filter(pl.col("count") < 25).height
    assert json.loads(scored.stdout)["rows"] == wanted == pl.read_csv(out).height
    assert "s3cret" not in fitted.output + scored.output


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, "has more than one table: name one of 'few', 'rows', or a query"),
        ({"table": "row"}, "has no table 'row': name one of 'few', 'rows'"),
        ({"table": "SELECT nothing FROM rows"}, "nothing"),
    ],
)
def test_what_is_not_there_is_told_without_the_password(address, said, told):
    with pytest.raises(InvalidInputError, match=told) as caught:
        sf.summarize(address, "colour", **said)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cret@127.0.0.1:1/none",
        "postgresql://me:s3@cret@127.0.0.1:1/none",
        "postgresql://me:s3:cret/x@127.0.0.1:no/none",
        "postgresql:///none?host=127.0.0.1&port=1&user=me&password=s3cret",
        "postgresql://me:s3cret@127.0.0.1:port/none",
        "postgresql://me:100%s3cret@127.0.0.1:1/none",
    ],
)
def test_a_database_that_does_not_answer_is_told_without_the_password(address):
    with pytest.raises(InvalidInputError, match="no connection to postgresql:") as caught:
        sf.summarize(address, "t")
    told = "".join(traceback.format_exception(caught.value))
    called = CliRunner().invoke(main, ["summarize", address, "-t", "t", "-o", "x.moments"])
    assert called.exit_code
    for secret in ("s3cret", "cret", "s3"):
        assert secret not in told.replace("test_addresses", "").split("Error: ", 1)[1]
        assert secret not in called.output


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    for address in (
        f"sqlite:{tmp_path}/no.db",
        f"duckdb:{tmp_path}/no.db",
        f"{tmp_path}/no.duckdb",
    ):
        with pytest.raises(InvalidInputError, match="there is no file"):
            sf.summarize(address, "t")
    assert not list(tmp_path.iterdir())


def test_a_table_of_what_is_no_database_is_refused(tmp_path):
    for source in ("iris", ROWS):
        with pytest.raises(InvalidParameterError, match="only with the address of a database"):
            sf.summarize(source, "colour", table="rows")
