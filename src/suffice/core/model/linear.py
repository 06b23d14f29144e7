"""Linear scores w_kᵀx + w_k0, of Gaussian classes that share Σ or of discriminative models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from suffice.core.model.covariance import Covariance
from suffice.core.model.device import score_anywhere
from suffice.core.model.posterior import Readout, ScoredModel
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.model.sparse_scores import read_sparse
from suffice.core.table.count_rows import CountRows, is_sparse
from suffice.typing import Array, Floats, RowsLike


def discriminant(
    sigma: Covariance,
    means: Floats,
    log_priors: Floats,
) -> tuple[Floats, Floats]:
    """Return w_k (K, d) and w_k0 (K,) of Gaussian classes that share Σ.

    The rows x and the means μ_k must have the same origin. Hastie, Tibshirani & Friedman (2009),
    *The Elements of Statistical Learning*, 4.3.
    """
    # w_k = Σ⁻¹ μ_k,  w_k0 = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k
    weights = sigma.precision_times(means)
    intercepts = log_priors - 0.5 * np.einsum("kd,kd->k", means, weights)
    return weights, intercepts


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel(ScoredModel):
    """Scores wₖᵀ(x − m) + bₖ of K classes; if these are log odds, they give posteriors.

    The point m lies near the rows, so that scores keep their digits far from the origin.
    """

    weights: Floats  # w  (K, d); for two classes (1, d), the second class against the first
    intercepts: Floats  # b, the scores at the centre m  (1,) or (K,)
    has_posterior: bool
    centre: Floats  # m  (d,)
    temperature: float = 1.0
    has_density = False

    @classmethod
    def of(
        cls,
        weights: npt.ArrayLike,
        intercepts: npt.ArrayLike,
        *,
        has_posterior: bool = True,
        centre: Floats | None = None,
    ) -> LinearModel:
        """Return the model with weights (1, d) or (K, d), by default centred at the origin."""
        w = np.atleast_2d(weights)
        b = np.atleast_1d(intercepts)
        if centre is None:
            centre = np.zeros(w.shape[1])
        return cls(weights=w, intercepts=b, has_posterior=has_posterior, centre=centre)

    @property
    def at_origin(self) -> Floats:
        """Scores at the origin, bₖ − wₖᵀm, shape (1,) or (K,)."""
        return np.asarray(self.intercepts - self.weights @ self.centre)

    def all_weights(self) -> tuple[Floats, Floats]:
        """Return w_k (K, d) and w_k0 (K,) of every class; of two classes, the first has zeros."""
        if len(self.weights) > 1:
            return self.weights, self.at_origin
        nothing = np.zeros_like(self.weights)
        return np.vstack([nothing, self.weights]), np.append(0.0, self.at_origin)

    @property
    def n_classes(self) -> int:
        return max(len(self.intercepts), 2)

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[1])

    @property
    def n_parameters(self) -> int:
        """(K − 1)(d + 1): only differences between the scores of classes matter."""
        return (self.n_classes - 1) * (self.n_features + 1)

    def allowing_missing(self) -> LinearModel:
        """Return ``self``: linear scores cannot integrate out NaN, so NaN raises an error."""
        return self

    @property
    def formula(self) -> Formula:
        w = self.weights
        b = self.intercepts
        if len(w) == 1:  # of two classes, the first has the score 0
            w = np.vstack([np.zeros_like(w), w])
            b = np.concatenate([[0.0], b])
        return Formula(Scorer.linear(self.centre, w, b))

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        del log_weights  # the model has no densities
        if is_sparse(x):
            rows = CountRows.of(x)
            rows.require_finite()
            weights, at_origin = self.all_weights()
            return read_sparse(rows, weights, at_origin, readout)
        return score_anywhere(self.formula.scorer, x, readout)
