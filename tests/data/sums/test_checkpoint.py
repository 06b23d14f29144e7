"""A scan over files that is cut short goes on where it stopped, and counts nothing twice."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice import Moments
from suffice.data.columns.roles import roles_for_learning
from suffice.data.opening import open_source
from suffice.data.options import SumSettings
from suffice.data.rows.loading import frames_of
from suffice.data.sums.checkpoint import Checkpoint, FileRows
from suffice.data.sums.running import sums_of_frames
from suffice.errors import CheckpointError, InvalidInputError, InvalidParameterError
from suffice.persistence import archive
from suffice.persistence.moments_file import KIND, arrays_of

N_FILES, N_ROWS = 6, 3000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut rows into blocks smaller than a file, and save after each."""
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 700)
    monkeypatch.setattr("suffice.data.sums.checkpoint.SECONDS", 0.0)


@pytest.fixture(params=["parquet", "csv"])
def files(tmp_path, request):
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(N_FILES):
        rng = np.random.default_rng(i)
        y = rng.choice(["no", "yes"], N_ROWS)
        frame = pl.DataFrame(
            {"a": rng.normal(size=N_ROWS), "b": rng.normal(1e6, 1, N_ROWS), "t": y}
        )
        write = {"parquet": frame.write_parquet, "csv": frame.write_csv}[request.param]
        write(folder / f"part{i}.{request.param}")
    return f"{folder}/*.{request.param}"


class StopError(Exception):
    """Raised in the middle of a scan."""


def stop_after(n_rows):
    def progress(rows, _):
        if rows >= n_rows:
            raise StopError

    return progress


def assert_same_bits(ours, theirs):
    assert ours.classes.tolist() == theirs.classes.tolist()
    for name, values in arrays_of(ours).items():
        np.testing.assert_array_equal(values, arrays_of(theirs)[name])


KILLED = """
    import os, signal, sys
    import suffice.data.rows.loading, suffice.data.sums.checkpoint
    from suffice import summarize
    suffice.data.sums.checkpoint.SECONDS = 0.0
    suffice.data.rows.loading.rows_per_block = lambda _: 700
    source, checkpoint, n_rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    def progress(rows, _):
        if rows >= n_rows:
            os.kill(os.getpid(), signal.SIGKILL)
    summarize(source, target="t", checkpoint=checkpoint, progress=progress)
"""


@pytest.mark.slow
def test_a_process_killed_in_the_middle_is_resumed_to_the_same_bits(files, tmp_path):
    checkpoint = tmp_path / "scan.moments"
    code = textwrap.dedent(KILLED)
    for n_rows in (2000, 7000, 7001, 15000):
        done = subprocess.run(
            [sys.executable, "-c", code, files, str(checkpoint), str(n_rows)]
        )
        assert done.returncode == -signal.SIGKILL
        assert sf.load(checkpoint).counts.sum() >= n_rows
    heard = []
    resumed = sf.summarize(
        files, "t", checkpoint=checkpoint, progress=lambda *n: heard.append(n)
    )
    assert heard[0][0] > 15000
    assert resumed.counts.sum() == N_FILES * N_ROWS
    assert_same_bits(resumed, sf.summarize(files, "t"))


@pytest.mark.parametrize("n_rows", [1, 3000, 3001, 10_000, N_FILES * N_ROWS])
def test_a_scan_that_failed_anywhere_is_resumed_to_the_same_bits(files, tmp_path, n_rows):
    with pytest.raises(StopError):
        sf.summarize(files, "t", checkpoint=tmp_path / "c", progress=stop_after(n_rows))
    assert_same_bits(
        sf.summarize(files, "t", checkpoint=tmp_path / "c"), sf.summarize(files, "t")
    )


