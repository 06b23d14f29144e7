"""Text tables are read as they are written: separators, decimal marks, headers, blanks."""

import gzip
import io
import re

import polars as pl
import pytest

from suffice import Columns, TextFormat
from suffice.data.formats.file_source import stream_source
from suffice.data.opening import open_source
from suffice.data.scanning import frames_of_scan
from suffice.data.summarize import summarize
from suffice.data.text import spelling
from suffice.errors import InvalidInputError, SufficeWarning


@pytest.fixture
def table(tmp_path):
    def table(text, name="data.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return table


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_found(table, mark):
    path = table("a,b,t\n1,2,x\n3,4,y\n".replace(",", mark))
    assert summarize(path, target="t").means.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_separator_inside_quotes_is_none(table):
    path = table('a,b,t\n1,2,"x;y;z"\n3,4,"u;v;w"\n')
    assert summarize(path, target="t").classes.tolist() == ["u;v;w", "x;y;z"]


def test_any_separator_may_be_named(table):
    path = table("a^b^t\n1^2^x\n3^4^y\n")
    assert summarize(path, target="t", text=TextFormat(delimiter="^")).n_features == 2


def test_a_decimal_comma_is_found(table):
    path = table("a;b;t\n1,5;2;x\n3;4,25;y\n")
    assert summarize(path, target="t").means.tolist() == [[1.5, 2.0], [3.0, 4.25]]


def test_a_table_without_header_gets_names(table):
    with pytest.warns(SufficeWarning, match="looks like a row"):
        source = open_source(table("5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,2.0,virginica\n"))
    assert source.sample.columns == ["column_0", "column_1", "column_2"]
    assert source.sample.height == 3


def test_whole_numbers_may_be_column_names(table):
    with pytest.warns(SufficeWarning, match="read as column names"):
        source = open_source(table("2019,2020,t\n1,2,x\n"))
    assert source.sample.columns == ["2019", "2020", "t"]


def test_blanks_around_values_and_names_are_trimmed(table):
    path = table("a, b , t\n1, 2.5, x\n3, 4 , y\n")
    m = summarize(path, target="t")
    assert m.feature_names == ("a", "b")
    assert m.classes.tolist() == ["x", "y"]
    assert m.means.tolist() == [[1.0, 2.5], [3.0, 4.0]]


@pytest.mark.parametrize("mark", ["NA", "", "?", "NaN", "null", " NA "])
def test_usual_marks_of_missing_values_are_known(table, mark):
    path = table(f"a,b,t\n1,2,x\n{mark},3,x\n3,4,y\n4,5,y\n")
    m = summarize(path, target="t", storage="diagonal")
    assert m.counts.tolist() == [2, 2]
    assert open_source(path).sample["a"].to_list() == [1, None, 3, 4]


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path):
    path = tmp_path / "dos.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b,t\r\n1,2,x\r\n3,4,y\r\n")
    m = summarize(path, target="t")
    assert m.feature_names == ("a", "b")
    assert m.classes.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "name", ["^a.*$", "*", 'say "hi"', "a b", "ünï", "'; drop table", "{}"]
)
def test_hostile_column_names_are_plain_names(tmp_path, name):
    import polars as pl

    data = pl.DataFrame({name: [1.0, 2.0], "other": [3.0, 4.0], "t": ["x", "y"]})
    for ending, writer in (("csv", data.write_csv), ("parquet", data.write_parquet)):
        path = tmp_path / f"d.{ending}"
        writer(path)
        m = summarize(path, target="t", columns=[name])
        assert m.feature_names == (name,)
        assert m.means.ravel().tolist() == [1.0, 2.0]


def test_columns_carried_along_are_kept_as_written(table):
    source = open_source(table("id,a\n007,1\n008,2\n"))
    (scan,) = source.scans({"id": None})
    assert scan.frame.collect()["id"].to_list() == ["007", "008"]


def test_the_order_of_guesses_prefers_whole_columns(table):
    with pytest.raises(InvalidInputError, match="one column only"):
        summarize(table("just words\nmore words\n"))


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_lines_of_too_few_fields_are_told(table, tmp_path, ending):
    rows = 'a,b,t\n1,2,x\n3,4,"x, y"\n5\n\n"6\n7",8,x\n9,10\n11,12,x\n'
    path = tmp_path / f"data.{ending}"
    path.write_bytes(rows.encode() if ending == "csv" else gzip.compress(rows.encode()))
    told = r"data.csv\S*: 3 lines have fewer fields .*The first such line is line 4"
    options = {"target": "t", "columns": ["b"]}
    with (
        pytest.warns(SufficeWarning, match=told),
        pytest.warns(SufficeWarning, match="left out"),
    ):
        assert summarize(path, **options).counts.sum() == 4


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("size", [1 << 20, 25])
def test_lines_of_too_few_fields_may_be_first_in_the_table_or_in_a_block(
    tmp_path, monkeypatch, ending, size
):
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", size)
    rows = "a,t,b\n" + "1.5,x\n2.5,y\n" * 12 + "3.5,x,1\n"
    path = tmp_path / f"data.{ending}"
    path.write_bytes(rows.encode() if ending == "csv" else gzip.compress(rows.encode()))
    with pytest.warns(
        SufficeWarning, match=r"24 lines have fewer fields .*first such line is line 2"
    ):
        sums = summarize(path, target="t", columns=["a"])
    assert sums.counts.tolist() == [13, 12]
    assert sums.means[:, 0].tolist() == pytest.approx([(12 * 1.5 + 3.5) / 13, 2.5])


