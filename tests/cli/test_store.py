"""``suffice store``: what a nightly job calls."""

import json
import re

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice import datasets


@pytest.fixture
def days(run, tmp_path):
    """Write the rows of three days."""
    rows = datasets.load("iris").frame()
    for day in range(3):
        rows[day::3].write_csv(tmp_path / f"2026-11-0{day + 1}.csv")
    return rows


def test_a_night_counts_what_is_new_and_says_so(days, ok, ok_json, tmp_path):
    first = ok("store", "add", "a.store", "2026-11-0[12].csv", "-t", "species")
    assert first == (
        "a.store: 2 partitions counted, 100 rows: '2026-11-01', '2026-11-02'; 0 unchanged\n"
    )
    second = ok_json("store", "add", "a.store", "2026-11-*.csv")
    assert second["counted"] == {"2026-11-01": 0, "2026-11-02": 0, "2026-11-03": 50}
    listed = ok_json("store", "list", "a.store")["entries"]
    assert [entry["partition"] for entry in listed] == list(second["counted"])
    assert "2026-11-03" in ok("store", "list", "a.store")


def test_a_model_of_a_selection_is_that_of_its_rows(days, ok):
    ok("store", "add", "sqlite:a.db", "2026-*.csv", "-t", "species")
    ok(
        "store",
        "fit",
        "sqlite:a.db",
        "--last",
        "2",
        "-m",
        "qda",
        "--shrinkage",
        "0.1",
        "-o",
        "m",
    )
    rows = pl.concat([days[1::3], days[2::3]])
    qda = sf.QDA(shrinkage=0.1).fit(rows.drop("species"), rows["species"])
    x = days.drop("species")
    np.testing.assert_allclose(sf.load("m").predict_proba(x), qda.predict_proba(x), atol=1e-12)
    ok(
        "store",
        "total",
        "sqlite:a.db",
        "--except",
        "*-02",
        "--only",
        "*-0[12]",
        "-o",
        "t.moments",
    )
    assert int(sf.load("t.moments").counts.sum()) == 50


def test_the_last_partitions_and_named_ones_are_two_selections(days, ok, refused):
    ok("store", "add", "a.store", "2026-*.csv", "-t", "species")
    said = ("--only", "2026-11-01", "--last", "1", "-o", "t.moments")
    line = refused("store", "total", "a.store", *said)
    assert "--only and --last cannot be used together" in line


def test_forgetting_is_one_partition_rewritten_on_record(days, ok, ok_json, tmp_path):
    ok("store", "add", "a.store", "2026-*.csv", "-t", "species")
    days[0::3][1:].write_csv(tmp_path / "kept.csv")
    said = ok("store", "replace", "a.store", "2026-11-01", "kept.csv", "--why", "request 17")
    assert said == "a.store: '2026-11-01': 50 rows before, 49 now\n"
    ok("store", "remove", "a.store", "2026-11-02", "--why", "broken sensor")
    records = ok_json("store", "log", "a.store")["records"]
    assert [(r["action"], r["why"]) for r in records[3:]] == [
        ("replace", "request 17"),
        ("remove", "broken sensor"),
    ]
    assert "request 17" in ok("store", "log", "a.store")
    assert records[3]["before"] != records[3]["after"]


def test_a_partition_is_replaced_from_a_file_with_another_delimiter(days, ok, tmp_path):
    ok("store", "add", "a.store", "2026-*.csv", "-t", "species")
    days[0::3][1:].write_csv(tmp_path / "kept.csv", separator="|")
    answer = ok("store", "replace", "a.store", "2026-11-01", "kept.csv", "--delimiter", "|")
    assert answer == "a.store: '2026-11-01': 50 rows before, 49 now\n"


def test_sums_of_a_site_come_as_a_file(days, ok, ok_json):
    ok("summarize", "2026-11-01.csv", "-t", "species", "-o", "site-a.moments")
    assert ok_json("store", "add", "a.store", "site-a.moments")["counted"] == {"site-a": 50}
    ok("store", "replace", "a.store", "site-a", "site-a.moments")


def test_errors_are_one_line(days, refused, ok):
    assert "no store of moments at nowhere" in refused("store", "list", "nowhere")
    assert "does not know the target column" in refused(
        "store", "add", "a.store", "2026-*.csv"
    )
    assert "give the name of their partition" in refused(
        "store", "add", "a.store", "-", "-t", "y", stdin="a,y"
    )
    assert "no file matches" in refused("store", "add", "a.store", "x*.csv", "-t", "y")
    ok("store", "add", "a.store", "2026-*.csv", "-t", "species")
    text = refused("store", "fit", "a.store", "--only", "2026-12-*", "-o", "m")
    assert "no partition '2026-12-*'" in text
    assert "must be fitted to rows" in refused(
        "store", "fit", "a.store", "-m", "logistic", "-o", "m"
    )


def test_every_subcommand_has_examples(ok):
    from suffice.cli.store import store

    for name, sub in store.commands.items():
        text = re.sub(r" \\\n +", " ", ok("store", name, "--help"))  # lines that go on
        assert all(f"{line}\n" in text for line in sub.epilog.splitlines()[1:])
        assert json.dumps(sub.help)
