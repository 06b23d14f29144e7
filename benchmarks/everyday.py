"""Tables as people hold them: text labels, missing cells, categories, files, many classes.

``python -m benchmarks everyday [--only WORD ...] [--rows N] [--one-core] [--data FOLDER]``: each
row of the table is one task. Ours, scikit-learn's default, its fastest solver and a floor take
turns; the floor is the same task on plain numbers, or the matrix product or the reading that the
task needs. ``--rows`` scales all tables. ``--one-core`` counts processor seconds, which a busy
machine changes less. ``--data`` keeps the files that are read, for later runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy.linalg.blas import dsyrk
from sklearn import discriminant_analysis as sk
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

import suffice as sf
from benchmarks.shapes import SHAPES, rows
from benchmarks.timing import best_of, machine, table

Call = Callable[[], Any]
# largest ratios of LDA and of QDA to ``syrk``, for each of SHAPES
GOALS_OF_FITS = (("1.39", "1.33"), ("0.58", "0.59"), ("1.12", "1.20"), ("1.01", "1.33"))
NAMES = np.array(["setosa", "versicolor", "virginica"])


@dataclass(frozen=True)
class Task:
    """One task: our way, scikit-learn's ways, and the floor."""

    name: str
    ours: Call
    floor_name: str
    floor: Call
    goal: str  # largest ratio of ours to the floor, or seconds
    default: Call | None = None  # scikit-learn's default solver
    fastest: Call | None = None  # its fastest solver that answers the same question


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks everyday")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names of tasks")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the tall tables")
    parser.add_argument("--one-core", action="store_true", help="processor seconds of a core")
    parser.add_argument("--data", type=Path, help="folder for the files that are read")
    options = parser.parse_args(arguments)
    clock = time.process_time if options.one_core else time.perf_counter
    if options.one_core:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        threadpool_limits(limits=1)  # more threads of BLAS would wait for each other
    print(f"# everyday ({machine()}), {clock.__name__}\n")
    measured = []
    for tasks in (
        labels,
        missing,
        categories,
        files_in(options.data),
        fits,
        posteriors,
        left_out,
    ):
        for task in tasks(options.rows):
            if any(word in task.name for word in options.only):
                measured.append(_measured(task, clock))
                _report(measured[-1])
    for name, (seconds, goal) in SINGLE.items():
        if any(word in name for word in options.only):
            measured.append({"task": name, "ours, s": seconds(), "goal": goal})
            _report(measured[-1])
    print(table(measured) if measured else "no task has such a name")


def _report(row: dict[str, Any]) -> None:
    """Print one row to standard error, as soon as it is measured."""
    print(table([row]).splitlines()[-1], file=sys.stderr, flush=True)


def _measured(task: Task, clock: Callable[[], float]) -> dict[str, Any]:
    calls = {"ours": task.ours, "floor": task.floor}
    if task.default is not None:
        calls["default"] = task.default
    if task.fastest is not None:
        calls["fastest"] = task.fastest
    seconds = best_of(calls, limit=8, clock=clock)
    ours = seconds["ours"]
    row: dict[str, Any] = {"task": task.name, "ours, s": ours}
    for name in ("default", "fastest"):
        has_peer = name in seconds
        row[f"scikit-learn, {name}"] = f"{seconds[name] / ours:.2g} ×" if has_peer else ""
    row["floor"] = f"{task.floor_name}, {seconds['floor']:.2g} s"
    row["× floor"] = round(ours / seconds["floor"], 2)
    row["goal"] = task.goal
    return row


def labels(n: int) -> Iterator[Task]:
    """Yield fits with text labels; the floor is the fit with integer labels."""
    x, y = rows(n, 10, 3)
    text = NAMES[y]
    forms = {
        "pandas objects, as read_csv shares them": pd.Series(
            NAMES.astype(object)[y], dtype=object
        ),
        "pandas objects, one for each row": pd.Series(text.astype(object), dtype=object),
        "pandas str": pd.Series(text, dtype="str"),
        "pandas categories": pd.Series(text).astype("category"),
        "NumPy text": text,
    }
    for name, series in forms.items():
        yield Task(
            name=f"LDA, {n:,} × 10, text labels: {name}",
            ours=lambda series=series: sf.LDA().fit(x, series),
            floor_name="integer labels",
            floor=lambda: sf.LDA().fit(x, y),
            goal="1.5",
            default=lambda series=series: sk.LinearDiscriminantAnalysis().fit(x, series),
            fastest=lambda series=series: _lsqr().fit(x, series),
        )


