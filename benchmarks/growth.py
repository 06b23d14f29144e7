"""How time and memory grow with rows, features, classes, levels and files.

``python -m benchmarks growth [--only WORD ...] [--full]``: each size runs in a process of its own,
on one core, by processor seconds; memory is what the call needs beside its input. The exponent is
the slope of log seconds against log size over the three largest sizes; it should not be above
that of the mathematics. ``--full`` adds the largest sizes, which need hours or tens of gigabytes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.timing import machine, table

FITTED_SIZES = 3  # the small ones are mostly the fixed cost of a call


@dataclass(frozen=True)
class Growth:
    """One call, for several sizes n."""

    name: str
    setup: str  # makes the input and ``call``
    sizes: tuple[int, ...]
    full_sizes: tuple[int, ...]
    expected: str  # exponent of the mathematics


GROWTHS = (
    Growth(
        name="rows: summarize a stream of blocks of 10,000 × 10, 3 classes",
        setup=(
            "y = rng.integers(0, 3, 10_000)\n"
            "x = rng.normal(size=(10_000, 10))\n"
            "call = lambda: sf.summarize((x, y) for _ in range(n // 10_000))\n"
        ),
        sizes=(10_000, 100_000, 1_000_000, 10_000_000),
        full_sizes=(100_000_000,),
        expected="1",
    ),
    Growth(
        name="features: fit LDA, 8,192 rows, 2 classes",
        setup=(
            "y = rng.integers(0, 2, 8_192)\n"
            "x = rng.normal(size=(8_192, n))\n"
            "call = lambda: sf.LDA().fit(x, y)\n"
        ),
        sizes=(10, 64, 256, 512, 1024),
        full_sizes=(2048, 4096),
        expected="2, and 3 for the factor",
    ),
    Growth(
        name="classes: fit LDA, 100,000 × 20",
        setup=(
            "y = np.arange(100_000) % n\n"
            "x = rng.normal(size=(100_000, 20))\n"
            "call = lambda: sf.LDA().fit(x, y)\n"
        ),
        sizes=(2, 20, 200, 2_000, 20_000),
        full_sizes=(),
        expected="1",
    ),
    Growth(
        name="classes: LDA posteriors of 2,000 × 20",
        setup=(
            "y = np.arange(100_000) % n\n"
            "x = rng.normal(size=(100_000, 20))\n"
            "lda = sf.LDA().fit(x, y)\n"
            "call = lambda: lda.predict_proba(x[:2_000])\n"
        ),
        sizes=(2, 20, 200, 2_000, 20_000),
        full_sizes=(),
        expected="1",
    ),
    Growth(
        name="levels: fit GaussianNB, 100,000 rows of 2 categories, 3 classes",
        setup=(
            "import pandas as pd\n"
            "y = rng.integers(0, 3, 100_000)\n"
            "codes = rng.integers(0, n, (100_000, 2))\n"
            "names = np.array([f'level {i}' for i in range(n)])\n"
            "x = pd.DataFrame({f'c{j}': pd.Categorical.from_codes(codes[:, j], names) "
            "for j in range(2)})\n"
            "call = lambda: sf.GaussianNB().fit(x, y)\n"
        ),
        sizes=(2, 10, 100, 1_000, 10_000),
        full_sizes=(),
        expected="1",
    ),
    Growth(
        name="files: summarize Parquet files of 1,000 × 10",
        setup=(
            "import tempfile, polars as pl\n"
            "folder = tempfile.TemporaryDirectory()\n"
            "frame = pl.DataFrame(rng.normal(size=(1_000, 10)))\n"
            "frame = frame.with_columns(label=pl.Series(rng.integers(0, 3, 1_000)))\n"
            "paths = [f'{folder.name}/{i:05}.parquet' for i in range(n)]\n"
            "for path in paths:\n"
            "    frame.write_parquet(path)\n"
            "call = lambda: sf.summarize(paths, 'label')\n"
        ),
        sizes=(1, 10, 100, 1_000),
        full_sizes=(10_000,),
        expected="1",
    ),
)
# seconds are the least of three runs after a first one, which may compile
PROCESS = """
import sys, time
import numpy as np
import suffice as sf
from benchmarks.timing import forget_peak, peak_memory
n = {size}
rng = np.random.default_rng(0)
{setup}
def seconds():
    start = time.process_time()
    call()
    return time.process_time() - start
forget_peak()
before = peak_memory()
first = seconds()
megabytes = peak_memory() - before
print(first if first > 60 else min(seconds() for _ in range(3)), megabytes)
"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names of lines")
    parser.add_argument("--full", action="store_true", help="the largest sizes, too")
    options = parser.parse_args(arguments)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"# growth ({machine()}), processor seconds of one core\n")
    print("The first call also loads the compiled loops, whose libraries take about 160 MB.\n")
    for growth in GROWTHS:
        if any(word in growth.name for word in options.only):
            sizes = growth.sizes + (growth.full_sizes if options.full else ())
            print(f"{growth.name}\n\n{table(measured(growth, sizes))}\n", flush=True)


def measured(growth: Growth, sizes: tuple[int, ...]) -> list[dict[str, object]]:
    """Return seconds and megabytes by size, and the exponents in a last row."""
    seconds = []
    rows: list[dict[str, object]] = []
    for size in sizes:
        took, megabytes = cost(growth, size)
        seconds.append(took)
        rows.append({"size": f"{size:,}", "s": took, "MB beside the input": round(megabytes)})
    slope = exponent(sizes[-FITTED_SIZES:], seconds[-FITTED_SIZES:])
    rows.append(
        {
            "size": f"exponent {slope:.2f}; mathematics {growth.expected}",
            "s": "",
            "MB beside the input": "",
        }
    )
    return rows


def cost(growth: Growth, size: int) -> tuple[float, float]:
    """Return processor seconds and extra megabytes of a call, in a new process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROCESS.format(size=size, setup=growth.setup)],
        capture_output=True,
        text=True,
        check=True,
    )
    took, megabytes = done.stdout.split()[-2:]
    return float(took), float(megabytes)


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the slope of log seconds against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
