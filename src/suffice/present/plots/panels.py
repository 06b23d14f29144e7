"""Grids of small axes: rows over every pair of features, and synthetic rows beside real ones."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from suffice.core.moments import Moments
from suffice.core.table.labels import as_labels, codes_of, encode
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import default_names, shortened
from suffice.errors import InvalidInputError
from suffice.evaluate.curves.feature_separation import separation
from suffice.present.plots import marks
from suffice.present.plots.canvas import (
    MOST_ENTRIES,
    Canvas,
    Entries,
    canvas_grid,
    documented,
    write_legend,
)
from suffice.present.plots.inputs import Fitted, rows_to_draw
from suffice.present.plots.plane import around, feature_places
from suffice.present.plots.style import Theme
from suffice.typing import Codes, Floats

MOST_FEATURES = 5  # where none are chosen
CELL, LARGEST = 1.45, 6.0  # inches of a cell: at least, and by the number of cells


def _grid(
    theme: Theme,
    classes: Any,
    names: Sequence[str],
    values: Floats,
    draw: Callable[[Canvas, int, int], None],
    entries: Callable[[Canvas], Entries] = Canvas.entries,
) -> Any:
    """Return axes (m, m), a row and a column for each feature, that ``draw`` has filled."""
    m, named = len(names), shortened(names, 20)
    side = max(CELL, LARGEST / (m + 1)) * m + 0.5
    window = around(values, 0.1)
    with canvas_grid(theme, (side + 1.2, side), (m, m), classes) as cells:
        for (row, column), cell in np.ndenumerate(cells):
            draw(cell, row, column)
            cell.ax.set_xlim(window[column])
            cell.ax.locator_params(nbins=3)
            # names and numbers on the outer edges only
            small = {"parse_math": False, "color": cell.style.ink, "fontsize": 8.5}
            bottom, left = row == m - 1, column == 0 < row
            cell.ax.tick_params(labelsize=7.5, length=2.5, labelbottom=bottom, labelleft=left)
            cell.ax.set_xlabel(named[column] if bottom else "", **small)
            cell.ax.set_ylabel(named[row] if left else "", **small)
            if row == column:
                cell.ax.spines["left"].set_visible(False)
                cell.ax.tick_params(axis="y", left=False)
            else:
                cell.ax.set_ylim(window[row])
        axes = np.array([[cell.ax for cell in line] for line in cells])
        write_legend(axes[0, 0].figure, entries(cells[0, 0]), cells[0, 0].style)
        axes[0, 0].figure.align_ylabels(axes[:, 0])
    return axes


def _chosen(names: tuple[str, ...], rows: Floats, codes: Codes, features: Any) -> list[int]:
    """Return the places of the features asked for, or of those that separate classes most."""
    if features is not None:
        return feature_places(names, features)
    if len(names) <= MOST_FEATURES:
        return list(range(len(names)))
    ratio = separation(Moments.of(rows, codes, storage="diagonal"))
    return sorted(np.argsort(-ratio, kind="stable")[:MOST_FEATURES].tolist())


def _edges(x: Floats, n: int) -> Floats:
    """Return the edges of bars that suit n rows."""
    return np.histogram_bin_edges(x, int(np.clip(np.sqrt(n) * 1.4, 8, 30)))


@documented
def pairs(
    X: Any,
    y: Any,
    *,
    features: Any = None,
    coverage: Any = None,
    theme: Theme = "light",
) -> Any:
    """Return an array (m, m) of axes: rows over each pair of features, with class ellipses.

    On the diagonal are the histograms of each class. Cells over the diagonal are empty.

    Parameters
    ----------
    features : names or indices, optional
        The features; by default all, of more than five those that separate the classes most.
    coverage : sequence of float, optional
        Shares that the ellipses hold of a Gaussian with a class's mean and covariance.

    Examples
    --------
    >>> pairs(X, y).shape
    (4, 4)
    """
    (x, columns), (classes, codes) = rows_to_draw(X), encode(as_labels(y))
    require_as_many(len(x), len(codes))
    names = columns or default_names(x.shape[1])
    chosen = _chosen(names, x, codes, features)
    values = np.asarray(x[:, chosen], np.float64)
    moments = Moments.of(values, codes, storage="per-class", fourth=False)

    def draw(cell: Canvas, row: int, column: int) -> None:
        cell.ax.set_visible(row >= column)
        both = [column, row]
        if row == column:
            _histograms(cell, values[:, row], codes)
        elif row > column:
            marks.draw_points(cell, values[:, both], codes, size=0.5)
            for k in moments.classes:
                sigma = moments.scatters[k][np.ix_(both, both)] / moments.weights[k]
                marks.ellipses(
                    cell, moments.means[k][both], sigma, k, marks.shares(cell, coverage)
                )

    return _grid(theme, classes, [names[j] for j in chosen], values, draw)


def _histograms(cell: Canvas, x: Floats, codes: Codes) -> None:
    """Draw the histogram of each class, or of all together if they are many."""
    edges = _edges(x, len(x))
    if len(cell.looks) > MOST_ENTRIES:
        cell.ax.hist(x, edges, color=cell.style.soft, alpha=0.45, label="_histogram")
        return
    for k in range(len(cell.looks)):
        marks.histogram(cell, x[codes == k], edges, k, alpha=0.45, linewidth=0.4)


@documented
def real_against_synthetic(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Any = None,
    random_state: int = 0,
    theme: Theme = "light",
) -> Any:
    """Return an array (m, m) of axes: real rows under the diagonal, synthetic ones over it.

    As many rows are drawn from the model as there are. Where the model is right the two halves
    are mirror images but for chance. On the diagonal both are counted, all classes together.
    Gelman, Meng & Stern (1996), *Statistica Sinica* 6, 733–807.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with ``sample``.
    features : names or indices, optional
        The features; by default all, of more than five those that separate the classes most.
    random_state : int
        Seed of the synthetic rows.

    Examples
    --------
    >>> real_against_synthetic(sf.QDA().fit(X, y), X, y, features=(2, 3)).shape
    (2, 2)
    """
    fitted = Fitted.of(estimator, X)
    codes = fitted.codes(y)
    if not hasattr(estimator, "sample"):
        cure = "use a generative classifier, such as sf.LDA or sf.QDA"
        raise InvalidInputError(f"{type(estimator).__name__} cannot draw rows: {cure}")
    drawn, labels = estimator.sample(len(fitted.rows), random_state=random_state)
    chosen = _chosen(fitted.names, fitted.rows, codes, features)
    real, synthetic = fitted.rows[:, chosen], np.asarray(drawn)[:, chosen]
    both, new_codes = np.concatenate([real, synthetic]), codes_of(labels, fitted.classes)
    line: Any = {"linewidth": 1.1}
    fill: Any = {"alpha": 0.45}

    def draw(cell: Canvas, row: int, column: int) -> None:
        ink, soft = cell.style.ink, cell.style.soft
        if row == column:
            edges = _edges(both[:, row], len(real))
            cell.ax.hist(real[:, row], edges, color=soft, label="_real", **fill)
            steps = {"histtype": "step", "color": ink, "label": "_synthetic"}
            cell.ax.hist(synthetic[:, row], edges, **steps, **line)
        else:
            rows, of = (real, codes) if row > column else (synthetic, new_codes)
            marks.draw_points(cell, rows[:, [column, row]], of, size=0.5)

    def entries(cell: Canvas) -> list[tuple[Any, str]]:
        filled = Patch(facecolor=cell.style.soft, linewidth=0, **fill)
        outline = Line2D([], [], color=cell.style.ink, **line)
        classes = cell.entries() if len(chosen) > 1 else []
        return [*classes, (filled, "real, below"), (outline, "synthetic, above")]

    return _grid(theme, fitted.classes, [fitted.names[j] for j in chosen], both, draw, entries)
