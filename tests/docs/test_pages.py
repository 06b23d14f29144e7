"""Every example of the README and of the documentation runs, and prints what the page says."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import pytest

_SPEC = importlib.util.spec_from_file_location("pages", Path(__file__).parent / "pages.py")
pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages)


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Work in an empty folder, without a screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_every_example_of_a_page_runs(page):
    pages.run_page(page)


def test_links_between_pages_lead_somewhere():
    import re

    for page in pages.PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
