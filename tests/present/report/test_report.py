import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, TimeSeriesSplit

import suffice as sf
from suffice.core.text.numbers import cell
from suffice.errors import InvalidInputError, InvalidParameterError, TooFewClassesError
from suffice.present.report.blocks import Axis, Checks, Code, DataTable, Equation, Matrix, Plot
from suffice.present.report.render import escaped

from .conftest import HOSTILE, MODELS

SECTIONS = ["answer", "sure", "errors", "why", "use", "models", "data"]


def section(report, key):
    return next(s for s in report.sections if s.key == key)


def blocks(report, kind, key=None):
    sections = report.sections if key is None else [section(report, key)]
    return [b for s in sections for b in s.all_blocks if isinstance(b, kind)]


def table(report, caption):
    return next(t for t in blocks(report, DataTable) if t.caption.startswith(caption))


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def test_the_sections_follow_the_question_a_reader_has(iris_report):
    assert [s.key for s in iris_report.sections] == SECTIONS


def test_the_chosen_model_is_fitted_to_all_rows_and_knows_its_columns(iris, iris_report):
    X, _ = iris
    assert iris_report.estimator.moments_.counts.sum() == X.height
    assert list(iris_report.estimator.feature_names_in_) == X.columns


def test_errors_are_those_of_compare_on_the_same_folds(iris, iris_report):
    X, y = iris
    compared = sf.compare(X.to_numpy(), y, MODELS, cv=5)
    outcome = next(
        o for o in compared.outcomes if o.name == type(iris_report.estimator).__name__
    )
    matrix, *_ = blocks(iris_report, Matrix)
    counts = np.array(matrix.counts)
    assert counts.sum() - np.trace(counts) == outcome.held_out.wrong.sum()
    lineup = table(iris_report, "Held-out losses")
    told = {row[0]: row[2:5] for row in lineup.rows}
    for row in compared.rows():
        assert told[row["model"]] == (row["error"], row["error_low"], row["error_high"])


