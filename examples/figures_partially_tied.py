"""Draw three classes of which two share a covariance: docs/images/partially_tied.png."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

import suffice as sf
import suffice.plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "partially_tied.png"


def fish(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return length and height of perch, roach and pike; perch and roach vary alike."""
    rng = np.random.default_rng(4)
    shared, own = [[5.0, 1.6], [1.6, 1.0]], [[14.0, -1.2], [-1.2, 0.35]]
    groups = (([24.0, 7.5], shared), ([22.0, 10.5], shared), ([33.0, 6.0], own))
    X = np.concatenate([rng.multivariate_normal(mean, cov, n) for mean, cov in groups])
    return X, np.repeat(["perch", "roach", "pike"], n)


def figure() -> Axes:
    """Return axes: a straight boundary inside the group, curved ones across groups."""
    X, y = fish()
    est = sf.GaussianClassifier(tied=[["perch", "roach"], ["pike"]]).fit(X, y)
    ax = sf.plots.decision_regions(est, X, y)
    ax.set(xlabel="length (cm)", ylabel="height (cm)")
    for other, shift in (("roach", (10, -34)), ("pike", (-20, -36))):
        boundary = est.boundary("perch", other)
        branches = boundary.curve((ax.get_xlim(), ax.get_ylim()))
        x, y = right_part(max(branches, key=lambda branch: branch[:, 0].max()))
        ax.annotate(
            type(boundary).__name__.lower(),
            (x, y),
            shift,
            textcoords="offset points",
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": "#1b1f24", "linewidth": 0.8},
        )
    return ax


def right_part(curve: np.ndarray) -> np.ndarray:
    """Return the point of a curve three quarters of the way to its right end."""
    low, high = curve[:, 0].min(), curve[:, 0].max()
    return curve[np.abs(curve[:, 0] - (0.25 * low + 0.75 * high)).argmin()]


if __name__ == "__main__":
    mpl.use("Agg")
    figure().figure.savefig(IMAGE, dpi=100, facecolor="white")
