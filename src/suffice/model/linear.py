"""Linear scores wₖᵀx + bₖ, learnt without densities: logistic, perceptron, least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.model.posterior import LogPosterior, Posterior
from suffice.model.scoring import Formula, Scorer
from suffice.table.matrix import refuse_unusable

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Scores wₖᵀx + bₖ of K classes, and their softmax where they are log odds."""

    weights: Floats  # w  (1, d): the second of two classes against the first; otherwise (K, d)
    intercepts: Floats  # b  (1,) or (K,)
    has_posterior: bool = True
    temperature: float = 1.0

    @classmethod
    def of(cls, weights: Any, intercepts: Any, *, has_posterior: bool = True) -> LinearModel:
        """Return the model of coefficients (1, d) or (K, d)."""
        return cls(np.atleast_2d(weights), np.atleast_1d(intercepts), has_posterior)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return max(len(self.intercepts), 2)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.weights.shape[1])

    def allowing_missing(self) -> LinearModel:
        """Return itself: linear scores say nothing of what is missing, and refuse NaN."""
        return self

    def scores(self, x: Any) -> Floats:
        """Return wₖᵀx + bₖ, shape (n, K); of two classes the first has score 0."""
        with np.errstate(invalid="ignore", over="ignore"):
            a = np.asarray(x @ self.weights.T + self.intercepts, np.float64)
        if not np.isfinite(a).all():
            refuse_unusable(x, None)
        return np.hstack([np.zeros_like(a), a]) if a.shape[1] == 1 else a

    def most_probable(self, x: Any) -> Codes:
        """Return argmaxₖ wₖᵀx + bₖ, shape (n,)."""
        best: Codes = self.scores(x).argmax(1)
        return best

    @property
    def formula(self) -> Formula:
        """Scores of all classes; of two the first has score 0."""
        w, b = self.weights, self.intercepts
        if len(w) == 1:
            w, b = np.vstack([np.zeros_like(w), w]), np.concatenate([[0.0], b])
        return Formula(Scorer.linear(np.zeros(self.n_features), w, b))

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return Posterior(self.temperature).read(self.scores(x))

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K), exact far from the data."""
        return LogPosterior(self.temperature).read(self.scores(x))
