"""Probabilistic classification from mergeable statistics.

Collect the sums of each class once, wherever the data lives; read every Gaussian classifier out
of them. ``import suffice as sf``, then ``sf.LDA().fit(X, y)`` or ``sf.Moments.of(X, y)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.estimation.niw import NormalInverseWishart
    from suffice.estimators.auto import AutoGaussian
    from suffice.estimators.gaussian import GaussianClassifier
    from suffice.estimators.least_squares import LeastSquaresClassifier, LinearGaussianRegressor
    from suffice.estimators.logistic import LogisticRegression
    from suffice.estimators.perceptron import Perceptron
    from suffice.estimators.presets import LDA, QDA, RDA, GaussianNB
    from suffice.evaluation.compare import compare, select
    from suffice.evaluation.cross_validation import cross_validate
    from suffice.evaluation.diagnostics import (
        box_m,
        class_separation,
        feature_tests,
        hotelling_t2,
        predictive_check,
    )
    from suffice.evaluation.diagnostics.calibration import calibration
    from suffice.evaluation.diagnostics.normality import normality
    from suffice.evaluation.learning_curve import learning_curve
    from suffice.evaluation.leave_one_out import leave_one_out
    from suffice.evaluation.splitting import split
    from suffice.evaluation.streamed import cross_validate_stream
    from suffice.files import load
    from suffice.model.geometry import Hyperplane, Quadric
    from suffice.moments import Moments
    from suffice.power import PowerTransform
    from suffice.reporting.build import report
    from suffice.reporting.report import Report
    from suffice.sources.predict import predict_stream
    from suffice.sources.summarize import summarize

__version__ = "0.1.0"

# public name → the module that defines it; imported when first asked for
_HOMES = {
    "AutoGaussian": "suffice.estimators.auto",
    "GaussianClassifier": "suffice.estimators.gaussian",
    "LDA": "suffice.estimators.presets",
    "QDA": "suffice.estimators.presets",
    "RDA": "suffice.estimators.presets",
    "GaussianNB": "suffice.estimators.presets",
    "Hyperplane": "suffice.model.geometry",
    "Quadric": "suffice.model.geometry",
    "Moments": "suffice.moments",
    "NormalInverseWishart": "suffice.estimation.niw",
    "PowerTransform": "suffice.power",
    "cross_validate": "suffice.evaluation.cross_validation",
    "cross_validate_stream": "suffice.evaluation.streamed",
    "box_m": "suffice.evaluation.diagnostics",
    "calibration": "suffice.evaluation.diagnostics",
    "class_separation": "suffice.evaluation.diagnostics",
    "feature_tests": "suffice.evaluation.diagnostics",
    "hotelling_t2": "suffice.evaluation.diagnostics",
    "normality": "suffice.evaluation.diagnostics",
    "predictive_check": "suffice.evaluation.diagnostics",
    "leave_one_out": "suffice.evaluation.leave_one_out",
    "load": "suffice.files",
    "predict_stream": "suffice.sources.predict",
    "summarize": "suffice.sources.summarize",
    "LeastSquaresClassifier": "suffice.estimators.least_squares",
    "LinearGaussianRegressor": "suffice.estimators.least_squares",
    "LogisticRegression": "suffice.estimators.logistic",
    "Perceptron": "suffice.estimators.perceptron",
    "compare": "suffice.evaluation.compare",
    "select": "suffice.evaluation.compare",
    "learning_curve": "suffice.evaluation.learning_curve",
    "split": "suffice.evaluation.splitting",
    "Report": "suffice.reporting",
    "report": "suffice.reporting",
}

# rooms that are used by name: sf.plots.roc(...)
_ROOMS = ("datasets", "plots")

__all__ = [
    "LDA",
    "QDA",
    "RDA",
    "AutoGaussian",
    "GaussianClassifier",
    "GaussianNB",
    "Hyperplane",
    "LeastSquaresClassifier",
    "LinearGaussianRegressor",
    "LogisticRegression",
    "Moments",
    "NormalInverseWishart",
    "Perceptron",
    "PowerTransform",
    "Quadric",
    "Report",
    "box_m",
    "calibration",
    "class_separation",
    "compare",
    "cross_validate",
    "cross_validate_stream",
    "feature_tests",
    "hotelling_t2",
    "learning_curve",
    "leave_one_out",
    "load",
    "normality",
    "predict_stream",
    "predictive_check",
    "report",
    "select",
    "split",
    "summarize",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"suffice.{name}")
    if name not in _HOMES:
        msg = f"module 'suffice' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
