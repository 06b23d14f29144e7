"""Densities of the classes and the posteriors they make, over one feature and over two."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from scipy.special import softmax

from suffice.core.table.labels import code_of
from suffice.core.text.numbers import percent_label
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.present.plots import marks
from suffice.present.plots.canvas import MOST_ENTRIES, SOLID, Canvas, figure
from suffice.present.plots.inputs import Fitted, classifier_with, event_of
from suffice.present.plots.plane import Plane, around, feature_places, mesh, plane_for
from suffice.present.plots.regions import jitter
from suffice.present.plots.style import mixed
from suffice.typing import Codes, Floats

FEWEST_BARS, MOST_BARS = 8, 50
DRAWS = 4000  # synthetic rows that say how far to draw where no rows do


@figure("legend", of=Fitted.of)
def class_densities(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    feature: Any = 0,
    weighted: bool = True,
) -> None:
    """Return axes with the density of each class over one feature.

    Rows of a few classes stand behind as histograms of the same area and below as ticks. Other
    features are integrated out.
    Duda, Hart & Stork (2001), *Pattern Classification*, section 2.1.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with densities.
    feature : name or index
        The feature to draw over.
    weighted : bool
        Whether densities are multiplied by the priors, π_k p(x | k): the largest is the class
        that is chosen, and their sum, the thin line, is the density of all rows.

    Examples
    --------
    >>> class_densities(sf.QDA().fit(X, y), X, y, feature=2).get_xlabel()
    'x₃'
    """
    (j,) = feature_places(fitted.names, [feature])
    model, rows = _marginal(fitted, [j])
    codes = None if y is None else fitted.codes(y)
    factors = np.asarray(model.priors) if weighted else np.ones(len(canvas.looks))
    low, high = around(rows, 0.12)[0]
    xs = np.linspace(low, high, 601)
    curves = factors * np.exp(model.class_log_density(xs[:, None]))
    if codes is not None and len(canvas.looks) <= MOST_ENTRIES:
        _histograms(canvas, fitted.rows[:, j], codes, factors)
    for k, look in enumerate(canvas.looks):
        canvas.curve(xs, curves[:, k], k, "density", linestyle=look.line, linewidth=2)
    extra = []
    if weighted:
        thin: dict[str, Any] = {"color": canvas.style.soft, "linewidth": 0.9, "zorder": 1.5}
        (total,) = canvas.ax.plot(xs, curves.sum(axis=1), label="_density of all", **thin)
        extra = [(total, "all classes")]
    canvas.ax.set(xlim=(low, high), ylim=(0, None))
    canvas.name_axes(fitted.names[j], "prior × density" if weighted else "density")
    if codes is not None:
        marks.rug(canvas, fitted.rows[:, j], codes, canvas.ax.get_ylim()[1])
    canvas.legend([*canvas.entries(lines=True), *extra])


def _histograms(canvas: Canvas, x: Floats, codes: Codes, factors: Floats) -> None:
    """Draw a histogram of each class whose area is its factor."""
    # bars are as narrow as the narrowest class asks for, within reason
    widths = [
        np.diff(np.histogram_bin_edges(x[codes == k], "fd"))[0] for k in np.unique(codes)
    ]
    positive = [width for width in widths if width > 0]
    bins = np.ptp(x) / min(positive) if positive else 1
    most = min(MOST_BARS, 2 * np.sqrt(len(x)))
    edges = np.histogram_bin_edges(x, int(np.clip(bins, FEWEST_BARS, most)))
    for k, factor in enumerate(factors):
        rows = x[codes == k]
        if len(rows):
            weights = np.full(len(rows), factor / len(rows) / (edges[1] - edges[0]))
            marks.histogram(canvas, rows, edges, k, weights=weights, alpha=0.3)


@figure("legend", of=Fitted.of)
def density_contours(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    features: tuple[Any, Any] = (0, 1),
    coverage: Sequence[float] = (0.25, 0.5, 0.75, 0.95),
    resolution: int = 200,
) -> None:
    """Return axes with contours of each class's density over two features.

    Each contour bounds the smallest region that holds the given share of the class.
    Hyndman (1996), *The American Statistician* 50, 120–126.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with densities.
    coverage : sequence of float
        Shares of a class.

    Examples
    --------
    >>> density_contours(sf.QDA().fit(X, y), X, y, features=(2, 3)).get_ylabel()
    'x₄'
    """
    axes, coverage = feature_places(fitted.names, features), marks.shares(canvas, coverage)
    if not coverage:
        raise InvalidParameterError(
            "coverage is empty: name a share of each class, such as 0.5"
        )
    xs, ys, densities, _ = _over(fitted, axes, 0.3, resolution)
    inside = np.zeros((resolution, resolution), bool)
    for look, density in zip(canvas.looks, np.moveaxis(densities, -1, 0), strict=True):
        levels = region_levels(density, coverage)
        inside |= density >= levels[0]
        fills = [(look.colour, a) for a in np.linspace(0.08, 0.34, len(levels))]
        grid = (xs, ys, density)
        canvas.ax.contourf(*grid, levels=[*levels, np.inf], colors=fills, zorder=1)
        canvas.ax.contour(*grid, levels=levels, colors=look.colour, linewidths=1.1, zorder=2)
    if y is not None:
        marks.draw_points(canvas, fitted.rows[:, axes], fitted.codes(y))
    # every contour and every row
    reach = np.stack(
        [xs[inside.any(axis=0)][[0, -1]], ys[inside.any(axis=1)][[0, -1]]], axis=1
    )
    across, up = around(np.concatenate([reach, fitted.rows[:, axes]]), 0.05)
    canvas.ax.set(xlim=across, ylim=up)
    canvas.name_axes(*(fitted.names[j] for j in axes))
    ring = Line2D([], [], color=canvas.style.soft, linewidth=1.1)
    shares = ", ".join(percent_label(share).removesuffix(" %") for share in sorted(coverage))
    canvas.legend([*canvas.entries(), (ring, f"hold {shares} %")])


@figure("legend", of=Fitted.of, **SOLID)
def density_surface(
    canvas: Canvas,
    fitted: Fitted,
    *,
    features: tuple[Any, Any] = (0, 1),
    resolution: int = 120,
) -> None:
    """Return 3-D axes with the highest of the prior-weighted class densities over two features.

    Each part of the surface has the colour of the class that is highest there, and is chosen.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with densities.
    X : array or frame (n, d), optional
        Rows that set the window.

    Examples
    --------
    >>> density_surface(sf.QDA().fit(X, y), X, features=(2, 3)).get_zlabel()
    'density'
    """
    axes = feature_places(fitted.names, features)
    xs, ys, densities, priors = _over(fitted, axes, 0.15, resolution)
    joint = priors * densities
    colours = np.array([to_rgb(look.colour) for look in canvas.looks])
    marks.coloured_surface(canvas, xs, ys, joint.max(axis=-1), colours[joint.argmax(axis=-1)])
    canvas.name_axes(*(fitted.names[j] for j in axes), "density")
    canvas.legend(canvas.entries())


def region_levels(density: Floats, coverage: Sequence[float]) -> Floats:
    """Return the densities, ascending, above which the given shares of a grid's mass lie."""
    falling = np.sort(density.ravel())[::-1]
    mass = np.cumsum(falling)
    return np.asarray(np.interp(sorted(coverage, reverse=True), mass / mass[-1], falling))


