import base64
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import suffice as sf
from suffice.cli import report as report_command
from suffice.cli.report import wrapped_at


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run one report of penguins, and return the folder it was written to."""
    from click.testing import CliRunner

    from suffice.cli.group import suffice

    folder = tmp_path_factory.mktemp("report")
    page = folder / "birds.md"
    said = CliRunner().invoke(suffice, ["report", "penguins", "--fast", "-o", str(page)])
    assert said.exit_code == 0, said.stderr
    return folder, said


@pytest.mark.slow
def test_the_model_stands_beside_the_page_and_answers(made):
    folder, _ = made
    model = sf.load(folder / "penguins.suffice")
    assert model.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert "bill_length_mm" in model.feature_names_in_
    assert "penguins.suffice" in (folder / "birds.md").read_text()


def test_text_and_empty_cells_leave_no_row_and_no_column_out(made):
    folder, said = made
    model = sf.load(folder / "penguins.suffice")
    page = (folder / "birds.md").read_text()
    assert "left out" not in said.stderr
    assert "344 rows" in page
    assert "island (3 levels) and sex (2 levels and missing)" in page
    assert {"island", "sex"} <= set(model.feature_names_in_)


def test_a_class_without_a_usable_row_is_named_as_are_rows_without_a_label(run):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},1,{'xy'[i % 2]}" for i in range(40)]
    rows += ["1,1,,z", "2,3,1,"]
    Path("lost.csv").write_text("\n".join(["row,b,w,kind", *rows]))
    said = run("report", "lost.csv", "-t", "kind", "--weight", "w", "--fast", "-o", "lost.md")
    assert said.exit_code == 0, said.stderr
    page = Path("lost.md").read_text()
    for text in (said.stderr, page):
        assert "2 of 42 rows are left out: no usable value in 'kind' (1), 'w' (1)" in text
        assert "no usable row is left of the class 'z'" in text


def test_groups_are_held_out_whole_and_are_no_feature(ok):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]},site {i % 6}" for i in range(90)]
    Path("sites.csv").write_text("\n".join(["a,b,kind,site", *rows]))
    ok("report", "sites.csv", "-t", "kind", "--groups", "site", "--fast", "-q", "-o", "s.md")
    page = Path("s.md").read_text()
    assert "90 rows of 2 features" in page
    assert "3 stratified folds of whole groups" in page
    assert "Folds keep whole groups of site together (6 groups)" in page
    assert list(sf.load("sites.suffice").feature_names_in_) == ["a", "b"]
    assert "--groups site" in page
    said = ok("compare", "sites.csv", "-t", "kind", "--groups", "site", "-m", "lda")
    assert "6 stratified folds of whole groups" in said
    known = pd.read_csv("sites.csv")
    wanted = sf.compare(known[["a", "b"]], known["kind"], ["LDA"], None, groups=known["site"])
    assert wanted.verdict in said


def test_a_row_without_its_group_is_refused(refused):
    rows = [f"{i % 7},{'xy'[i % 2]},{'' if i == 4 else i % 6}" for i in range(60)]
    Path("holes.csv").write_text("\n".join(["a,kind,site", *rows]))
    said = refused("compare", "holes.csv", "-t", "kind", "--groups", "site", "-m", "lda")
    assert "row 4 (counted from 0) has no group" in said
    said = refused("report", "holes.csv", "-t", "kind", "--groups", "sit", "--fast")
    assert "did you mean 'site'?" in said


def test_the_verdict_is_printed(made):
    _, said = made
    assert "of held-out rows (95 % interval" in said.stdout


def test_rows_are_numbered_from_0_where_they_have_no_id(ok):
    head = "id,a,b,kind\n"
    rows = [f"p{i},{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]}\n" for i in range(40)]
    rows[3] = "p3,,1,y\n"
    Path("with.csv").write_text(head + "".join(rows))
    Path("without.csv").write_text(
        "a,b,kind\n" + "".join(row.split(",", 1)[1] for row in rows)
    )
    for name in ("with", "without"):
        ok("report", f"{name}.csv", "-t", "kind", "--fast", "--format", "json", "-q")
    pages = [json.loads(Path(f"report-{n}.json").read_text()) for n in ("with", "without")]
    tables = [
        next(
            b
            for s in page["sections"]
            for b in s["blocks"]
            if b.get("caption") == "Worst predictions"
        )
        for page in pages
    ]
    named, numbered = ([row[0] for row in table["rows"]] for table in tables)
    assert tables[0]["columns"][0] == "id"
    assert named == [f"p{number}" for number in numbered]


def test_json_holds_the_verdict_and_the_line_up(ok_json):
    told = ok_json("report", "exam", "--cv", "2", "--format", "md")
    assert told["output"] == "report-exam.md"
    assert told["model"] == "exam.suffice"
    assert {"LDA", "QDA"} <= {row["model"] for row in told["models"]}


def code_of(page):
    """Return the code under "How to use it"."""
    (use,) = (section for section in page["sections"] if section["key"] == "use")
    return [block["text"] for block in use["blocks"] if block["kind"] == "code"]


def test_the_command_on_the_page_names_no_folder_of_the_author(ok, tmp_path):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]}" for i in range(60)]
    (tmp_path / "own rows.csv").write_text("\n".join(["a,b,y", *rows]))
    given = ["report", tmp_path / "own rows.csv", "--target=y", "--fast", "-q", "-o"]
    ok(*given, tmp_path / "a.json", f"--against={tmp_path / 'own rows.csv'}")
    page = Path("a.json").read_text()
    assert str(tmp_path) not in page
    code = code_of(json.loads(page))
    words = "--target=y --fast -q -o a.json '--against=own rows.csv'"
    assert code[-1] == f"suffice report 'own rows.csv' {words}"


def test_the_command_on_the_page_is_the_one_that_was_typed_without_passwords(ok):
    typed = "report iris --cv 3 -i sepal_width --na sql://eve:s3cret@h --fast -o a.json -q"
    ok(*typed.split())
    page = json.loads(Path("a.json").read_text())
    code = code_of(page)
    assert code[-1] == f"suffice {typed}".replace("s3cret", "***")


def test_sums_are_no_rows(ok, refused):
    ok("summarize", "iris", "-o", "iris.moments", "-q")
    assert "needs rows" in refused("report", "iris.moments")


def test_new_rows_are_told_apart_on_the_command_line(ok):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]}" for i in range(60)]
    moved = [f"{i % 7 + 3 * (i % 2)},{i % 5 + 9},{'yx'[i % 2]}" for i in range(40)]
    Path("old.csv").write_text("\n".join(["a,b,kind", *rows]))
    Path("new.csv").write_text("\n".join(["a,b,kind", *moved]))
    Path("bare.csv").write_text("\n".join(["a,b", *(row.rsplit(",", 1)[0] for row in moved)]))
    options = ("-t", "kind", "--fast", "-q")
    ok("report", "old.csv", *options, "--against", "new.csv", "-o", "labelled.md")
    page = Path("labelled.md").read_text()
    lead = "The page compares 40 new rows (new) with the 60 rows of the report. These columns have"
    assert f"{lead} changed significantly: 'b'" in page
    new = pd.read_csv("new.csv")
    wrong = sf.load("old.suffice").predict(new[["a", "b"]]) != new["kind"]
    assert f"misclassifies {wrong.sum()} of 40 new rows, more often than held-out rows" in page
    assert "--against new.csv" in page
    ok("report", "old.csv", *options, "--against", "bare.csv", "-o", "bare.md")
    page = Path("bare.md").read_text()
    assert "changed significantly: 'b'" in page
    assert "more often than held-out rows" not in page


def test_of_several_tables_each_has_its_page_and_an_index_names_them(ok):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]}" for i in range(60)]
    for name in ("north", "south & west"):
        Path(f"{name}.csv").write_text("\n".join(["a,b,kind", *rows]))
    ok("report", "north.csv", "south & west.csv", "-t", "kind", "--fast", "-q")
    index = Path("report-index.html").read_text()
    for page in ("report-north.html", "report-south___west.html"):
        assert f'href="{page}"' in index
        headline = re.search(r'<p class="answer[^>]*>(.*?)</p>', Path(page).read_text())[1]
        assert headline in index
    assert Path("north.suffice").exists()
    assert Path("south___west.suffice").exists()


def test_the_terminal_says_every_caveat_and_wraps_at_words(ok):
    rows = [f"{i % 7},{'xy'[i % 2]},{i % 2 * 5 + i / 1000}" for i in range(60)]
    Path("leak.csv").write_text("\n".join(["a,kind,later", *rows]))
    printed = ok("report", "leak.csv", "-t", "kind", "--fast", "-o", "a.html")
    told = json.loads(
        ok("report", "leak.csv", "-t", "kind", "--fast", "-o", "b.html", "--json")
    )
    assert any("later" in caveat for caveat in told["caveats"])
    for sentence in (told["headline"], *told["caveats"], told["next"]):
        assert sentence.replace("\N{NO-BREAK SPACE}", " ") in printed
    lines = wrapped_at(told["headline"], 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(lines) == told["headline"].replace("\N{NO-BREAK SPACE}", " ")


def test_new_rows_are_read_as_the_table_wrote_its_numbers(run, tmp_path, monkeypatch):
    rows = "".join(f"{1 + i % 7}.{100 + i},25;{i % 5},5;{'uv'[i % 2]}\n" for i in range(1, 61))
    (tmp_path / "old.csv").write_text(f"x;y;t\n{rows}")
    new = "".join(f"{1 + i % 7}.{100 + i};{i % 5};{'uv'[i % 2]}\n" for i in range(1, 61))
    (tmp_path / "new.csv").write_text(f"x;y;t\n{new}")
    seen = []
    new_rows = report_command._new_rows
    monkeypatch.setattr(
        report_command, "_new_rows", lambda d, t: seen.append(new_rows(d, t)) or seen[0]
    )
    result = run("report", "old.csv", "-t", "t", "--against", "new.csv", "--fast")
    assert result.exit_code == 0, result.output
    assert seen[0].rows["x"].to_list()[:2] == [2_101, 3_102]


def test_the_saved_model_reads_numbers_as_the_table_wrote_them(run, ok, refused):
    rows = "".join(f"{2 + i % 2}.{100 + i},25;{'uv'[i % 2]}\n" for i in range(60))
    Path("old.csv").write_text(f"x;t\n{rows}")
    ok("report", "old.csv", "-t", "t", "--fast", "-o", "old.html")
    Path("new.csv").write_text("x\n2.150\n3.150\n")
    answers = ok("predict", "old.suffice", "new.csv").splitlines()[1:]
    assert [line.split(",")[0] for line in answers] == ["u", "v"]
    Path("other.csv").write_text("x\n2150.25\n")
    assert "'2150.25'" in refused("predict", "old.suffice", "other.csv")
    link = re.search(
        r'<a download="old.suffice"[^>]*base64,([^"]*)"', Path("old.html").read_text()
    )
    assert link is not None
    Path("embedded.suffice").write_bytes(base64.b64decode(link[1]))
    assert "'2150.25'" in refused("predict", "embedded.suffice", "other.csv")


@pytest.mark.parametrize("spelling", ["", "NA", "?"])
def test_code_that_reads_a_file_with_empty_cells_fits_the_model_of_the_page(ok, spelling):
    rng = np.random.default_rng(0)
    lines = ["height,colour,kind"]
    for i in range(60):
        height = spelling if i % 9 == 0 else f"{rng.normal() + i % 2:.3f}"
        colour = (
            spelling
            if i % 13 == 0
            else "red"
            if rng.random() < 0.5 + 0.2 * (i % 2)
            else "blue"
        )
        lines.append(f"{height},{colour},{'xy'[i % 2]}")
    Path("gaps.csv").write_text("\n".join(lines))
    ok("report", "gaps.csv", "-t", "kind", "--fast", "-o", "gaps.md")
    page = Path("gaps.md").read_text()
    codes = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (code,) = (each for each in codes if "gaps.csv" in each)
    assert ("null_values" in code) == (spelling != "")
    known = {}
    exec(code, known)
    saved = sf.load("gaps.suffice")
    np.testing.assert_allclose(
        known["model"].predict_proba(known["X"]), saved.predict_proba(known["X"]), rtol=1e-6
    )


@pytest.mark.parametrize(
    "text", ["a;b;kind\n{0};1;x\n{1};2;y\n", "a,b,kind\n“{0},5“,1,x\n“{1},5“,2,y\n"]
)
def test_no_code_is_shown_that_would_read_a_file_otherwise(ok, text):
    header, *rows = text.replace("“", '"').splitlines()
    lines = [row.format(i % 5 + 3 * (i % 2), i % 7 + 2) for i in range(30) for row in rows]
    Path("other.csv").write_text("\n".join([header, *lines]))
    ok("report", "other.csv", "-t", "kind", "--fast", "-o", "other.md")
    assert "pl.read_csv('other.csv'" not in Path("other.md").read_text()


def test_notes_on_the_page_have_no_codes(run):
    rows = [f"{i % 7 + 3 * (i % 2)},{i % 5},{'xy'[i % 2]}" for i in range(40)]
    Path("noted.csv").write_text("\n".join(["a,b,target", *rows]))
    told = run("report", "noted.csv", "--fast", "-o", "noted.md")
    assert "[SF105]" in told.stderr
    page = Path("noted.md").read_text()
    assert "taking 'target' as the target, by its name." in page
    assert "[SF" not in page


@pytest.mark.filterwarnings("ignore:column 'day' holds dates")
@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y"])
def test_the_code_of_a_page_reads_dates_as_the_report_does(written, ok):
    rng = np.random.default_rng(0)
    kind = np.array(["u", "v"])[np.arange(90) % 2]
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 3, 30), eager=True)
    frame = pl.DataFrame({"a": rng.normal(size=90) + 2 * (kind == "u"), "day": days})
    frame = frame.with_columns(pl.col("day").dt.strftime(written), kind=pl.Series(kind))
    frame.write_csv("old.csv")
    frame.drop("kind").write_csv("new.csv")
    ok("report", "old.csv", "-t", "kind", "--fast", "-o", "a.json")
    document = json.loads(Path("a.json").read_text())
    (section,) = (each for each in document["sections"] if each["key"] == "use")
    codes = [block for block in section["blocks"] if block["kind"] == "code"]
    ok("predict", "old.suffice", "new.csv", "-o", "p.csv")
    served = pl.read_csv("p.csv").select("p_u", "p_v").to_numpy()
    for text in ("read_csv('old.csv'", "sf.load"):
        (code,) = (code["text"] for code in codes if text in code["text"])
        known = {}
        exec(code, known)
        stated = known["model"].predict_proba(known["X"])
        np.testing.assert_allclose(stated, served, rtol=1e-6)