def test_confused_rows_are_named_by_posteriors_of_models_that_have_not_seen_them(
    iris, iris_report
):
    X, y = iris
    rows = X.to_numpy()
    held_out = np.empty(len(y))
    from sklearn.model_selection import StratifiedKFold

    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, y):
        model = type(iris_report.estimator)().fit(rows[train], y[train])
        p = model.predict_proba(rows[test])
        held_out[test] = p[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    confused = table(iris_report, "Worst predictions")
    assert [int(row[0]) for row in confused.rows] == np.argsort(held_out, kind="stable")[
        :6
    ].tolist()
    np.testing.assert_allclose(
        [row[3] for row in confused.rows], np.sort(held_out)[:6], rtol=1e-6
    )


def test_the_rule_takes_the_simplest_model_that_is_about_as_good(iris_report):
    assert type(iris_report.estimator).__name__ == "LDA"
    lineup = table(iris_report, "Held-out losses")
    assert lineup.rows[lineup.marked[0]][0] == "LDA"


def test_html_markdown_and_json_tell_the_same_tables(iris_report):
    page = Page(iris_report.write("html"))
    words = " ".join(page.words)
    markdown = iris_report.write("md")
    document = json.loads(iris_report.write("json"))
    told = [b for s in document["sections"] for b in s["blocks"] if b["kind"] == "table"]
    tables = blocks(iris_report, DataTable)
    assert [t["caption"] for t in told] == [t.caption for t in tables]
    for known, plain in zip(tables, told, strict=True):
        assert known.caption in words
        for row, raw in zip(known.rows, plain["rows"], strict=True):
            for value, number, style in zip(row, raw, known.styles, strict=True):
                text = cell(value, style)
                assert text in words
                assert escaped(text) in markdown
                if isinstance(value, float):
                    assert number is None if np.isnan(value) else number == value


def test_every_figure_is_numbers_words_and_a_drawing_with_real_text(iris_report):
    page, markdown = iris_report.write("html"), iris_report.write("md")
    plots = blocks(iris_report, Plot)
    assert len(plots) >= 9
    parsed = Page(page)
    labels = [attrs.get("aria-label", "") for tag, attrs in parsed.tags if tag == "div"]
    document = json.loads(iris_report.write("json"))
    told = [b for s in document["sections"] for b in s["blocks"] if b["kind"] == "plot"]
    assert [t["key"] for t in told] == [p.key for p in plots]
    for plot, raw in zip(plots, told, strict=True):
        assert any(label.startswith(plot.caption) for label in labels)
        assert escaped(plot.caption) in markdown
        assert raw["series"][0]["x"] == list(map(float, plot.series[0].x))
        for _, tick in (*plot.x.ticks, *plot.y.ticks):
            assert f">{tick}</text>" in page


def test_the_page_speaks_of_rows_and_not_of_our_classes(iris_report):
    text = iris_report.write("md")
    assert "Rows of each class" in text
    for name in ("DocumentedTable", "DataTable", "Paragraph"):
        assert name not in text


def test_names_inside_drawings_are_never_shared(iris_report):
    ids = re.findall(r'\bid="([^"]+)"', iris_report.write("html"))
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("which", ["iris_report", "hostile_report"])
def test_the_page_loads_nothing_from_anywhere(which, request):
    page = Page(request.getfixturevalue(which).write("html"))
    for tag, attrs in page.tags:
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            value = attrs.get(name) or ""
            assert value.startswith(("#", "data:")) or not value, (tag, name, value)
    assert not re.search(r"url\((?!#|var)", " ".join(page.words))
    assert "@import" not in " ".join(page.words)


def test_hostile_names_are_text_and_nothing_else(hostile_report):
    text = hostile_report.write("html")
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert HOSTILE in "".join(page.words)
    assert HOSTILE not in text
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", hostile_report.write("md"))
    assert not re.search(r"(?<!\\)<", outside)
    json.loads(hostile_report.write("json"))


def test_the_policy_of_the_page_allows_its_own_script_only(iris_report):
    import base64
    import hashlib

    text = iris_report.write("html")
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for t, a in Page(text).tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert "base-uri 'none'" in policy
    assert "form-action 'none'" in policy


def test_the_report_is_the_same_twice(iris, iris_report):
    X, y = iris
    again = sf.report(X, pd.Series(y, name="species"), models=MODELS, cv=5, name="iris")
    a, b = json.loads(again.write("json")), json.loads(iris_report.write("json"))
    timeless = [[s for s in d["sections"] if s["key"] != "models"] for d in (a, b)]
    assert timeless[0] == timeless[1]


def test_an_estimator_reports_about_itself(iris):
    report = sf.report(*iris, estimator=sf.QDA(shrinkage=0.1), models=["LDA"], cv=5)
    assert repr(report.estimator) == "QDA(shrinkage=0.1)"
    assert report.verdict.startswith("QDA can be used")


def test_a_classifier_without_densities_is_reported_too(iris):
    from sklearn.tree import DecisionTreeClassifier

    report = sf.report(
        *iris, estimator=DecisionTreeClassifier(random_state=0), models=["LDA"], cv=5
    )
    size = report.judgement.outcome.n_parameters
    assert f"DecisionTreeClassifier has {size:,.0f} parameters." in report.write("md")
    assert not [t for t in blocks(report, DataTable) if t.caption == "Least likely rows"]


def test_a_classifier_without_posteriors_is_reported_too(iris):
    report = sf.report(*iris, estimator=sf.LeastSquaresClassifier(), models=["LDA"], cv=5)
    assert "predicts no probabilities" in report.write("md")


def test_constant_text_is_left_out_and_gaps_are_not():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(60, 3)), columns=["a", "b", "c"], index=np.arange(100, 160)
    )
    X["colour"] = "red"
    X.loc[103, "b"] = np.nan
    y = np.repeat(["no", "yes"], 30)
    report = sf.report(X, y, models=["LDA", "tree"], cv=3, fast=True)
    text = report.write("md")
    assert "columns are left out: 'colour' (always the same)" in text
    said = text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "empty cells: b (1, 1.7 %). LDA classifies rows with empty cells by their other cells"
        in said
    )
    assert report.comparison.n_rows == 60
    ids = {int(row[0]) for row in table(report, "Worst predictions").rows}
    assert ids <= set(range(100, 160))


