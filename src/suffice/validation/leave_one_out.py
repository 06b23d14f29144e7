"""Posteriors of every row as if it had not been seen.

Leaving a row x of class k out takes c z zᵀ from the scatter of its class, z = x − μ_k,
c = w w_k / (w_k − w), and moves the mean of its class. A covariance that is a linear function of
the scatters loses a multiple of z zᵀ, so its inverse follows by the rank-one formula; other
covariances are estimated again from the moments without the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.downdate import downdated_scores
from suffice.model.posterior import LogPosterior
from suffice.model.tiles import in_blocks
from suffice.moments import Moments
from suffice.power import PowerTransform
from suffice.table.labels import as_labels
from suffice.table.matrix import as_matrix, as_weights
from suffice.validation.losses import RowLosses

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe
    from suffice.table.matrix import Matrix
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Log-posterior of each row under the model of all other rows."""

    classes: Labels  # (K,)
    log_posteriors: Floats  # (n, K)
    truth: Codes  # (n,)
    weight: Floats | None  # (n,)
    refit_priors: bool  # whether priors were estimated without the row

    @property
    def losses(self) -> RowLosses:
        """Error, log-loss and Brier score of each row."""
        return RowLosses.of(self.log_posteriors, self.truth)

    @property
    def error(self) -> float:
        """Share of rows that the others misclassify."""
        return float(self.losses.means(self.weight)[0])

    @property
    def log_loss(self) -> float:
        """Mean −log p(true class)."""
        return float(self.losses.means(self.weight)[1])

    @property
    def brier(self) -> float:
        """Mean Brier score."""
        return float(self.losses.means(self.weight)[2])

    @property
    def predictions(self) -> Labels:
        """Most probable class of each row, by the others."""
        labels: Labels = self.classes[self.log_posteriors.argmax(1)]
        return labels

    def __repr__(self) -> str:
        return (
            f"LeaveOneOut({len(self.truth)} rows: error {self.error:.4f}, "
            f"log-loss {self.log_loss:.4f}, Brier {self.brier:.4f})"
        )


def leave_one_out(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, refit_priors: bool = True
) -> LeaveOneOut:
    """Return the posterior of every row as if it had not been seen.

    Parameters
    ----------
    estimator : GaussianClassifier
        Any member of the family.
    X, y, sample_weight : rows (n, d), labels (n,), weights (n,)
    refit_priors : bool, default=True
        Whether class frequencies are counted without the row too, or once with all rows.

    References
    ----------
    Lachenbruch & Mickey (1968), *Technometrics* 10(1), 1–11.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> sf.leave_one_out(sf.LDA(), *load_iris(return_X_y=True))
    LeaveOneOut(150 rows: error 0.0200, log-loss 0.0545, Brier 0.0344)
    """
    x, _ = as_matrix(X)
    labels, weight = as_labels(y), as_weights(sample_weight, len(x))
    transform = estimator.power
    if transform is not None:  # label-free, so fitted once on all rows
        power = PowerTransform.of(x, weight) if isinstance(transform, str) else transform
        x = power.apply(x)
    recipe = estimator.recipe()
    storage = "per-class" if recipe.needs_fourth else recipe.storage
    moments = Moments.of(x, labels, weight, storage=storage, fourth=recipe.needs_fourth)
    truth = np.searchsorted(moments.classes, labels)
    scores = left_out_scores(recipe, moments, x, truth, weight, refit_priors=refit_priors)
    _read(LogPosterior(estimator.resolved_temperature()), scores)
    return LeaveOneOut(moments.classes, scores, truth, weight, refit_priors)


def _read(readout: LogPosterior, scores: Floats) -> None:
    """Write log-posteriors over the scores, in blocks that stay in cache."""

    def run(rows: slice) -> None:
        scores[rows] = readout.read(scores[rows])

    in_blocks(len(scores), scores.shape[1], run)


def left_out_scores(
    recipe: Recipe,
    moments: Moments,
    x: Matrix,
    truth: Codes,
    weight: Floats | None,
    *,
    refit_priors: bool,
) -> Floats:
    """Return a_k (n, K) of each row under the model of the others."""
    w = np.ones(len(x)) if weight is None else weight
    scores = downdated_scores(recipe, moments, np.asarray(x, np.float64), truth, w)
    unknown = np.flatnonzero(np.isnan(scores.sum(1)))
    _add_log_priors(scores, recipe, moments, truth, w, refit=refit_priors)
    for i in unknown:
        scores[i] = _refitted(recipe, moments, x[i], int(truth[i]), w[i], refit=refit_priors)
    return scores


def _refitted(
    recipe: Recipe, moments: Moments, row: Any, k: int, w: float, *, refit: bool
) -> Floats:
    """Return the scores of one row under the model estimated from the moments without it."""
    label = moments.classes[k : k + 1]
    options: Any = {"storage": moments.storage, "fourth": moments.fourth is not None}
    rest = moments - Moments.of(row[None], label, [w], **options) if w > 0 else moments
    model = recipe.estimate(rest, quiet=True)
    if not refit:
        model = model.with_priors(_fixed(recipe, moments, rest))
    scores: Floats = model.scores(row[None])[0]
    return scores


def _fixed(recipe: Recipe, moments: Moments, rest: Moments) -> Floats:
    priors = recipe.priors.of(moments.classes, moments.weights)
    return np.where(rest.weights > 0, priors, 0.0)


def _add_log_priors(
    scores: Floats, recipe: Recipe, moments: Moments, truth: Codes, w: Floats, *, refit: bool
) -> None:
    """Add log π_k to the scores of every row, up to a term common to all classes."""
    with np.errstate(divide="ignore"):
        a = recipe.priors.pseudo_count
        if refit and a is not None:
            # π_k ∝ w_k + a, less the row's weight for its own class
            rows, total = np.arange(len(truth)), moments.weights[truth] + a
            scores += np.log(moments.weights + a)
            scores[rows, truth] += np.log(np.maximum(total - w, a) / total)
        else:
            scores += np.log(_fixed(recipe, moments, moments))
