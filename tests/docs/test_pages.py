"""Every example of the README and of the documentation runs, and prints what the page says."""

import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import pytest
from docs.__main__ import stage


def _beside(name):
    """Return the script of this name in this folder as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages, links = _beside("pages"), _beside("links")


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Work in an empty folder, without a screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


# the gallery is run, figure by figure, in tests/present/plots/test_gallery.py
RUN_HERE = [page for page in pages.PAGES if page.name != "figures.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.stem)
def test_every_example_of_a_page_runs(page):
    pages.run_page(page)


def test_every_link_and_anchor_of_the_staged_pages_leads_somewhere(tmp_path):
    assert list(links.broken_in_markdown(stage(tmp_path / "staged"))) == []


def test_links_of_the_readme_lead_somewhere_in_the_repository():
    for target in links._LINK.findall((pages.ROOT / "README.md").read_text()):
        assert "://" in target or (pages.ROOT / target.split("#")[0]).exists(), target


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.md").write_text("# One\n[b](b.md) [c](#one) [d](#two) `[e](e.md)`\n")
    assert list(links.broken_in_markdown(tmp_path)) == ["a.md: b.md", "a.md: #two"]
    (tmp_path / "a.html").write_text(
        '<h1 id="one">One</h1><a href="b.html">b</a><a href="#one">c</a><a href="#two">d</a>'
        '<a href="https://elsewhere.org">e</a><script src="https://elsewhere.org/f.js"></script>'
    )
    assert list(links.broken_in_site(tmp_path)) == [
        "a.html: b.html",
        "a.html: #two",
        "a.html loads https://elsewhere.org/f.js",
    ]


def test_no_asterisk_of_a_formula_becomes_emphasis():
    # "h*(x) … h*" would be printed in italics and without its asterisks
    stray = re.compile(r"(?<![*\w])[A-Za-z]\*(?=[ (),.≤])")
    for page in sorted((pages.ROOT / "docs" / "course").glob("*.md")):
        text = re.sub(
            r"```.*?```|`[^`\n]+`|\$[^$\n]+\$", "", page.read_text(), flags=re.DOTALL
        )
        assert stray.findall(text) == [], page.name


def test_the_text_of_a_link_is_a_title_and_no_file_name():
    of_a_file = re.compile(r"\[`?[^]`]*\.(?:md|html)`?\]\([^)]*\)")
    root = pages.ROOT
    for page in [*pages.PAGES, root / "CHANGELOG.md", root / "CONTRIBUTING.md"]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        assert of_a_file.findall(text) == [], page.name
