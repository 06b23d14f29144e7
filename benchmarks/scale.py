"""Data larger than memory: files and a Dask cluster against the reader alone.

``python -m benchmarks scale`` writes about 2.5 GB to a temporary folder; ``--quick`` a tenth.
"""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import suffice as sf
from benchmarks.timing import best_of, machine, table
from suffice.data.columns.roles import roles_for_learning
from suffice.data.opening import open_source
from suffice.data.options import SumSettings
from suffice.data.rows.loading import Loader, blocks_of, frames_of, rows_per_block
from suffice.data.sums.running import sums_of_frames

D, K, FILES = 30, 3, 16
ROW_GROUP = 100_000


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    n_rows = 800_000 if quick else 8_000_000
    refuse_little_room(n_rows)
    print(f"# scale ({machine()}): {n_rows:.0e} × {D} float64, {FILES} Parquet files\n")
    with tempfile.TemporaryDirectory(prefix="suffice-scale-") as name:
        folder = Path(name)
        parquet = write(folder, "parquet", n_rows, FILES)
        csv = write(folder, "csv", n_rows // 8, FILES // 4)
        for section in (
            lambda: [reading("Parquet", parquet), reading("CSV", csv)],
            lambda: memory(parquet, csv),
            lambda: repeating(parquet),
            threads,
            lambda: cluster(parquet, quick=quick),
            costs,
        ):
            print(table(section()), "\n", flush=True)


def refuse_little_room(n_rows: int) -> None:
    needed = n_rows * D * 8 * 1.5
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 2 * needed:
        sys.exit(
            f"needs {2 * needed / 1e9:.0f} GB in {tempfile.gettempdir()}, free {free / 1e9:.0f}"
        )


def write(folder: Path, ending: str, n_rows: int, n_files: int) -> list[str]:
    paths = []
    for at in range(n_files):
        path = folder / f"part{at:03}.{ending}"
        x, y = rows(n_rows // n_files, D, seed=at)
        frame = pl.DataFrame({f"f{j}": x[:, j] for j in range(D)} | {"label": y})
        if ending == "csv":
            frame.write_csv(path, float_precision=6)
        else:
            frame.write_parquet(path, row_group_size=ROW_GROUP)
        paths.append(str(path))
    return paths


def rows(n: int, d: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    x = np.asfortranarray(rng.normal(size=(n, d)) + codes[:, None])
    return x, np.array([f"class {k}" for k in range(K)])[codes]


def read_arrays(paths: list[str]) -> None:
    """Read the same batches into the same blocks of numbers, and sum nothing."""
    source = open_source(paths)
    roles = roles_for_learning(source, "label")
    n_rows = rows_per_block(D)
    loader = Loader(roles, n_rows, source.label)
    for pieces in blocks_of(frames_of(source, roles), n_rows):
        loader.numbers(pieces)


def reading(name: str, paths: list[str]) -> dict:
    """Compare summing with merely reading."""
    n_bytes = sum(Path(path).stat().st_size for path in paths)
    seconds = best_of(
        {
            "read": lambda: read_arrays(paths),
            "summarize": lambda: sf.summarize(paths, "label"),
        },
        rounds=5,
    )
    return {
        "files": name,
        "GB": n_bytes / 1e9,
        "read s": seconds["read"],
        "summarize s": seconds["summarize"],
        "GB/s": n_bytes / 1e9 / seconds["summarize"],
        "speed of reading": f"{seconds['read'] / seconds['summarize']:.0%}",
        "goal": "≥ 70%",
    }


def peak(paths: list[str]) -> float:
    """Return the peak memory in MB of a process that sums some files."""
    code = (
        "import json, sys, suffice as sf\n"
        "from benchmarks.timing import peak_memory\n"
        "sf.summarize(json.loads(sys.argv[1]), 'label')\n"
        "print(peak_memory())\n"
    )
    command = [sys.executable, "-c", code, json.dumps(paths)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def memory(parquet: list[str], csv: list[str]) -> list[dict]:
    """Tell peak memory of a quarter of the files, of all, and of all four times over."""
    return [
        {
            "peak memory of a process, MB": name,
            "a quarter": peak(paths[: len(paths) // 4]),
            "all": peak(paths),
            "all, four times": peak(paths * 4),
            "goal": "< 500, flat",
        }
        for name, paths in (("Parquet", parquet), ("CSV", csv))
    ]


def repeating(paths: list[str]) -> list[dict]:
    """Tell how time grows with the same files read once, twice and four times."""
    times = (1, 2, 4)
    seconds = best_of(
        {str(n): lambda n=n: sf.summarize(paths * n, "label") for n in times}, rounds=2
    )
    size = sum(Path(path).stat().st_size for path in paths) / 1e9
    slope, start = np.polyfit([size * n for n in times], [seconds[str(n)] for n in times], 1)
    line = f"{slope:.3f} s/GB + {start:.2f} s"
    return [
        {
            "GB": size * n,
            "s": seconds[str(n)],
            "s/GB": seconds[str(n)] / size / n,
            "line": line,
        }
        for n in times
    ]


def threads() -> list[dict]:
    """Compare one thread with two on rows in memory, where nothing is read."""
    result = []
    for d in (30, 100):
        x, y = rows(20_000_000 // d, d)
        frame = pl.DataFrame({f"f{j}": x[:, j] for j in range(d)} | {"label": y})

        def summed(n: int, frame=frame):
            return sf.summarize(frame, "label", n_jobs=n)

        seconds = best_of({"1": lambda f=summed: f(1), "2": lambda f=summed: f(2)})
        gain = seconds["1"] / seconds["2"]
        result.append(
            {"rows in memory, d": d, "1 thread s": seconds["1"], "2 threads s": seconds["2"]}
            | {"times faster": gain, "goal": "≥ 1.6"}
        )
    return result


def cluster(paths: list[str], *, quick: bool) -> list[dict]:
    """Compare two Dask worker processes with one process, by the number of tasks."""
    from distributed import Client, LocalCluster

    import suffice.data.cluster.dask as tasks

    n_rows = sf.summarize(paths, "label").counts.sum()
    result = []
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as local,
        Client(local) as client,
    ):
        for n_tasks in (16,) if quick else (16, 32, 80):
            tasks.NUMBERS = int(D * -(-n_rows // n_tasks))
            seconds = best_of(
                {
                    "process": lambda: sf.summarize(paths, "label"),
                    "cluster": lambda: sf.summarize(paths, "label", on=client),
                },
                rounds=3,
            )
            result.append(
                {"tasks": n_tasks, "in process s": seconds["process"]}
                | {"2 workers s": seconds["cluster"]}
                | {"relative speed": seconds["process"] / seconds["cluster"], "goal": "≥ 0.8"}
            )
    return result


def costs() -> list[dict]:
    """Measure what the cost model of docs/scale.md rests on, one process, one thread."""
    result = []
    for d in (10, 30, 100):
        x, y = rows(6_000_000 // d, d)
        frame = pl.DataFrame({f"f{j}": x[:, j] for j in range(d)} | {"label": y})
        source = open_source(frame)
        roles = roles_for_learning(source, "label")
        settings = SumSettings(fourth=False, n_jobs=1)
        part = sums_of_frames(frames_of(source, roles), roles, settings, source.label)
        seconds = best_of(
            {
                "rows": lambda f=frame: sf.summarize(f, "label", n_jobs=1),
                "merge": lambda p=part: p + p,
            }
        )
        per_row = seconds["rows"] / len(x)
        result.append(
            {
                "d": d,
                "ns a row": 1e9 * per_row,
                "GFLOP/s": d * (d + 1) / per_row / 1e9,
                "bytes of a part": len(pickle.dumps(part)),
                "8 K (d² + 2 d)": 8 * K * (d * d + 2 * d),
                "ms a merge": 1e3 * seconds["merge"],
            }
        )
    return result
