"""Monotone power transforms t that make features more nearly Gaussian.

``core/model/transformed.py`` gives the density: log p(x | k) = log p_t(t(x) | k) + log |dt/dx|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.table import Table
from suffice.core.table.matrix import as_matrix, as_weights, column_name, refuse_unusable
from suffice.core.threads import in_order
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Flags, Floats, RowsLike, WeightsLike

# numbers that are transformed at a time: a few arrays of this size stay in the cache
BLOCK = 1 << 15

# allowed exponents λ, symmetric about 1, since −x has the exponent 2 − λ if x has λ
RANGE = (-4.0, 6.0)
PRECISION = 1e-13
SCOUTS = 1_000  # number of rows in the first, rough search for an exponent
SMALL = 1e-4  # for smaller exponents the closed form of ∂P/∂e loses digits by cancellation
SMALLEST = 1e-150  # the square of a smaller standard deviation would lose digits
GRID = 23  # a centre is rounded to multiples of about 2⁻²³ standard deviations
PARALLEL = 100_000  # with fewer numbers, starting threads takes longer than it saves


def power_curve(e: float | Floats, logs: Floats) -> Floats:
    """Return P(u) = ((1 + u)^e − 1) / e, given log(1 + u); P(u) = log(1 + u) where e = 0."""
    # ``logs`` may also be a node of an ONNX graph, so it is not converted to an array
    is_zero = np.asarray(e == 0)
    if not is_zero.any():
        curve: Floats = np.expm1(e * logs) / e
        return curve
    return np.where(is_zero, logs, np.expm1(e * logs) / np.where(is_zero, 1.0, e))


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Curves P(u), u ≥ 0, one per feature or per number; arrays broadcast against (n, d)."""

    exponent: Floats  # e
    knee: Floats  # b; ∞ where e ≥ 0
    log_knee: Floats  # log(1 + b)
    top: Floats  # P(b), the value where the straight line begins
    slope: Floats  # P′(b), the slope of the straight line, or 1 without a line

    @classmethod
    def of(cls, exponent: Floats, knee: Floats) -> Branch:
        """Return the curves with these exponents; if e < 0, a straight line follows the knee."""
        has_line = exponent < 0
        logs = np.log1p(np.where(has_line, knee, 0.0))
        return cls(
            exponent=exponent,
            knee=np.where(has_line, knee, np.inf),
            log_knee=np.where(has_line, logs, np.inf),
            top=np.where(has_line, power_curve(exponent, logs), np.inf),
            # P′(b) = (1 + b)^(e − 1)
            slope=np.exp((exponent - 1) * logs),
        )

    def either(self, other: Branch, choose_self: Flags) -> Branch:
        """Return these curves where ``choose_self`` is true, and those of ``other`` elsewhere."""
        exponent = np.where(choose_self, self.exponent, other.exponent)
        # no curve has a straight line
        if np.isinf(self.knee).all() and np.isinf(other.knee).all():
            return Branch(exponent, self.knee, self.log_knee, self.top, self.slope)
        return Branch(
            exponent=exponent,
            knee=np.where(choose_self, self.knee, other.knee),
            log_knee=np.where(choose_self, self.log_knee, other.log_knee),
            top=np.where(choose_self, self.top, other.top),
            slope=np.where(choose_self, self.slope, other.slope),
        )

    def apply(self, u: Floats) -> Floats:
        # P(u) = P(min(u, b)) + P′(b) max(u − b, 0)
        below = power_curve(self.exponent, np.minimum(np.log1p(u), self.log_knee))
        return below + self.slope * np.maximum(u - self.knee, 0.0)

    def inverse(self, v: Floats) -> Floats:
        """Return u with P(u) = v."""
        e = self.exponent
        below = np.minimum(v, self.top)
        # 1 + u = (1 + e v)^(1/e),  exp v where e = 0
        logs = np.where(e == 0, below, np.log1p(e * below) / np.where(e == 0, 1.0, e))
        return np.expm1(logs) + np.maximum(v - self.top, 0.0) / self.slope

    def log_slope(self, u: Floats) -> Floats:
        # P′(u) = (1 + u)^(e − 1)
        return (self.exponent - 1) * np.minimum(np.log1p(u), self.log_knee)


