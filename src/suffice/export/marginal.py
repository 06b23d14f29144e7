"""What holes in a row leave of its scores: the numbers that SQL and ONNX compute with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.averaged import AveragedModel, ForeignModel, Share
from suffice.core.model.class_model import MarginalModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.mixture import MixtureModel
from suffice.core.model.scoring import Formula, LinearScores, Scaled
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    r"""Classes whose scores hold −½ Δ², Δ² = (x − μ_k)ᵀ P (x − μ_k), with one P = Σ⁻¹.

    Where x has holes m and stands there at the origin, the marginal has

    .. math:: \Delta_o^2 = \Delta^2 - g_m^\top P_{mm}^{-1} g_m, \quad g = P x - P \mu_k, \quad
              \log|\Sigma_{oo}| = \log|\Sigma| + \log|P_{mm}|.
    """

    classes: Codes  # (m,)
    precision: Floats  # P  (d, d)
    pulls: Floats  # P μ_k  (m, d)

    @property
    def is_diagonal(self) -> bool:
        """Whether features do not depend on each other, so that P_mm is inverted at once."""
        return not (self.precision - np.diag(np.diagonal(self.precision))).any()

    def scaled(self, units: Floats) -> Marginal:
        return Marginal(
            self.classes, self.precision * units * units[:, None], self.pulls * units
        )


def marginals(formula: Formula) -> list[Marginal]:
    """Return the classes of each covariance; none where scores are of no density."""
    found = []
    for part in formula.scorer.parts:
        if not isinstance(part, LinearScores):
            w = np.diag(1 / part.scale) if isinstance(part, Scaled) else part.whitening
            p = w.T @ w
            found.append(Marginal(part.classes, p, part.means @ p))
        elif formula.shared is not None:
            found.append(
                Marginal(part.classes, formula.shared.dense_precision(), part.weights)
            )
    return found


def integrates(classifier: Classifier) -> bool:
    """Return whether the classifier integrates out what was not observed."""
    if isinstance(classifier.model, LinearModel):
        return False
    return classifier.allow_missing or classifier.encoding is not None


def own_members(model: AveragedModel) -> tuple[Share, ...]:
    """Return the members of an average; refuse those that are not ours."""
    for share in model.shares:
        inner = getattr(share.model, "inner", None)
        if isinstance(inner, ForeignModel):
            raise InvalidParameterError(
                f"the average has a member that is not exported ({type(inner.fitted).__name__}): "
                "leave it out of members, or export best_estimator_"
            )
    return model.shares


def empty_scores(model: Any) -> Floats:
    """Return the scores of a row of which nothing was observed, (K,) or of components (R,)."""
    # softmax(T log π / T) = π
    t = model.temperature if isinstance(model.allowing_missing(), MarginalModel) else 1.0
    scores: Floats = t * model.log_priors
    if not isinstance(model, MixtureModel):
        return scores
    # log Σ exp is that of one component, and so exact
    of_components = np.full(len(model.class_of), -1e300)
    of_components[model.starts] = scores
    return of_components
