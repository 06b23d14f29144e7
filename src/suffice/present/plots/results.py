"""Results that draw themselves: diagnostics, comparisons, cross-validation, learning curves."""

from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.special import chdtri

from suffice.core.decision.predictions import LEVEL
from suffice.core.text.lists import shortened
from suffice.core.text.numbers import p_statement
from suffice.evaluate.comparison import Comparison
from suffice.evaluate.comparison.bias_variance import BiasVariance
from suffice.evaluate.comparison.learning_curve import LearningCurve
from suffice.evaluate.diagnostics import (
    BoxM,
    Calibration,
    ClassSeparation,
    Normality,
    PredictiveCheck,
)
from suffice.evaluate.diagnostics.drift import Drift
from suffice.evaluate.diagnostics.predictive import LEVELS
from suffice.present.plots.canvas import Canvas, many_axes, write_legend
from suffice.present.plots.style import COLOURS, LIGHT, Theme, looks_of
from suffice.selection.validation.cross_validation import CrossValidation

_MOST_COLUMNS = 30  # of a drift, that are drawn


def box_m(found: BoxM, ax: Any) -> None:
    """Draw how much more each class spreads than the pool, with two standard errors."""
    place = np.arange(len(found.classes))
    ax.axvline(0.0, color="0.6", lw=1)
    ax.errorbar(found.log_det_excess, place, xerr=2 * found.log_det_errors, fmt="o", capsize=3)
    ax.set_yticks(place, [str(label) for label in found.classes], parse_math=False)
    ax.set(xlabel="log |Σₖ| − log |Σ pooled|", title=f"Box's M, {p_statement(found.p_value)}")


def bias_variance(found: BiasVariance, ax: Any) -> None:
    """Draw squared bias and variance of each classifier, one upon the other."""
    names, bias, variance = zip(*(list(row.values())[:3] for row in found.table), strict=True)
    ax.barh(names, bias, label="squared bias", color=COLOURS[0])
    ax.barh(names, variance, left=bias, label="variance", color=COLOURS[1], hatch="//")
    ax.invert_yaxis()
    ax.set_xlabel("mean squared distance of the posteriors from the true ones")
    ax.set_title(f"{found.repeats} training sets of {found.n_rows} rows")
    ax.legend()


def calibration(found: Calibration, ax: Any) -> None:
    """Draw observed against predicted probability of the most probable class."""
    bins = found.bins
    error = np.stack([bins.observed - bins.low, bins.high - bins.observed])
    ax.plot([0, 1], [0, 1], color="0.6", lw=1)
    ax.errorbar(bins.stated, bins.observed, yerr=error, fmt="o", capsize=3)
    ax.set_xlabel("predicted probability of the most probable class")
    ax.set_ylabel("share of rows where it is right")
    ax.set_title(f"calibration error {found.calibration_error:.3f}")


def class_separation(found: ClassSeparation, ax: Any) -> None:
    """Draw the share of each discriminant direction in the separation."""
    place = np.arange(1, len(found.roots) + 1)
    ax.bar(place, found.roots / max(found.roots.sum(), np.finfo(float).tiny))
    ax.set(xticks=place, xlabel="discriminant direction", ylabel="share of the separation")
    ax.set_title(f"Wilks' Λ = {found.wilks_lambda:.3g}, {p_statement(found.p_value)}")


def normality(found: Normality, ax: Any) -> None:
    """Draw −log₁₀ p of each class, with the 5 % level."""
    place = np.arange(len(found.classes))
    ax.bar(place, -np.log10(np.maximum(found.adjusted_p_values, 1e-16)))
    ax.axhline(-np.log10(LEVEL), color="0.4", lw=1, ls="--")
    ax.set_xticks(place, [str(label) for label in found.classes], parse_math=False)
    ax.set_ylabel("−log₁₀ p, adjusted")


def predictive_check(found: PredictiveCheck, ax: Any) -> None:
    """Draw quantiles of distances against χ², with the range of the replicates."""
    expected = chdtri(len(found.feature_names), 1 - LEVELS)
    ax.plot(expected, expected, color="0.6", lw=1)
    entries = []
    for k, look in enumerate(looks_of(found.classes)):
        ax.fill_between(expected, *found.envelope[:, k], color=look.colour, alpha=0.15, lw=0)
        (line,) = ax.plot(expected, found.quantiles[0, k], color=look.colour)
        entries.append((line, look.name))
    ax.set_xlabel("squared distance that a Gaussian leads one to expect")
    ax.set_ylabel("squared Mahalanobis distance of the rows")
    write_legend(ax, entries, LIGHT, loc="best")


