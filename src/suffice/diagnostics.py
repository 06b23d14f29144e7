"""Tests and checks of a model's assumptions. Each result has a table, a figure and a sentence."""

from suffice.evaluate.diagnostics.box_m_and_wilks import (
    BoxM,
    ClassSeparation,
    box_m,
    class_separation,
)
from suffice.evaluate.diagnostics.calibration import Calibration, calibration
from suffice.evaluate.diagnostics.normality import Normality, normality
from suffice.evaluate.diagnostics.predictive import PredictiveCheck, predictive_check

__all__ = [
    "BoxM",
    "Calibration",
    "ClassSeparation",
    "Normality",
    "PredictiveCheck",
    "box_m",
    "calibration",
    "class_separation",
    "normality",
    "predictive_check",
]
