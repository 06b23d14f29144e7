"""No command destroys what it reads, and a report takes the place of nothing unasked."""

import json
import os
from pathlib import Path

import click
import pytest

import suffice as sf
from suffice import datasets
from suffice.cli.group import suffice
from suffice.cli.options import OutputFile


@pytest.fixture
def files(ok, tmp_path):
    """Write rows, a model and moments; return the content of every file."""
    datasets.load("iris").frame().write_csv("mine.csv")
    ok("fit", "iris", "-o", "m.suffice")
    ok("summarize", "iris", "-o", "i.moments")
    ok("summarize", "iris", "-o", "j.moments")
    os.symlink("mine.csv", "link.csv")
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


OVER_INPUT = {
    "predict": ("predict", "m.suffice", "mine.csv", "-o", "mine.csv"),
    "predict, another spelling": ("predict", "m.suffice", "mine.csv", "-o", "./mine.csv"),
    "predict, a link": ("predict", "m.suffice", "mine.csv", "-o", "link.csv"),
    "predict, a glob": ("predict", "m.suffice", "mi*.csv", "-o", "mine.csv"),
    "predict, the model": ("predict", "m.suffice", "mine.csv", "-o", "m.suffice"),
    "fit": ("fit", "mine.csv", "-t", "species", "-o", "mine.csv"),
    "fit, moments": ("fit", "i.moments", "-o", "i.moments"),
    "summarize": ("summarize", "mine.csv", "-t", "species", "-o", "mine.csv"),
    "summarize, checkpoint": (
        *("summarize", "mine.csv", "-t", "species", "-o", "x.moments"),
        *("--checkpoint", "mine.csv"),
    ),
    "compare": ("compare", "mine.csv", "-t", "species", "-m", "lda", "-o", "mine.csv"),
    "report": ("report", "mine.csv", "-t", "species", "-o", "mine.csv", "--format", "md"),
    "lecture": ("lecture", "mine.csv", "-t", "species", "-o", "mine.csv"),
    "merge": ("merge", "i.moments", "j.moments", "-o", "j.moments"),
    "forget, a part": ("forget", "i.moments", "j.moments", "-o", "j.moments"),
    "export": ("export", "m.suffice", "--to", "json", "-o", "m.suffice"),
    "sample": ("sample", "m.suffice", "-o", "m.suffice"),
}


@pytest.mark.parametrize("case", OVER_INPUT)
def test_output_over_input_is_refused(refused, files, tmp_path, case):
    line = refused(*OVER_INPUT[case])
    assert "would replace the input" in line
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize("name", ["rows", "file://rows/mine.csv"])
def test_output_over_a_file_of_a_folder_is_refused(refused, files, name):
    Path("rows").mkdir()
    Path("rows/mine.csv").write_bytes(files["mine.csv"])
    line = refused("predict", "m.suffice", name, "-o", "rows/mine.csv")
    assert "would replace the input rows" in line
    assert Path("rows/mine.csv").read_bytes() == files["mine.csv"]


def test_two_outputs_are_two_files(refused, files):
    line = refused("summarize", "iris", "-o", "x.moments", "--checkpoint", "./x.moments")
    assert "two outputs" in line


def test_forgetting_in_place_stays_possible(ok, files):
    ok("forget", "i.moments", "j.moments", "-o", "i.moments")
    assert sf.load("i.moments").counts.sum() == 0


def test_a_report_takes_a_free_name_and_says_so(run):
    Path("exam.suffice").write_text("a model of weeks")
    Path("report-exam.md").write_text("a page with remarks")
    told = run("report", "exam", "--fast", "--cv", "2", "--format", "md", "--json")
    assert told.exit_code == 0, told.stderr
    done = json.loads(told.stdout)
    assert (done["output"], done["model"]) == ("report-exam-2.md", "exam-2.suffice")
    assert "exam.suffice exists: writing exam-2.suffice" in told.stderr
    assert "exam-2.suffice" in Path("report-exam-2.md").read_text()
    assert Path("exam.suffice").read_text() == "a model of weeks"
    assert Path("report-exam.md").read_text() == "a page with remarks"


@pytest.mark.parametrize("several", [(), ("wine",)])
def test_nothing_is_said_of_writing_before_the_table_is_read(run, several):
    for name in ("exam.suffice", "report-exam.html", "report-index.html"):
        Path(name).write_text("old")
    told = run("report", "exam", *several, "--target", "label", "--cv", "2")
    assert told.exit_code == 1
    assert "exam has no column 'label'" in told.stderr
    assert "writing" not in told.stderr


def test_a_lecture_takes_a_free_name_and_says_so(run):
    Path("lecture-exam.html").write_text("remarks")
    told = run("lecture", "exam", "--cv", "2")
    assert told.exit_code == 0, told.stderr
    assert "lecture-exam.html exists: writing lecture-exam-2.html" in told.stderr
    assert Path("lecture-exam-2.html").read_text().startswith("<!doctype html>")
    assert Path("lecture-exam.html").read_text() == "remarks"
    assert run("lecture", "exam", "--cv", "2", "--force").exit_code == 0
    assert Path("lecture-exam.html").read_text().startswith("<!doctype html>")


def test_a_key_is_never_replaced(refused):
    Path("my.key").write_text("secret")
    assert "a key that is replaced is lost" in refused("key", "-o", "my.key")
    assert Path("my.key").read_text() == "secret"


def test_a_report_replaces_by_force(ok_json):
    Path("exam.suffice").write_text("old")
    Path("page.md").write_text("old")
    done = ok_json("report", "exam", "--fast", "--cv", "2", "-o", "page.md", "--force")
    assert (done["output"], done["model"]) == ("page.md", "exam.suffice")
    assert isinstance(sf.load("exam.suffice").classes_.tolist(), list)
    assert Path("page.md").read_text() != "old"


