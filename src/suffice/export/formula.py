"""What any system must compute to answer like a fitted classifier, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.model import DebiasedModel, GaussianModel, StudentModel, TransformedModel
from suffice.model.averaged import AveragedModel
from suffice.model.linear import LinearModel
from suffice.model.scoring import Scorer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.decision import Classifier
    from suffice.decision.classifier import FittedModel
    from suffice.power import PowerTransform
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """Student t scores: c_k − p_k log(1 + s_k Δ_k²)."""

    constants: Floats  # c  (K,)
    powers: Floats  # p  (K,)
    shares: Floats  # s  (K,)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """Scores a_k of rows after a power transform, if any.

    The scorer's parts give −½ Δ_k² alone where there is a tail. Classes whose prior is zero have
    score −∞.
    """

    scorer: Scorer
    tail: Tail | None = None
    power: PowerTransform | None = None


def formula_of(model: FittedModel) -> Formula:
    """Return the scores of a model, or say why they cannot be written down."""
    if isinstance(model, TransformedModel):
        return Formula(*_scores(model.inner), model.transform)
    return Formula(*_scores(model))


def column_names(classifier: Classifier, named: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the feature columns: those given, or those seen in fit."""
    d = classifier.n_features
    if named is None and classifier.feature_names is None:
        msg = (
            f"the model knows no column names: name its {d} columns, in order, "
            "by columns=[...], or fit it on a frame"
        )
        raise FeatureMismatchError(msg)
    columns = tuple(classifier.feature_names or () if named is None else named)
    if len(columns) != d:
        msg = f"{len(columns)} columns are named, but the model has {d} features"
        raise FeatureMismatchError(msg)
    return columns


def _scores(model: FittedModel) -> tuple[Scorer, Tail | None]:
    if isinstance(model, LinearModel):
        return _linear(model), None
    if isinstance(model, StudentModel):
        return _student(model)
    if isinstance(model, DebiasedModel):
        model = model.tilted
    if not isinstance(model, GaussianModel):
        best = "; export its best_estimator_" if isinstance(model, AveragedModel) else ""
        msg = (
            f"{type(model).__name__} cannot be exported: only models of one Gaussian or Student t "
            f"per class, and linear ones, can{best}"
        )
        raise InvalidParameterError(msg)
    if model.is_tied:
        weights, intercepts = model.linear_weights, model.linear_intercepts
        return Scorer.linear(model.centre, weights, intercepts), None
    sigmas = [model.covariance_of(k) for k in range(model.n_classes)]
    # a_k = log π_k − ½ log|Σ_k| − ½ Δ_k²
    constants = model.log_priors - 0.5 * np.array([sigma.log_det for sigma in sigmas])
    return Scorer.of(constants, model.offsets, sigmas, origin=model.centre), None


def _linear(model: LinearModel) -> Scorer:
    w, b = model.weights, model.intercepts
    if len(w) == 1:  # the second class against the first
        w, b = np.vstack([np.zeros_like(w), w]), np.concatenate([[0.0], b])
    return Scorer.linear(np.zeros(w.shape[1]), w, b)


def _student(model: StudentModel) -> tuple[Scorer, Tail]:
    scales = [model.scales[g] for g in model.group_of]
    # log density at its own centre, where Δ = 0
    peaks = np.diagonal(model.class_log_density(model.means)) + model.log_priors
    tail = Tail(peaks, (model.degrees + model.n_features) / 2, model.shares)
    nothing = np.zeros(model.n_classes)
    return Scorer.of(nothing, model.offsets, scales, origin=model.centre), tail
