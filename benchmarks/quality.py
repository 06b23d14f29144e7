"""Quality: error, log-loss and Brier score of ours and the peers' classifiers on real tables.

``python -m benchmarks quality [--data FOLDER] [--only NAME ...] [--cache FILE]``: every CSV of the
folder (header row, last column the target), or the tables of the tests, and the tables bundled
with scikit-learn; numeric columns only, rows with missing values left out. Five stratified
folds, shuffled once with a fixed seed; the same folds for all.

With ``--mixed`` all columns and rows of the folder count, text and holes too; only rows without
a target and classes of fewer than ten rows are left out. Boosting sees categories and holes as they
are, the other peers see them imputed by means with indicators, and one-hot.
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
import pandas as pd
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
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
    parser.add_argument("--mixed", action="store_true", help="text columns and holes count")
    parser.add_argument("--only", nargs="*", help="classifiers to run; the rest from the cache")
    parser.add_argument(
        "--cache", type=Path, help="JSON file of earlier results, read and extended"
    )
    options = parser.parse_args(arguments)
    known = (
        json.loads(options.cache.read_text()) if options.cache and options.cache.exists() else {}
    )
    found = mixed_tables(options.data) if options.mixed else tables(options.data)
    models = mixed_models() if options.mixed else {**ours(), **peers()}
    for name, X, y in found:
        for model, make in models.items():
            key = f"{name}/{model}"
            if key in known and not (options.only and model in options.only):
                continue
            if options.only and model not in options.only:
                continue
            known[key] = judged(make, X, y)
            if options.cache:
                options.cache.write_text(json.dumps(known))
    print(summary(known))
    if options.mixed:
        print(log_losses(known))


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


def mixed_models() -> dict[str, Callable[[], Any]]:
    from lightgbm import LGBMClassifier

    return {
        "AutoGaussian": lambda: sf.AutoGaussian(),
        "hist boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "LightGBM": lambda: LGBMClassifier(verbose=-1, random_state=0, n_jobs=1),
        "CatBoost": lambda: _CatBoost(),
        "logistic": lambda: make_pipeline(_numbers(), LogisticRegression(max_iter=2000)),
        "random forest": lambda: make_pipeline(
            _numbers(), RandomForestClassifier(200, random_state=0)
        ),
        "RBF SVM": lambda: make_pipeline(_numbers(), CalibratedClassifierCV(SVC(), ensemble=False)),
    }


class _CatBoost:
    """CatBoost with its own categories: an empty one is a level of its own."""

    def fit(self, X: Any, y: Any) -> _CatBoost:
        from catboost import CatBoostClassifier

        levels = list(X.select_dtypes("category"))
        quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
        self.model = CatBoostClassifier(cat_features=levels, random_seed=0, **quiet)
        self.model.fit(self._filled(X), y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self._filled(X))

    @staticmethod
    def _filled(X: Any) -> Any:
        levels = {c: X[c].astype(object).fillna("(missing)") for c in X.select_dtypes("category")}
        return X.assign(**levels)


def _numbers() -> Any:
    """Return the pipeline of peers that take complete numbers only."""
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (filled, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
    )


def mixed_tables(folder: Path) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield name, frame and integer labels of every table, small ones first."""
    for path in sorted(folder.glob("*.csv"), key=lambda path: path.stat().st_size):
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
        counts = frame["target"].value_counts()
        frame = frame[frame["target"].isin(counts.index[counts >= 10])]
        y = np.unique(frame.pop("target").astype(str), return_inverse=True)[1]
        text = {c: frame[c].astype("category") for c in frame.select_dtypes(exclude="number")}
        yield path.stem, frame.assign(**text), y


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


def judged(make: Callable[[], Any], X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return mean error, log-loss and Brier score over the folds, and seconds; or the failure."""
    losses, start = [], time.perf_counter()
    rows = getattr(X, "iloc", X)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in folds.split(X, y):
            try:
                p = make().fit(rows[train], y[train]).predict_proba(rows[test])
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


def log_losses(results: dict[str, dict[str, Any]]) -> str:
    """Return the log-loss of every classifier on every table."""
    names = sorted({key.split("/")[0] for key in results})
    models = [m for m in mixed_models() if any(f"{n}/{m}" in results for n in names)]
    rows = [
        {"table": n}
        | {m: results.get(f"{n}/{m}", {}).get("log_loss", float("nan")) for m in models}
        for n in names
    ]
    return table(rows)


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
