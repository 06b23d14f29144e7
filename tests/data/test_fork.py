"""A process forked after files were read refuses to read, in place of waiting for ever."""

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
]

CODE = """
import multiprocessing, warnings
warnings.simplefilter("ignore")
import suffice as sf

def work(name):
    try:
        return int(sf.summarize(name).counts.sum())
    except sf.errors.SufficeError as error:
        return str(error)

if __name__ == "__main__":
    {before}
    with multiprocessing.get_context({kind!r}).Pool(2) as pool:
        print(pool.map_async(work, ["iris", "wine"]).get(60))
"""


def said(tmp_path, kind, before):
    script = tmp_path / "script.py"
    script.write_text(CODE.format(kind=kind, before=before))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_worker_says_how_to_start_it(tmp_path):
    text = said(tmp_path, "fork", "sf.summarize('iris')")
    assert text.count("forked") == 2
    assert "spawn" in text


def test_spawned_workers_and_early_forks_read(tmp_path):
    assert said(tmp_path, "spawn", "sf.summarize('iris')").strip() == "[150, 178]"
    assert said(tmp_path, "fork", "pass").strip() == "[150, 178]"
