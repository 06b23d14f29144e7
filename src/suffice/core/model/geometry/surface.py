"""The base class of boundaries: value, sides, distances, sections and equation."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.linalg import EPS
from suffice.core.model.geometry.conic import conic_polylines, real_roots
from suffice.core.table.matrix import column_position
from suffice.core.text.lists import default_names
from suffice.core.text.tables import titled_html
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Floats, Labels

Axes: TypeAlias = tuple[int | str, int | str]  # names or numbers of two features
Sides: TypeAlias = tuple[object, object]  # labels of the positive and the negative side
Window: TypeAlias = npt.ArrayLike  # ((x_lo, x_hi), (y_lo, y_hi))
# a coefficient, and the positions of the features that the coefficient multiplies
Term: TypeAlias = tuple[float, tuple[int, ...]]
MOST_FEATURES_IN_REPR = 4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class ClassTerms(NamedTuple):
    """The terms of one Gaussian class in a boundary with the anchor m."""

    log_prior: float  # log π
    offset: Floats  # u = μ − m  (d,)
    precision: Floats  # P = Σ⁻¹  (d, d)
    log_det: float  # log|Σ|


class Surface(ABC):
    """The surface y(x) = xᵀAx + bᵀx + c = 0 and its two sides; A is None if y is linear.

    The values of y are computed relative to a point m near the data, the anchor, so that no digits
    cancel: y(x) = uᵀAu + ∇y(m)ᵀu + y(m) with u = x − m.
    """

    __slots__ = ()

    feature_names: tuple[str, ...] | None
    labels: Sides | None
    _anchor: Floats  # m  (d,)
    _gradient_at_anchor: Floats  # ∇y(m)  (d,)
    _value_at_anchor: float  # y(m)

    @property
    @abstractmethod
    def _coefficients(self) -> tuple[Floats | None, Floats, float]:
        """The coefficients A (d, d) or None, b (d,) and c of the equation."""

    @abstractmethod
    def _steps(self, x: npt.ArrayLike) -> Floats:
        """Return the shortest step from each row to the surface, (n, d)."""

    @abstractmethod
    def _section(
        self,
        axes: list[int],
        gradient: Floats,
        value: float,
        feature_names: tuple[str, ...] | None,
    ) -> Self:
        """Return the section over two features, given ∇y (2,) and y at the section's anchor."""

    @abstractmethod
    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): for classes, the log odds of ``labels[0]`` against ``labels[1]``."""

    def gradient(self, x: npt.ArrayLike) -> Floats:
        """Return ∇y at each row, (n, d)."""
        u = as_points(x, self.n_features) - self._anchor
        A, _, _ = self._coefficients
        slope = self._gradient_at_anchor
        # ∇y(x) = 2Au + ∇y(m)
        return np.tile(slope, (len(u), 1)) if A is None else 2 * u @ A + slope

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return the exact distance to the surface with the sign of y, (n,).

        The distance is infinite if all points are on one side, so that there is no boundary.
        """
        return with_sign(self.evaluate(x), np.linalg.norm(self._steps(x), axis=1))

    def project(self, x: npt.ArrayLike) -> Floats:
        """Return the point of the surface nearest to each row, (n, d)."""
        steps = self._steps(x)
        if not np.all(np.isfinite(steps)):
            msg = "there is no boundary: one of the two classes is more probable everywhere"
            raise InvalidInputError(msg)
        return as_points(x, self.n_features) + steps

    def roots(self) -> Floats:
        """Return the boundary points of a single feature in ascending order: none, one or two."""
        if self.n_features != 1:
            raise InvalidParameterError(
                f"roots() is for a boundary of one feature, and this one has {self.n_features}: "
                "use curve() instead"
            )
        A, _, _ = self._coefficients
        square = 0.0 if A is None else float(A[0, 0])
        slope = float(self._gradient_at_anchor[0])
        return self._anchor + real_roots(square, slope, self._value_at_anchor)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self._anchor)

    @property
    def distance_of_origin(self) -> float:
        """Distance of the surface from the origin, negative if y(0) is positive."""
        return float(-self.signed_distance(np.zeros(self.n_features))[0])

    def side(self, x: npt.ArrayLike) -> Labels:
        """Return the label of the side on which each row lies, (n,); without labels, +1 or −1."""
        return self._side_labels()[(self.evaluate(x) < 0).astype(np.intp)]

    def _side_labels(self) -> Labels:
        """Return the labels of the positive and the negative side, (2,)."""
        if self.labels is None:
            return np.array([1, -1])
        positive, negative = self.labels
        if type(positive) is type(negative) and np.ndim(positive) == 0:  # type: ignore[arg-type]
            return np.array([positive, negative])
        pair = np.empty(2, dtype=object)
        pair[0] = positive
        pair[1] = negative
        return pair

    def section(self, features: Axes = (0, 1), at: npt.ArrayLike | None = None) -> Self:
        """Return the section over two features; ``at`` (d,) fixes the others, by default at 0."""
        d = self.n_features
        names = self.feature_names
        axes = [column_position(feature, names, d, "feature") for feature in features]
        if len(set(axes)) != 2:
            msg = f"features={features!r}: a plane is drawn over two different features"
            raise InvalidParameterError(msg)
        point = np.zeros(d) if at is None else fixed("at", at, (d,)).copy()
        point[axes] = self._anchor[axes]
        return self._section(
            axes,
            self.gradient(point)[0, axes],
            float(self.evaluate(point)[0]),
            None if names is None else tuple(names[i] for i in axes),
        )

    def curve(
        self,
        window: Window,
        features: Axes = (0, 1),
        at: npt.ArrayLike | None = None,
        n: int = 100,
    ) -> list[Floats]:
        """Return the section in ((x_lo, x_hi), (y_lo, y_hi)) as polylines (m, 2).

        Each smooth arc has n points; an ellipse inside the window is closed.
        """
        limits = np.asarray(window, dtype=np.float64)
        is_finite = limits.shape == (2, 2) and np.all(np.isfinite(limits))
        if not is_finite or not np.all(limits[:, 0] < limits[:, 1]):
            msg = f"window={window!r}: expected ((x_lo, x_hi), (y_lo, y_hi)), finite, lo < hi"
            raise InvalidParameterError(msg)
        if n < 2:
            raise InvalidParameterError(
                f"n must be at least 2, because an arc has two ends, got {n}"
            )
        section = self.section(features, at)
        # scale the window to the square [−1, 1]²
        low, high = limits.T
        half = 0.5 * (high - low)
        centre = low + half
        A, _, _ = section._coefficients
        scaled_A = None if A is None else half[:, None] * A * half
        scaled_b = half * section.gradient(centre)[0]
        c = float(section.evaluate(centre)[0])
        polylines = conic_polylines(scaled_A, scaled_b, c, int(n))
        return [np.clip(centre + half * u, low, high) for u in polylines]

    def equation(self, digits: int = 4) -> str:
        """Return the equation as text; its left side is y(x)."""
        _check_digits(digits)
        names = self.feature_names
        if names is None:
            names = ("x",) if self.n_features == 1 else default_names(self.n_features)
        line = ""
        for value, features in self._terms():
            number = _number_text(abs(value), digits)
            factor = _product_text(names, features)
            line = _with_term(line, "−" if value < 0 else "+", _scaled(number, "·", factor))
        return f"{line or '0'} = 0"

    def latex(self, digits: int = 4) -> str:
        """Return the equation in LaTeX."""
        _check_digits(digits)
        names = self._latex_names()
        line = ""
        for value, features in self._terms():
            number = _number_latex(abs(value), digits)
            factor = _product_latex(names, features)
            line = _with_term(line, "-" if value < 0 else "+", _scaled(number, r"\,", factor))
        return f"{line or '0'} = 0"

    def _latex_names(self) -> list[str]:
        if self.feature_names is None:
            d = self.n_features
            return ["x"] if d == 1 else [f"x_{{{i + 1}}}" for i in range(d)]
        names = []
        for name in self.feature_names:
            escaped = re.sub(r"([#$%&_{}])", r"\\\1", name.replace("\\", "/"))
            names.append(rf"\mathrm{{{escaped}}}".replace(" ", r"\ "))
        return names

    def __repr__(self) -> str:
        sides = f"{self.labels[0]!r} | {self.labels[1]!r}: " if self.labels else ""
        d = self.n_features
        surface = self.equation() if d <= MOST_FEATURES_IN_REPR else f"{d} features"
        return f"{type(self).__name__}({sides}{surface})"

    def _repr_html_(self) -> str:
        positive, negative = self.labels or ("one side", "the other")
        positive_text = escape(str(positive))
        negative_text = escape(str(negative))
        sides = f"<p>Above zero: {positive_text}; below: {negative_text}.</p>"
        return titled_html(f"{type(self).__name__}: {self.equation()}", sides)

    def _terms(self) -> list[Term]:
        """Return each coefficient of y(x) that is not zero, with the features it multiplies."""
        A, b, c = self._coefficients
        d = self.n_features
        terms: list[Term] = []
        if A is not None:
            for i in range(d):
                terms.append((float(A[i, i]), (i, i)))
                terms += [(float(2 * A[i, j]), (i, j)) for j in range(i + 1, d)]
        terms += [(float(slope), (i,)) for i, slope in enumerate(b)]
        terms.append((c, ()))
        return [(value, features) for value, features in terms if value != 0]

    def _check_names(self, d: int) -> None:
        """Convert the feature names to text, or raise unless there is one for each feature."""
        names = self.feature_names
        if names is None:
            return
        if len(names) != d:
            raise FeatureMismatchError(f"{len(names)} feature names for {d} features")
        object.__setattr__(self, "feature_names", tuple(str(name) for name in names))


