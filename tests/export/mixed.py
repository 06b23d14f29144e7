"""Models of mixed tables and of rows with holes, and rows to score."""

import numpy as np
import pandas as pd
from tests.export.models import MODELS

import suffice as sf

NUMBERS = ["height", "wei ght", "a'ge"]
CATEGORIES = ["colour", 'si"ze', "flag"]


def table(seed=0, n=240, *, gaps=True):
    """Return a mixed table of three classes, with holes if asked for, and its labels."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.2, 0.3, 0.5])  # no two priors tie
    x = rng.normal(size=(n, 3)) @ (np.eye(3) + 0.5) + rng.normal(size=(3, 3))[y]
    frame = pd.DataFrame(x * [1e4, 1.0, 1e-5] + [3e5, 0.0, 0.2], columns=NUMBERS)
    frame["colour"] = rng.choice(["it's", "blau", "日本"], n).astype(object)
    frame['si"ze'] = np.where(rng.random(n) < 0.5 + 0.1 * y, "S", "L").astype(object)
    frame["flag"] = rng.random(n) < 0.3 + 0.2 * y
    if gaps:
        for column in ("wei ght", "a'ge"):
            frame.loc[rng.random(n) < 0.15, column] = np.nan
        frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, np.array(["a", "b", "c"])[y]


def scored(seed=1):
    """Return rows with holes anywhere, unseen levels and empty categories."""
    rng = np.random.default_rng(seed)
    frame, _ = table(seed, 90)
    frame["flag"] = frame["flag"].astype(object)
    for column in NUMBERS:
        frame.loc[rng.random(90) < 0.3, column] = np.nan
    for column in CATEGORIES:
        frame.loc[rng.random(90) < 0.2, column] = None
    frame.loc[rng.random(90) < 0.2, 'si"ze'] = "XXL"
    frame.loc[rng.random(90) < 0.2, "colour"] = "unseen"
    frame.loc[0, NUMBERS], frame.loc[0, CATEGORIES] = np.nan, None
    frame.loc[1, NUMBERS], frame.loc[1, CATEGORIES] = np.nan, ["unseen", None, None]
    return frame


MIXED = {
    "lda": sf.LDA(),
    "lda with indicators of gaps": sf.LDA(missing="indicator"),
    "qda": sf.QDA(shrinkage=0.2),
    "qda with indicators of gaps": sf.QDA(shrinkage=0.2, missing="indicator"),
    "groups": sf.GaussianClassifier(tied=[["a", "b"], ["c"]]),
    "temperature": sf.QDA(temperature=2.0, shrinkage=0.2),
    "naive bayes": sf.GaussianNB(),
    "naive bayes with indicators of gaps": sf.GaussianNB(missing="indicator"),
    "tied naive bayes": sf.GaussianClassifier("diagonal", tied=True),
    "transformed naive bayes": sf.GaussianNB(power="yeo-johnson", temperature=2.0),
    "transformed": sf.QDA(power="yeo-johnson", shrinkage=0.1),
    "costs and reject": sf.LDA(costs=sf.Costs(reject=0.3)),
    "student": sf.GaussianClassifier(estimate="predictive"),
}


def with_holes(X, seed=0):
    """Return numeric rows with holes, the first row empty."""
    holed = X.copy()
    holed[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
    holed[0] = np.nan
    return holed


_WITHOUT = (
    "qda of thirty features",
    "lda of many features",
    "logistic",
    "softmax",
)
# models of numbers that integrate holes out, narrow enough for SQL to do so, too
INTEGRATING = [n for n in MODELS if n not in _WITHOUT and "least squares" not in n]
