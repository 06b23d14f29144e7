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
    from suffice.evaluation.learning_curve import learning_curve
    from suffice.evaluation.leave_one_out import leave_one_out
    from suffice.evaluation.splitting import split
    from suffice.files import load
    from suffice.model.geometry import Hyperplane, Quadric
    from suffice.moments import Moments
    from suffice.power import PowerTransform
    from suffice.reporting import Report, report
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
    "compare",
    "cross_validate",
    "learning_curve",
    "leave_one_out",
    "load",
    "predict_stream",
    "report",
    "select",
    "split",
    "summarize",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'suffice' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