def missing(n: int) -> Iterator[Task]:
    """Yield fits and predictions with missing cells; the floor is the complete table."""
    x, y = rows(n, 10, 3)
    rng = np.random.default_rng(1)
    few = np.where(rng.random(x.shape) < 0.05, np.nan, x)
    many = np.where(rng.random(x.shape) < 0.1, np.nan, x)
    yield Task(
        name=f"LDA, {n:,} × 10, 5 % of cells missing",
        ours=lambda: sf.LDA().fit(few, y),
        floor_name="complete rows",
        floor=lambda: sf.LDA().fit(x, y),
        goal="2",
        default=lambda: make_pipeline(SimpleImputer(), sk.LinearDiscriminantAnalysis()).fit(
            few, y
        ),
        fastest=lambda: make_pipeline(SimpleImputer(), _lsqr()).fit(few, y),
    )
    peers = {"LDA": _lsqr(), "QDA": sk.QuadraticDiscriminantAnalysis(solver="eigen")}
    for name, peer in peers.items():
        ours = getattr(sf, name)().fit(x, y)
        imputed = make_pipeline(SimpleImputer(), peer).fit(few, y)
        yield Task(
            name=f"{name} posteriors, {n:,} × 10, 10 % of cells missing",
            ours=lambda ours=ours: ours.predict_proba(many),
            floor_name="complete rows",
            floor=lambda ours=ours: ours.predict_proba(x),
            goal="5",
            fastest=lambda imputed=imputed: imputed.predict_proba(many),
        )


def categories(n: int) -> Iterator[Task]:
    """Yield a fit of numbers and categories; the floor is the fit of the numbers alone."""
    x, y = rows(n, 10, 3)
    rng = np.random.default_rng(2)
    levels = np.array(list("abcdefgh"))
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    for j in range(10):
        frame[f"c{j}"] = pd.Categorical(levels[rng.integers(0, 8, n)], categories=levels)
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), [f"c{j}" for j in range(10)]),
        remainder="passthrough",
    )
    yield Task(
        name=f"LDA, {n:,} rows of 10 numbers and 10 categories of 8 levels",
        ours=lambda: sf.LDA().fit(frame, y),
        floor_name="the numbers alone",
        floor=lambda: sf.LDA().fit(x, y),
        goal="3",
        fastest=lambda: make_pipeline(encoder, _lsqr()).fit(frame, y),
    )


def files_in(folder: Path | None) -> Callable[[int], Iterator[Task]]:
    """Return the function that yields the sums of files in a folder, or in a temporary one."""

    def tasks(n: int) -> Iterator[Task]:
        if folder is not None:
            yield from files(4 * n, folder)
            return
        with tempfile.TemporaryDirectory() as temporary:
            yield from files(4 * n, Path(temporary))

    return tasks


def files(n: int, folder: Path) -> Iterator[Task]:
    """Yield sums of files; the floor is polars, which reads the same columns and does no more."""
    parquet = folder / f"{n}.parquet"
    csv = folder / f"{n}.csv"
    if not (parquet.exists() and csv.exists()):
        x, y = rows(n, 30, 3)
        columns = {f"f{j}": x[:, j].astype(np.float32) for j in range(30)}
        frame = pl.DataFrame(columns | {"label": NAMES[y]})
        frame.write_parquet(parquet, row_group_size=100_000)
        frame.write_csv(csv, float_precision=6)
    for path, read in ((parquet, pl.read_parquet), (csv, pl.read_csv)):
        yield Task(
            name=f"`summarize` of a {path.suffix[1:]} file, {n:,} × 30 float32",
            ours=lambda path=path: sf.summarize(path, "label"),
            floor_name=f"`polars.{read.__name__}`",
            floor=lambda path=path, read=read: read(path),
            goal="1.4",
        )


