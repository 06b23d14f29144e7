"""Every public name is on a page of the reference, with an example; pages name what exists."""

import importlib
import inspect
import json
import re
from pathlib import Path

import pytest
from docs.__main__ import with_subscripts

import suffice as sf
from docs import reference

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT / "docs"): path for path in (ROOT / "docs").rglob("*.md")}
FOUND = {"Moments", "CountSums", "MixedSums"}  # made by functions, not by people
LESSONS = sorted((ROOT / "docs" / "course").glob("[0-9]*.md"))
LESSON_ON_WORDS = ROOT / "docs" / "course" / "words.md"  # between two others, without a scene
PUBLIC = [
    (module, name)
    for module in (
        "suffice",
        "suffice.datasets",
        "suffice.diagnostics",
        "suffice.lectures",
        "suffice.plots",
        "suffice.sklearn",
        "suffice.streams",
    )
    for name in reference.public_members(module)
]


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_name_has_an_example(module, name):
    assert ">>> " in inspect.getdoc(getattr(importlib.import_module(module), name))


def test_every_public_name_is_on_one_page_of_the_reference(tmp_path):
    reference.write(tmp_path / "api")
    pages = {path.stem: path.read_text() for path in (tmp_path / "api").glob("*.md")}
    for group, (_, module, _) in reference.GROUPS.items():
        titles = re.findall(r"^## (\w+)$", pages[group], re.MULTILINE)
        assert titles == list(reference.members_of(group))
        assert all((module, name) in PUBLIC for name in titles)
    listed = [name for group in reference.GROUPS for name in reference.members_of(group)]
    assert sorted(listed) == sorted(name for _, name in PUBLIC)
    assert not [name for name, page in pages.items() if "math:" in page or "\\sum" in page]
    assert pages["boundaries"].count("```pycon") == 2


@pytest.mark.parametrize("name", [n for n in sf.__all__ if inspect.isclass(getattr(sf, n))])
def test_every_setting_of_a_public_class_is_documented(name):
    value = getattr(sf, name)
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", inspect.getdoc(value), re.M | re.S
    )
    told = re.findall(r"^([\w, *]+?)(?: : .*)?$", section[1] if section else "", re.MULTILINE)
    named = {each.strip("* ") for line in told for each in line.split(",")}
    settings = set() if name in FOUND else set(inspect.signature(value).parameters)
    assert settings - named == set()


def test_numpydoc_becomes_markdown():
    doc = (
        "Return ``x``.\n\nParameters\n----------\na : int\n    First.\nb : float\n\nExamples\n"
    )
    doc += "--------\n>>> 1 + 1\n2"
    written = "\n".join(reference._document(doc))
    assert "Return `x`." in written
    assert "- `a` · int<br>First.\n- `b` · float" in written
    assert "```pycon\n>>> 1 + 1\n2\n```" in written


def test_symbols_outside_code_have_subscripts():
    told = "π_k, w_k0ᵀx, max_k p, `w_0`, coef_, a_b_c, [x](w_0.md)\n```text\nw_0\n```\n"
    shown = with_subscripts(told)
    assert shown.startswith(
        "π<sub>k</sub>, w<sub>k0</sub>ᵀx, max<sub>k</sub> p, `w_0`, coef_, "
    )
    assert shown.endswith("[x](w_0.md)\n```text\nw_0\n```\n")


@pytest.mark.parametrize("page", ["glossary.md", "mathematics.md", "coming-from.md"])
def test_names_that_a_table_mentions_exist(page):
    text = (ROOT / "docs" / page).read_text()
    for dotted in set(re.findall(r"`sf\.([A-Za-z_.]+)", text)):
        found = sf
        for part in dotted.strip(".").split("."):
            found = getattr(found, part)
    verbs = {*dir(sf.GaussianClassifier), *dir(sf.LDA().fit([[0.0], [1.0], [3.0]], [0, 1, 1]))}
    assert set(re.findall(r"`est\.(\w+)", text)) <= verbs
    settings = {
        name
        for public in sf.__all__
        if inspect.isclass(getattr(sf, public)) or public == "cross_validate"
        for name in inspect.signature(getattr(sf, public)).parameters
    }
    written = set(re.findall(r"`(\w+)=[^`]*`", text)) - {"sample_weight", "rows"}
    assert written <= settings, written - settings


