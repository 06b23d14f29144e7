"""The figure of a regression line or curve, with the Gaussian distribution of y given x."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from suffice.core.table.matrix import as_matrix
from suffice.core.text.lists import default_names
from suffice.errors import InvalidInputError
from suffice.present.plots.canvas import open_canvas
from suffice.present.plots.paths import PATH_COLOUR
from suffice.present.plots.style import Theme
from suffice.typing import RowsLike

if TYPE_CHECKING:
    from suffice.estimators.least_squares import LinearGaussianRegressor


def regression_line(
    estimator: "LinearGaussianRegressor",
    X: RowsLike,
    y: npt.ArrayLike,
    *,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with a regression line or curve, and the Gaussian of y | x at four points.

    Parameters
    ----------
    estimator : LinearGaussianRegressor
        A regressor fitted to one feature.
    X, y : array or frame (n, 1) and array (n,)
        Rows and their targets.
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
    >>> x = X[:, 2:3]
    >>> line = sf.lectures.LinearGaussianRegressor().fit(x, X[:, 3])
    >>> regression_line(line, x, X[:, 3]).get_xlabel()
    'x₁'
    """
    x, names = as_matrix(X)
    if x.shape[1] != 1:
        msg = f"a regression line needs one feature, but X has {x.shape[1]}: pass one column"
        raise InvalidInputError(msg)
    sigma = float(np.sqrt(estimator.variance_))
    low = float(x.min())
    high = float(x.max())
    along = np.linspace(low, high, 201)
    places = np.linspace(low, high, 6)[1:-1]
    means = estimator.predict(places[:, None])
    # N(y; wᵀφ(x) + w_0, σ²), drawn sideways with a peak as long as a sixth of the axis
    z = np.linspace(-3, 3, 121)
    heights = (high - low) / 6 * np.exp(-0.5 * z**2)
    with open_canvas(ax, theme, legend=legend) as canvas:
        (line,) = canvas.ax.plot(
            along, estimator.predict(along[:, None]), color=canvas.style.ink
        )
        rows = canvas.dot(x[:, 0], np.asarray(y), canvas.style.accent, 4.5, alpha=0.7)
        for place, mean in zip(places, means, strict=True):
            values = mean + sigma * z
            canvas.ax.fill_betweenx(
                values,
                place,
                place + heights,
                alpha=0.25,
                color=PATH_COLOUR,
                linewidth=1.4,
            )
            (bell,) = canvas.ax.plot(
                place + heights,
                values,
                color=PATH_COLOUR,
                linewidth=1.4,
                label="_gaussian",
            )
        feature_name = default_names(1)[0] if names is None else names[0]
        canvas.name_axes(feature_name, "y")
        canvas.legend(
            [(rows, "rows"), (line, "mean of y | x"), (bell, f"y | x, σ = {sigma:.3g}")]
        )
    return canvas.ax
