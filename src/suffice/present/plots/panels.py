"""Figures with axes for each pair of features: rows, or real and simulated rows."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from suffice.core.moments import Moments
from suffice.core.table.labels import as_labels, codes_of, encode
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import default_names, shortened
from suffice.errors import InvalidInputError
from suffice.evaluate.curves.feature_separation import separation
from suffice.present.plots.canvas import (
    MOST_ENTRIES,
    Canvas,
    Entry,
    canvas_grid,
    write_legend,
)
from suffice.present.plots.inputs import Fitted, rows_to_draw
from suffice.present.plots.marks import (
    draw_ellipses,
    draw_histogram,
    draw_points,
    ellipse_coverage,
)
from suffice.present.plots.plane import Feature, around, feature_positions
from suffice.present.plots.style import Theme
from suffice.typing import Array, Codes, Floats, LabelsLike, RowsLike, SklearnClassifier

MOST_FEATURES = 5  # most features by default
SMALLEST_CELL = 1.45  # smallest side of a cell, in inches
LARGEST_GRID = 6.0  # largest side of a grid with few cells, in inches


def pairs(
    X: RowsLike,
    y: LabelsLike,
    *,
    features: Sequence[Feature] | None = None,
    coverage: Sequence[float] | None = None,
    theme: Theme = "light",
) -> Array:
    """Return an array (m, m) of axes: scatter plots of each pair of features, with class ellipses.

    The diagonal shows histograms of each class. Cells above the diagonal are empty.

    Parameters
    ----------
    X : array or frame (n, d)
        Rows.
    y : array (n,)
        Labels of the rows.
    features : names or indices, optional
        The features. By default all features, or the five that separate the classes most.
    coverage : sequence of float, optional
        Shares of a class that the ellipses contain, for Gaussians with the means and covariances of
        the classes.
    theme : {"light", "dark"}
        Colours of text and lines.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs(X, y).shape
    (4, 4)
    """
    x, columns = rows_to_draw(X)
    classes, codes = encode(as_labels(y))
    require_as_many(len(x), len(codes))
    names = default_names(x.shape[1]) if columns is None else columns
    positions = _chosen_features(names, x, codes, features)
    values = np.asarray(x[:, positions], np.float64)
    moments = Moments.of(values, codes, storage="per-class", fourth=False)
    shares = ellipse_coverage(coverage, len(classes))

    def draw(cell: Canvas, row: int, column: int) -> None:
        if row < column:
            cell.ax.set_visible(False)
        elif row == column:
            _draw_histograms(cell, values[:, row], codes)
        else:
            pair = [column, row]
            draw_points(cell, values[:, pair], codes, size=0.5)
            for k in moments.classes:
                mean = moments.means[k][pair]
                sigma = moments.scatters[k][np.ix_(pair, pair)] / moments.weights[k]
                draw_ellipses(cell, mean, sigma, k, shares)

    return _draw_grid(
        theme,
        classes=classes,
        names=[names[j] for j in positions],
        values=values,
        draw=draw,
        entries=Canvas.entries,
    )


def _draw_histograms(cell: Canvas, x: Floats, codes: Codes) -> None:
    """Draw a histogram for each class, or for all rows if there are many classes."""
    edges = _bar_edges(x, len(x))
    if len(cell.looks) > MOST_ENTRIES:
        cell.ax.hist(x, edges.tolist(), color=cell.style.soft, alpha=0.45, label="_histogram")
        return
    for k in range(len(cell.looks)):
        draw_histogram(cell, x[codes == k], edges, k, alpha=0.45, linewidth=0.4)


def real_against_synthetic(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike,
    *,
    features: Sequence[Feature] | None = None,
    random_state: int = 0,
    theme: Theme = "light",
) -> Array:
    """Return an array (m, m) of axes, with real rows below the diagonal, synthetic rows above it.

    The model generates as many rows as there are real rows. If the model is right, the two halves
    are mirror images up to chance. The diagonal shows histograms of the real and the synthetic rows
    of all classes.
    Gelman, Meng & Stern (1996), *Statistica Sinica* 6, 733–807.

    Parameters
    ----------
    estimator : fitted classifier
        A suffice classifier with ``sample``.
    X : array or frame (n, d)
        Rows with the features of the fit.
    y : array (n,)
        Labels of the rows.
    features : names or indices, optional
        The features. By default all features, or the five that separate the classes most.
    random_state : int
        Seed of the synthetic rows.
    theme : {"light", "dark"}
        Colours of text and lines.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> real_against_synthetic(sf.QDA().fit(X, y), X, y, features=(2, 3)).shape
    (2, 2)
    """
    fitted = Fitted.of(estimator, X)
    real_codes = fitted.codes(y)
    if not hasattr(estimator, "sample"):
        msg = (
            f"{type(estimator).__name__} cannot draw rows: "
            "use a generative classifier, such as sf.LDA or sf.QDA"
        )
        raise InvalidInputError(msg)
    drawn, labels = estimator.sample(len(fitted.rows), random_state=random_state)
    synthetic_codes = codes_of(labels, fitted.classes)
    positions = _chosen_features(fitted.names, fitted.rows, real_codes, features)
    real = fitted.rows[:, positions]
    synthetic = np.asarray(drawn)[:, positions]
    all_rows = np.concatenate([real, synthetic])

    def draw(cell: Canvas, row: int, column: int) -> None:
        if row > column:
            draw_points(cell, real[:, [column, row]], real_codes, size=0.5)
        elif row < column:
            draw_points(cell, synthetic[:, [column, row]], synthetic_codes, size=0.5)
        else:
            edges = _bar_edges(all_rows[:, row], len(real)).tolist()
            cell.ax.hist(real[:, row], edges, color=cell.style.soft, alpha=0.45, label="_real")
            cell.ax.hist(
                synthetic[:, row],
                edges,
                histtype="step",
                color=cell.style.ink,
                linewidth=1.1,
                label="_synthetic",
            )

    def entries(cell: Canvas) -> list[Entry]:
        filled = Patch(facecolor=cell.style.soft, linewidth=0, alpha=0.45)
        outline = Line2D([], [], color=cell.style.ink, linewidth=1.1)
        classes = cell.entries() if len(positions) > 1 else []
        return [*classes, (filled, "real, below"), (outline, "synthetic, above")]

    return _draw_grid(
        theme,
        classes=fitted.classes,
        names=[fitted.names[j] for j in positions],
        values=all_rows,
        draw=draw,
        entries=entries,
    )


def _draw_grid(
    theme: Theme,
    *,
    classes: LabelsLike,
    names: Sequence[str],
    values: Floats,
    draw: Callable[[Canvas, int, int], None],
    entries: Callable[[Canvas], list[Entry]],
) -> Array:
    """Return axes (m, m) with a row and a column for each feature, which ``draw`` fills."""
    m = len(names)
    short_names = shortened(names, 20)
    side = max(SMALLEST_CELL, LARGEST_GRID / (m + 1)) * m + 0.5
    window = around(values, 0.1)
    with canvas_grid(theme, (side + 1.2, side), (m, m), classes) as cells:
        axes = np.empty((m, m), dtype=object)
        for (row, column), cell in np.ndenumerate(cells):
            draw(cell, row, column)
            _name_cell(cell, row, column, short_names)
            cell.ax.set_xlim(window[column])
            if row != column:
                cell.ax.set_ylim(window[row])
            axes[row, column] = cell.ax
        corner: Canvas = cells[0, 0]
        write_legend(corner.ax.figure, entries(corner), corner.style)
        corner.ax.figure.align_ylabels(axes[:, 0])
    return axes


def _name_cell(cell: Canvas, row: int, column: int, names: tuple[str, ...]) -> None:
    """Write names and numbers only on the outer edges of the grid."""
    is_bottom = row == len(names) - 1
    is_left = column == 0 and row > 0
    cell.ax.locator_params(nbins=3)
    cell.ax.tick_params(labelsize=7.5, length=2.5, labelbottom=is_bottom, labelleft=is_left)
    ink = cell.style.ink
    x_name = names[column] if is_bottom else ""
    y_name = names[row] if is_left else ""
    cell.ax.set_xlabel(x_name, parse_math=False, color=ink, fontsize=8.5)
    cell.ax.set_ylabel(y_name, parse_math=False, color=ink, fontsize=8.5)
    if row == column:
        cell.ax.spines["left"].set_visible(False)
        cell.ax.tick_params(axis="y", left=False)


def _chosen_features(
    names: tuple[str, ...],
    rows: Array,
    codes: Codes,
    features: Sequence[Feature] | None,
) -> list[int]:
    """Return the positions of the given features, or of those that separate classes most."""
    if features is not None:
        return feature_positions(names, features)
    if len(names) <= MOST_FEATURES:
        return list(range(len(names)))
    ratio = separation(Moments.of(rows, codes, storage="diagonal"))
    most_separating = np.argsort(-ratio, kind="stable")[:MOST_FEATURES]
    return sorted(most_separating.tolist())


def _bar_edges(x: Floats, n: int) -> Floats:
    """Return edges of histogram bars, for n rows."""
    return np.histogram_bin_edges(x, int(np.clip(np.sqrt(n) * 1.4, 8, 30)))
