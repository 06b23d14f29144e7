"""Drawings of the answers of diagnostics and the like; each draws into ``ax`` and returns it."""

from typing import Any

import numpy as np
from scipy.special import chdtri

from suffice.comparison.bias_variance import BiasVariance
from suffice.diagnostics import BoxM, Calibration, ClassSeparation, Normality, PredictiveCheck
from suffice.diagnostics.predictive import LEVELS
from suffice.plots.canvas import new_axes
from suffice.plots.style import COLOURS
from suffice.text.numbers import p_statement
from suffice.validation.drift import Drift
from suffice.validation.significance import LEVEL

_MOST_COLUMNS = 30  # of a drift, that are drawn


def box_m(found: BoxM, ax: Any = None) -> Any:
    """Draw how much more each class spreads than the pool, with two standard errors."""
    ax = new_axes(ax)
    place = np.arange(len(found.classes))
    ax.axvline(0.0, color="0.6", lw=1)
    ax.errorbar(found.log_det_excess, place, xerr=2 * found.log_det_errors, fmt="o", capsize=3)
    ax.set_yticks(place, [str(label) for label in found.classes])
    ax.set_xlabel("log |Σₖ| − log |Σ pooled|")
    ax.set_title(f"Box's M, {p_statement(found.p_value)}")
    return ax


def bias_variance(found: BiasVariance, ax: Any = None) -> Any:
    """Draw squared bias and variance of each classifier, one upon the other."""
    ax = new_axes(ax)
    names, bias, variance = zip(*(list(row.values())[:3] for row in found.table), strict=True)
    ax.barh(names, bias, label="squared bias", color=COLOURS[0])
    ax.barh(names, variance, left=bias, label="variance", color=COLOURS[1], hatch="//")
    ax.invert_yaxis()
    ax.set_xlabel("mean squared distance of the posteriors from the true ones")
    ax.set_title(f"{found.repeats} training sets of {found.n_rows} rows")
    ax.legend()
    return ax


def calibration(found: Calibration, ax: Any = None) -> Any:
    """Draw observed against predicted probability of the most probable class."""
    ax = new_axes(ax)
    bins = found.bins
    error = np.stack([bins.observed - bins.low, bins.high - bins.observed])
    ax.plot([0, 1], [0, 1], color="0.6", lw=1)
    ax.errorbar(bins.stated, bins.observed, yerr=error, fmt="o", capsize=3)
    ax.set_xlabel("predicted probability of the most probable class")
    ax.set_ylabel("share of rows where it is right")
    ax.set_title(f"calibration error {found.calibration_error:.3f}")
    return ax


def class_separation(found: ClassSeparation, ax: Any = None) -> Any:
    """Draw the share of each discriminant direction in the separation."""
    ax = new_axes(ax)
    place = np.arange(1, len(found.roots) + 1)
    ax.bar(place, found.roots / max(found.roots.sum(), np.finfo(float).tiny))
    ax.set_xticks(place)
    ax.set_xlabel("discriminant direction")
    ax.set_ylabel("share of the separation")
    ax.set_title(f"Wilks' Λ = {found.wilks_lambda:.3g}, {p_statement(found.p_value)}")
    return ax


def normality(found: Normality, ax: Any = None) -> Any:
    """Draw −log₁₀ p of each class, with the 5 % level."""
    ax = new_axes(ax)
    place = np.arange(len(found.classes))
    ax.bar(place, -np.log10(np.maximum(found.adjusted_p_values, 1e-16)))
    ax.axhline(-np.log10(LEVEL), color="0.4", lw=1, ls="--")
    ax.set_xticks(place, [str(label) for label in found.classes])
    ax.set_ylabel("−log₁₀ p, adjusted")
    return ax


def predictive_check(found: PredictiveCheck, ax: Any = None) -> Any:
    """Draw quantiles of distances against χ², with the range of the replicates."""
    ax = new_axes(ax)
    expected = chdtri(len(found.feature_names), 1 - LEVELS)
    ax.plot(expected, expected, color="0.6", lw=1)
    for k, label in enumerate(found.classes):
        color = f"C{k % 10}"
        ax.fill_between(expected, *found.envelope[:, k], color=color, alpha=0.15, lw=0)
        ax.plot(expected, found.quantiles[0, k], color=color, label=str(label))
    ax.set_xlabel("squared distance that a Gaussian leads one to expect")
    ax.set_ylabel("squared Mahalanobis distance of the rows")
    ax.legend()
    return ax


def drift(found: Drift, ax: Any = None) -> Any:
    """Draw the effect of each column, those that moved significantly filled."""
    ax = new_axes(ax)
    rows = found.rows()[:_MOST_COLUMNS][::-1]
    place = np.arange(len(rows))
    effects = np.clip([abs(row["effect"]) for row in rows], 0, 10)
    colors = ["C1" if row["moved"] else "none" for row in rows]
    ax.hlines(place, 0, effects, color="0.7", lw=1)
    ax.scatter(effects, place, c=colors, edgecolors="C1", zorder=3)
    ax.set_yticks(place, [f"{row['column']}: {row['what']}" for row in rows])
    ax.set_xlim(left=-0.03 * max(effects.max(initial=0.0), 0.1))
    ax.set_xlabel("change: mean in standard deviations, log spread, or share")
    together = "" if np.isnan(found.p_value) else f", all together {p_statement(found.p_value)}"
    ax.set_title(f"{len(found.moved)} columns moved{together}")
    return ax
