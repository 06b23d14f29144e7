"""``suffice summarize --cluster`` and ``--checkpoint``: the commands themselves."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import suffice as sf
from suffice.cli.group import suffice as main

pytestmark = pytest.mark.slow


def suffice(*arguments):
    command = [sys.executable, "-m", "suffice", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def ok(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.stderr


def test_files_are_summed_on_the_cluster_at_an_address(cluster, folder, frame, tmp_path):
    address, out = cluster.scheduler_address, tmp_path / "sums.moments"
    done = suffice(
        "summarize", f"{folder}/*.parquet", "--target", "t", "--cluster", address, "-o", out
    )
    assert done.returncode == 0, done.stderr
    ours, theirs = sf.load(out), sf.summarize(frame, "t")
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    np.testing.assert_allclose(ours.scatters, theirs.scatters, rtol=1e-10, atol=1e-8)


def test_a_cluster_that_does_not_answer_is_told_in_one_line(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("suffice.data.cluster.dask.CONNECT", 0.5)
    source, out = f"{folder}/*.parquet", str(tmp_path / "sums.moments")
    said = ["summarize", source, "-t", "t", "--cluster", "tcp://127.0.0.1:9", "-o", out, "-q"]
    done = CliRunner().invoke(main, said)
    assert done.exit_code == 1
    assert done.stderr.startswith("suffice: there is no Dask scheduler at 'tcp://127.0.0.1:9'")
    assert done.stderr.count("\n") == 1
    assert not Path(out).exists()


def test_a_checkpoint_remembers_what_is_counted(folder, frame, tmp_path):
    source, out, checkpoint = f"{folder}/*.csv", tmp_path / "sums.moments", tmp_path / "scan"
    for _ in range(2):
        ok("summarize", source, "-t", "t", "--checkpoint", checkpoint, "-o", out)
        assert sf.load(checkpoint).counts.sum() == frame.height
        assert sf.load(out).counts.sum() == frame.height


def test_sites_are_summed_apart_and_merged_at_the_centre(folder, frame, tmp_path):
    for site in (0, 1):
        ok(
            "summarize",
            f"{folder}/p{site}?.csv",
            "-t",
            "t",
            "-o",
            tmp_path / f"{site}.moments",
        )
    sites = tmp_path / "0.moments", tmp_path / "1.moments"
    ok("merge", *sites, "-o", tmp_path / "all.moments")
    ok("fit", tmp_path / "all.moments", "-o", tmp_path / "m.suffice")
    ours, whole = sf.load(tmp_path / "all.moments"), sf.summarize(frame, "t")
    np.testing.assert_allclose(ours.scatters, whole.scatters, rtol=1e-10, atol=1e-8)
