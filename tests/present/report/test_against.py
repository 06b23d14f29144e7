"""New rows: what has moved, and how often the model is wrong about them."""

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InvalidInputError
from suffice.present.report.blocks import Facts

from .test_report import blocks, section, table


@pytest.fixture
def rows(first_look_rows):
    X, y = first_look_rows
    return X[:200], y[:200], X[200:], y[200:]


def of(rows, new):
    return sf.report(rows[0], rows[1], models=["LDA"], cv=3, fast=True, against=new)


def test_drift_is_that_of_the_fitted_model(rows):
    moved = rows[2] + [0, 3, 0]
    report = of(rows, moved)
    found = sf.diagnostics.drift(sf.LDA().fit(rows[0], rows[1]), moved)
    told = table(report, "What has changed")
    assert found.moved == ("x1",)
    lead = section(report, "against").blocks[0].text
    assert "changed significantly: 'x2' (mean by " in lead  # counted from one
    assert [row[4] for row in told.rows] == pytest.approx([r["effect"] for r in found.rows()])
    assert told.marked == tuple(i for i, r in enumerate(found.rows()) if r["moved"])
    assert not blocks(report, Facts, "against")


def test_too_few_rows_for_a_joint_test_are_said_to_be_too_few(rows):
    rng = np.random.default_rng(5)
    y = np.arange(40) % 2
    old = rng.random((40, 50))
    old[:, 0] += y
    new = rng.random((3, 50))
    words = section(of((old, y), new), "against").blocks[0].text
    assert "There are not enough rows to test all means and shares together." in words
    assert "unknown" not in words


def test_the_score_is_counted_on_the_new_rows(rows, first_look_report):
    report = first_look_report
    wrong = (sf.LDA().fit(rows[0], rows[1]).predict(rows[2]) != rows[3]).mean()
    (facts,) = blocks(report, Facts, "against")
    told = {f.name: f.value for f in facts.items}
    assert told["error, new rows"] == wrong
    assert told["error, held-out rows"] == report.judgement.outcome.error
    assert "about as often as" in section(report, "against").blocks[1].text


def test_labels_that_were_turned_round_are_noticed(rows):
    turned = np.where(rows[3] == "yes", "no", "yes")
    report = of(rows, (rows[2], turned))
    assert "more often than" in section(report, "against").blocks[1].text


def test_classes_never_seen_are_not_counted(rows):
    labels = rows[3].astype(object)
    labels[:10] = "maybe"
    text = section(of(rows, (rows[2], labels)), "against").blocks[1].text
    assert "classes that it does not know are not counted: 10 rows." in text
    assert "of 90 new rows" in text


def test_rows_of_heavy_tails_have_not_moved_because_a_few_lie_far_away():
    rng = np.random.default_rng(4)
    x = np.where(rng.random((3000, 2)) < 0.01, 30.0, 1.0) * rng.normal(size=(3000, 2))
    y = np.arange(3000) % 2
    x[:, 1] += y
    at = rng.permutation(3000)
    x, y = x[at], y[at]
    assert sf.diagnostics.drift(sf.LDA().fit(x[:2000], y[:2000]), x[2000:]).moved == ()
    report = of((x[:2000], y[:2000]), x[2000:])
    words = section(report, "against").blocks[0].text
    assert "o evidence in 2 tests that a column has moved" in words


def test_every_new_row_needs_a_label_where_any_has_one(rows):
    with pytest.raises(InvalidInputError, match="X has 100 rows but y has 5 labels"):
        of(rows, (rows[2], rows[3][:5]))