def test_tests_that_promises_name_exist():
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "reliability.md").read_text())
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", ["architecture.md", "notation.md"])
def test_files_and_folders_that_a_page_names_exist(page):
    text = (ROOT / "docs" / page).read_text()
    named = re.findall(r"`([\w./]+/|[\w./]+\.(?:pyi?|md|yml|toml))`", text)
    assert len(named) > 50
    places = (ROOT / "src" / "suffice", ROOT)
    assert [path for path in named if not any((at / path).exists() for at in places)] == []


def test_every_package_is_in_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in (ROOT / "src/suffice").glob("*/__init__.py")]
    assert len(packages) == 10
    assert [name for name in packages if f"| `{name}/` |" not in text] == []


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    listed = set(re.findall(r"([\w/-]+\.md)", navigation))
    staged = {"index.md", "changelog.md", "security.md"} | {
        f"api/{group}.md" for group in ("index", *reference.GROUPS)
    }
    assert listed == {path.as_posix() for path in PAGES} | staged, "list it in mkdocs.yml"


def test_there_are_twelve_lessons_each_with_a_scene_a_picture_and_two_exercises():
    assert [int(path.name[:2]) for path in LESSONS] == list(range(1, 13))
    scenes = []
    for path in LESSONS:
        text = path.read_text()
        of_lesson = set(re.findall(r"lab\.md\?scene=(\w+)", text))
        assert len(of_lesson) == 1, path.name
        scenes += of_lesson
        assert text.split("## Exercises")[1].count("<details markdown") == 2, path.name
        assert re.search(r"!\[[^\]]{20,}\]\(\.\./images/course/", text), path.name
    assert scenes == (
        [
            "problem",
            "generative",
            "likelihood",
            "fish",
            "lda",
            "qda",
            "softmax",
            "costs",
            "approaches",
            "logistic",
            "neighbours",
            "bayes",
        ]
    )


def test_the_lesson_on_words_has_formulas_a_picture_and_an_exercise():
    text = LESSON_ON_WORDS.read_text()
    assert text.count("```math") >= 4
    assert re.search(r"!\[[^\]]{20,}\]\(\.\./images/course/words\.png\)", text)
    assert text.split("## Exercise\n")[1].count("<details markdown") == 1
    index = (ROOT / "docs" / "course" / "index.md").read_text()
    assert "| 11½ | [Naive Bayes for words](words.md) |" in index


# of the course's own lectures: the text is run by test_pages, so that each is computed
WORKED = {
    "02": [
        "priors=[0.7, 0.3],",
        "means=[[2, 1], [1, 2]],",
        "covariances=np.eye(2),",
        "+ 0.8473 = 0",
    ],
    "03": [
        "[[0.8, 0.6], [0.6, 0.8]]",
        "[[1.3333, 1.0], [1.0, 1.3333]]",
        "[[1.4, 1.1], [1.1, 1.4]]",
    ],
    "07": ["base        10, T =  0.43:"],
    "08": ["0.23975 0.23975 (exact)", "0.204117 (exact)"],
    "10": [
        "[-4.0777] [[1.5046]]",
        "[0.07, 0.26, 0.61, 0.87, 0.97]",
        "[-3.995] [[1.48]] 163 passes",
        "(163, [-3.995, 1.48])",
    ],
}


@pytest.mark.parametrize("lesson", WORKED)
def test_worked_numbers_are_the_output_of_a_lesson(lesson):
    text = next(path for path in LESSONS if path.name.startswith(lesson)).read_text()
    assert [number for number in WORKED[lesson] if number not in text] == []


def test_there_are_thirty_exam_questions_each_with_an_answer():
    text = (ROOT / "docs" / "course" / "questions.md").read_text()
    numbers = [int(number) for number in re.findall(r"^\*\*(\d+)\.\*\* ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 30
    assert text.count("<summary>Answer</summary>") == len(numbers)


def test_every_scene_of_a_lesson_is_one_of_the_lab():
    told = (ROOT / "src" / "suffice" / "present" / "lab" / "page" / "scenes.json").read_text()
    known = list(json.loads(told)["scenes"])
    for path in LESSONS:
        assert re.search(r"lab\.md\?scene=(\w+)", path.read_text())[1] in known


def test_no_picture_of_the_course_is_large_or_unused():
    pages = [*LESSONS, LESSON_ON_WORDS, ROOT / "docs" / "lectures.md"]
    text = "".join(path.read_text() for path in pages)
    for path in (ROOT / "docs" / "images" / "course").iterdir():
        assert path.name in text
        assert path.stat().st_size < 120_000, path.name
