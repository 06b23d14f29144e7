"""Text files are laid out as they are found: encoding, lines before the table, header, quotes."""

import pytest

from suffice.data.opening import open_source
from suffice.data.options import TextFormat
from suffice.data.summarize import summarize
from suffice.errors import InvalidInputError, InvalidParameterError, SufficeWarning

ROWS = "a;b;t\n1,5;2;süd\n3;4,25;nord\n"
MEANS = [[3.0, 4.25], [1.5, 2.0]]


@pytest.fixture
def file(tmp_path):
    def file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]
)
def test_unicode_is_found_by_itself(file, encoding):
    m = summarize(file(ROWS.encode(encoding)), target="t")
    assert m.classes.tolist() == ["nord", "süd"]
    assert m.means.tolist() == MEANS


def test_western_text_is_found_by_itself_and_said(file):
    with pytest.warns(SufficeWarning, match=r"not UTF-8.*cp1252.*--encoding"):
        m = summarize(file(ROWS.encode("cp1252")), target="t")
    assert m.classes.tolist() == ["nord", "süd"]


def test_an_encoding_may_be_named(file):
    m = summarize(file(ROWS.encode("cp437")), target="t", text=TextFormat(encoding="cp437"))
    assert m.classes.tolist() == ["nord", "süd"]
    with pytest.raises(InvalidParameterError, match=r"'klingon'.*utf-8"):
        summarize(file(ROWS), target="t", text=TextFormat(encoding="klingon"))


def test_utf_16_without_a_byte_order_mark_is_refused_with_its_two_names(file):
    text = TextFormat(encoding="utf-16")
    for content in (b"", b"\x01"):
        data = content + ROWS.encode("utf-16-le")
        with pytest.raises(InvalidInputError, match=r"byte order mark.*--encoding utf-16-le"):
            summarize(file(data), target="t", text=text)


def test_an_encoding_that_shows_up_late_is_told_with_its_cure(file):
    late = ("a;t\n" + "1;x\n2;y\n" * 40000 + "3;süd\n").encode("latin1")
    with pytest.raises(InvalidInputError, match=r"not UTF-8.*--encoding latin-1"):
        summarize(file(late), target="t")
    assert (
        summarize(file(late), target="t", text=TextFormat(encoding="latin-1")).n_classes == 3
    )


def test_the_same_of_standard_input(standard_input):
    standard_input(ROWS.encode("utf-16"))
    assert summarize("-", target="t").means.tolist() == MEANS


def test_line_ends_of_old_macs_are_line_ends(file):
    assert summarize(file(ROWS.replace("\n", "\r")), target="t").means.tolist() == MEANS


@pytest.mark.parametrize(
    ("before", "text_format"),
    [
        ("sep=;\n", TextFormat()),
        ("sep=;\r\n\r\n", TextFormat()),
        ('A report, "drawn\nin March\n', TextFormat(skip_rows=2)),
        ("# made by\n# hand\n", TextFormat(comment="#")),
    ],
)
def test_lines_before_the_table_are_skipped(file, standard_input, before, text_format):
    text = before + ROWS
    assert summarize(file(text), target="t", text=text_format).means.tolist() == MEANS
    assert (
        summarize(file(text.encode("utf-16")), target="t", text=text_format).means.tolist()
        == MEANS
    )
    standard_input(text.encode())
    assert summarize("-", target="t", text=text_format).means.tolist() == MEANS


def test_a_separator_that_the_first_line_names_is_taken(file):
    assert summarize(file("sep=^\na^t\n1^x\n2^y\n"), target="t").n_features == 1


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_of_a_file_without_names_separate_no_cells(file, separator):
    rows = [["6208,20", "1,5", "w"], ["1,60", "2,5", "u"], ["3,93", "3,5", "w"]]
    text = "\n".join(separator.join(row) for row in rows)
    with pytest.warns(SufficeWarning, match=r"commas are decimal marks; .*--delimiter"):
        sample = open_source(file(text), TextFormat(header=False)).sample
    assert sample.rows() == [(6208.20, 1.5, "w"), (1.60, 2.5, "u"), (3.93, 3.5, "w")]
    longer = f"{text}\n1,0{separator}2,0{separator}v{separator}9,0\n"
    with pytest.raises(InvalidInputError, match="line 4"):
        summarize(file(longer), target="column_2", text=TextFormat(header=False))


@pytest.mark.filterwarnings("ignore::suffice.errors.SufficeWarning")
def test_decimal_commas_separate_no_cells_beside_short_rows(file):
    text = "1.888,61\tw\n176,10\tw\n\tv\n-1,02\n-57,47\tv\n"
    sample = open_source(file(text), TextFormat(header=False)).sample
    assert sample.to_series(0).to_list() == [1888.61, 176.10, None, -1.02, -57.47]


