"""Probabilistic classification from mergeable statistics.

Collect the sums of each class once, wherever the data lives; read every Gaussian classifier out
of them. ``import suffice as sf``, then ``sf.LDA().fit(X, y)`` or ``sf.Moments.of(X, y)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suffice import drawing

if TYPE_CHECKING:
    from suffice.comparison import compare, select
    from suffice.comparison.learning_curve import learning_curve
    from suffice.diagnostics import box_m, class_separation, predictive_check
    from suffice.diagnostics.calibration import calibration
    from suffice.diagnostics.normality import normality
    from suffice.estimation.normal_inverse_wishart import NormalInverseWishart
    from suffice.estimators.auto import AutoClassifier, AutoGaussian
    from suffice.estimators.encoder import TableEncoder
    from suffice.estimators.gaussian import LDA, QDA, RDA, GaussianClassifier, GaussianNB
    from suffice.estimators.least_squares import LeastSquaresClassifier, LinearGaussianRegressor
    from suffice.estimators.logistic import LogisticRegression
    from suffice.estimators.perceptron import Perceptron
    from suffice.files import load
    from suffice.model.geometry import Hyperplane, Quadric
    from suffice.moments import Moments
    from suffice.power import PowerTransform
    from suffice.reporting.build import Report, report
    from suffice.sources.predict import predict_stream
    from suffice.sources.summarize import summarize
    from suffice.validation.cross_validation import cross_validate
    from suffice.validation.leave_one_out import leave_one_out
    from suffice.validation.splitting import split
    from suffice.validation.streamed import cross_validate_stream

__version__ = "0.1.0"

# public name → the module that defines it; imported when first asked for
_HOMES = {
    "AutoClassifier": "suffice.estimators.auto",
    "AutoGaussian": "suffice.estimators.auto",
    "GaussianClassifier": "suffice.estimators.gaussian",
    "LDA": "suffice.estimators.gaussian",
    "QDA": "suffice.estimators.gaussian",
    "RDA": "suffice.estimators.gaussian",
    "GaussianNB": "suffice.estimators.gaussian",
    "Hyperplane": "suffice.model.geometry",
    "Quadric": "suffice.model.geometry",
    "Moments": "suffice.moments",
    "NormalInverseWishart": "suffice.estimation.normal_inverse_wishart",
    "PowerTransform": "suffice.power",
    "cross_validate": "suffice.validation.cross_validation",
    "cross_validate_stream": "suffice.validation.streamed",
    "box_m": "suffice.diagnostics",
    "calibration": "suffice.diagnostics",
    "class_separation": "suffice.diagnostics",
    "normality": "suffice.diagnostics",
    "predictive_check": "suffice.diagnostics",
    "leave_one_out": "suffice.validation.leave_one_out",
    "load": "suffice.files",
    "predict_stream": "suffice.sources.predict",
    "summarize": "suffice.sources.summarize",
    "LeastSquaresClassifier": "suffice.estimators.least_squares",
    "LinearGaussianRegressor": "suffice.estimators.least_squares",
    "LogisticRegression": "suffice.estimators.logistic",
    "Perceptron": "suffice.estimators.perceptron",
    "TableEncoder": "suffice.estimators.encoder",
    "compare": "suffice.comparison",
    "select": "suffice.comparison",
    "learning_curve": "suffice.comparison.learning_curve",
    "split": "suffice.validation.splitting",
    "Report": "suffice.reporting",
    "report": "suffice.reporting",
}

# rooms that are used by name: sf.plots.roc(...)
_ROOMS = ("datasets", "plots")

__all__ = [
    "LDA",
    "QDA",
    "RDA",
    "AutoClassifier",
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
    "TableEncoder",
    "box_m",
    "calibration",
    "class_separation",
    "compare",
    "cross_validate",
    "cross_validate_stream",
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


drawing.leads_to(
    plots=lambda: importlib.import_module("suffice.plots"),
    reporting=lambda: importlib.import_module("suffice.reporting"),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