def drift(found: Drift, ax: Any) -> None:
    """Draw the effect of each column, those that moved significantly filled."""
    rows = found.rows()[:_MOST_COLUMNS][::-1]
    place = np.arange(len(rows))
    effects = np.clip([abs(row["effect"]) for row in rows], 0, 10)
    colors = ["C1" if row["moved"] else "none" for row in rows]
    ax.hlines(place, 0, effects, color="0.7", lw=1)
    ax.scatter(effects, place, c=colors, edgecolors="C1", zorder=3)
    ax.set_yticks(place, [f"{row['column']}: {row['what']}" for row in rows], parse_math=False)
    ax.set_xlim(left=-0.03 * max(effects.max(initial=0.0), 0.1))
    ax.set_xlabel("change: mean in standard deviations, log spread, or share")
    together = (
        "" if np.isnan(found.p_value) else f", all together {p_statement(found.p_value)}"
    )
    ax.set_title(f"{len(found.moved)} columns moved{together}")


# in the order of the columns of fold_losses
NAMES = {"error": "error rate", "log_loss": "log-loss", "brier": "Brier score"}
SYMBOLS = {"pooling": "pooling λ", "shrinkage": "shrinkage γ"}
INK, BEST, ONE_SE = "#2b5c8a", "#c8553d", "#3f7f5f"
MOST_BARS = 30


def cross_validation(result: CrossValidation, ax: Any) -> None:
    """Draw the criterion over the grid: a curve of one number, a map of two, else a ranking."""
    names = dict.fromkeys(name for params in result.params for name in params)
    varied = [name for name in names if len({repr(p.get(name)) for p in result.params}) > 1]
    values = [p.get(name) for p in result.params for name in varied]
    numeric = all(isinstance(v, (int, float, np.number)) for v in values)
    few = numeric and not any(isinstance(v, bool) for v in values)
    draw = {1: _path, 2: _map}.get(len(varied), _ranking) if few else _ranking
    column = list(NAMES).index(result.criterion)
    draw(result, varied, result.means[:, column], result.standard_errors[:, column], ax)


def _path(
    result: CrossValidation,
    varied: list[str],
    means: Any,
    errors: Any,
    ax: Any,
) -> None:
    (name,) = varied
    values = np.array([float(p[name]) for p in result.params])
    order = np.argsort(values, kind="stable")
    x, mean, error = values[order], means[order], errors[order]
    ax.fill_between(x, mean - error, mean + error, color=INK, alpha=0.18, linewidth=0)
    ax.plot(x, mean, "o-", color=INK, markersize=3.5, label="mean ± one standard error")
    ax.axvline(float(result.best_params[name]), color=BEST, label="best")
    dashed = {"color": ONE_SE, "linestyle": "--", "label": "one standard error"}
    ax.axvline(float(result.one_se_params[name]), **dashed)
    positive = x[x > 0]
    if len(positive) > 2 and x.min() >= 0 and positive.max() > 1e3 * positive.min():
        ax.set_xscale("symlog", linthresh=positive.min())
    ax.set(xlabel=SYMBOLS.get(name, name), ylabel=f"held-out {NAMES[result.criterion]}")
    ax.legend(frameon=False)