def test_one_feature_has_a_threshold_and_no_pairs():
    hours = np.linspace(0, 5, 40)[:, None]
    rng = np.random.default_rng(1)
    passed = hours[:, 0] + rng.normal(size=40) > 2.5
    report = sf.report(hours, passed, models=["LDA"], cv=4)
    keys = [f.key for f in blocks(report, Plot)]
    assert "effect-0" in keys  # the posterior over the feature, with the rows
    assert "features" not in keys
    assert "that is, x1 = " in report.write("md")


def test_many_features_and_classes_are_summarised():
    rng = np.random.default_rng(2)
    y = np.arange(300) % 9
    X = rng.normal(size=(300, 40)) + 2 * rng.normal(size=(9, 40))[y]
    report = sf.report(X, y, models=["LDA", "QDA"], cv=3, fast=True)
    means = table(report, "Priors and class means")
    assert len(means.rows) == 16
    assert "15 of 40 features" in means.note


def test_a_class_of_one_row_is_no_obstacle():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(41, 2)), np.array([*["a"] * 20, *["b"] * 20, "c"])
    X[:20] += 3
    report = sf.report(X, y, models=["LDA", "GaussianNB"], cv=5)
    matrix, *_ = blocks(report, Matrix)
    assert np.array(matrix.counts).sum(1).tolist() == [20, 20, 1]


def test_weights_count_in_the_confusion(iris):
    X, y = iris
    weight = np.where(y == "setosa", 2.0, 1.0)
    report = sf.report(X, y, sample_weight=weight, models=["LDA", "QDA"], cv=5)
    matrix, *_ = blocks(report, Matrix)
    assert np.array(matrix.counts).sum(1).tolist() == [100, 50, 50]


def test_of_many_rows_a_sample_is_judged_and_all_are_learnt_from(monkeypatch):
    monkeypatch.setattr("suffice.present.report.build.SAMPLE_ROWS", 500)
    rng = np.random.default_rng(4)
    y = np.arange(3000) % 2
    X = rng.normal(size=(3000, 2)) + y[:, None]
    report = sf.report(X, y, models=["LDA", "QDA"], cv=5, fast=True)
    assert "stratified sample of 500 of 3,000 rows" in report.write("md")
    assert report.estimator.moments_.counts.sum() == 3000
    matrix, *_ = blocks(report, Matrix)
    assert np.array(matrix.counts).sum() == 500


def test_the_code_on_the_page_runs(iris, iris_report):
    X, y = iris
    code = blocks(iris_report, Code, "use")[-1]
    known = {"X": X, "y": y, "X_new": X[:5]}
    exec(code.text, known)
    assert known["model"].predict(X[:5]).tolist() == y[:5].tolist()


def test_checks_speak_of_held_out_posteriors(iris_report):
    (checks,) = blocks(iris_report, Checks)
    questions = [c.question for c in checks.items]
    assert questions[0].startswith("Are the model's probabilities calibrated")
    assert {c.tone for c in checks.items} <= {"good", "caution", "note"}


