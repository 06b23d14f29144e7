"""Every number of the page is the number of the Python result that it comes from."""

import dataclasses
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi

import suffice as sf
from suffice.core.text.numbers import cell, number
from suffice.errors import SufficeWarning
from suffice.evaluate.comparison.fit_times import SlowModel
from suffice.evaluate.comparison.verdict import ClassRecall
from suffice.evaluate.curves.thresholds import cost_curve
from suffice.present.report.answer import next_step
from suffice.present.report.blocks import (
    Axis,
    DataTable,
    Facts,
    Intervals,
    Matrix,
    Paragraph,
    Plot,
    Thresholds,
)
from suffice.present.report.render import as_figure, breakable, is_tight

from .test_report import blocks, section, table


class Walk(HTMLParser):
    """The cells that carry a number, with the text that a reader sees."""

    def __init__(self, text):
        super().__init__()
        self.found, self._open = [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        value = known.get("data-value", known.get("value") if tag == "data" else None)
        if value is not None and tag in ("td", "th", "data"):
            self._open = (tag, float(value), known.get("class", ""), [])

    def handle_data(self, data):
        if self._open:
            self._open[3].append(data)

    def handle_endtag(self, tag):
        if self._open and tag == self._open[0]:
            self.found.append((*self._open[1:3], "".join(self._open[3])))
            self._open = None


@pytest.mark.parametrize("which", ["iris_report", "rare_report", "many_report"])
def test_every_number_in_a_table_is_written_from_its_value(which, request):
    report = request.getfixturevalue(which)
    walked = Walk(report.write("html")).found
    told = [v for v, *_ in walked if np.isfinite(v)]
    expected = []
    for t in blocks(report, DataTable):
        cells = [(v, s) for row in t.rows for v, s in zip(row, t.styles, strict=True)]
        expected += [float(v) for v, s in cells if isinstance(v, (int, float)) and s != "text"]
    for facts in blocks(report, Facts):
        expected += [float(f.value) for f in facts.items if f.style != "text"]
    for drawn in blocks(report, Intervals):
        numbers = [v for i in drawn.items for v in (i.value, i.low, i.high) if v is not None]
        expected += map(float, numbers)
    for matrix in blocks(report, Matrix):
        expected += [float(v) for row in matrix.counts for v in row]
    assert sorted(told) == pytest.approx(sorted(v for v in expected if np.isfinite(v)))
    for value, style, text in walked:
        if style in ("count", "number", "short", "loss", "percent", "p", "seconds", "signed"):
            assert text == cell(value, style)


def test_the_answer_is_the_verdict(rare_report):
    verdict, comparison = rare_report.judgement.verdict, rare_report.comparison
    lead, *_ = section(rare_report, "answer").blocks
    assert (lead.text, lead.tone) == (verdict.headline, verdict.usable)
    (facts,) = blocks(rare_report, Facts, "answer")
    told = {f.name: f.value for f in facts.items}
    assert told["error"] == verdict.error
    assert told["constant classifier"] == comparison.baseline.error
    assert told["log-loss"] == comparison[comparison.reference].log_loss
    (found,) = blocks(rare_report, Intervals, "answer")
    rows = rare_report.judgement.held_out
    for item in found.items:
        own = rows.labels == item.name
        assert item.value == np.mean(rows.predicted_labels[own] == item.name)
    text = rare_report.write("md")
    for caveat in verdict.caveats:
        plain = caveat.replace("\N{NO-BREAK SPACE}", " ")
        assert plain.split(":")[0].split("'")[0] in text


def test_differences_are_those_of_the_comparison(rare_report):
    (drawn,) = blocks(rare_report, Intervals, "models")
    tested = rare_report.comparison.differences()
    assert [(i.name, i.value, i.low, i.high) for i in drawn.items] == [
        (d.model, d.mean, d.low, d.high) for d in tested if d.model != "constant"
    ]
    said = {"alike": "", "worse": "worse", "better": "better"}
    assert [i.remark for i in drawn.items] == [
        said[d.verdict] for d in tested if d.model != "constant"
    ]


def test_the_slider_counts_held_out_rows(rare_report):
    (slider,) = blocks(rare_report, Thresholds)
    rows = rare_report.judgement.held_out
    k = rows.classes.tolist().index("ill")
    assert slider.positive == "ill"
    for t, hits, alarms in zip(
        slider.thresholds, slider.hits, slider.false_alarms, strict=True
    ):
        called = rows.posteriors[:, k] >= t
        assert hits == (called & (rows.truth == k)).sum()
        assert alarms == (called & (rows.truth != k)).sum()
    told = rare_report.judgement.verdict.threshold
    called = rows.predicted == k if told is None else rows.posteriors[:, k] >= told.value
    assert slider.hits[slider.start] == (called & (rows.truth == k)).sum()


def test_reasons_of_confused_rows_add_up_to_their_log_odds(rare_report):
    found = table(rare_report, "What speaks against the true class in the worst predictions")
    start = found.columns.index("typical row")
    for row in found.rows:
        assert sum(row[start:-1]) == pytest.approx(row[-1])
        assert (row[-1] > 0) == (row[1] != row[2])  # by the model that predicted it


OTHER_WORDS = (
    "base rate",
    "constant answer",
    "class frequencies",
    "always predicting",
    "taken at",
)


@pytest.mark.parametrize("which", ["iris_report", "rare_report", "many_report"])
def test_one_thing_has_one_name_and_the_reader_is_told_what_to_do(which, request):
    report = request.getfixturevalue(which)
    text = report.write("md")
    assert [words for words in OTHER_WORDS if words in text] == []
    (told,) = (
        b.text
        for b in section(report, "answer").blocks
        if b.kind == "text" and b.text[:5] == "Next:"
    )
    assert told.endswith(".")


def test_calibration_is_observed_frequency_of_equally_many_rows(rare_report):
    plot = next(p for p in blocks(rare_report, Plot) if p.key == "calibration")
    rows = rare_report.judgement.held_out
    p = rows.posteriors[:, rows.classes.tolist().index("ill")]
    line = next(s for s in plot.series if s.shape == "line")
    sizes = [int(re.search(r"of (\d+) rows", t)[1]) for s in plot.series for t in s.tips]
    assert sum(sizes) == 400
    assert max(sizes) <= 2 * min(sizes)
    assert np.average(line.y, weights=sizes) == pytest.approx((rows.labels == "ill").mean())
    assert np.average(line.x, weights=sizes) == pytest.approx(p.mean())


def test_empty_cells_are_shown_by_their_pattern(rare_report):
    gaps = table(rare_report, "Which cells are empty together")
    assert sum(row[0] for row in gaps.rows) == 400
    known = {columns: n for n, *columns in gaps.rows for columns in [tuple(columns)]}
    both = len(set(range(0, 400, 17)) & set(range(0, 400, 23)))
    assert known["□", "□"] == both
    columns = {row[0]: row[1:4] for row in table(rare_report, "Columns").rows}
    assert columns["site"][:2] == ("category", len(range(0, 400, 23)) / 400)


def test_many_classes_are_ordered_and_named_in_pairs_and_not_in_lines(many_report):
    confusion, apart = blocks(many_report, Matrix)
    counts = np.array(confusion.counts)
    errors = counts * (1 - np.eye(12))
    pairs = next(
        i for i in blocks(many_report, Intervals) if "frequent confusions" in i.caption
    )
    assert pairs.items[0].value == errors.max()
    assert [i.value for i in pairs.items] == sorted(
        (i.value for i in pairs.items), reverse=True
    )
    near = sum(errors[i, j] for i in range(12) for j in range(12) if abs(i - j) == 1)
    names = sorted(confusion.classes)
    at = [confusion.classes.index(n) for n in names]
    plain = errors[np.ix_(at, at)]
    assert near >= sum(plain[i, j] for i in range(12) for j in range(12) if abs(i - j) == 1)
    assert apart.distances
    assert apart.classes == confusion.classes
    assert all(
        len([s for s in p.series if s.shape == "line"]) <= 4 for p in blocks(many_report, Plot)
    )


@pytest.mark.parametrize("which", ["iris_report", "rare_report", "many_report"])
def test_no_code_path_or_message_of_ours_stands_on_the_page(which, request):
    report = request.getfixturevalue(which)
    text = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", report.write("md"))
    for wrong in (
        r"0x[0-9a-f]{6}",
        r"/\w+/\w+/",
        "Traceback",
        r"\bnan\b",
        r"\binf\b",
        "needs a fitted",
    ):
        assert not re.search(wrong, text), wrong
    assert not re.search(r"\b[A-Z]\w+\(\w+=", text.replace("\\", ""))
    assert "array(" not in text
    assert len(report.write("html")) < 2_000_000


def test_a_power_transform_leaves_no_message_on_the_page():
    rng = np.random.default_rng(3)
    y = np.arange(150) % 2
    X = np.exp(rng.normal(size=(150, 2)) + y[:, None])
    report = sf.report(X, y, estimator=sf.LDA(power="yeo-johnson"), models=["tree"], cv=3)
    assert "needs a fitted" not in report.write("md")


def test_a_log_loss_that_explodes_is_capped():
    assert cell(296388755106.357, "loss") == "> 10"
    assert cell(float("inf"), "loss") == "> 10"
    assert cell(0.5, "loss") == "0.500"


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "span", [(1, 2), (20, 1e6), (3, 7000), (1e-4, 1.1e-3), (5, 5), (-3, 80)]
)
def test_ticks_are_few_apart_and_inside(span, log):
    if log and span[0] <= 0:
        return
    axis = Axis("x", *map(float, span), log=log)
    places = [at for at, _ in axis.ticks]
    assert len(places) <= 8
    assert all(-1e-9 <= at <= 1 + 1e-9 for at in places)
    assert all(b - a > 0.06 for a, b in pairwise(places))
    assert len({text for _, text in axis.ticks}) == len(places)