def test_a_page_that_is_named_and_there_needs_force(refused):
    Path("page.md").write_text("old")
    assert "page.md exists" in refused("report", "exam", "--cv", "2", "-o", "page.md")
    assert Path("page.md").read_text() == "old"


def test_a_page_has_a_format(refused):
    assert "--format" in refused("report", "exam", "-o", "page.csv")
    assert not Path("page.csv").exists()


EXISTING = {
    "fit": ("fit", "iris", "-o", "mine.csv"),
    "fit over moments": ("fit", "iris", "-o", "i.moments"),
    "summarize": ("summarize", "iris", "-o", "mine.csv"),
    "summarize over a model": ("summarize", "iris", "-o", "m.suffice"),
    "summarize, checkpoint": (
        "summarize",
        "iris",
        "-o",
        "x.moments",
        "--checkpoint",
        "mine.csv",
    ),
    "merge": ("merge", "i.moments", "j.moments", "-o", "m.suffice"),
    "forget": ("forget", "i.moments", "j.moments", "-o", "mine.csv"),
    "predict": ("predict", "m.suffice", "iris", "-o", "mine.csv"),
    "export": ("export", "m.suffice", "--to", "json", "-o", "mine.csv"),
    "sample": ("sample", "m.suffice", "-o", "mine.csv"),
    "compare": ("compare", "iris", "-m", "lda", "-o", "mine.csv"),
    "plot": ("plot", "roc", "iris", "-o", "page.svg"),
    "report": ("report", "iris", "-o", "page.md"),
    "lab": ("lab", "--save", "page.html"),
    "lecture": ("lecture", "iris", "-o", "page.html"),
    "drift": ("drift", "m.suffice", "iris", "-o", "page.svg"),
    "compare, figure": ("compare", "iris", "-m", "lda", "--plot", "page.svg"),
    "forget, receipt": (
        *("forget", "i.moments", "j.moments", "-o", "rest.moments"),
        *("--receipt", "mine.csv"),
    ),
    "grid": ("grid", "iris", "-o", "mine.csv"),
    "datasets": ("datasets", "iris", "-o", "mine.csv"),
    "store fit": ("store", "fit", "days", "-o", "mine.csv"),
    "store total": ("store", "total", "days", "-o", "mine.csv"),
    "store receipts": ("store", "receipts", "days", "--number", "1", "-o", "mine.csv"),
    "mask": (
        *("mask", "i.moments", "--party", "a", "--key", "mine.csv", "--peers", "mine.csv"),
        *("--round", "1", "-o", "page.md"),
    ),
}


def outputs_of(command, path=()):
    """Yield each command that writes files, with the options that name them."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from outputs_of(
                command.get_command(click.Context(command), name), (*path, name)
            )
    elif options := [p for p in command.params if isinstance(p.type, OutputFile)]:
        yield " ".join(path), {option.opts[-1] for option in options}


def test_every_output_of_every_command_is_tried():
    known = {"--output": "-o"}
    for name, options in outputs_of(suffice):
        if name == "key":  # a key is never replaced
            continue
        tried = [args for args in EXISTING.values() if " ".join(args).startswith(f"{name} ")]
        for option in options:
            assert any(known.get(option, option) in args for args in tried), (name, option)


@pytest.mark.parametrize("case", EXISTING)
def test_a_file_that_the_command_did_not_write_is_not_replaced_unasked(refused, files, case):
    for name in ("page.svg", "page.md", "page.html"):
        Path(name).write_text("remarks")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    line = refused(*EXISTING[case])
    assert "exists" in line
    assert "--force" in line
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_force_replaces_a_file(ok, files):
    ok("predict", "m.suffice", "iris", "-o", "mine.csv", "--force")
    assert Path("mine.csv").read_bytes() != files["mine.csv"]
    ok("fit", "iris", "-o", "mine.csv", "--force")
    assert sf.load("mine.csv").n_features_in_ == 4


def test_models_and_moments_replace_their_like_and_any_output_an_empty_file(ok, files):
    ok("fit", "iris", "-m", "qda", "-o", "m.suffice")
    assert isinstance(sf.load("m.suffice"), sf.QDA)
    ok("summarize", "wine", "-o", "i.moments")
    assert sf.load("i.moments").n_features == 13
    Path("empty.csv").touch()
    ok("sample", "m.suffice", "-o", "empty.csv")
    ok("export", "m.suffice", "--to", "json", "-o", "/dev/null")


OVER_LOOP = {
    "fit": ("fit", "iris", "-o", "loop"),
    "predict": ("predict", "m.suffice", "mine.csv", "-o", "loop.csv", "--force"),
    "summarize": ("summarize", "iris", "-o", "loop"),
    "report": ("report", "iris", "-o", "loop.html", "--force"),
    "sample": ("sample", "m.suffice", "-o", "loop.csv"),
    "export": ("export", "m.suffice", "--to", "json", "-o", "loop"),
    "store": ("store", "add", "loop", "mine.csv", "-t", "species"),
}


@pytest.mark.parametrize("case", OVER_LOOP)
def test_a_link_to_itself_is_no_output(refused, files, case):
    for name in ("loop", "loop.csv", "loop.html"):
        Path(name).symlink_to(name)
    assert "is a link that leads back to itself" in refused(*OVER_LOOP[case])
    assert all(Path(name).is_symlink() for name in ("loop", "loop.csv", "loop.html"))


def test_a_store_is_no_file(refused, files):
    line = refused("store", "add", "mine.csv", "mine.csv", "-t", "species")
    assert "mine.csv is a file, but a store is a folder" in line
    assert Path("mine.csv").read_bytes() == files["mine.csv"]
