"""Linear scores wₖᵀx + bₖ, learnt without densities: logistic, perceptron, least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.model.device import scored
from suffice.model.posterior import Argmax, Joint, LogPosterior, Posterior
from suffice.model.scoring import Formula, Scorer
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Scores wₖᵀ(x − m) + bₖ of K classes, and their softmax where they are log odds.

    The centre m lies among the rows, so that scores lose no digits far from the origin.
    """

    weights: Floats  # w  (1, d): the second of two classes against the first; otherwise (K, d)
    intercepts: Floats  # b  (1,) or (K,): scores at the centre
    has_posterior: bool
    centre: Floats  # m  (d,)
    temperature: float = 1.0

    @classmethod
    def of(
        cls,
        weights: Any,
        intercepts: Any,
        *,
        has_posterior: bool = True,
        centre: Floats | None = None,
    ) -> LinearModel:
        """Return the model of coefficients (1, d) or (K, d), about the origin if about nothing."""
        w, b = np.atleast_2d(weights), np.atleast_1d(intercepts)
        return cls(w, b, has_posterior, np.zeros(w.shape[1]) if centre is None else centre)

    @property
    def at_origin(self) -> Floats:
        """Scores at the origin, bₖ − wₖᵀm, shape (1,) or (K,)."""
        return np.asarray(self.intercepts - self.weights @ self.centre)

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
        """Return wₖᵀ(x − m) + bₖ, shape (n, K); of two classes the first has score 0."""
        return scored(self.formula.scorer, x, Joint())

    def most_probable(self, x: Any) -> Codes:
        """Return argmaxₖ of the scores, shape (n,)."""
        return scored(self.formula.scorer, x, Argmax())

    @property
    def formula(self) -> Formula:
        """Scores of all classes; of two the first has score 0."""
        w, b = self.weights, self.intercepts
        if len(w) == 1:
            w, b = np.vstack([np.zeros_like(w), w]), np.concatenate([[0.0], b])
        return Formula(Scorer.linear(self.centre, w, b))

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return scored(self.formula.scorer, x, Posterior(self.temperature))

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K), exact far from the data."""
        return scored(self.formula.scorer, x, LogPosterior(self.temperature))
