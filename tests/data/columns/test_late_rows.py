"""The order of rows decides nothing: what the first rows tell of a column is checked on all."""

import io
import json

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.data import source as source_module
from suffice.data.columns.distinct import DistinctValues
from suffice.data.columns.roles import roles_for_learning
from suffice.data.formats import typed_table
from suffice.data.formats.file_source import stream_source
from suffice.data.frames import tables
from suffice.data.opening import open_source
from suffice.data.options import SumSettings
from suffice.data.rereading import reading_again
from suffice.data.rows.loading import load_rows
from suffice.data.scanning import frames_of_scan
from suffice.data.summarize import summarize_source
from suffice.errors import InvalidInputError

pytestmark = pytest.mark.filterwarnings("ignore")
FEW = 100  # first rows
N = 300


@pytest.fixture(autouse=True)
def few_first_rows(monkeypatch):
    monkeypatch.setattr(source_module, "SAMPLE_ROWS", FEW)
    monkeypatch.setattr("suffice.data.columns.levels.SAMPLE_ROWS", FEW)
    monkeypatch.setattr(typed_table, "SAMPLE_ROWS", FEW)
    monkeypatch.setattr(tables, "SAMPLE_ROWS", FEW)


def frame_with(**columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=N).round(3)
    return pl.DataFrame({"x": x, **columns, "y": ["a", "b"] * (N // 2)})


def written(frame, path):
    writers = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
    }
    writers[path.suffix](path)
    return path


def features_of(source):
    return sf.summarize(source, "y").feature_names


def repeated_late():
    values = np.arange(N)
    values[-1] = values[-2]
    return values


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_an_id_that_repeats_is_none_wherever_it_repeats(tmp_path, ending):
    frame = frame_with(customer_id=repeated_late())
    late = written(frame, tmp_path / f"late.{ending}")
    early = written(frame.reverse(), tmp_path / f"early.{ending}")
    assert features_of(late) == features_of(early) == ("x", "customer_id")
    assert features_of(frame) == features_of(frame.reverse())


def test_an_id_that_never_repeats_is_left_out(tmp_path):
    path = written(frame_with(customer_id=np.arange(N)), tmp_path / "rows.csv")
    assert features_of(path) == ("x",)


def test_an_id_that_repeats_in_another_file_is_none(tmp_path):
    frame = frame_with(customer_id=np.arange(N))
    written(frame, tmp_path / "1.csv")
    written(frame.head(6), tmp_path / "2.csv")
    assert features_of([tmp_path / "1.csv", tmp_path / "2.csv"]) == ("x", "customer_id")


def test_the_second_scan_is_told(tmp_path):
    path = written(frame_with(customer_id=repeated_late()), tmp_path / "rows.csv")
    with pytest.warns(UserWarning, match=r"'customer_id' looks like an id .* read again"):
        sf.summarize(path, "y")


def test_a_repeated_id_of_a_stream_is_refused_with_a_cure(monkeypatch):
    frame = frame_with(customer_id=repeated_late())
    monkeypatch.setattr("suffice.data.formats.file_source._HEAD", 2000)
    text = io.BytesIO(frame.write_csv().encode())
    source = stream_source(text, sf.TextFormat(), "standard input")

    with pytest.raises(
        InvalidInputError, match=r"'customer_id' looks like an id.*--feature, --id or --ignore"
    ):
        summarize_source(source, roles_for_learning(source, "y"), SumSettings("auto", False))


def test_ids_that_are_named_may_repeat(tmp_path):
    path = written(frame_with(customer_id=repeated_late()), tmp_path / "rows.csv")
    columns = sf.Columns(ids=["customer_id"])
    assert sf.summarize(path, "y", columns=columns).feature_names == ("x",)


def test_rows_in_memory_are_judged_like_sums(tmp_path):
    path = written(frame_with(customer_id=repeated_late()), tmp_path / "rows.csv")

    def loaded(source):
        return load_rows(source, roles_for_learning(source, "y"))

    chunk = reading_again(open_source(path, sf.TextFormat()), loaded)
    assert chunk.table.names == ("x", "customer_id")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_texts_that_differ_at_first_and_repeat_later_are_a_category(tmp_path, ending):
    texts = [f"t{i}" if i < 150 else f"t{i % 3}" for i in range(N)]
    frame = frame_with(name=texts)
    late = written(frame, tmp_path / f"late.{ending}")
    early = written(frame.reverse(), tmp_path / f"early.{ending}")
    assert features_of(late) == features_of(early)
    assert {"name=t0", "name=t1", "name=t2"} <= set(features_of(late))


def test_the_most_frequent_levels_of_all_rows_are_kept(tmp_path):
    levels = [f"rare{i % 60}" if i < 150 else f"late{i % 20}" for i in range(N)]
    frame = frame_with(c=levels)
    late = written(frame, tmp_path / "late.csv")
    early = written(frame.reverse(), tmp_path / "early.csv")
    a = sf.summarize(late, "y")
    assert a.feature_names == sf.summarize(early, "y").feature_names
    assert {f"c=late{j}" for j in range(20)} <= set(a.feature_names)
    # Every row has one of the levels, or the other one.
    at = [name.startswith("c=") for name in a.feature_names]
    np.testing.assert_allclose(a.means[:, at].sum(1), 1)


def test_many_levels_that_only_later_rows_have_are_counted_in_all_rows(tmp_path):
    levels = [f"l{i % 10}" if i < 150 else f"m{i % 50}" for i in range(N)]
    frame = frame_with(c=levels)
    late = written(frame, tmp_path / "late.csv")
    early = written(frame.reverse(), tmp_path / "early.csv")
    assert features_of(late) == features_of(early)
    assert features_of(frame) == features_of(late)


def test_numbers_that_are_named_as_categories_are_counted_too(tmp_path):
    frame = frame_with(c=[i % 60 if i < 150 else 100 + i % 20 for i in range(N)])
    columns = sf.Columns(categorical=["c"])
    names = []
    for ending in ("csv", "parquet"):
        for rows in (frame, frame.reverse()):
            path = written(rows, tmp_path / f"rows.{ending}")
            names.append(sf.summarize(path, "y", columns=columns).feature_names)
    assert names[0] == names[1] == names[2] == names[3]
    assert "c=119" in names[0]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("form", ["{day:02}/{month:02}/2024", "{month:02}/{day:02}/2024"])
def test_a_late_date_tells_day_from_month(tmp_path, ending, form):
    days = [i % 12 + 1 if i < 200 else i % 28 + 1 for i in range(N)]
    dates = [form.format(day=day, month=i % 11 + 1) for i, day in enumerate(days)]
    frame = frame_with(day=dates)
    moments = []
    for rows in (frame, frame.reverse()):
        path = tmp_path / f"rows.{ending}"
        rows.write_csv(path, compression="gzip" if ending == "csv.gz" else "uncompressed")
        moments.append(sf.summarize(path, "y"))
    assert moments[0].feature_names == moments[1].feature_names == ("x", "day")
    np.testing.assert_allclose(moments[0].means, moments[1].means, rtol=1e-12)
    first = pl.date(2024, pl.col("month"), pl.col("day"))
    parts = pl.DataFrame({"day": days, "month": [i % 11 + 1 for i in range(N)]})
    expected = parts.select(first.cast(pl.Int32)).to_series().to_numpy()
    np.testing.assert_allclose(moments[0].means[0, 1], expected[::2].mean(), rtol=1e-12)


def test_late_dates_of_both_orders_are_text(tmp_path):
    dates = [f"{i % 12 + 1:02}/{i % 11 + 1:02}/2024" for i in range(N)]
    dates[-1] = "25/12/2024"
    dates[-2] = "12/25/2024"
    path = written(frame_with(day=dates), tmp_path / "rows.csv")
    assert all(name == "x" or name.startswith("day=") for name in features_of(path))


def lines(late_line):
    rows = [{"x": i / 7, "y": "ab"[i % 2]} for i in range(N - 1)]
    return [json.dumps(row) for row in [*rows, late_line]]


def test_a_key_that_only_a_late_line_has_is_a_column(tmp_path):
    texts = lines({"x": 1.5, "y": "a", "z": 5.5})
    (tmp_path / "late.jsonl").write_text("\n".join(texts))
    (tmp_path / "early.jsonl").write_text("\n".join(texts[::-1]))
    assert features_of(tmp_path / "late.jsonl") == features_of(tmp_path / "early.jsonl")
    assert "z" in features_of(tmp_path / "late.jsonl")


def test_a_late_key_of_a_stream_is_refused(monkeypatch):
    monkeypatch.setattr("suffice.data.formats.file_source._HEAD", 2000)
    text = "\n".join(lines({"x": 1.5, "y": "a", "z": 5.5})) + "\n"
    source = stream_source(io.BytesIO(text.encode()), sf.TextFormat(), "standard input")

    (scan,) = source.scans({"x": pl.Float64()})
    with pytest.raises(InvalidInputError, match="later line has the key 'z'"):
        list(frames_of_scan(scan))


def test_a_late_label_that_is_no_answer_is_refused_where_y_was_merged_into_yes(tmp_path):
    labels = ["y", "Yes", "no", "N"] * (N // 4)
    labels[-1] = "maybe"
    frame = pl.DataFrame({"x": np.arange(N) / 7, "z": np.sin(np.arange(N)), "y": labels})
    path = written(frame, tmp_path / "rows.csv")
    with pytest.raises(InvalidInputError, match="'maybe' means neither"):
        sf.summarize(path, "y", columns=sf.Columns(merge_labels=True))


@pytest.mark.parametrize("n_kept", [10, 10_000])
def test_distinct_values_do_not_depend_on_order_or_batches(n_kept):
    rng = np.random.default_rng(0)
    values = pl.Series(rng.integers(0, 500, 3000))
    shuffled = values.shuffle(seed=1)
    sketches = []
    for column, size in ((values, 7), (shuffled, 500), (values.reverse(), 3000)):
        sketch = DistinctValues(n_kept)
        for start in range(0, len(column), size):
            sketch.add(column[start : start + size])
        sketches.append(sketch)
    counts = {sketch.n_distinct for sketch in sketches}
    assert len(counts) == 1
    assert all(sketch.repeats for sketch in sketches)
    if n_kept > 500:
        assert counts == {values.n_unique()}


def test_the_estimate_of_many_distinct_values_is_near_their_number():
    sketch = DistinctValues(4000)
    for start in range(0, 100_000, 10_000):
        sketch.add(pl.Series(np.arange(start, start + 10_000)))
    assert not sketch.repeats
    assert sketch.n_distinct == pytest.approx(100_000, rel=0.05)
