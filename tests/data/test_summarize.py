"""Whatever the place and the cutting, the sums are those of the rows."""

import gzip
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice import Columns, Moments
from suffice.data.rows.loading import blocks_of
from suffice.data.summarize import summarize
from suffice.errors import FeatureMismatchError, InvalidInputError, SufficeWarning
from suffice.persistence.moments_file import arrays_of

FEATURES = ("a", "b", "c", "count")
ROLES = {"target": "colour", "columns": Columns(ids=["row_id"])}
pytestmark = pytest.mark.filterwarnings(
    "ignore:columns left out:suffice.errors.SufficeWarning"
)


def sums_of(frame, **options):
    x = frame.select(FEATURES).cast(pl.Float64).to_numpy()
    return Moments.of(x, frame["colour"].to_numpy(), fourth=False, **options)


def assert_close(ours, theirs, rtol=1e-10):
    assert ours.classes.tolist() == theirs.classes.tolist()
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=rtol)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=rtol)
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=rtol, atol=1e-8)


def assert_equal(ours, theirs):
    for name, values in arrays_of(ours).items():
        np.testing.assert_array_equal(values, arrays_of(theirs)[name])


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "jsonl"])
def test_a_file_of_any_format_gives_the_sums_of_its_rows(frame, write, ending):
    m = summarize(write(frame, f"data.{ending}"), **ROLES)
    assert m.feature_names == FEATURES
    assert_close(m, sums_of(frame))


@pytest.mark.parametrize("form", ["polars", "lazy", "pandas", "pyarrow", "stream"])
def test_a_frame_of_any_kind_gives_the_sums_of_its_rows(frame, form):
    forms = {
        "polars": lambda: frame,
        "lazy": frame.lazy,
        "pandas": frame.to_pandas,
        "pyarrow": frame.to_arrow,
        "stream": lambda: frame.to_arrow().to_reader(),
    }
    assert_close(summarize(forms[form](), **ROLES), sums_of(frame))


def test_a_file_and_a_frame_give_the_same_bits(frame, write):
    assert_equal(summarize(write(frame, "data.parquet"), **ROLES), summarize(frame, **ROLES))


@pytest.mark.parametrize("row_group_size", [7, 100, 499])
def test_the_cutting_of_a_file_changes_no_bit(frame, tmp_path, row_group_size):
    frame.write_parquet(tmp_path / "cut.parquet", row_group_size=row_group_size)
    assert_equal(summarize(tmp_path / "cut.parquet", **ROLES), summarize(frame, **ROLES))


@pytest.mark.parametrize("n_jobs", [2, 3, 9, None])
def test_the_number_of_threads_changes_no_bit(frame, monkeypatch, n_jobs):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 13)
    threaded = summarize(frame, n_jobs=n_jobs, **ROLES)
    assert_equal(threaded, summarize(frame, n_jobs=1, **ROLES))


def test_a_glob_sums_every_file_in_any_order(frame, write, tmp_path):
    for i in range(5):
        write(frame[i * 100 : (i + 1) * 100], f"part{i}.csv")
    paths = sorted(tmp_path.glob("*.csv"))
    whole = sums_of(frame)
    assert_close(summarize(str(tmp_path / "part*.csv"), **ROLES), whole)
    assert_close(summarize(paths[::-1], **ROLES), whole)


def test_files_may_order_their_columns_differently(frame, write, tmp_path):
    write(frame[:200], "p1.parquet")
    write(frame[200:].select(reversed(frame.columns)), "p2.parquet")
    assert_close(summarize(str(tmp_path / "p*.parquet"), **ROLES), sums_of(frame))


def test_a_class_that_only_a_later_file_has_is_counted(frame, write, tmp_path):
    by_colour = frame.sort("colour")
    write(by_colour[:200], "p1.csv")
    write(by_colour[200:], "p2.csv")
    assert_close(summarize(str(tmp_path / "p*.csv"), **ROLES), sums_of(frame))


def test_chunks_of_arrays_give_the_sums_of_all(frame):
    x, y = frame.select(FEATURES).to_numpy(), frame["colour"].to_numpy()
    pairs = ((x[lo : lo + 90], y[lo : lo + 90]) for lo in range(0, 500, 90))
    assert_close(summarize(pairs), sums_of(frame))


