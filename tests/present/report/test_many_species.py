"""Thirty-two species of few rows: one rule in text, table and figure, and no pile of warnings."""

import numpy as np
import pytest

import suffice as sf
from suffice.present.report.blocks import Intervals, Matrix, Plot

from .test_report import blocks, section, table


@pytest.fixture(scope="module")
def leaves():
    """Return the report of a poor model that somebody asked for, beside better ones."""
    rng = np.random.default_rng(8)
    y = np.arange(32 * 12) % 32
    mixed = rng.normal(size=(9, 9))
    X = (rng.normal(size=(len(y), 9)) + 2 * rng.normal(size=(32, 9))[y]) @ mixed
    labels = np.array([f"leaf {k}" for k in y])
    models = ["LDA", "QDA", "knn", "tree"]
    return sf.report(X, labels, estimator=sf.GaussianNB(), models=models, cv=3, fast=True)


def said_of_each(comparison):
    """Return what the text says of each model: better, worse or not significantly different."""
    found = {}
    on_others = comparison.verdict.split("rows, ")[1].split(" The p-values")[0]
    for part in on_others.split("). "):
        difference, _, models = part.partition(": ")
        is_alike = difference.endswith("not differ significantly")
        verdict = difference.split(" significantly ")[-1]
        names = [o.name for o in comparison.outcomes if o.name in models]
        found |= dict.fromkeys(names, "alike" if is_alike else verdict)
    return found


def test_text_table_and_figure_follow_one_rule(leaves):
    text = said_of_each(leaves.comparison)
    rows = table(leaves, "Held-out losses").rows
    p = {row[0]: row[-1] for row in rows if row[0] not in ("GaussianNB", "constant")}
    (figure,) = (i for i in blocks(leaves, Intervals, "models") if "errors than" in i.caption)
    drawn = {i.name: i for i in figure.items}
    assert (
        set(text)
        == set(p)
        == set(drawn)
        == {"LDA", "QDA", "nearest neighbours", "decision tree"}
    )
    assert text["LDA"] == "better"  # else nothing is tried here
    for name, how in text.items():
        assert (p[name] <= 0.05) == (how != "alike")
        assert (drawn[name].high < 0) == (how == "better")
        assert (drawn[name].low > 0) == (how == "worse")
    for sentence in (leaves.verdict, *leaves.judgement.verdict.sentences):
        assert "no model" not in sentence.lower()
        assert "beyond chance" not in sentence


def test_warnings_of_all_folds_and_classes_are_one_line_for_a_model(leaves):
    (ranks,) = (note for note in leaves.comparison.notes if "the covariance of" in note)
    assert ranks.startswith("QDA: ")
    assert ranks.endswith("(3 times)")
    assert (
        leaves.write("md").count("the covariance of class") == 0
    )  # of a model that is not the chosen one


def test_thirty_two_classes_are_all_in_the_matrix_and_none_is_a_line(leaves):
    assert len(blocks(leaves, Matrix)[0].classes) == 32
    lines = [sum(s.shape == "line" for s in p.series) for p in blocks(leaves, Plot)]
    assert max(lines, default=0) <= 4


WORDS = (
    "named wrongly",
    "strangest",
    "classes of passed",
    "borrows",
    "line-up",
    "beyond chance",
    "without densities",
    "Trust ",
    "he darker",
    "finds only 0",
)


def test_the_page_has_the_words_of_the_field(leaves, rare_report, iris_report):
    for report in (leaves, rare_report, iris_report):
        text = report.write("md")
        assert [word for word in WORDS if word in text] == []


def test_a_rare_class_is_seen_in_every_picture_of_rows(rare_report):
    drawn = {plot.key: plot for plot in blocks(rare_report, Plot)}
    rows = rare_report.judgement.held_out
    for key, plot in drawn.items():
        if key.startswith("feature-"):  # each class has the same area, rare or not
            assert {s.name for s in plot.series} >= {"ill", "well"}
            assert {round(float(np.sum(s.y[::2])), 9) for s in plot.series} == {1.0}
    dots = {s.name: s for s in drawn["discriminant"].series}
    assert len(dots["ill"].x) == (rows.labels == "ill").sum() // 2  # every second row is drawn
    line = next(s for s in drawn["calibration"].series if s.shape == "line")
    assert max(line.y) > 0.3  # though 13 % of the rows are ill


def test_posteriors_without_any_hit_still_have_a_threshold_plot(leaves):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(120) < 9, "rare", "common")
    report = sf.report(rng.normal(size=(120, 2)), y, models=["LDA"], cv=3, fast=True)
    (slider,) = [b for b in section(report, "errors").blocks if b.kind == "thresholds"]
    assert slider.hits[0] == 9
    assert slider.false_alarms[0] == 111
    assert slider.precision.high >= 9 / 120
    assert len(slider.thresholds) > 20
