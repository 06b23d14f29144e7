"""Numbers and dates are read as in the file of the fit, or refused, wherever in a file they are."""

import polars as pl
import pytest

import suffice as sf
from suffice.core.table.notation import Notation
from suffice.data import source
from suffice.data.opening import open_source
from suffice.data.scanning import frames_of_scan
from suffice.errors import InvalidInputError, SufficeWarning
from suffice.persistence.load import load_classifier
from suffice.streams import predict_stream

LATE = 10_050  # a row after those that types are decided from


@pytest.fixture
def table(tmp_path):
    def table(text, name="data.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return table


def _predicted(fitted, path, **options):
    answers = []
    predict_stream(
        fitted,
        path,
        lambda rows: answers.append(rows.collect()),
        columns=sf.Columns(ids=[]),
        **options,
    )
    return answers[0]["label"].to_list()


@pytest.fixture
def german(table):
    """Return a model of incomes with decimal commas: poor below 20,000, rich above 40,000."""
    rows = [f"{20 - i}.556,{i}0;{30 + i};poor" for i in range(1, 6)]
    rows += [f"{45 + i}.556,{i}0;{50 + i};rich" for i in range(1, 6)]
    path = table("income;age;class\n" + "\n".join(rows) + "\n", "fit.csv")
    return sf.LDA().fit_moments(sf.summarize(path, target="class", columns=["income"]))


# --- the notation of the fit ------------------------------------------------------------------


def test_a_point_between_thousands_of_the_fit_is_none_of_decimals_in_new_rows(table, german):
    assert _predicted(german, table("income;age\n50.000;40\n12.000;40\n")) == ["rich", "poor"]


def test_a_model_file_keeps_the_notation(table, german, tmp_path):
    german.save(tmp_path / "german.suffice")
    new = table("income;age\n50.000;40\n12.000;40\n")
    for loaded in (
        load_classifier(tmp_path / "german.suffice"),
        sf.load(tmp_path / "german.suffice"),
    ):
        assert _predicted(loaded, new) == ["rich", "poor"]


def test_a_linear_model_keeps_the_notation_too(table, tmp_path):
    from suffice.cli.group import suffice as command

    rows = [f"{i},25;{'low' if i < 8 or i == 20 else 'high'}" for i in range(1, 30)]
    table("x;y\n" + "\n".join(rows) + "\n", "fit.csv")
    arguments = ["fit", str(tmp_path / "fit.csv"), "-m", "logistic", "-t", "y", "-q"]
    command([*arguments, "-o", str(tmp_path / "a.suffice")], standalone_mode=False)
    fitted = sf.load(tmp_path / "a.suffice")
    assert fitted.model_ is not None
    assert load_classifier(tmp_path / "a.suffice").notations.common() == {
        "x": Notation(decimal=",")
    }
    assert _predicted(fitted, table("x;z\n1,125;0\n27,125;0\n")) == ["low", "high"]


def test_another_decimal_mark_is_refused_with_column_cell_and_cure(table, german):
    new = table("income;age\n50000,40;40\n50000.40;40\n")
    with pytest.raises(InvalidInputError) as caught:
        _predicted(german, new)
    for part in ("column 'income'", "'50000.40' in row 1", "','", "--decimal"):
        assert part in str(caught.value)


def test_a_late_cell_of_another_notation_is_refused(table, german):
    new = table("income;age\n" + "45.000,10;40\n" * LATE + "50000.40;40\n")
    with pytest.raises(InvalidInputError, match=r"'income' holds '50000\.40'"):
        _predicted(german, new)


def test_a_mark_that_the_user_names_wins_over_that_of_the_fit(table, german):
    new = table("income;age\n50000.40;40\n")
    text = sf.TextFormat(decimal=".")
    assert _predicted(german, new, text=text) == ["rich"]


def test_a_comma_in_a_column_that_had_points_is_refused(table):
    rows = "".join(f"{i}.5\t{'uv'[i > 4]}\n" for i in range(10))
    fitted = sf.LDA().fit_moments(sf.summarize(table(f"x\ty\n{rows}", "a.tsv"), target="y"))
    with pytest.raises(InvalidInputError, match=r"'7,672' in row 0"):
        _predicted(fitted, table("x\tz\n7,672\t1\n", "b.tsv"))


def test_the_order_of_day_and_month_is_that_of_the_fit(table):
    rows = "".join(f"{10 + i}/03/2024,{'uv'[i > 9]}\n" for i in range(20))
    with pytest.warns(SufficeWarning, match="dates count as days"):
        moments = sf.summarize(table(f"day,y\n{rows}", "fit.csv"), target="y")
    fitted = sf.LDA().fit_moments(moments)
    assert _predicted(fitted, table("day\n11/03/2024\n")) == ["u"]
    assert _predicted(fitted, table("day\n04/03/2024\n")) == ["u"]  # April 3rd would be v
    with pytest.raises(InvalidInputError, match=r"'03/25/2024' in row 1.*%d/%m/%Y"):
        _predicted(fitted, table("day\n11/03/2024\n03/25/2024\n"))


def test_percent_and_units_of_the_fit_must_be_there(table):
    rows = "".join(f"{i}%,{60 + i * 7 % 5 + i // 2} kg,{'uv'[i > 9]}\n" for i in range(20))
    with pytest.warns(SufficeWarning, match="'60 kg' as 60, a number of the unit 'kg'"):
        moments = sf.summarize(table(f"share,mass,y\n{rows}", "fit.csv"), target="y")
    assert moments.means[:, 1].tolist() == [64.0, 69.0]
    fitted = sf.LDA().fit_moments(moments)
    assert _predicted(fitted, table("share,mass\n2%,61 kg\n18%,72 kg\n")) == ["u", "v"]
    with pytest.raises(InvalidInputError, match=r"'2' in row 0.*percent sign"):
        _predicted(fitted, table("share,mass\n2,61 kg\n"))
    with pytest.raises(InvalidInputError, match=r"'134 lb' in row 0.*the unit 'kg'"):
        _predicted(fitted, table("share,mass\n2%,134 lb\n"))


def test_merged_sums_of_two_notations_leave_each_file_to_itself(table):
    a = table("x;y\n1,5;u\n2,5;v\n1,25;u\n3,5;v\n", "a.csv")
    b = table("x;y\n1.5;u\n2.5;v\n1.25;u\n3.5;v\n", "b.csv")
    fitted = sf.LDA().fit_moments(sf.summarize(a, target="y") + sf.summarize(b, target="y"))
    comma = _predicted(fitted, table("x;z\n1,25;0\n"))
    assert comma == _predicted(fitted, table("x;z\n1.25;0\n")) == ["u"]


def test_files_of_one_source_are_read_in_one_notation(table, tmp_path):
    table("x;y\n50.000;u\n40.000;v\n", "a.csv")
    table("x;y\n45.556,90;u\n45.556,90;v\n", "b.csv")
    for order in ("ab", "ba"):
        paths = [tmp_path / f"{name}.csv" for name in order]
        assert sf.summarize(paths, target="y").means.ravel() == pytest.approx(
            [47778.45, 42778.45]
        )


def test_files_of_one_source_that_contradict_each_other_are_refused(table, tmp_path):
    table("x;y\n1.234,5;u\n2,5;v\n", "a.csv")
    table("x;y\n1,234.5;u\n2.5;v\n", "b.csv")
    with pytest.raises(InvalidInputError, match=r"'x' is written in two ways.*','.*'\.'"):
        sf.summarize([tmp_path / "a.csv", tmp_path / "b.csv"], target="y")


# --- the order of rows ------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["first", "last"])
def test_codes_are_classes_of_their_own_wherever_they_are(table, at, recwarn):
    plain = [f"{i % 7}.5,{i % 3}\n" for i in range(LATE)]
    codes = ["1.5,00\n", "2.5,01\n", "3.5,00\n", "1.25,01\n"]
    rows = codes + plain if at == "first" else plain + codes
    moments = sf.summarize(table("x,y\n" + "".join(rows)), target="y")
    assert moments.classes.tolist() == ["0", "00", "01", "1", "2"]
    assert moments.counts.tolist() == [LATE // 3, 2, 2, LATE // 3, LATE // 3]


@pytest.mark.parametrize("at", ["first", "last"])
def test_a_column_with_a_code_is_a_category_wherever_it_is(table, at, recwarn):
    plain = [f"{i % 5},{'uv'[i % 2]}\n" for i in range(LATE)]
    rows = ["007,u\n", *plain] if at == "first" else [*plain, "007,u\n"]
    moments = sf.summarize(table("code,y\n" + "".join(rows)), target="y")
    assert moments.feature_names == tuple(
        f"code={i}" for i in ("0", "007", "1", "2", "3", "4")
    )


def test_a_late_code_in_quotes_is_a_code(table, recwarn):
    plain = [f'{i % 5},"{i % 3}","a, b"\n' for i in range(LATE)]
    moments = sf.summarize(table("x,y,z\n" + "".join([*plain, '1,"02","a, b"\n'])), target="y")
    assert moments.classes.tolist() == ["0", "02", "1", "2"]


def test_a_late_code_of_a_stream_is_refused():
    import io

    from suffice.data.formats.file_source import stream_source

    text = "x,y\n" + "3,1\n4,2\n" * 200_000 + "5,007\n"
    source = stream_source(io.BytesIO(text.encode()), sf.TextFormat(), "standard input")
    with pytest.raises(InvalidInputError, match=r"'y' holds '007' in line 400,002.*class"):
        sf.summarize(source, target="y")


def test_zeros_of_dates_times_and_decimals_are_no_codes(table):
    plain = [f"{i % 5},2024-01-0{i % 9 + 1},a 05,0.05,{'uv'[i % 2]}\n" for i in range(LATE)]
    moments = sf.summarize(
        table("n,day,word,x,y\n" + "".join(plain)), target="y", columns=["n", "x"]
    )
    assert moments.n_features == 2


@pytest.mark.parametrize("at", ["first", "last"])
def test_zeros_behind_a_mark_between_thousands_are_no_codes(table, at):
    amounts = ['"5,001"', '"1,002,003"', '" 8,000 "']
    cells = amounts + ["2.5"] * LATE if at == "first" else ['"1,234.5"'] * LATE + amounts
    rows = "".join(f'{cell},"a,007",{"uv"[i % 2]}\n' for i, cell in enumerate(cells))
    moments = sf.summarize(table(f"x,z,y\n{rows}"), target="y", columns=["x"])
    assert moments.feature_names == ("x",)
    total = 5001 + 1_002_003 + 8000 + LATE * (2.5 if at == "first" else 1234.5)
    assert moments.counts @ moments.means[:, 0] == pytest.approx(total)


def test_a_late_code_between_blanks_is_a_code(table):
    plain = [f"{i % 3},{i % 5}\n" for i in range(LATE)]
    with pytest.warns(SufficeWarning, match="'007'"):
        moments = sf.summarize(table("y,x\n" + "".join([*plain, "\t007 ,1\n"])), target="y")
    assert moments.classes.tolist() == ["0", "007", "1", "2"]


def test_a_number_of_a_model_may_have_leading_zeros_in_new_rows(table):
    rows = "".join(f"{i},{'uv'[i > 4]}\n" for i in range(10))
    fitted = sf.LDA().fit_moments(sf.summarize(table(f"x,y\n{rows}", "fit.csv"), target="y"))
    assert _predicted(fitted, table("x,z\n009,1\n001,1\n")) == ["v", "u"]


def test_a_column_that_is_filled_late_is_read_as_what_it_holds(table):
    empty = [f"{i % 5},,{'uv'[i % 2]}\n" for i in range(LATE)]
    filled = [f"{i % 5},{i % 9}.5,{'uv'[i % 2]}\n" for i in range(20)]
    late = sf.summarize(table("n,x,y\n" + "".join(empty + filled)), target="y")
    early = sf.summarize(table("n,x,y\n" + "".join(filled + empty)), target="y")
    assert late.feature_names == early.feature_names == ("n", "x")
    assert late.means == pytest.approx(early.means, nan_ok=True)


def test_blanks_around_late_numbers_change_nothing(table):
    plain = [f"{i % 5},{'uv'[i % 2]}\n" for i in range(LATE)]
    moments = sf.summarize(table("x,y\n" + "".join([*plain, " 3 ,u\n"])), target="y")
    assert moments.counts.sum() == LATE + 1


# --- dates and units --------------------------------------------------------------------------


def _days(table, cells):
    rows = "".join(f'"{cell}",{i},{"uv"[i % 2]}\n' for i, cell in enumerate(cells))
    source = open_source(table(f"day,n,y\n{rows}"))
    return source.sample["day"]


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-01-05T10:30:00Z", "2024-01-06T00:00:00Z"],
        ["2024-01-05T12:30:00+02:00", "2024-01-05T19:00:00-0500"],
        ["2024-01-05 10:30", "2024-01-06"],
        ["2024-01-05T10:30:00.000", "2024-01-06"],
    ],
)
def test_dates_of_iso_8601_are_moments_in_utc(table, cells):
    moments = [str(moment) for moment in _days(table, cells)]
    assert moments == ["2024-01-05 10:30:00", "2024-01-06 00:00:00"]


