"""On a real local Spark the sums are those of one machine."""

import numpy as np
import polars as pl
import polars.testing
import pytest

import suffice as sf
from suffice.errors import ClusterError, InvalidInputError, SufficeWarning

pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def assert_close(ours, theirs):
    assert ours.classes.tolist() == theirs.classes.tolist()
    assert ours.feature_names == theirs.feature_names
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-12)
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-10, atol=1e-8)


def test_a_spark_frame_of_any_partitions_gives_the_sums_of_its_rows(spark, folder, frame):
    heard = []
    read = spark.read.parquet(*map(str, sorted(folder.glob("*.parquet"))))
    for there in (
        read,
        read.repartition(5),
        read.repartition(5).filter("a > 1e9").union(read),
    ):
        m = sf.summarize(there, "t", progress=lambda *n: heard.append(n))
        assert_close(m, sf.summarize(frame, "t"))
    assert heard == [(frame.height, None)] * 3


def test_tasks_that_fail_and_are_tried_again_count_their_rows_once(
    spark, folder, frame, tmp_path
):
    def failing_at_first(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        (tmp_path / f"{context.partitionId()} {context.taskAttemptId()}").touch()
        yield from batches
        if context.attemptNumber() == 0:
            raise RuntimeError("the first attempt fails when all rows are read")

    there = spark.read.parquet(*map(str, sorted(folder.glob("*.parquet")))).repartition(5)
    failing = there.mapInArrow(failing_at_first, there.schema)
    sums = sf.summarize(failing, "t")
    partitions = [path.name.split()[0] for path in tmp_path.iterdir()]
    assert all(partitions.count(str(number)) >= 2 for number in range(5))
    assert_close(sums, sf.summarize(frame, "t"))


def test_exact_sums_of_a_spark_frame_have_the_digest_of_one_machine(spark, folder, frame):
    grid = sf.summarize(frame, "t", exact="auto").exact.grid
    read = spark.read.parquet(*map(str, sorted(folder.glob("*.parquet"))))
    here = sf.summarize(frame, "t", exact=grid)
    assert sf.summarize(read.repartition(5), "t", exact=grid).digest() == here.digest()


def test_nulls_weights_and_odd_names_are_treated_as_anywhere(spark, tmp_path):
    rng = np.random.default_rng(0)
    odd = pl.DataFrame(
        {
            "a.b": rng.normal(size=90),
            "`c` d": [None if i % 9 == 0 else float(i) for i in range(90)],
            "w": rng.uniform(size=90),
            "t": ["x", "y", None] * 30,
        }
    )
    odd.write_parquet(tmp_path / "odd.parquet")
    there = spark.read.parquet(str(tmp_path / "odd.parquet"))
    with pytest.warns(SufficeWarning, match="of 90 rows are left out"):
        ours = sf.summarize(there, "t", weight="w")
    with pytest.warns(SufficeWarning, match="of 90 rows are left out"):
        assert_close(ours, sf.summarize(odd, "t", weight="w"))


def test_whole_numbers_as_labels_stay_so(spark, frame, tmp_path):
    frame.write_parquet(tmp_path / "f.parquet")
    there = spark.read.parquet(str(tmp_path / "f.parquet"))
    assert_close(
        sf.summarize(there, "n", columns=["a", "b"]),
        sf.summarize(frame, "n", columns=["a", "b"]),
    )


def test_rows_that_cannot_be_used_are_told_as_ours(spark, frame, tmp_path):
    frame.with_columns(w=pl.lit(-1.0)).write_parquet(tmp_path / "w.parquet")
    there = spark.read.parquet(str(tmp_path / "w.parquet"))
    with pytest.raises(
        InvalidInputError, match=r"the Spark frame: .*give every row a finite weight"
    ):
        sf.summarize(there, "t", weight="w")


def test_a_failure_of_spark_is_told_in_one_line(spark, folder, tmp_path):
    path = tmp_path / "gone.parquet"
    path.write_bytes((folder / "p00.parquet").read_bytes())
    there = spark.read.parquet(str(path))
    path.unlink()
    with pytest.raises(ClusterError, match="the Spark frame cannot be summed") as caught:
        sf.summarize(there, "t")
    assert "\n" not in str(caught.value)


def test_rows_are_scored_by_the_executors_and_not_here(
    spark, folder, frame, tmp_path, monkeypatch
):
    model = sf.LDA().fit_moments(sf.summarize(frame, "t", columns=["a", "b"]))
    sf.streams.predict_stream(
        model, frame, tmp_path / "here.parquet", columns=sf.Columns(ids=["a", "n"])
    )

    def here(*_):
        raise AssertionError

    monkeypatch.setattr("suffice.data.predict.Answers.__call__", here)
    there = spark.read.parquet(*map(str, sorted(folder.glob("*.parquet")))).repartition(2)
    done = sf.streams.predict_stream(
        model, there, tmp_path / "there.parquet", columns=sf.Columns(ids=["a", "n"])
    )
    assert done.rows == frame.height
    both = [
        pl.read_parquet(tmp_path / f"{name}.parquet").sort("a", "n")
        for name in ("here", "there")
    ]
    pl.testing.assert_frame_equal(*both)
