"""Tables with holes and categories, against the same tables complete: one function per part."""

from __future__ import annotations

import numpy as np

import suffice as sf
from benchmarks.shapes import rows
from benchmarks.timing import best_of, machine, table


def main(_arguments: list[str]) -> None:
    print(f"# mixed ({machine()})\n")
    for part in (predicting_with_holes,):
        print(f"## {part.__doc__}\n\n{table(part())}\n")


def predicting_with_holes() -> list[dict]:
    """Posteriors of 1e5 × 20, K = 5, 10 % of entries missing: at most 10 × complete."""
    x, y = rows(100_000, 20, 5)
    x = x @ np.random.default_rng(1).normal(size=(20, 20))
    holes = np.where(np.random.default_rng(2).random(x.shape) < 0.1, np.nan, x)
    found = []
    for estimator in (sf.LDA(), sf.QDA(), sf.GaussianNB(), sf.QDA(estimate="predictive")):
        model = estimator.fit(x, y).model_
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
