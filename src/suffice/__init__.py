"""Probabilistic classification from mergeable statistics.

Collect the sums of each class once, wherever the data lives; read every Gaussian classifier out
of them. ``import suffice as sf``, then ``sf.LDA().fit(X, y)`` or ``sf.Moments.of(X, y)``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from suffice import drawing

if TYPE_CHECKING:
    from suffice.comparison import compare as compare
    from suffice.comparison import select as select
    from suffice.comparison.bias_variance import bias_variance as bias_variance
    from suffice.comparison.learning_curve import learning_curve as learning_curve
    from suffice.diagnostics import box_m as box_m
    from suffice.diagnostics import class_separation as class_separation
    from suffice.diagnostics import predictive_check as predictive_check
    from suffice.diagnostics.calibration import calibration as calibration
    from suffice.diagnostics.normality import normality as normality
    from suffice.discriminative.descent import descend as descend
    from suffice.estimation.normal_inverse_wishart import (
        NormalInverseWishart as NormalInverseWishart,
    )
    from suffice.estimators.auto import AutoClassifier as AutoClassifier
    from suffice.estimators.auto import AutoGaussian as AutoGaussian
    from suffice.estimators.encoder import TableEncoder as TableEncoder
    from suffice.estimators.gaussian import LDA as LDA
    from suffice.estimators.gaussian import QDA as QDA
    from suffice.estimators.gaussian import RDA as RDA
    from suffice.estimators.gaussian import GaussianClassifier as GaussianClassifier
    from suffice.estimators.gaussian import GaussianNB as GaussianNB
    from suffice.estimators.linear import LeastSquaresClassifier as LeastSquaresClassifier
    from suffice.estimators.linear import LinearGaussianRegressor as LinearGaussianRegressor
    from suffice.estimators.logistic import LogisticRegression as LogisticRegression
    from suffice.estimators.mixture import MixtureClassifier as MixtureClassifier
    from suffice.estimators.perceptron import Perceptron as Perceptron
    from suffice.files import load as load
    from suffice.model.geometry.hyperplanes_and_quadrics import Hyperplane as Hyperplane
    from suffice.model.geometry.hyperplanes_and_quadrics import Quadric as Quadric
    from suffice.moments import Moments as Moments
    from suffice.power_transform import PowerTransform as PowerTransform
    from suffice.reporting.build import Report as Report
    from suffice.reporting.build import report as report
    from suffice.sources.predict import predict_stream as predict_stream
    from suffice.sources.summarize import summarize as summarize
    from suffice.store import MomentStore as MomentStore
    from suffice.validation.cross_validation import cross_validate as cross_validate
    from suffice.validation.folds import split as split
    from suffice.validation.leave_one_out import leave_one_out as leave_one_out
    from suffice.validation.streamed import cross_validate_stream as cross_validate_stream

__version__ = "0.1.0"

# room → the public names that it defines; imported when first asked for
_HOMES = {
    name: f"suffice.{room}"
    for room, names in {
        "comparison": "compare select",
        "comparison.bias_variance": "bias_variance",
        "comparison.learning_curve": "learning_curve",
        "diagnostics": "box_m calibration class_separation normality predictive_check",
        "discriminative.descent": "descend",
        "estimation.normal_inverse_wishart": "NormalInverseWishart",
        "estimators.auto": "AutoClassifier AutoGaussian",
        "estimators.encoder": "TableEncoder",
        "estimators.gaussian": "GaussianClassifier LDA QDA RDA GaussianNB",
        "estimators.linear": "LeastSquaresClassifier LinearGaussianRegressor",
        "estimators.logistic": "LogisticRegression",
        "estimators.mixture": "MixtureClassifier",
        "estimators.perceptron": "Perceptron",
        "files": "load",
        "model.geometry.hyperplanes_and_quadrics": "Hyperplane Quadric",
        "moments": "Moments",
        "power_transform": "PowerTransform",
        "reporting": "Report report",
        "sources.predict": "predict_stream",
        "sources.summarize": "summarize",
        "store": "MomentStore",
        "validation.cross_validation": "cross_validate",
        "validation.leave_one_out": "leave_one_out",
        "validation.folds": "split",
        "validation.streamed": "cross_validate_stream",
    }.items()
    for name in names.split()
}

# rooms that are used by name: sf.plots.roc(...)
_ROOMS = ("datasets", "plots")

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"suffice.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


drawing.leads_to(
    plots=lambda: importlib.import_module("suffice.plots"),
    reporting=lambda: importlib.import_module("suffice.reporting"),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
