"""Every number in a sentence of the page is that of the field of the result it speaks of."""

import re
from dataclasses import replace
from html import unescape
from itertools import pairwise

import numpy as np
import pytest

from suffice.present.report.answer import Answer, answer_section

from .prose import Units, explained, tips, unexplained

PAGES = {
    "iris": "iris",
    "rare": "rare_rows",
    "many": "many_rows",
    "first_look": "first_look_rows",
}


@pytest.fixture(scope="module", params=PAGES)
def written(request):
    """Return a report with its page, its rows, and the new rows that it is held against."""
    X, y = request.getfixturevalue(PAGES[request.param])
    report = request.getfixturevalue(f"{request.param}_report")
    first = request.param == "first_look"
    rows, new = ((X[:200], y[:200]), (X[200:], y[200:])) if first else ((X, y), None)
    return report, report.write("html"), rows, new


@pytest.fixture(scope="module")
def told(written):
    """Return a page, and all that its sentences may say with numbers."""
    report, page, rows, new = written
    return page, explained(report, *rows, new)


def test_every_number_in_the_text_is_that_of_its_field(told):
    assert unexplained(*told) == []


NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*\d|(?<![\w.])\d")


def test_two_numbers_exchanged_in_any_sentence_are_noticed(told):
    page, known = told
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    sentences = [p for p in re.findall(r"<p[^>]*>([^<>]+)</p>", page) if NUMBER.search(p)]
    tried = 0
    for sentence in dict.fromkeys(sentences):
        found = [m for m in NUMBER.finditer(sentence) if m[0] not in ("95", "99.9")]
        pairs = [(a, b) for a, b in pairwise(found) if a[0] != b[0]]
        for a, b in pairs:
            parts = sentence[: a.start()], b[0], sentence[a.end() : b.start()], a[0]
            wrong = f"<p>{''.join(parts)}{sentence[b.end() :]}</p>"
            assert unexplained(wrong, known), wrong
            tried += 1
    assert tried > 8


def test_every_number_under_the_pointer_is_that_of_its_field(written):
    report, page, rows, _ = written
    known = {tip.replace("\N{NO-BREAK SPACE}", " ") for tip in tips(report, *rows)}
    found = [unescape(tip) for tip in re.findall(r'data-tip="([^"]*)"', page)]
    found = dict.fromkeys(tip.replace("\N{NO-BREAK SPACE}", " ") for tip in found)
    assert [tip for tip in found if tip not in known] == []
    tried = 0
    for tip in found:
        name, _, said = tip.rpartition(": ")
        numbers = list(NUMBER.finditer(said))
        for a, b in ((a, b) for a, b in pairwise(numbers) if a[0] != b[0]):
            wrong = (
                f"{said[: a.start()]}{b[0]}{said[a.end() : b.start()]}{a[0]}{said[b.end() :]}"
            )
            assert f"{name}: {wrong}" not in known, wrong
            tried += 1
    assert tried > 4


@pytest.mark.parametrize("swapped", [("low", "high"), ("error", "low")])
def test_fields_exchanged_in_the_result_are_noticed(swapped, iris, iris_report):
    a, b = swapped
    verdict = iris_report.judgement.verdict
    stated = verdict.standing.error
    exchanged = stated._replace(**{a: getattr(stated, b), b: getattr(stated, a)})
    wrong = replace(verdict, standing=verdict.standing._replace(error=exchanged))
    findings = replace(iris_report.judgement, verdict=wrong)
    section = answer_section(findings, Answer.of(findings))
    page = replace(iris_report, sections=(section,)).write("html")
    left = unexplained(page, explained(iris_report, *iris))
    assert any("misclassifies" in text for text in left)


def test_the_walk_reads_sentences_rows_and_facts(iris_report):
    texts = " ".join(Units(iris_report.write("html")).texts)
    for part in (
        "of held-out rows (95",
        "| versicolor | 48 of 50 |",
        "its error; p",
        "petal",
    ):
        assert part in texts
    assert not np.any([word in texts for word in ("function", "stroke", "sf.LDA")])