@pytest.mark.parametrize(
    "cells",
    [
        ["Jan 05 2024", "Feb 29 2024"],
        ["January 5, 2024", "February 29, 2024"],
        ["5 Jan 2024", "29 February 2024"],
        ["05-Jan-2024", "29-Feb-2024"],
    ],
)
def test_dates_may_name_the_month(table, cells):
    days = [str(moment)[:10] for moment in _days(table, cells)]
    assert days == ["2024-01-05", "2024-02-29"]


def test_a_late_date_of_iso_8601_may_have_a_time(table):
    plain = [f"2024-01-0{i % 9 + 1},{'uv'[i % 2]}\n" for i in range(LATE)]
    text = "day,y\n" + "".join(plain) + "2024-01-05T10:00:00Z,u\n"
    with pytest.warns(SufficeWarning, match="dates count as days"):
        assert sf.summarize(table(text), target="y").counts.sum() == LATE + 1
    with (
        pytest.warns(SufficeWarning),
        pytest.raises(InvalidInputError, match=r"'day' holds '05\.01\.2024'"),
    ):
        sf.summarize(table(text + "05.01.2024,u\n"), target="y")


def test_whole_numbers_that_look_like_dates_get_a_note(table):
    rows = "".join(f"202401{10 + i},{i}.5,{'uv'[i % 2]}\n" for i in range(10))
    with pytest.warns(SufficeWarning, match="'day' holds integers such as 20240110"):
        moments = sf.summarize(table(f"day,x,y\n{rows}"), target="y")
    assert moments.means[0, 0] == 20240114