def _map(result: CrossValidation, varied: list[str], means: Any, _: Any, ax: Any) -> None:
    columns = ([float(p[name]) for p in result.params] for name in varied)
    (xs, across), (ys, up) = (np.unique(values, return_inverse=True) for values in columns)
    table = np.full((len(ys), len(xs)), np.nan)
    table[up, across] = means
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="cividis_r")
    ax.figure.colorbar(image, ax=ax, label=f"held-out {NAMES[result.criterion]}")
    best, one_se = (result.params.index(p) for p in (result.best_params, result.one_se_params))
    ring = {"fillstyle": "none", "mew": 2}
    ax.plot(across[best], up[best], "o", color=BEST, markersize=8, label="best", **ring)
    ring |= {"markersize": 12, "label": "one standard error"}
    ax.plot(across[one_se], up[one_se], "s", color=ONE_SE, **ring)
    ax.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    ax.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    ax.set(xlabel=SYMBOLS.get(varied[0], varied[0]), ylabel=SYMBOLS.get(varied[1], varied[1]))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _ranking(
    result: CrossValidation,
    varied: list[str],
    means: Any,
    errors: Any,
    ax: Any,
) -> None:
    order = np.argsort(means, kind="stable")[:MOST_BARS]
    colours = [BEST if i == result.best_index else INK for i in order]
    places = np.arange(len(order))
    ax.errorbar(means[order], places, xerr=errors[order], fmt="none", ecolor=INK, alpha=0.5)
    ax.scatter(means[order], places, c=colours, zorder=3)
    texts = [", ".join(f"{n}={result.params[i].get(n)!r}" for n in varied) for i in order]
    ax.set_yticks(places, texts if varied else ["the estimator"], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(f"held-out {NAMES[result.criterion]}, ± one standard error")


WIDTH, LINE = 7.6, 0.3  # inches: of the figure, and for each member
LONGEST = 30  # letters of a name


def comparison(result: Comparison, theme: Theme) -> Any:
    """Return two axes: the error of each member with its interval, and its log-loss."""
    # sorted by error; those not significantly different from the best are in colour
    members = [row for row in result.rows() if not row["failure"]]
    names = shortened([row["model"] for row in members], LONGEST)
    size = (WIDTH, 1.25 + LINE * len(members))
    with many_axes(theme, size, (1, 2), sharey=True, width_ratios=(1.2, 1)) as (
        (error, loss),
    ):
        style, axes = error.style, [error.ax, loss.ax]
        _draw_members(error, loss, members)
        error.ax.set(xlim=(0, None), xlabel="error, with 95 % interval")
        error.ax.xaxis.set_major_formatter(_percent)
        _number_logs(loss.ax.xaxis)
        loss.ax.set_xlabel("log-loss ± standard error")
        error.ax.set_ylim(len(names) - 0.4, -0.6)
        error.ax.set_yticks(range(len(names)), labels=names, parse_math=False)
        for ax in axes:
            ax.grid(axis="x", color=style.grid)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
        if any(row["p_adjusted"] <= LEVEL for row in members):
            same, worse = "no significant difference from the best", f"worse, p ≤ {LEVEL:g}"
            said = ((style.accent, same), (style.soft, worse))
            dot: Any = {"marker": "o", "markersize": 6}
            entries = [(Line2D([], [], color=colour, **dot), words) for colour, words in said]
            above = {"loc": "outside upper center", "ncols": 2, "handlelength": 2.0}
            write_legend(error.ax.figure, entries, style, **above)
    return np.array(axes)


def _draw_members(error: Canvas, loss: Canvas, members: list[dict[str, Any]]) -> None:
    style = error.style
    loss.ax.set_xscale("log")
    for at, row in enumerate(members):
        colour = style.soft if row["p_adjusted"] <= LEVEL else style.accent
        bars = [(error, row["error_low"], row["error"], row["error_high"])]
        value, se = row["log_loss"], np.nan_to_num(row["log_loss_se"], posinf=0.0)
        if np.isnan(value):
            place = {"transform": loss.ax.get_yaxis_transform(), "va": "center", "fontsize": 8}
            loss.ax.text(0.02, at, "no posteriors", color=style.soft, **place)
        else:  # a bar cannot reach below zero on this scale: it stops at a tenth of the loss
            bars.append((loss, max(value - se, value / 10), value, value + se))
        for cell, low, middle, high in bars:
            cell.ax.plot([low, high], [at, at], color=colour, linewidth=1.4)
            cell.dot(middle, at, colour, 6.5)


def _percent(share: float, _: Any) -> str:
    return f"{100 * share:.3g} %"


def _number_logs(axis: Any) -> None:
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


SIZE = (8.2, 3.7)  # inches
MOST_TIMES = (
    200  # the smallest log-loss is shown: few rows can make posteriors far too confident
)
_PANELS = {"error": "error on test rows", "log_loss": "log-loss on test rows"}


def learning_curves(result: LearningCurve, theme: Theme) -> Any:
    """Return two axes: error and log-loss by the number of rows, bands of one standard error."""
    # generative members have full lines, discriminative ones are dashed
    with many_axes(theme, SIZE, (1, 2), [curve.name for curve in result.curves]) as (cells,):
        style = cells[0].style
        for cell, metric in zip(cells, _PANELS, strict=True):
            entries: list[tuple[Any, str]] = []
            for curve, look in zip(result.curves, cell.looks, strict=True):
                mean, se = curve.mean(metric), curve.standard_error(metric)
                line = {"linestyle": "-" if curve.generative else "--", "marker": look.marker}
                line |= {"color": look.colour, "markersize": 5}
                cell.ax.plot(result.sizes, mean, markeredgecolor=style.ground, **line)
                band = {"color": look.colour, "alpha": 0.16, "linewidth": 0}
                cell.ax.fill_between(result.sizes, mean - se, mean + se, **band)
                entries.append((Line2D([], [], **line), curve.name))
            _scale(cell.ax, result, metric)
            cell.ax.grid(axis="y", color=style.grid)
        write_legend(cells[0].ax.figure, entries, style, handlelength=3.0)
    return np.array([cell.ax for cell in cells])


def _scale(ax: Any, result: LearningCurve, metric: str) -> None:
    shown = result.sizes[_spaced(np.log(result.sizes))]
    ax.set(xscale="log", xlabel="rows learnt from", ylabel=_PANELS[metric])
    ax.set_xticks(shown, labels=[f"{size:,}" for size in shown])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks([], minor=True)
    means = np.stack([curve.mean(metric) for curve in result.curves])
    known = means[np.isfinite(means) & (means > 0)]
    low, high = (known.min(), known.max()) if len(known) else (0.1, 1.0)
    if metric == "error":
        ax.set_ylim(0, 1.08 * high)
        ax.yaxis.set_major_formatter(_percent)
    else:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.3, min(high, MOST_TIMES * low) * 1.3)
        _number_logs(ax.yaxis)


def _spaced(places: Any) -> list[int]:
    """Return the places that are far enough apart for their numbers to be written."""
    kept = [len(places) - 1]
    for at in range(len(places) - 2, -1, -1):
        if places[kept[-1]] - places[at] >= (places[-1] - places[0]) / 7:
            kept.append(at)
    return kept[::-1]