def _over(fitted: Fitted, axes: list[int], margin: float, resolution: int) -> tuple[Any, ...]:
    """Return the sides of a grid over two features, p(x | k) on it (m, m, K), and the priors."""
    model, rows = _marginal(fitted, axes)
    xs, ys = (np.linspace(low, high, resolution) for low, high in around(rows, margin))
    densities = np.exp(model.class_log_density(mesh(xs, ys)))
    return xs, ys, densities.reshape(len(ys), len(xs), -1), np.asarray(model.priors)


def _marginal(fitted: Fitted, axes: list[int]) -> tuple[Any, Floats]:
    """Return the model of some features, the others integrated out, and rows, drawn if none."""
    model: Any = fitted.classifier.model
    if not hasattr(model, "class_log_density"):
        msg = f"{type(fitted.estimator).__name__} has no class densities to draw"
        cure = "use sf.LDA, sf.QDA, sf.GaussianNB or sf.GaussianClassifier"
        raise InvalidInputError(f"{msg}: {cure}")
    if axes != list(range(fitted.n_features)):
        model = model.marginal(np.array(axes))
    rows = fitted.rows[:, axes]
    return model, rows if len(rows) else model.sample(DRAWS, np.random.default_rng(0))[0]


def _along(fitted: Fitted, y: Any, feature: Any, at: Any) -> tuple[Plane, Floats, Floats]:
    """Return a line through feature space, places (n,) on it, and the posteriors there, (n, K)."""
    line = plane_for(fitted, y, feature, at, most=1)
    low, high = line.window(fitted.rows, 0.1)[0]
    xs = np.linspace(low, high, 601)
    return line, xs, fitted.posteriors(line.lift(xs[:, None]))


