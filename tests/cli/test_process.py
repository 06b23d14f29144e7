"""The program as a process of its own: pipes, Ctrl-C, a full disk, exit codes."""

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import suffice as sf
from suffice import datasets

SUFFICE = [sys.executable, "-m", "suffice"]
IRIS = datasets.load("iris").path.read_bytes()
HEADER, ROWS = IRIS.split(b"\n", 1)
LIMIT = 60  # seconds; a test that waits longer has failed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX's"),
]


def run(folder, *args, stdin=None, **options):
    return subprocess.run(
        [*SUFFICE, *args],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=LIMIT,
        **options,
    )


@pytest.fixture
def model(tmp_path):
    sf.LDA().fit_moments(sf.summarize("iris")).save(tmp_path / "iris.suffice")
    return "iris.suffice"


@contextlib.contextmanager
def started(folder, *args):
    """Start the program with a pipe as its standard input; it is gone at the end."""
    pipe = subprocess.PIPE
    program = subprocess.Popen(
        [*SUFFICE, *args], cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def interrupted(program, number=signal.SIGINT):
    """Press Ctrl-C, or send another signal; return the exit code and what was said."""
    program.send_signal(number)
    deadline = time.monotonic() + LIMIT
    while program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return program.poll(), program.stderr.read().decode()


def test_version_and_help_are_printed(tmp_path):
    assert (
        run(tmp_path, "--version").stdout.decode().strip()
        == f"suffice, version {sf.__version__}"
    )
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    assert b"suffice report iris" in done.stdout


def test_help_imports_neither_numpy_nor_any_command(tmp_path):
    code = (
        "import sys\nfrom suffice.cli.group import suffice\n"
        "suffice(['--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'polars', 'sklearn', 'rich', 'suffice.cli.fit'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr


def test_predict_of_a_gaussian_model_does_without_scikit_learn(tmp_path, model):
    code = (
        "import sys\nfrom suffice.cli.group import suffice\n"
        f"suffice(['predict', {model!r}, 'iris', '-o', 'out.csv'], standalone_mode=False)\n"
        "sys.exit('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=LIMIT)
    assert done.returncode == 0


def test_the_exit_code_tells_what_happened(tmp_path):
    assert run(tmp_path, "datasets").returncode == 0
    wrong = run(tmp_path, "fit", "nothing.csv", "-o", "m.suffice")
    assert wrong.returncode == 1
    assert wrong.stderr.decode() == "suffice: there is no file 'nothing.csv': check the path\n"
    assert run(tmp_path, "fit", "iris").returncode == 2
    assert run(tmp_path).returncode == 2


def test_programs_are_joined_by_pipes(tmp_path, model):
    rows = run(tmp_path, "sample", model, "-n", "2000", "--seed", "1").stdout
    done = run(tmp_path, "predict", model, "-", "-i", "label", stdin=rows)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 2001
    moments = run(tmp_path, "summarize", "-", "-o", "s.moments", stdin=rows)
    assert moments.returncode == 0, moments.stderr
    assert sf.load(tmp_path / "s.moments").counts.sum() == 2000


def test_a_reader_that_stops_early_is_no_error(tmp_path, model):
    with started(tmp_path, "sample", model, "-n", "300000") as program:
        assert program.stdout.readline().startswith(b"sepal_length")
        program.stdout.close()
        assert program.wait(LIMIT) == 141
        assert program.stderr.read() == b""


def test_a_closed_standard_output_is_no_error(tmp_path, model):
    command = shlex.join([*SUFFICE, "sample", str(model), "-n", "3"])
    done = subprocess.run(f"{command} >&-", shell=True, cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def feed(program, megabytes, until=lambda: False):
    """Write rows until that much has gone through the pipe: the program then is at work."""
    program.stdin.write(HEADER + b"\n")
    for _ in range(megabytes):
        program.stdin.write(ROWS * (1_000_000 // len(ROWS)))
        if until():
            break
    program.stdin.flush()


def feed_until_answers(program, folder):
    """Write rows until answers are being written."""
    feed(program, 40, until=lambda: any(p.stat().st_size for p in folder.glob(".out*.tmp")))
    assert list(folder.glob(".out*.tmp")), "the answers are not being written yet"


@pytest.mark.parametrize("old", [None, b"old"])
def test_ctrl_c_while_summing_leaves_the_old_file_or_none(tmp_path, old):
    out = tmp_path / "out.moments"
    if old is not None:
        out.write_bytes(old)
    before = sorted(tmp_path.iterdir())
    args = ("summarize", "-", "-t", "species", "-o", "out.moments", "--force")
    with started(tmp_path, *args) as program:
        feed(program, 20)
        code, said = interrupted(program)
    assert (code, said) == (130, "suffice: interrupted: no output was written\n")
    assert sorted(tmp_path.iterdir()) == before
    assert old is None or out.read_bytes() == old


@pytest.mark.parametrize(("old", "ending"), [(None, "csv"), (b"old", "parquet")])
def test_ctrl_c_while_predicting_leaves_the_old_file_or_none(tmp_path, model, old, ending):
    out = tmp_path / f"out.{ending}"
    if old is not None:
        out.write_bytes(old)
    before = sorted(tmp_path.iterdir())
    args = ("predict", model, "-", "-o", out.name, "--force")
    with started(tmp_path, *args) as program:
        feed_until_answers(program, tmp_path)
        code, said = interrupted(program)
    assert (code, said) == (130, "suffice: interrupted: no output was written\n")
    assert sorted(tmp_path.iterdir()) == before
    assert old is None or out.read_bytes() == old


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_program_that_is_told_to_stop_cleans_up(tmp_path, model, name):
    (tmp_path / "out.csv").write_bytes(b"old")
    before = sorted(tmp_path.iterdir())
    number = getattr(signal, name)
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(
            f"{name} is ignored here, under nohup for one, and so by what is started here"
        )
    args = ("predict", model, "-", "-o", "out.csv", "--force")
    with started(tmp_path, *args) as program:
        feed_until_answers(program, tmp_path)
        code, said = interrupted(program, number)
    assert (code, said) == (128 + number, "suffice: interrupted: no output was written\n")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "out.csv").read_bytes() == b"old"


def test_a_hangup_that_is_ignored_stays_ignored(tmp_path, model):
    nohup = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *SUFFICE]
    pipe = subprocess.PIPE
    args = [*nohup, "predict", model, "-", "-o", "out.csv"]
    with subprocess.Popen(args, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe) as program:
        feed(program, 1)
        program.send_signal(signal.SIGHUP)
        program.stdin.close()
        assert program.wait(LIMIT) == 0


def test_ctrl_c_while_the_command_is_imported(tmp_path):
    """Wherever it comes, it is the same exit code, and no traceback."""
    code = (
        "import os, signal, sys\n"
        "class Presses:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == MODULE: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Presses())\n"
        "sys.argv = ['suffice', 'fit', 'iris', '-o', 'm.suffice']\n"
        "from suffice.cli import main\n"
        "main()"
    )
    for module in ("suffice.cli.group", "click", "suffice.cli.fit", "numpy", "polars"):
        done = subprocess.run(
            [sys.executable, "-c", f"MODULE = {module!r}\n{code}"],
            cwd=tmp_path,
            capture_output=True,
            timeout=LIMIT,
        )
        said = done.stderr.decode()
        assert done.returncode == 130, (module, said)
        assert "Traceback" not in said
        assert said.startswith("suffice: interrupted")


def test_ctrl_c_while_answers_go_to_standard_output(tmp_path, model):
    with started(tmp_path, "sample", model, "-n", "100000000") as program:
        assert program.stdout.readline().startswith(b"sepal_length")
        code, said = interrupted(program)
    assert code == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_processes_that_help_a_report_end_with_it(tmp_path, number):
    alone = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    two = "import os; os.sched_getaffinity = lambda _: {0, 1}; from suffice.cli import main; main()"
    args = [sys.executable, "-c", two, "report", "iris", "-o", "page.html"]
    with subprocess.Popen(args, cwd=tmp_path, **alone) as program:
        deadline = time.monotonic() + LIMIT
        while _n_alive(program.pid) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        code, said = interrupted(program, number)
        while _n_alive(program.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert _n_alive(program.pid) == 0
    assert number == signal.SIGKILL or (code, "Traceback" in said) == (130, False)
    assert not list(tmp_path.iterdir())


def _n_alive(session):
    """Return how many processes of a session there are, but those that only wait to be reaped."""
    found = Path("/proc").glob("[0-9]*/stat")
    told = []
    for path in found:
        with contextlib.suppress(OSError):
            told.append(path.read_text().rpartition(") ")[2].split())
    return sum(int(words[3]) == session and words[0] != "Z" for words in told)


def small_files_only():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_disk_without_room_ends_the_program_with_one_line(tmp_path, model):
    (tmp_path / "out.csv").write_text("old")
    before = sorted(tmp_path.iterdir())
    # the compiled code is cached, so no command needs to write elsewhere
    args = ("predict", model, "iris", "-o", "out.csv", "-q", "--force")
    # Python would keep bytecode that is cut off
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = run(tmp_path, *args, preexec_fn=small_files_only, env=env)
    assert done.returncode == 1
    assert done.stderr.decode() == "suffice: out.csv: File too large\n"
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "out.csv").read_text() == "old"


@contextlib.contextmanager
def little_room():
    """Let this process, too, write files of 1000 bytes at most."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # none that is cut off
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        sys.dont_write_bytecode = kept


@pytest.mark.parametrize(
    "args",
    [
        ("predict", "iris.suffice", "iris", "-o", "out.parquet"),
        ("sample", "iris.suffice", "-n", "5000", "-o", "out.feather"),
        ("summarize", "iris", "-o", "out.moments"),
        ("fit", "iris", "-o", "out.suffice"),
        ("export", "iris.suffice", "-o", "out.json"),
    ],
    ids=" ".join,
)
def test_a_disk_without_room_leaves_the_old_file(tmp_path, model, args, refused):
    (tmp_path / args[-1]).write_text("old")
    before = sorted(tmp_path.iterdir())
    with little_room():
        said = refused(*args, "-q", "--force")
    assert f"{args[-1]}: File too large" in said
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / args[-1]).read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("args", [("sample", "iris.suffice"), ("datasets",)])
def test_standard_output_without_room_is_told_in_one_line(tmp_path, model, args):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*SUFFICE, *args], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, timeout=LIMIT
        )
    said = done.stderr.decode()
    assert done.returncode == 1, said
    assert "No space left on device" in said
    assert len(said.splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_device_is_written_to_and_never_replaced(tmp_path, model):
    done = run(tmp_path, "summarize", "iris", "-o", "/dev/full")
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert run(tmp_path, "export", model, "-o", "/dev/null").returncode == 0
    assert not os.path.isfile("/dev/full")
    assert not os.path.isfile("/dev/null")