class Expansion(NamedTuple):
    """The expansion of y about a point m: A (d, d) or None, ∇y(m) and y(m)."""

    anchor: Floats  # m  (d,)
    A: Floats | None
    gradient: Floats  # ∇y(m)  (d,)
    value: float  # y(m)

    def at_origin(self) -> tuple[Floats, float]:
        """Return b = ∇y(0) and c = y(0), with 0 for results that may be rounding errors."""
        m = self.anchor
        curvature = np.zeros_like(m) if self.A is None else self.A @ m
        curvature_size = np.zeros_like(m) if self.A is None else np.abs(self.A) @ np.abs(m)
        # ∇y(0) = ∇y(m) − 2Am,  y(0) = y(m) − ∇y(m)ᵀm + mᵀAm
        b = self.gradient - 2 * curvature
        b_size = np.abs(self.gradient) + 2 * curvature_size
        c = self.value - self.gradient @ m + m @ curvature
        c_size = abs(self.value) + np.abs(m) @ (np.abs(self.gradient) + curvature_size)
        b = np.where(np.abs(b) <= 16 * EPS * b_size, 0.0, b)
        return b, 0.0 if abs(c) <= 16 * EPS * c_size else float(c)


def fixed(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return a read-only copy, or raise unless the values are finite numbers with this shape."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise FeatureMismatchError(f"{name} has shape {array.shape}, expected {shape}")
    non_finite = array[~np.isfinite(array)]
    if non_finite.size:
        raise InvalidParameterError(f"{name} holds {non_finite[0]}: it must be finite")
    array.flags.writeable = False
    return array


def as_points(x: npt.ArrayLike, d: int) -> Floats:
    """Return points as rows (n, d); accept a single point (d,), or a vector (n,) if d = 1."""
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim < 2 and (d == 1 or rows.size == d):
        rows = rows.reshape(-1, d)
    if rows.ndim != 2 or rows.shape[1] != d:
        msg = f"points have shape {rows.shape}, expected (n, {d}): one column per feature"
        raise FeatureMismatchError(msg)
    return rows


def _check_digits(digits: int) -> None:
    if digits < 1:
        raise InvalidParameterError(f"digits must be at least 1, got {digits}")


def _with_term(line: str, sign: str, term: str) -> str:
    """Return a sum with one more term; the first term has no plus sign."""
    if line:
        return f"{line} {sign} {term}"
    return term if sign == "+" else sign + term


def _scaled(number: str, times: str, factor: str) -> str:
    """Return the product of a number and a factor as text, without a number 1."""
    if not factor:
        return number
    return factor if number == "1" else f"{number}{times}{factor}"


def _is_square(features: tuple[int, ...]) -> bool:
    return len(features) == 2 and features[0] == features[1]


def _product_text(names: Sequence[str], features: tuple[int, ...]) -> str:
    if _is_square(features):
        name = names[features[0]]
        needs_no_brackets = re.fullmatch(r"\w+|\(.*\)", name)
        return f"{name}²" if needs_no_brackets else f"({name})²"
    return "·".join(names[i] for i in features)


def _product_latex(names: Sequence[str], features: tuple[int, ...]) -> str:
    if _is_square(features):
        return f"{names[features[0]]}^{{2}}"
    return r"\,".join(names[i] for i in features)


def _number_text(value: float, digits: int) -> str:
    mantissa, exponent = _significant(value, digits)
    if exponent is None:
        return mantissa
    return f"{mantissa}×10{str(exponent).translate(_SUPERSCRIPTS)}"


def _number_latex(value: float, digits: int) -> str:
    mantissa, exponent = _significant(value, digits)
    if exponent is None:
        return mantissa
    return rf"{mantissa}\times 10^{{{exponent}}}"


def _significant(value: float, digits: int) -> tuple[str, int | None]:
    """Return a positive number as text and None, or its mantissa and its power of ten."""
    if 1e-4 <= value < 1e6:
        text = np.format_float_positional(value, digits, fractional=False, trim="-")
        return text, None
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa, int(exponent)


def with_sign(y: Floats, distance: Floats) -> Floats:
    """Return the distances with the sign of y, or zero if y is zero."""
    return np.where(y == 0, 0.0, np.copysign(distance, y))
