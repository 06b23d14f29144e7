"""Densities of the classes over one or two features."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from suffice.core.text.numbers import percent_label
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.present.plots.canvas import MOST_ENTRIES, SIZE_3D, Canvas, open_canvas
from suffice.present.plots.inputs import Fitted, require_whole
from suffice.present.plots.marks import (
    checked_coverage,
    draw_histogram,
    draw_points,
    draw_rug,
    draw_surface,
)
from suffice.present.plots.plane import Feature, around, feature_positions, mesh
from suffice.present.plots.style import Theme
from suffice.typing import Codes, Flags, Floats, LabelsLike, RowsLike, SklearnClassifier

FEWEST_BARS = 8
MOST_BARS = 50
DRAWS = 4000  # number of simulated rows that determine the window if the caller passes no rows
SEPARATION_SAMPLE = 2000  # number of simulated rows used to rank the features


class DensityModel(Protocol):
    """A model with a density for each class."""

    @property
    def priors(self) -> Floats: ...
    def class_log_density(self, x: Floats) -> Floats: ...
    def marginal(self, features: Codes) -> "DensityModel": ...
    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]: ...


def class_densities(
    estimator: SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    feature: Feature | None = None,
    weighted: bool = True,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the density of each class over one feature.

    All other features are integrated out. With few classes, rows are shown as histograms behind the
    curves, with the same areas, and as ticks below the curves.
    Duda, Hart & Stork (2001), *Pattern Classification*, section 2.1.

    Parameters
    ----------
    estimator : fitted classifier
        A suffice classifier with densities.
    X : array or frame (n, d), optional
        Rows that determine the window; by default rows simulated from the model.
    y : array (n,), optional
        Labels of the rows.
    feature : name or index, optional
        The feature on the x axis; by default the one that separates the classes best.
    weighted : bool
        Whether densities are multiplied by the priors, π_k p(x | k). The predicted class then has
        the highest curve, and the thin line, the sum of the curves, is the density of all rows.
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
    >>> class_densities(sf.QDA().fit(X, y), X, y, feature=2).get_xlabel()
    'x₃'
    """
    fitted = Fitted.of(estimator, X)
    if feature is None:
        feature = _most_separating(fitted)
    (j,) = feature_positions(fitted.names, [feature])
    model = _marginal(fitted, [j])
    low, high = around(_rows_or_sample(fitted, model, [j]), 0.12)[0]
    xs = np.linspace(low, high, 601)
    factors = np.asarray(model.priors) if weighted else np.ones(len(fitted.classes))
    curves = factors * np.exp(model.class_log_density(xs[:, None]))
    codes = None if y is None else fitted.codes(y)
    with open_canvas(ax, theme, classes=fitted.classes, legend=legend) as canvas:
        if codes is not None and len(canvas.looks) <= MOST_ENTRIES:
            _draw_histograms(canvas, fitted.rows[:, j], codes, factors)
        for k, look in enumerate(canvas.looks):
            canvas.curve(xs, curves[:, k], k, "density", linestyle=look.dashes, linewidth=2)
        entries = canvas.entries(lines=True)
        if weighted:
            (total,) = canvas.ax.plot(
                xs,
                curves.sum(axis=1),
                color=canvas.style.soft,
                linewidth=0.9,
                zorder=1.5,
                label="_density of all",
            )
            entries.append((total, "all classes"))
        canvas.ax.set(xlim=(low, high), ylim=(0, None))
        canvas.name_axes(fitted.names[j], "prior × density" if weighted else "density")
        if codes is not None:
            draw_rug(canvas, fitted.rows[:, j], codes, top=canvas.ax.get_ylim()[1])
        canvas.legend(entries)
    return canvas.ax


def _draw_histograms(canvas: Canvas, x: Floats, codes: Codes, factors: Floats) -> None:
    """Draw a histogram for each class, with area 1 or the prior of the class."""
    edges = _bar_edges(x, codes)
    width = edges[1] - edges[0]
    for k, factor in enumerate(factors):
        rows = x[codes == k]
        if len(rows):
            weights = np.full(len(rows), factor / len(rows) / width)
            draw_histogram(canvas, rows, edges, k, weights=weights, alpha=0.3)