def test_lines_of_too_few_fields_are_told_beside_comments(table):
    path = table('a,t\n1,x\n# said, "so\n\n2,y\n3,"y"\n#\n4,x\n')
    with (
        pytest.warns(
            SufficeWarning, match=r"1 line has fewer fields .*first such line is line 4"
        ),
        pytest.warns(SufficeWarning, match="1 of 5 rows is left out"),
    ):
        assert summarize(path, target="t", text=TextFormat(comment="#")).counts.tolist() == [
            2,
            2,
        ]


def test_no_line_of_a_whole_table_is_told(table):
    path = table('a,b,t\n1,,x\n,,"y"\n"3, or","2\n\n1",x\n4,5,y\n')
    assert summarize(
        path, target="t", columns=Columns(categorical=["a", "b"])
    ).counts.tolist() == [2, 2]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_late_missing_word_loses_no_row_and_doubles_none(table, end):
    rows = [f"{i},{'uv'[i % 2]}" for i in range(60_000)]
    rows[50_000] = "NA,u"
    m = summarize(table("x,y\n" + "\n".join(rows) + end), target="y")
    known = sum(range(0, 60_000, 2)) - 50_000
    assert m.counts.tolist() == [30_000, 30_000]
    assert m.means[:, 0].tolist() == pytest.approx([known / 29_999, 30_000], rel=1e-14)


@pytest.mark.parametrize("at", [150_000, 250_000, 399_999])
def test_a_late_missing_word_in_a_large_file_keeps_every_row_in_place(table, at):
    rows = [f"{i},{'uv'[i % 2]}" for i in range(400_000)]
    rows[at] = "NA,u"
    source = open_source(table("x,y\n" + "\n".join(rows) + "\n"))
    frames = [
        frame
        for scan in source.scans({"x": pl.Float64, "y": pl.String})
        for frame in frames_of_scan(scan)
    ]
    numbers = pl.concat(frames)["x"]
    expected = pl.Series("x", range(400_000), dtype=pl.Float64)
    expected[at] = None
    assert numbers.equals(expected)


def test_text_behind_a_closing_quote_is_refused(table):
    rows = 'a,t\n1,"x"\n2,"y"z"w"\n3,"x"\n'
    with pytest.raises(InvalidInputError, match="line 3 opens a quote that is not closed"):
        summarize(table(rows), target="t")


def test_quotes_within_an_unquoted_cell_are_part_of_it(table):
    rows = 'a,t\n1,say "x" twice\n2,y\n3,say "x" twice\n'
    assert summarize(table(rows), target="t").classes.tolist() == ['say "x" twice', "y"]


