"""What a person says about a file is heard by every command, and what is unclear is asked."""

import polars as pl
import pytest

from suffice.cli import data as data_module

TITANIC = "survived,sex,fare,embarked\n" + "".join(
    f"{i % 2},{'mf'[i % 3 == 0]},{i}.5,{'SCQ'[i % 3]}\n" for i in range(30)
)


@pytest.fixture
def write(tmp_path):
    def write(content, name="d.csv"):
        (tmp_path / name).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
        return name

    return write


OPTIONS = {
    "decimal": (["--decimal", ","], "x;t\n1,659;u\n571;v\n1,2;u\n3;v\n"),
    "thousands": (["--thousands", ","], "x;t\n1,659;u\n571;v\n1,250;u\n3;v\n"),
    "no header": (["--no-header", "-t", "column_1"], "1,u\n2,v\n3,u\n4,v\n"),
    "header": (["--header", "-t", "u"], "1.5,u\n2,v\n3,u\n4,v\n5,u\n"),
    "skip rows": (["--skip-rows", "2"], "made\nby hand\nx,t\n1,u\n2,v\n3,u\n4,v\n"),
    "comment": (["--comment", "%"], "% made\nx,t\n1,u\n%\n2,v\n3,u\n4,v\n"),
    "encoding": (["--encoding", "cp437"], "x,t\n1,ü\n2,v\n3,ü\n4,v\n".encode("cp437")),
    "na": (["--na", "-"], "x,t\n1,u\n2,v\n3,u\n4,v\n-,u\nNA,v\n"),
}


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("command", ["fit", "summarize"])
def test_every_way_of_reading_can_be_said(ok_json, write, command, case):
    options, text = OPTIONS[case]
    target = [] if "-t" in options else ["-t", "t"]
    facts = ok_json(command, write(text), *options, *target, "-o", "out.suffice")
    assert facts["rows"] == (6 if case == "na" else 4)


def test_predict_hears_it_too(ok, write, tmp_path):
    ok("fit", write("x;t\n1,5;u\n571;v\n2,5;u\n400;v\n"), "-t", "t", "-o", "m.suffice")
    ok(
        "predict",
        "m.suffice",
        write("made\nx\n1,659\n"),
        "--decimal",
        ",",
        "--skip-rows",
        "1",
        "--delimiter",
        ";",
        "-o",
        "out.csv",
    )
    assert pl.read_csv(tmp_path / "out.csv")["label"].to_list() == ["u"]


@pytest.mark.slow
def test_the_report_says_how_to_read_the_file_again(ok, write, tmp_path):
    rows = "".join(f"{i % 7},{i % 10};{'uv'[i % 2]}\n" for i in range(40))
    ok(
        "report",
        write("made\nx;t\n" + rows),
        "-t",
        "t",
        "--skip-rows",
        "1",
        "--decimal",
        ",",
        "--cv",
        "2",
        "-o",
        "r.md",
    )
    text = (tmp_path / "r.md").read_text()
    assert "--skip-rows 1" in text
    assert "--decimal ," in text


def test_a_target_that_several_columns_may_be_is_refused_with_a_list(refused, write):
    line = refused("fit", write(TITANIC), "-o", "m.suffice")
    assert "which column holds the labels? name the target, one of 'survived', 'sex'" in line


def test_at_a_terminal_it_is_asked_for(run, write, monkeypatch):

    asked = []
    monkeypatch.setattr(data_module, "_can_ask", lambda: True)
    monkeypatch.setattr(
        data_module.click, "prompt", lambda *a, **k: asked.append((a, k)) or "survived"
    )
    assert run("fit", write(TITANIC), "-f", "fare", "-o", "m.suffice").exit_code == 0
    assert asked[0][1]["type"].choices == ("survived", "sex", "embarked")


def test_a_workbook_is_no_sums(refused, write):
    line = refused("report", write(b"PK\x03\x04" + bytes(100), "d.xlsx"))
    assert "workbook" in line
    assert "as CSV" in line


def test_one_column_is_enough_to_predict(ok, write, tmp_path):
    ok("fit", write("hours,t\n1,u\n2,u\n5,v\n6,v\n"), "-t", "t", "-o", "m.suffice")
    for more in ([], ["--delimiter", ","]):
        ok("predict", "m.suffice", write("hours\n1\n6\n"), *more, "-o", "out.csv", "--force")
        assert pl.read_csv(tmp_path / "out.csv")["label"].to_list() == ["u", "v"]
