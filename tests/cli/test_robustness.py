"""Commands that are killed, run twice at once, or find a home that cannot be written to."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import suffice as sf
from suffice import datasets

SUFFICE = [sys.executable, "-m", "suffice"]
LIMIT = 120  # seconds; a test that waits longer has failed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's"),
]


def started(folder, *args, **options):
    return subprocess.Popen(
        [*SUFFICE, *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def ended(program):
    out, said = program.communicate(timeout=LIMIT)
    assert program.returncode == 0, said
    return out, said


def killed_after(seconds, folder, *args):
    """Kill a command and all that it started, if it still runs after some time."""
    program = started(folder, *args)
    try:
        program.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
    program.communicate()


def test_two_processes_on_one_output_leave_one_of_the_two_files(tmp_path):
    models = {}
    for name in ("lda", "qda"):
        ended(started(tmp_path, "fit", "iris", "-m", name, "-o", f"{name}.suffice"))
        models[name] = (tmp_path / f"{name}.suffice").read_bytes()
    programs = [
        started(tmp_path, "fit", "iris", "-m", name, "-o", "both.suffice", "--force")
        for name in ("lda", "qda", "lda", "qda")
    ]
    for program in programs:
        ended(program)
    assert (tmp_path / "both.suffice").read_bytes() in models.values()
    assert sorted(os.listdir(tmp_path)) == ["both.suffice", "lda.suffice", "qda.suffice"]


def test_kills_inside_store_add_neither_lose_nor_double_rows(tmp_path):
    (tmp_path / "in").mkdir()
    frame = datasets.load("iris").frame()
    for day in range(30):
        frame[5 * day : 5 * day + 5].write_csv(tmp_path / "in" / f"day-{day:02}.csv")
    args = ("store", "add", "s.store", "in/*.csv", "--target", "species")
    counted = 0
    for wait in (1.0, 1.5, 2.0, 3.0):
        killed_after(wait, tmp_path, *args)
        if (tmp_path / "s.store" / "manifest").exists():
            entries = sf.MomentStore(tmp_path / "s.store").entries
            rows = sum(entry.rows for entry in entries)
            assert rows == 5 * len(entries) >= counted
            counted = rows
            if entries:
                assert sf.MomentStore(tmp_path / "s.store").total().counts.sum() == rows
    ended(started(tmp_path, *args))
    total = sf.MomentStore(tmp_path / "s.store").total()
    whole = sf.summarize(frame, "species")
    assert total.counts.tolist() == whole.counts.tolist()
    np.testing.assert_allclose(total.means, whole.means, rtol=1e-12)
    left = [path.name for path in (tmp_path / "s.store").rglob(".*.tmp")]
    assert left == []


def test_a_kill_inside_a_report_leaves_the_old_page_and_the_next_one_is_whole(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("old")
    args = ("report", "iris", "--fast", "-o", "page.md", "--force")
    for wait in (2.0, 5.0):
        killed_after(wait, tmp_path, *args)
        text = page.read_text()
        assert text == "old" or text.startswith("#")
        model = tmp_path / "iris.suffice"
        assert not model.exists() or sf.load(model).n_features_in_ == 4
    ended(started(tmp_path, *args))
    assert page.read_text().startswith("#")


@pytest.mark.parametrize("home", ["/proc/no-home", "file"])
def test_a_home_that_cannot_be_written_to_is_no_error(tmp_path, home):
    if home == "file":
        (tmp_path / "home").write_text("no folder")
        home = str(tmp_path / "home")
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    env = kept | {"HOME": home, "XDG_CACHE_HOME": home, "MPLCONFIGDIR": home}
    _, said = ended(
        started(tmp_path, "fit", "digits", "-m", "lda", "-o", "m.suffice", env=env)
    )
    assert "Traceback" not in said
    ended(started(tmp_path, "predict", "m.suffice", "digits", "-o", "out.csv", env=env))
    ended(started(tmp_path, "plot", "roc", "iris", "-o", "roc.svg", env=env))


FORKED = """
import multiprocessing, sys
import numpy as np
import suffice as sf

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 60_000)
X = rng.normal(size=(60_000, 8)) + y[:, None]

def work(seed):
    return sf.LDA(n_jobs=2).fit(X, y).predict_proba(X[:5]).tobytes()

if __name__ == "__main__":
    before = work(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        after = pool.map_async(work, [1, 2, 3]).get(100)
    assert all(each == before for each in after)
"""


@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver"])
def test_arrays_are_fitted_in_processes_of_every_kind(tmp_path, kind):
    start = time.monotonic()
    (tmp_path / "script.py").write_text(FORKED)
    done = subprocess.run(
        [sys.executable, "script.py", kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, (time.monotonic() - start, done.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_limit_of_memory_is_told_in_one_sentence(tmp_path):
    resource = pytest.importorskip("resource")

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))

    command = [sys.executable, "-m", "suffice", "summarize", "iris", "-o", "i.moments"]
    ended = subprocess.run(
        command, cwd=tmp_path, preexec_fn=limited, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "memory is limited to 600 MiB (ulimit -v)" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is in use")
def test_a_current_folder_that_is_gone_is_told_in_one_sentence(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec {sys.executable} -m suffice summarize iris -o i.moments"
    ended = subprocess.run(
        ["sh", "-c", script], cwd=gone, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "the current folder does not exist any more" in ended.stderr
    assert "None" not in ended.stderr
