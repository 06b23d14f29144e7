"""The quantities by which SQL and ONNX integrate missing features out of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.class_model import ClassModel, MarginalModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.mixture import MixtureModel
from suffice.core.model.scoring import Formula, LinearScores, Scaled
from suffice.typing import Codes, Floats

_LOWEST = -1e300  # replaces a score of −∞


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    r"""Classes with scores that contain −½ Δ², Δ² = (x − μ_k)ᵀ P (x − μ_k), and share P = Σ⁻¹.

    If the features m are missing and set to the origin in x, the marginal over the features o has

    .. math:: \Delta_o^2 = \Delta^2 - g_m^\top P_{mm}^{-1} g_m, \quad g = P x - P \mu_k, \quad
              \log|\Sigma_{oo}| = \log|\Sigma| + \log|P_{mm}|.
    """

    classes: Codes  # (m,)
    precision: Floats  # P  (d, d)
    pulls: Floats  # P μ_k  (m, d)

    @property
    def is_diagonal(self) -> bool:
        """Whether the features are independent given the class, so that P_mm is diagonal."""
        return not (self.precision - np.diag(np.diagonal(self.precision))).any()

    def scaled(self, units: Floats) -> Marginal:
        """Return the same quantities for features divided by ``units`` (d,)."""
        return Marginal(
            classes=self.classes,
            precision=self.precision * units * units[:, None],
            pulls=self.pulls * units,
        )


def marginals(formula: Formula) -> list[Marginal]:
    """Return a ``Marginal`` for each covariance; none if scores are not log densities."""
    parts = []
    for part in formula.scorer.matrix_parts():
        if isinstance(part, LinearScores):
            if formula.shared is None:
                continue
            precision = formula.shared.dense_precision()
            pulls = part.weights
        else:
            whitening = np.diag(1 / part.scale) if isinstance(part, Scaled) else part.whitening
            precision = whitening.T @ whitening
            pulls = part.means @ precision
        parts.append(Marginal(part.classes, precision, pulls))
    return parts


def integrates_missing(classifier: Classifier) -> bool:
    """Return whether the classifier integrates missing features out."""
    if isinstance(classifier.model, LinearModel):
        return False
    return classifier.allow_missing or classifier.encoding is not None


def empty_scores(model: ClassModel) -> Floats:
    """Return the scores of a row in which all features are missing, (K,), or by component (R,)."""
    scores = model.log_priors
    if isinstance(model.allowing_missing(), MarginalModel):
        # softmax(T log π / T) = π
        scores = model.temperature * scores
    if not isinstance(model, MixtureModel):
        return scores
    # A single component of each class gets the score of the class, so that log Σ exp over the
    # components is exact.
    component_scores = np.full(len(model.class_of), _LOWEST)
    component_scores[model.starts] = scores
    return component_scores
