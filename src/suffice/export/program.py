"""What any system must compute to answer like a fitted classifier, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.decision.costs import parse_costs
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.model import GaussianModel
from suffice.model.gaussian import DebiasedModel
from suffice.model.scoring import Scorer
from suffice.model.student import StudentModel
from suffice.model.transformed import TransformedModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.decision.costs import CostMatrix
    from suffice.power import PowerTransform
    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """Student t scores: c_k − p_k log(1 + s_k Δ_k²)."""

    constants: Floats  # c  (K,)
    powers: Floats  # p  (K,)
    shares: Floats  # s  (K,)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Scores a_k(x) of transformed rows, their softmax, and the decision.

    The scorer's parts give −½ Δ_k² alone where there is a tail. Classes whose prior is zero have
    score −∞.
    """

    features: tuple[str, ...] | None
    classes: Labels  # (K,)
    scorer: Scorer
    decision: CostMatrix
    transform: PowerTransform | None = None
    tail: Tail | None = None
    temperature: float = 1.0
    has_posterior: bool = True

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.scorer.origin)

    def columns(self, named: Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of the feature columns: those given, or those seen in fit."""
        if named is None and self.features is None:
            msg = (
                f"the model knows no column names: name its {self.n_features} columns, in order, "
                "by columns=[...], or fit it on a frame"
            )
            raise FeatureMismatchError(msg)
        columns = tuple(self.features or () if named is None else named)
        if len(columns) != self.n_features:
            msg = f"{len(columns)} columns are named, but the model has {self.n_features} features"
            raise FeatureMismatchError(msg)
        return columns


def program_of(estimator: Any) -> Program:
    """Return what a fitted classifier computes, or say why it cannot be exported."""
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    features = None if names is None else tuple(map(str, names))
    if hasattr(estimator, "moments_") and hasattr(estimator, "model_"):
        return _gaussian(estimator, features)
    if hasattr(estimator, "coef_"):
        return _linear(estimator, features)
    best = "; export its best_estimator_" if hasattr(estimator, "best_estimator_") else ""
    msg = (
        f"{type(estimator).__name__} cannot be exported: only models of one Gaussian or Student t "
        f"per class, and linear ones, can{best}"
    )
    raise InvalidParameterError(msg)


def _linear(estimator: Any, features: tuple[str, ...] | None) -> Program:
    w, b = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
    if len(w) == 1:  # the second class against the first
        w, b = np.vstack([np.zeros_like(w), w]), np.concatenate([[0.0], b])
    return Program(
        features,
        estimator.classes_,
        Scorer.linear(np.zeros(w.shape[1]), w, b),
        parse_costs(None, estimator.classes_),
        has_posterior=hasattr(estimator, "predict_proba"),
    )


def _gaussian(estimator: Any, features: tuple[str, ...] | None) -> Program:
    model: Any = estimator.model_
    transform = None
    if isinstance(model, TransformedModel):
        model, transform = model.inner, model.transform
    if isinstance(model, DebiasedModel):
        model = model.tilted
    scorer, tail = _scores(model)
    decision = parse_costs(
        estimator.costs, estimator.classes_, estimator.reject_cost, estimator.reject_label
    )
    return Program(
        features, estimator.classes_, scorer, decision, transform, tail, model.temperature
    )


def _scores(model: Any) -> tuple[Scorer, Tail | None]:
    if isinstance(model, StudentModel):
        scales = [model.scales[g] for g in model.group_of]
        nothing = np.zeros(model.n_classes)
        # log density at its own centre, where Δ = 0
        peaks = np.diagonal(model.class_log_density(model.means)) + model.log_priors
        tail = Tail(peaks, (model.degrees + model.n_features) / 2, model.shares)
        return Scorer.of(nothing, model.offsets, scales, origin=model.centre), tail
    if not isinstance(model, GaussianModel):
        msg = f"{type(model).__name__} cannot be exported: it is no Gaussian and no Student t"
        raise InvalidParameterError(msg)
    if model.is_tied:
        weights, intercepts = model.linear_weights, model.linear_intercepts
        return Scorer.linear(model.centre, weights, intercepts), None
    sigmas = [model.covariance_of(k) for k in range(model.n_classes)]
    # a_k = log π_k − ½ log|Σ_k| − ½ Δ_k²
    constants = model.log_priors - 0.5 * np.array([sigma.log_det for sigma in sigmas])
    return Scorer.of(constants, model.offsets, sigmas, origin=model.centre), None
