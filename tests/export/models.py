"""Twenty random models of every kind, and rows to score."""

from functools import cache

import numpy as np
from sklearn.base import clone

import suffice as sf
from suffice.estimators.least_squares import LeastSquaresClassifier
from suffice.estimators.logistic import LogisticRegression

COSTS = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])


def rows(seed, n_classes, d, n=None):
    """Return rows of overlapping classes whose features have scales from 1e-9 to 1e9."""
    rng = np.random.default_rng(seed)
    n = n or max(40, 3 * (d + 2)) * n_classes
    y = np.arange(n) % n_classes
    mix = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    X = (rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(n_classes, d))[y]) @ mix
    scales = 10.0 ** rng.uniform(-9, 9, d)
    return scales * (X + rng.normal(size=d) * rng.choice([0, 1, 100], d)), y


def extreme(n_classes):
    """Return priors from 1e-12 on, one of them zero."""
    priors = np.geomspace(1e-12, 1, n_classes)
    if n_classes > 2:
        priors[1] = 0.0
    return priors / priors.sum()


def skewed(X):
    return np.sign(X) * np.abs(X) ** 1.5 / np.abs(X).mean(0) ** 0.5


# name → (classifier, classes, features)
MODELS = {
    "lda": (sf.LDA(), 2, 3),
    "lda of fifty classes": (sf.LDA(), 50, 8),
    "lda of extreme priors": (sf.LDA(priors=extreme(6)), 6, 4),
    "lda of many features": (sf.LDA(shrinkage=0.1), 3, 120),
    "qda": (sf.QDA(), 3, 4),
    "qda of thirty features": (sf.QDA(), 3, 30),
    "qda of twenty classes": (sf.QDA(), 20, 5),
    "qda of extreme priors": (sf.QDA(priors=extreme(5)), 5, 3),
    "naive bayes": (sf.GaussianNB(), 4, 40),
    "tied naive bayes": (sf.GaussianClassifier("diagonal", tied=True), 3, 5),
    "spherical": (sf.GaussianClassifier("spherical"), 3, 2),
    "rda": (sf.RDA(pooling=0.4, shrinkage=0.2), 7, 6),
    "groups": (sf.GaussianClassifier(tied=[[0, 1], [2, 3, 4]]), 5, 4),
    "edda": (sf.GaussianClassifier("VEI"), 3, 4),
    "costs and reject": (sf.QDA(costs=sf.Costs(COSTS, reject=0.3)), 3, 3),
    "temperature": (sf.QDA(temperature=3.0), 4, 3),
    "student": (sf.GaussianClassifier(estimate="predictive"), 3, 5),
    "mixture and reject": (
        sf.MixtureClassifier(2, prior_rows=2.0, costs=sf.Costs(reject=0.4)),
        3,
        3,
    ),
    "tied mixture of extreme priors": (
        sf.MixtureClassifier(2, tied=True, priors=extreme(4)),
        4,
        4,
    ),
    "diagonal mixture": (sf.MixtureClassifier(3, "diagonal", n_init=1), 3, 6),
    "transformed": (sf.QDA(power="yeo-johnson"), 3, 4),
    "logistic": (LogisticRegression(), 2, 6),
    "softmax": (LogisticRegression(), 6, 5),
    "least squares": (LeastSquaresClassifier(), 2, 5),
    "least squares of many": (LeastSquaresClassifier(), 9, 4),
}


@cache
def fitted(name):
    """Return a fitted model and new rows, some of them far away; nobody changes them."""
    model, n_classes, d = MODELS[name]
    X, y = rows(sum(map(ord, name)), n_classes, d)
    if name == "transformed":
        X = skewed(X)
    new = X[:60].copy()
    centre = X.mean(0)
    new[::3] = centre + 4 * (new[::3] - centre)
    new[::7] = centre + 1000 * (new[::7] - centre)  # where losers' posteriors underflow
    return clone(model).fit(X, y), new