def fits(n: int) -> Iterator[Task]:
    """Yield fits of numbers; the floor is BLAS's product XᵀX."""
    eigen = {"LDA": _lsqr, "QDA": lambda: sk.QuadraticDiscriminantAnalysis(solver="eigen")}
    default = {
        "LDA": sk.LinearDiscriminantAnalysis,
        "QDA": sk.QuadraticDiscriminantAnalysis,
    }
    for (n_rows, d, k), goals in zip(SHAPES, GOALS_OF_FITS, strict=True):
        x, y = rows(n_rows * n // 1_000_000, d, k)
        for name, goal in zip(("LDA", "QDA"), goals, strict=True):
            yield Task(
                name=f"{name}, {len(x):,} × {d}, {k} classes",
                ours=lambda name=name, x=x, y=y: getattr(sf, name)().fit(x, y),
                floor_name="`syrk`",
                floor=lambda x=x: dsyrk(1.0, x.T, lower=1),
                goal=goal,
                default=lambda name=name, x=x, y=y: default[name]().fit(x, y),
                fastest=lambda name=name, x=x, y=y: eigen[name]().fit(x, y),
            )


def posteriors(n: int) -> Iterator[Task]:
    """Yield posteriors; the floor is the product that they need, and its softmax's exponentials."""
    x, y = rows(n // 5, 20, 100)
    lda = sf.LDA().fit(x, y)
    weights = np.ascontiguousarray(lda.coef_.T)
    peer = _lsqr().fit(x, y)
    yield Task(
        name=f"LDA posteriors, {len(x):,} × 20, 100 classes",
        ours=lambda: lda.predict_proba(x),
        floor_name="`gemm` and `exp`",
        floor=lambda: np.exp(x @ weights),
        goal="1.5",
        fastest=lambda: peer.predict_proba(x),
    )
    wide, labels_of_wide = rows(n // 20, 200, 10)
    qda = sf.QDA().fit(wide, labels_of_wide)
    factor = np.tril(np.random.default_rng(3).normal(size=(200, 200)))
    qda_peer = sk.QuadraticDiscriminantAnalysis(solver="eigen").fit(wide, labels_of_wide)
    yield Task(
        name=f"QDA posteriors, {len(wide):,} × 200, 10 classes",
        ours=lambda: qda.predict_proba(wide),
        floor_name="10 `gemm`",
        floor=lambda: [wide @ factor for _ in range(10)],
        goal="1.5",
        fastest=lambda: qda_peer.predict_proba(wide),
    )


def left_out(n: int) -> Iterator[Task]:
    """Yield a leave-one-out of many classes; the floor is the product of rows and means."""
    k = max(n // 1000, 2)
    x, y = rows(n // 50, 768, k)
    means = np.random.default_rng(4).normal(size=(768, k))
    yield Task(
        name=f"`leave_one_out` of LDA, {len(x):,} × 768, {k:,} classes",
        ours=lambda: sf.leave_one_out(sf.LDA(), x, y),
        floor_name="`gemm`",
        floor=lambda: x @ means,
        goal="30 s",
    )


def _lsqr() -> sk.LinearDiscriminantAnalysis:
    return sk.LinearDiscriminantAnalysis(solver="lsqr")


def _predict_start() -> float:
    """Return the least processor seconds of a process that predicts iris by the command.

    Its modules are compiled before, as those of an installed package are.
    """
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        model = f"{folder}/iris.suffice"
        suffice = [sys.executable, "-m", "suffice"]
        fit = [*suffice, "fit", "iris", "-m", "lda", "-o", model]
        subprocess.run(fit, capture_output=True, check=True, env=env)
        command = [*suffice, "predict", model, "iris"]
        seconds = []
        for _ in range(6):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, capture_output=True, check=True, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            user = after.ru_utime - before.ru_utime
            seconds.append(user + after.ru_stime - before.ru_stime)
        return min(seconds)


def _average_in_duckdb() -> float:
    """Return the processor seconds of DuckDB for the SQL of an average of many models."""
    import duckdb

    x, y = load_breast_cancer(return_X_y=True)
    frame = pl.DataFrame(x, schema=[f"f{j}" for j in range(x.shape[1])])
    query = sf.export.to_sql(sf.AutoClassifier().fit(frame, y), "cells")
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.register("rows", frame.to_arrow())
    database.execute("CREATE TABLE cells AS SELECT * FROM rows")
    seconds = []
    for _ in range(3):
        start = time.process_time()
        database.execute(query).fetchnumpy()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _first_use() -> float:
    """Return the processor seconds of a first large fit above those of a second one."""
    code = (
        "import time, numpy as np, suffice as sf\n"
        "r = np.random.default_rng(0)\n"
        "x, y = r.normal(size=(100_000, 10)), r.integers(0, 3, 100_000)\n"
        "spent = []\n"
        "for _ in range(2):\n"
        "    start = time.process_time()\n"
        "    sf.LDA().fit(x, y)\n"
        "    spent.append(time.process_time() - start)\n"
        "print(spent[0] - spent[1])\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout)


# tasks without a floor: processor seconds of one core, and the goal
SINGLE = {
    "first large fit, with the compilation of its loops": (_first_use, ""),
    "DuckDB, the SQL of an `AutoClassifier` of 569 × 30": (_average_in_duckdb, "2 s"),
    "`suffice predict` of iris, from start to answer": (_predict_start, "0.30 s"),
}