def test_a_unit_behind_every_number_is_no_part_of_it(table):
    rows = '60.5 kg,u\n"1,061.5 kg",v\n'
    with pytest.warns(SufficeWarning, match="'60.5 kg' as 60.5"):
        moments = sf.summarize(table(f"x,y\n{rows}"), target="y")
    assert moments.means.tolist() == [[60.5], [1061.5]]


def test_leading_zeros_before_a_unit_make_no_code_wherever_the_row_stands(table, monkeypatch):
    path = table("mass,y\n60.5 kg,u\n58 kg,v\n05 kg,u\n007 kg,v\n")
    for n_first in (2, 100):
        monkeypatch.setattr(source, "SAMPLE_ROWS", n_first)
        with pytest.warns(SufficeWarning, match="'60.5 kg' as 60.5"):
            opened = open_source(path)
        (scan,) = opened.scans({"mass": pl.Float64})
        masses = pl.concat(frames_of_scan(scan)).get_column("mass")
        assert masses.to_list() == [60.5, 58.0, 5.0, 7.0]
        assert opened.sample.schema["mass"] == pl.Float64


def test_two_units_in_one_column_are_refused(table):
    rows = "60 kg,1,u\n134 lb,2,v\n61 kg,3,u\n"
    with pytest.raises(
        InvalidInputError, match=r"units 'kg', 'lb'.*row 1 .counted from 0. holds '134 lb'"
    ):
        sf.summarize(table(f"x,n,y\n{rows}"), target="y")


