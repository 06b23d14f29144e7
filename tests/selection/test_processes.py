"""Work that is shared with other processes comes back as if it had been done here."""

import os
import subprocess
import sys
import threading
import time

import pytest

from suffice.core.threads import at_most
from suffice.selection import processes
from suffice.selection.processes import computed_ahead, n_running_workers, worker_processes

LIMIT = 60  # seconds; a test that waits longer has failed


@pytest.fixture
def worker():
    """One process that helps, whatever cores there are."""
    with at_most(2), worker_processes():
        (one,) = processes._WORKERS.get()
        yield one


def squared(what, task):
    return what * task**2, os.getpid()


def patient(folder, task):
    """Wait here until another process has done its part."""
    if task == 0:
        deadline = time.monotonic() + LIMIT
        while not (folder / "done").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    else:
        (folder / "done").touch()
    return task, os.getpid()


def fatal(parent, task):
    if os.getpid() != parent:
        os._exit(1)
    return task


def failing(_, task):
    raise IndexError(f"task {task}")


def shared(work, what, tasks):
    """Return what others did ahead, or else this process."""
    with computed_ahead(work, what, tasks) as found:
        return [found(task) or work(what, task) for task in tasks]


def test_results_are_those_of_the_tasks(worker):
    found = shared(squared, 3, range(40))
    assert [value for value, _ in found] == [3 * n**2 for n in range(40)]


def test_another_process_does_the_last_tasks(worker, tmp_path):
    first, last = shared(patient, tmp_path, [0, 1])
    assert first == (0, os.getpid())
    assert last[0] == 1
    assert last[1] != os.getpid()


def test_a_later_job_is_not_confused_with_an_earlier_one(worker, tmp_path):
    shared(patient, tmp_path, [0, 1])
    (tmp_path / "done").unlink()
    assert [task for task, _ in shared(patient, tmp_path, [0, 2])] == [0, 2]
    assert shared(squared, 5, [1])[0][0] == 5
    with computed_ahead(squared, threading.Lock(), [1]) as found:
        assert found(1) is None


def test_what_a_process_leaves_undone_is_done_here(worker):
    assert shared(fatal, os.getpid(), range(1, 200)) == list(range(1, 200))
    assert [value for value, _ in shared(squared, 1, range(3))] == [0, 1, 4]


def test_what_cannot_be_sent_is_done_here(worker):
    lock = threading.Lock()
    assert shared(lambda what, task: (what is lock, task), lock, [1, 2]) == [
        (True, 1),
        (True, 2),
    ]


def test_an_error_is_raised_here(worker):
    with pytest.raises(IndexError, match="task 1"):
        shared(failing, None, [1, 2])
    with pytest.raises(KeyboardInterrupt), computed_ahead(squared, 1, range(9)):
        raise KeyboardInterrupt
    assert [value for value, _ in shared(squared, 1, range(3))] == [0, 1, 4]


def test_what_models_print_is_no_answer(worker):
    assert shared(printing, None, [1, 2, 3]) == [1, 2, 3]


def printing(_, task):
    os.write(1, b"loud\n")
    return task


@pytest.mark.parametrize(("limit", "when"), [(1, True), (2, False)])
def test_no_worker_is_started_where_none_may_help(limit, when):
    with at_most(limit), worker_processes(when=when):
        assert processes._WORKERS.get() == ()


def test_those_that_are_there_will_do(worker):
    with worker_processes():
        assert processes._WORKERS.get() == (worker,)


def test_workers_are_counted_where_they_may_help(worker):
    assert n_running_workers() == 1
    with worker_processes(when=False):
        assert n_running_workers() == 0


def test_none_is_left_at_the_end():
    with at_most(3), worker_processes():
        started = [each._process for each in processes._WORKERS.get()]
        assert all(each.is_alive() for each in started)
    assert not any(each.is_alive() for each in started)
    assert processes._WORKERS.get() == ()


def test_a_process_that_cannot_be_started_is_not_needed(monkeypatch):
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refused)
    with at_most(2), worker_processes():
        assert processes._WORKERS.get() == ()
        assert [value for value, _ in shared(squared, 1, range(3))] == [0, 1, 4]


def refused(_):
    raise OSError("no more processes")


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    (tmp_path / "script.py").write_text(
        "print('run')\n"
        "from suffice.core.threads import at_most\n"
        "from suffice.selection.processes import computed_ahead, worker_processes\n"
        "with at_most(2), worker_processes(), computed_ahead(divmod, 7, [1, 2]) as result_of:\n"
        "    print(result_of(2))\n"
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True)
    assert done.stdout.splitlines()[0] == b"run"
    assert done.stdout.count(b"run") == 1
    assert done.stderr == b""
