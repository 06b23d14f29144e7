"""Prediction: posteriors and classes against scikit-learn and the dense product they replace."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn import discriminant_analysis as sk
from sklearn import naive_bayes
from threadpoolctl import threadpool_limits

import suffice as sf
from benchmarks.shapes import SETUP, SHAPES, rows
from benchmarks.timing import best_of, machine, peak_extra_memory, table

BLOCK = 256


def main(_arguments: list[str]) -> None:
    print(f"# predict_proba ({machine()})\n")
    print(table([row for shape in SHAPES for row in _shape(*shape)]), "\n")
    print(table([_memory(*shape) for shape in SHAPES]))


def _shape(n: int, d: int, k: int) -> list[dict]:
    x, y = rows(n, d, k)
    few = slice(0, 50_000)
    pairs = {
        "LDA": (sf.LDA(), sk.LinearDiscriminantAnalysis(solver="lsqr")),
        "QDA": (sf.QDA(), sk.QuadraticDiscriminantAnalysis()),
        "GaussianNB": (sf.GaussianNB(), naive_bayes.GaussianNB()),
    }
    fitted = {
        name: (ours.fit(x[few], y[few]), theirs.fit(x[few], y[few]))
        for name, (ours, theirs) in pairs.items()
    }
    cases = {"dense": lambda: _dense_product(x, k)}
    for name, (ours, theirs) in fitted.items():
        cases[f"{name} proba"] = lambda e=ours: e.predict_proba(x)
        cases[f"{name} class"] = lambda e=ours: e.predict(x)
        cases[f"sk {name}"] = lambda e=theirs: e.predict_proba(x)
    seconds = best_of(cases, rounds=5)
    return [
        {
            "n, d, K": f"{n:.0e}, {d}, {k}",
            "model": name,
            "predict_proba s": seconds[f"{name} proba"],
            "predict s": seconds[f"{name} class"],
            "scikit-learn s": seconds[f"sk {name}"],
            "times faster": round(seconds[f"sk {name}"] / seconds[f"{name} proba"], 1),
            "dense product s": seconds["dense"] if name == "QDA" else "",
            "ours / dense": round(seconds["QDA proba"] / seconds["dense"], 2)
            if name == "QDA"
            else "",
        }
        for name in pairs
    ]


def _dense_product(x: np.ndarray, k: int) -> None:
    """Multiply x (n, d) by (d, K d) in cache-sized blocks on two threads."""
    n, d = x.shape
    factors = np.random.default_rng(0).normal(size=(d, k * d))

    def part(lo: int, hi: int) -> None:
        out = np.empty((BLOCK, k * d))
        for at in range(lo, hi - BLOCK + 1, BLOCK):
            np.matmul(x[at : at + BLOCK], factors, out=out)

    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
        list(pool.map(part, (0, n // 2), (n // 2, n)))


def _memory(n: int, d: int, k: int) -> dict:
    row = {"n, d, K": f"{n:.0e}, {d}, {k}", "output MB": round(8 * n * k / 2**20, 1)}
    for name in ("LDA", "QDA", "GaussianNB"):
        setup = (
            SETUP.format(n=n, d=d, k=k)
            + f"e = sf.{name}().fit(*small); e.predict_proba(small[0])"
        )
        row[f"{name} extra MB"] = round(peak_extra_memory(setup, "e.predict_proba(x)"), 1)
    return row
