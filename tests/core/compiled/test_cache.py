"""Compiled code is kept where it can be, does without where it cannot, and survives damage."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's"),
]

# one small compiled function and the question what it computes
ASK = (
    "import warnings; warnings.simplefilter('always')\n"
    "import numpy as np\n"
    "from suffice.core.compiled import njit\n"
    "import function\n"
    "print(function.twice(np.arange(3.0)).sum())"
)
FUNCTION = (
    "from suffice.core.compiled import njit\n"
    "@njit(nogil=True)\ndef twice(x):\n    return 2 * x\n"
)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "image"
    folder.mkdir()
    (folder / "function.py").write_text(FUNCTION)
    return folder


def asked(folder, **variables):
    """Run the compiled function in a separate process."""
    known = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
    }
    return subprocess.run(
        [sys.executable, "-c", ASK],
        env={**known, **variables},
        capture_output=True,
        text=True,
        timeout=100,
    )


def unwritable(folder):
    """Return a place where Numba can keep nothing: files stand where folders would."""
    (folder / "__pycache__").write_text("no folder")
    (folder / "home").write_text("no folder")
    return {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home" / "cache")}


def test_without_a_place_of_its_own_the_cache_is_private_and_said(place, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = asked(place, **unwritable(place), TMPDIR=str(temporary))
    assert done.stdout.strip() == "6.0", done.stderr
    assert done.stderr.count("compiled code") == 1
    (private,) = temporary.iterdir()
    assert private.stat().st_mode & 0o077 == 0
    assert list(private.rglob("*.nbi"))


def test_a_private_cache_that_others_could_write_is_not_used(place, tmp_path):
    temporary = tmp_path / "tmp"
    planted = temporary / f"suffice-{os.getuid()}"
    planted.mkdir(parents=True)
    planted.chmod(0o777)
    done = asked(place, **unwritable(place), TMPDIR=str(temporary))
    assert done.stdout.strip() == "6.0", done.stderr
    assert not list(planted.iterdir())


def test_a_truncated_cache_is_compiled_again(place, tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    assert asked(place, **cache).stdout.strip() == "6.0"
    for ending, size in product(["nbi", "nbc"], [0, 20]):  # each begins with a whole cache
        found = list(Path(cache["NUMBA_CACHE_DIR"]).rglob(f"*.{ending}"))
        assert found
        for path in found:
            path.write_bytes(path.read_bytes()[:size])
        done = asked(place, **cache)
        assert done.stdout.strip() == "6.0", done.stderr
        assert all(path.stat().st_size > 20 for path in found)


def test_damaged_machine_code_is_not_run(place, tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    assert asked(place, **cache).stdout.strip() == "6.0"
    (path,) = Path(cache["NUMBA_CACHE_DIR"]).rglob("*.nbc")
    damaged = bytearray(path.read_bytes())
    start = damaged.index(b"\x7fELF") + 64  # behind the header of the object file
    for at in range(start, start + 400):
        damaged[at] ^= 1
    path.write_bytes(damaged)
    done = asked(place, **cache)
    assert (done.returncode, done.stdout.strip()) == (0, "6.0"), done.stderr
    assert path.read_bytes() != damaged


def test_a_cache_without_room_is_no_error(place, tmp_path):
    import resource

    known = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(place), *sys.path]),
    }
    known |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", ASK],
        env=known,
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert done.stdout.strip() == "6.0", done.stderr