def test_a_name_that_is_too_long_is_refused_with_its_line(file):
    text = f"{'a' * 200_000},t\n1,u\n2,v\n"
    with pytest.raises(InvalidInputError, match=r"line 1 cannot be split.*--delimiter"):
        summarize(file(text), target="t")


def test_a_line_longer_than_a_cell_may_be_is_split(file):
    names = [f"{j:0>100}a" for j in range(1_500)]
    text = "\n".join([",".join(names), ",".join(["1"] * 1_500), ""])
    assert len(text.split("\n")[0]) > 1 << 17
    assert open_source(file(f"{text}")).sample.width == 1_500


def test_commas_that_are_no_decimal_marks_separate_cells(file):
    for text in ("1,a|b,u\n2,c|d,v\n", "a|b,1\nc|d,2\n", "1,2|\n3,4|\n"):
        sample = open_source(file(text), TextFormat(header=False)).sample
        assert sample.width == text.split("\n")[0].count(",") + 1


def test_comments_between_rows_are_no_rows(file):
    text = ROWS.replace("3;", "# three\n3;")
    assert (
        summarize(file(text), target="t", text=TextFormat(comment="#")).means.tolist() == MEANS
    )


HEADERLESS = {
    "decimals": "5.1,3.5,u\n4.9,3.0,u\n6.1,2.0,v\n",
    "integers": "63,1,145,u\n41,0,150,v\n55,1,120,u\n",
    "words": "vhigh,2,small,unacc\nhigh,2,big,acc\nvhigh,4,small,unacc\nhigh,4,big,acc\n",
    "only words": "big,red\nsmall,blue\nbig,blue\nsmall,red\n",
    "dates": "2024-10-26,red\n2024-10-27,blue\n2024-11-01,green\n",
    "a date, and text once": "2024-10-26,n.a.,red\n2024-10-27,7,red\n2024-11-01,8,green\n",
    "a unit once": "069,1.25 kg,red\n894,-865,red\n751,-73,blue\n",
}


@pytest.mark.parametrize("case", HEADERLESS)
def test_a_first_row_is_not_taken_for_names(file, case):
    text = HEADERLESS[case]
    with pytest.warns(SufficeWarning, match=r"first line .*--header"):
        sample = open_source(file(text)).sample
    assert sample.height == text.count("\n")
    assert sample.columns[0] == "column_0"
    assert open_source(file(text), TextFormat(header=False)).sample.height == text.count("\n")
    assert (
        open_source(file(text), TextFormat(header=True)).sample.height == text.count("\n") - 1
    )


@pytest.mark.parametrize(
    "text",
    [
        "0,1,2,t\n5,7,8,u\n9,1,4,v\n",
        "size,colour\nbig,red\nsmall,blue\n",
        "hours\n1\n2\n",
        "country,2019,2020\nA,5,7\nB,6,8\n",
        "name,x\nNA,1\nu,2\n",
        "x,t\n1,u\n",
    ],
)
@pytest.mark.filterwarnings("ignore:the first line:suffice.errors.SufficeWarning")
def test_names_are_not_taken_for_a_row(file, text):
    assert open_source(file(text)).sample.columns == text.split("\n")[0].split(",")


@pytest.mark.parametrize(
    "text",
    [
        "24;blue;w\n17;5932.19;w\n175;7271.67;v\n",  # blue has numbers below, and w recurs
        "NA;w\n5;u\n8;v\n",
        "NA;w\nred;u\nblue;v\n",
        "7.12 kg;v\n-732;w\nNA;u\n",
        "7.12 kg;x\nred;1\nblue;2\n",
    ],
)
def test_a_first_line_in_doubt_is_said_to_be_names(file, text):
    with pytest.warns(SufficeWarning, match=r"column names.*--no-header"):
        open_source(file(text))


def test_a_first_row_with_a_line_break_in_a_cell_is_not_taken_for_names(file):
    with pytest.warns(SufficeWarning, match=r"first line .*--header"):
        sample = open_source(file('"two\nlines",w\nred,v\n"two\nlines",u\n')).sample
    assert sample.to_series(0).to_list() == ["two\nlines", "red", "two\nlines"]


def test_a_column_may_be_called_by_one_of_its_values(file, recwarn):
    sample = open_source(file("x,y\n1,y\n2,n\n3,y\n")).sample
    assert sample.columns == ["x", "y"]
    assert not recwarn.list


SWALLOWED = {
    "to the end": 'a,note,t\n1,x,u\n2,"y,v\n3,z,u\n4,z,v\n',
    "to the next quote": 'a,note,t\n1,"x",u\n2,"y,v\n3,"z",u\n4,"z",v\n5,"z",v\n',
    "a mark of inches": 'a,note,t\n1,x,u\n2,5" wide,v\n3,z,u\n4,z,v\n',
    "closed much later": 'a,note,t\n1,x,u\n2,"y,v\n3,z,u\n4,z,v\n5,z",v\n6,z,u\n',
}


