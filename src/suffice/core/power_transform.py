"""A monotone power transform of each feature that makes it more nearly Gaussian, and its fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

from suffice.core.table import Table
from suffice.core.table.matrix import as_matrix, as_weights, column_name, refuse_unusable
from suffice.core.threads import in_order
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Flags, Floats

RANGE = (-4.0, 6.0)  # of exponents: mirrored about 1, as a mirrored feature is
PRECISION = 1e-13
SCOUTS = 1_000  # rows that tell where to look for an exponent
SMALL = 1e-4  # an exponent under which closed forms cancel
SMALLEST = 1e-150  # a standard deviation whose square has all its digits
GRID = 23  # bits of a standard deviation that a centre has
PARALLEL = 100_000  # numbers under which starting threads does not pay
BLOCK = 1 << 15  # numbers changed at a time: a few arrays of this size stay in cache

Column = tuple[float, float, float, float, float]  # λ, c, s, low, high


def curve(e: Any, logs: Floats) -> Floats:
    """Return P = ((1 + u)^e − 1) / e from log(1 + u): the logarithm itself where e = 0."""
    if not np.any(e == 0):
        return np.expm1(e * logs) / e  # type: ignore[no-any-return]
    return np.where(e == 0, logs, np.expm1(e * logs) / np.where(e == 0, 1.0, e))


class Branch(NamedTuple):
    """Curves, one per feature or one per number: every array broadcasts against rows (n, d)."""

    exponent: Floats  # e
    knee: Floats  # b; ∞ where e ≥ 0
    log_knee: Floats  # log(1 + b)
    top: Floats  # P(b), where the straight line begins
    slope: Floats  # P′(b); 1 where there is no line

    @classmethod
    def of(cls, exponent: Floats, knee: Floats) -> Branch:
        """Return the curves with these exponents, straight from the knee on where e < 0."""
        bent = exponent < 0
        logs = np.log1p(np.where(bent, knee, 0.0))
        held: Any = [
            np.where(bent, each, np.inf) for each in (knee, logs, curve(exponent, logs))
        ]
        # P′(b) = (1 + b)^(e − 1)
        return cls(*(exponent, *held, np.exp((exponent - 1) * logs)))

    def either(self, other: Branch, here: Flags) -> Branch:
        """Return these curves where ``here`` is true, the others elsewhere."""
        if np.isinf(self.knee).all() and np.isinf(other.knee).all():
            return self._replace(exponent=np.where(here, self.exponent, other.exponent))
        return Branch(*(np.where(here, *pair) for pair in zip(self, other, strict=True)))

    def apply(self, u: Floats) -> Floats:
        # P(u) = P(min(u, b)) + P′(b) max(u − b, 0)
        below = curve(self.exponent, np.minimum(np.log1p(u), self.log_knee))
        return below + self.slope * np.maximum(u - self.knee, 0.0)

    def inverse(self, v: Floats) -> Floats:
        """Return u with P(u) = v."""
        e, low = self.exponent, np.minimum(v, self.top)
        # 1 + u = (1 + e v)^(1/e),  exp v where e = 0
        logs = np.where(e == 0, low, np.log1p(e * low) / np.where(e == 0, 1.0, e))
        return np.expm1(logs) + np.maximum(v - self.top, 0.0) / self.slope

    def log_slope(self, u: Floats) -> Floats:
        # P′(u) = (1 + u)^(e − 1)
        return (self.exponent - 1) * np.minimum(np.log1p(u), self.log_knee)


@dataclass(frozen=True, slots=True, eq=False)
class PowerTransform:
    """Yeo–Johnson's transform of each feature, in the feature's own units.

    t(x) = c + s ψ((x − c) / s),  ψ(z) = ((1 + z)^λ − 1) / λ where z ≥ 0, and
    −((1 − z)^(2 − λ) − 1) / (2 − λ) where z < 0

    (a logarithm where the divisor is zero). Outside [0, 2] the curve would level off; there it
    goes on as a straight line beyond ``low`` or ``high``, and so maps the line onto itself.

    Yeo & Johnson (2000), *Biometrika* 87, 954–959.

    Parameters
    ----------
    exponents : (d,) array
        λ of each feature.
    centre, scale : (d,) arrays or numbers
        c and s: with those of the data, a change of units changes nothing.
    low, high : (d,) arrays or numbers
        Where straight lines take over; needed for exponents above 2 and below 0.

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
        exponents = np.atleast_1d(np.asarray(self.exponents, np.float64))
        for name, given in self.arrays().items():
            value = np.asarray(given, np.float64)
            try:
                held = np.broadcast_to(value, exponents.shape).copy()
            except ValueError:
                msg = (
                    f"{name} has shape {value.shape}, but there are {exponents.size} exponents"
                )
                raise InvalidParameterError(msg) from None
            held.flags.writeable = False
            object.__setattr__(self, name, held)
        _check(self)

    @classmethod
    def of(
        cls,
        X: Any,
        sample_weight: Any = None,
        *,
        n_rows: int = 20_000,
        seed: int = 0,
    ) -> Self:
        """Return the transform of greatest likelihood for rows ``X``, or a sample of ``n_rows``."""
        return cls(*_fitted_columns(X, sample_weight, n_rows=n_rows, seed=seed))

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.exponents)

    def apply(self, x: Any) -> Floats:
        """Return the transformed rows, shape (n, d)."""
        offset, c, same = self._offset, self.centre, self.exponents == 1
        return self._each_block(
            x, lambda x, z, side: np.where(same, x, c + offset(x, z, side))
        )

    def about_centre(self, x: Any) -> Floats:
        """Return t(x) − c, shape (n, d): all its digits, however large the mean is."""
        return self._each_block(x, self._offset)

    def apply_observed(self, x: Any) -> Floats:
        """Return the transformed rows, shape (n, d); NaN, and NaN alone, stays NaN."""
        y = self.apply(x)
        for i, j in np.argwhere(~np.isfinite(y) & ~np.isnan(x))[:1]:
            raise InvalidInputError(
                f"row {i}, column {j}: infinite, or too large to transform"
            )
        return y

    def inverse(self, y: Any) -> Floats:
        """Return the rows whose transform is ``y``, shape (n, d)."""
        c, s, same = self.centre, self.scale, self.exponents == 1

        def change(y: Floats, v: Floats, side: Branch) -> Floats:
            return np.where(same, y, c + s * np.copysign(side.inverse(np.abs(v)), v))

        return self._each_block(y, change)

    def log_jacobian(self, x: Any) -> Floats:
        """Return log |dt/dx|, summed over features, shape (n,)."""
        return np.asarray(self.log_slopes(x).sum(1))

    def log_slopes(self, x: Any) -> Floats:
        """Return log dt_j/dx_j of each feature, shape (n, d)."""
        return self._each_block(x, lambda _, z, side: side.log_slope(np.abs(z)))

    def select(self, columns: Codes) -> PowerTransform:
        """Return the transform of some features only."""
        return PowerTransform(**{name: held[columns] for name, held in self.arrays().items()})

    def among(self, columns: Codes, n_features: int) -> PowerTransform:
        """Return the transform of ``n_features`` features that leaves all but these as they are."""
        plain = PowerTransform(np.ones(n_features)).arrays()
        for name, values in self.arrays().items():
            plain[name] = plain[name].copy()
            plain[name][columns] = values
        return PowerTransform(**plain)

    def equals(self, other: PowerTransform) -> bool:
        """Return whether both do the same to every row."""
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return all(np.array_equal(a, b) for a, b in pairs)

    def arrays(self) -> dict[str, Floats]:
        """Return all that there is to know, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def branches(self) -> tuple[Branch, Branch]:
        """The curves of values above the centre, and of those below it."""
        up = Branch.of(self.exponents, (self.high - self.centre) / self.scale)
        return up, Branch.of(2 - self.exponents, (self.centre - self.low) / self.scale)

    def _offset(self, x: Floats, z: Floats, side: Branch) -> Floats:
        # t(x) − c = s sgn(z) P(|z|)
        offset = self.scale * np.copysign(side.apply(np.abs(z)), z)
        return np.where(self.exponents == 1, x - self.centre, offset)

    def _each_block(
        self,
        rows: Any,
        change: Callable[[Floats, Floats, Branch], Floats],
    ) -> Floats:
        """Return ``change`` of all rows, given z = (x − c) / s and its curves, a few at a time."""
        x = np.asarray(rows)
        if x.ndim != 2 or x.shape[1] != self.n_features:
            msg = (
                f"rows of shape {x.shape}, but the transform knows {self.n_features} features"
            )
            raise InvalidParameterError(msg)
        out = np.empty(x.shape)
        up, down = self.branches
        step = max(BLOCK // max(self.n_features, 1), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(x), step):
                block = x[start : start + step].astype(np.float64, copy=False)
                z = (block - self.centre) / self.scale
                out[start : start + step] = change(block, z, up.either(down, z >= 0))
        return out


def _check(t: PowerTransform) -> None:
    """Refuse a transform that is no bijection of the line."""
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


def check_power(power: Any) -> None:
    """Refuse what names no transform."""
    known = power is None or isinstance(power, PowerTransform)
    if not known and not (isinstance(power, str) and power == "yeo-johnson"):
        msg = f"power must be None, 'yeo-johnson' or a PowerTransform, got {power!r}"
        raise InvalidParameterError(msg)


def parse_power(power: Any, table: Table) -> PowerTransform:
    """Return the transform that users name, fitted to the rows where it is not given."""
    check_power(power)
    given = isinstance(power, PowerTransform)
    known: PowerTransform = power if given else PowerTransform.of(table.x, table.weight)
    p = table.x.shape[1]
    if table.indicators is not None and known.n_features > p:
        known = known.select(np.arange(p))  # the rest are indicators, which nothing changes
    if known.n_features != p:
        raise FeatureMismatchError(
            f"the transform knows {known.n_features} features, X has {p}"
        )
    return known


# --- exponents of greatest likelihood, feature by feature, from a bounded sample of rows ---


def _fitted_columns(X: Any, sample_weight: Any, *, n_rows: int, seed: int) -> Floats:
    """Return λ, c, s, low and high, (5, d), that make each feature most nearly Gaussian."""
    x, names = as_matrix(X)
    given = as_weights(sample_weight, len(x))
    w = np.ones(len(x)) if given is None else given
    rows = np.flatnonzero(w > 0)
    if len(rows) > n_rows:  # a seeded sample, in order
        rng = np.random.default_rng(seed)
        rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False, shuffle=False))]
    sample, weight = x[rows].astype(np.float64, copy=False), w[rows]
    if np.isinf(sample).any():
        refuse_unusable(np.where(np.isnan(x), 0.0, x), names, w)
    columns = np.ascontiguousarray(sample.T)
    n_jobs = None if sample.size > PARALLEL else 1
    named = [(column, column_name(names, j)) for j, column in enumerate(columns)]
    found = list(in_order(lambda each: _fitted_column(*each, weight), named, n_jobs))
    return np.array(found).reshape(-1, 5).T


def _fitted_column(x: Floats, name: str, w: Floats) -> Column:
    """Return exponent, centre, scale and range of the values that one feature has."""
    seen = ~np.isnan(x)
    x, w = x[seen], w[seen]
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    if np.all((x == low) | (x == high)):
        return 1.0, 0.0, 1.0, low, high
    w = w / w.sum()
    centre = _centre(x, w, name)
    scale = float(np.sqrt(_mean(np.square(x - centre), w)))
    return best_exponent((x - centre) / scale, w), centre, scale, low, high


def _centre(x: Floats, w: Floats, name: str) -> float:
    """Return the mean, on a grid so coarse that it is as exact far from zero as near it."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = x - x[0]
        mean = _mean(z, w)
        scale = np.sqrt(_mean(np.square(z - mean), w))
    if not SMALLEST < scale < np.inf:
        fate = "vanish" if scale <= SMALLEST else "overflow"
        raise InvalidInputError(f"the squares of column {name} {fate}: rescale it")
    step = 2.0 ** (np.floor(np.log2(scale)) - GRID)
    # on the grid, whichever row comes first, without a rounding at a large mean
    near = np.round(x[0] / step) * step
    return float(near + np.round((mean + (x[0] - near)) / step) * step)