def test_pictures_of_rows_that_were_learnt_from_say_so(iris_report):
    said = {p.key: p.caption for p in blocks(iris_report, Plot)}
    assert "The model was fitted to these same rows" in said["distances"]
    for key in ("discriminant", "features"):
        assert "eld-out" in said[key]


def test_expected_distances_are_quantiles_of_chi(iris_report):
    drawn = next(p for p in blocks(iris_report, Plot) if p.key == "distances")
    for dots in drawn.series[1:]:
        n = len(dots.x)
        np.testing.assert_allclose(dots.x, chi(4).ppf((np.arange(n) + 0.5) / n), rtol=1e-9)
        assert np.all(np.diff(dots.y) >= 0)


@pytest.mark.parametrize("which", ["iris_report", "rare_report", "many_report"])
def test_importance_names_the_loss_that_it_is_measured_in(which, request):
    report = request.getfixturevalue(which)
    drawn = next(
        i for i in blocks(report, Intervals, "why") if "Permutation importance" in i.caption
    )
    known = report.judgement.importance
    assert [(i.name, i.value, i.low, i.high) for i in drawn.items] == [
        (i.feature, i.mean, i.low, i.high) for i in known[:8]
    ]
    kind = known[0].loss
    assert drawn.style == {"error": "points", "log_loss": "loss"}[kind]
    assert f"rise of the {kind.replace('_', '-')} " in drawn.caption


