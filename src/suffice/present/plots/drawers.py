"""Figures of results that draw themselves."""

from collections.abc import Callable, Mapping
from typing import Any

from suffice.present.plots import paths, results
from suffice.present.plots.canvas import on_axes

DRAWERS: Mapping[str, Callable[..., Any]] = {
    "Box's M": on_axes(results.box_m),
    "bias and variance": on_axes(results.bias_variance),
    "calibration": on_axes(results.calibration),
    "path": paths.descent_figure,
    "class separation": on_axes(results.class_separation),
    "drift": on_axes(results.drift),
    "cross-validation": on_axes(results.cross_validation),
    "comparison": results.comparison,
    "normality": on_axes(results.normality),
    "learning curve": results.learning_curves,
    "predictive check": on_axes(results.predictive_check),
    "animated path": paths.descent_animation,
}
