"""After ``suffice warm-up`` everyday commands compile nothing."""

import os
import subprocess
import sys
from pathlib import Path

SUFFICE = [sys.executable, "-m", "suffice"]


def test_commands_after_a_warm_up_compile_nothing(tmp_path):
    cache = tmp_path / "cache"
    known = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}

    def run(*args):
        done = subprocess.run(
            [*SUFFICE, *args], cwd=tmp_path, env=known, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return {path: path.stat().st_mtime_ns for path in Path(cache).rglob("*.nb?")}

    run("datasets", "iris", "-o", "iris.csv")
    lines = (tmp_path / "iris.csv").read_text().splitlines()
    (tmp_path / "many.csv").write_text("\n".join([lines[0], *lines[1:] * 200]) + "\n")
    warm = run("warm-up")
    assert len(warm) > 20
    run("summarize", "many.csv", "-t", "species", "-o", "m.moments")
    for model in ("lda", "qda", "nb", "logistic"):
        run("fit", "many.csv", "-t", "species", "-m", model, "-o", f"{model}.suffice")
        assert run("predict", f"{model}.suffice", "many.csv", "-o", "out.csv") == warm
