"""Tables with holes and categories, against the same tables complete: one function per part."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import suffice as sf
from benchmarks.shapes import rows
from benchmarks.timing import best_of, machine, table
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.core.table import Table


def main(_arguments: list[str]) -> None:
    print(f"# mixed ({machine()})\n")
    for part in (
        summing_categories,
        summing_with_holes,
        learning_with_holes,
        predicting_with_holes,
    ):
        print(f"## {part.__doc__}\n\n{table(part())}\n")


def summing_categories() -> list[dict]:
    """Moments of 1e6 × (10 numbers + 10 categories of 8 levels), K = 3: at most 4 × the numbers."""
    x, y = rows(1_000_000, 10, 3)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    levels = list("abcdefgh")
    for j in range(10):
        frame[f"c{j}"] = pd.Categorical.from_codes(rng.integers(0, 8, len(frame)), levels)
    cases = {
        "numbers alone": lambda: sf.Moments.of(x, y, fourth=False),
        "reading the frame": lambda: Table.of(frame, y),
        "all columns": lambda: sf.Moments.of(frame, y, fourth=False),
    }
    seconds = best_of(cases, rounds=5)
    dummies = best_of({"LDA": lambda: _dummy_lda(frame, y)}, rounds=1)["LDA"]
    return [
        {
            **seconds,
            "times numbers": round(seconds["all columns"] / seconds["numbers alone"], 1),
            "get_dummies and scikit-learn's LDA": dummies,
            "times quicker": round(dummies / seconds["all columns"], 1),
        }
    ]


def _dummy_lda(frame: pd.DataFrame, y: np.ndarray) -> object:
    return LinearDiscriminantAnalysis().fit(pd.get_dummies(frame, drop_first=True), y)


def _large() -> tuple:
    x, y = rows(1_000_000, 10, 3)
    x = x @ np.random.default_rng(1).normal(size=(10, 10))
    return x, np.where(np.random.default_rng(2).random(x.shape) < 0.05, np.nan, x), y


def summing_with_holes() -> list[dict]:
    """Moments of 1e6 × 10, K = 3, 5 % of entries missing: at most 5 × complete."""
    x, holes, y = _large()
    found = []
    for storage in ("per-class", "diagonal"):
        options = {"storage": storage, "fourth": False}
        cases = {
            "complete": lambda o=options: sf.Moments.of(x, y, **o),
            "with holes": lambda o=options: sf.Moments.of(holes, y, **o),
        }
        seconds = best_of(cases, rounds=15)
        ratio = round(seconds["with holes"] / seconds["complete"], 1)
        found.append({"storage": storage, **seconds, "times complete": ratio})
    return found


def learning_with_holes() -> list[dict]:
    """EM to convergence on the moments of 1e6 × 10, K = 3, 5 % missing: under 1 s."""
    _, holes, y = _large()
    moments = sf.Moments.of(holes, y, fourth=False)
    recipes = {"LDA": {"tied": True}, "QDA": {}, "VEV": {"covariance": "VEV"}}
    cases = {
        name: lambda words=words: estimate(moments, Settings(**words))
        for name, words in recipes.items()
    }
    return [best_of(cases, rounds=3)]


def predicting_with_holes() -> list[dict]:
    """Posteriors of 1e5 × 20, K = 5, 10 % of entries missing: at most 10 × complete."""
    x, y = rows(100_000, 20, 5)
    x = x @ np.random.default_rng(1).normal(size=(20, 20))
    holes = np.where(np.random.default_rng(2).random(x.shape) < 0.1, np.nan, x)
    found = []
    for estimator in (sf.LDA(), sf.QDA(), sf.GaussianNB(), sf.QDA(estimate="predictive")):
        model = estimator.fit(x, y).model_.model
        cases = {
            "complete": lambda m=model: m.posterior(x),
            "allowing": lambda m=model: m.allowing_missing().posterior(x),
            "with holes": lambda m=model: m.allowing_missing().posterior(holes),
        }
        seconds = best_of(cases, rounds=25)
        found.append(
            {
                "model": str(estimator),
                "complete s": seconds["complete"],
                "complete, NaN allowed s": seconds["allowing"],
                "with holes s": seconds["with holes"],
                "times complete": round(seconds["with holes"] / seconds["complete"], 1),
            }
        )
    return found
