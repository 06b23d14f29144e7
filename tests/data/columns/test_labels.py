"""Labels in several spellings are refused or merged; numbers may be names of classes."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.data.columns.labels import LabelMerge, pairs_in
from suffice.errors import InvalidInputError, SufficeWarning

LATE = 10_050  # a row after those that roles are decided from
WORDS = st.lists(st.text(alphabet="yYnN eEsS", max_size=4), max_size=8)


@pytest.fixture
def table(tmp_path):
    def table(labels, name="data.csv"):
        rows = "".join(f"{i % 7}.5,{label}\n" for i, label in enumerate(labels))
        (tmp_path / name).write_text(f"x,y\n{rows}")
        return tmp_path / name

    return table


def test_spellings_of_yes_are_refused_with_all_pairs(table):
    with pytest.raises(InvalidInputError) as caught:
        sf.summarize(table(["yes", "Yes", "Y", "y", "no", "NO"] * 5), target="y")
    message = str(caught.value)
    for pair in ("'NO' and 'no'", "'Y' and 'Yes'", "'Y' and 'y'", "'Y' and 'yes'"):
        assert pair in message
    assert "--merge-labels" in message


def test_they_are_merged_if_asked(table):
    path = table(["yes", "Yes", "Y", "y", "no", "NO"] * 5)
    moments = sf.summarize(path, target="y", columns=sf.Columns(merge_labels=True))
    assert moments.classes.tolist() == ["no", "yes"]
    assert moments.counts.tolist() == [10, 20]


def test_letters_that_are_no_answers_are_not_spelt_out(table):
    path = table(["x", "y", "Y", "z"] * 5)
    moments = sf.summarize(path, target="y", columns=sf.Columns(merge_labels=True))
    assert moments.classes.tolist() == ["x", "y", "z"]
    assert moments.counts.tolist() == [5, 10, 5]


def test_merging_gives_the_same_sums_as_labels_in_one_spelling(table):
    columns = sf.Columns(merge_labels=True)
    merged = sf.summarize(table(["a", "A", "b"] * 9), target="y", columns=columns)
    plain = sf.summarize(table(["a", "a", "b"] * 9), target="y")
    assert (merged.means == plain.means).all()
    assert (merged.scatters == plain.scatters).all()


def test_a_late_spelling_is_refused_like_an_early_one(table):
    with pytest.raises(InvalidInputError, match="'No' and 'no'"):
        sf.summarize(table([*["yes", "no"] * LATE, "No"]), target="y")


def test_labels_that_are_said_to_be_classes_stay_apart(table):
    columns = sf.Columns(target_kind="class")
    moments = sf.summarize(table(["a", "A", "b"] * 9), target="y", columns=columns)
    assert moments.classes.tolist() == ["A", "a", "b"]


def test_fractions_are_refused_unless_they_are_said_to_be_classes(table):
    path = table(["0.5", "1.0", "1.5", "2.0", "2.5"] * 6)
    with pytest.raises(InvalidInputError, match=r"regression.*--target-kind class"):
        sf.summarize(path, target="y")
    moments = sf.summarize(path, target="y", columns=sf.Columns(target_kind="class"))
    assert moments.classes.tolist() == ["0.5", "1.0", "1.5", "2.0", "2.5"]
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0] * 4, "y": [0.5, 1.0, 1.5] * 4})
    moments = sf.summarize(frame, target="y", columns=sf.Columns(target_kind="class"))
    assert moments.classes.tolist() == ["0.5", "1.0", "1.5"]


def test_a_late_fraction_is_refused_like_an_early_one(tmp_path):
    whole = pl.DataFrame({"x": [1.0, 2.0] * 30, "y": [1.0, 2.0] * 30})
    parts = pl.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.5]})
    whole.write_parquet(tmp_path / "a.parquet")
    parts.write_parquet(tmp_path / "b.parquet")
    for order in ("ab", "ba"):
        paths = [tmp_path / f"{name}.parquet" for name in order]
        with pytest.raises(InvalidInputError, match=r"regression|continuous \(row"):
            sf.summarize(paths, target="y")


def test_whole_labels_in_one_file_and_fractions_in_another_are_refused_in_any_order(tmp_path):
    pl.DataFrame({"x": [1.0, 2.0] * 9, "y": [1, 2] * 9}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.5]}).write_parquet(tmp_path / "b.parquet")
    for order in ("ab", "ba"):
        paths = [tmp_path / f"{name}.parquet" for name in order]
        with pytest.raises(InvalidInputError, match=r"regression|continuous \(row"):
            sf.summarize(paths, target="y")


def test_a_late_fraction_among_whole_labels_of_frames_is_refused():
    frames = [
        pl.DataFrame({"x": [1.0, 2.0] * LATE, "y": [1, 2] * LATE}),
        pl.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.5]}),
    ]
    with pytest.raises(InvalidInputError, match=r"'y' holds '2\.5'"):
        sf.summarize(frames, target="y")


def test_a_category_that_is_whole_in_one_file_keeps_its_fractions_in_another(tmp_path):
    a = pl.DataFrame({"c": [1, 2] * 9, "x": [0.5, 1.5] * 9, "y": ["u", "v"] * 9})
    b = pl.DataFrame({"c": [1.0, 2.5], "x": [0.5, 1.5], "y": ["u", "v"]})
    a.write_parquet(tmp_path / "a.parquet")
    b.write_parquet(tmp_path / "b.parquet")
    columns = sf.Columns(categorical=["c"])
    for order in ("ab", "ba"):
        paths = [tmp_path / f"{name}.parquet" for name in order]
        moments = sf.summarize(paths, target="y", columns=columns)
        assert moments.feature_names == ("x", "c=1", "c=2", "c=2.5")


def test_an_unknown_kind_of_target_is_refused():
    with pytest.raises(sf.errors.InvalidParameterError, match="target_kind must be None or"):
        sf.Columns(target_kind="number")


@given(WORDS)
def test_merged_labels_have_no_pairs_and_merge_into_themselves(labels):
    series = pl.Series(labels, dtype=pl.String)
    merge = LabelMerge.of(series)
    merged = merge.applied(series)
    assert not [pair for pair in pairs_in(merged) if not _is_short(pair)]
    assert merge.applied(merged).to_list() == merged.to_list()


def _is_short(pair):
    return any(label in ("y", "n") for label in pair)


def test_the_command_line_has_the_same_words(table, tmp_path):
    from click.testing import CliRunner

    from suffice.cli.group import suffice as command

    path = table(["yes", "Yes", "no"] * 9)
    arguments = ["summarize", str(path), "-t", "y", "-o", str(tmp_path / "a.moments")]
    assert CliRunner().invoke(command, arguments).exit_code == 1
    assert CliRunner().invoke(command, [*arguments, "--merge-labels"]).exit_code == 0
    assert sf.load(tmp_path / "a.moments").classes.tolist() == ["no", "yes"]
    assert CliRunner().invoke(command, [*arguments, "--target-kind", "class"]).exit_code == 0
    assert sf.load(tmp_path / "a.moments").n_classes == 3


def test_levels_that_differ_by_case_are_still_said(tmp_path):
    (tmp_path / "d.csv").write_text("c,y\n" + "Red,u\nred,v\nblue,u\n" * 3)
    with pytest.warns(SufficeWarning, match="'Red' and 'red' differ only by blanks or case"):
        sf.summarize(tmp_path / "d.csv", target="y")
