"""Is the model right? Frozen answers, each a table, a picture and a sentence."""

from __future__ import annotations

from suffice.diagnostics.box import BoxM, box_m
from suffice.diagnostics.calibration import Calibration, calibration
from suffice.diagnostics.features import FeatureTests, feature_tests
from suffice.diagnostics.hotelling import HotellingT2, hotelling_t2
from suffice.diagnostics.normality import Normality, normality
from suffice.diagnostics.predictive import PredictiveCheck, predictive_check
from suffice.diagnostics.separation import CanonicalCorrelations, ClassSeparation, class_separation
from suffice.validation.significance import Diagnostic

__all__ = [
    "BoxM",
    "Calibration",
    "CanonicalCorrelations",
    "ClassSeparation",
    "Diagnostic",
    "FeatureTests",
    "HotellingT2",
    "Normality",
    "PredictiveCheck",
    "box_m",
    "calibration",
    "class_separation",
    "feature_tests",
    "hotelling_t2",
    "normality",
    "predictive_check",
]
