"""A line or a plane through feature space, and what a classifier predicts on it."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.ndimage import gaussian_filter

from suffice import errors
from suffice.core.model.geometry.boundary import Boundary
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric
from suffice.core.table.matrix import column_position
from suffice.core.text.numbers import percent_label
from suffice.estimators.gaussian import LDA
from suffice.present.plots.inputs import Fitted
from suffice.typing import Codes, Floats

FLATTEST = 0.7  # height of an isometric window by its width
SMOOTH = 1.2  # cells over which a boundary known only by its two sides is smoothed
AGREEMENT = (
    0.999  # share of the grid where the class of largest posterior is the one predicted
)


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Points x = o + (z − z_o) B of m = 1 or 2 coordinates z, and the map back z(x)."""

    names: tuple[str, ...]  # of the coordinates  (m,)
    origin: Floats  # o  (d,)
    place: Floats  # z_o  (m,)
    steps: Floats  # B  (m, d)
    reader: Floats  # R  (d, m), with B R = I
    isometric: bool  # whether one unit means the same in every coordinate

    @classmethod
    def of_features(cls, fitted: Fitted, features: Any, at: Any = None) -> Self:
        """Return the plane of one or two features, the others held at ``at`` (d,)."""
        axes = feature_places(fitted.names, features)
        if not 1 <= len(set(axes)) == len(axes) <= 2:
            msg = f"features={features!r}: expected one feature or two different ones"
            raise errors.InvalidParameterError(msg)
        origin = fitted.rows.mean(axis=0) if at is None else np.asarray(at, np.float64)
        if origin.shape != (fitted.n_features,) or not np.all(np.isfinite(origin)):
            msg = f"at={at!r}: expected {fitted.n_features} numbers, one for each feature"
            raise errors.InvalidParameterError(msg)
        steps = np.eye(fitted.n_features)[axes]
        names = tuple(fitted.names[j] for j in axes)
        return cls(names, origin, origin[axes], steps, steps.T, isometric=False)

    @classmethod
    def of_discriminants(cls, fitted: Fitted, y: Any, count: int = 2) -> Self:
        """Return the first discriminant coordinates, other directions at their expectation."""
        space: Any = fitted.estimator
        if not hasattr(
            fitted.classifier.model, "covariance_of"
        ):  # its classes are not Gaussian
            if y is None:
                msg = "discriminant coordinates need labels: pass y, or choose two features"
                raise errors.InvalidInputError(msg)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.DegenerateDataWarning)
                space = LDA().fit(fitted.rows, y)
        reader = space.scalings_[:, :count]
        centred = fitted.rows - space.xbar_
        # E[x − x̄ | z], least squares of the rows on their coordinates
        steps = np.linalg.lstsq(centred @ reader, centred, rcond=None)[0]
        shares = space.explained_variance_ratio_[: reader.shape[1]]
        said = [f"discriminant {j} ({percent_label(s)})" for j, s in enumerate(shares, 1)]
        place = np.zeros(reader.shape[1])
        return cls(tuple(said), space.xbar_, place, steps, reader, isometric=True)

    def lift(self, z: Floats) -> Floats:
        """Return the points of feature space, (n, d), at coordinates (n, m)."""
        return self.origin + (z - self.place) @ self.steps

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates of rows, (n, m)."""
        return self.place + (x - self.origin) @ self.reader

    def section(self, boundary: Boundary) -> Boundary:
        """Return where a boundary of feature space cuts the plane."""
        value = float(boundary.evaluate(self.origin)[0])
        slope = self.steps @ boundary.gradient(self.origin)[0]
        if isinstance(boundary, Hyperplane):
            return Hyperplane(slope, value, None, boundary.labels, self.place)
        A = self.steps @ boundary.A @ self.steps.T
        return Quadric(A, slope, value, None, boundary.labels, self.place)

    def window(self, x: Floats, margin: float = 0.08) -> Floats:
        """Return ((low, high), …), (m, 2), around rows; not too flat if isometric."""
        z = self.coordinates(x)
        low, high = z.min(axis=0), z.max(axis=0)
        width = np.where(high > low, high - low, np.where(high != 0, np.abs(high), 1.0))
        if self.isometric:
            width = np.maximum(width, FLATTEST * width.max())
        half = (0.5 + margin) * width
        return np.stack([(low + high) / 2 - half, (low + high) / 2 + half], axis=1)


def plane_for(fitted: Fitted, y: Any, features: Any, at: Any, most: int = 2) -> Plane:
    """Return the features asked for; else all, if ``most`` or fewer; else discriminants."""
    if isinstance(features, (str, int, np.integer)):
        features = (features,)
    if features is None and fitted.n_features > most:
        if at is not None:
            msg = "at says where other features are held: name the features to draw over, too"
            raise errors.InvalidParameterError(msg)
        return Plane.of_discriminants(fitted, y, most)
    chosen = tuple(range(fitted.n_features)) if features is None else features
    return Plane.of_features(fitted, chosen, at)


def around(x: Floats, margin: float) -> Floats:
    """Return ((low, high), …), (m, 2), around rows (n, m), and a share of their width more."""
    low, high = x.min(axis=0), x.max(axis=0)
    reach = margin * np.where(high > low, high - low, 1.0)
    return np.stack([low - reach, high + reach], axis=1)


def mesh(xs: Floats, ys: Floats) -> Floats:
    """Return the points of a grid, (len(ys) · len(xs), 2), x running fastest."""
    return np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)


def feature_places(names: tuple[str, ...], features: Iterable[Any]) -> list[int]:
    """Return the places of features given by place or by name."""
    return [column_position(feature, names, len(names), "feature") for feature in features]


@dataclass(frozen=True, eq=False)
class PredictionGrid:
    """Predicted classes on a grid over a window of a plane."""

    fitted: Fitted
    plane: Plane
    window: Floats  # (2, 2)
    xs: Floats  # (m,)
    ys: Floats  # (m,)
    codes: Codes  # (m, m), rows along y; −1 where the classifier refuses

    @classmethod
    def of(cls, fitted: Fitted, plane: Plane, window: Floats, resolution: int) -> Self:
        """Return the classes predicted at the centres of resolution × resolution cells."""
        places = np.arange(resolution) + 0.5
        xs, ys = (low + (high - low) * places / resolution for low, high in window)
        codes = fitted.predict(plane.lift(mesh(xs, ys))).reshape(len(ys), len(xs))
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
        ours, decision = (
            self.fitted.estimator,
            getattr(self.fitted.classifier, "decision", None),
        )
        if a < 0 or decision is None or not decision.is_map or not hasattr(ours, "boundary"):
            return None
        try:
            boundary = ours.boundary(self.fitted.classes[a], self.fitted.classes[b])
        except errors.SufficeError:  # of this model it is neither a hyperplane nor a quadric
            return None
        if not isinstance(boundary, (Hyperplane, Quadric)):
            return None
        curves = self.plane.section(boundary).curve(self.window, n=400)
        return [part for curve in curves for part in self._deciding(curve, a, b)]

    def _deciding(self, curve: Floats, a: int, b: int) -> list[Floats]:
        """Return the stretches of a curve along which no third class scores higher."""
        ours: Any = self.fitted.classifier
        score = ours.scores(self.plane.lift(curve))
        others = np.delete(score, [a, b], axis=1).max(axis=1, initial=-np.inf)
        kept = np.maximum(score[:, a], score[:, b]) >= others
        cuts = np.flatnonzero(np.diff(kept)) + 1
        parts = zip(np.split(curve, cuts), np.split(kept, cuts), strict=True)
        return [part for part, keep in parts if keep[0] and len(part) > 1]

    @cached_property
    def scores(self) -> Floats | None:
        """Posteriors on the grid (m, m, K), if they are what the classifier goes by."""
        if not self.fitted.classifier.has_posterior:
            return None
        p = self.fitted.posteriors(self.plane.lift(mesh(self.xs, self.ys)))
        p = p.reshape(*self.codes.shape, -1)
        return p if np.mean(p.argmax(axis=-1) == self.codes) >= AGREEMENT else None

    def margin(self, a: int, b: int) -> Any:
        """Return values over the cells of two classes, zero between them."""
        if a < 0 or self.scores is None:
            values = gaussian_filter(np.where(self.codes == a, 1.0, -1.0), SMOOTH)
        else:
            values = self.scores[..., a] - self.scores[..., b]
        return np.ma.masked_where(~np.isin(self.codes, (a, b)), values)