def test_chunks_may_carry_weights(frame):
    x, y = frame.select(FEATURES).to_numpy(), frame["colour"].to_numpy()
    w = np.random.default_rng(0).uniform(0.1, 2, len(y))
    m = summarize([(x[:200], y[:200], w[:200]), (x[200:], y[200:], w[200:])])
    assert_close(m, Moments.of(x, y, w, fourth=False))


def test_a_chunk_that_is_no_pair_is_refused():
    with pytest.raises(InvalidInputError, match=r"chunk 0 .* must be \(X, y\)"):
        summarize([np.zeros((3, 2))])


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ((np.ones((2, 3)), ["a", "b"]), "the first part lacks the column 'x2' that batch 1"),
        ((np.ones((2, 1)), ["a", "b"]), "batch 1 of the iterable lacks the column 'x1'"),
        ((np.ones((2, 2)), [1, 2]), "'label' holds numbers in batch 1 .* but text"),
        ((np.ones((2, 2)), ["a", "b"], [1.0, 2.0]), "lacks the column 'weight'"),
    ],
)
def test_a_chunk_unlike_the_first_is_refused(odd, told):
    with pytest.raises(InvalidInputError, match=told):
        summarize([(np.ones((2, 2)), ["a", "b"]), odd])


def test_standard_input_may_carry_csv(frame, standard_input, monkeypatch):
    monkeypatch.setattr("suffice.data.formats.file_source._HEAD", 2000)
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 3000)
    standard_input(frame.write_csv().encode())
    assert_close(summarize("-", **ROLES), sums_of(frame))


def test_standard_input_may_carry_json_lines(frame, standard_input, monkeypatch):
    monkeypatch.setattr("suffice.data.formats.file_source._HEAD", 2000)
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 3000)
    standard_input(frame.write_ndjson().encode())
    assert_close(summarize("-", **ROLES), sums_of(frame))


def test_a_block_of_standard_input_never_ends_inside_quotes(standard_input, monkeypatch):
    monkeypatch.setattr("suffice.data.formats.file_source._HEAD", 40)
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 25)
    rows = [f'{i},"line\none {i % 7}",{"xy"[i % 2]}' for i in range(200)]
    standard_input(("a,note,t\n" + "\n".join(rows)).encode())
    m = summarize("-", target="t", columns=Columns(ignore=["note"]))
    assert m.counts.tolist() == [100, 100]
    assert m.means.ravel().tolist() == [99.0, 100.0]


def test_binary_on_standard_input_is_refused(frame, standard_input, tmp_path):
    frame.write_parquet(tmp_path / "p.parquet")
    standard_input((tmp_path / "p.parquet").read_bytes())
    with pytest.raises(InvalidInputError, match="is not text but binary: save it to a file"):
        summarize("-")


def test_a_compressed_file_is_read(frame, tmp_path):
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    assert_close(summarize(tmp_path / "d.csv.gz", **ROLES), sums_of(frame))


def test_a_weight_column_weighs_rows(frame):
    w = np.random.default_rng(1).integers(0, 3, 500).astype(float)
    m = summarize(frame.with_columns(w=pl.Series(w)), weight="w", **ROLES)
    x, y = frame.select(FEATURES).to_numpy(), frame["colour"].to_numpy()
    assert_close(m, Moments.of(x, y, w, fourth=False))


def test_features_may_be_chosen_and_ignored(frame):
    assert summarize(frame, "colour", columns=["c", "a"]).feature_names == ("c", "a")
    chosen = summarize(frame, "colour", columns=Columns(ignore=["b", "count"]))
    assert chosen.feature_names == ("a", "c")


def test_labels_keep_their_type():
    x = [0.0, 1.0, 2.0, 3.0]
    for labels, kind in (([1, 2, 1, 2], "i"), ([True, False] * 2, "b"), (["x", "y"] * 2, "U")):
        m = summarize(pl.DataFrame({"x": x, "t": labels}), target="t")
        assert m.classes.dtype.kind == kind
        assert m.classes.tolist() == sorted(set(labels))


