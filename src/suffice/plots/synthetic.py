"""Whether rows drawn from the model look like the real ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from suffice.errors import InvalidInputError
from suffice.plots import marks
from suffice.plots.canvas import Canvas, class_entries, documented
from suffice.plots.inputs import Fitted
from suffice.plots.panels import chosen_features, panels
from suffice.plots.style import Palette, Style, Theme, palette_for
from suffice.table.labels import codes_of
from suffice.typing import Floats


@documented
def real_against_synthetic(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[Any] | None = None,
    random_state: int = 0,
    palette: Palette | None = None,
    theme: Theme = "light",
    figure: FigureBase | None = None,
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
    real, codes = fitted.rows, fitted.codes(y)
    drawn, drawn_codes = _sample(fitted, random_state)
    looks = palette_for(fitted.classes, palette)
    chosen = chosen_features(fitted.names, real, codes, features)
    real, drawn = real[:, chosen], drawn[:, chosen]
    with panels(figure, theme, tuple(fitted.names[j] for j in chosen), looks) as grid:
        for row, column in np.ndindex(grid.axes.shape):
            cell = grid.cell(row, column)
            if row == column:
                _both(cell, real[:, row], drawn[:, row])
            elif row > column:
                marks.points(cell, real[:, [column, row]], codes, size=0.5)
            else:
                marks.points(cell, drawn[:, [column, row]], drawn_codes, size=0.5)
        grid.limit(np.concatenate([real, drawn]))
        classes = class_entries(looks, grid.style) if len(chosen) > 1 else []
        grid.legend([*classes, *_entries(grid.style)])
    return grid.axes


def _sample(fitted: Fitted, random_state: int) -> tuple[Floats, Any]:
    """Return as many synthetic rows and their classes as there are real ones."""
    if not hasattr(fitted.estimator, "sample"):
        raise InvalidInputError(
            f"{type(fitted.estimator).__name__} cannot draw rows: use a generative classifier, "
            "such as sf.LDA or sf.QDA"
        )
    x, labels = fitted.estimator.sample(len(fitted.rows), random_state=random_state)
    return np.asarray(x), codes_of(labels, fitted.classes)


def _both(cell: Canvas, real: Floats, drawn: Floats) -> None:
    """Draw the histogram of real rows filled, that of synthetic ones as a line."""
    bins = int(np.clip(np.sqrt(len(real)) * 1.4, 8, 30))
    edges = np.histogram_bin_edges(np.concatenate([real, drawn]), bins)
    cell.ax.hist(real, edges, color=cell.style.soft, alpha=0.45, label="_real")
    cell.ax.hist(
        drawn, edges, histtype="step", color=cell.style.ink, linewidth=1.1, label="_synthetic"
    )


def _entries(style: Style) -> list[tuple[Any, str]]:
    filled = Patch(facecolor=style.soft, alpha=0.45, linewidth=0)
    line = Line2D([], [], color=style.ink, linewidth=1.1)
    return [(filled, "real, below"), (line, "synthetic, above")]
