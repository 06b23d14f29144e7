"""Heads for frozen networks: ours beside tuned logistic regression on real embeddings.

``python -m benchmarks embeddings [FOLDER]`` reads what ``python -m benchmarks encoders [FOLDER]``
wrote. It compares error, log-loss and processor time at 20 to 1,000 rows a class, and the area
under the ROC curve of outlier scores. Figures are means over draws of the rows that are learnt
from; all other rows are judged.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import suffice as sf
from benchmarks.encoders import FOLDER, Features, load
from benchmarks.timing import machine, table

ENCODERS = ("fashion", "fashion-blocks", "docstrings")
DRAWS = {20: 3, 100: 2, 200: 1, 1_000: 1}  # by rows a class
PENALTIES = np.logspace(-4, 2, 7)  # C of logistic regression of standardised features
N_FOLDS = 5


def _tuned_logistic() -> object:
    tuned = LogisticRegressionCV(
        Cs=PENALTIES,
        cv=N_FOLDS,
        scoring="neg_log_loss",
        max_iter=500,
        use_legacy_attributes=False,
    )
    return make_pipeline(StandardScaler(), tuned)


MODELS: dict[str, Callable[[], object]] = {
    "LDA(shrinkage='auto', temperature='auto')": lambda: sf.LDA(
        shrinkage="auto", temperature="auto"
    ),
    "AutoGaussian()": sf.AutoGaussian,
    "LogisticRegression(l2='auto')": lambda: sf.LogisticRegression(l2="auto"),
    "scikit-learn LDA, lsqr, auto": lambda: LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage="auto"
    ),
    "scikit-learn logistic, tuned": _tuned_logistic,
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks embeddings")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--only", choices=[*ENCODERS, "outliers"])
    parser.add_argument("--rows", type=int, help="rows a class, one of 20, 100, 200, 1000")
    parser.add_argument("--models", help="models whose name contains this text")
    options = parser.parse_args(arguments)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    print(f"# embeddings ({machine()}), processor seconds of one core\n", flush=True)
    with threadpool_limits(1):
        for encoder in ENCODERS:
            if options.only in (None, encoder):
                features = load(options.folder, encoder)
                for n_rows in DRAWS if options.rows is None else [options.rows]:
                    _compare(encoder, features, n_rows, options.models or "")
        if options.only in (None, "outliers"):
            print(table(outlier_rows(options.folder)), flush=True)


def _compare(encoder: str, features: Features, n_rows: int, name_part: str) -> None:
    """Print one table, a line for each model; sizes that leave too few rows are left out."""
    splits = list(_splits(features.y, n_rows))
    if not splits:
        return
    rows = []
    for name, make in MODELS.items():
        if name_part not in name:
            continue
        losses = np.array([_judge(make(), features, *split) for split in splits])
        error, loss, seconds = losses.mean(0)
        rows.append(
            {
                f"{encoder}, d = {features.x.shape[1]:,}, {n_rows} a class": name,
                "error %": f"{100 * error:.2f}",
                "log-loss": f"{loss:.3f}",
                "CPU s": f"{seconds:.2f}",
            }
        )
    print(table(rows), "\n", flush=True)


def _splits(y: np.ndarray, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to learn from and rows to judge, the same number of each class."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 1.1 * n_rows:
        return
    for draw in range(DRAWS[n_rows]):
        rng = np.random.default_rng(draw)
        order = rng.permutation(len(y))
        learnt = [order[y[order] == label][:n_rows] for label in classes]
        judged = np.setdiff1d(order, np.concatenate(learnt))
        yield rng.permutation(np.concatenate(learnt)), judged


def _judge(
    model: object, features: Features, learnt: np.ndarray, judged: np.ndarray
) -> tuple[float, float, float]:
    """Return error, log-loss and the processor time of fit."""
    started = time.process_time()
    model.fit(features.x[learnt], features.y[learnt])
    seconds = time.process_time() - started
    posterior = model.predict_proba(features.x[judged])
    truth = features.y[judged]
    predicted = model.classes_[posterior.argmax(1)]
    clipped = np.clip(posterior, 1e-15, 1)
    return float(np.mean(predicted != truth)), float(log_loss(truth, clipped)), seconds


def outlier_rows(folder: Path) -> list[dict]:
    """Return the areas under the ROC curve of outlier scores, ours beside the plain formula."""
    fashion = load(folder, "fashion")
    digits = load(folder, "digits")
    half = len(fashion.y) // 2
    known = fashion.y < 8
    learnt = np.flatnonzero(known[:half])
    judged = half + np.flatnonzero(known[half:])
    x, y = fashion.x[learnt], fashion.y[learnt]
    rows = []
    for name, strange in {
        "MNIST": digits.x,
        "left-out classes 8 and 9": fashion.x[~known],
    }.items():
        new = np.concatenate([fashion.x[judged], strange])
        is_strange = np.repeat([False, True], [len(judged), len(strange)])
        for kind in ("mahalanobis", "relative"):
            models = {"LDA()": sf.LDA(), "LDA(shrinkage='oas')": sf.LDA(shrinkage="oas")}
            scores = {
                label: model.fit(x, y).outlier_score(new, kind)
                for label, model in models.items()
            }
            scores["plain formula"] = plain_scores(x, y, new, kind)
            areas = {
                label: roc_auc_score(is_strange, score) for label, score in scores.items()
            }
            row = {"outliers": name, "kind": kind}
            rows.append(row | {label: f"{area:.4f}" for label, area in areas.items()})
    return rows


def plain_scores(x: np.ndarray, y: np.ndarray, new: np.ndarray, kind: str) -> np.ndarray:
    """Return the (relative) Mahalanobis score as pytorch-ood computes it, in double precision.

    The precision is the pseudo-inverse of the covariance within classes; the relative score
    subtracts the distance under the mean and covariance of all rows.
    """
    x = x.astype(np.float64)
    new = new.astype(np.float64)
    classes = np.unique(y)
    means = np.stack([x[y == label].mean(0) for label in classes])
    centred = x - means[np.searchsorted(classes, y)]
    precision = np.linalg.pinv(centred.T @ centred / len(x), hermitian=True)
    nearest = np.min([_distances(new - mean, precision) for mean in means], axis=0)
    if kind == "mahalanobis":
        return nearest
    overall = np.linalg.pinv(np.cov(x.T, bias=True), hermitian=True)
    return nearest - _distances(new - x.mean(0), overall)


def _distances(z: np.ndarray, precision: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->n", z @ precision, z)
