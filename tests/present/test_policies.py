"""Every page that is written forbids forms and other base addresses."""

import re
from pathlib import Path

import pytest

import suffice.present

FOLDER = Path(suffice.present.__file__).parent
PAGES = [path for path in sorted(FOLDER.rglob("*.j2")) if "<head>" in path.read_text()]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_policy_of_a_page_loads_nothing_and_sends_nothing(path):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', path.read_text())[1]
    for rule in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy


def test_all_pages_are_known():
    assert len(PAGES) == 4
