"""Bias and variance of classifiers, by fitting them again and again to rows of a known model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice.core.decision.predictions import log_posteriors_of
from suffice.core.model.bayes_error import rule_error
from suffice.core.text.tables import Row, Tabled
from suffice.drawing import draw
from suffice.errors import InvalidParameterError
from suffice.estimators.predictor import DecisionRule
from suffice.evaluate.comparison.models import parse_models
from suffice.typing import Floats


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance(Tabled):
    """How far posteriors are from the true ones on average, and how much they vary.

    Squared bias E_x Σ_k (E p̂(k | x) − p(k | x))² and variance E_x Σ_k var p̂(k | x), both summed
    over the classes, add up to the mean squared distance of a fitted posterior from the true one.
    Both are estimated without bias, so that a squared bias near zero may come out below it.
    """

    n_rows: int  # of each training set
    repeats: int
    table: tuple[Row, ...]  # of each classifier

    def rows(self) -> list[Row]:
        """Return a mapping per classifier: model, squared bias, variance, mean errors."""
        return list(self.table)

    def plot(self, ax: Any = None) -> Any:
        """Draw squared bias and variance of each classifier, one upon the other."""
        return draw("bias and variance", self, ax=ax)

    def __repr__(self) -> str:
        names = ", ".join(row["model"] for row in self.table)
        return f"BiasVariance({names}; {self.repeats} × {self.n_rows} rows)"


def bias_variance(
    model: Any,
    models: Any,
    n_rows: int = 100,
    *,
    repeats: int = 50,
    n_points: int = 2000,
    random_state: int = 0,
) -> BiasVariance:
    """Return squared bias and variance of classifiers fitted to rows drawn from a model.

    Friedman (1997), *Data Mining and Knowledge Discovery* 1, 55–77.

    Parameters
    ----------
    model : GaussianClassifier
        The truth: stated by ``from_parameters``, or fitted.
    models : names or {name: classifier}
        As in ``sf.compare``. One without posteriors is judged by its predicted class.
    n_rows, repeats : int
        Rows of each training set, and how many are drawn.
    n_points : int
        Rows drawn to judge by.
    random_state : int
        Seed of all draws.

    Examples
    --------
    >>> import suffice as sf
    >>> truth = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
    >>> found = sf.lectures.bias_variance(truth, ["LDA", "QDA"], n_rows=40, repeats=20)
    >>> lda, qda = found.rows()
    >>> lda["variance"] < qda["variance"]
    True
    """
    if repeats < 2:
        raise InvalidParameterError(f"a variance needs at least 2 repeats, got {repeats}")
    seeds = np.random.default_rng(random_state).integers(0, 2**31, repeats + 1).tolist()
    x, _ = model.sample(n_points, random_state=seeds.pop())
    truth = model.model_.with_temperature(1.0).posterior(model.classifier_.rows(x))
    sets = [model.sample(n_rows, random_state=seed) for seed in seeds]
    least = {"bayes_error": float(model.bayes_error())}
    known, judged_by = parse_models(models, random_state), (sets, x, truth, model.classes_)
    told = ({"model": m.name, **_repeated(m.estimator, *judged_by), **least} for m in known)
    return BiasVariance(n_rows, repeats, tuple(told))


def _repeated(estimator: Any, sets: list[Any], x: Any, truth: Floats, classes: Any) -> Row:
    """Return squared bias, variance, and mean errors on training rows and on all there are."""
    posteriors, errors = [], []
    for rows, labels in sets:
        fitted = clone(estimator).fit(rows, labels)
        decided = DecisionRule.of(fitted, classes, None).decide(x)
        logs = log_posteriors_of(fitted, x, classes)
        posteriors.append(np.eye(len(classes))[decided] if logs is None else np.exp(logs))
        errors.append((1 - fitted.score(rows, labels), rule_error(truth, decided)))
    p = np.array(posteriors)
    variance = p.var(0, ddof=1).sum(1).mean()
    # the mean of R posteriors varies too: E ‖p̄ − p‖² = bias² + variance / R
    squared_bias = np.square(p.mean(0) - truth).sum(1).mean() - variance / len(p)
    values = [squared_bias, variance, *np.mean(errors, axis=0)]
    names = ("squared_bias", "variance", "training_error", "true_error")
    return dict(zip(names, map(float, values), strict=True))
