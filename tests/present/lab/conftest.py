"""The page as a file."""

import pytest

from suffice.present.lab import page as lab_page


@pytest.fixture(scope="session")
def lab_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(lab_page(), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def opened(browser, lab_file):
    """The page as a file, opened once; its console stays clean to the end."""
    page = browser.page()
    page.size(900, 2000)
    page.open(lab_file.as_uri())
    yield page
    assert page.console == []


@pytest.fixture
def page(opened):
    """The page as its first scene begins."""
    opened.front().evaluate("lab.openScene('problem')")
    return opened
