"""Feed damaged and forged input to every reader: ``python -m benchmarks fuzz --help``.

A target makes one input, gives it to a reader and returns whether it was accepted. An input is a
fault if the reader raises anything but an error of ours, or accepts what does not come back.

An input follows from the seed and its number. The same two numbers repeat it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.fuzzing.delimited import delimited_rows
from benchmarks.fuzzing.files import model_file, moments_file, store_manifest
from benchmarks.timing import machine

INPUTS = 100_000
BATCH = 250  # inputs that a process takes at once
SHOWN = 5  # faults of a target whose traceback is printed
Target = Callable[[np.random.Generator, Path], bool]

TARGETS: Mapping[str, Target] = {
    "delimited-rows": delimited_rows,
    "moments-file": moments_file,
    "model-file": model_file,
    "store-manifest": store_manifest,
}


@dataclass
class Result:
    """How often the inputs of one target were refused, accepted and faults."""

    outcomes: Counter[str] = field(default_factory=Counter)
    processor_seconds: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)  # processor seconds and the number of the input
    faults: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.outcomes += other.outcomes
        self.processor_seconds += other.processor_seconds
        self.slowest = max(self.slowest, other.slowest)
        self.faults += other.faults

    def line(self, name: str) -> str:
        counts = self.outcomes
        n_inputs = counts.total()
        speed = n_inputs / max(self.processor_seconds, 1e-9)
        seconds, number = self.slowest
        return (
            f"{name}: {n_inputs:,} inputs, {counts['fault']:,} faults, "
            f"{counts['refused']:,} refused, {counts['accepted']:,} accepted; "
            f"{self.processor_seconds:,.0f} processor s, {speed:.0f} inputs a processor s, "
            f"slowest input {number} with {seconds:.2f} processor s"
        )


@dataclass(frozen=True)
class Batch:
    """Inputs of one target with consecutive numbers."""

    target: str
    seed: int
    numbers: range
    keep: Path | None  # folder for the files of faults


def main(arguments: list[str]) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    names = options.targets or list(TARGETS)
    unknown = sorted(set(names) - set(TARGETS))
    if unknown:
        parser.error(f"no target {unknown[0]!r}: choose from {', '.join(TARGETS)}")
    print(f"# fuzz ({machine()}), seed {options.seed}", flush=True)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    n_faults = 0
    for name in names:
        result = fuzzed(
            name, options.inputs, options.seed, options.first, options.keep, options.jobs
        )
        for fault in result.faults[:SHOWN]:
            print(fault)
        print(result.line(name), flush=True)
        n_faults += result.outcomes["fault"]
    if n_faults:
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks fuzz",
        description="Feed damaged and forged input to every reader. One line is printed for each "
        "target. The exit status is 1 if there is a fault: an exception that is no error of "
        "suffice, or an accepted input whose rows do not come back.",
    )
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help=f"{', '.join(TARGETS)} (default: all)",
    )
    parser.add_argument(
        "--inputs", type=int, default=INPUTS, metavar="N", help="inputs of each target"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all inputs")
    parser.add_argument(
        "--first", type=int, default=0, metavar="I", help="number of the first input"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="write the files and the traceback of each fault to FOLDER/TARGET-NUMBER",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="J", help="processes that work at once"
    )
    return parser


def fuzzed(
    name: str,
    n_inputs: int,
    seed: int = 0,
    first: int = 0,
    keep: Path | None = None,
    n_jobs: int = 1,
) -> Result:
    """Give a target its inputs, and return what became of them."""
    stop = first + n_inputs
    batches = [
        Batch(name, seed, range(start, min(start + BATCH, stop)), keep)
        for start in range(first, stop, BATCH)
    ]
    total = Result()
    if n_jobs == 1:
        for batch in batches:
            total.add(_of_batch(batch))
        return total
    for library in ("POLARS_MAX", "OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM"):
        os.environ[f"{library}_THREADS"] = "1"  # for the processes that start below
    with ProcessPoolExecutor(n_jobs, get_context("spawn")) as pool:
        for result in pool.map(_of_batch, batches):
            total.add(result)
    return total


def _of_batch(batch: Batch) -> Result:
    result = Result()
    shared_memory = Path("/dev/shm")
    place = shared_memory if shared_memory.is_dir() else None
    target = TARGETS[batch.target]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=place) as name:
        warnings.simplefilter("ignore")
        for number in batch.numbers:
            folder = Path(name) / str(number)
            folder.mkdir()
            rng = np.random.default_rng([batch.seed, number, len(batch.target)])
            start = time.process_time()
            try:
                outcome = "accepted" if target(rng, folder) else "refused"
            except KeyboardInterrupt:
                raise
            except BaseException:  # panics of Polars are no Exception
                outcome = "fault"
                result.faults.append(_fault(batch, number, folder))
            seconds = time.process_time() - start
            result.outcomes[outcome] += 1
            result.processor_seconds += seconds
            result.slowest = max(result.slowest, (seconds, number))
            shutil.rmtree(folder)
    return result


def _fault(batch: Batch, number: int, folder: Path) -> str:
    """Return the traceback of a fault, and keep its files."""
    text = (
        f"{batch.target} {number} (--seed {batch.seed} --first {number} --inputs 1):\n"
        f"{traceback.format_exc(limit=-3)}"
    )
    if batch.keep is not None:
        kept = batch.keep / f"{batch.target}-{number}"
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        (kept / "traceback.txt").write_text(traceback.format_exc())
    return text
