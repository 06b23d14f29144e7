"""The Gaussian classifier that chooses its own settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice.errors import TooFewClassesError
from suffice.estimation.groups import total_variances
from suffice.estimators.face import Exports, Tells, checked_rows, checked_table
from suffice.estimators.gaussian import GaussianClassifier
from suffice.model.views import Lifted, Straightened
from suffice.moments import Moments
from suffice.search import Member, chosen
from suffice.table.labels import as_labels
from suffice.table.matrix import as_weights

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.model import ClassModel
    from suffice.typing import Codes, Floats, Labels


class AutoGaussian(Tells, Exports, ClassifierMixin, BaseEstimator):
    """Gaussian classifier that needs no tuning.

    Pooling λ between classes (from QDA to LDA), shrinkage γ towards the diagonal (from full to
    naive Bayes), a Yeo–Johnson transform of the features, random waves of them where boundaries
    bend more than a quadric can, and a temperature for calibrated posteriors: all are judged by
    exact cross-validated log-loss, and the posteriors of the best few settings are averaged with
    weights that held-out rows choose. The best single Gaussian model stays at hand for
    densities, samples, boundaries and explanation.

    Parameters
    ----------
    waves : bool, default=True
        Whether tied Gaussians over random waves of the features may join.
    n_kept : int, default=3
        How many of the best settings of each view of the features (as they are, transformed,
        with waves) may share in the average; 1 picks the best of all.
    random_state : int, default=0
        Seed of the folds, the samples of rows that settings are judged on, and the waves.

    Attributes
    ----------
    classes_ : array (K,)
    choices_ : list of Choice
        The best settings, best first: log-loss with its standard error, error, share.
    best_estimator_ : GaussianClassifier
        The best single Gaussian of the features or their transform, fitted on all rows.
    best_model_ : ClassModel
        Its model.
    members_ : tuple of Member
        What is averaged.
    varying_ : array
        Features that are not constant, which the members see.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import AutoGaussian
    >>> X, y = load_wine(return_X_y=True)
    >>> auto = AutoGaussian().fit(X, y)
    >>> auto.score(X, y) > 0.99
    True
    """

    def __init__(self, *, waves: bool = True, n_kept: int = 3, random_state: int = 0) -> None:
        self.waves = waves
        self.n_kept = n_kept
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the settings, then learn from all rows."""
        x, y = checked_table(self, X, y, reset=True)
        labels, weight = as_labels(y), as_weights(sample_weight, len(x))
        if weight is not None:
            x, labels, weight = x[weight > 0], labels[weight > 0], weight[weight > 0]
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            msg = (
                f"a classifier needs at least 2 classes with rows, found {len(self.classes_)} class"
            )
            raise TooFewClassesError(msg)
        self.varying_ = varying_features(x, labels)
        x = x[:, self.varying_]
        self.choices_ = chosen(
            x, labels, weight, waves=self.waves, n_kept=self.n_kept, seed=self.random_state
        )
        # the next row is as likely as one in n + 1 to be like none before
        self.doubt_ = 1 / (len(labels) + 1)
        self.frequencies_ = class_weights(labels, weight) / class_weights(labels, weight).sum()
        self.members_ = Member.fitted(self.choices_, x, labels, weight)
        self.best_estimator_ = self._explained().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the averaged posterior, shape (n, K)."""
        x = checked_rows(self, X)[:, self.varying_]
        posterior = np.tile(self.doubt_ * self.frequencies_, (len(x), 1))
        for member in self.members_:
            posterior += (1 - self.doubt_) * member.choice.weight * member.posterior(x)
        return posterior

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the averaged posterior, shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row."""
        most_probable = self.predict_proba(X).argmax(1)
        labels: Labels = self.classes_[most_probable]
        return labels

    def log_density(self, X: Any) -> Floats:
        """Return log p(x) under the best single Gaussian model, shape (n,)."""
        return self.best_estimator_.log_density(X)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Labels]:
        """Draw rows and labels from the best single Gaussian model."""
        return self.best_estimator_.sample(n, random_state)

    @property
    def best_model_(self) -> ClassModel:
        """The best single Gaussian model."""
        return self.best_estimator_.model_

    def save(self, path: str | Path) -> None:
        """Write a ``.suffice`` file: sums and settings in one zip, never pickle."""
        from suffice.estimators.files import save_auto

        check_is_fitted(self)
        save_auto(self, path)

    def _explained(self) -> GaussianClassifier:
        """Return the best setting that is one Gaussian per class in the features themselves."""
        best = next((c for c in self.choices_ if not isinstance(c.view, Lifted)), None)
        if best is None:
            return GaussianClassifier(tied=True, shrinkage=0.1)
        transform = None
        if isinstance(best.view, Straightened):
            transform = best.view.transform.among(self.varying_, self.n_features_in_)
        return GaussianClassifier(
            pooling=best.pooling,
            shrinkage=best.shrinkage,
            power=transform,
            temperature=best.temperature,
        )

    def explain(self) -> str:
        """Return in words what was chosen, and by how much it beat the runner-up."""
        first, *others = self.choices_
        if np.isnan(first.log_loss):
            return f"Too few rows to judge settings: {first.describe()}."
        lines = [f"Best: {first.describe()}; held-out log-loss {first.log_loss:.4f}."]
        if others:
            gap = others[0].log_loss - first.log_loss
            lines.append(
                f"It beat the runner-up ({others[0].describe()}) by {gap:.4f} "
                f"(± {first.log_loss_se:.4f} from fold to fold)."
            )
        shares = [c for c in self.choices_ if c.weight > 0]
        lines.append(
            "Averaged: " + "; ".join(f"{c.weight:.0%} {c.describe()}" for c in shares) + "."
        )
        return "\n".join(lines)


def class_weights(y: Labels, weight: Floats | None) -> Floats:
    """Return the weight of each class, shape (K,)."""
    codes = np.unique(y, return_inverse=True)[1]
    return np.bincount(codes, weight).astype(np.float64)


def varying_features(x: Any, y: Labels) -> Codes:
    """Return which features are not constant; raise for NaN, infinity or overflow."""
    moments = Moments.of(x, y, storage="diagonal", fourth=False)
    varying = np.flatnonzero(total_variances(moments) > 0)
    return varying if len(varying) else np.arange(x.shape[1])