@figure("legend", of=classifier_with)
def posterior_line(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    feature: Any = None,
    at: Any = None,
) -> None:
    """Return axes with the posterior of each class along a line through feature space.

    Of two classes the second is drawn, a sigmoid where log odds are linear, with the rows at 0
    and 1; of more classes every one, a softmax, with the rows as ticks below.
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 4.2.

    Parameters
    ----------
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
    canvas.name_axes(line.names[0], f"p({canvas.looks[1].name} | x)" if first else "posterior")
    if y is not None:
        x, codes = line.coordinates(fitted.rows)[:, 0], fitted.codes(y)
        if first:  # just under 0 and just over 1
            heights = np.where(codes == 1, 1.045, -0.045) + jitter(len(codes), 0.06)
            marks.draw_points(canvas, np.stack([x, heights], axis=1), codes)
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
    label : object, optional
        The class; by default the last.
    temperatures : sequence of float
        Positive T; base b instead of e is T = 1 / ln b.

    Examples
    --------
    >>> effect_of_temperature(sf.LDA().fit(X, y), X, label=1, feature=3).get_ylabel()
    'p(1 | x)'
    """
    if not len(temperatures) or not all(t > 0 for t in temperatures):
        raise InvalidParameterError(
            f"temperatures={temperatures!r}: expected positive numbers"
        )
    k = len(canvas.looks) - 1 if label is None else code_of(label, fitted.classes)
    way, xs, p = _along(fitted, y, feature, at)
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    hard = (p.argmax(axis=1) == k).astype(float)
    dashed = {"color": canvas.style.soft, "linestyle": "--", "linewidth": 1.1}
    (step,) = canvas.ax.plot(xs, hard, label="_hard", zorder=1, **dashed)
    strong, entries = mixed(canvas.looks[k].colour, canvas.style.ink, 0.7), []
    shades = mixed(
        strong, canvas.style.ground, np.linspace(0.35, 1, len(temperatures))[:, None]
    )
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
    k = event_of(fitted, label)
    if k is None:
        marks.sheets(canvas, xs, ys, p, lowest=0.01)
        height = "posterior"
    else:
        # from the other class's colour, or grey for several, to that of class k
        rest = canvas.looks[1 - k].colour if len(canvas.looks) == 2 else canvas.style.soft
        colours = mixed(canvas.looks[k].colour, rest, p[..., k : k + 1])
        marks.coloured_surface(canvas, xs, ys, p[..., k], colours)
        height = f"p({canvas.looks[k].name} | x)"
    canvas.ax.set_zlim(0, 1)
    canvas.name_axes(*plane.names, height)
    if k is None or len(canvas.looks) == 2:
        canvas.legend(canvas.entries())
