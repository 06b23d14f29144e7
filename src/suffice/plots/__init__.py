"""Figures: each takes data or a fitted classifier, draws with matplotlib, and returns axes.

Every class has one colour and marker in all figures, distinguishable with any colour vision and in
grey print. Backgrounds are transparent; ``theme="dark"`` writes in light ink.
"""

from collections.abc import Callable, Mapping
from typing import Any

from suffice.plots import paths, results
from suffice.plots.canvas import on_axes
from suffice.plots.densities import (
    class_densities,
    density_contours,
    density_surface,
    effect_of_temperature,
    posterior_line,
    posterior_surface,
)
from suffice.plots.error_rates import (
    confusion_matrix,
    cost_against_threshold,
    error_against_threshold,
    precision_recall,
    reliability,
    roc,
)
from suffice.plots.linear import (
    coefficient_importance,
    hyperplane,
    perceptron_steps,
    regression_line,
)
from suffice.plots.neighbours import effect_of_neighbours, neighbourhood
from suffice.plots.panels import pairs, real_against_synthetic
from suffice.plots.paths import loss_surface
from suffice.plots.regions import decision_regions
from suffice.validation.predictions import Predictions

# what results ask for when they draw themselves, through ``suffice.drawing``
DRAWERS: Mapping[str, Callable[..., Any]] = {
    "Box's M": on_axes(results.box_m), "bias and variance": on_axes(results.bias_variance),
    "calibration": on_axes(results.calibration), "path": paths.descent_figure,
    "class separation": on_axes(results.class_separation), "drift": on_axes(results.drift),
    "cross-validation": on_axes(results.cross_validation), "comparison": results.comparison,
    "normality": on_axes(results.normality), "learning curve": results.learning_curves,
    "predictive check": on_axes(results.predictive_check), "animated path": paths.descent_animation,
}  # fmt: skip

__all__ = [
    "Predictions", "class_densities", "coefficient_importance", "confusion_matrix",
    "cost_against_threshold", "decision_regions", "density_contours", "density_surface",
    "effect_of_neighbours", "effect_of_temperature", "error_against_threshold", "hyperplane",
    "loss_surface", "neighbourhood", "pairs", "perceptron_steps", "posterior_line",
    "posterior_surface", "precision_recall", "real_against_synthetic", "regression_line",
    "reliability", "roc",
]  # fmt: skip
