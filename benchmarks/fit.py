"""Fitting: LDA, QDA and naive Bayes against scikit-learn and the hardware floor."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn import discriminant_analysis as sk
from sklearn import naive_bayes
from sklearn.datasets import load_iris

import suffice as sf
from benchmarks.shapes import SETUP, SHAPES, rows
from benchmarks.timing import best_of, machine, peak_extra_memory, table


def main(_arguments: list[str]) -> None:
    print(f"# fit ({machine()})\n")
    print(table([row for shape in SHAPES for row in _shape(*shape)]), "\n")
    print(table([_memory(*shape) for shape in SHAPES]), "\n")
    print(table(_iris()))


def _shape(n: int, d: int, k: int) -> list[dict]:
    x, y = rows(n, d, k)
    seconds = best_of(
        {
            "syrk": lambda: dsyrk(1.0, x.T, lower=1),
            "sum": lambda: x.sum(),
            "LDA": lambda: sf.LDA().fit(x, y),
            "QDA": lambda: sf.QDA().fit(x, y),
            "GaussianNB": lambda: sf.GaussianNB().fit(x, y),
            "sk LDA": lambda: sk.LinearDiscriminantAnalysis().fit(x, y),
            "sk QDA": lambda: sk.QuadraticDiscriminantAnalysis().fit(x, y),
            "sk GaussianNB": lambda: naive_bayes.GaussianNB().fit(x, y),
        }
    )
    floors = {"LDA": "syrk", "QDA": "syrk", "GaussianNB": "sum"}
    return [
        {
            "n, d, K": f"{n:.0e}, {d}, {k}",
            "model": name,
            "ours s": seconds[name],
            "scikit-learn s": seconds[f"sk {name}"],
            "times faster": round(seconds[f"sk {name}"] / seconds[name], 1),
            "floor": floor,
            "floor s": seconds[floor],
            "ours / floor": round(seconds[name] / seconds[floor], 2),
        }
        for name, floor in floors.items()
    ]


def _memory(n: int, d: int, k: int) -> dict:
    row = {"n, d, K": f"{n:.0e}, {d}, {k}"}
    for name in ("LDA", "QDA", "GaussianNB"):
        setup = SETUP.format(n=n, d=d, k=k) + f"sf.{name}().fit(*small)"
        row[f"{name} extra MB"] = round(peak_extra_memory(setup, f"sf.{name}().fit(x, y)"), 1)
    return row


def _iris() -> list[dict]:
    x, y = load_iris(return_X_y=True)
    pairs = {
        "LDA": (sf.LDA(), sk.LinearDiscriminantAnalysis()),
        "QDA": (sf.QDA(), sk.QuadraticDiscriminantAnalysis()),
        "GaussianNB": (sf.GaussianNB(), naive_bayes.GaussianNB()),
    }
    result = []
    for name, (ours, theirs) in pairs.items():
        seconds = best_of(
            {
                "ours": lambda e=ours: e.fit(x, y).predict(x),
                "theirs": lambda e=theirs: e.fit(x, y).predict(x),
            },
            rounds=200,
        )
        result.append(
            {
                "iris fit + predict": name,
                "ours ms": 1e3 * seconds["ours"],
                "scikit-learn ms": 1e3 * seconds["theirs"],
            }
        )
    result.append({"iris fit + predict": "LDA, fresh process", **_fresh_process()})
    return result


def _fresh_process(rounds: int = 8) -> dict:
    data = (
        "import numpy as np\n"
        "x, y = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150) % 3\n"
    )
    theirs = "from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as L; "
    codes = {
        "ours ms": data + "import suffice as sf; sf.LDA().fit(x, y)",
        "scikit-learn ms": data + theirs + "L().fit(x, y)",
    }
    best = dict.fromkeys(codes, np.inf)
    for _ in range(rounds):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best
