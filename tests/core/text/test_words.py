"""Numbers, lists and tables in words, by examples."""

import numpy as np
import pytest

from suffice.core.text.lists import (
    counted,
    labels_of_one_type,
    listed,
    printable,
    quoted,
    shortened,
)
from suffice.core.text.numbers import (
    duration,
    number,
    p_statement,
    percent,
    percent_label,
    points_between,
)
from suffice.core.text.tables import Tabled, html_table, json_value, text_lines


@pytest.mark.parametrize(
    ("written", "value", "words"),
    [
        (number, 1234567.0, "1,234,567"),
        (number, 0.012345, "0.01235"),
        (number, -3.0, "−3"),
        (number, np.nan, "–"),
        (percent, 0.0202, "2.0\N{NO-BREAK SPACE}%"),
        (percent, 1.0, "100\N{NO-BREAK SPACE}%"),
        (number, 9999.6, "10,000"),
        (number, 9999.4, "9999"),
        (duration, 1234.5, "1234 s"),
        (duration, 59.96, "60 s"),
        (percent, 0.99996, "> 99.99\N{NO-BREAK SPACE}%"),
        (percent, 0.9996, "99.96\N{NO-BREAK SPACE}%"),
        (percent, 0.00004, "0.004\N{NO-BREAK SPACE}%"),
        (percent_label, 0.5, "50 %"),
        (percent_label, 0.025, "2.5 %"),
        (p_statement, 0.0213, "p = 0.021"),
        (p_statement, 1e-9, "p < 0.0001"),
        (duration, 2e-5, "20 µs"),
        (duration, 0.00099962, "1 ms"),
        (duration, 0.0123, "12.3 ms"),
        (duration, 0.9999, "1 s"),
        (duration, 75.2, "75.2 s"),
    ],
)
def test_numbers_are_written_as_people_read_them(written, value, words):
    assert written(value) == words


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((47 / 214, 45 / 214), "+0.93"),  # 22.0 % and 21.0 %
        ((45 / 214, 47 / 214), "−0.93"),
        ((0.35, 0.15), "+20.0"),
        ((0.0204, 0.0196), "+0.08"),  # 2.0 % and 2.0 %
        ((0.21952, 0.21948), "0.00"),  # 22.0 % and 21.9 %
        ((0.00049, 0.0), "+0.05"),  # 0.049 % and 0 %
        ((0.2, 0.2), "0.0"),
        ((np.nan, 0.2), "–"),
    ],
)
def test_a_difference_of_percentages_is_that_of_the_rounded_ones_or_has_two_decimals(
    shares, words
):
    assert points_between(*shares) == words


def test_a_difference_with_one_decimal_is_that_of_the_percentages_as_printed():
    rng = np.random.default_rng(0)
    n_rows = rng.integers(20, 5000, size=2000)
    for n, counts in zip(n_rows, rng.random((2000, 2)), strict=True):
        of_rows = np.round(n * counts) / n
        words = points_between(*of_rows)
        left, right = (
            float(percent(share).rstrip("%\N{NO-BREAK SPACE}")) for share in of_rows
        )
        value = float(words.replace("−", "-"))
        if len(words.rpartition(".")[2]) == 1:
            assert value == pytest.approx(left - right, abs=0.05)
        else:
            assert value == pytest.approx(100 * (of_rows[0] - of_rows[1]), abs=0.005 + 1e-9)


def test_a_p_value_may_be_a_bound():
    assert p_statement(0.3, "≥") == "p ≥ 0.3"
    assert p_statement(0.997, "≥") == "p = 1"  # there is no p above 1


def test_things_are_counted_and_listed():
    assert [counted(1, "row"), counted(1200, "row"), counted(2, "class")] == [
        "1 row",
        "1,200 rows",
        "2 classes",
    ]
    assert [listed(["a"]), listed(list("abc"), 2), listed(list("abcd"), 2)] == [
        "a",
        "a, b and c",  # no shorter as "1 more"
        "a, b and 2 more",
    ]
    assert quoted(["a", "b"]) == "'a', 'b'"
    assert quoted(range(5)) == "0, 1, 2, 3, 4"
    assert quoted(range(6)) == "0, 1, 2, 3 and 2 more"


def test_long_names_stay_different_when_cut():
    assert shortened(["a", "a ", "b"]) == ("a 1", "a 2", "b 3")  # never one name for two
    assert shortened(["a short one", "a rather long one"], 12) == (
        "a short one",
        "a rather lo…",
    )
    ends = shortened(["measured in 1998", "measured in 1999"], 12)
    assert ends == ("measur… 1998", "measur… 1999")


def test_tables_are_lined_up_and_escaped():
    lines = list(text_lines(["class", "rows"], [["setosa", "50"]]))
    assert lines == ["class   rows", "setosa    50"]
    assert html_table(["class", "rows"], [["<b>", 50]]) == (
        '<table><thead><tr><th>class</th><th style="text-align:right">rows</th></tr></thead>'
        '<tbody><tr><td>&lt;b&gt;</td><td style="text-align:right">50</td></tr></tbody></table>'
    )


@pytest.mark.parametrize(
    ("cells", "is_right"),
    [
        (["50", "3.8 %"], True),
        (["", "< 0.0001", "0.39"], True),
        (["0.6 – 6.7", "990 µs"], True),
        (["−3", "nan"], True),
        (["50", "LDA"], False),
        (["", ""], False),
    ],
)
def test_columns_of_numbers_stand_on_the_right_in_a_notebook(cells, is_right):
    html = html_table(["name", "cell"], [["a", cell] for cell in cells], best=1)
    assert html.count("text-align:right") == (len(cells) + 1 if is_right else 0)
    assert html.count('class="best"') == 1


def test_nothing_steers_a_terminal_and_no_password_is_echoed():
    assert printable("\x1b[31mred") == "\\x1b[31mred"
    assert printable("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"


def test_what_json_cannot_hold_is_turned_into_what_it_can():
    found = json_value({"error": float("nan"), "costs": {("a", "b"): 2.0}})
    assert found == {"error": None, "costs": [[["a", "b"], 2.0]]}


def test_a_notebook_shows_each_value_under_its_own_name():
    class Result(Tabled):
        best_index = 1

        def rows(self):
            return [{"shrinkage": 0.1, "error": 0.3}, {"pooling": 0.2, "error": 0.2}]

    html = Result()._repr_html_().replace(' style="text-align:right"', "")
    assert "<th>shrinkage</th><th>error</th><th>pooling</th>" in html
    assert "<td></td><td>0.2</td><td>0.2</td>" in html


def test_labels_of_several_kinds_share_a_column_as_text():
    assert labels_of_one_type([0, 1, float("nan")]) == [0, 1, None]
    assert labels_of_one_type([0, 1, 0.5]) == [0.0, 1.0, 0.5]
    assert labels_of_one_type([0, 1, "unsure"]) == ["0", "1", "unsure"]
    assert labels_of_one_type([False, True, -1]) == ["False", "True", "-1"]
    assert labels_of_one_type(["a", "b", None]) == ["a", "b", None]
