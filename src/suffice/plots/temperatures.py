"""What the temperature of posteriors does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from suffice.curves import temperature_curve
from suffice.curves.temperature import tempered
from suffice.plots.canvas import drawing
from suffice.plots.fitted import Fitted
from suffice.plots.plane import line_for
from suffice.plots.sources import predictions_of
from suffice.plots.style import palette_for
from suffice.table.labels import code_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from suffice.plots.canvas import Canvas
    from suffice.plots.style import Palette, Theme


def effect_of_temperature(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    label: Any = None,
    temperatures: Sequence[float] = (4.0, 2.0, 1.0, 0.5, 0.125),
    feature: Any = None,
    at: Any = None,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the posterior of a class along a line, softmax(log p / T), by T.

    Large temperatures T soften the posterior, T = 1 is Bayes, and as T falls to 0 the curves
    become the hard choice of the most probable class, drawn dashed.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, or any of scikit-learn with ``predict_proba``.
    X, y, feature, at
        As in ``posterior_line``.
    label : object, optional
        The class; by default the last.
    temperatures : sequence of float
        Positive T; base b instead of e is T = 1 / ln b.
    legend, palette, theme, ax
        As in ``decision_regions``.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*, 1321–1330.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> effect_of_temperature(sf.LDA().fit(X, y), X, label=1, feature=3).get_ylabel()
    'p(1 | x)'
    """
    fitted = Fitted.of(estimator, X)
    looks = palette_for(fitted.classes, palette)
    k = len(looks) - 1
    if label is not None:
        k = code_of(label, fitted.classes)
    line = line_for(fitted, y, feature, at)
    xs = line.stretch(fitted.rows)
    with np.errstate(divide="ignore"):
        logs = np.log(fitted.posteriors(line.lift(xs[:, None])))
    with drawing(ax, theme) as canvas:
        hard = (logs.argmax(axis=1) == k).astype(float)
        canvas.ax.plot(
            xs,
            hard,
            color=canvas.style.soft,
            linestyle="--",
            linewidth=1.1,
            label="_hard",
            zorder=1,
        )
        shades = _shades(canvas, looks.looks[k].colour, len(temperatures))
        for t, shade in zip(temperatures, shades, strict=True):
            p = np.exp(tempered(logs, t))[:, k]
            width = 2.6 if t == 1 else 1.6
            canvas.ax.plot(xs, p, color=shade, linewidth=width, label=f"_temperature {t:g}")
        canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(-0.02, 1.02), yticks=[0, 0.25, 0.5, 0.75, 1])
        canvas.name_axes(line.names[0], f"p({looks.names[k]} | x)")
        if legend:
            _legend(canvas, temperatures, shades)
    return canvas.axes


def temperature_loss(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    temperatures: Any = None,
    sample_weight: Any = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the log loss of posteriors by temperature, and where it is least.

    A best temperature over 1 says that posteriors are too confident, under 1 that they are not
    confident enough.

    Parameters
    ----------
    source, X, y, sample_weight
        As in ``roc``; best on rows that were not learnt from.
    temperatures : array, optional
        Temperatures to draw; by default from 0.1 to 10, and around the best.
    theme, ax
        As in ``decision_regions``.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*, 1321–1330.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> temperature_loss(sf.LDA().fit(X, y), X, y).get_xlabel()
    'temperature T'
    """
    curve = temperature_curve(predictions_of(source, X, y, sample_weight), temperatures)
    with drawing(ax, theme, (5.0, 3.6)) as canvas:
        style = canvas.style
        canvas.ax.axvline(1, color=style.grid, linewidth=1, zorder=0)
        canvas.ax.plot(curve.temperatures, curve.log_losses, color=style.accent, label="_loss")
        low, high = curve.temperatures.min(), curve.temperatures.max()
        if low <= curve.best <= high:
            canvas.ax.plot(
                curve.best,
                curve.best_log_loss,
                marker="o",
                markersize=6,
                color=style.accent,
                markeredgecolor=style.ground,
                zorder=3,
                label="_best",
            )
        canvas.ax.set_xscale("log")
        ticks = [t for t in (0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100) if low <= t <= high]
        canvas.ax.set_xticks(ticks, labels=[f"{t:g}" for t in ticks])
        canvas.ax.set_xticks([], minor=True)
        best = curve.best_log_loss
        now = float(np.interp(1.0, curve.temperatures, curve.log_losses))
        top = best + 1.6 * max(now - best, 0.4 * best)
        canvas.ax.set(xlim=(low, high), ylim=(0, min(top, 1.05 * float(curve.log_losses.max()))))
        canvas.ax.set_title(f"best T = {curve.best:.3g}", loc="right", color=style.ink)
        canvas.name_axes("temperature T", "mean log loss")
    return canvas.axes


def _shades(canvas: Canvas, colour: str, n: int) -> list[tuple[float, float, float]]:
    """Return n colours from pale to strong."""
    own, page = np.array(to_rgb(colour)), np.array(to_rgb(canvas.style.ground))
    ink = np.array(to_rgb(canvas.style.ink))
    strong = 0.7 * own + 0.3 * ink
    return [tuple(a * strong + (1 - a) * page) for a in np.linspace(0.35, 1, n)]


def _legend(canvas: Canvas, temperatures: Sequence[float], shades: Any) -> None:
    handles = [
        Line2D([], [], color=shade, linewidth=2.6 if t == 1 else 1.6)
        for t, shade in zip(temperatures, shades, strict=True)
    ]
    handles.append(Line2D([], [], color=canvas.style.soft, linestyle="--", linewidth=1.1))
    canvas.legend(handles, [f"T = {t:g}" for t in temperatures] + ["T → 0"])
