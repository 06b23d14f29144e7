"""The line-by-line page: no row of the lectures is missing, no cell is empty, every call runs."""

import re
from html import unescape
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from docs.formulas import mathml, with_formulas

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "lectures.md"
ROWS = (Path(__file__).parent / "lecture_rows.tsv").read_text().splitlines()[1:]
_ROW = re.compile(
    r"^\| <a id=\"\w+\"></a>\*\*([A-E]\d+[a-z]?)\*\* (.*?)<br>\$(.*?)\$<br>(.*?) \| (`.*`) \|$",
    re.MULTILINE,
)


def rows_of_the_page():
    """Return {id: (what, formula, calls, links)}."""
    rows = {}
    for ident, what, formula, links, calls in _ROW.findall(PAGE.read_text()):
        assert ident not in rows
        rows[ident] = (what, formula, calls.strip("`").split("`<br>`"), links)
    return rows


def test_every_row_of_the_lectures_has_all_its_cells():
    wanted = [line.split("\t")[0] for line in ROWS]
    assert sum(ident[-1].isdigit() for ident in wanted) == 138
    assert f"{len(wanted) - 138} more rows" in PAGE.read_text()
    rows = rows_of_the_page()
    assert list(rows) == wanted
    for ident, (what, formula, calls, links) in rows.items():
        assert what.endswith("."), ident
        assert formula.strip(), ident
        assert all(calls), ident
        assert re.search(r"\(course/[\w-]+\.md\)", links), ident
        assert re.search(r"\(lab\.md\?scene=\w+\)", links), ident
        assert re.search(r"\[picture\]\(images/[\w/]+\.png\)", links), ident


def test_every_row_is_an_anchor_and_every_row_has_a_name_that_leads_to_it():
    text = PAGE.read_text()
    rows = {ident.lower() for ident in rows_of_the_page()}
    assert set(re.findall(r'<a id="(\w+)"></a>', text)) == rows
    names = text.split("## Find a formula by its name")[1].split("\n## ")[0]
    linked = re.findall(r"\[([A-E]\w+)\]\(#(\w+)\)", names)
    for ident, anchor in linked:
        assert ident.lower() == anchor
    assert {anchor for _, anchor in linked} == rows


def test_every_lesson_and_picture_of_the_page_exists():
    text = PAGE.read_text()
    for path in set(re.findall(r"\(((?:course|images)/[\w./-]+)\)", text)):
        assert (ROOT / "docs" / path).exists(), path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_call_of_the_page_runs_and_every_comparison_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    setup = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    names = {}
    exec(setup, names)
    failed = []
    for ident, (_, _, calls, _) in rows_of_the_page().items():
        for call in calls:
            try:
                result = eval(call, names)
            except Exception as error:
                failed.append(f"{ident}: {call}: {error!r}")
                continue
            is_comparison = isinstance(result, (bool, np.bool_, np.ndarray))
            if is_comparison and np.asarray(result).dtype == bool and not np.all(result):
                failed.append(f"{ident}: {call} is false")
            plt.close("all")
    assert failed == []


def test_every_formula_of_the_pages_becomes_mathml():
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        text = with_formulas(page.read_text())
        assert "```math" not in text, page.name
        assert "\\frac" not in re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL), (
            page.name
        )


def test_a_formula_is_typeset_and_code_is_left_alone():
    text = with_formulas("Let $w_0$ be it.\n\n```console\n$ suffice $HOME\n```\n")
    assert "<msub><mi>w</mi><mn>0</mn></msub>" in text
    assert "$ suffice $HOME" in text
    # within a paragraph, also where its line begins with a formula
    assert with_formulas("One\n$x$ two.").startswith("One\n<span><math")
    assert "|" not in mathml(r"\lvert x \rvert", block=False)
    # Markdown would read an asterisk as emphasis
    assert "*" not in mathml("h^*(x)", block=False)


def parts_of(latex):
    """Return the text of each part between which a browser may break the line."""
    parts = re.findall(r"<math.*?</math>", mathml(latex, block=False))
    return [unescape(re.sub(r"<.*?>", "", part)) for part in parts]


def test_a_long_formula_breaks_before_relations_and_signs():
    assert parts_of("a = b + c") == ["a=b+c"]
    long = (
        r"f(a + b) = -\frac{1}{2} (x - \mu)^\top \Sigma^{-1} (x - \mu) + \log \pi, \quad n = 3"
    )
    assert parts_of(long) == ["f(a+b)", "=−12(x−μ)⊤Σ−1(x−μ)", "+logπ,", "n=3"]
    assert mathml(long, block=False).count('<span class="equation">') == 2


def test_a_long_bracket_breaks_and_a_power_of_a_bracket_does_not():
    sums = " + ".join(f"a_{k} b_{k}" for k in range(8))
    assert len(parts_of(rf"y = \left( {sums} \right)")) == 9
    assert len(parts_of(rf"y = \left( {sums} \right)^2")) == 2


def test_no_command_of_latex_is_left_in_a_formula():
    for page in (ROOT / "docs").rglob("*.md"):
        formulas = re.findall(r"<math.*?</math>", with_formulas(page.read_text()))
        assert [each for each in formulas if "&#92;" in each] == [], page.name


LESSONS = sorted([*(ROOT / "docs/course").glob("[0-9]*.md"), ROOT / "docs/course/words.md"])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_begins_with_a_question_and_a_picture_that_its_code_draws(lesson):
    text = lesson.read_text()
    _, question, picture, rest = text.split("\n\n", 3)
    assert re.fullmatch(r"\*\*.*\?\*\*", question)
    image = re.fullmatch(r"!\[[^]]+\]\((\S+)\)", picture)[1]
    assert f"```\n\n<!-- draws {image} -->" in rest
    assert "```math" in rest
    assert "<summary>Answer</summary>" in rest