def test_words_behind_numbers_that_are_no_units_stay_levels(table):
    rows = "".join(f"{i % 2 * 2 + 3} doors,{i},{'uv'[i % 2]}\n" for i in range(10))
    moments = sf.summarize(table(f"x,n,y\n{rows}"), target="y")
    assert moments.feature_names == ("n", "x=3 doors", "x=5 doors")


@pytest.mark.parametrize("spelling", ["#N/A", "N/A", "<NA>"])
def test_a_spelling_of_a_missing_value_is_no_level(table, spelling):
    rows = f"1.5,u\n{spelling},v\n2.5,v\n3.5,u\n"
    moments = sf.summarize(table(f"x,y\n{rows}"), target="y")
    assert moments.counts.tolist() == [2, 2]
    assert moments.feature_names == ("x",)


def test_a_comma_before_three_digits_in_a_comma_file_gets_a_note(table):
    rows = '"5,338",u\n571,v\n'
    with pytest.warns(SufficeWarning, match=r"'x': reading '5,338' as 5338, since ','"):
        assert sf.summarize(table(f"x,y\n{rows}"), target="y").means[0, 0] == 5338


def test_the_dates_of_a_frame_have_no_notation():
    frame = pl.DataFrame({"x": [1.5, 2.5, 3.5], "y": ["u", "v", "v"]})
    assert sf.summarize(frame, target="y").notations is None
