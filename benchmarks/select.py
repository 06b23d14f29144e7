"""Choosing a model: cross-validation, leave-one-out, EDDA and AutoGaussian against refitting.

``python -m benchmarks select [NAME ...]`` with NAME among path, map, loo, edda, auto.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

import suffice as sf
from benchmarks.shapes import rows
from benchmarks.timing import best_of, machine, table
from suffice.core.estimation.edda import FAMILIES

PATH = [i / 20 for i in range(21)]
DIALS = [i / 10 for i in range(11)]


def main(arguments: list[str]) -> None:
    parts = {"path": _path, "map": _map, "loo": _leave_one_out, "edda": _edda, "auto": _auto}
    print(f"# select ({machine()})\n")
    for name in arguments or parts:
        print(table(parts[name]()), "\n", flush=True)


def _path() -> list[dict]:
    x, y = rows(100_000, 50, 10)
    # scikit-learn shrinks towards a sphere; of features of one scale so do we
    x = (x - x.mean(0)) / x.std(0)
    seconds = best_of(
        {"ours": lambda: sf.cross_validate(sf.LDA(), x, y, {"shrinkage": PATH}, cv=10)}
    )
    start = time.perf_counter()
    lda = LinearDiscriminantAnalysis(solver="lsqr")
    theirs = GridSearchCV(lda, {"shrinkage": PATH}, cv=10).fit(x, y)
    took = time.perf_counter() - start
    few = slice(0, 20_000)
    ours = sf.cross_validate(sf.LDA(), x[few], y[few], {"shrinkage": [0.0]}, cv=10)
    same = GridSearchCV(lda, {"shrinkage": [0.0]}, cv=10).fit(x[few], y[few])
    gap = abs(1 - ours.means[0, 0] - same.cv_results_["mean_test_score"][0])
    return [
        {
            "21 shrinkages × 10 folds, 1e5 × 50, K = 10": "LDA",
            "ours s": seconds["ours"],
            "GridSearchCV s": took,
            "times faster": round(took / seconds["ours"]),
            "best accuracy theirs": theirs.best_score_,
            "difference of accuracies at γ = 0": gap,
        }
    ]


def _map() -> list[dict]:
    x, y = rows(100_000, 50, 10)
    grid = {"pooling": DIALS, "shrinkage": DIALS}
    seconds = best_of(
        {
            "fit and score": lambda: sf.QDA().fit(x, y).predict_proba(x),
            "map": lambda: sf.cross_validate(sf.GaussianClassifier(), x, y, grid, cv=10),
        }
    )
    return [
        {
            "11 × 11 map × 10 folds, 1e5 × 50, K = 10": "RDA",
            "map s": seconds["map"],
            "QDA fit + predict_proba s": seconds["fit and score"],
            "ratio": round(seconds["map"] / seconds["fit and score"], 1),
        }
    ]


def _leave_one_out() -> list[dict]:
    found = []
    for n, d, k in ((20_000, 20, 5), (100_000, 50, 10)):
        x, y = rows(n, d, k)
        for make in (sf.LDA, sf.QDA):
            fitted = make().fit(x, y)
            seconds = best_of(
                {
                    "predict_proba": lambda f=fitted, x=x: f.predict_proba(x),
                    "left out": lambda m=make, x=x, y=y: sf.leave_one_out(m(), x, y),
                },
                rounds=15,
            )
            found.append(
                {
                    "leave-one-out": f"{make.__name__} {n} × {d}, K = {k}",
                    "ours s": seconds["left out"],
                    "predict_proba s": seconds["predict_proba"],
                    "ratio": round(seconds["left out"] / seconds["predict_proba"], 1),
                }
            )
    return found


def _edda() -> list[dict]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 50_000)
    x = np.einsum("nd,nde->ne", rng.normal(size=(50_000, 20)), rng.normal(size=(5, 20, 20))[y])
    moments = sf.Moments.of(x, y)

    def every() -> None:
        for code in FAMILIES:
            sf.GaussianClassifier(covariance=code).fit_moments(moments)

    seconds = best_of({"all": every}, rounds=3)
    return [{"14 EDDA families from Moments, d = 20, K = 5": "all", "s": seconds["all"]}]


def _auto() -> list[dict]:
    x, y = rows(100_000, 20, 5)
    seconds = best_of(
        {
            "LDA": lambda: sf.LDA().fit(x, y),
            "AutoGaussian": lambda: sf.AutoGaussian().fit(x, y),
            "without kernels": lambda: sf.AutoGaussian(kernel_features=False).fit(x, y),
        },
        rounds=5,
    )
    start = time.perf_counter()
    RandomForestClassifier(200, random_state=0, n_jobs=2).fit(x, y)
    forest = time.perf_counter() - start
    return [
        {
            "fit of 1e5 × 20, K = 5": name,
            "ours s": seconds[name],
            "random forest (200) s": forest,
            "times faster": round(forest / seconds[name], 1),
            "LDA fits": round(seconds[name] / seconds["LDA"], 1),
        }
        for name in ("AutoGaussian", "without kernels")
    ]
