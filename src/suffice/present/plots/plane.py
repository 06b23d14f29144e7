"""Lines and planes through feature space, and the predictions of a classifier there."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from suffice.core.decision.classifier import Classifier
from suffice.core.model.geometry.boundary import Boundary
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric
from suffice.core.table.matrix import column_position
from suffice.core.text.numbers import percent_label
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    SufficeError,
)
from suffice.estimators.gaussian import LDA
from suffice.present.plots.inputs import Fitted
from suffice.typing import Array, Codes, Floats, LabelsLike

Feature: TypeAlias = str | int  # a name or an index

FLATTEST = 0.7  # smallest ratio of height to width of an isometric window
# width, in cells, by which a boundary is smoothed if only predicted labels are known
SMOOTHING = 1.2
# Boundaries are drawn from posteriors if the most probable class is predicted in this share of
# cells.
AGREEMENT = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Points x = o + (z − z_o) B with m = 1 or 2 coordinates z, and the inverse map z(x)."""

    names: tuple[str, ...]  # names of the coordinates  (m,)
    origin: Floats  # o  (d,)
    origin_coordinates: Floats  # z_o  (m,)
    directions: Floats  # B  (m, d)
    projection: Floats  # R  (d, m), with B R = I
    isometric: bool  # whether all coordinates have the same unit
    # number of discriminant coordinates that are not drawn, but held at their expectation
    n_hidden: int = 0

    @classmethod
    def of_features(
        cls,
        fitted: Fitted,
        features: Sequence[Feature],
        at: npt.ArrayLike | None = None,
    ) -> Self:
        """Return the plane of one or two features; all other features are fixed at ``at`` (d,)."""
        positions = feature_positions(fitted.names, features)
        if len(positions) not in (1, 2) or len(set(positions)) < len(positions):
            msg = f"features={features!r}: expected one feature or two different ones"
            raise InvalidParameterError(msg)
        origin = fitted.rows.mean(axis=0) if at is None else np.asarray(at, np.float64)
        if origin.shape != (fitted.n_features,) or not np.all(np.isfinite(origin)):
            msg = f"at={at!r}: expected {fitted.n_features} numbers, one for each feature"
            raise InvalidParameterError(msg)
        directions = np.eye(fitted.n_features)[positions]
        return cls(
            names=tuple(fitted.names[j] for j in positions),
            origin=origin,
            origin_coordinates=origin[positions],
            directions=directions,
            projection=directions.T,
            isometric=False,
        )

    @classmethod
    def of_discriminants(
        cls,
        fitted: Fitted,
        y: LabelsLike | None,
        count: int = 2,
    ) -> Self:
        """Return the plane of the first discriminant coordinates.

        Other directions are held at their expectation, given these coordinates.
        """
        gaussian = fitted.estimator
        if not hasattr(fitted.classifier.model, "covariance_of"):  # the model is not Gaussian
            if y is None:
                msg = "discriminant coordinates need labels: pass y, or choose two features"
                raise InvalidInputError(msg)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DegenerateDataWarning)
                gaussian = LDA().fit(fitted.rows, y)
        space = gaussian.discriminants_
        projection = space.scalings[:, :count]
        centred = fitted.rows - space.centre
        # E[x − x̄ | z]: least-squares regression of the rows on their coordinates
        directions = np.linalg.lstsq(centred @ projection, centred, rcond=None)[0]
        m = projection.shape[1]
        shares = space.explained_ratio[:m]
        names = [f"discriminant {j} ({percent_label(s)})" for j, s in enumerate(shares, 1)]
        return cls(
            names=tuple(names),
            origin=space.centre,
            origin_coordinates=np.zeros(m),
            directions=directions,
            projection=projection,
            isometric=True,
            n_hidden=len(space.explained_ratio) - m,
        )

    def lift(self, z: Floats) -> Floats:
        """Return the points of feature space, (n, d), at coordinates (n, m)."""
        return self.origin + (z - self.origin_coordinates) @ self.directions

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates of rows, (n, m)."""
        return self.origin_coordinates + (x - self.origin) @ self.projection

    def section(self, boundary: Boundary) -> Boundary:
        """Return the intersection of a boundary with the plane."""
        value = float(boundary.evaluate(self.origin)[0])
        slope = self.directions @ boundary.gradient(self.origin)[0]
        if isinstance(boundary, Hyperplane):
            return Hyperplane.about(
                self.origin_coordinates, slope, value, labels=boundary.labels
            )
        A = self.directions @ boundary.A @ self.directions.T
        return Quadric.about(self.origin_coordinates, A, slope, value, labels=boundary.labels)

    def window(self, x: Floats, margin: float = 0.08) -> Floats:
        """Return a window ((low, high), …) around rows, (m, 2), not too flat if isometric."""
        z = self.coordinates(x)
        low = z.min(axis=0)
        high = z.max(axis=0)
        width = high - low
        # for a constant coordinate, the width is the absolute value of the coordinate, or 1
        width = np.where(width > 0, width, np.abs(high))
        width = np.where(width > 0, width, 1.0)
        if self.isometric:
            width = np.maximum(width, FLATTEST * width.max())
        middle = (low + high) / 2
        half = (0.5 + margin) * width
        return np.stack([middle - half, middle + half], axis=1)


def plane_for(
    fitted: Fitted,
    y: LabelsLike | None,
    features: Feature | Sequence[Feature] | None,
    at: npt.ArrayLike | None,
    most: int = 2,
) -> Plane:
    """Return the plane of the given features; by default of all features, or of discriminants."""
    if features is None:
        if fitted.n_features <= most:
            return Plane.of_features(fitted, range(fitted.n_features), at)
        if at is not None:
            msg = "at= fixes the other features: name the features to draw over with features="
            raise InvalidParameterError(msg)
        return Plane.of_discriminants(fitted, y, most)
    if isinstance(features, (str, int, np.integer)):
        features = (features,)
    return Plane.of_features(fitted, features, at)


def around(x: Floats, margin: float) -> Floats:
    """Return a window ((low, high), …), (m, 2), around rows (n, m), with a relative margin."""
    low = x.min(axis=0)
    high = x.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.stack([low - margin * width, high + margin * width], axis=1)


def mesh(xs: Floats, ys: Floats) -> Floats:
    """Return the points of a grid, (len(ys) · len(xs), 2); x varies fastest."""
    return np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)


def feature_positions(names: tuple[str, ...], features: Iterable[Feature]) -> list[int]:
    """Return the positions of features that are given by index or name."""
    return [column_position(feature, names, len(names), "feature") for feature in features]


@dataclass(frozen=True, eq=False)
class PredictionGrid:
    """Predicted classes on a grid over a window of a plane."""

    fitted: Fitted
    plane: Plane
    window: Floats  # (2, 2)
    xs: Floats  # (m,)
    ys: Floats  # (m,)
    codes: Codes  # (m, m), with y along the rows; −1 if the classifier rejects

    @classmethod
    def of(cls, fitted: Fitted, plane: Plane, window: Floats, resolution: int) -> Self:
        """Return the predicted classes at the centres of resolution × resolution cells."""
        centres = np.arange(resolution) + 0.5
        (left, right), (bottom, top) = window
        xs = left + (right - left) * centres / resolution
        ys = bottom + (top - bottom) * centres / resolution
        codes = fitted.predict(plane.lift(mesh(xs, ys))).reshape(len(ys), len(xs))
        return cls(fitted, plane, window, xs, ys, codes)

    @property
    def neighbours(self) -> list[tuple[int, int]]:
        """Pairs of classes with a common boundary, the smaller code first."""
        across = np.stack([self.codes[:, :-1].ravel(), self.codes[:, 1:].ravel()], axis=1)
        along = np.stack([self.codes[:-1].ravel(), self.codes[1:].ravel()], axis=1)
        pairs = np.unique(np.sort(np.concatenate([across, along]), axis=1), axis=0)
        return [(int(a), int(b)) for a, b in pairs if a != b]

    def exact_curves(self, a: int, b: int) -> list[Floats] | None:
        """Return the boundary of two classes as polylines; None if it has no exact equation."""
        boundary = self._boundary(a, b)
        if boundary is None:
            return None
        parts: list[Floats] = []
        for curve in self.plane.section(boundary).curve(self.window, n=400):
            parts += self._deciding(curve, a, b)
        return parts

    def _boundary(self, a: int, b: int) -> Boundary | None:
        """Return the boundary of a suffice classifier if it is a hyperplane or a quadric."""
        estimator = self.fitted.estimator
        classifier = self.fitted.classifier
        if not isinstance(classifier, Classifier) or not hasattr(estimator, "boundary"):
            return None
        if a < 0 or not classifier.decision.is_map:
            return None
        try:
            boundary = estimator.boundary(self.fitted.classes[a], self.fitted.classes[b])
        except SufficeError:  # the boundary is neither a hyperplane nor a quadric
            return None
        return boundary if isinstance(boundary, (Hyperplane, Quadric)) else None

    def _deciding(self, curve: Floats, a: int, b: int) -> list[Floats]:
        """Return the parts of a curve along which no third class has a higher score."""
        classifier: Any = self.fitted.classifier
        scores = classifier.scores(self.plane.lift(curve))
        best_other = np.delete(scores, [a, b], axis=1).max(axis=1, initial=-np.inf)
        kept = np.maximum(scores[:, a], scores[:, b]) >= best_other
        cuts = np.flatnonzero(np.diff(kept)) + 1
        stretches = []
        for stretch, is_kept in zip(np.split(curve, cuts), np.split(kept, cuts), strict=True):
            if is_kept[0] and len(stretch) > 1:
                stretches.append(stretch)
        return stretches

    @cached_property
    def scores(self) -> Floats | None:
        """Posteriors on the grid, (m, m, K); None unless they agree with nearly all predictions."""
        if not self.fitted.classifier.has_posterior:
            return None
        posteriors = self.fitted.posteriors(self.plane.lift(mesh(self.xs, self.ys)))
        posteriors = posteriors.reshape(*self.codes.shape, -1)
        agreement = np.mean(posteriors.argmax(axis=-1) == self.codes)
        return posteriors if agreement >= AGREEMENT else None

    def margin(self, a: int, b: int) -> Array:
        """Return values that are zero at the boundary of a and b, masked at all other classes."""
        if a < 0 or self.scores is None:
            values = gaussian_filter(np.where(self.codes == a, 1.0, -1.0), SMOOTHING)
        else:
            values = self.scores[..., a] - self.scores[..., b]
        return np.ma.masked_where(~np.isin(self.codes, (a, b)), values)