def test_a_failure_saves_what_was_summed_so_far(files, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.data.sums.checkpoint.SECONDS", 1e9)
    with pytest.raises(StopError):
        sf.summarize(files, "t", checkpoint=tmp_path / "c", progress=stop_after(8000))
    assert sf.load(tmp_path / "c").counts.sum() == 700 * 12


def test_a_finished_scan_is_not_read_again(files, tmp_path):
    first, heard = sf.summarize(files, "t", checkpoint=tmp_path / "c"), []
    again = sf.summarize(
        files, "t", checkpoint=tmp_path / "c", progress=lambda *n: heard.append(n)
    )
    assert heard == []
    assert_same_bits(again, first)


def test_files_added_later_are_added_to_the_sums(files, tmp_path):
    some = sorted(map(str, (tmp_path / "data").iterdir()))[2:5]
    assert sf.summarize(some, "t", checkpoint=tmp_path / "c").counts.sum() == 3 * N_ROWS
    grown = sf.summarize(files, "t", checkpoint=tmp_path / "c")
    whole = sf.summarize(files, "t")
    np.testing.assert_array_equal(grown.counts, whole.counts)
    np.testing.assert_allclose(grown.scatters, whole.scatters, rtol=1e-10, atol=1e-8)


def test_rows_left_out_are_told_once_for_the_whole_scan(tmp_path):
    for i in range(3):
        frame = pl.DataFrame({"a": range(1000), "t": [None, "y", *["x", "y"] * 499]})
        frame.write_parquet(tmp_path / f"p{i}.parquet")
    source = f"{tmp_path}/p*.parquet"
    with pytest.raises(StopError):
        sf.summarize(source, "t", checkpoint=tmp_path / "c", progress=stop_after(1500))
    with pytest.warns(sf.errors.SufficeWarning, match=r"3 of 3,000 rows are left out"):
        sf.summarize(source, "t", checkpoint=tmp_path / "c")


def test_a_counted_file_that_changed_is_refused_by_name(files, tmp_path):
    sf.summarize(files, "t", checkpoint=tmp_path / "c")
    path = sorted((tmp_path / "data").iterdir())[3]
    os.utime(path, ns=(1, 1))
    with pytest.raises(
        CheckpointError, match=rf"{path.name} has changed .*remove .*to start again"
    ):
        sf.summarize(files, "t", checkpoint=tmp_path / "c")


def test_a_counted_file_that_is_gone_is_refused_by_name(files, tmp_path):
    sf.summarize(files, "t", checkpoint=tmp_path / "c")
    path = sorted((tmp_path / "data").iterdir())[3]
    path.unlink()
    with pytest.raises(CheckpointError, match=rf"counts .*{path.name}, which is not among"):
        sf.summarize(files, "t", checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"columns": ["b"]}, r"features \['a', 'b'\], but this call has \['b'\]"),
        ({"storage": "pooled"}, "storage 'auto', but this call has 'pooled'"),
        ({"fourth": True}, "fourth False, but this call has True"),
    ],
)
def test_another_question_to_the_same_checkpoint_is_refused(files, tmp_path, change, told):
    sf.summarize(files, "t", checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match=told):
        sf.summarize(files, "t", checkpoint=tmp_path / "c", **change)


def test_a_file_of_another_schema_stops_the_scan_before_anything_is_summed(files, tmp_path):
    odd = tmp_path / "data" / f"part9.{files.rsplit('.', 1)[1]}"
    frame = pl.DataFrame({"a": ["u", "v"], "b": [1.0, 2.0], "t": ["no", "yes"]})
    (frame.write_parquet if odd.suffix == ".parquet" else frame.write_csv)(odd)
    with pytest.raises(InvalidInputError, match=r"'a' holds text in .*part9"):
        sf.summarize(files, "t", checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_text_half_way_through_a_file_keeps_the_files_before_it(tmp_path):
    good = "a,t\n" + "1,x\n2,y\n" * 6000
    for i in range(3):
        (tmp_path / f"p{i}.csv").write_text(good)
    (tmp_path / "p2.csv").write_text(good + "oops,x\n" + "1,x\n" * 10)
    source = f"{tmp_path}/p*.csv"
    with pytest.raises(InvalidInputError, match=r"p2\.csv: column 'a' holds 'oops'"):
        sf.summarize(source, "t", checkpoint=tmp_path / "c")
    assert sf.load(tmp_path / "c").counts.sum() >= 20_000
    (tmp_path / "p2.csv").unlink()
    (tmp_path / "p3.csv").write_text(good)
    resumed = sf.summarize(source, "t", checkpoint=tmp_path / "c")
    assert resumed.counts.tolist() == [18_000, 18_000]


FULL = """
    import resource, sys
    sys.dont_write_bytecode = True  # none that is cut off
    import suffice.data.rows.loading, suffice.data.sums.checkpoint
    from suffice import summarize
    suffice.data.sums.checkpoint.SECONDS = 0.0
    suffice.data.rows.loading.rows_per_block = lambda _: 700
    source, checkpoint = sys.argv[1:]
    def progress(rows, _):
        if rows >= 7000:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    summarize(source, target="t", checkpoint=checkpoint, progress=progress)
"""


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(files, tmp_path):
    checkpoint = tmp_path / "scan.moments"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), files, str(checkpoint)],
        capture_output=True,
        text=True,
    )
    assert "CheckpointError: the checkpoint" in done.stderr
    assert "cannot be written (File too large): free some space" in done.stderr
    assert sf.load(checkpoint).counts.sum() == 7000
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["scan.moments"]
    assert_same_bits(sf.summarize(files, "t", checkpoint=checkpoint), sf.summarize(files, "t"))


