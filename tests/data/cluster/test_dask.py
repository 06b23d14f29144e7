"""On a Dask cluster the sums are those of one machine, and a lost worker changes no bit."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import polars.testing
import pytest

import suffice as sf
from suffice.data.cluster import dask as dask_source
from suffice.errors import (
    CheckpointError,
    ClusterError,
    InvalidInputError,
    InvalidParameterError,
)
from suffice.persistence.moments_file import arrays_of

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

N_PARTS, N_ROWS = 12, 400
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # Dask's own use of pandas
]


def assert_close(ours, theirs):
    assert ours.classes.tolist() == theirs.classes.tolist()
    assert ours.feature_names == theirs.feature_names
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-12)
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-10, atol=1e-8)


def assert_same_bits(ours, theirs):
    for name, values in arrays_of(ours).items():
        np.testing.assert_array_equal(values, arrays_of(theirs)[name])


def slow_part(path, seconds):
    time.sleep(seconds)
    return pl.read_parquet(path)


def slow_parts(folder, seconds=0.15):
    paths = sorted(folder.glob("*.parquet"))
    return [dask.delayed(slow_part)(str(path), seconds) for path in paths * 3]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_exact_sums_of_a_cluster_have_the_digest_of_one_machine(client, folder, frame, ending):
    grid = sf.summarize(frame, "t", exact="auto").exact.grid
    here = sf.summarize(frame.sample(fraction=1, shuffle=True, seed=0), "t", exact=grid)
    there = sf.summarize(f"{folder}/*.{ending}", "t", on=client, exact=grid)
    assert there.digest() == here.digest()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_summed_on_the_workers(client, folder, frame, ending):
    m = sf.summarize(f"{folder}/*.{ending}", "t", on=client)
    assert_close(m, sf.summarize(frame, "t"))


def test_large_files_are_cut_into_tasks(client, folder, frame, monkeypatch):
    monkeypatch.setattr("suffice.data.cluster.dask.NUMBERS", 3 * 150)
    heard = []
    source = f"{folder}/*.parquet"
    m = sf.summarize(source, "t", progress=lambda *n: heard.append(n), on=client)
    assert_close(m, sf.summarize(frame, "t"))
    assert heard[-1] == (N_PARTS * N_ROWS, N_PARTS * N_ROWS)


def test_an_address_is_enough(cluster, folder, frame):
    m = sf.summarize(f"{folder}/*.parquet", "t", on=cluster.scheduler_address)
    assert_close(m, sf.summarize(frame, "t"))


def test_a_worker_killed_in_the_middle_changes_no_bit(client, folder):
    parts, killed = slow_parts(folder), []
    n_rows = len(parts) * N_ROWS

    def kill_one(rows, _):
        if not killed and rows < n_rows / 2:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    m = sf.summarize(parts, "t", progress=kill_one, on=client)
    assert len(killed) == 1
    assert m.counts.sum() == n_rows
    assert_same_bits(m, sf.summarize(slow_parts(folder, 0.0), "t", on=client))


def without_memory(path):
    raise MemoryError(path)


def killed_by_the_system(path):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("end", [without_memory, killed_by_the_system])
def test_workers_without_memory_are_told_in_one_sentence(cluster, client, folder, frame, end):
    first = [dask.delayed(pl.read_parquet)(str(path)) for path in folder.glob("*.parquet")]
    scheduler = cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(ClusterError, match=r"partitions smaller or give .* more memory"):
            sf.summarize([*first, dask.delayed(end)("p")], "t", on=client)
    finally:
        scheduler.allowed_failures = allowed
    assert_close(sf.summarize(f"{folder}/*.parquet", "t", on=client), sf.summarize(frame, "t"))


def test_a_dask_frame_is_summed_where_it_is(client, folder, frame):
    from dask import dataframe

    collection = dataframe.read_parquet(sorted(map(str, folder.glob("*.parquet"))))
    assert_close(sf.summarize(collection, "t", on=client), sf.summarize(frame, "t"))


@pytest.mark.parametrize("kind", ["frame", "futures"])
def test_rows_are_scored_by_the_workers_and_not_here(
    client, folder, frame, tmp_path, kind, monkeypatch
):
    from dask import dataframe

    model = sf.LDA().fit_moments(sf.summarize(frame, "t", columns=["a", "b"]))
    sf.streams.predict_stream(
        model, frame, tmp_path / "here.parquet", columns=sf.Columns(ids=["a", "n"])
    )
    paths = sorted(map(str, folder.glob("*.parquet")))
    there = (
        dataframe.read_parquet(paths)
        if kind == "frame"
        else client.map(pl.read_parquet, paths)
    )

    def here(*_):
        raise AssertionError

    monkeypatch.setattr("suffice.data.predict.Answers.__call__", here)
    monkeypatch.setattr("suffice.data.cluster.dask._AHEAD", 3)
    out = tmp_path / "there.parquet"
    done = sf.streams.predict_stream(
        model, there, out, columns=sf.Columns(ids=["a", "n"]), on=client
    )
    assert done.rows == frame.height
    pl.testing.assert_frame_equal(
        pl.read_parquet(tmp_path / "here.parquet"), pl.read_parquet(out)
    )


def test_without_a_cluster_a_dask_frame_is_read_part_by_part(folder, frame):
    from dask import dataframe

    collection = dataframe.read_parquet(sorted(map(str, folder.glob("*.parquet"))))
    assert_close(sf.summarize(collection, "t"), sf.summarize(frame, "t"))


def test_delayed_values_and_futures_may_be_frames_or_pairs(client, frame):
    cuts = [frame[lo : lo + 1000] for lo in range(0, frame.height, 1000)]
    pairs = [(cut.select("a", "b", "n").to_numpy(), cut["t"].to_numpy()) for cut in cuts]
    whole = sf.Moments.of(frame.select("a", "b", "n").to_numpy(), frame["t"].to_numpy())
    futures = client.scatter(cuts, hash=False)
    assert_close(sf.summarize(futures, "t", on=client), sf.summarize(frame, "t"))
    assert_close(sf.summarize(client.scatter(pairs, hash=False), on=client), whole)
    delayed = [dask.delayed(pair) for pair in pairs]
    assert_close(sf.summarize(delayed, on=client), whole)
    assert_close(sf.summarize(delayed), whole)


def test_an_empty_partition_first_is_no_obstacle(client, frame):
    futures = client.scatter([frame[:0], frame[:700], frame[:0], frame[700:]], hash=False)
    assert_close(sf.summarize(futures, "t", on=client), sf.summarize(frame, "t"))


def test_a_partition_of_other_columns_is_named(client, frame):
    odd = frame.with_columns(pl.col("a").cast(pl.String))
    part = "partition 2 of the Dask collection"
    for other, told in (
        (odd, f"column 'a' holds text in {part} but numbers in the first part"),
        (frame.drop("b"), f"{part} lacks the column 'b'"),
    ):
        futures = client.scatter([frame, frame, other], hash=False)
        with pytest.raises(InvalidInputError, match=told):
            sf.summarize(futures, "t", on=client)


def test_a_partition_that_is_no_table_is_named(client, frame):
    with pytest.raises(
        InvalidInputError, match=r"partition 1 of .* is int: it must be a frame"
    ):
        sf.summarize(client.scatter([frame, 3], hash=False), "t", on=client)


def test_futures_without_their_client_are_refused(client, frame):
    futures = client.scatter([frame], hash=False)
    with pytest.raises(InvalidParameterError, match="need the client that created them"):
        sf.summarize(futures, "t")


def test_a_frame_in_memory_is_not_for_the_cluster(client, frame):
    with pytest.raises(
        InvalidParameterError, match="a cluster sums files or its own collections"
    ):
        sf.summarize(frame, "t", on=client)


def test_a_corrupt_file_is_named_and_the_others_are_in_the_checkpoint(
    client, folder, frame, tmp_path, monkeypatch
):
    monkeypatch.setattr("suffice.data.cluster.dask.GROUP", 2)
    for path in folder.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    bad, source, whole = tmp_path / "p09.csv", f"{tmp_path}/*.csv", sf.summarize(frame, "t")
    good = bad.read_bytes()
    bad.write_bytes(good + b"1,2,3,no\n" * 11_000 + b"1,2,oops,no\n")
    with pytest.raises(InvalidInputError, match=r"p09\.csv: column 'n' holds 'oops'"):
        sf.summarize(source, "t", checkpoint=tmp_path / "c", on=client)
    assert sf.load(tmp_path / "c").counts.sum() == 8 * N_ROWS
    bad.write_bytes(good)
    m = sf.summarize(source, "t", checkpoint=tmp_path / "c", on=client)
    assert_close(m, whole)
    assert_close(sf.summarize(source, "t", checkpoint=tmp_path / "c"), whole)
    os.utime(tmp_path / "p01.csv", ns=(1, 1))
    with pytest.raises(CheckpointError, match=r"p01\.csv has changed"):
        sf.summarize(source, "t", checkpoint=tmp_path / "c", on=client)


def test_an_address_without_scheduler_is_told(folder, monkeypatch):
    monkeypatch.setattr("suffice.data.cluster.dask.CONNECT", 0.5)
    with pytest.raises(
        ClusterError, match=r"there is no Dask scheduler at 'tcp://127\.0\.0\.1:9'"
    ):
        sf.summarize(f"{folder}/*.parquet", "t", on="tcp://127.0.0.1:9")


@pytest.fixture
def scheduler():
    """Give the process and the address of a scheduler on its own, without workers."""
    code = (
        "import asyncio\n"
        "from distributed import Scheduler\n"
        "async def main():\n"
        "    async with Scheduler(host='127.0.0.1', port=0, dashboard=False) as scheduler:\n"
        "        print(scheduler.address, flush=True)\n"
        "        await scheduler.finished()\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    yield process, process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_cluster_without_workers_is_told(scheduler, folder, monkeypatch):
    monkeypatch.setattr("suffice.data.cluster.dask.PATIENCE", 0.5)
    with pytest.raises(ClusterError, match=r"no worker for .*start some workers"):
        sf.summarize(f"{folder}/*.parquet", "t", on=scheduler[1])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_scheduler_that_dies_in_the_middle_is_told(scheduler, folder, monkeypatch):
    process, address = scheduler
    monkeypatch.setattr("suffice.data.cluster.dask.PATIENCE", 30)
    waited, done_soon = [], dask_source._done_soon

    def kill_soon(*waiting):
        waited.append(1)
        if len(waited) == 3:
            process.kill()
        return done_soon(*waiting)

    monkeypatch.setattr("suffice.data.cluster.dask._done_soon", kill_soon)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ClusterError, match="the Dask scheduler cannot be reached"),
    ):
        sf.summarize(f"{folder}/*.parquet", "t", on=address)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 8, 9, 23, 72])
def test_the_tree_of_tasks_is_the_pairwise_tree(client, frame, n_parts):
    from suffice.data.cluster.dask import merged_pairwise
    from suffice.data.sums.running import Summed, pairwise_sum

    x, y = frame.select("a", "b").to_numpy(), frame["t"].to_numpy()
    parts = [
        Summed(sf.Moments.of(part, labels))
        for part, labels in zip(
            np.array_split(x, n_parts), np.array_split(y, n_parts), strict=True
        )
    ]
    there = merged_pairwise(client, client.scatter(parts, hash=False)).result()
    assert_same_bits(there.moments, pairwise_sum(parts).moments)
