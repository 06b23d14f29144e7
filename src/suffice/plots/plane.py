"""A line or a plane through feature space, on which a classifier of many features is drawn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import (
    DegenerateDataWarning,
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
)
from suffice.estimators.gaussian import LDA
from suffice.model.geometry import Hyperplane, Quadric
from suffice.text.numbers import percent_label

if TYPE_CHECKING:
    from suffice.model.geometry import Boundary
    from suffice.plots.inputs import Fitted
    from suffice.typing import Floats

FLATTEST = 0.7  # height of an isometric window by its width


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
    def of_features(cls, fitted: Fitted, features: Any, at: Any = None) -> Plane:
        """Return the plane of one or two features, the others held at ``at`` (d,)."""
        axes = [feature_index(fitted.names, feature) for feature in features]
        if not 1 <= len(set(axes)) == len(axes) <= 2:
            msg = f"features={features!r}: expected one feature or two different ones"
            raise InvalidParameterError(msg)
        origin = held_at(fitted, at)
        steps = np.eye(fitted.n_features)[axes]
        names = tuple(fitted.names[j] for j in axes)
        return cls(names, origin, origin[axes], steps, steps.T, isometric=False)

    @classmethod
    def of_discriminants(cls, fitted: Fitted, y: Any, count: int = 2) -> Plane:
        """Return the first discriminant coordinates, other directions at their expectation."""
        space = _discriminant_space(fitted, y)
        reader = space.scalings_[:, :count]
        centred = fitted.rows - space.xbar_
        # E[x − x̄ | z], least squares of the rows on their coordinates
        steps = np.linalg.lstsq(centred @ reader, centred, rcond=None)[0]
        shares = space.explained_variance_ratio_[: reader.shape[1]]
        names = tuple(
            f"discriminant {j} ({percent_label(share)})" for j, share in enumerate(shares, 1)
        )
        place = np.zeros(reader.shape[1])
        return cls(names, space.xbar_, place, steps, reader, isometric=True)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates m."""
        return len(self.place)

    def lift(self, z: Floats) -> Floats:
        """Return the points of feature space, (n, d), at coordinates (n, m)."""
        return self.origin + (z - self.place) @ self.steps

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates of rows, (n, m)."""
        return self.place + (x - self.origin) @ self.reader

    def spread(self, sigma: Floats) -> Floats:
        """Return the covariance of the coordinates, (m, m), of rows of covariance Σ (d, d)."""
        # RᵀΣR
        covariance: Floats = self.reader.T @ sigma @ self.reader
        return covariance

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
        width = high - low
        width = np.where(width > 0, width, np.where(high != 0, np.abs(high), 1.0))
        if self.isometric:
            width = np.maximum(width, FLATTEST * width.max())
        half = (0.5 + margin) * width
        return np.stack([(low + high) / 2 - half, (low + high) / 2 + half], axis=1)

    def stretch(self, x: Floats, margin: float = 0.1, n: int = 601) -> Floats:
        """Return n values of the only coordinate, around rows."""
        low, high = self.window(x, margin)[0]
        return np.linspace(low, high, n)


def plane_for(fitted: Fitted, y: Any, features: Any, at: Any) -> Plane:
    """Return the features asked for; else all, if one or two; else discriminant coordinates."""
    if isinstance(features, (str, int, np.integer)):
        features = (features,)
    if features is None and fitted.n_features > 2:
        return Plane.of_discriminants(fitted, y)
    chosen = tuple(range(fitted.n_features)) if features is None else features
    return Plane.of_features(fitted, chosen, at)


def line_for(fitted: Fitted, y: Any, feature: Any, at: Any) -> Plane:
    """Return the line along a feature, or along the first discriminant coordinate of many."""
    if feature is None and fitted.n_features > 1:
        return Plane.of_discriminants(fitted, y, 1)
    return Plane.of_features(fitted, (0 if feature is None else feature,), at)


def mesh(xs: Floats, ys: Floats) -> Floats:
    """Return the points of a grid, (len(ys) · len(xs), 2), x running fastest."""
    x, y = np.meshgrid(xs, ys)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def feature_index(names: tuple[str, ...], feature: Any) -> int:
    """Return the place of a feature given by place or by name."""
    if isinstance(feature, str):
        if feature in names:
            return names.index(feature)
    elif 0 <= feature < len(names):
        return int(feature)
    msg = f"no feature {feature!r}: there are {len(names)}, {list(names[:12])}"
    raise FeatureMismatchError(msg)


def held_at(fitted: Fitted, at: Any) -> Floats:
    """Return where features that do not vary are held, (d,): by default the mean."""
    origin = fitted.centre if at is None else np.asarray(at, np.float64)
    if origin.shape != (fitted.n_features,) or not np.all(np.isfinite(origin)):
        msg = f"at={at!r}: expected {fitted.n_features} numbers, one for each feature"
        raise InvalidParameterError(msg)
    return origin


def _discriminant_space(fitted: Fitted, y: Any) -> Any:
    """Return the classifier's own discriminant coordinates, or those of the rows."""
    if fitted.model is not None:
        return fitted.estimator
    if y is None:
        msg = "discriminant coordinates need labels: pass y, or choose two features"
        raise InvalidInputError(msg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return LDA().fit(fitted.rows, y)
