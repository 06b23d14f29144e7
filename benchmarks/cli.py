"""The command line: ``suffice predict`` against reading and writing the same file, and ``--help``.

Each case is a process of its own, so that starting Python and its imports counts on both sides.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import suffice as sf
from benchmarks.timing import best_of, machine, table

N, D, K = 1_000_000, 20, 3
MODELS = {"LDA": sf.LDA, "QDA": sf.QDA, "GaussianNB": sf.GaussianNB}
COPY = {
    "csv": "import polars as pl; pl.scan_csv({path!r}).sink_csv({out!r})",
    "parquet": "import polars as pl; pl.scan_parquet({path!r}).sink_parquet({out!r})",
}


def main(arguments: list[str]) -> None:
    n = int(float(arguments[0])) if arguments else N
    print(f"# suffice predict, {n:.0e} rows of {D} columns ({machine()})\n")
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), n)
        rows = [row for ending in COPY for row in _rows(Path(folder), ending, n)]
    print(table(rows), "\n")
    print(table([_help()]))


def _write(folder: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, K, n)
    x = (rng.normal(size=(n, D)) + label[:, None] * 0.5).round(6)
    names = [f"x{j}" for j in range(D)]
    frame = pl.DataFrame(x, schema=names)
    frame.write_csv(folder / "in.csv")
    frame.write_parquet(folder / "in.parquet")
    few = slice(0, 50_000)
    for name, cls in MODELS.items():
        model = cls().fit(frame[few], np.array(["a", "b", "c"])[label[few]])
        model.save(folder / f"{name}.suffice")


def _rows(folder: Path, ending: str, n: int) -> list[dict]:
    path, out = str(folder / f"in.{ending}"), str(folder / f"out.{ending}")
    copy = [sys.executable, "-c", COPY[ending].format(path=path, out=out)]
    cases = {"copy": lambda: _run(copy)}
    for name in MODELS:
        command = [sys.executable, "-m", "suffice", "predict", str(folder / f"{name}.suffice")]
        cases[name] = lambda c=command: _run([*c, path, "-o", out, "--quiet"])
    seconds = best_of(cases, rounds=4)
    return [
        {
            "file": ending,
            "model": name,
            "predict s": seconds[name],
            "rows/s": f"{n / seconds[name]:,.0f}",
            "read and write s": seconds["copy"],
            "speed / copy": round(seconds["copy"] / seconds[name], 2),
        }
        for name in MODELS
    ]


def _help() -> dict:
    command = [sys.executable, "-m", "suffice", "--help"]
    seconds = best_of({"help": lambda: _run(command)}, rounds=10)
    return {"suffice --help ms": round(1000 * seconds["help"])}


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
