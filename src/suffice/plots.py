"""Figures: each takes data or a fitted classifier, draws with matplotlib, and returns axes.

A class has the same colour and marker in all figures, distinguishable with any colour vision and
in grey print. Backgrounds are transparent; ``theme="dark"`` uses light ink.
"""

from suffice.core.decision.predictions import Predictions
from suffice.present.plots.densities import class_densities, density_contours, density_surface
from suffice.present.plots.error_rates import (
    confusion_matrix,
    precision_recall,
    reliability,
    roc,
)
from suffice.present.plots.hyperplanes import hyperplane, perceptron_steps
from suffice.present.plots.importance import coefficient_importance
from suffice.present.plots.neighbours import effect_of_neighbours, neighbourhood
from suffice.present.plots.panels import pairs, real_against_synthetic
from suffice.present.plots.paths import loss_surface
from suffice.present.plots.posteriors import (
    effect_of_temperature,
    posterior_line,
    posterior_surface,
)
from suffice.present.plots.regions import decision_regions
from suffice.present.plots.regression import regression_line
from suffice.present.plots.thresholds import cost_against_threshold, error_against_threshold

__all__ = [
    "Predictions",
    "class_densities",
    "coefficient_importance",
    "confusion_matrix",
    "cost_against_threshold",
    "decision_regions",
    "density_contours",
    "density_surface",
    "effect_of_neighbours",
    "effect_of_temperature",
    "error_against_threshold",
    "hyperplane",
    "loss_surface",
    "neighbourhood",
    "pairs",
    "perceptron_steps",
    "posterior_line",
    "posterior_surface",
    "precision_recall",
    "real_against_synthetic",
    "regression_line",
    "reliability",
    "roc",
]
