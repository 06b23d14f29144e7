"""The class predicted at every point of a grid, and the boundaries between classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

from suffice.decision import classifier_of
from suffice.errors import SufficeError
from suffice.model.geometry import Hyperplane, Quadric
from suffice.plots.plane import mesh

if TYPE_CHECKING:
    from suffice.plots.inputs import Fitted
    from suffice.plots.plane import Plane
    from suffice.typing import Codes, Floats

SMOOTH = 1.2  # cells over which a boundary known only by its two sides is smoothed
AGREEMENT = 0.999  # share of the grid where the class of largest posterior is the one predicted


@dataclass(frozen=True, slots=True, eq=False)
class PredictionGrid:
    """Predicted classes on a grid over a window of a plane."""

    fitted: Fitted
    plane: Plane
    window: Floats  # (2, 2)
    xs: Floats  # (m,)
    ys: Floats  # (m,)
    codes: Codes  # (m, m), rows along y; −1 where the classifier refuses

    @classmethod
    def of(cls, fitted: Fitted, plane: Plane, window: Floats, resolution: int) -> PredictionGrid:
        """Return the classes predicted at the centres of resolution × resolution cells."""
        xs, ys = (_centres(low, high, resolution) for low, high in window)
        grid = plane.lift(mesh(xs, ys))
        codes = fitted.predict(grid).reshape(len(ys), len(xs))
        return cls(fitted, plane, window, xs, ys, codes)

    @property
    def neighbours(self) -> list[tuple[int, int]]:
        """Pairs of classes that meet somewhere, the smaller code first."""
        across = np.stack([self.codes[:, :-1].ravel(), self.codes[:, 1:].ravel()], axis=1)
        along = np.stack([self.codes[:-1].ravel(), self.codes[1:].ravel()], axis=1)
        pairs = np.unique(np.sort(np.concatenate([across, along]), axis=1), axis=0)
        return [(int(a), int(b)) for a, b in pairs if a != b]

    def exact_curves(self, a: int, b: int) -> list[Floats] | None:
        """Return where the boundary of two classes decides, as polylines; None if unknown."""
        boundary = _boundary(self.fitted, a, b)
        if boundary is None:
            return None
        curves = self.plane.section(boundary).curve(self.window, n=400)
        return [part for curve in curves for part in self._deciding(curve, a, b)]

    def _deciding(self, curve: Floats, a: int, b: int) -> list[Floats]:
        """Return the stretches of a curve along which no third class is more probable."""
        p = self.fitted.posteriors(self.plane.lift(curve))
        others = np.delete(p, [a, b], axis=1).max(axis=1, initial=0.0)
        kept = np.maximum(p[:, a], p[:, b]) >= others
        cuts = np.flatnonzero(np.diff(kept)) + 1
        parts = zip(np.split(curve, cuts), np.split(kept, cuts), strict=True)
        return [part for part, keep in parts if keep[0] and len(part) > 1]

    def margins(self) -> Any:
        """Return a function of two codes: values over their cells, zero between them."""
        scores = self._scores()

        def margin(a: int, b: int) -> Any:
            both = np.isin(self.codes, (a, b))
            if scores is None or a < 0:
                values = gaussian_filter(np.where(self.codes == a, 1.0, -1.0), SMOOTH)
            else:
                values = scores[..., a] - scores[..., b]
            return np.ma.masked_where(~both, values)

        return margin

    def _scores(self) -> Floats | None:
        """Return posteriors on the grid (m, m, K), if they are what the classifier goes by."""
        if not hasattr(self.fitted.estimator, "predict_proba"):
            return None
        p = self.fitted.posteriors(self.plane.lift(mesh(self.xs, self.ys)))
        p = p.reshape(*self.codes.shape, -1)
        return p if np.mean(p.argmax(axis=-1) == self.codes) >= AGREEMENT else None


def _centres(low: float, high: float, n: int) -> Floats:
    """Return the centres of n equal cells between two ends."""
    return low + (high - low) * (np.arange(n) + 0.5) / n


def _boundary(fitted: Fitted, a: int, b: int) -> Hyperplane | Quadric | None:
    """Return the boundary of two classes, if the classifier has it and decides by it."""
    estimator = fitted.estimator
    if a < 0 or not hasattr(estimator, "boundary") or not classifier_of(estimator).decision.is_map:
        return None
    try:
        boundary = estimator.boundary(fitted.classes[a], fitted.classes[b])
    except SufficeError:  # of this model it is neither a hyperplane nor a quadric
        return None
    return boundary if isinstance(boundary, (Hyperplane, Quadric)) else None
