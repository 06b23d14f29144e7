"""What every boundary shares: its value, sides, distances, sections and equation."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from suffice.core.linalg import EPS
from suffice.core.model.geometry.conic import real_roots, traced
from suffice.core.table.matrix import column_position
from suffice.core.text.lists import default_names
from suffice.core.text.tables import titled
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Floats, Labels

Axes: TypeAlias = tuple[int | str, int | str]  # names or numbers of two features
_DIGITS = "-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED, _LEVEL = str.maketrans(*_DIGITS), str.maketrans(*_DIGITS[::-1])


class Surface(ABC):
    """Where y(x) = uᵀAu + bᵀu + c is 0, u = x − m, and its two sides; A is None if y is linear."""

    __slots__ = ()

    feature_names: tuple[str, ...] | None
    labels: tuple[Any, Any] | None  # of the positive and the negative side
    anchor: Floats  # m, a point near the data  (d,)

    @property
    @abstractmethod
    def coefficients(self) -> tuple[Floats | None, Floats, float]:
        """A (d, d) or None, b = ∇y(m) (d,) and c = y(m)."""

    @abstractmethod
    def _steps(self, x: npt.ArrayLike) -> Floats:
        """Return the shortest step from each row to the surface, (n, d)."""

    def evaluate(self, x: npt.ArrayLike) -> Floats:
        """Return y(x), (n,): of classes the log odds of ``labels[0]`` against ``labels[1]``."""
        u, (A, b, c) = as_points(x, self.n_features) - self.anchor, self.coefficients
        return u @ b + c if A is None else np.asarray(np.einsum("ij,ij->i", u @ A + b, u) + c)

    def gradient(self, x: npt.ArrayLike) -> Floats:
        """Return ∇y at each row, (n, d)."""
        u, (A, b, _) = as_points(x, self.n_features) - self.anchor, self.coefficients
        # ∇y = 2Au + b
        return np.tile(b, (len(u), 1)) if A is None else 2 * u @ A + b

    def signed_distance(self, x: npt.ArrayLike) -> Floats:
        """Return the exact distance to the surface with the sign of y, (n,).

        Infinite where there is no boundary, since one side is everywhere.
        """
        return with_sign(self.evaluate(x), np.linalg.norm(self._steps(x), axis=1))

    def project(self, x: npt.ArrayLike) -> Floats:
        """Return a nearest point of the surface to each row, (n, d)."""
        steps = self._steps(x)
        if not np.all(np.isfinite(steps)):
            msg = "there is no boundary: one of the two classes is more probable everywhere"
            raise InvalidInputError(msg)
        return as_points(x, self.n_features) + steps

    def roots(self) -> Floats:
        """Return the boundary points of a single feature, ascending: none, one or two."""
        if self.n_features != 1:
            msg = (
                f"roots are for one feature, here are {self.n_features}: trace a curve instead"
            )
            raise InvalidParameterError(msg)
        A, b, c = self.coefficients
        return self.anchor + real_roots(0.0 if A is None else float(A[0, 0]), float(b[0]), c)

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
        if (
            labels is not None
            and type(labels[0]) is type(labels[1])
            and np.ndim(labels[0]) == 0
        ):
            pair = np.array(labels)
        elif labels is not None:
            pair = np.empty(2, dtype=object)
            pair[0], pair[1] = labels
        return pair[(self.evaluate(x) < 0).astype(np.intp)]

    def section(self, features: Axes = (0, 1), at: npt.ArrayLike | None = None) -> Self:
        """Return the curve over two features, the others held at ``at`` (d,), default zero."""
        d, known = self.n_features, self.feature_names
        axes = [column_position(feature, known, d, "feature") for feature in features]
        if len(set(axes)) != 2:
            msg = f"features={features!r}: a plane is drawn over two different features"
            raise InvalidParameterError(msg)
        names = known and tuple(known[i] for i in axes)
        here, (A, _, _) = np.zeros(d), self.coefficients
        if at is not None:
            here = fixed("at", at, here.shape).copy()
        here[axes] = self.anchor[axes]
        form = self.gradient(here)[0, axes], float(self.evaluate(here)[0])
        whole: Any = form if A is None else (A[np.ix_(axes, axes)], *form)
        kind: Any = type(self)
        return cast(Self, kind(*whole, names, self.labels, self.anchor[axes]))

    def curve(
        self,
        window: Any,
        features: Axes = (0, 1),
        at: npt.ArrayLike | None = None,
        n: int = 100,
    ) -> list[Floats]:
        """Return the section in ((x_lo, x_hi), (y_lo, y_hi)) as polylines (m, 2).

        Each has n points to a smooth arc; an ellipse inside the window is closed.
        """
        limits = np.asarray(window, dtype=np.float64)
        sound = limits.shape == (2, 2) and np.all(np.isfinite(limits))
        if not sound or not np.all(limits[:, 0] < limits[:, 1]):
            msg = f"window={window!r}: expected ((x_lo, x_hi), (y_lo, y_hi)), finite, lo < hi"
            raise InvalidParameterError(msg)
        if n < 2:
            raise InvalidParameterError(f"n={n}: an arc needs at least its two ends")
        # in units of the window, seen as the square [−1, 1]²
        own, (low, high) = self.section(features, at), limits.T
        half = 0.5 * (high - low)
        centre, A = low + half, own.coefficients[0]
        A = None if A is None else half[:, None] * A * half
        b, c = half * own.gradient(centre)[0], float(own.evaluate(centre)[0])
        return [np.clip(centre + half * u, low, high) for u in traced(A, b, c, int(n))]

    def equation(self, digits: int = 4) -> str:
        """Return the equation as text; its left side is y(x)."""
        if digits < 1:
            raise InvalidParameterError(f"digits={digits}: at least one digit is written")
        line = ""
        for value, factor in self._terms():
            number = _number(abs(value), digits)
            if factor:
                number = factor if number == "1" else f"{number}·{factor}"
            sign = "−" if value < 0 else "+" if line else ""
            line += f" {sign} {number}" if line else sign + number
        return f"{line or '0'} = 0"

    def latex(self, digits: int = 4) -> str:
        """Return the equation in LaTeX."""
        d, names = self.n_features, self.feature_names
        signs = [chr(0x4E00 + i) for i in range(d)]  # in the place of names
        line = replace(cast(Any, self), feature_names=tuple(signs)).equation(digits)
        tens = "×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
        line = re.sub(tens, lambda m: rf"\times 10^{{{m[1].translate(_LEVEL)}}}", line)
        line = line.replace("²", "^{2}").replace("·", r"\,").replace("−", "-")
        for i, sign in enumerate(signs):
            name = "x" if d == 1 else f"x_{{{i + 1}}}"
            if names is not None:
                plain = re.sub(r"([#$%&_{}])", r"\\\1", names[i].replace("\\", "/"))
                name = rf"\mathrm{{{plain}}}".replace(" ", r"\ ")
            line = line.replace(sign, name)
        return line

    def _repr_html_(self) -> str:
        a, b = self.labels or ("one side", "the other")
        above = f"<p>Above zero: {escape(str(a))}; below: {escape(str(b))}.</p>"
        return titled(f"{type(self).__name__}: {self.equation()}", above)

    def _terms(self) -> Iterator[tuple[float, str]]:
        """Return every coefficient of y(x) that is not zero, and the product it multiplies."""
        (A, b, c), far, d = self.coefficients, np.abs(self.anchor), self.n_features
        v = self.feature_names or (("x",) if d == 1 else default_names(d))
        bend = np.zeros(d) if A is None else np.abs(A) @ far
        terms: list[tuple[float, str]] = []
        if A is not None:
            squares = [f"{x}²" if re.fullmatch(r"\w+|\(.*\)", x) else f"({x})²" for x in v]
            for i, j in zip(*np.triu_indices(d), strict=True):
                terms.append(
                    (A[i, i], squares[i]) if i == j else (2 * A[i, j], f"{v[i]}·{v[j]}")
                )
        # ∇y and y at the origin, and zero where a sum of terms of that size cancelled entirely
        slopes = self.gradient(np.zeros(d))[0], 2 * bend + np.abs(b)
        level = self.evaluate(np.zeros(d)), np.array([far @ (bend + np.abs(b)) + abs(c)])
        for (values, sizes), factors in ((slopes, v), (level, [""])):
            kept = np.where(np.abs(values) <= 16 * EPS * sizes, 0.0, values)
            terms += zip(kept.tolist(), factors, strict=True)
        return ((value, factor) for value, factor in terms if value != 0)

    def _set_fields(self, d: int, **fields: Floats | float) -> None:
        anchor = self.anchor if np.ndim(self.anchor) else np.full(d, self.anchor)
        names = self.feature_names
        if names is not None and len(names) != d:
            raise FeatureMismatchError(f"{len(names)} feature names for {d} features")
        fields["anchor"] = fixed("anchor", anchor, (d,))
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "feature_names", names and tuple(map(str, names)))


def fixed(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return a read-only copy as finite floats of the given shape, or say what is wrong."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise FeatureMismatchError(f"{name} has shape {array.shape}, expected {shape}")
    strange = array[~np.isfinite(array)]
    if strange.size:
        raise InvalidParameterError(f"{name} holds {strange[0]}: coefficients must be finite")
    array.flags.writeable = False
    return array


def as_points(x: npt.ArrayLike, d: int) -> Floats:
    """Return rows (n, d); a single point (d,), or a column of numbers if d = 1, will do."""
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim < 2 and (d == 1 or rows.size == d):
        rows = rows.reshape(-1, d)
    if rows.ndim != 2 or rows.shape[1] != d:
        msg = f"points have shape {rows.shape}, expected (n, {d}): one column per feature"
        raise FeatureMismatchError(msg)
    return rows


def _number(value: float, digits: int) -> str:
    if 1e-4 <= value < 1e6:
        return np.format_float_positional(value, digits, fractional=False, trim="-")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}×10{str(int(exponent)).translate(_RAISED)}"


def with_sign(y: Floats, distance: Floats) -> Floats:
    """Return the distances with the sign of y, zero on the boundary itself."""
    return np.where(y == 0, 0.0, np.copysign(distance, y))
