"""Densities of the classes, over one feature and over two."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from suffice.errors import InvalidInputError
from suffice.plots import marks
from suffice.plots.canvas import MOST_ENTRIES, SOLID, Canvas, figure
from suffice.plots.inputs import Fitted
from suffice.plots.plane import around, feature_index, mesh
from suffice.text.numbers import percent_label
from suffice.typing import Codes, Floats

FEWEST_BARS, MOST_BARS = 8, 50


@figure("legend", of=Fitted.of)
def class_densities(
    canvas: Canvas, fitted: Fitted, y: Any = None, *, feature: Any = 0, weighted: bool = True
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
    j = feature_index(fitted.names, feature)
    marginals = Marginals.of(fitted, [j])
    codes = None if y is None else fitted.codes(y)
    factors = marginals.priors if weighted else np.ones(len(canvas.looks))
    low, high = around(marginals.rows, 0.12)[0]
    xs = np.linspace(low, high, 601)
    curves = factors * marginals.at(xs[:, None])
    if codes is not None and len(canvas.looks) <= MOST_ENTRIES:
        _histograms(canvas, fitted.rows[:, j], codes, factors)
    for k, look in enumerate(canvas.looks):
        canvas.curve(xs, curves[:, k], k, "density", linestyle=look.line, linewidth=2)
    extra = []
    if weighted:
        thin: dict[str, Any] = {"color": canvas.style.soft, "linewidth": 0.9, "zorder": 1.5}
        (total,) = canvas.ax.plot(xs, curves.sum(axis=1), label="_density of all", **thin)
        extra = [(total, "all classes")]
    canvas.ax.set_xlim(low, high)
    canvas.ax.set_ylim(bottom=0)
    canvas.name_axes(fitted.names[j], "prior × density" if weighted else "density")
    if codes is not None:
        marks.rug(canvas, fitted.rows[:, j], codes, canvas.ax.get_ylim()[1])
    canvas.legend([*canvas.entries(lines=True), *extra])


def _histograms(canvas: Canvas, x: Floats, codes: Codes, factors: Floats) -> None:
    """Draw a histogram of each class whose area is its factor."""
    edges = _edges(x, codes)
    for k, factor in enumerate(factors):
        rows = x[codes == k]
        if len(rows):
            weights = np.full(len(rows), factor / len(rows) / (edges[1] - edges[0]))
            marks.histogram(canvas, rows, edges, k, weights=weights, alpha=0.3)


def _edges(x: Floats, codes: Codes) -> Floats:
    """Return edges of bars as narrow as the narrowest class asks for, within reason."""
    widths = [np.diff(np.histogram_bin_edges(x[codes == k], "fd"))[0] for k in np.unique(codes)]
    positive = [width for width in widths if width > 0]
    bins = np.ptp(x) / min(positive) if positive else 1
    return np.histogram_bin_edges(
        x, int(np.clip(bins, FEWEST_BARS, min(MOST_BARS, 2 * np.sqrt(len(x)))))
    )


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
    axes = [feature_index(fitted.names, feature) for feature in features]
    marginals = Marginals.of(fitted, axes)
    xs, ys = (np.linspace(low, high, resolution) for low, high in around(marginals.rows, 0.3))
    densities = marginals.at(mesh(xs, ys)).reshape(resolution, resolution, -1)
    inside = np.zeros((resolution, resolution), bool)
    for look, density in zip(canvas.looks, np.moveaxis(densities, -1, 0), strict=True):
        levels = region_levels(density, coverage)
        inside |= density >= levels[0]
        fills = [(look.colour, a) for a in np.linspace(0.08, 0.34, len(levels))]
        grid = (xs, ys, density)
        canvas.ax.contourf(*grid, levels=[*levels, np.inf], colors=fills, zorder=1)
        canvas.ax.contour(*grid, levels=levels, colors=look.colour, linewidths=1.1, zorder=2)
    if y is not None:
        marks.points(canvas, fitted.rows[:, axes], fitted.codes(y))
    _show_all(canvas, xs, ys, inside, fitted.rows[:, axes])
    canvas.name_axes(*(fitted.names[j] for j in axes))
    ring = Line2D([], [], color=canvas.style.soft, linewidth=1.1)
    shares = ", ".join(percent_label(share).removesuffix(" %") for share in sorted(coverage))
    canvas.legend([*canvas.entries(), (ring, f"hold {shares} %")])


@figure("legend", of=Fitted.of, **SOLID)
def density_surface(
    canvas: Canvas, fitted: Fitted, *, features: tuple[Any, Any] = (0, 1), resolution: int = 120
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
    axes = [feature_index(fitted.names, feature) for feature in features]
    marginals = Marginals.of(fitted, axes)
    xs, ys = (np.linspace(low, high, resolution) for low, high in around(marginals.rows, 0.15))
    joint = (marginals.priors * marginals.at(mesh(xs, ys))).reshape(len(ys), len(xs), -1)
    colours = np.array([to_rgb(look.colour) for look in canvas.looks])
    highest = colours[joint.argmax(axis=-1)]
    marks.coloured_surface(canvas, xs, ys, joint.max(axis=-1), highest)
    canvas.name_axes(*(fitted.names[j] for j in axes), "density")
    canvas.legend(canvas.entries())


def region_levels(density: Floats, coverage: Sequence[float]) -> Floats:
    """Return the densities, ascending, above which the given shares of a grid's mass lie."""
    falling = np.sort(density.ravel())[::-1]
    mass = np.cumsum(falling)
    levels: Floats = np.interp(sorted(coverage, reverse=True), mass / mass[-1], falling)
    return levels


def _show_all(canvas: Canvas, xs: Floats, ys: Floats, inside: Any, rows: Floats) -> None:
    """Show every contour and every row."""
    ends = [xs[inside.any(axis=0)], ys[inside.any(axis=1)]]
    for set_limits, end, column in zip(
        (canvas.ax.set_xlim, canvas.ax.set_ylim), ends, rows.T, strict=True
    ):
        low, high = min([end[0], *column]), max([end[-1], *column])
        set_limits(low - 0.05 * (high - low), high + 0.05 * (high - low))


DRAWS = 4000  # synthetic rows that say how far to draw where no rows do


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """Densities of the classes over one or two features, the others integrated out."""

    priors: Floats  # π  (K,)
    model: Any  # of these features
    rows: Floats  # or synthetic ones where there are none  (n, m)

    @classmethod
    def of(cls, fitted: Fitted, axes: list[int]) -> Self:
        """Return the densities over the features at these places."""
        whole: Any = fitted.classifier.model
        if not hasattr(whole, "class_log_density"):
            raise InvalidInputError(
                f"{type(fitted.estimator).__name__} has no class densities to draw: use sf.LDA, "
                "sf.QDA, sf.GaussianNB or sf.GaussianClassifier"
            )
        everything = axes == list(range(fitted.n_features))
        model = whole if everything else whole.marginal(np.array(axes))
        rows = fitted.rows[:, axes]
        if not len(rows):
            rows = model.sample(DRAWS, np.random.default_rng(0))[0]
        return cls(np.asarray(whole.priors), model, rows)

    def at(self, z: Floats) -> Floats:
        """Return p(z | k), (n, K), of points (n, m)."""
        logs: Floats = self.model.class_log_density(z)
        return np.exp(logs)
