"""The first sheet of a workbook is a table like any other."""

import datetime as dt
import sys

import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError, SufficeWarning

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")


def _write(path, *sheets):
    with xlsxwriter.Workbook(path) as workbook:
        for rows in sheets:
            sheet = workbook.add_worksheet()
            for i, row in enumerate(rows):
                sheet.write_row(i, 0, row)
    return path


def test_a_sheet_gives_the_sums_of_its_rows_as_csv(tmp_path):
    iris = sf.datasets.load("iris").frame()
    path = _write(tmp_path / "iris.xlsx", [iris.columns, *iris.rows()])
    iris.write_csv(tmp_path / "iris.csv")
    from_sheet = sf.summarize(path, target="species")
    from_text = sf.summarize(tmp_path / "iris.csv", target="species")
    assert from_sheet.feature_names == from_text.feature_names
    assert (from_sheet.means == from_text.means).all()
    assert (from_sheet.scatters == from_text.scatters).all()


def test_text_in_cells_is_read_like_that_of_text_files(tmp_path):
    rows = [["x", "y"], ["1.5 kg", "u"], ["#N/A", "v"], ["2.5 kg", "v"], ["2 kg", "u"]]
    path = _write(tmp_path / "a.xlsx", rows)
    moments = sf.summarize(path, target="y")
    assert moments.means.ravel().tolist() == [1.75, 2.5]


def test_whole_numbers_are_labels(tmp_path):
    path = _write(tmp_path / "a.xlsx", [["x", "y"], *[[i / 2, i % 2] for i in range(10)]])
    assert sf.summarize(path, target="y").classes.tolist() == [0, 1]


def test_other_sheets_are_named_in_a_note(tmp_path):
    rows = [["x", "y"], [1.5, "u"], [2.5, "v"]]
    path = _write(tmp_path / "a.xlsx", rows, rows)
    with pytest.warns(
        SufficeWarning, match="2 sheets, and only 'Sheet1' is read, not 'Sheet2'"
    ):
        sf.summarize(path, target="y")


def test_what_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("x,y\n1,u\n")
    with pytest.raises(InvalidInputError, match=r"a\.xlsx cannot be read as a workbook"):
        sf.summarize(tmp_path / "a.xlsx", target="y")


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    path = _write(tmp_path / "a.xlsx", [["x", "y"], [1.5, "u"]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(InvalidParameterError, match=r"pip install 'suffice\[excel\]'"):
        sf.summarize(path, target="y")


def test_dates_of_a_sheet_are_dates(tmp_path):
    from suffice.data.opening import open_source

    with xlsxwriter.Workbook(
        tmp_path / "a.xlsx", {"default_date_format": "yyyy-mm-dd"}
    ) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["day", "y"])
        for i in range(1, 5):
            sheet.write_datetime(i, 0, dt.datetime(2024, 1, i))
            sheet.write(i, 1, "uv"[i % 2])
    dtype = open_source(tmp_path / "a.xlsx").sample.schema["day"]
    assert dtype == pl.Date or dtype == pl.Datetime
