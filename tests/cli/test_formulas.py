"""Cells that a spreadsheet would run as formulas: written as they are, or escaped if asked."""

import polars as pl
import pytest

from suffice import datasets

CELLS = [
    "=1+1",
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "-1.5e-3",
    "-1.5\n",
    "plain",
    "'=quoted",
    None,
]


@pytest.fixture
def files(ok):
    ok("fit", "iris", "-o", "m.suffice")
    rows = datasets.load("iris").frame()[: len(CELLS)]
    numbers = [-float(n) for n in range(1, len(CELLS) + 1)]
    notes = pl.Series("=note", CELLS, pl.String)
    rows = rows.with_columns(notes, number=pl.Series(numbers))
    rows.write_parquet("new.parquet")


def test_cells_are_written_as_they_are(ok, files):
    ok("predict", "m.suffice", "new.parquet", "--keep", "=note", "-o", "out.csv")
    assert pl.read_csv("out.csv")["=note"].to_list() == CELLS


@pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
def test_escaped_cells_begin_with_an_apostrophe(ok, files, name):
    keep = ("--keep", "=note", "--keep", "number")
    ok("predict", "m.suffice", "new.parquet", *keep, "--escape-formulas", "-o", name)
    answers = pl.read_csv(name, separator="\t" if name.endswith("tsv") else ",")
    assert answers["'=note"].to_list() == [
        "'=1+1",
        "+1",
        "'-2+3",
        "'@SUM(A1)",
        "'\tx",
        "-1.5e-3",
        "'-1.5\n",
        "plain",
        "'=quoted",
        None,
    ]
    assert answers["number"].to_list() == [-float(n) for n in range(1, len(CELLS) + 1)]
    assert answers["label"].to_list() == ["setosa"] * len(CELLS)


def test_standard_output_is_escaped_too(ok, files):
    text = ok("predict", "m.suffice", "new.parquet", "--keep", "=note", "--escape-formulas")
    assert "\n'=1+1," in text
    assert text.startswith("'=note,")


def test_formats_that_no_spreadsheet_runs_are_not_escaped(refused, files):
    line = refused(
        *("predict", "m.suffice", "new.parquet", "--escape-formulas", "-o", "out.parquet")
    )
    assert ".csv" in line
    assert "--escape-formulas" in line
