"""Fewer rows than features: our fits beside scikit-learn's and one Gram matrix of the rows.

``python -m benchmarks wide [FOLDER] [--only 63x2308]``: ``FOLDER`` holds ``khan_train.csv``, gene
expressions of 63 rows with the class in the last column; without it, rows of the same size are
generated. All fits have one core and take turns; the best processor time counts. Memory is the
peak of one fit in a process of its own, as a multiple of the rows.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from threadpoolctl import threadpool_limits

import suffice as sf
from benchmarks.shapes import rows
from benchmarks.timing import best_of, machine, peak_extra_memory, table

SHAPES = ((63, 2_308, 4), (200, 20_000, 5), (2_000, 4_096, 10))  # n, d, K
TOL = 1e-8  # of mean gradients: what our logistic regression stops at

OURS = {
    "LDA": sf.LDA(),
    "QDA": sf.QDA(shrinkage=0.5),
    "RDA": sf.RDA(pooling=0.5, shrinkage=0.5),
    "logistic": sf.LogisticRegression(),
}

# Solvers that need no matrix of d × d. QuadraticDiscriminantAnalysis has none for n < d: "svd"
# refuses such rows, and "eigen" decomposes one d × d matrix for each class.
SKLEARN = {
    "LDA": {"svd": LinearDiscriminantAnalysis(solver="svd")},
    "QDA": {},
    "RDA": {},
    "logistic": {
        "lbfgs": SklearnLogistic(solver="lbfgs", tol=TOL, max_iter=1000),
        "newton-cg": SklearnLogistic(solver="newton-cg", tol=TOL, max_iter=1000),
    },
}

_SETUP = """
import warnings
warnings.simplefilter("ignore")
import suffice as sf
from benchmarks.wide import rows_of
x, y = rows_of({folder!r}, {n}, {d}, {k})
{model}.fit(x[:, :200], y)
"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks wide")
    parser.add_argument("folder", nargs="?", help="the folder of khan_train.csv")
    parser.add_argument("--only", help="one size, such as 200x20000")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    print(f"# wide ({machine()}), processor seconds of one core\n", flush=True)
    with threadpool_limits(1):
        for n, d, k in SHAPES:
            if options.only in (None, f"{n}x{d}"):
                print(table(_shape(options.folder, n, d, k, options.rounds)), "\n", flush=True)


def rows_of(folder: str | None, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and labels of one size: those of the file where there is one."""
    if folder is None or (n, d, k) != SHAPES[0]:
        return rows(n, d, k)
    cells = np.genfromtxt(
        Path(folder) / "khan_train.csv", delimiter=",", dtype=str, skip_header=1
    )
    return cells[:, :-1].astype(np.float64), cells[:, -1]


def _shape(folder: str | None, n: int, d: int, k: int, n_rounds: int) -> list[dict]:
    x, y = rows_of(folder, n, d, k)
    # our penalty is per standard deviation, so that both minimise the same
    x = (x - x.mean(0)) / x.std(0, ddof=1)
    cases = {"Gram": lambda: x @ x.T}
    for name, model in OURS.items():
        cases[name] = lambda model=model: model.fit(x, y)
        for solver, peer in SKLEARN[name].items():
            cases[f"{name} {solver}"] = lambda peer=peer: peer.fit(x, y)
    seconds = best_of(cases, rounds=n_rounds, limit=40.0, clock=time.process_time)
    return [_row(folder, (n, d, k), name, x, seconds) for name in OURS]


def _row(
    folder: str | None,
    shape: tuple[int, int, int],
    name: str,
    x: np.ndarray,
    seconds: dict[str, float],
) -> dict:
    n, d, k = shape
    peers = {solver: seconds[f"{name} {solver}"] for solver in SKLEARN[name]}
    fastest = min(peers, key=peers.__getitem__, default=None)
    model = f"{OURS[name]!r}"
    setup = _SETUP.format(folder=folder, n=n, d=d, k=k, model=f"sf.{model}")
    memory = peak_extra_memory(setup, f"sf.{model}.fit(x, y)")
    return {
        "rows × features, classes": f"{n:,} × {d:,}, {k}",
        "model": model,
        "fit, ms": 1e3 * seconds[name],
        "× Gram": seconds[name] / seconds["Gram"],
        "scikit-learn's fastest": fastest or "none for n < d",
        "scikit-learn, ms": 1e3 * peers[fastest] if fastest else "–",
        "ours / scikit-learn": seconds[name] / peers[fastest] if fastest else "–",
        "peak memory / rows": memory * 2**20 / x.nbytes,
    }
