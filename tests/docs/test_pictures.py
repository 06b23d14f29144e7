"""The picture of a report in the docs is that of today's page."""

import json
from dataclasses import replace

import pytest

from docs import pictures


@pytest.fixture(scope="module")
def report():
    return pictures.small_report()


def test_the_picture_of_the_report_is_not_stale(report):
    recorded = json.loads(pictures.DIGEST.read_text())["page"]
    assert recorded == pictures.digest_of_page(report), (
        "the page of a report looks otherwise now: run python -m docs.pictures"
    )


def test_another_first_screen_has_another_digest(report):
    first, *others = report.sections
    for blocks in (first.blocks[:-1], first.blocks[::-1]):
        changed = replace(report, sections=(replace(first, blocks=blocks), *others))
        assert pictures.digest_of_page(changed) != pictures.digest_of_page(report)