def test_a_report_is_saved_by_its_extension(iris_report, tmp_path):
    for name, start in (("a.html", "<!doctype html>"), ("a.md", "# iris"), ("a.json", "{")):
        iris_report.save(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(start)
    with pytest.raises(InvalidParameterError, match="extension"):
        iris_report.save(tmp_path / "a.pdf")


def test_one_class_is_refused(iris):
    X, y = iris
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        sf.report(X[:50], y[:50])


def test_notebooks_show_the_verdict_and_the_line_up(iris_report):
    html = iris_report._repr_html_()
    assert "LDA can be used" in html
    assert "<table>" in html


def test_an_average_is_explained_by_what_is_averaged_and_by_no_equation(iris, tmp_path):
    report = sf.report(*iris, estimator=sf.AutoGaussian(), models=["LDA"], cv=3, fast=True)
    text = report.write("md")
    assert "averages the posteriors of" in text
    assert (
        f"have {report.judgement.outcome.n_parameters:,.0f} free parameters in total" in text
    )
    assert not re.search(r"\bnan\b", text)
    assert "come from its best single Gaussian" in text
    assert not blocks(report, Equation)
    assert "Priors and class means" not in text
    (averaged,) = (t for t in blocks(report, DataTable) if t.caption == "What is averaged")
    shares = [c.weight for c in report.estimator.choices_ if c.weight > 0]
    assert [row[0] for row in averaged.rows] == sorted(shares)[::-1][: len(averaged.rows)]
    left = 100 * (sum(shares) - sum(row[0] for row in averaged.rows))
    assert (f" {left:.1f}\N{NO-BREAK SPACE}% together" in averaged.note) == (left > 1e-9)
    report.estimator.save(tmp_path / "auto.suffice")
    X, _ = iris
    again = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_array_equal(again.predict(X), report.estimator.predict(X))


def test_a_report_shows_its_answer_a_figure_and_where_the_page_is(iris_report, tmp_path):
    assert "<svg" in iris_report._repr_html_()
    iris_report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").as_uri() in iris_report._repr_html_()


def test_tables_of_a_weighted_report_say_that_they_hold_weights_and_sentences_count_rows(iris):
    X, y = iris
    weights = np.where(y == "virginica", 2.5, 0.5)
    page = sf.report(X, y, sample_weight=weights, models=["LDA"], cv=5, fast=True)
    held_out = page.judgement.held_out
    missed = (held_out.truth == 1) & held_out.wrong
    text = section(page, "errors").blocks[0].text
    assert f" misclassified {held_out.wrong.sum()} of 150 rows" in text
    assert f"class versicolor was predicted as virginica ({missed.sum()} of 50)" in text
    by_class = table(page, "Recall and precision of each class")
    assert by_class.columns[1] == "weight of rows"
    assert [row[1] for row in by_class.rows] == [25.0, 25.0, 125.0]
    matrix, *_ = blocks(page, Matrix, "errors")
    assert matrix.note == "Numbers are weights of rows."
    fitting = blocks(page, Code, "use")[-1].text
    assert ".fit(X, y, sample_weight=weights)" in fitting


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 0.0, ["0"]),
        (0.0, 7.3, ["0", "2", "4", "6"]),
        (18_000.0, 18_020.0, ["18,000", "18,005", "18,010", "18,015", "18,020"]),
        (
            1e9,
            1e9 + 2,
            ["1000000000", "1000000000.5", "1000000001", "1000000001.5", "1000000002"],
        ),
        (109.0, 109.1, ["109", "109.02", "109.04", "109.06", "109.08", "109.1"]),
        (1e-20, 5e-20, ["1e-20", "2e-20", "3e-20", "4e-20", "5e-20"]),
        (-2e15, 4e15, ["−2e+15", "−1e+15", "0", "1e+15", "2e+15", "3e+15", "4e+15"]),
    ],
)
def test_ticks_tell_places_apart_in_any_unit_and_far_from_zero(low, high, texts):
    assert [text for _, text in Axis("x", low, high).ticks] == texts


def test_rows_of_weight_zero_are_left_out_and_others_keep_their_names(iris):
    X, y = iris
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    page = sf.report(X, y, sample_weight=weights, models=["LDA"], cv=5, fast=True)
    assert "ows with weight zero are left out: 50 rows" in page.write("md")
    worst = table(page, "Worst predictions").rows
    assert len(worst) == 6
    for name, truth, *_ in worst:
        assert weights[int(name)] == 1
        assert y[int(name)] == truth


@pytest.mark.parametrize(
    "cv", [TimeSeriesSplit(3), ShuffleSplit(3), RepeatedStratifiedKFold()]
)
def test_folds_that_hold_out_a_row_never_or_twice_are_refused(iris, cv):
    X, y = iris
    mixed = np.random.default_rng(0).permutation(150)
    with pytest.raises(InvalidParameterError, match=r"row \d+ is held out (0|[2-9]|10) times"):
        sf.report(X[mixed], y[mixed], models=["LDA"], cv=cv, fast=True)


def test_columns_of_one_name_are_refused(iris):
    X, y = iris
    twins = pd.DataFrame(X.to_numpy(), columns=["a", "b", "a", "c"])
    with pytest.raises(
        InvalidInputError, match=r"X has 2 columns called 'a', .*: rename all but one"
    ):
        sf.report(twins, y, models=["LDA"], fast=True)
