"""Tests and checks of a model's assumptions, of its posteriors, and of new rows."""

from suffice.core.decision.prior_shift import PriorShift
from suffice.evaluate.diagnostics.box_m import BoxM, box_m
from suffice.evaluate.diagnostics.calibration import Calibration, calibration
from suffice.evaluate.diagnostics.class_separation import ClassSeparation, class_separation
from suffice.evaluate.diagnostics.drift import Drift, drift
from suffice.evaluate.diagnostics.normality import Normality, normality
from suffice.evaluate.diagnostics.predictive import PredictiveCheck, predictive_check
from suffice.evaluate.diagnostics.prior_adaptation import adapt_priors

__all__ = [
    "BoxM",
    "Calibration",
    "ClassSeparation",
    "Drift",
    "Normality",
    "PredictiveCheck",
    "PriorShift",
    "adapt_priors",
    "box_m",
    "calibration",
    "class_separation",
    "drift",
    "normality",
    "predictive_check",
]