# A function of values, z = (x − c) / s and the curves at z that returns new values.
BlockChange: TypeAlias = Callable[[Floats, Floats, Branch], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class PowerTransform:
    """Yeo–Johnson transform of each feature, in the original units of the feature.

    t(x) = c + s ψ((x − c) / s),  ψ(z) = ((1 + z)^λ − 1) / λ where z ≥ 0, and
    −((1 − z)^(2 − λ) − 1) / (2 − λ) where z < 0

    (a logarithm where the divisor is zero). With λ outside [0, 2] the curve would level off.
    Instead, it continues as a straight line beyond ``low`` or ``high``, so that every value has an
    inverse.

    Yeo & Johnson (2000), *Biometrika* 87, 954–959.

    Parameters
    ----------
    exponents : (d,) array
        λ of each feature.
    centre, scale : (d,) arrays or numbers
        c and s. If c and s are the mean and standard deviation of the data, the transform is
        invariant to units.
    low, high : (d,) arrays or numbers
        Values beyond which the curve is a straight line. An exponent above 2 needs ``low``, one
        below 0 needs ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> t = PowerTransform([0.0, 1.0])
    >>> x = np.array([[np.e - 1, 5.0]])
    >>> t.apply(x)
    array([[1., 5.]])
    >>> t.log_jacobian(x)
    array([-1.])
    """

    exponents: Floats  # λ  (d,)
    centre: Floats = 0.0  # type: ignore[assignment]  # c  (d,)
    scale: Floats = 1.0  # type: ignore[assignment]  # s  (d,)
    low: Floats = -np.inf  # type: ignore[assignment]  # (d,)
    high: Floats = np.inf  # type: ignore[assignment]  # (d,)

    def __post_init__(self) -> None:
        shape = np.atleast_1d(np.asarray(self.exponents, np.float64)).shape
        object.__setattr__(self, "exponents", _read_only("exponents", self.exponents, shape))
        object.__setattr__(self, "centre", _read_only("centre", self.centre, shape))
        object.__setattr__(self, "scale", _read_only("scale", self.scale, shape))
        object.__setattr__(self, "low", _read_only("low", self.low, shape))
        object.__setattr__(self, "high", _read_only("high", self.high, shape))
        _check(self)

    @classmethod
    def of(
        cls,
        X: RowsLike,
        sample_weight: WeightsLike = None,
        *,
        n_rows: int = 20_000,
        seed: int = 0,
    ) -> Self:
        """Return the maximum-likelihood transform for rows ``X``, or a sample of ``n_rows``."""
        features = fit_features(X, sample_weight, n_rows=n_rows, seed=seed)
        return cls(
            exponents=np.array([feature.exponent for feature in features]),
            centre=np.array([feature.centre for feature in features]),
            scale=np.array([feature.scale for feature in features]),
            low=np.array([feature.low for feature in features]),
            high=np.array([feature.high for feature in features]),
        )

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.exponents)

    def apply(self, x: RowsLike) -> Floats:
        """Return the transformed rows, shape (n, d)."""

        def change(x: Floats, z: Floats, curves: Branch) -> Floats:
            return np.where(self._is_identity, x, self.centre + self._offset(x, z, curves))

        return self._by_block(x, change)

    def about_centre(self, x: RowsLike) -> Floats:
        """Return t(x) − c, shape (n, d), which is accurate even if the mean is large."""
        return self._by_block(x, self._offset)

    def apply_observed(self, x: RowsLike) -> Floats:
        """Return the transformed rows, shape (n, d); NaN stays NaN, infinity raises an error."""
        y = self.apply(x)
        is_infinite = ~np.isfinite(y) & ~np.isnan(x)
        if is_infinite.any():
            row, column = np.argwhere(is_infinite)[0]
            raise InvalidInputError(
                f"row {row}, column {column} holds a number that is infinite or too large to "
                "transform: correct the number, or drop the row"
            )
        return y

    def inverse(self, y: RowsLike) -> Floats:
        """Return the rows whose transform is ``y``, shape (n, d)."""

        def change(y: Floats, v: Floats, curves: Branch) -> Floats:
            z = np.copysign(curves.inverse(np.abs(v)), v)
            return np.where(self._is_identity, y, self.centre + self.scale * z)

        return self._by_block(y, change)

    def log_jacobian(self, x: RowsLike) -> Floats:
        """Return log |dt/dx|, summed over features, shape (n,)."""
        return np.asarray(self.log_slopes(x).sum(1))

    def log_slopes(self, x: RowsLike) -> Floats:
        """Return log dt_j/dx_j of each feature, shape (n, d).

        With z = x_j / scale_j and t_j = ψ(z), dψ/dz = (1 + |z|)^((λ_j − 1) sgn z).
        """

        def change(_: Floats, z: Floats, curves: Branch) -> Floats:
            return curves.log_slope(np.abs(z))

        return self._by_block(x, change)

    def select(self, columns: Codes) -> PowerTransform:
        """Return the transform of some features only."""
        return PowerTransform(
            exponents=self.exponents[columns],
            centre=self.centre[columns],
            scale=self.scale[columns],
            low=self.low[columns],
            high=self.high[columns],
        )

    def among(self, columns: Codes, n_features: int) -> PowerTransform:
        """Return a transform of ``n_features`` features that changes only the given columns."""

        def widened(values: Floats, default: float) -> Floats:
            wide = np.full(n_features, default)
            wide[columns] = values
            return wide

        return PowerTransform(
            exponents=widened(self.exponents, 1.0),
            centre=widened(self.centre, 0.0),
            scale=widened(self.scale, 1.0),
            low=widened(self.low, -np.inf),
            high=widened(self.high, np.inf),
        )

    def equals(self, other: PowerTransform) -> bool:
        """Return whether both transforms have the same parameters."""
        mine = self.arrays()
        theirs = other.arrays()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def arrays(self) -> dict[str, Floats]:
        """Return the parameters by name."""
        return {
            "exponents": self.exponents,
            "centre": self.centre,
            "scale": self.scale,
            "low": self.low,
            "high": self.high,
        }

    @property
    def branches(self) -> tuple[Branch, Branch]:
        """The curves for values above the centre, and the curves for values below the centre."""
        above = Branch.of(self.exponents, (self.high - self.centre) / self.scale)
        below = Branch.of(2 - self.exponents, (self.centre - self.low) / self.scale)
        return above, below

    @property
    def _is_identity(self) -> Flags:
        """Whether the transform leaves each feature unchanged, (d,)."""
        return np.asarray(self.exponents == 1)

    def _offset(self, x: Floats, z: Floats, curves: Branch) -> Floats:
        # t(x) − c = s sgn(z) P(|z|)
        offset = self.scale * np.copysign(curves.apply(np.abs(z)), z)
        return np.where(self._is_identity, x - self.centre, offset)

    def _by_block(self, rows: RowsLike, change: BlockChange) -> Floats:
        """Return ``change`` applied to rows, block by block, with z = (x − c) / s and curves."""
        x = np.asarray(rows)
        if x.ndim != 2 or x.shape[1] != self.n_features:
            raise InvalidParameterError(
                f"the transform was fitted to {self.n_features} features, but the rows have shape "
                f"{x.shape}"
            )
        out = np.empty(x.shape)
        above, below = self.branches
        step = max(BLOCK // max(self.n_features, 1), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(x), step):
                block = x[start : start + step].astype(np.float64, copy=False)
                z = (block - self.centre) / self.scale
                curves = above.either(below, z >= 0)
                out[start : start + step] = change(block, z, curves)
        return out


def _read_only(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return a parameter as an array (d,); a single number is repeated for every feature."""
    given = np.asarray(values, np.float64)
    try:
        array = np.broadcast_to(given, shape).copy()
    except ValueError:
        raise InvalidParameterError(
            f"{name} has shape {given.shape}, but there are {shape[0]} exponents: give one "
            "number, or one for each exponent"
        ) from None
    array.flags.writeable = False
    return array


def _check(t: PowerTransform) -> None:
    """Raise unless the transform is a bijection of the real line."""
    finite = np.isfinite(t.exponents) & np.isfinite(t.centre) & np.isfinite(t.scale)
    for j in np.flatnonzero(~(finite & (t.scale > 0)))[:1]:
        raise InvalidParameterError(
            f"feature {j} has exponent {t.exponents[j]:g}, centre {t.centre[j]:g} and scale "
            f"{t.scale[j]:g}: all must be finite, and the scale positive"
        )
    above = (t.exponents < 0) & ~(np.isfinite(t.high) & (t.high >= t.centre))
    below = (t.exponents > 2) & ~(np.isfinite(t.low) & (t.low <= t.centre))
    for j in np.flatnonzero(above | below)[:1]:
        raise InvalidParameterError(
            f"feature {j} has exponent {t.exponents[j]:g}, where the curve levels off: keep it "
            "in [0, 2], or give low ≤ centre ≤ high, beyond which it goes on as a straight line"
        )


def check_power(power: object) -> None:
    """Raise unless ``power`` is None, "yeo-johnson" or a transform."""
    if power is None or isinstance(power, PowerTransform):
        return
    if not isinstance(power, str) or power != "yeo-johnson":
        msg = f"power must be None, 'yeo-johnson' or a PowerTransform, got {power!r}"
        raise InvalidParameterError(msg)


def parse_power(power: object, table: Table) -> PowerTransform:
    """Return the transform ``power``, or a transform fitted to the rows of the table."""
    check_power(power)
    if isinstance(power, PowerTransform):
        transform = power
    else:
        transform = PowerTransform.of(table.x, table.weight)
    n_numbers = table.x.shape[1]
    if table.indicators is not None and transform.n_features > n_numbers:
        transform = transform.select(np.arange(n_numbers))  # indicators are not transformed
    if transform.n_features != n_numbers:
        raise FeatureMismatchError(
            f"the transform was fitted to {transform.n_features} features, but X has {n_numbers}"
        )
    return transform


class FeatureFit(NamedTuple):
    """The transform of one feature."""

    exponent: float  # λ
    centre: float  # c
    scale: float  # s
    low: float  # the smallest value
    high: float  # the largest value


def fit_features(
    X: RowsLike,
    sample_weight: WeightsLike,
    *,
    n_rows: int,
    seed: int,
) -> list[FeatureFit]:
    """Return the transform of each feature that makes it most nearly Gaussian."""
    x, names = as_matrix(X)
    weights = as_weights(sample_weight, len(x))
    if weights is None:
        weights = np.ones(len(x))
    rows = np.flatnonzero(weights > 0)
    if len(rows) > n_rows:  # draw a sample from the seed, in the order of the rows
        rng = np.random.default_rng(seed)
        rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False, shuffle=False))]
    sample = x[rows].astype(np.float64, copy=False)
    w = weights[rows]
    if np.isinf(sample).any():
        refuse_unusable(np.where(np.isnan(x), 0.0, x), names, weights)
    columns = np.ascontiguousarray(sample.T)

    def fit(j: int) -> FeatureFit:
        return _fit_feature(columns[j], w, column_name(names, j))

    n_jobs = None if sample.size > PARALLEL else 1
    return list(in_order(fit, range(len(columns)), n_jobs))


def _fit_feature(values: Floats, weights: Floats, name: str) -> FeatureFit:
    observed = ~np.isnan(values)
    x = values[observed]
    if not len(x):
        return FeatureFit(exponent=1.0, centre=0.0, scale=1.0, low=0.0, high=0.0)
    low = float(x.min())
    high = float(x.max())
    if np.all((x == low) | (x == high)):
        return FeatureFit(exponent=1.0, centre=0.0, scale=1.0, low=low, high=high)
    w = weights[observed]
    w = w / w.sum()
    centre = _centre(x, w, name)
    scale = float(np.sqrt(_mean(np.square(x - centre), w)))
    exponent = best_exponent((x - centre) / scale, w)
    return FeatureFit(exponent, centre, scale, low, high)


def _centre(x: Floats, w: Floats, name: str) -> float:
    """Return the mean, rounded to a grid, so that shifting the data shifts it exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = x - x[0]
        mean = _mean(z, w)
        scale = np.sqrt(_mean(np.square(z - mean), w))
    if scale <= SMALLEST:
        raise InvalidInputError(
            f"the squares of column {name} underflow to zero: rescale the column"
        )
    if not scale < np.inf:
        raise InvalidInputError(f"the squares of column {name} overflow: rescale the column")
    step = 2.0 ** (np.floor(np.log2(scale)) - GRID)
    # round the first value and the rest separately, so that the sum is exact if the mean is large
    near = np.round(x[0] / step) * step
    return float(near + np.round((mean + (x[0] - near)) / step) * step)


def best_exponent(z: Floats, w: Floats) -> float:
    """Return the λ for which a Gaussian fits ψ_λ(z) with the greatest likelihood.

    The size of the weights does not matter, only their ratios.
    """
    if z.min() == z.max():
        return 1.0
    step = len(z) // SCOUTS
    guess = best_exponent(z[::step], w[::step]) if step > 1 else None
    # sort the n values with z ≥ 0 to the front
    order = np.argsort(z < 0, kind="stable")
    n = int((z >= 0).sum())
    w = (w / w.sum())[order]
    logs = np.log1p(np.abs(z[order]))
    tilt = _mean(logs[:n], w[:n]) - _mean(logs[n:], w[n:])
    psi = np.empty_like(logs)
    slope = np.empty_like(logs)

    def derivative(exponent: float) -> float:
        psi[:n], slope[:n] = _curve_and_slope(exponent, logs[:n])
        psi[n:], slope[n:] = _curve_and_slope(2 - exponent, logs[n:])
        np.negative(psi[n:], out=psi[n:])
        gap = psi - _mean(psi, w)
        # −log L / n = ½ log σ²(λ) − (λ − 1) Σ w sgn(z) log(1 + |z|),  σ² = Var ψ_λ
        return _mean(gap * slope, w) / _mean(gap * gap, w) - tilt

    return _root(derivative, guess)


def _root(derivative: Callable[[float], float], guess: float | None) -> float:
    """Return the zero of an increasing function, or the nearest end of ``RANGE``."""
    from scipy.optimize import brentq  # slow to import, and seldom needed

    first, last = RANGE
    if guess is None:
        guess = 1.0
        reach = last - first
    else:
        reach = 0.25
    low = max(guess - reach, first)
    while low > first and derivative(low) >= 0:
        reach *= 2
        low = max(low - reach, first)
    high = min(guess + reach, last)
    while high < last and derivative(high) <= 0:
        reach *= 2
        high = min(high + reach, last)
    if low == first and derivative(low) >= 0:
        return low
    if high == last and derivative(high) <= 0:
        return high
    return float(brentq(derivative, low, high, xtol=PRECISION, rtol=PRECISION))


def _mean(values: Floats, w: Floats) -> float:
    """Return Σ w v, computed without BLAS, which would start threads within our threads."""
    return float(np.einsum("i,i->", values, w))


def _curve_and_slope(e: float, logs: Floats) -> tuple[Floats, Floats]:
    """Return P(u) and ∂P/∂e, given log(1 + u)."""
    p = power_curve(e, logs)
    if abs(e) > SMALL:
        # ∂P/∂e = ℓ P + (ℓ − P) / e,  ℓ = log(1 + u)
        return p, logs * p + (logs - p) / e
    # ∂P/∂e = Σ_k e^k ℓ^{k+2} / (k! (k + 2))
    t = e * logs
    return p, np.square(logs) * (1 / 2 + t * (1 / 3 + t * (1 / 8 + t / 30)))
