"""Quality: error, log-loss, Brier score and AUC of ours and the peers' classifiers on real tables.

``python -m benchmarks quality [--data FOLDER] [--mixed] [--only NAME ...] --results FOLDER``: every
CSV of the data folder (header row, last column the target), and the tables bundled with
scikit-learn; numeric columns only, rows with missing values left out. Five stratified folds,
shuffled once with a fixed seed; the same folds for all. Results are kept by classifier, table and
fold, so that a run can be stopped and taken up again; one process may run each classifier.

With ``--mixed`` all columns and rows of the folder count, text and holes too; only rows without
a target and classes of fewer than ten rows are left out.

With ``--medium`` the same holds for tables of 2,000 rows or more, and one fold is judged on, unless
``--splits`` asks for more. A hash of its name puts each table into one of two halves: settings may
be chosen with the tables of ``--half looked-at``, and figures are of ``--half unlooked-at``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, studentized_range
from sklearn import datasets
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.contestants import MOST_ROWS, ours, peers
from benchmarks.timing import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N_FOLDS = 5
FLOOR = 1e-15  # of a predicted probability, for every classifier alike
HALVES = ("looked-at", "unlooked-at")
MEASURES = ("error", "log_loss", "brier", "auc")
MEDIUM = 2000  # rows, from which tables are of medium size
SMALL = 1000  # rows, up to which those of MOST_ROWS are compared, too


Table = tuple[str, Any, np.ndarray]  # name, frame and integer labels


def main(arguments: list[str]) -> None:
    parser = parser_of_arguments()
    options = parser.parse_args(arguments)
    options.results.mkdir(exist_ok=True)
    if options.splits is None:
        options.splits = 1 if options.medium else N_FOLDS
    found = chosen_tables(options)
    models = {**ours(), **peers()}
    for model in models if options.only is None else options.only:
        run(model, models[model], found, options)
    known = {p.stem: json.loads(p.read_text()) for p in sorted(options.results.glob("*.json"))}
    left = set(options.without) if options.small else {*options.without, *MOST_ROWS}
    results = {model: of for model, of in known.items() if model not in left}
    names = [name for name, X, _ in found if len(X) <= SMALL or not options.small]
    names = [name for name in names if all(name in of for of in results.values())]
    print(summary(results, names))
    if "AutoClassifier" in results:
        print(ratios(results, names, "AutoClassifier"))
    print(by_table(results, names))
    if options.figure:
        drawn(results, names).savefig(options.figure, dpi=120, bbox_inches="tight")


def parser_of_arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality")
    parser.add_argument("--data", type=Path, default=Path("tests/reference/data"))
    parser.add_argument("--mixed", action="store_true", help="text columns and holes count")
    parser.add_argument("--medium", action="store_true", help=f"mixed, from {MEDIUM} rows on")
    parser.add_argument("--half", choices=HALVES, help="of the tables, by a hash of the name")
    parser.add_argument(
        "--only", nargs="*", help="classifiers to run; none: show what is known"
    )
    parser.add_argument("--again", action="store_true", help="run what is known, too")
    parser.add_argument("--most-rows", type=int, default=10**9, help="of tables to run on")
    parser.add_argument("--splits", type=int, help="folds that are judged on")
    parser.add_argument(
        "--results", type=Path, required=True, help="folder, read and extended"
    )
    parser.add_argument("--without", nargs="*", default=(), help="classifiers to leave out")
    parser.add_argument("--small", action="store_true", help=f"compare up to {SMALL} rows")
    parser.add_argument(
        "--figure", type=Path, help="critical differences of log-loss and error"
    )
    return parser


def chosen_tables(options: Any) -> list[Table]:
    """Return name, frame and labels of the tables that the options ask for, small ones first."""
    is_mixed = options.mixed or options.medium
    found = list(mixed_tables(options.data) if is_mixed else tables(options.data))
    if options.medium:
        found = [each for each in found if len(each[1]) >= MEDIUM]
    if options.half:
        found = [each for each in found if half_of(each[0]) == options.half]
    return found


def run(model: str, make: Callable[[], Any], found: list[Any], options: Any) -> None:
    """Judge a classifier on the tables that it has not been judged on, and keep what is found."""
    path = options.results / f"{model}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    most = min(options.most_rows, MOST_ROWS.get(model, options.most_rows))
    for name, X, y in found:
        if (name in known and not options.again) or len(X) > most:
            continue
        known[name] = judged(make, X, y, options.splits)
        path.write_text(json.dumps(known))


def mixed_tables(folder: Path) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield name, frame and integer labels of every table, small ones first."""
    for path in sorted(folder.glob("*.csv"), key=lambda path: path.stat().st_size):
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
        counts = frame["target"].value_counts()
        frame = frame[frame["target"].isin(counts.index[counts >= 10])]
        y = np.unique(frame.pop("target").astype(str), return_inverse=True)[1]
        truths = frame.select_dtypes("bool")  # XGBoost takes no category of truth values
        frame = frame.astype(dict.fromkeys(truths, "str"))
        text = {c: frame[c].astype("category") for c in frame.select_dtypes(exclude="number")}
        yield path.stem, frame.assign(**text), y


