"""Tests of a model's assumptions and posteriors, and of new rows."""

from suffice.evaluate.diagnostics.box_m import box_m
from suffice.evaluate.diagnostics.calibration import calibration
from suffice.evaluate.diagnostics.class_separation import class_separation
from suffice.evaluate.diagnostics.drift import drift
from suffice.evaluate.diagnostics.normality import normality
from suffice.evaluate.diagnostics.predictive_check import predictive_check
from suffice.evaluate.diagnostics.prior_adaptation import adapt_priors

__all__ = [
    "adapt_priors",
    "box_m",
    "calibration",
    "class_separation",
    "drift",
    "normality",
    "predictive_check",
]