def test_booleans_are_categories(write):
    data = pl.DataFrame({"f": [True, False, True, True], "t": ["x", "x", "y", "y"]})
    for source in (
        data,
        write(data, "b.csv"),
        write(data, "b.parquet"),
        write(data, "b.jsonl"),
    ):
        m = summarize(source, target="t")
        assert m.feature_names == ("f=False", "f=True")
        assert m.means[:, 1].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_whole_numbers_may_become_fractions_later_in_a_file(tmp_path, ending):
    path, text = tmp_path / f"late.{ending}", "x,t\n" + "1,a\n2,b\n" * 6000 + "1.5,a\n"
    if ending == "jsonl":
        text = "".join(
            f'{{"x": {x}, "t": "{t}"}}\n'
            for x, t in map(str.split, text.replace(",", " ").splitlines()[1:])
        )
    path.write_text(text)
    m = summarize(path, target="t")
    assert m.counts.tolist() == [6001, 6000]
    assert m.means[0, 0] == pytest.approx(6001.5 / 6001, rel=1e-12)


def test_a_mark_of_missing_may_turn_up_late_in_a_file(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("x,t\n" + "1,a\n2,b\n" * 20000 + "NA,a\n3,b\n4,NA\n")
    with pytest.warns(SufficeWarning, match=r"1 of 40,003 rows is left out.*'t' \(1\)"):
        m = summarize(path, target="t")
    assert m.counts.tolist() == [20001, 20001]


def test_no_row_and_no_column_of_the_penguins_is_lost():
    m = summarize("penguins")
    assert m.counts.tolist() == [152, 68, 124]
    assert {c.name for c in m.schema.columns} >= {"island", "sex", "bill_length_mm"}


def test_nan_and_null_are_missing_numbers():
    data = pl.DataFrame({"x": [1.0, float("nan"), None, 2.0], "t": list("abbb")})
    assert summarize(data, target="t").counts.tolist() == [1, 3]


def test_progress_hears_of_every_block(frame):
    heard = []
    summarize(frame, progress=lambda *news: heard.append(news), **ROLES)
    assert heard == [(500, 500)]


def test_progress_guesses_the_rows_of_text_from_its_size(frame, write, tmp_path):
    heard = []
    for ending in ("csv", "jsonl"):
        write(frame, f"one.{ending}")
        write(frame, f"two.{ending}")
        source = f"{tmp_path}/*.{ending}"
        summarize(source, progress=lambda *news: heard.append(news), **ROLES)
        rows, expected = heard[-1]
        assert rows == 1000
        assert abs(expected - 1000) < 20


def test_fourth_moments_come_when_asked_for(frame):
    assert summarize(frame, **ROLES).fourth is None
    assert summarize(frame, fourth=True, **ROLES).fourth is not None


def test_a_source_without_usable_rows_is_refused():
    data = pl.DataFrame({"x": [2.0, 1.0], "w": [None, 1.0], "t": ["a", None]})
    with (
        pytest.warns(SufficeWarning, match="2 of 2 rows"),
        pytest.raises(InvalidInputError, match="no row that can be used"),
    ):
        summarize(data, target="t", weight="w")


def test_moments_of_other_columns_do_not_merge(frame):
    a, b = summarize(frame, "colour", columns=["a"]), summarize(frame, "colour", columns=["b"])
    with pytest.raises(FeatureMismatchError, match="'a' on one side and 'b'"):
        a + b


@given(sizes=st.lists(st.integers(0, 30), max_size=12), n_rows=st.integers(1, 40))
def test_blocks_hold_the_same_rows_whatever_the_batches(sizes, n_rows):
    ends = np.cumsum([0, *sizes])
    frames = [pl.DataFrame({"i": np.arange(lo, hi)}) for lo, hi in pairwise(ends)]
    blocks = [pl.concat(pieces)["i"].to_list() for pieces in blocks_of(frames, n_rows)]
    assert [i for block in blocks for i in block] == list(range(ends[-1]))
    assert all(len(block) == n_rows for block in blocks[:-1])
    assert all(0 < len(block) <= n_rows for block in blocks)
