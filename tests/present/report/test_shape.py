"""What is open on the page and what is folded, and which charts a verdict allows."""

import re

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.evaluate.comparison import fit_times
from suffice.present.report.blocks import DataTable, Intervals, Plot
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.explanation import explanation
from suffice.present.report.findings import ReportSettings, judge
from suffice.present.report.how_sure import how_sure


def judged(X, y, **settings):
    data = DocumentedTable.of(X, y)
    return judge(data, data, ReportSettings(cv=5, progress=False, **settings))


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 12))
    X[:, :3] += y[:, None]
    return judged(X, y, models=["logistic"])


def test_coefficients_are_folded(wide):
    section = explanation(wide)
    assert not any(isinstance(block, DataTable) for block in section.blocks)
    (table,) = (block for block in section.details if isinstance(block, DataTable))
    assert table.caption.startswith("Coefficients: ")
    assert len(table.rows) == 13
    assert "coefficients" in section.more


def test_importance_of_more_than_eight_columns_is_folded(wide):
    section = explanation(wide)
    (shown,) = (block for block in section.blocks if isinstance(block, Intervals))
    (whole,) = (block for block in section.details if isinstance(block, Intervals))
    assert "Shown are the 8 largest of 12 columns." in shown.note
    assert "Shown" not in whole.note
    names = [item.name for item in whole.items]
    assert len(names) == 12
    assert [item.name for item in shown.items] == names[:8]
    assert "importance of more columns" in section.more


def test_nothing_is_forecast_for_a_model_that_is_not_to_be_used():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    for X, is_forecast in (
        (rng.normal(size=(120, 2)), False),
        (rng.normal(size=(120, 2)) + 2 * y[:, None], True),
    ):
        findings = judged(X, y, models=["LDA"])
        assert (findings.verdict.usable == "no") != is_forecast
        section = how_sure(findings, "", ())
        growth = next(b for b in section.blocks if isinstance(b, Plot) and b.key == "growth")
        assert ("expected" in {series.name for series in growth.series}) == is_forecast
        assert ("Expected" in growth.caption) == is_forecast


def test_the_page_of_an_average_counts_it_as_of_both_kinds():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 2 * y[:, None]
    result = sf.compare(X, y, models=["AutoClassifier", "LDA"], cv=2, progress=False)
    approaches = {row["model"]: row["approach"] for row in result.rows()}
    assert approaches == {"AutoClassifier": "both", "LDA": "generative", "constant": "neither"}


def test_only_one_effect_is_open_where_one_of_the_first_is_a_table():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    rows = {
        "height": rng.normal(size=300) + 1.5 * y,
        "colour": np.where(rng.random(300) < 0.2 + 0.6 * y, "red", "blue"),
    }
    section = explanation(judged(pl.DataFrame(rows), y, models=["logistic"]))
    effects_open = [b for b in section.blocks if "osterior" in getattr(b, "caption", "")]
    effects_folded = [b for b in section.details if "osterior" in getattr(b, "caption", "")]
    assert (len(effects_open), len(effects_folded)) == (1, 1)
    assert {type(b) for b in (*effects_open, *effects_folded)} == {Plot, DataTable}


def test_each_verdict_has_a_colour_of_its_own_in_every_theme(iris_report):
    page = iris_report.write("html")
    shades = [
        re.search(rf"p\.answer\.{verdict} {{ background: var\((--[a-z-]+)\)", page)[1]
        for verdict in ("yes", "with-care", "no")
    ]
    assert len(set(shades)) == 3
    # light, dark by the system, dark by the switch, and print
    assert [page.count(f"{shade}: #") for shade in shades] == [4, 4, 4]


def sure(findings):
    """Return the paragraphs of the section on how sure the answer is."""
    return [
        block.text for block in how_sure(findings, "", ()).blocks if hasattr(block, "text")
    ]


def test_a_page_without_a_learning_curve_says_why(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 2 * y[:, None]
    monkeypatch.setitem(fit_times._SECONDS, "LDA", lambda _: 1.1)
    slow = judged(X, y, models=["LDA"])
    assert slow.growth is None
    assert any(
        "it takes too long to fit LDA to parts of the rows" in text for text in sure(slow)
    )
    monkeypatch.undo()
    assert not any("no learning curve" in text for text in sure(judged(X, y, models=["LDA"])))
    few = judged(X[:12], y[:12], models=["LDA"])
    assert any(
        "the table is too small to fit the model to parts" in text for text in sure(few)
    )
    first_look = judged(X, y, models=["LDA"], fast=True)
    assert not any("no learning curve" in text for text in sure(first_look))


def test_a_few_copies_of_rows_do_not_cost_the_learning_curve():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 3)) + y[:, None]
    findings = judged(np.r_[X, X[:2]], np.r_[y, y[:2]], models=["LDA"])
    assert findings.growth.has_copies
    assert [forecast.n_rows for forecast in findings.growth.forecast] == [80, 160, 320]
    assert "With twice as many distinct rows (160)" in findings.growth.sentence


def test_a_table_with_too_many_columns_to_shuffle_says_so():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 201))
    X[:, 0] += 4 * y
    section = explanation(judged(X, y, models=["logistic"]))
    (note,) = (block for block in section.blocks if getattr(block, "tone", "") == "note")
    assert note.text == (
        "Permutation importance is not measured in tables with more than 200 columns. This table "
        "has 201."
    )
