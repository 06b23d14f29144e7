"""Tests of a model's assumptions, of its calibration, and of whether rows have changed.

The package may import ``core``, ``estimators`` and ``evaluate.curves``. The import of the package
does not import scikit-learn.
"""

from suffice.evaluate.diagnostics.box_m import BoxM, box_m
from suffice.evaluate.diagnostics.calibration import Calibration, calibration
from suffice.evaluate.diagnostics.class_separation import ClassSeparation, class_separation
from suffice.evaluate.diagnostics.drift import Drift, drift
from suffice.evaluate.diagnostics.normality import Normality, normality
from suffice.evaluate.diagnostics.predictive_check import PredictiveCheck, predictive_check
from suffice.evaluate.diagnostics.prior_adaptation import adapt_priors

__all__ = [
    "BoxM",
    "Calibration",
    "ClassSeparation",
    "Drift",
    "Normality",
    "PredictiveCheck",
    "adapt_priors",
    "box_m",
    "calibration",
    "class_separation",
    "drift",
    "normality",
    "predictive_check",
]