@pytest.mark.filterwarnings("ignore:columns left out:suffice.errors.SufficeWarning")
@pytest.mark.parametrize("case", SWALLOWED)
@pytest.mark.parametrize("features", [None, ["a"]])
def test_a_quote_that_is_not_closed_is_named_by_its_line(file, standard_input, case, features):
    text = SWALLOWED[case]
    with pytest.raises(InvalidInputError, match=r"line 3 .*quote"):
        summarize(file(text), target="t", columns=features)
    standard_input(text.encode())
    with pytest.raises(InvalidInputError, match=r"line 3 .*quote"):
        summarize("-", target="t", columns=features)


def test_a_quote_that_is_not_closed_far_down_is_found(file, tmp_path):
    row = '1,"x, y",u\n2,"z",v\n'
    text = "a,note,t\n" + row * 20000 + '3,"oops,u\n' + "4,z,v\n1,z,u\n" * 20000
    with pytest.raises(InvalidInputError, match=r"line 40,002 .*quote"):
        summarize(file(text), target="t", columns=["a"])


@pytest.mark.filterwarnings("ignore:columns left out:suffice.errors.SufficeWarning")
def test_a_quote_that_is_not_closed_leaves_the_answers_of_before(file, tmp_path):
    import suffice as sf

    model = sf.LDA().fit_moments(
        summarize(file("a,note,t\n1,x,u\n2,y,v\n3,y,u\n5,y,v\n"), "t")
    )
    (tmp_path / "out.csv").write_text("old")
    text = "a,note\n" + "1,x\n" * 30000 + '2,"y\n' + "3,z\n" * 30000
    with pytest.raises(InvalidInputError, match=r"line 30,002 .*quote"):
        sf.streams.predict_stream(model, file(text), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"


def test_line_breaks_inside_quotes_are_part_of_a_cell(file, standard_input):
    text = 'a,note,t\n1,"two\nlines, and ""more""\n",u\n2,"one",v\n4,"a\r\nb",v\n'
    assert summarize(file(text), target="t", columns=["a"]).counts.tolist() == [1, 2]
    standard_input(text.encode())
    assert summarize("-", target="t", columns=["a"]).counts.tolist() == [1, 2]


def test_a_quote_in_a_comment_opens_no_cell(file, standard_input, monkeypatch):
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 40)
    text = "a,note,t\n" + '# 5" wide\n1,"x\ny",u\n2,z,v\n' * 30
    options = {"target": "t", "columns": ["a"], "text": TextFormat(comment="#")}
    assert summarize(file(text), **options).counts.tolist() == [30, 30]
    standard_input(text.encode())
    assert summarize("-", **options).counts.tolist() == [30, 30]


def test_one_column_is_a_table_to_predict_from(file, tmp_path):
    import polars as pl

    import suffice as sf

    model = sf.LDA().fit(pl.DataFrame({"hours": [1.0, 2.0, 4.0, 5.0]}), [0, 0, 1, 1])
    for text in ("hours\n1\n5.5\n", "hours\r\n1\r\n5.5\r\n"):
        sf.streams.predict_stream(model, file(text), tmp_path / "out.csv")
        assert pl.read_csv(tmp_path / "out.csv")["label"].to_list() == [0, 1]


def test_json_arrays_are_tables(file):
    text = '[{"a": 1, "t": "x"}, {"a": 2.5, "t": "y"},\n {"a": null, "t": "y"}, {"a": 3, "t": "y"}]'
    assert summarize(file(text, "d.json"), target="t").counts.tolist() == [1, 3]
    lines = '{"a": 1, "t": "x"}\n{"a": 2.5, "t": "y"}\n'
    assert summarize(file(lines, "d.json"), target="t").counts.tolist() == [1, 1]
    for bad in ('{"a": [1, 2]}', "[1, 2]", "no", '[{"a": 1'):
        with pytest.raises(InvalidInputError, match=r"d\.json"):
            summarize(file(bad, "d.json"), target="a")


@pytest.mark.parametrize("name", ["book.xlsx", "book.xls", "book.ods"])
def test_a_workbook_is_told_to_be_saved_as_csv(file, name):
    with pytest.raises(InvalidInputError, match=r"save .* as CSV"):
        summarize(file(b"PK\x03\x04", name))


def test_the_head_of_a_file_is_as_long_as_its_first_lines(file):
    names = [f"a_rather_long_name_of_a_column_{i:0200}" for i in range(300)]
    rows = "\n".join(",".join(["1.5"] * 300) + f",{t}" for t in "uv")
    path = file(",".join(names) + ",t\n" + rows + "\n")
    assert path.stat().st_size > 1 << 16
    assert summarize(path, target="t", storage="diagonal").n_features == 300
