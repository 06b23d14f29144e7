"""Figures of posteriors along a line and over a plane, and of the effect of a temperature."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from scipy.ndimage import gaussian_filter
from scipy.special import softmax

from suffice.core.table.labels import code_of
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.present.plots.canvas import SIZE_3D, Entry, open_canvas
from suffice.present.plots.inputs import Fitted, event_of, require_whole
from suffice.present.plots.marks import draw_points, draw_rug, draw_surface
from suffice.present.plots.plane import Feature, Plane, mesh, plane_for
from suffice.present.plots.regions import jitter
from suffice.present.plots.style import Theme, mixed
from suffice.typing import Floats, LabelsLike, RowsLike, SklearnClassifier

POINTS = 601  # number of points along a line
_PER_CELL = 4  # number of points along each side of a cell of a surface
QUARTERS = (0, 0.25, 0.5, 0.75, 1)


def posterior_line(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike | None = None,
    *,
    feature: Feature | None = None,
    at: npt.ArrayLike | None = None,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the posterior of each class along a line through feature space.

    With two classes, the posterior of the second class is drawn, with the rows at 0 and 1. It is a
    sigmoid if the log odds are linear. With more classes, the posteriors of all classes are drawn,
    with the rows as ticks below.
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 4.2.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of suffice or scikit-learn.
    X : array or frame (n, d)
        Rows that determine the window, and are drawn if ``y`` is given.
    y : array (n,), optional
        Labels of the rows.
    feature : name or index, optional
        The feature along the line. By default, it is the only feature, or the first discriminant
        coordinate.
    at : array (d,), optional
        Values of all other features; by default the means of the features.
    legend : bool
        Whether to draw a legend next to the axes.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> posterior_line(sf.LDA().fit(X, y), X, y, feature=3).get_xlabel()
    'x₄'
    """
    fitted = Fitted.of(estimator, X)
    line = plane_for(fitted, y, feature, at, most=1)
    xs, posteriors = _posteriors_along(fitted, line)
    codes = None if y is None else fitted.codes(y)
    rows = line.coordinates(fitted.rows)[:, 0]
    with open_canvas(ax, theme, classes=fitted.classes, legend=legend) as canvas:
        for level in (0, 0.5, 1):
            canvas.ax.axhline(level, color=canvas.style.grid, linewidth=0.9, zorder=0)
        canvas.ax.set_xlim(xs[0], xs[-1])
        if len(canvas.looks) == 2:
            canvas.curve(xs, posteriors[:, 1], 1, "posterior", linewidth=2)
            canvas.ax.set_ylim(-0.09, 1.09)
            canvas.ax.set_yticks(QUARTERS)
            canvas.name_axes(line.names[0], f"p({canvas.looks[1].name} | x)")
            if codes is not None:
                # the rows of the classes are slightly below 0 and above 1
                heights = np.where(codes == 1, 1.045, -0.045) + jitter(len(codes), 0.06)
                draw_points(canvas, np.stack([rows, heights], axis=1), codes)
            canvas.legend(canvas.entries())
        else:
            for k in range(len(canvas.looks)):
                canvas.curve(xs, posteriors[:, k], k, "posterior", linewidth=2)
            canvas.ax.set_ylim(-0.02, 1.02)
            canvas.ax.set_yticks(QUARTERS)
            canvas.name_axes(line.names[0], "posterior")
            if codes is not None:
                draw_rug(canvas, rows, codes, top=1.02)
            canvas.legend(canvas.entries(lines=True))
    return canvas.ax


def _posteriors_along(fitted: Fitted, line: Plane) -> tuple[Floats, Floats]:
    """Return points (n,) on a line around the rows, and their posteriors (n, K)."""
    low, high = line.window(fitted.rows, 0.1)[0]
    xs = np.linspace(low, high, POINTS)
    return xs, fitted.posteriors(line.lift(xs[:, None]))


