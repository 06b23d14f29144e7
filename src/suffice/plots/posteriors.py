"""Posteriors of the classes, along a line, by temperature, and over a plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from suffice.plots import marks
from suffice.plots.canvas import SOLID, Canvas, figure
from suffice.plots.inputs import Fitted, classifier_with
from suffice.plots.plane import Plane, line_for, mesh, plane_for
from suffice.plots.regions import jitter
from suffice.plots.style import mixed
from suffice.table.labels import code_of
from suffice.typing import Floats


def _along(fitted: Fitted, y: Any, feature: Any, at: Any) -> tuple[Plane, Floats, Floats]:
    """Return a line through feature space, places (n,) on it, and the posteriors there, (n, K)."""
    line = line_for(fitted, y, feature, at)
    low, high = line.window(fitted.rows, 0.1)[0]
    xs = np.linspace(low, high, 601)
    return line, xs, fitted.posteriors(line.lift(xs[:, None]))


@figure("legend", of=classifier_with)
def posterior_line(
    canvas: Canvas, fitted: Fitted, y: Any = None, *, feature: Any = None, at: Any = None
) -> None:
    """Return axes with the posterior of each class along a line through feature space.

    Of two classes the second is drawn, a sigmoid where log odds are linear, with the rows at 0
    and 1; of more classes every one, a softmax, with the rows as ticks below.
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 4.2.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, or any of scikit-learn with ``predict_proba``.
    X : array or frame (n, d)
        Rows that set the window and are drawn if ``y`` is given.

    Examples
    --------
    >>> posterior_line(sf.LDA().fit(X, y), X, y, feature=3).get_xlabel()
    'x₄'
    """
    line, xs, p = _along(fitted, y, feature, at)
    for level in (0, 0.5, 1):
        canvas.ax.axhline(level, color=canvas.style.grid, linewidth=0.9, zorder=0)
    first = 1 if len(canvas.looks) == 2 else 0
    for k in range(first, len(canvas.looks)):
        canvas.curve(xs, p[:, k], k, "posterior", linewidth=2)
    canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(-0.09, 1.09) if first else (-0.02, 1.02))
    canvas.ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    what = f"p({canvas.looks[1].name} | x)" if first else "posterior"
    canvas.name_axes(line.names[0], what)
    if y is not None:
        x, codes = line.coordinates(fitted.rows)[:, 0], fitted.codes(y)
        if first:  # just under 0 and just over 1
            heights = np.where(codes == 1, 1.045, -0.045) + jitter(len(codes), 0.06)
            marks.points(canvas, np.stack([x, heights], axis=1), codes)
        else:
            marks.rug(canvas, x, codes, top=1.02)
    canvas.legend(canvas.entries(lines=not first))


@figure("legend", of=classifier_with)
def effect_of_temperature(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    label: Any = None,
    temperatures: Sequence[float] = (4.0, 2.0, 1.0, 0.5, 0.125),
    feature: Any = None,
    at: Any = None,
) -> None:
    """Return axes with the posterior of a class along a line, softmax(log p / T), by T.

    Large temperatures T soften the posterior, T = 1 is Bayes, and as T falls to 0 the curves
    become the hard choice of the most probable class, drawn dashed.
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*, 1321–1330.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, or any of scikit-learn with ``predict_proba``.
    label : object, optional
        The class; by default the last.
    temperatures : sequence of float
        Positive T; base b instead of e is T = 1 / ln b.

    Examples
    --------
    >>> effect_of_temperature(sf.LDA().fit(X, y), X, label=1, feature=3).get_ylabel()
    'p(1 | x)'
    """
    k = len(canvas.looks) - 1 if label is None else code_of(label, fitted.classes)
    way, xs, p = _along(fitted, y, feature, at)
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    hard = (p.argmax(axis=1) == k).astype(float)
    dashed = {"color": canvas.style.soft, "linestyle": "--", "linewidth": 1.1}
    (step,) = canvas.ax.plot(xs, hard, label="_hard", zorder=1, **dashed)
    strong, entries = mixed(canvas.looks[k].colour, canvas.style.ink, 0.7), []
    shades = mixed(strong, canvas.style.ground, np.linspace(0.35, 1, len(temperatures))[:, None])
    for t, shade in zip(temperatures, shades, strict=True):
        p, width = softmax(logs / t, axis=1)[:, k], 2.6 if t == 1 else 1.6
        line = {"color": shade, "linewidth": width, "label": f"_temperature {t:g}"}
        entries.append((canvas.ax.plot(xs, p, **line)[0], f"T = {t:g}"))
    canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(-0.02, 1.02), yticks=[0, 0.25, 0.5, 0.75, 1])
    canvas.name_axes(way.names[0], f"p({canvas.looks[k].name} | x)")
    canvas.legend([*entries, (step, "T → 0")])


@figure("legend", of=classifier_with, **SOLID)
def posterior_surface(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    label: Any = None,
    features: Any = None,
    at: Any = None,
    resolution: int = 90,
) -> None:
    """Return 3-D axes with the posterior of a class, or of every class, over a plane.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, or any of scikit-learn with ``predict_proba``.
    X : array or frame (n, d)
        Rows that set the window.
    y : array (n,), optional
        Their labels: needed for discriminant coordinates of a classifier that is not ours.
    label : object, optional
        The class whose posterior is drawn; by default the second of two, or every one of more,
        each where it is over 1 %.
    features : two names or indices, optional
        The features to draw over, the others held at ``at``.

    Examples
    --------
    >>> posterior_surface(sf.LDA().fit(X, y), X, label=1, features=(2, 3)).get_zlabel()
    'p(1 | x)'
    """
    plane = plane_for(fitted, y, features, at)
    xs, ys = (np.linspace(low, high, resolution) for low, high in plane.window(fitted.rows))
    p = fitted.posteriors(plane.lift(mesh(xs, ys))).reshape(resolution, resolution, -1)
    if label is None and len(canvas.looks) == 2:
        label = canvas.looks[1].label
    if label is None:
        marks.sheets(canvas, xs, ys, p, lowest=0.01)
        height = "posterior"
    else:
        k = code_of(label, fitted.classes)
        # from the other class's colour, or grey for several, to that of class k
        looks = canvas.looks
        rest = looks[1 - k].colour if len(looks) == 2 else canvas.style.soft
        colours = mixed(looks[k].colour, rest, p[..., k : k + 1])
        marks.coloured_surface(canvas, xs, ys, p[..., k], colours)
        height = f"p({canvas.looks[k].name} | x)"
    canvas.ax.set_zlim(0, 1)
    canvas.name_axes(*plane.names, height)
    if label is None or len(canvas.looks) == 2:
        canvas.legend(canvas.entries())