def best_exponent(z: Floats, w: Floats) -> float:
    """Return λ maximising the likelihood of a Gaussian of ψ_λ(z); weights are relative."""
    if z.min() == z.max():
        return 1.0
    step = len(z) // SCOUTS
    guess = best_exponent(z[::step], w[::step]) if step > 1 else None
    w = w / w.sum()
    order = np.argsort(z < 0, kind="stable")
    n, w = int((z >= 0).sum()), w[order]
    logs = np.log1p(np.abs(z[order]))
    tilt = _mean(logs[:n], w[:n]) - _mean(logs[n:], w[n:])
    psi, slope = np.empty_like(logs), np.empty_like(logs)

    def derivative(exponent: float) -> float:
        psi[:n], slope[:n] = _with_slope(exponent, logs[:n])
        psi[n:], slope[n:] = _with_slope(2 - exponent, logs[n:])
        np.negative(psi[n:], out=psi[n:])
        gap = psi - _mean(psi, w)
        # −log L / n = ½ log σ²(λ) − (λ − 1) Σ w sgn(z) log(1 + |z|),  σ² = Var ψ_λ
        return _mean(gap * slope, w) / _mean(gap * gap, w) - tilt

    return _root(derivative, guess)


def _root(derivative: Callable[[float], float], guess: float | None) -> float:
    """Return where an increasing function is zero, or the end of the range nearest to it."""
    from scipy.optimize import brentq  # slow to import, and seldom needed

    first, last = RANGE
    reach = last - first if guess is None else 0.25
    low = high = 1.0 if guess is None else guess
    while (low := max(low - reach, first)) > first and derivative(low) >= 0:
        reach *= 2
    while (high := min(high + reach, last)) < last and derivative(high) <= 0:
        reach *= 2
    if low == first and derivative(low) >= 0:
        return low
    if high == last and derivative(high) <= 0:
        return high
    return float(brentq(derivative, low, high, xtol=PRECISION, rtol=PRECISION))


def _mean(values: Floats, w: Floats) -> float:
    """Return Σ w v, by loops of our own: BLAS would start threads inside our threads."""
    return float(np.einsum("i,i->", values, w))


def _with_slope(e: float, logs: Floats) -> tuple[Floats, Floats]:
    """Return P and ∂P/∂e, from log(1 + u)."""
    p = curve(e, logs)
    if abs(e) > SMALL:
        # ∂P/∂e = ℓ P + (ℓ − P) / e,  ℓ = log(1 + u)
        return p, logs * p + (logs - p) / e
    # ∂P/∂e = Σ_k e^k ℓ^{k+2} / (k! (k + 2))
    t = e * logs
    return p, np.square(logs) * (1 / 2 + t * (1 / 3 + t * (1 / 8 + t / 30)))
