"""What every boundary shares: its two sides, its equation, checked arrays and points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.model.geometry.conic import Window
from suffice.model.geometry.equation import LatexNotation, UnicodeNotation, written
from suffice.text.tables import titled
from suffice.typing import Floats, Labels


class Surface(ABC):
    """Where y(x) = 0, and its two sides; y is known by its value and gradient at an anchor m."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of the surfaces

        @property
        def feature_names(self) -> tuple[str, ...] | None:
            """Names of the d features."""

        @property
        def labels(self) -> tuple[Any, Any] | None:
            """Labels of the positive and the negative side."""

        @property
        def anchor(self) -> Floats:
            """Point m near the data, (d,)."""

    @abstractmethod
    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): of classes the log odds of ``labels[0]`` against ``labels[1]``."""

    @abstractmethod
    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return the distance to the surface with the sign of y, (n,)."""

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.anchor)

    @property
    def distance_of_origin(self) -> float:
        """Signed distance of the surface from the origin: negative where y(0) is positive."""
        return float(-self.signed_distance(np.zeros(self.n_features))[0])

    def side(self, x: npt.ArrayLike) -> Labels:
        """Return the label of each row's side, (n,): +1 and −1 where there are no labels."""
        labels, pair = self.labels, np.array([1, -1])
        if labels is not None and type(labels[0]) is type(labels[1]) and np.ndim(labels[0]) == 0:
            pair = np.array(labels)
        elif labels is not None:
            pair = np.empty(2, dtype=object)
            pair[0], pair[1] = labels
        return pair[(self.evaluate(x) < 0).astype(np.intp)]

    def section(
        self, features: tuple[int | str, int | str] = (0, 1), at: npt.ArrayLike | None = None
    ) -> Self:
        """Return the curve over two features, the others held at ``at`` (d,), default zero."""
        axes = plane_axes(features, self.feature_names, self.n_features)
        names = self.feature_names and tuple(self.feature_names[i] for i in axes)
        return self._section(axes, held(at, self.anchor, axes), names)

    def curve(
        self,
        window: npt.ArrayLike,
        features: tuple[int | str, int | str] = (0, 1),
        at: npt.ArrayLike | None = None,
        n: int = 100,
    ) -> list[Floats]:
        """Return the section in ((x_lo, x_hi), (y_lo, y_hi)) as polylines (m, 2).

        Each has n points to a smooth arc; an ellipse inside the window is closed.
        """
        frame = Window.of(window)
        if n < 2:
            msg = f"n={n}: an arc needs at least its two ends"
            raise InvalidParameterError(msg)
        return [frame.place(u) for u in self.section(features, at)._traced(frame, int(n))]

    def equation(self, digits: int = 4, about: npt.ArrayLike | None = None) -> str:
        """Return the equation as text, in x or in x − ``about``; its left side is y(x)."""
        return written(self._form(about), self.feature_names, digits, UnicodeNotation())

    def latex(self, digits: int = 4, about: npt.ArrayLike | None = None) -> str:
        """Return the equation as LaTeX, in x or in x − ``about``."""
        return written(self._form(about), self.feature_names, digits, LatexNotation())

    def _repr_html_(self) -> str:
        a, b = self.labels or ("one side", "the other")
        above = f"<p>Above zero: {escape(str(a))}; below: {escape(str(b))}.</p>"
        return titled(f"{type(self).__name__}: {self.equation()}", above)

    @abstractmethod
    def _section(self, axes: list[int], here: Floats, names: tuple[str, ...] | None) -> Self:
        """Return the curve over two axes through a point (d,)."""

    @abstractmethod
    def _traced(self, frame: Window, n: int) -> list[Floats]:
        """Return the curve of two features in the square that ``frame`` is seen as."""

    @abstractmethod
    def _form(self, about: npt.ArrayLike | None) -> tuple[Floats | None, Floats, float, Floats]:
        """Return A, or None, ∇y and y at ``about``, and ``about``."""

    def _set_fields(self, d: int, **fields: Floats | float) -> None:
        """Fix the coefficients, the anchor and the names of a new surface in d dimensions."""
        anchor = self.anchor if np.ndim(self.anchor) else np.full(d, self.anchor)
        names = self.feature_names
        if names is not None and len(names) != d:
            msg = f"{len(names)} feature names for {d} features"
            raise FeatureMismatchError(msg)
        fields["anchor"] = fixed("anchor", anchor, (d,))
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "feature_names", names and tuple(map(str, names)))

    def _about(self, about: npt.ArrayLike | None) -> Floats:
        """Return the point an equation is written about: by default the origin."""
        return np.zeros(self.n_features) if about is None else points(about, self.n_features)[0]

    def _require_one_feature(self) -> None:
        if self.n_features != 1:
            msg = f"roots are for one feature, here are {self.n_features}: trace a curve instead"
            raise InvalidParameterError(msg)


def fixed(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return a read-only copy as finite floats of the given shape, or say what is wrong."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        msg = f"{name} has shape {array.shape}, expected {shape}"
        raise FeatureMismatchError(msg)
    strange = array[~np.isfinite(array)]
    if strange.size:
        msg = f"{name} holds {strange[0]}: a boundary needs finite coefficients"
        raise InvalidParameterError(msg)
    array.flags.writeable = False
    return array


def points(x: npt.ArrayLike, d: int) -> Floats:
    """Return rows (n, d); a single point (d,), or a column of numbers if d = 1, will do."""
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim < 2 and (d == 1 or rows.size == d):
        rows = rows.reshape(-1, d)
    if rows.ndim != 2 or rows.shape[1] != d:
        msg = f"points have shape {rows.shape}, expected (n, {d}): one column per feature"
        raise FeatureMismatchError(msg)
    return rows


def signed(y: Floats, distance: Floats) -> Floats:
    """Return the distances with the sign of y, zero on the boundary itself."""
    return np.where(y == 0, 0.0, np.copysign(distance, y))


def plane_axes(
    features: tuple[int | str, int | str], names: tuple[str, ...] | None, d: int
) -> list[int]:
    """Return the indices of two different features, given by index or by name."""
    axes = [_axis(feature, names, d) for feature in features]
    if len(axes) != 2 or axes[0] == axes[1]:
        msg = f"features={features!r}: a plane is drawn over two different features"
        raise InvalidParameterError(msg)
    return axes


def held(at: npt.ArrayLike | None, anchor: Floats, axes: list[int]) -> Floats:
    """Return the anchor of a section (d,): ``at``, or zero, but for the axes that vary."""
    values = np.zeros(len(anchor)) if at is None else fixed("at", at, anchor.shape).copy()
    values[axes] = anchor[axes]
    return values


def _axis(feature: int | str, names: tuple[str, ...] | None, d: int) -> int:
    known = names or ()
    if isinstance(feature, str):
        if feature in known:
            return known.index(feature)
    elif 0 <= feature < d:
        return int(feature)
    msg = f"no feature {feature!r}: there are {d}" + (f", {list(known)}" if known else "")
    raise FeatureMismatchError(msg)


def require_reached(distance: Floats) -> None:
    """Refuse to project on a boundary that has no points."""
    if not np.all(np.isfinite(distance)):
        msg = "there is no boundary: one of the two classes is more probable everywhere"
        raise InvalidInputError(msg)
