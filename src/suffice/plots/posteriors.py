"""Posteriors of the classes, along a line and over a plane."""

from typing import Any

import numpy as np

from suffice.plots import marks
from suffice.plots.canvas import SOLID, Canvas, figure
from suffice.plots.inputs import Fitted, classifier_with
from suffice.plots.plane import line_for, mesh, plane_for
from suffice.plots.regions import jitter
from suffice.plots.style import mixed
from suffice.table.labels import code_of
from suffice.typing import Codes, Floats


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
    line = line_for(fitted, y, feature, at)
    xs = line.stretch(fitted.rows)
    p = fitted.posteriors(line.lift(xs[:, None]))
    canvas.horizontal(0, 0.5, 1)
    first = 1 if len(canvas.palette) == 2 else 0
    for k in range(first, len(canvas.palette)):
        canvas.curve(xs, p[:, k], k, "posterior", linewidth=2)
    _frame(canvas, xs, line.names[0])
    if y is not None:
        x, codes = line.coordinates(fitted.rows)[:, 0], fitted.codes(y)
        if first:
            _rows_at_ends(canvas, x, codes)
        else:
            marks.rug(canvas, x, codes, top=1.02)
    canvas.legend_of_classes(lines=not first)


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
    if label is None and len(canvas.palette) == 2:
        label = canvas.palette.labels[1]
    if label is None:
        marks.sheets(canvas, xs, ys, p, lowest=0.01)
        height = "posterior"
    else:
        k = code_of(label, fitted.classes)
        # from the other class's colour, or grey for several, to that of class k
        looks = canvas.palette.looks
        rest = looks[1 - k].colour if len(looks) == 2 else canvas.style.soft
        colours = mixed(looks[k].colour, rest, p[..., k : k + 1])
        marks.coloured_surface(canvas, xs, ys, p[..., k], colours)
        height = f"p({canvas.palette.names[k]} | x)"
    canvas.ax.set_zlim(0, 1)
    canvas.name_axes(*plane.names, height)
    if label is None or len(canvas.palette) == 2:
        canvas.legend_of_classes()


def _frame(canvas: Canvas, xs: Floats, name: str) -> None:
    two = len(canvas.palette) == 2
    canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(-0.09, 1.09) if two else (-0.02, 1.02))
    canvas.ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    canvas.name_axes(name, f"p({canvas.palette.names[1]} | x)" if two else "posterior")


def _rows_at_ends(canvas: Canvas, x: Floats, codes: Codes) -> None:
    """Draw the rows of two classes just under 0 and just over 1."""
    heights = np.where(codes == 1, 1.045, -0.045) + jitter(len(codes), 0.06)
    marks.points(canvas, np.stack([x, heights], axis=1), codes)