def test_a_file_that_is_no_checkpoint_is_not_overwritten(files, tmp_path):
    plain = Moments.of(np.zeros((2, 1)), ["a", "b"])
    plain.save(tmp_path / "plain.moments")
    (tmp_path / "text").write_text("mine")
    for name in ("plain.moments", "text"):
        with pytest.raises(CheckpointError, match=f"{name} is not a checkpoint"):
            sf.summarize(files, "t", checkpoint=tmp_path / name)
    assert (tmp_path / "text").read_text() == "mine"


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved.pop("files"),
        lambda saved: saved.update(files=[1]),
        lambda saved: saved.update(files={"a": 3}),
        lambda saved: saved.update(question=None),
        lambda saved: saved.update(left_out={"lines": 1}),
        lambda saved: saved["left_out"].update(rows="7"),
        lambda saved: saved["left_out"].update(unusable=-1),
        lambda saved: next(iter(saved["files"].values())).update(rows=2.5),
        lambda saved: next(iter(saved["files"].values())).update(done=None),
    ],
)
def test_a_forged_checkpoint_is_refused_and_kept(files, tmp_path, change):
    path = tmp_path / "scan.moments"
    sf.summarize(files, "t", checkpoint=path)
    header, arrays = archive.read(path)
    change(header["checkpoint"])
    for field in ("suffice", "format", "sha256"):
        header.pop(field)
    archive.write(path, KIND, header, arrays)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        sf.summarize(files, "t", checkpoint=path)
    assert path.read_bytes() == before


def test_a_checkpoint_needs_files_each_once(files, tmp_path):
    with pytest.raises(InvalidParameterError, match="needs a source of files"):
        sf.summarize(
            pl.DataFrame({"a": [1.0, 2.0], "t": ["x", "y"]}), "t", checkpoint=tmp_path / "c"
        )
    path = next((tmp_path / "data").iterdir())
    with pytest.raises(InvalidParameterError, match="is named twice"):
        sf.summarize([path, path], "t", checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({}, {"na_values": ["-1"]}, r"na_values None, but this call has \['-1'\]"),
        ({"na_values": ["-1"]}, {}, r"na_values \['-1'\], but this call has None"),
        ({}, {"delimiter": ","}, "delimiter None, but this call has ','"),
    ],
)
def test_other_settings_of_text_are_refused(tmp_path, before, now, told):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,t\n" + "1,-1,x\n2,3,y\n" * 5)
    scan = {"target": "t", "columns": ["a", "b"], "checkpoint": tmp_path / "c"}
    sf.summarize(path, text=sf.TextFormat(**before), **scan)
    with pytest.raises(CheckpointError, match=told):
        sf.summarize(path, text=sf.TextFormat(**now), **scan)


def test_a_file_is_counted_once_whatever_its_path_is_called(tmp_path):
    path, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    path.write_text("a,t\n1,x\n2,y\n3,x\n")
    link.symlink_to(path)
    for spelling in (link, tmp_path / ".." / tmp_path.name / "rows.csv"):
        with pytest.raises(InvalidParameterError, match=r"rows\.csv is named twice"):
            sf.summarize([path, spelling], "t", checkpoint=tmp_path / "twice")
        counted = sf.summarize(path, "t", checkpoint=tmp_path / "c")
        again = sf.summarize(spelling, "t", checkpoint=tmp_path / "c")
        assert again.counts.tolist() == counted.counts.tolist()
    path.write_text("a,t\n1,x\n2,y\n9,x\n")
    with pytest.raises(CheckpointError, match=r"rows\.csv has changed"):
        sf.summarize(link, "t", checkpoint=tmp_path / "c")


def test_other_categories_are_another_question(tmp_path):
    rows = "".join(f"{i % 3},{i % 5},{'uv'[i % 2]}\n" for i in range(30))
    (tmp_path / "rows.csv").write_text(f"code,x,t\n{rows}")
    scan = tmp_path / "rows.csv", "t"
    sf.summarize(*scan, checkpoint=tmp_path / "ck")
    with pytest.raises(
        CheckpointError, match=r"categorical \[\], but this call has \['code'\]"
    ):
        sf.summarize(
            *scan, checkpoint=tmp_path / "ck", columns=sf.Columns(categorical=["code"])
        )


def test_files_that_a_cluster_counted_without_their_rows_leave_the_others_whole(
    files, tmp_path
):
    whole = sf.summarize(files, "t")
    source = open_source(files)
    roles = roles_for_learning(source, "t")
    settings = SumSettings()
    begun = Checkpoint(tmp_path / "ck", source, roles, settings)
    path = source.files[0].path
    first = replace(source, scans=lambda columns: [source.files[0].scan(columns)])
    # a cluster does not learn how many rows of text a file had
    sums = sums_of_frames(frames_of(first, roles), roles, settings, "the first file")
    begun.note(sums, {str(path): FileRows(0, done=True)})
    begun.save()
    for n_rows in (N_ROWS + 500, N_ROWS + 2000, 2 * N_ROWS + 1500):
        with pytest.raises(StopError):
            sf.summarize(files, "t", checkpoint=tmp_path / "ck", progress=stop_after(n_rows))
    resumed = sf.summarize(files, "t", checkpoint=tmp_path / "ck")
    assert resumed.counts.tolist() == whole.counts.tolist()