def effect_of_temperature(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike | None = None,
    *,
    label: object = None,
    temperatures: Sequence[float] = (4.0, 2.0, 1.0, 0.5, 0.125),
    feature: Feature | None = None,
    at: npt.ArrayLike | None = None,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the posterior of a class along a line, softmax(log p / T), for several T.

    Large temperatures T make the posterior flatter, and T = 1 leaves it unchanged. As T falls to 0,
    the curves approach the dashed line, which is 1 where the class is the most probable.
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*, 1321–1330.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of suffice or scikit-learn.
    X : array or frame (n, d)
        Rows that determine the window.
    y : array (n,), optional
        Labels of the rows, which discriminant coordinates need for a classifier of another library.
    label : object, optional
        The class whose posterior is drawn; by default the last.
    temperatures : sequence of float
        Positive temperatures T. A softmax with base b instead of e has T = 1 / ln b.
    feature : name or index, optional
        The feature along the line. By default, it is the only feature, or the first discriminant
        coordinate.
    at : array (d,), optional
        Values of all other features; by default the means of the features.
    legend : bool
        Whether to draw a legend next to the axes.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> effect_of_temperature(sf.LDA().fit(X, y), X, label=1, feature=3).get_ylabel()
    'p(1 | x)'
    """
    if not len(temperatures) or not all(t > 0 for t in temperatures):
        msg = f"temperatures={temperatures!r}: expected positive numbers"
        raise InvalidParameterError(msg)
    fitted = Fitted.of(estimator, X)
    k = len(fitted.classes) - 1 if label is None else code_of(label, fitted.classes)
    line = plane_for(fitted, y, feature, at, most=1)
    xs, posteriors = _posteriors_along(fitted, line)
    with np.errstate(divide="ignore"):
        log_posteriors = np.log(posteriors)
    hard = (posteriors.argmax(axis=1) == k).astype(float)
    with open_canvas(ax, theme, classes=fitted.classes, legend=legend) as canvas:
        look = canvas.looks[k]
        (step,) = canvas.ax.plot(
            xs,
            hard,
            color=canvas.style.soft,
            linestyle="--",
            linewidth=1.1,
            zorder=1,
            label="_hard",
        )
        strong = mixed(look.colour, canvas.style.ink, 0.7)
        shares = np.linspace(0.35, 1, len(temperatures))[:, None]
        shades = mixed(tuple(strong), canvas.style.ground, shares)
        entries: list[Entry] = []
        for t, shade in zip(temperatures, shades, strict=True):
            (curve,) = canvas.ax.plot(
                xs,
                softmax(log_posteriors / t, axis=1)[:, k],
                color=shade,
                linewidth=2.6 if t == 1 else 1.6,
                label=f"_temperature {t:g}",
            )
            entries.append((curve, f"T = {t:g}"))
        entries.append((step, "T → 0"))
        canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(-0.02, 1.02), yticks=QUARTERS)
        canvas.name_axes(line.names[0], f"p({look.name} | x)")
        canvas.legend(entries)
    return canvas.ax


def posterior_surface(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike | None = None,
    *,
    label: object = None,
    features: tuple[Feature, Feature] | None = None,
    at: npt.ArrayLike | None = None,
    resolution: int = 140,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return 3-D axes with the posterior of a class, or the greatest posterior, over a plane.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of suffice or scikit-learn.
    X : array or frame (n, d)
        Rows that determine the window.
    y : array (n,), optional
        Labels of the rows, which discriminant coordinates need for a classifier of another library.
    label : object, optional
        The class whose posterior is drawn, by default the second of two. With more classes, the
        largest posterior is drawn, in the colour of its class.
    features : two names or indices, optional
        The features on the axes; all others are fixed at ``at``. By default, these are the first
        two discriminant coordinates, which need at least three classes.
    at : array (d,), optional
        Values of all other features; by default the means of the features.
    resolution : int
        Points along each side. The surface is smoothed over about one cell.
    legend : bool
        Whether to draw a legend next to the axes.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : 3-D Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> posterior_surface(sf.LDA().fit(X, y), X, label=1, features=(2, 3)).get_zlabel()
    'p(1 | x)'
    """
    require_whole(resolution, "resolution", least=2)
    fitted = Fitted.of(estimator, X)
    plane = plane_for(fitted, y, features, at)
    if len(plane.names) != 2:
        msg = f"a surface needs a plane, and {plane.names[0]} is a line: choose two features"
        raise InvalidInputError(msg)
    (left, right), (bottom, top) = plane.window(fitted.rows)
    xs = np.linspace(left, right, resolution)
    ys = np.linspace(bottom, top, resolution)
    surface = _smooth_posteriors(fitted, plane, xs, ys)
    k = event_of(fitted, label)
    with open_canvas(
        ax, theme, classes=fitted.classes, legend=legend, size=SIZE_3D, projection="3d"
    ) as canvas:
        n_classes = len(canvas.looks)
        if k is None:
            # There is only one surface: matplotlib sorts intersecting surfaces face by face, which
            # draws jagged edges.
            paint = np.array([to_rgb(look.colour) for look in canvas.looks])
            leading = surface[..., :-1].argmax(axis=-1)
            draw_surface(canvas, xs, ys, surface[..., -1], paint[leading])
            canvas.name_axes(*plane.names, "greatest posterior")
        else:
            # colours from that of the other class (grey for several classes) to that of class k
            rest = canvas.looks[1 - k].colour if n_classes == 2 else canvas.style.soft
            colours = mixed(canvas.looks[k].colour, rest, surface[..., k : k + 1])
            draw_surface(canvas, xs, ys, surface[..., k], colours)
            canvas.name_axes(*plane.names, f"p({canvas.looks[k].name} | x)")
        canvas.ax_3d.set_zlim(0, 1)
        if k is None or n_classes == 2:
            canvas.legend(canvas.entries())
    return canvas.ax


def _smooth_posteriors(fitted: Fitted, plane: Plane, xs: Floats, ys: Floats) -> Floats:
    """Return p(k | x) for each class on a grid, and then the largest posterior, (y, x, K + 1).

    The values are smoothed over about one cell. Otherwise a valley narrower than a cell would have
    jagged edges.
    """
    fine = mesh(_finer(xs), _finer(ys))
    posteriors = fitted.posteriors(plane.lift(fine))
    greatest = posteriors.max(axis=1)
    values = np.column_stack([posteriors, greatest])
    values = values.reshape(_PER_CELL * len(ys), _PER_CELL * len(xs), -1)
    smooth = gaussian_filter(values, sigma=(_PER_CELL, _PER_CELL, 0), mode="nearest")
    return np.asarray(smooth[_PER_CELL // 2 :: _PER_CELL, _PER_CELL // 2 :: _PER_CELL])


def _finer(centres: Floats) -> Floats:
    """Return evenly spaced points, of which several lie around each centre."""
    step = centres[1] - centres[0]
    offsets = (np.arange(_PER_CELL) - _PER_CELL // 2) / _PER_CELL
    return np.asarray(centres[:, None] + step * offsets).ravel()