def _bar_edges(x: Floats, codes: Codes) -> Floats:
    """Return the edges of bars that are, within limits, narrow enough for all classes."""
    widths = []
    for k in np.unique(codes):
        edges = np.histogram_bin_edges(x[codes == k], "fd")
        width = edges[1] - edges[0]
        if width > 0:
            widths.append(width)
    n_bars = np.ptp(x) / min(widths) if widths else 1
    most = min(MOST_BARS, 2 * np.sqrt(len(x)))
    return np.histogram_bin_edges(x, int(np.clip(n_bars, FEWEST_BARS, most)))


def _most_separating(fitted: Fitted) -> int:
    """Return the feature of which the class means explain the largest share of the variance."""
    rng = np.random.default_rng(0)
    shares = []
    for j in range(fitted.n_features):
        model = _marginal(fitted, [j])
        x, codes = model.sample(SEPARATION_SAMPLE, rng)
        means = np.zeros(len(fitted.classes))
        for k in np.unique(codes):
            means[k] = x[codes == k].mean()
        # η² = variance of the class means / total variance
        shares.append(float(means[codes].var() / (x.var() or 1.0)))
    return int(np.argmax(shares))


def density_contours(
    estimator: SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    features: tuple[Feature, Feature] = (0, 1),
    coverage: Sequence[float] = (0.25, 0.5, 0.75, 0.95),
    resolution: int = 200,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with contours of each class's density over two features.

    Each contour bounds the smallest region that contains the given share of the class.
    Hyndman (1996), *The American Statistician* 50, 120–126.

    Parameters
    ----------
    estimator : fitted classifier
        A suffice classifier with densities.
    X : array or frame (n, d), optional
        Rows that determine the window; by default rows simulated from the model.
    y : array (n,), optional
        Labels of the rows.
    features : two names or indices
        The features on the axes; all other features are integrated out.
    coverage : sequence of float
        Shares of a class inside the contours.
    resolution : int
        Points along each side.
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
    >>> density_contours(sf.QDA().fit(X, y), X, y, features=(2, 3)).get_ylabel()
    'x₄'
    """
    require_whole(resolution, "resolution", least=2)
    shares = checked_coverage(coverage)
    if not shares:
        msg = "coverage is empty: give at least one share of the rows of a class, such as 0.5"
        raise InvalidParameterError(msg)
    fitted = Fitted.of(estimator, X)
    positions = feature_positions(fitted.names, features)
    rows = fitted.rows[:, positions]
    codes = None if y is None else fitted.codes(y)
    model = _marginal(fitted, positions)
    xs, ys = _grid_around(_rows_or_sample(fitted, model, positions), 0.3, resolution)
    densities = _densities_on(model, xs, ys)
    with open_canvas(ax, theme, classes=fitted.classes, legend=legend) as canvas:
        inside = _draw_contours(canvas, xs, ys, densities, shares)
        if codes is not None:
            draw_points(canvas, rows, codes)
        # the window is extended to all contours and rows
        x_reach = xs[inside.any(axis=0)][[0, -1]]
        y_reach = ys[inside.any(axis=1)][[0, -1]]
        reach = np.stack([x_reach, y_reach], axis=1)
        x_limits, y_limits = around(np.concatenate([reach, rows]), 0.05)
        canvas.ax.set(xlim=x_limits, ylim=y_limits)
        canvas.name_axes(fitted.names[positions[0]], fitted.names[positions[1]])
        ring = Line2D([], [], color=canvas.style.soft, linewidth=1.1)
        percents = [percent_label(share).removesuffix(" %") for share in sorted(shares)]
        canvas.legend([*canvas.entries(), (ring, f"hold {', '.join(percents)} %")])
    return canvas.ax


def _draw_contours(
    canvas: Canvas,
    xs: Floats,
    ys: Floats,
    densities: Floats,
    shares: Sequence[float],
) -> Flags:
    """Draw the contours of every class; return which grid points lie inside one, (m, m)."""
    inside = np.zeros(densities.shape[:2], bool)
    for k, look in enumerate(canvas.looks):
        density = densities[..., k]
        levels = region_levels(density, shares)
        inside |= density >= levels[0]
        fills = [(look.colour, alpha) for alpha in np.linspace(0.08, 0.34, len(levels))]
        canvas.ax.contourf(xs, ys, density, levels=[*levels, np.inf], colors=fills, zorder=1)
        canvas.ax.contour(
            xs, ys, density, levels=levels, colors=look.colour, linewidths=1.1, zorder=2
        )
    return inside


def density_surface(
    estimator: SklearnClassifier,
    X: RowsLike | None = None,
    *,
    features: tuple[Feature, Feature] = (0, 1),
    resolution: int = 120,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return 3-D axes with the highest of the prior-weighted class densities over two features.

    At each point, the surface has the colour of the predicted class, which has the largest value.

    Parameters
    ----------
    estimator : fitted classifier
        A suffice classifier with densities.
    X : array or frame (n, d), optional
        Rows that determine the window; by default rows simulated from the model.
    features : two names or indices
        The features on the axes; all other features are integrated out.
    resolution : int
        Points along each side.
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
    >>> density_surface(sf.QDA().fit(X, y), X, features=(2, 3)).get_zlabel()
    'density'
    """
    require_whole(resolution, "resolution", least=2)
    fitted = Fitted.of(estimator, X)
    positions = feature_positions(fitted.names, features)
    model = _marginal(fitted, positions)
    xs, ys = _grid_around(_rows_or_sample(fitted, model, positions), 0.15, resolution)
    joint = np.asarray(model.priors) * _densities_on(model, xs, ys)
    with open_canvas(
        ax, theme, classes=fitted.classes, legend=legend, size=SIZE_3D, projection="3d"
    ) as canvas:
        colours = np.array([to_rgb(look.colour) for look in canvas.looks])
        draw_surface(canvas, xs, ys, joint.max(axis=-1), colours[joint.argmax(axis=-1)])
        canvas.name_axes(fitted.names[positions[0]], fitted.names[positions[1]], "density")
        canvas.legend(canvas.entries())
    return canvas.ax


def region_levels(density: Floats, coverage: Sequence[float]) -> Floats:
    """Return the density levels, ascending, above which the given shares of the mass lie."""
    falling = np.sort(density.ravel())[::-1]
    mass = np.cumsum(falling)
    return np.asarray(np.interp(sorted(coverage, reverse=True), mass / mass[-1], falling))


def _grid_around(rows: Floats, margin: float, resolution: int) -> tuple[Floats, Floats]:
    """Return the coordinates of a grid over two features, around rows (n, 2)."""
    (left, right), (bottom, top) = around(rows, margin)
    return np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)


def _densities_on(model: DensityModel, xs: Floats, ys: Floats) -> Floats:
    """Return p(x | k) on a grid, (len(ys), len(xs), K)."""
    densities = np.exp(model.class_log_density(mesh(xs, ys)))
    return np.asarray(densities.reshape(len(ys), len(xs), -1))


def _marginal(fitted: Fitted, positions: list[int]) -> DensityModel:
    """Return the density model of some features, with all other features integrated out."""
    model: Any = fitted.classifier.model
    if not hasattr(model, "class_log_density"):
        msg = (
            f"{type(fitted.estimator).__name__} has no class densities to draw: "
            "use sf.LDA, sf.QDA, sf.GaussianNB or sf.GaussianClassifier"
        )
        raise InvalidInputError(msg)
    density: DensityModel = model
    if positions == list(range(fitted.n_features)):
        return density
    return density.marginal(np.array(positions))


def _rows_or_sample(fitted: Fitted, model: DensityModel, positions: list[int]) -> Floats:
    """Return the caller's rows in some features, or rows simulated from the model."""
    if len(fitted.rows):
        return fitted.rows[:, positions]
    rows, _ = model.sample(DRAWS, np.random.default_rng(0))
    return np.asarray(rows)
