"""scikit-learn against its drop-in: the same data, the same parameters, the same answers.

``python -m benchmarks dropin [quick]``: seconds of ``fit`` and ``predict_proba``, their ratios,
and the greatest difference of the posteriors. Runs take turns, the best counts.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import discriminant_analysis, linear_model, naive_bayes

import suffice.sklearn as ours
from benchmarks.timing import best_of, machine, table

SHAPES = [(1_000, 10, 2), (1_000_000, 20, 3), (200_000, 100, 10)]
THEIRS = (
    (discriminant_analysis.LinearDiscriminantAnalysis, {}),
    (
        discriminant_analysis.LinearDiscriminantAnalysis,
        {"solver": "lsqr", "shrinkage": "auto"},
    ),
    (discriminant_analysis.QuadraticDiscriminantAnalysis, {}),
    (naive_bayes.GaussianNB, {}),
    (linear_model.LogisticRegression, {}),
)


def main(arguments: list[str]) -> None:
    shrink = 10 if "quick" in arguments else 1
    print(
        f"# drop-in ({machine()}): seconds of scikit-learn, of ours, and how many times faster\n"
    )
    for n, d, k in SHAPES:
        x, y = rows(max(n // shrink, 1_000), d, k)
        print(f"## {len(x):.0e} × {d}, {k} classes\n")
        print(table([_compared(theirs, settings, x, y) for theirs, settings in THEIRS]), "\n")


def rows(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[y] * 0.5 + rng.normal(size=(n, d)), y


def _compared(kind, settings, x, y):
    theirs, own = kind(**settings), getattr(ours, kind.__name__)(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lbfgs stops after 100 steps
        fit = best_of({"theirs": lambda: theirs.fit(x, y), "own": lambda: own.fit(x, y)}, 3)
        answers = {
            "theirs": lambda: theirs.predict_proba(x),
            "own": lambda: own.predict_proba(x),
        }
        predict = best_of(answers, 3)
    apart = np.abs(theirs.predict_proba(x) - own.predict_proba(x)).max()
    called = f"{kind.__name__}({', '.join(f'{k}={v!r}' for k, v in settings.items())})"
    figures = {"": called}
    for verb, took in (("fit", fit), ("predict_proba", predict)):
        figures |= {f"{verb}, sklearn": took["theirs"], f"{verb}, ours": took["own"]}
        figures |= {f"{verb} ×": took["theirs"] / took["own"]}
    return figures | {"posteriors apart": float(apart)}
