"""Is the model right? Frozen answers, each a table, a picture and a sentence."""

from suffice.diagnostics.box_test import BoxM, box_m
from suffice.diagnostics.calibration import Calibration, calibration
from suffice.diagnostics.diagnostic import Diagnostic
from suffice.diagnostics.normality import Normality, normality
from suffice.diagnostics.predictive import PredictiveCheck, predictive_check
from suffice.diagnostics.wilks import ClassSeparation, class_separation

__all__ = [
    "BoxM",
    "Calibration",
    "ClassSeparation",
    "Diagnostic",
    "Normality",
    "PredictiveCheck",
    "box_m",
    "calibration",
    "class_separation",
    "normality",
    "predictive_check",
]
