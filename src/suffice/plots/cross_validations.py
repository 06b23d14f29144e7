"""The losses of a grid as a picture: a path of one parameter, a map of two, or a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.evaluation.cross_validated import CRITERIA

if TYPE_CHECKING:
    from suffice.evaluation.cross_validated import CrossValidation
    from suffice.typing import Floats

NAMES = {"error": "error rate", "log_loss": "log-loss", "brier": "Brier score"}
SYMBOLS = {"pooling": "pooling λ", "shrinkage": "shrinkage γ"}
INK, BEST, ONE_SE = "#2b5c8a", "#c8553d", "#3f7f5f"
MOST_BARS = 30


def plot(result: CrossValidation, ax: Any = None) -> Any:
    """Draw the criterion over the grid, mark the choices, and return the axes."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    varied = _varied(result)
    numeric = [name for name in varied if _is_numeric(result, name)]
    if len(varied) == len(numeric) == 1:
        _path(result, varied[0], ax)
    elif len(varied) == len(numeric) == 2:
        _map(result, varied[0], varied[1], ax)
    else:
        _ranking(result, varied, ax)
    return ax


def _varied(result: CrossValidation) -> list[str]:
    names = list(dict.fromkeys(name for params in result.params for name in params))
    return [name for name in names if len({repr(p.get(name)) for p in result.params}) > 1]


def _is_numeric(result: CrossValidation, name: str) -> bool:
    return all(
        isinstance(p.get(name), (int, float, np.number)) and not isinstance(p[name], bool)
        for p in result.params
    )


def _losses(result: CrossValidation) -> tuple[Floats, Floats]:
    column = CRITERIA.index(result.criterion)
    return result.means[:, column], result.standard_errors[:, column]


def _path(result: CrossValidation, name: str, ax: Any) -> None:
    values = np.array([float(p[name]) for p in result.params])
    order = np.argsort(values, kind="stable")
    means, errors = _losses(result)
    x, mean, error = values[order], means[order], errors[order]
    ax.fill_between(x, mean - error, mean + error, color=INK, alpha=0.18, linewidth=0)
    ax.plot(x, mean, "o-", color=INK, markersize=3.5, label="mean ± one standard error")
    ax.axvline(float(result.best_params[name]), color=BEST, label="best")
    ax.axvline(
        float(result.one_se_params[name]), color=ONE_SE, linestyle="--", label="one standard error"
    )
    positive = x[x > 0]
    if len(positive) > 2 and x.min() >= 0 and positive.max() > 1e3 * positive.min():
        ax.set_xscale("symlog", linthresh=positive.min())
    ax.set_xlabel(SYMBOLS.get(name, name))
    ax.set_ylabel(f"held-out {NAMES[result.criterion]}")
    ax.legend(frameon=False)


def _map(result: CrossValidation, across: str, up: str, ax: Any) -> None:
    xs = sorted({float(p[across]) for p in result.params})
    ys = sorted({float(p[up]) for p in result.params})
    table = np.full((len(ys), len(xs)), np.nan)
    means, _ = _losses(result)
    for params, mean in zip(result.params, means, strict=True):
        table[ys.index(float(params[up])), xs.index(float(params[across]))] = mean
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="cividis_r")
    ax.figure.colorbar(image, ax=ax, label=f"held-out {NAMES[result.criterion]}")
    for params, marker, colour, label in (
        (result.best_params, "o", BEST, "best"),
        (result.one_se_params, "s", ONE_SE, "one standard error"),
    ):
        at = (xs.index(float(params[across])), ys.index(float(params[up])))
        size = 12 if marker == "s" else 8
        ax.plot(*at, marker, color=colour, markersize=size, fillstyle="none", mew=2, label=label)
    ax.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    ax.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    ax.set_xlabel(SYMBOLS.get(across, across))
    ax.set_ylabel(SYMBOLS.get(up, up))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _ranking(result: CrossValidation, varied: list[str], ax: Any) -> None:
    means, errors = _losses(result)
    order = np.argsort(means, kind="stable")[:MOST_BARS]
    colours = [BEST if i == result.best_index else INK for i in order]
    places = np.arange(len(order))
    ax.errorbar(means[order], places, xerr=errors[order], fmt="none", ecolor=INK, alpha=0.5)
    ax.scatter(means[order], places, c=colours, zorder=3)
    texts = [", ".join(f"{n}={result.params[i].get(n)!r}" for n in varied) for i in order]
    ax.set_yticks(places, texts if varied else ["the estimator"])
    ax.invert_yaxis()
    ax.set_xlabel(f"held-out {NAMES[result.criterion]}, ± one standard error")
