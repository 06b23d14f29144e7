"""Numbers are read as they are written, column by column; what may mean two things is refused."""

import polars as pl
import pytest

from suffice import Columns, TextFormat
from suffice.data.opening import open_source
from suffice.data.summarize import summarize
from suffice.data.text.spelling import Numbers
from suffice.errors import InvalidInputError, SufficeWarning


@pytest.fixture
def table(tmp_path):
    def table(text, name="data.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return table


def column(table, cells, mark=";", **options):
    """Return the numbers that the cells of a column are read as, beside a plain one."""
    rows = "".join(f"{i}{mark}{cell}{mark}{'uv'[i % 2]}\n" for i, cell in enumerate(cells))
    path = table(f"n{mark}x{mark}t\n{rows}")
    (chunk,) = _chunks(path, **options)
    return chunk


def _chunks(path, **options):
    from suffice.data.columns.roles import roles_for_learning
    from suffice.data.rows.loading import load_rows

    source = open_source(path, TextFormat(**options))
    roles = roles_for_learning(source, "t", columns=Columns(features=["x"]))
    yield load_rows(source, roles).table.x[:, 0].tolist()


WRITTEN = {
    "decimal comma": (["1,5", "2", "3,25"], [1.5, 2, 3.25]),
    "points for thousands": (["1.234,5", "12", "1.000.000"], [1234.5, 12, 1e6]),
    "only points for thousands": (["1.234.567", "12.500"], [1234567, 12500]),
    "commas for thousands": (["1,234.5", "12", "1,000,000"], [1234.5, 12, 1e6]),
    "blanks for thousands": (["1 234,5", "12", "1\u202f000"], [1234.5, 12, 1000]),
    "apostrophes for thousands": (["1'234.5", "12"], [1234.5, 12]),
    "currency": (["$1,200.50", "$7", "-$3.25"], [1200.5, 7, -3.25]),
    "euro after": (["1,50 €", "2 €"], [1.5, 2]),
    "percent": (["12%", "7.5 %", "-1%"], [0.12, 0.075, -0.01]),
    "parentheses": (["(1,200.5)", "7"], [-1200.5, 7]),
    "minus sign": (["−3.5", "7"], [-3.5, 7]),
    "exponent": (["1e3", "2.5E-1"], [1000, 0.25]),
    "exponent with comma": (["1,5e3", "2"], [1500, 2]),
    "blanks": (["  1,5", "2  "], [1.5, 2]),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_a_number_is_read_as_it_is_written(table, case):
    cells, numbers = WRITTEN[case]
    assert column(table, cells) == pytest.approx(numbers, rel=1e-15)


def test_a_comma_before_three_digits_is_refused_where_nothing_tells_what_it_is(table):
    with pytest.raises(
        InvalidInputError, match=r"'x'.*'1,659' may be 1659 or 1\.659.*--decimal"
    ):
        column(table, ["571", "1,659"])
    with pytest.raises(InvalidInputError, match=r"--decimal"):
        column(table, ["571", "1,659"], mark="\t")
    with pytest.raises(InvalidInputError, match=r"'1\.659' may be 1\.659 or 1659"):
        column(table, ["571", "1.659"])


@pytest.mark.parametrize(
    ("options", "number"),
    [({"decimal": ","}, 1.659), ({"decimal": "."}, 1659), ({"thousands": ","}, 1659)],
)
def test_a_mark_that_is_named_settles_it(table, options, number):
    assert column(table, ["571", "1,659"], **options) == [571, number]


@pytest.mark.parametrize(
    ("cell", "other", "number"),
    [("1,659", "0,5", 1.659), ("1,659", "0.5", 1659), ("1.659", "0,5", 1659)],
)
def test_another_column_that_is_clear_settles_it_and_that_is_said(table, cell, other, number):
    path = table(f"x;z;t\n{cell};{other};u\n571;{other};v\n")
    with pytest.warns(SufficeWarning, match=rf"'x': reading '{cell}' as {number},.*--decimal"):
        assert summarize(path, target="t").means.tolist() == [[number, 0.5], [571, 0.5]]


def test_commas_inside_cells_of_a_file_separated_by_commas_are_of_thousands(table):
    path = table('x,t\n"1,659",u\n571,v\n')
    with pytest.warns(SufficeWarning, match="'1,659' as 1659"):
        assert summarize(path, target="t").means.tolist() == [[1659], [571]]


def test_three_decimals_after_a_point_are_decimals(table):
    assert column(table, ["5.843", "3.057"]) == [5.843, 3.057]
    assert column(table, ["5.843", "3"], mark=",") == [5.843, 3]
    assert column(table, ["0.843", "3"]) == [0.843, 3]


def test_a_date_switches_no_decimal_comma_off(table):
    path = table("day;x;t\n04.08.2023;1,5;u\n05.08.2023;2,5;v\n14.08.2023;3,5;u\n")
    assert "x" in (summarize(path, target="t", columns=["x"]).feature_names or ())
    assert summarize(path, target="t", columns=["x"]).means.tolist() == [[2.5], [2.5]]


@pytest.mark.parametrize("cells", [["1.5", "1,5"], ["1,234.5", "1.234,5"], ["$5", "€5"]])
def test_two_ways_of_writing_in_one_column_are_refused(table, cells):
    with pytest.raises(
        InvalidInputError, match=r"column 'x'.*row 1 .counted from 0.: write all numbers"
    ):
        column(table, cells)


def test_a_column_in_doubt_may_be_left_out(table):
    path = table("x;z;t\n1,659;1;u\n571;3;v\n")
    assert summarize(path, target="t", columns=Columns(ignore=["x"])).feature_names == ("z",)


def test_one_bad_cell_does_not_make_a_column_an_id(table):
    rows = "".join(f"{i}.5,{50000 + 3 * i}.25,{'uv'[i % 2]}\n" for i in range(40))
    path = table("z,x,t\n" + rows.replace("50021.25", "51234.5x"))
    with pytest.raises(InvalidInputError, match=r"'x' mixes .*'51234\.5x' in row 7"):
        summarize(path, target="t")


def test_a_bad_cell_among_sums_of_money_is_named(table):
    rows = "".join(f"{i}.5;$1,{i + 200}.25;{'uv'[i % 2]}\n" for i in range(40))
    path = table("z;x;t\n" + rows.replace("$1,207.25", "ask"))
    with pytest.raises(
        InvalidInputError, match=r"'x' mixes numbers and text .*'ask' in row 7"
    ):
        summarize(path, target="t")


def test_a_cell_written_otherwise_far_down_is_refused(table):
    rows = "1,234.5;u\n7;v\n" * 6000
    path = table("x;t\n" + rows + "1,5;u\n")
    with pytest.raises(InvalidInputError, match=r"column 'x' holds '1,5'"):
        summarize(path, target="t")


@pytest.mark.parametrize("mark", ["-999", "9999", "-99.0"])
def test_a_number_that_may_stand_for_missing_is_pointed_out(table, mark):
    cells = "".join(f"{i % 7}.5,{'uv'[i % 2]}\n" for i in range(30))
    path = table(f"x,t\n{cells}{mark},u\n{mark},v\n{mark},u\n")
    with pytest.warns(SufficeWarning, match=rf"'x' holds {mark}.* in 3 .*--na {mark}"):
        summarize(path, target="t")
    assert summarize(path, target="t", text=TextFormat(na_values=[mark])).counts.sum() == 33
    assert open_source(path, TextFormat(na_values=(mark,))).sample["x"].null_count() == 3


def test_numbers_that_only_end_in_nines_are_not_pointed_out(table):
    path = table("x,t\n" + "".join(f"{900 + i},{'uv'[i % 2]}\n" for i in range(120)) * 2)
    assert summarize(path, target="t").counts.sum() == 240


def test_marks_that_are_named_add_to_the_usual_ones(table):
    path = table("a,t\n1,x\n-,y\n3,NA\n4,y\n2,x\n")
    with pytest.warns(SufficeWarning, match=r"1 of 5 rows is left out.*'t'"):
        assert summarize(
            path, target="t", text=TextFormat(na_values=["-"])
        ).classes.tolist() == ["x", "y"]


def test_labels_keep_their_leading_zeros(table):
    path = table("a,t\n1,007\n2,008\n3,007\n")
    assert summarize(path, target="t").classes.tolist() == ["007", "008"]


def test_a_number_that_is_named_as_missing_is_so_far_down_too(table):
    path = table("x,t\n" + "1.5,u\n2.5,v\n" * 6000 + "-999,u\n-999,v\n")
    assert summarize(path, target="t", text=TextFormat(na_values=["-999"])).means.tolist() == [
        [1.5],
        [2.5],
    ]


def test_blanks_around_a_label_far_down_make_no_other_class(table):
    path = table("x,t\n" + "1.5,u\n2.5,v\n" * 6000 + "1.5, u\n2.5,v \n")
    assert summarize(path, target="t").counts.tolist() == [6001, 6001]


@pytest.mark.parametrize("day", ["{:02}.01.23", "23-01-{:02}", "1.{}.2"])
def test_a_year_of_two_digits_is_no_date(table, day):
    cells = "".join(f"{day.format(1 + i % 9)},{i % 7},{'uv'[i % 2]}\n" for i in range(60))
    source = open_source(table(f"d,x,t\n{cells}"))
    assert source.sample["d"].dtype == pl.String


@pytest.mark.parametrize("last", ["$1,234.75", "$1,234"])
def test_fractions_far_down_a_column_of_whole_amounts_are_counted(table, last):
    path = table("x;t\n" + "$1,000;u\n$2,000;v\n" * 6000 + f"{last};u\n")
    m = summarize(path, target="t", text=TextFormat(decimal="."))
    total = m.weights @ m.means
    assert total.tolist() == pytest.approx(
        [18_000_000 + float(last[1:].replace(",", ""))], rel=1e-15
    )


def test_a_label_with_a_fraction_far_down_is_refused(table):
    path = table("x;t\n" + "1.5;1 €\n2.5;2 €\n" * 6000 + "1.5;1,5 €\n")
    with pytest.raises(InvalidInputError, match=r"column 't' holds '1\.5'"):
        summarize(path, target="t")


@pytest.mark.parametrize("cell", ["-+0,82", "+-1,5", "(-5,5)", "1.590e+02", "1.234.567e5"])
def test_two_signs_or_an_exponent_of_grouped_digits_are_no_number(cell):
    numbers = Numbers(decimal=",", thousands=".")
    assert not pl.Series([cell]).str.contains(numbers.pattern).any()


@pytest.mark.parametrize(
    "cell", ["-0,82", "(5,5)", "1.590", "1.234.567,5", "1,5e5", "\u22123"]
)
def test_one_sign_and_grouped_digits_are_a_number(cell):
    numbers = Numbers(decimal=",", thousands=".")
    assert pl.Series([cell]).str.contains(numbers.pattern).all()


def test_an_exponent_in_a_file_of_decimal_commas_keeps_its_point(table):
    rows = "".join(f"{i},5;{i}.590e+02;{'uv'[i % 2]}\n" for i in range(1, 9))
    m = summarize(table(f"a;b;t\n{rows}"), target="t")
    assert m.means.tolist() == [[5.5, 559.0], [4.5, 459.0]]
