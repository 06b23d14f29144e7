"""Figures for the ``plot`` methods of diagnostics, of drift, and of bias and variance."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import chdtri

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.text.numbers import p_statement
from suffice.evaluate.comparison.bias_variance import BiasVariance
from suffice.evaluate.diagnostics import (
    BoxM,
    Calibration,
    ClassSeparation,
    Normality,
    PredictiveCheck,
)
from suffice.evaluate.diagnostics.drift import Drift
from suffice.evaluate.diagnostics.predictive_check import LEVELS
from suffice.present.plots.canvas import Entry, write_legend
from suffice.present.plots.style import COLOURS, LIGHT, looks_of

MOST_CHANGES = 30  # largest changes drawn for a drift
LARGEST_EFFECT = 10  # longer bars of a drift are cut off at this effect
SMALLEST_P = 1e-16


def axes_for(ax: Axes | None) -> Axes:
    """Return the given axes, or new axes."""
    if ax is not None:
        return ax
    return plt.subplots(layout="constrained")[1]


def box_m_figure(result: BoxM, ax: Axes | None = None) -> Axes:
    """Draw each class's log determinant minus the pooled one, ± two standard errors."""
    ax = axes_for(ax)
    positions = np.arange(len(result.classes))
    ax.axvline(0.0, color="0.6", lw=1)
    ax.errorbar(
        result.log_det_excess,
        positions,
        xerr=2 * result.log_det_errors,
        fmt="o",
        capsize=3,
    )
    ax.set_yticks(positions, [str(label) for label in result.classes], parse_math=False)
    ax.set_xlabel("log |Σₖ| − log |Σ pooled|")
    ax.set_title(f"Box's M, {p_statement(result.p_value)}")
    return ax


def bias_variance_figure(result: BiasVariance, ax: Axes | None = None) -> Axes:
    """Draw the squared bias and the variance of each classifier as stacked bars."""
    ax = axes_for(ax)
    rows = result.rows()
    names = [row["model"] for row in rows]
    squared_bias = [row["squared_bias"] for row in rows]
    variance = [row["variance"] for row in rows]
    ax.barh(names, squared_bias, label="squared bias", color=COLOURS[0])
    ax.barh(names, variance, left=squared_bias, label="variance", color=COLOURS[1], hatch="//")
    ax.invert_yaxis()
    ax.set_xlabel("mean squared distance of the posteriors from the true ones")
    ax.set_title(f"{result.repeats} training sets of {result.n_rows} rows")
    ax.legend()
    return ax


def calibration_figure(result: Calibration, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted probabilities of the most probable class."""
    ax = axes_for(ax)
    bins = result.bins
    error = np.stack([bins.observed - bins.low, bins.high - bins.observed])
    ax.plot([0, 1], [0, 1], color="0.6", lw=1)
    ax.errorbar(bins.stated, bins.observed, yerr=error, fmt="o", capsize=3)
    ax.set_xlabel("predicted probability of the most probable class")
    ax.set_ylabel("share of rows where it is right")
    ax.set_title(f"calibration error {result.calibration_error:.3f}")
    return ax


def class_separation_figure(result: ClassSeparation, ax: Axes | None = None) -> Axes:
    """Draw how much each discriminant direction contributes to the separation of the classes."""
    ax = axes_for(ax)
    positions = np.arange(1, len(result.roots) + 1)
    total = max(result.roots.sum(), np.finfo(float).tiny)
    ax.bar(positions, result.roots / total)
    ax.set_xticks(positions)
    ax.set_xlabel("discriminant direction")
    ax.set_ylabel("share of the separation")
    ax.set_title(f"Wilks' Λ = {result.wilks_lambda:.3g}, {p_statement(result.p_value)}")
    return ax


def normality_figure(result: Normality, ax: Axes | None = None) -> Axes:
    """Draw −log₁₀ p of each class, with the 5 % level."""
    ax = axes_for(ax)
    positions = np.arange(len(result.classes))
    ax.bar(positions, -np.log10(np.maximum(result.adjusted_p_values, SMALLEST_P)))
    ax.axhline(-np.log10(LEVEL), color="0.4", lw=1, ls="--")
    ax.set_xticks(positions, [str(label) for label in result.classes], parse_math=False)
    ax.set_ylabel("−log₁₀ p, adjusted")
    return ax


def predictive_check_figure(result: PredictiveCheck, ax: Axes | None = None) -> Axes:
    """Draw quantiles of squared distances against those of χ², with their simulated range."""
    ax = axes_for(ax)
    expected = chdtri(len(result.feature_names), 1 - LEVELS)
    ax.plot(expected, expected, color="0.6", lw=1)
    low, high = result.envelope
    entries: list[Entry] = []
    for k, look in enumerate(looks_of(result.classes)):
        ax.fill_between(expected, low[k], high[k], color=look.colour, alpha=0.15, lw=0)
        (line,) = ax.plot(expected, result.quantiles[0, k], color=look.colour)
        entries.append((line, look.name))
    ax.set_xlabel("squared distance that a Gaussian leads one to expect")
    ax.set_ylabel("squared Mahalanobis distance of the rows")
    write_legend(ax, entries, LIGHT, loc="best")
    return ax


def drift_figure(result: Drift, ax: Axes | None = None) -> Axes:
    """Draw the effect of each change, with a filled dot if it is significant."""
    ax = axes_for(ax)
    changes = result.rows()[:MOST_CHANGES]
    # the axis begins at the bottom, so the largest change, drawn last, is at the top
    changes.reverse()
    positions = np.arange(len(changes))
    effects = np.clip([abs(change["effect"]) for change in changes], 0, LARGEST_EFFECT)
    fills = ["C1" if change["moved"] else "none" for change in changes]
    names = [f"{change['column']}: {change['what']}" for change in changes]
    ax.hlines(positions, 0, effects, color="0.7", lw=1)
    ax.scatter(effects, positions, c=fills, edgecolors="C1", zorder=3)
    ax.set_yticks(positions, names, parse_math=False)
    ax.set_xlim(left=-0.03 * max(effects.max(initial=0.0), 0.1))
    ax.set_xlabel("change: mean in standard deviations, log spread, or share")
    title = f"{len(result.moved)} columns moved"
    if not np.isnan(result.p_value):
        title += f", all together {p_statement(result.p_value)}"
    ax.set_title(title)
    return ax