def levels(n=240, seed=0):
    """Return three classes over columns of few values, one of which tells two of them apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {"a": (y == 1) * 1.0, "b": rng.integers(0, 2, n), "c": rng.integers(0, 3, n)}
    )
    X["c"] += y
    return X, np.array(["u", "v", "w"])[y]


def test_rows_are_not_drawn_over_columns_of_few_values_or_at_any_distance():
    X, y = levels()
    page = sf.report(X, y, models=["LDA", "tree"], cv=3, fast=True).write()
    assert "two numeric columns that separate the classes most" not in page
    assert (
        "the discriminants were fitted to the other half." not in page
    )  # class v lies infinitely far away
    graded = X.assign(d=np.random.default_rng(1).normal(size=len(X)), a=0.5 * X["a"])
    graded["a"] += np.random.default_rng(2).normal(size=len(X))
    page = sf.report(graded, y, models=["LDA", "tree"], cv=3, fast=True).write()
    assert "two numeric columns that separate the classes most" in page
    assert "the discriminants were fitted to the other half." in page


def test_what_was_left_out_for_time_is_said_once(iris):
    found = sf.report(*iris, models=["LDA", "tree"], cv=3, fast=True)
    judged = dataclasses.replace(found.comparison, slow=(SlowModel("boosting", 40.0),))
    assert "left out" not in " ".join(judged.notes)
    assert str(judged).count("Not compared: boosting would take about 40 s.") == 1


def test_a_column_that_tells_classes_apart_without_error_is_not_called_useless():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["u", "v"])
    X["sign"] = (y == "a").astype(float)
    X["twice"] = 2 * X["u"]
    text = sf.report(X, y, models=["LDA"], cv=3, fast=True).write("md")
    assert not re.search(r"sign[^.]* constant, so models cannot learn", text)


def test_values_of_levels_have_no_outliers():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.integers(0, 2, (80, 3)) + y[:, None] * rng.integers(0, 2, (80, 3))
    report = sf.report(X, y, models=["LDA"], cv=3, fast=True)
    assert "Least likely rows" not in report.write("md")
    assert "outliers" not in [f.name for b in blocks(report, Facts) for f in b.items]


def test_more_rows_are_asked_for_of_the_class_that_the_caveat_names():
    rng = np.random.default_rng(0)
    y = np.array([*"a" * 60, *"b" * 60, *"c" * 6])
    X = rng.normal(size=(126, 2)) + 3 * np.searchsorted(["a", "b", "c"], y)[:, None]
    report = sf.report(X, y, models=["LDA"], cv=3, fast=True)
    text = report.write("md")
    assert "Class c has only 6 rows" in text
    assert "Next: collect more rows of class c before" in text


def test_more_rows_are_asked_for_of_the_class_that_is_missed_most():
    rng = np.random.default_rng(0)
    y = np.array([*"a" * 80, *"b" * 20, *"c" * 5, *"d" * 6])
    centres = np.array([[0.0, 0.0], [0.3, 0.0], [9.0, 9.0], [0.0, 0.2]])
    X = rng.normal(size=(111, 2)) + centres[np.searchsorted(["a", "b", "c", "d"], y)]
    text = sf.report(X, y, models=["LDA"], cv=3, fast=True).write("md")
    # c has the fewest rows and is found; b and d are missed
    missed = "of the rows of each of the classes b and d (20 of 20 and 6 of 6)"
    assert missed in text
    assert "Next: collect more rows of classes b and d before" in text


def test_no_line_ends_inside_a_p_value_or_before_a_unit(iris_report, rare_report):
    for report in (iris_report, rare_report):
        told = re.findall(
            r"<(p|figcaption|small|summary)\b[^>]*>([^<]+)", report.write("html")
        )
        broken = [
            text for _, text in told if re.search(r"\bp [=<≤≥]|[=<≤≥] \d|\d [%s]\b", text)
        ]
        assert broken == []
        assert sum("p\N{NO-BREAK SPACE}" in text for _, text in told) > 4


@pytest.mark.parametrize(
    ("helps", "advice"),
    [
        ("would help", "collect more rows of class c"),
        ("would hardly help", "look for other columns that separate class c from the others"),
    ],
)
def test_more_rows_are_not_asked_for_where_they_would_hardly_help(helps, advice):
    recalls = [ClassRecall(k, n, 50) for k, n in (("c", 20), ("b", 49), ("a", 50))]
    verdict = SimpleNamespace(
        threshold=None, usable="with care", recalls=recalls, real_errors=None
    )
    f = SimpleNamespace(
        verdict=verdict,
        growth=SimpleNamespace(helps=helps),
        checks=SimpleNamespace(suspects=(), caveats=(), together=""),
        outcome=SimpleNamespace(n_rows=150),
        comparison=SimpleNamespace(copies=None),
    )
    assert next_step(f) == f"Next: {advice} before you rely on the model."


def test_a_histogram_splits_no_whole_number_and_is_not_emptied_by_a_few_rows_far_away():
    rng = np.random.default_rng(7)
    y = np.where(np.arange(300) % 2, "much", "little")
    calls = rng.poisson(np.where(y == "much", 4, 1))
    level = rng.normal(size=300) + 2 * (y == "much")
    level[5], level[8] = 1e4, -1e4
    X = pd.DataFrame({"calls": calls, "level": level})
    report = sf.report(X, y, models=["GaussianNB"], cv=3, fast=True)
    drawn = {p.x.name: p for p in blocks(report, Plot) if p.key.startswith("feature-")}
    assert set(drawn) == {"calls", "level"}
    for series in drawn["calls"].series:
        own = calls[y == series.name]
        shares = [np.mean(own == k) for k in range(calls.max() + 1)]
        np.testing.assert_allclose(series.y[::2], shares)
        np.testing.assert_allclose(series.x[::2], np.arange(calls.max() + 1) - 0.5)
    assert drawn["level"].x.high < 20
    assert drawn["level"].x.low > -20
    assert "beyond" in drawn["level"].caption
    assert "beyond" not in drawn["calls"].caption
    for series in drawn["level"].series:
        assert np.sum(series.y[::2]) == pytest.approx(
            1
        )  # rows beyond are in the outermost bars


def test_dots_of_classes_take_turns_so_that_none_hides_under_another(iris_report):
    plot = next(p for p in blocks(iris_report, Plot) if p.key == "discriminant")
    figure = iris_report.write("html").split('id="f-discriminant"')[1].split("</figure>")[0]
    drawing = figure.split("</svg>")[0]
    assert re.findall(r'<g class="dots k(\d)"', drawing) == ["0", "1", "2"] * 4
    assert drawing.count("<use") == sum(len(s.x) for s in plot.series)


def test_a_bar_of_nothing_is_not_drawn():
    X = pd.DataFrame({"flag": np.repeat([0, 1], 30), "x": np.arange(60) % 7})
    report = sf.report(X, np.repeat(["a", "b"], 30), models=["GaussianNB"], cv=3, fast=True)
    bars = next(b for b in blocks(report, Intervals) if "flag" in b.caption)
    assert [i.value for i in bars.items] == [0, 1]
    chart = report.write("html").split(f">{bars.caption}<")[1].split("</table>")[0]
    assert chart.count('class="bar"') == 1


def test_ordered_classes_dates_zeros_and_repeated_rows_are_told():
    rng = np.random.default_rng(8)
    y = rng.choice(["low", "medium", "high"], 120)
    X = pd.DataFrame(
        {
            "weight": np.abs(rng.normal(50, 5, 120)) + 9 * (y == "high"),
            "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 60, 120), "D"),
        }
    )
    X.loc[3, "weight"] = 0
    X.loc[117:, :] = X.loc[:2, :].to_numpy()
    with pytest.warns(SufficeWarning, match="dates: they count as days"):
        report = sf.report(X, y, models=["LDA"], cv=3, fast=True, progress=False)
    text = report.write("md").replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "The classes are steps of a scale. Their order may matter, but no model here uses it"
        in text
    )
    assert re.search(
        r"Column 'weight' is 0 in 1 row, but [\d.]+ or more in all others: check this row",
        text,
    )
    # the error of later rows is known: no hint at a date that may matter
    assert "later rows may be misclassified more often" not in text
    assert " on later rows. " in text
    kinds = {row[0]: row for row in table(report, "Columns").rows}
    days = X["day"].dt.date.astype(str)
    assert (kinds["day"][1], *kinds["day"][6:]) == ("date", days.min(), days.max())
    (repeated,) = (
        f for b in blocks(report, Facts) for f in b.items if f.name == "repeated rows"
    )
    assert repeated.value == 3


def test_plots_over_dates_have_dates_at_their_ticks():
    rng = np.random.default_rng(5)
    y = rng.choice(["no", "yes"], 120)
    late = pd.to_timedelta(150 * (y == "yes"), "D")
    opened = (
        pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 500, 120), "D") + late
    )
    X = pd.DataFrame(
        {"opened": opened, "income": rng.normal(25e4, 9e3, 120) + 9e3 * (y == "yes")}
    )
    X["leap"] = pd.to_datetime(np.where(rng.random(120) < 0.5, "2024-02-29", "2028-02-29"))
    with pytest.warns(SufficeWarning, match="dates: they count as days"):
        report = sf.report(X, y, models=["LDA"], cv=3, progress=False)
    plots = {p.key: p for p in blocks(report, Plot)}
    texts = {"2025-01", "2025-07", "2026-01", "2026-07"}
    for plot in plots.values():
        for axis in (plot.x, plot.y):
            if axis.name == "opened":
                assert texts <= {text for _, text in axis.ticks}
    assert {plots["features"].x.name, plots["features"].y.name} == {"opened", "income"}
    html = report.write("html")
    assert re.search(r'data-tip="opened 202[56]-\d\d-\d\d: ', html)
    assert "have leap = 2028-02-29" in html


@pytest.mark.parametrize(("high", "left"), [(90.0, 0), (9e3, 0), (9e4, 18), (9e5, 27)])
def test_long_labels_have_room_left_of_the_axis(high, left):
    plot = Plot("one", "One.", Axis("x", 0, 1), Axis("y", 0.5 * high, high), ())
    drawn = as_figure(plot)
    assert f'viewBox="{-left} 0 {440 + left} 300"' in drawn
    assert f"translate({12 - left} 132)" in drawn


def test_names_break_after_an_underscore_and_an_equals_sign():
    assert breakable("island=Torgersen_Is") == "island=<wbr>Torgersen_<wbr>Is"
    assert breakable("+ sex=(missing)") == "+\N{NO-BREAK SPACE}sex=<wbr>(missing)"
    assert breakable("= log odds") == "=\N{NO-BREAK SPACE}log odds"
    assert breakable("a<b=c") == "a&lt;b=<wbr>c"
    assert not is_tight(["a=" + 40 * "b", "c=" + 35 * "d"])
    assert is_tight(["a" + 40 * "b", "c" + 35 * "d"])


def test_few_columns_are_shown_rather_than_counted(iris):
    X, y = np.random.default_rng(9).normal(size=(90, 17)), np.arange(90) % 3
    report = sf.report(X, y, models=["LDA"], cv=3, fast=True, progress=False)
    assert not re.search(
        r"more \w+ not shown", report.write("md").split("## Models compared")[0]
    )
    assert "The classes are numbers. Their order may matter" in report.write("md")
    assert "Their order may matter" not in sf.report(
        *iris, models=["LDA"], cv=3, fast=True
    ).write("md")


def test_groups_are_held_out_whole_wherever_an_error_is_told():
    rng = np.random.default_rng(10)
    person = np.repeat(np.arange(24), 5)
    y = np.where(person % 2, "ill", "well")
    habit = rng.normal(size=(24, 3))[person]  # tells the person, not the class
    X = pd.DataFrame(habit + 0.01 * rng.normal(size=(120, 3)), columns=list("abc"))
    groups = pd.Series(person, name="person")
    report = sf.report(X, y, models=["LDA", "knn"], groups=groups, progress=False)
    own = sf.compare(X, y, ["LDA", "knn"], None, groups=groups)
    assert report.judgement.outcome.error == own[report.comparison.reference].error
    folds = report.judgement.outcome.folds
    rows = report.judgement.outcome.held_out.rows
    assert pd.Series(folds).groupby(person[rows]).nunique().eq(1).all()
    assert report.judgement.growth is None
    text = report.write("md")
    assert "Folds keep whole groups of person together (24 groups)" in text
    assert "no learning curve, because more rows of known groups say nothing about" in text
    shuffled = sf.report(X, y, models=["LDA", "knn"], progress=False)
    assert shuffled.judgement.outcome.error < 0.1 < report.judgement.outcome.error


def test_the_slider_has_the_least_cost_of_every_threshold_whatever_errors_cost(rare_report):
    (slider,) = blocks(rare_report, Thresholds)
    rows = rare_report.judgement.held_out
    curve = cost_curve(rows, slider.positive)
    missed = slider.n_positive - np.array(slider.hits)
    alarms = np.array(slider.false_alarms)
    n = len(rows.truth)
    for cost in (0.01, 0.3, 1, 2, 3.7, 11, 50, 400):
        least = n * (cost * curve.misses + curve.false_alarms).min()
        assert (cost * missed + alarms).min() == pytest.approx(least, abs=1e-6)


def test_the_slider_keeps_the_optimum_where_thresholds_are_thinned():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.1, "ill", "well")
    x = rng.normal(size=(3000, 2)) + (y == "ill")[:, None]
    report = sf.report(x, y, models=["LDA"], cv=3, fast=True)
    (slider,) = blocks(report, Thresholds)
    assert len(slider.thresholds) < 400
    rows = report.judgement.held_out
    curve = cost_curve(rows, slider.positive)
    missed = slider.n_positive - np.array(slider.hits)
    for cost in np.geomspace(0.5, 50, 60):
        least = 3000 * (cost * curve.misses + curve.false_alarms).min()
        found = (cost * missed + np.array(slider.false_alarms)).min()
        assert found == pytest.approx(least, abs=1e-6)


def test_a_threshold_as_it_is_written_finds_what_is_said_of_it():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.1, "1", "0")
    x = rng.normal(size=(3000, 2)) + (y == "1")[:, None]
    report = sf.report(x, y, models=["LDA"], cv=3, fast=True)
    (slider,) = blocks(report, Thresholds)
    posterior = report.judgement.held_out.posteriors[:, 1]
    written = [float(number(threshold, 12)) for threshold in slider.thresholds]
    n_called = [int((posterior >= threshold).sum()) for threshold in written]
    assert n_called == np.add(slider.hits, slider.false_alarms).tolist()
    assert len(set(written)) == len(written)
    threshold = report.answer.threshold
    stated = f"With a threshold of {number(threshold.value, 12)}, the model would find"
    assert stated in report.answer.next_step
    assert "each further row of class 1 that the model finds" in report.answer.next_step
    called = posterior >= float(number(threshold.value, 12))
    assert (called & (y == "1")).sum() == threshold.n_found
    assert (called & (y == "0")).sum() == threshold.false_alarms


def test_a_calibration_curve_of_three_points_is_left_out(iris):
    X, y = iris
    few = np.arange(0, 150, 3)
    report = sf.report(X[few], y[few], models=["LDA"], cv=3, fast=True)
    assert "calibration" not in [plot.key for plot in blocks(report, Plot)]


def test_every_caveat_of_the_page_is_in_the_verdict_and_in_json():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = pd.DataFrame({"a": rng.normal(size=200) + y, "leak": y + 0.001 * rng.normal(size=200)})
    X["b"] = np.where(np.arange(200) % 40, 100 + rng.normal(size=200), -999.0)
    report = sf.report(X, y, models=["LDA"], cv=3, fast=True)
    document = json.loads(report.write("json"))
    cautions = [b.text for b in blocks(report, Paragraph) if b.tone == "caution"]
    assert len(cautions) >= 2
    assert any("leak" in caution for caution in cautions)
    for caution in cautions:
        assert caution in report.verdict
        assert caution in document["caveats"]
        assert caution in document["verdict"]
    assert document["caveats"] == list(report.answer.caveats)


def test_a_folded_part_promises_only_what_it_holds(first_look_report):
    (section,) = [each for each in first_look_report.sections if each.key == "errors"]
    captions = [block.caption for block in section.details]
    assert section.more.startswith("More: recall and precision of each class")
    assert ("outliers" in section.more) == ("Least likely rows" in captions)
    assert ("reasons for the worst predictions" in section.more) == (
        "What speaks against the true class in the worst predictions" in captions
    )


def test_the_first_picture_of_two_classes_shows_a_column_that_differs_from_the_coordinate():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = pd.DataFrame({"a": 3 * y, "b": y, "c": np.zeros(200)}) + rng.normal(size=(200, 3))
    report = sf.report(X, y, models=["LDA"], cv=3, fast=True)
    assert report.judgement.ranked_features[0] == 0  # nearly the coordinate itself
    (plot,) = (plot for plot in blocks(report, Plot) if plot.key == "discriminant")
    assert (plot.x.name, plot.y.name) == ("discriminant coordinate 1", "b")
