"""Is the model right? Frozen answers, each a table, a picture and a sentence."""

from suffice.evaluation.diagnostics.box import BoxM, box_m
from suffice.evaluation.diagnostics.calibration import Calibration, calibration
from suffice.evaluation.diagnostics.canonical import CanonicalCorrelations
from suffice.evaluation.diagnostics.features import FeatureTests, feature_tests
from suffice.evaluation.diagnostics.hotelling import HotellingT2, hotelling_t2
from suffice.evaluation.diagnostics.normality import Normality, normality
from suffice.evaluation.diagnostics.predictive import PredictiveCheck, predictive_check
from suffice.evaluation.diagnostics.separation import ClassSeparation, class_separation
from suffice.evaluation.diagnostics.words import Diagnostic

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
