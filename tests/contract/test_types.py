"""Type checkers know the public surface: mypy finds each deliberate mistake, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

MISTAKES = Path(__file__).parent / "mistakes.txt"  # no test imports it


@pytest.mark.slow
def test_mypy_finds_every_deliberate_mistake(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "mistakes.py"
    program.write_text(MISTAKES.read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *("--config-file", str(Path(__file__).parents[2] / "pyproject.toml")),
            *(
                "--cache-dir",
                str(tmp_path / "cache"),
                "--follow-imports",
                "silent",
                str(program),
            ),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = {
        int(line.split(":")[1])
        for line in done.stdout.splitlines()
        if "mistakes.py" in line and "error" in line
    }
    source = MISTAKES.read_text(encoding="utf-8").splitlines()
    deliberate = {
        number
        for number, line in enumerate(source, 1)
        if line and not line.startswith(('"""', "import", "lda = "))
    }
    assert wrong == deliberate, done.stdout + done.stderr
