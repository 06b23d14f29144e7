"""Quality: error, log-loss and Brier score of ours and the peers' classifiers on real tables.

``python -m benchmarks quality [--data FOLDER] [--only NAME ...] [--cache FILE]``: every CSV of the
folder (header row, last column the target), or the tables of the tests, and the tables bundled
with scikit-learn; numeric columns only, rows with missing values left out. Five stratified
folds, shuffled once with a fixed seed; the same folds for all.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from benchmarks.timing import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N_FOLDS = 5
FLOOR = 1e-15  # of a predicted probability, for every classifier alike


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality")
    parser.add_argument("--data", type=Path, default=Path("tests/reference/data"))
    parser.add_argument("--only", nargs="*", help="classifiers to run; the rest from the cache")
    parser.add_argument(
        "--cache", type=Path, help="JSON file of earlier results, read and extended"
    )
    options = parser.parse_args(arguments)
    known = (
        json.loads(options.cache.read_text()) if options.cache and options.cache.exists() else {}
    )
    for name, X, y in tables(options.data):
        for model, make in {**ours(), **peers()}.items():
            key = f"{name}/{model}"
            if key in known and not (options.only and model in options.only):
                continue
            if options.only and model not in options.only:
                continue
            known[key] = judged(make, X, y)
            if options.cache:
                options.cache.write_text(json.dumps(known))
    print(summary(known))


def ours() -> dict[str, Callable[[], Any]]:
    return {
        "AutoClassifier": lambda: sf.AutoClassifier(),
        "AutoGaussian": lambda: sf.AutoGaussian(),
        "RDA": lambda: sf.RDA(),
        "LDA": lambda: sf.LDA(),
        "QDA": lambda: sf.QDA(),
        "GaussianNB": lambda: sf.GaussianNB(),
    }


def peers() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "sk LDA": lambda: LinearDiscriminantAnalysis(),
        "sk LDA auto": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "sk QDA": lambda: QuadraticDiscriminantAnalysis(),
        "sk GaussianNB": lambda: GaussianNB(),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "15-NN": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        "tree": lambda: DecisionTreeClassifier(random_state=0),
        "random forest": lambda: RandomForestClassifier(200, random_state=0, n_jobs=2),
        "extra trees": lambda: ExtraTreesClassifier(200, random_state=0, n_jobs=2),
        "hist boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "RBF SVM": lambda: make_pipeline(
            StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)
        ),
    }
    try:
        from lightgbm import LGBMClassifier
        from xgboost import XGBClassifier
    except ImportError:
        return found
    found["LightGBM"] = lambda: LGBMClassifier(verbose=-1, random_state=0, n_jobs=2)
    found["XGBoost"] = lambda: XGBClassifier(random_state=0, n_jobs=2)
    return found


def tables(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, numeric rows and integer labels of every table."""
    for path in sorted(folder.glob("*.csv")):
        X, y = read(path)
        if X.shape[1] and len(np.unique(y)) > 1 and np.bincount(y).min() >= N_FOLDS:
            yield path.stem, X, y
    for load in (datasets.load_breast_cancer, datasets.load_digits):
        X, y = load(return_X_y=True)
        yield load.__name__.removeprefix("load_"), X, y


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with path.open() as file:
        _, *rows = list(csv.reader(file))
    *columns, target = (list(column) for column in zip(*rows, strict=True))
    numeric = [c for c in columns if all(_is_number(v) for v in c)]
    if not numeric:
        return np.zeros((0, 0)), np.zeros(0, np.intp)
    X = np.array([[float(v) if v else np.nan for v in c] for c in numeric]).T
    keep = ~np.isnan(X).any(1)
    labels = np.unique(np.array(target)[keep], return_inverse=True)[1]
    return X[keep], labels


def _is_number(value: str) -> bool:
    try:
        float(value or "nan")
    except ValueError:
        return False
    return True


def judged(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return mean error, log-loss and Brier score over the folds, and seconds; or the failure."""
    losses, start = [], time.perf_counter()
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in folds.split(X, y):
            try:
                p = make().fit(X[train], y[train]).predict_proba(X[test])
            except Exception as error:
                return {"failed": f"{type(error).__name__}: {error}"[:200]}
            p = np.clip(np.nan_to_num(p), FLOOR, None)
            p /= p.sum(1, keepdims=True)
            truth = np.eye(p.shape[1])[y[test]]
            losses.append(
                [
                    (p.argmax(1) != y[test]).mean(),
                    -np.log((p * truth).sum(1)).mean(),
                    np.square(p - truth).sum(1).mean(),
                ]
            )
    error, log_loss, brier = np.mean(losses, axis=0)
    seconds = time.perf_counter() - start
    return {"error": error, "log_loss": log_loss, "brier": brier, "seconds": seconds}


def summary(results: dict[str, dict[str, Any]]) -> str:
    """Return mean ranks and wins of every classifier over the tables that all have run on."""
    models = sorted({key.split("/")[1] for key in results})
    names = sorted({key.split("/")[0] for key in results})
    names = [n for n in names if all(f"{n}/{m}" in results for m in models)]
    ranks = {}
    for loss in ("error", "log_loss", "brier"):
        values = np.array([[results[f"{n}/{m}"].get(loss, np.inf) for m in models] for n in names])
        ranks[loss] = np.array([rankdata(np.round(row, 10)) for row in values])
    rows = [
        {
            "classifier": m,
            "rank error": round(float(ranks["error"][:, i].mean()), 2),
            "rank log-loss": round(float(ranks["log_loss"][:, i].mean()), 2),
            "rank Brier": round(float(ranks["brier"][:, i].mean()), 2),
            "wins log-loss": int((ranks["log_loss"][:, i] == 1).sum()),
            "failures": sum("failed" in results[f"{n}/{m}"] for n in names),
            "seconds": sum(results[f"{n}/{m}"].get("seconds", 0.0) for n in names),
        }
        for i, m in enumerate(models)
    ]
    rows.sort(key=lambda row: row["rank log-loss"])
    return f"{len(names)} tables: {', '.join(names)}\n\n{table(rows)}"
