"""The figure for the ``plot`` method of cross-validation."""

import numpy as np
from matplotlib.axes import Axes

from suffice.core.decision.predictions import CRITERIA
from suffice.present.plots.results import axes_for
from suffice.selection.validation.cross_validation import CrossValidation
from suffice.typing import Floats

LOSS_NAMES = {"error": "error rate", "log_loss": "log-loss", "brier": "Brier score"}
AXIS_NAMES = {"pooling": "pooling λ", "shrinkage": "shrinkage γ"}
INK = "#2b5c8a"
BEST = "#c8553d"
ONE_SE = "#3f7f5f"
MOST_CANDIDATES = 30  # largest number of candidates in a ranking
# the axis is logarithmic if the largest value is at least this multiple of the smallest
WIDE_RANGE = 1e3


def cross_validation_figure(result: CrossValidation, ax: Axes | None = None) -> Axes:
    """Draw the criterion as a curve over one number, a map over two, or else a ranking."""
    ax = axes_for(ax)
    varied = _varied_settings(result)
    all_numbers = all(
        _is_number(params.get(name)) for params in result.params for name in varied
    )
    column = CRITERIA.index(result.criterion)
    means = result.means[:, column]
    standard_errors = result.standard_errors[:, column]
    if all_numbers and len(varied) == 1:
        _draw_curve(ax, result, varied[0], means, standard_errors)
    elif all_numbers and len(varied) == 2:
        _draw_map(ax, result, varied[0], varied[1], means)
    else:
        _draw_ranking(ax, result, varied, means, standard_errors)
    return ax


def _varied_settings(result: CrossValidation) -> list[str]:
    """Return the names of settings that differ between candidates, in the order of the grid."""
    names = dict.fromkeys(name for params in result.params for name in params)
    varied = []
    for name in names:
        values = {repr(params.get(name)) for params in result.params}
        if len(values) > 1:
            varied.append(name)
    return varied


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _draw_curve(
    ax: Axes,
    result: CrossValidation,
    name: str,
    means: Floats,
    standard_errors: Floats,
) -> None:
    values = np.array([float(params[name]) for params in result.params])
    order = np.argsort(values, kind="stable")
    x = values[order]
    mean = means[order]
    error = standard_errors[order]
    ax.fill_between(x, mean - error, mean + error, color=INK, alpha=0.18, linewidth=0)
    ax.plot(x, mean, "o-", color=INK, markersize=3.5, label="mean ± one standard error")
    ax.axvline(float(result.best_params[name]), color=BEST, label="best")
    ax.axvline(
        float(result.one_se_params[name]),
        color=ONE_SE,
        linestyle="--",
        label="one standard error",
    )
    positive = x[x > 0]
    if len(positive) > 2 and x.min() >= 0 and positive.max() > WIDE_RANGE * positive.min():
        ax.set_xscale("symlog", linthresh=positive.min())
    ax.set_xlabel(AXIS_NAMES.get(name, name))
    ax.set_ylabel(f"held-out {LOSS_NAMES[result.criterion]}")
    ax.legend(frameon=False)


def _draw_map(
    ax: Axes,
    result: CrossValidation,
    x_name: str,
    y_name: str,
    means: Floats,
) -> None:
    x_values = [float(params[x_name]) for params in result.params]
    y_values = [float(params[y_name]) for params in result.params]
    xs, columns = np.unique(x_values, return_inverse=True)
    ys, rows = np.unique(y_values, return_inverse=True)
    table = np.full((len(ys), len(xs)), np.nan)
    table[rows, columns] = means
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="cividis_r")
    ax.figure.colorbar(image, ax=ax, label=f"held-out {LOSS_NAMES[result.criterion]}")
    best = result.best_index
    one_se = result.params.index(result.one_se_params)
    ax.plot(
        columns[best],
        rows[best],
        "o",
        color=BEST,
        markersize=8,
        fillstyle="none",
        markeredgewidth=2,
        label="best",
    )
    ax.plot(
        columns[one_se],
        rows[one_se],
        "s",
        color=ONE_SE,
        markersize=12,
        fillstyle="none",
        markeredgewidth=2,
        label="one standard error",
    )
    ax.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    ax.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    ax.set_xlabel(AXIS_NAMES.get(x_name, x_name))
    ax.set_ylabel(AXIS_NAMES.get(y_name, y_name))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _draw_ranking(
    ax: Axes,
    result: CrossValidation,
    varied: list[str],
    means: Floats,
    standard_errors: Floats,
) -> None:
    order = np.argsort(means, kind="stable")[:MOST_CANDIDATES]
    positions = np.arange(len(order))
    colours = [BEST if i == result.best_index else INK for i in order]
    names = [_candidate_name(result, varied, i) for i in order]
    ax.errorbar(
        means[order],
        positions,
        xerr=standard_errors[order],
        fmt="none",
        ecolor=INK,
        alpha=0.5,
    )
    ax.scatter(means[order], positions, c=colours, zorder=3)
    ax.set_yticks(positions, names, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(f"held-out {LOSS_NAMES[result.criterion]}, ± one standard error")


def _candidate_name(result: CrossValidation, varied: list[str], candidate: int) -> str:
    if not varied:
        return "the estimator"
    params = result.params[candidate]
    return ", ".join(f"{name}={params.get(name)!r}" for name in varied)
