"""Contributions and effects against coefficients, and against brute force."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

import suffice as sf
from suffice.evaluate.comparison.importance import Importance
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.effects import (
    ExplainedModel,
    combined_rows,
    contributions,
    local_effects,
)
from suffice.present.report.explanation import effects, importance, posterior_by_level
from suffice.present.report.findings import ReportSettings, judge


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    return rng.normal(size=(120, 4)) + y[:, None] * [1, 0, 2, 0.5], y


def test_cells_are_those_of_the_rows_named(rows):
    x, _ = rows
    at = np.array([[0, 1, 2, 3], [5, 5, 5, 5]])
    expected = np.array([[x[0, 0], x[1, 1], x[2, 2], x[3, 3]], x[5]])
    names = list("abcd")
    np.testing.assert_array_equal(combined_rows(x, at), expected)
    np.testing.assert_array_equal(combined_rows(pd.DataFrame(x, columns=names), at), expected)
    mixed = pl.DataFrame(x, schema=names).with_columns(e=pl.Series(["u", "v"] * 60))
    found = combined_rows(mixed, np.c_[at, [1, 2]])
    np.testing.assert_array_equal(found.drop("e").to_numpy(), expected)
    assert found["e"].to_list() == ["v", "u"]


def test_contributions_to_linear_log_odds_are_coefficients_times_differences(rows):
    x, y = rows
    model = sf.LDA().fit(x, y)
    who, pairs = np.array([[3, 7], [20, 50]]), np.array([[2, 0], [1, 2]])
    found = contributions(
        ExplainedModel(model, x, model.classes_), who, pairs, [np.array([j]) for j in range(4)]
    )
    w = model.coef_
    expected = [
        (w[a] - w[b]) * (x[i] - x[r]) for (i, r), (a, b) in zip(who, pairs, strict=True)
    ]
    np.testing.assert_allclose(found[:, 1:], expected, rtol=1e-6, atol=1e-9)
    logs = model.predict_log_proba(x)
    start = [logs[r, a] - logs[r, b] for (_, r), (a, b) in zip(who, pairs, strict=True)]
    np.testing.assert_allclose(found[:, 0], start, rtol=1e-6)


def test_contributions_of_any_model_add_up_to_its_log_odds(rows):
    x, y = rows
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(x, y)
    who, pairs = np.array([[3, 7]]), np.array([[1, 0]])
    groups = [np.array([0]), np.array([2]), np.array([1, 3])]
    found = contributions(ExplainedModel(model, x, model.classes_), who, pairs, groups)
    logs = np.log(model.predict_proba(x[[3, 7]]).clip(np.exp(-20)))
    assert found.sum() == pytest.approx(logs[0, 1] - logs[0, 0])


def test_effects_move_rows_no_further_than_their_own_bin(rows):
    x, y = rows
    seen = []

    class Watched:
        classes_ = np.unique(y)

        def predict_log_proba(self, X):
            seen.append(X)
            return np.log(np.full((len(X), 3), 1 / 3))

    edges, curve = local_effects(
        ExplainedModel(Watched(), x, np.unique(y)), 2, x[:, 2], bins=6
    )
    width = np.diff(edges).max()
    for asked in seen:
        assert np.abs(asked[:, 2] - x[:, 2]).max() <= width
        np.testing.assert_array_equal(np.delete(asked, 2, 1), np.delete(x, 2, 1))
    np.testing.assert_allclose(curve, 0, atol=1e-12)


def test_the_effect_of_a_column_on_an_additive_model_is_its_own_part():
    x = np.random.default_rng(1).uniform(0, 1, size=(400, 2))

    class Additive:
        classes_ = np.array([0, 1])

        def predict_log_proba(self, X):
            p = 0.2 + 0.3 * X[:, 0] + 0.2 * X[:, 1]
            return np.log(np.c_[1 - p, p])

    edges, curve = local_effects(ExplainedModel(Additive(), x, np.array([0, 1])), 0, x[:, 0])
    np.testing.assert_allclose(np.diff(curve[:, 1]) / np.diff(edges), 0.3, rtol=1e-6)
    np.testing.assert_allclose(curve.sum(1), 0, atol=1e-12)


def test_effects_are_averages_over_all_classes_in_whatever_order_rows_come():
    y = np.arange(1200) % 2  # every so many rows in order would all be of one class
    x = np.random.default_rng(0).normal(size=(1200, 2)) + y[:, None]
    data = DocumentedTable.of(pd.DataFrame(x, columns=["a", "b"]), y)
    settings = ReportSettings(models=["LDA"], cv=3, fast=True, progress=False)
    found = replace(
        judge(data, data, settings), importance=(SimpleNamespace(feature="a", low=0.1),)
    )
    (plot,) = effects(found)
    curve = plot.series[0]
    assert np.interp(x[:, 0].mean(), curve.x, curve.y) == pytest.approx(0, abs=0.05)


def test_the_columns_beside_confused_rows_are_those_that_say_most_of_them():
    rng, y = np.random.default_rng(1), np.arange(200) % 2
    X = rng.normal(size=(200, 8)) + 0.1 * y[:, None] * np.arange(8)
    found = sf.report(X, y, estimator=sf.LDA(), models=["NB"], fast=True)
    blocks = [b for section in found.sections for b in section.all_blocks]
    table = next(
        b
        for b in blocks
        if getattr(b, "caption", "")
        == "What speaks against the true class in the worst predictions"
    )
    *_, first, second, third, fourth, fifth, others, total = table.columns
    assert (others, total) == ("+ all others", "= log odds")
    body = [row[4:] for row in table.rows]
    np.testing.assert_allclose([sum(row[:-1]) for row in body], [row[-1] for row in body])
    # log odds of LDA are additive: each column adds wⱼ (xⱼ − tⱼ), t the typical row
    model, held_out = sf.LDA().fit(X, y), found.judgement.held_out
    at = np.argsort(held_out.log_posteriors[np.arange(len(y)), held_out.truth], kind="stable")[
        :6
    ]
    z = (X - X.mean(0)) / X.std(0)
    near = [np.square(z - z[y == k].mean(0)).sum(1) + 1e9 * (y != k) for k in (0, 1)]
    typical = X[[near[k].argmin() for k in y[at]]]
    parts = np.abs(model.coef_[0] * (X[at] - typical)).mean(0)
    names = found.judgement.sample.columns
    # the parts of each row are by the model that had not seen it: nearly that of all rows
    known = {f"+ {names[j]}" for j in np.argsort(-parts)[:6]}
    assert {first, second, third, fourth, fifth} <= known
    held = held_out.log_posteriors[at]
    rival = held[np.arange(6), 1 - y[at]] - held[np.arange(6), y[at]]
    np.testing.assert_allclose([row[-1] for row in body], rival)


def found_of(X, y, **given):
    data = DocumentedTable.of(X, y)
    return replace(judge(data, data, ReportSettings(cv=3, fast=True, progress=False)), **given)


def rise(feature, mean, low, high, loss="error"):
    return Importance(feature, loss, mean, low, high, n_rows=150)


def test_a_column_that_chance_explains_is_not_called_needed(rows):
    x, y = rows
    told = (rise("x1", 0.0007, -0.002, 0.0034, "log_loss"), rise("x2", 0.0001, -0.001, 0.001))
    found = found_of(x, y, importance=told)
    (said,) = importance(found)
    assert said.text == (
        "No single column is shown to be needed: shuffling x1 raises the log-loss most, by 0.001 "
        "(95 % interval −0.002 to 0.003), which may be chance."
    )
    # the numbers have fields in JSON, since no chart holds them
    assert said.figures == {"rise": 0.0007, "low": -0.002, "high": 0.0034}
    assert effects(found) == []


def test_importance_says_on_how_many_rows_it_is_measured(rows):
    told = (rise("x1", 0.04, 0.01, 0.07),)
    _, whole = importance(found_of(*rows, importance=told))
    assert whole.note.startswith("Measured on held-out rows, with 95 % intervals.")
    _, part = importance(found_of(*rows, importance=(replace(told[0], n_rows=40),)))
    assert part.note.startswith(
        "Measured on a sample of 40 held-out rows, with 95 % intervals."
    )


@pytest.mark.parametrize(
    ("loss", "by", "axis"),
    [
        ("error", "4.0 percentage points", "percentage points of error"),
        ("log_loss", "0.040", "log-loss"),
    ],
)
def test_importance_says_what_it_is_measured_in(rows, loss, by, axis):
    told = (rise("x1", 0.04, 0.01, 0.07, loss), rise("x2", 0.001, -0.01, 0.02, loss))
    lead, drawn = importance(found_of(*rows, importance=told))
    assert lead.text.startswith("LDA relies most on x1: shuffling x1 raises the ")
    assert lead.text.endswith(f" by {by}.")
    assert drawn.axis.endswith(axis)
    assert drawn.note.startswith("The chart shows the log-loss") == (loss == "log_loss")


def test_levels_are_told_with_the_posteriors_of_their_held_out_rows():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(300) < 0.3, "yes", "no")
    kind = np.where(rng.random(300) < 0.3 + 0.4 * (y == "yes"), "old", "new").astype(object)
    kind[::15] = None
    X = pd.DataFrame({"x": rng.normal(size=300) + (y == "yes"), "kind": kind})
    found = found_of(X, y, importance=(rise("kind", 0.1, 0.05, 0.15),))
    (table,) = effects(found)
    assert table.caption == "Posterior by kind"
    assert table.columns == ("kind", "rows", "posterior of class yes", "observed")
    p = found.held_out.posteriors[:, 1]
    for level, n, stated, observed in table.rows:
        own = kind == level if level != "empty" else pd.isna(kind)
        assert (n, stated) == (own.sum(), pytest.approx(p[own].mean()))
        assert observed == np.mean(y[own] == "yes")
    assert sum(row[1] for row in table.rows) == 300
    many = replace(
        found.sample.profiles[1], values=np.arange(300) % 12, levels=tuple("abcdefghijkl")
    )
    table = posterior_by_level(found, replace(many, empty=np.zeros(300, bool)))
    assert len(table.rows) == 8
    assert table.note.endswith("4 more levels not shown.")


def test_of_more_than_four_classes_each_has_its_own_drawing():
    y = np.arange(180) % 6
    x = np.random.default_rng(0).normal(size=(180, 2)) + y[:, None]
    found = found_of(
        pd.DataFrame(x, columns=["a", "b"]), y, importance=(rise("a", 0.1, 0.05, 0.2),)
    )
    (multiples,) = effects(found)
    assert len(multiples.plots) == 6
    assert [plot.caption for plot in multiples.plots] == list("012345")
    assert {plot.y.name for plot in multiples.plots} == {"effect on the posterior, points"}


def test_effects_are_shown_as_they_are_and_sum_to_nothing():
    y = np.arange(300) % 3
    x = np.random.default_rng(0).normal(size=(300, 2)) + 4 * y[:, None]
    found = found_of(
        pd.DataFrame(x, columns=["a", "b"]), y, importance=(rise("a", 0.1, 0.05, 0.2),)
    )
    (plot,) = effects(found)
    values = np.array([series.y for series in plot.series])
    np.testing.assert_allclose(values.sum(0), 0, atol=1e-7)  # posteriors are at least 2e-9
    assert values.min() < -0.05  # nothing is clipped at 0
    assert plot.y.low < values.min()
    assert "effect on the posterior" in plot.y.name
