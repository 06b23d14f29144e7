"""Every number in a sentence of the page is that of the field of the result it speaks of."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from suffice.reporting.answer import answer

from .prose import Units, explained, unexplained

PAGES = ("iris", "rare", "many")


@pytest.fixture(scope="module", params=PAGES)
def told(request):
    """Return a page, and all that its sentences may say with numbers."""
    rows = {"rare": "rare_rows", "many": "many_rows"}.get(request.param, "iris")
    report = request.getfixturevalue(f"{request.param}_report")
    return report.write("html"), explained(report, *request.getfixturevalue(rows))


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


@pytest.mark.parametrize("swapped", [("low", "high"), ("error", "low")])
def test_fields_exchanged_in_the_result_are_noticed(swapped, iris, iris_report):
    a, b = swapped
    verdict = iris_report.judgement.verdict
    wrong = replace(verdict, **{a: getattr(verdict, b), b: getattr(verdict, a)})
    section = answer(replace(iris_report.judgement, verdict=wrong))
    page = replace(iris_report, sections=(section,)).write("html")
    left = unexplained(page, explained(iris_report, *iris))
    assert any("misclassifies" in text for text in left)


def test_the_walk_reads_sentences_rows_and_facts(iris_report):
    texts = " ".join(Units(iris_report.write("html")).texts)
    for part in ("of rows it has not seen", "| versicolor | 48 of 50 |", "its error; p", "petal"):
        assert part in texts
    assert not np.any([word in texts for word in ("function", "stroke", "sf.LDA")])
