"""A comparison in words, as a table for every kind of page, and as a figure."""

from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console
from sklearn.dummy import DummyClassifier

import suffice as sf
from suffice.core.text.numbers import duration
from suffice.evaluate.comparison.paired import Difference
from suffice.evaluate.comparison.verdict import _on_alike_models, _on_different_models


@pytest.fixture(scope="module")
def result(iris):
    models = {"LDA": sf.LDA(), "QDA": sf.QDA(), "least squares": sf.LeastSquaresClassifier()}
    return sf.compare(*iris, models | {"<guess>": DummyClassifier()}, 5)


def test_the_verdict_of_real_data_changes_when_the_other_member_gets_worse():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 2)) + 2 * y[:, None]
    twin = sf.compare(X, y, {"a": sf.LDA(), "b": sf.LDA(divisor="unbiased")})
    assert "on the same 300 rows, this model does not differ significantly: " in twin.verdict
    worse = sf.compare(X, y, {"a": sf.LDA(), "b": DummyClassifier()})
    (of_b,) = (d for d in worse.differences() if d.model == "b")
    points = f"{100 * of_b.mean:+.1f} percentage points"
    beginning = "Compared with a on the same 300 rows, this model is significantly worse:"
    assert f"{beginning} b ({points}, p < 0.0001)." in worse.verdict


def differences(p_values):
    """Return differences of errors of 1, 2, … points with these p-values."""
    return [
        Difference(f"m{i}", "error", 0.01 * (i + 1), 0.0, 1.0, p)
        for i, p in enumerate(p_values)
    ]


def test_p_values_say_for_how_many_pairs_they_are_adjusted(result):
    assert "p-values are adjusted for 6 pairs of models." in result.verdict


def test_many_names_are_counted_and_not_listed():
    alike = differences([0.5] * 9)
    assert _on_alike_models(alike, 9) == (
        "None of the 9 others differs significantly: their errors differ by +1.0 to +9.0 "
        "percentage points (smallest p = 0.5)."
    )
    assert _on_alike_models(alike, 10) == (
        "These models do not differ significantly: m0, m1, m2, m3, m4 and 4 more (+1.0 to +9.0 "
        "percentage points, p ≥ 0.5)."
    )
    bad = _on_different_models(differences([0.001 * (i + 1) for i in range(9)]), "worse")
    assert bad == (
        "These models are significantly worse: m0, m1, m2, m3, m4 and 4 more (+1.0 to +9.0 "
        "percentage points, p ≤ 0.009)."
    )


def test_the_plain_table_has_a_line_for_each_member_and_the_verdict(result):
    lines = str(result).splitlines()
    assert lines[0] == "150 rows of 3 classes; 5 stratified folds, shuffled with seed 0"
    assert [line.split("  ")[0] for line in lines[3:8]] == list(result.to_frame().index)
    assert result.verdict in lines


@pytest.mark.parametrize("width", [50, 80, 100, 200])
def test_a_terminal_shows_the_columns_it_has_room_for_and_cuts_none(width, result):
    console = Console(width=width, record=True, file=None, quiet=True)
    with console.capture() as caught:
        console.quiet = False
        console.print(result)
    text = caught.get()
    assert "…" not in text
    assert "least squares" in text
    assert max(map(len, text.splitlines())) <= width
    assert ("calib." in text) == (width == 200)


def test_the_html_table_is_escaped_and_whole(result):
    page = result._repr_html_()
    assert "&lt;guess&gt;" in page
    assert page.count("<tr") == 6
    parser = HTMLParser()
    parser.feed(page)
    parser.close()


def test_the_representation_names_the_recommended(result):
    assert repr(result).startswith("Comparison(5 models × 5 folds; recommended: LDA: ")


def test_a_comparison_is_frozen(result):
    with pytest.raises(AttributeError):
        result.n_rows = 3


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2e-5, "20 µs"), (0.0123, "12.3 ms"), (0.9999, "1 s"), (75.2, "75.2 s")],
)
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text


def test_a_bar_is_shown_only_after_a_second_and_only_if_wished(iris, monkeypatch, capsys):
    monkeypatch.setattr("suffice.core.progress._PATIENCE", 0.0)
    sf.compare(*iris, ["LDA"], 3, progress=False)
    sf.compare(*iris, ["LDA"], 3)
    assert capsys.readouterr().err == ""
    sf.compare(*iris, ["LDA"], 3, progress=True)
    assert "LDA" in capsys.readouterr().err