def test_a_carriage_return_within_a_cell_is_refused(table, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,t\n1,x\r\n2,y\rz\n3,x\n")
    with pytest.raises(
        InvalidInputError, match="line 3 holds a carriage return within a cell"
    ):
        summarize(path, target="t")
    path.write_bytes(b'a,t\r\n1,x\r\n2,"y\rz"\r\n3,x\r\n')
    assert summarize(path, target="t").classes.tolist() == ["x", "y\rz"]
    path.write_bytes(b"a,t\r\r\n1,x\r\r\n2,y\r\r\n3,x\r\r\n")
    assert summarize(path, target="t").classes.tolist() == ["x", "y"]


@pytest.mark.parametrize("cell", ['"two\nlines"', "2024-01-05T10:00:00Z", "60 kg"])
def test_a_name_that_looks_like_a_pattern_is_a_name_for_every_kind_of_cell(
    table, cell, recwarn
):
    rows = "".join(f"{cell},{i},{'xy'[i % 2]}\n" for i in range(4))
    m = summarize(table(f"^a.*$,n,t\n{rows}"), target="t", columns=["n", "^a.*$"])
    assert m.counts.tolist() == [2, 2]


def test_a_quote_in_a_comment_hides_no_carriage_return(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b'a,t\n1,x\n# said, "so\n2,y\rz\n3,x\n')
    with pytest.raises(
        InvalidInputError, match="line 4 holds a carriage return within a cell"
    ):
        summarize(path, target="t", text=TextFormat(comment="#"))


def test_a_byte_order_mark_in_the_first_row_is_part_of_its_cell(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"t,a\n\xef\xbb\xbfx,1\ny,2\n\xef\xbb\xbfx,3\ny,4\n")
    assert summarize(path, target="t").classes.tolist() == ["y", "\ufeffx"]


@pytest.mark.parametrize("at", [0, 20_000])
def test_a_code_among_sums_of_money_is_a_code_wherever_it_is(table, at, recwarn):
    rows = [f'"€{i % 9},50",{i % 5}.5,{"uv"[i % 2]}' for i in range(20_001)]
    rows[at] = "007,1.5,u"
    m = summarize(table("a,b,t\n" + "\n".join(rows) + "\n"), target="t")
    assert m.schema is not None
    assert "007" in m.schema.categories[0].levels


def test_many_columns_of_words_are_judged_at_once(table, monkeypatch):
    judged = []
    possible = spelling._possible_spellings
    monkeypatch.setattr(
        spelling, "_possible_spellings", lambda c, t: judged.append(1) or possible(c, t)
    )
    names = [f"x{j}" for j in range(2_000)]
    rows = [
        ",".join(["red" if (i + j) % 2 else "7 up" for j in range(2_000)]) for i in range(4)
    ]
    sample = open_source(table(",".join(names) + "\n" + "\n".join(rows) + "\n")).sample
    assert set(sample.dtypes) == {pl.String}
    assert not judged


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_a_byte_order_mark_before_a_first_row_without_header_is_no_part_of_its_cell(
    tmp_path, name
):
    content = b"\xef\xbb\xbfu,1\nv,2\nu,3\nv,4\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    m = summarize(path, target="column_0", text=TextFormat(header=False))
    assert m.classes.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    "text",
    ["x,z,y\r1,2,u\r3,4,v\r\n5,6,u\r\n7,8,v\r\n", "x,z,y\r1,2,u\r3,4,v\r5,6,u\r\n"],
)
def test_rows_that_end_in_a_carriage_return_before_the_first_line_end_are_not_lost(
    tmp_path, text
):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    with pytest.raises(InvalidInputError, match=r"carriage return|no rows"):
        summarize(path, "y")


def test_a_quote_within_a_cell_that_hides_a_separator_is_refused(table):
    with pytest.raises(InvalidInputError, match="line 3 opens a quote within a cell"):
        summarize(table('x,z,y\n1,2,u\ne5"a, b",4,v\n5,6,u\n'), "y")


def test_a_name_with_a_null_character_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("x,\0z,y\n1,2,u\n3,4,v\n".encode("utf-16"))
    with pytest.raises(InvalidInputError, match="null character"):
        summarize(path, "y")


def test_a_quote_in_a_comment_hides_no_late_code(table, recwarn):
    rows = "".join(f"{i % 7}.5,{i},{'uv'[i % 2]}\n" for i in range(10_050))
    text = f'x,z,y\n{rows}# said, "so\n1.5,00388,u\n'
    moments = summarize(table(text), "y", text=TextFormat(comment="#"))
    # Texts that nearly all differ are left out; as a number, 00388 would have been 388.
    assert moments.feature_names == ("x",)


@pytest.mark.parametrize("cell", ["7, kg", "1.5e3 kg"])
def test_numbers_with_a_unit_are_known_by_any_number(table, cell, recwarn):
    rows = "".join(f'"{i},5 kg",{"uv"[i % 2]}\n' for i in range(60))
    mark = "," if "," in cell else "."
    rows = rows.replace(",5 kg", f"{mark}5 kg")
    moments = summarize(table(f'w,y\n{rows}"{cell}",u\n'), "y")
    assert moments.feature_names == ("w",)


@pytest.mark.parametrize("cell", ["2024-07- 3", "+024-07-27", "2024-07-+3"])
def test_a_late_date_of_loose_parts_is_refused_like_an_early_one(table, cell, recwarn):
    rows = "".join(f"2024-07-{i % 28 + 1:02},{i}.5,{'uv'[i % 2]}\n" for i in range(10_050))
    with pytest.raises(InvalidInputError, match=re.escape(cell)):
        summarize(table(f"d,x,y\n{rows}{cell},1.5,u\n"), "y")


@pytest.mark.parametrize("cell", ["14.02.\r\n2024", "14.02.\n024", "14.\n02.2024"])
def test_a_late_date_with_a_line_break_is_refused(table, cell, recwarn):
    rows = "".join(f"{i % 28 + 1:02}.07.2024,{i}.5,{'uv'[i % 2]}\n" for i in range(10_050))
    with pytest.raises(InvalidInputError, match="column 'd'"):
        summarize(table(f'd,x,y\n{rows}"{cell}",1.5,u\n'), "y")


def test_the_last_row_of_a_short_stream_tells_types_without_a_line_end():
    text = io.BytesIO(b"x,z,y\n,1.5,u\n,2.5,v\n2024-03-03,3.5,v")
    source = stream_source(text, TextFormat(), "standard input")
    assert source.sample.height == 3
    assert source.sample.schema["x"].is_temporal()
