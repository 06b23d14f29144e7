"""Bias and variance of classifiers that are fitted repeatedly to rows drawn from a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from suffice.core.decision.any_classifier import DecisionRule
from suffice.core.decision.predictions import log_posteriors_of
from suffice.core.model.bayes_error import rule_error
from suffice.core.text.tables import Row, Tabled
from suffice.errors import InvalidParameterError
from suffice.estimators.gaussian_estimator import GaussianEstimator
from suffice.evaluate.comparison.models import ModelsLike, parse_models
from suffice.typing import Floats, Labels, SklearnClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance(Tabled):
    """Squared bias and variance of the posteriors of each classifier.

    The squared bias is E_x Σ_k (E p̂(k | x) − p(k | x))², and the variance is E_x Σ_k var p̂(k |
    x). Their sum is the mean squared distance of a fitted posterior from the true one. The
    estimates are unbiased, so that of a squared bias near zero may be negative.
    """

    n_rows: int  # rows in each training set
    repeats: int
    table: tuple[Row, ...]  # a row for each classifier

    def rows(self) -> list[Row]:
        """Return a mapping per classifier: model, squared bias, variance, mean errors."""
        return list(self.table)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw squared bias and variance of each classifier as stacked bars."""
        from suffice.present.plots.results import bias_variance_figure

        return bias_variance_figure(self, ax)

    def __repr__(self) -> str:
        names = ", ".join(row["model"] for row in self.table)
        return f"BiasVariance({names}; {self.repeats} × {self.n_rows} rows)"


def bias_variance(
    model: GaussianEstimator,
    models: ModelsLike,
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
        The true model, made by ``from_parameters`` or fitted.
    models : names or {name: classifier}
        As in ``sf.compare``. A classifier without posteriors is evaluated by its predicted class.
    n_rows, repeats : int
        Number of rows in each training set, and number of training sets.
    n_points : int
        Number of rows drawn on which posteriors are compared.
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
    truth = model.model_.density.with_temperature(1.0).posterior(model.model_.rows(x))
    training_sets = [model.sample(n_rows, random_state=seed) for seed in seeds]
    bayes_error = float(model.model_.bayes_error())
    table = []
    for each in parse_models(models, random_state):
        row: Row = {"model": each.name}
        row.update(_repeated(each.estimator, training_sets, x, truth, model.classes_))
        row["bayes_error"] = bayes_error
        table.append(row)
    return BiasVariance(n_rows, repeats, tuple(table))


def _repeated(
    estimator: SklearnClassifier,
    training_sets: Sequence[tuple[Floats, Labels]],
    x: Floats,
    truth: Floats,
    classes: Labels,
) -> dict[str, float]:
    """Return squared bias, variance, and mean errors on training rows and under the model."""
    posteriors = []
    training_errors = []
    true_errors = []
    for rows, labels in training_sets:
        fitted = clone(estimator).fit(rows, labels)
        decided = DecisionRule.of(fitted, classes, None).decide(x)
        logs = log_posteriors_of(fitted, x, classes)
        posteriors.append(np.eye(len(classes))[decided] if logs is None else np.exp(logs))
        training_errors.append(1 - fitted.score(rows, labels))
        true_errors.append(rule_error(truth, decided))
    p = np.array(posteriors)
    variance = p.var(0, ddof=1).sum(1).mean()
    # E ‖p̄ − p‖² = bias² + variance / R, because the mean of R posteriors varies, too
    squared_bias = np.square(p.mean(0) - truth).sum(1).mean() - variance / len(p)
    return {
        "squared_bias": float(squared_bias),
        "variance": float(variance),
        "training_error": float(np.mean(training_errors)),
        "true_error": float(np.mean(true_errors)),
    }
