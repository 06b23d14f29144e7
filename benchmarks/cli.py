"""The command line: ``suffice predict`` against reading and writing the same file, and ``--help``.

Each case is a process of its own, so that starting Python and its imports counts on both sides. It
is also shown without: seconds less those of the same command on ten rows. Processor seconds are
shown as well, because they do not depend on what else the machine does.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import suffice as sf
from benchmarks.timing import machine, table

N, D, K = 1_000_000, 20, 3
MODELS = {"LDA": sf.LDA, "QDA": sf.QDA, "GaussianNB": sf.GaussianNB}
COPY = {
    "csv": "import polars as pl; pl.scan_csv({path!r}).sink_csv({out!r})",
    "parquet": "import polars as pl; pl.scan_parquet({path!r}).sink_parquet({out!r})",
}
ROUNDS = 3


def main(arguments: list[str]) -> None:
    n = int(float(arguments[0])) if arguments else N
    print(f"# suffice predict, {n:.0e} rows of {D} columns ({machine()})\n")
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), n)
        rows = [row for ending in COPY for row in _rows(Path(folder), ending, n)]
    print(table(rows), "\n")
    seconds, _ = _best([[sys.executable, "-m", "suffice", "--help"]], 3 * ROUNDS)[0]
    print(table([{"suffice --help ms": round(1000 * seconds)}]))


def _write(folder: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, K, n)
    x = (rng.normal(size=(n, D)) + label[:, None] * 0.5).round(6)
    frame = pl.DataFrame(x, schema=[f"x{j}" for j in range(D)])
    for name, part in (("rows", frame), ("few", frame[:10])):
        part.write_csv(folder / f"{name}.csv")
        part.write_parquet(folder / f"{name}.parquet")
    few = slice(0, 50_000)
    for name, cls in MODELS.items():
        model = cls().fit(frame[few], np.array(["a", "b", "c"])[label[few]])
        model.save(folder / f"{name}.suffice")


def _rows(folder: Path, ending: str, n: int) -> list[dict]:
    out = str(folder / f"out.{ending}")
    commands = []
    for name in ("rows", "few"):
        path = str(folder / f"{name}.{ending}")
        commands.append([sys.executable, "-c", COPY[ending].format(path=path, out=out)])
        for model in MODELS:
            start = [
                sys.executable,
                "-m",
                "suffice",
                "predict",
                str(folder / f"{model}.suffice"),
            ]
            commands.append([*start, path, "-o", out, "--quiet"])
    (copy, *models), (copy_start, *starts) = _halves(_best(commands, ROUNDS))
    return [
        {
            "file": ending,
            "model": name,
            "predict s": whole[0],
            "of it start s": start[0],
            "rows/s": f"{n / (whole[0] - start[0]):,.0f}",
            "copy s": copy[0],
            "speed / copy, whole": round(copy[0] / whole[0], 2),
            "speed / copy, without start": _ratio(copy, copy_start, whole, start, 0),
            "of processor": _ratio(copy, copy_start, whole, start, 1),
        }
        for name, whole, start in zip(MODELS, models, starts, strict=True)
    ]


def _ratio(copy, copy_start, whole, start, which: int) -> float:
    return round((copy[which] - copy_start[which]) / (whole[which] - start[which]), 2)


def _halves(values: list) -> tuple[list, list]:
    return values[: len(values) // 2], values[len(values) // 2 :]


def _best(commands: list[list[str]], rounds: int) -> list[tuple[float, float]]:
    """Return the least wall-clock and processor seconds of each command, which take turns."""
    best = [(float("inf"), float("inf"))] * len(commands)
    for turn in range(-1, rounds):
        for at, command in enumerate(commands):
            took = _run(command)
            if turn >= 0:
                best[at] = (min(best[at][0], took[0]), min(best[at][1], took[1]))
    return best


def _run(command: list[str]) -> tuple[float, float]:
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, processor