def tables(folder: Path) -> list[tuple[str, Any, np.ndarray]]:
    """Return name, frame of numbers and integer labels of every table, small ones first."""
    found = [(path.stem, *read(path)) for path in sorted(folder.glob("*.csv"))]
    bundled = {"breast_cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
    found += [(name, *load(return_X_y=True)) for name, load in bundled.items()]
    kept = [
        (name, pd.DataFrame(X).add_prefix("x"), y)
        for name, X, y in found
        if X.shape[1] and len(np.unique(y)) > 1 and np.bincount(y).min() >= N_FOLDS
    ]
    return sorted(kept, key=lambda each: each[1].size)


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


def judged(make: Callable[[], Any], X: Any, y: np.ndarray, n_splits: int) -> dict[str, Any]:
    """Return the measures of each fold, and processor seconds of fit and predict; or a failure."""
    found: dict[str, list[float]] = {name: [] for name in (*MEASURES, "fit", "predict")}
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in list(folds.split(X, y))[:n_splits]:
            clock = [time.process_time()]
            try:
                fitted = make().fit(X.iloc[train], y[train])
                clock.append(time.process_time())
                p = fitted.predict_proba(X.iloc[test])
            except Exception as error:
                return {"failed": f"{type(error).__name__}: {error}"[:200]}
            clock.append(time.process_time())
            for name, value in zip(
                found, (*measured(p, y[test]), *np.diff(clock)), strict=True
            ):
                found[name].append(float(value))
    return found


def measured(p: np.ndarray, y: np.ndarray) -> tuple[float, ...]:
    """Return error, log-loss, Brier score and area under the curve of posteriors (n, K)."""
    p = np.clip(np.nan_to_num(p), FLOOR, None)
    p /= p.sum(1, keepdims=True)
    truth = np.eye(p.shape[1])[y]
    scores = p[:, 1] if p.shape[1] == 2 else p
    return (
        (p.argmax(1) != y).mean(),
        -np.log((p * truth).sum(1)).mean(),
        np.square(p - truth).sum(1).mean(),
        roc_auc_score(y, scores, multi_class="ovr"),
    )


Results = dict[str, dict[str, dict[str, Any]]]


def means(results: Results, names: list[str], measure: str) -> np.ndarray:
    """Return means over the folds that all have, (tables, classifiers): inf of a failure."""
    sign = -1.0 if measure == "auc" else 1.0  # less is better
    rows = [
        [np.atleast_1d(of[n].get(measure, sign * np.inf)) for of in results.values()]
        for n in names
    ]
    fewest = [
        min((len(each) for each in row if np.isfinite(each).all()), default=1) for row in rows
    ]
    return np.array(
        [[sign * each[:m].mean() for each in row] for row, m in zip(rows, fewest, strict=True)]
    )


def ranked(values: np.ndarray) -> np.ndarray:
    return np.array([rankdata(np.round(row, 10)) for row in values])


def summary(results: Results, names: list[str]) -> str:
    """Return mean ranks, wins, ratios to the best and seconds of every classifier."""
    values = {measure: means(results, names, measure) for measure in MEASURES}
    ranks = {measure: ranked(each) for measure, each in values.items()}
    # the best of a table may be 0: an error of half a row more, a log-loss of 0.01 more for all
    best = values["log_loss"].min(1, keepdims=True)
    ratio = np.exp(np.log((values["log_loss"] + 0.01) / (best + 0.01)).mean(0))
    rows = []
    for i, (model, of) in enumerate(results.items()):
        row: dict[str, Any] = {"classifier": model}
        row |= {
            f"rank {name}": round(float(each[:, i].mean()), 2) for name, each in ranks.items()
        }
        row["wins error"] = int((ranks["error"][:, i] == ranks["error"].min(1)).sum())
        row["wins log_loss"] = int((ranks["log_loss"][:, i] == 1).sum())
        row["log-loss to best"] = round(float(ratio[i]), 3)
        row["failures"] = sum("failed" in of[n] for n in names)
        for what in ("fit", "predict"):
            row[f"{what} s"] = float(sum(np.sum(of[n].get(what, 0.0)) for n in names))
        rows.append(row)
    rows.sort(key=lambda row: row["rank log_loss"])
    return f"{len(names)} tables: {', '.join(names)}\n\n{table(rows)}\n"


def half_of(name: str) -> str:
    """Return the half that a table belongs to: the last bit of the SHA-256 of its name."""
    return HALVES[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def ratios(results: Results, names: list[str], ours: str) -> str:
    """Return log-loss and error of ours in those of each other, with intervals over tables.

    Geometric means of (ours + 0.01) / (theirs + 0.01), and 95 % intervals by resampled tables.
    Tables on which one of the two gave no answer are left out.
    """
    rows = []
    for other in results:
        if other == ours:
            continue
        row: dict[str, Any] = {f"{ours} to": other}
        for measure in ("log_loss", "error"):
            values = means({name: results[name] for name in (ours, other)}, names, measure)
            values = values[np.isfinite(values).all(1)]
            logs = np.log((values[:, 0] + 0.01) / (values[:, 1] + 0.01))
            rng = np.random.default_rng(0)
            drawn_tables = rng.integers(len(logs), size=(10_000, len(logs)))
            low, high = np.exp(np.quantile(logs[drawn_tables].mean(1), [0.025, 0.975]))
            row[measure] = f"{np.exp(logs.mean()):.3f} ({low:.3f} to {high:.3f})"
            row[f"less {measure}"] = f"{(logs < 0).sum()} of {len(logs)}"
        rows.append(row)
    return f"{table(rows)}\n"


def by_table(results: Results, names: list[str]) -> str:
    """Return the log-loss of every classifier on every table."""
    values = means(results, names, "log_loss")
    return table(
        [
            {"table": name} | dict(zip(results, row.tolist(), strict=True))
            for name, row in zip(names, values, strict=True)
        ]
    )


def drawn(results: Results, names: list[str]) -> Any:
    """Return critical-difference diagrams: mean ranks, and bars over what chance may explain."""
    from matplotlib.figure import Figure

    k = len(results)
    # Nemenyi: q_0.05 √(k (k + 1) / 6 N) with q of the studentised range, over √2
    q = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    critical = float(q * np.sqrt(k * (k + 1) / (6 * len(names))))
    figure = Figure(figsize=(9, 0.5 + 0.42 * k))
    for axes, measure in zip(figure.subplots(2, 1), ("log_loss", "error"), strict=True):
        mean = ranked(means(results, names, measure)).mean(0)
        _diagram(axes, list(results), mean, critical)
        axes.set_title(
            f"Mean rank by {measure.replace('_', '-')}, {len(names)} tables", fontsize=10
        )
    return figure


def _diagram(axes: Any, models: list[str], mean: np.ndarray, critical: float) -> None:
    order = np.argsort(mean)
    k, half = len(order), (len(order) + 1) // 2
    for at, i in enumerate(order):
        left = at < half
        depth, edge = (at + 1 if left else k - at), (0.4 if left else k + 0.6)
        colour = "tab:red" if models[i].startswith("Auto") else "black"
        axes.plot([mean[i], mean[i], edge], [0, depth, depth], color=colour, lw=0.8)
        label = f"{models[i]} {mean[i]:.2f}"
        side = "right" if left else "left"
        axes.text(edge, depth, f" {label} ", ha=side, va="center", fontsize=8, color=colour)
    ranks, level, reached = mean[order], -0.35, -1
    for i in range(k):
        # a bar joins those that lie within the critical difference of the best of them
        last = int(np.flatnonzero(ranks <= ranks[i] + critical)[-1])
        if last > max(i, reached):
            axes.plot(ranks[[i, last]] + np.array([-0.05, 0.05]), [level, level], "k", lw=3)
            level, reached = level - 0.35, last
    axes.set(xlim=(0.3, k + 0.7), ylim=(half + 1, level - 0.2), yticks=[])
    axes.xaxis.set_ticks_position("top")
    axes.spines[["left", "right", "bottom"]].set_visible(False)
