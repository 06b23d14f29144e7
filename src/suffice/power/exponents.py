"""Exponents of greatest likelihood, feature by feature, from a bounded sample of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.matrix import refuse_unusable
from suffice.threads import in_order
from suffice.typing import Floats

RANGE = (-4.0, 6.0)  # of exponents: mirrored about 1, as a mirrored feature is
PRECISION = 1e-13
SCOUTS = 1_000  # rows that tell where to look for an exponent
SMALL = 1e-4  # an exponent under which closed forms cancel
SMALLEST = 1e-150  # a standard deviation whose square has all its digits
GRID = 23  # bits of a standard deviation that a centre has
PARALLEL = 100_000  # numbers under which starting threads does not pay

Column = tuple[float, float, float, float, float]  # λ, c, s, low, high


def fitted_columns(X: Any, sample_weight: Any, *, n_rows: int, seed: int) -> Floats:
    """Return λ, c, s, low and high, (5, d), that make each feature most nearly Gaussian."""
    x = np.asarray(X)
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    rows = np.flatnonzero(w > 0)
    if len(rows) > n_rows:  # a seeded sample, in order
        rng = np.random.default_rng(seed)
        rows = rows[np.sort(rng.choice(len(rows), n_rows, replace=False, shuffle=False))]
    sample, weight = x[rows].astype(np.float64, copy=False), w[rows]
    if np.isinf(sample).any():
        refuse_unusable(np.where(np.isnan(x), 0.0, x), None, w)
    columns = np.ascontiguousarray(sample.T)
    n_jobs = None if sample.size > PARALLEL else 1
    found = list(in_order(lambda column: fitted_column(column, weight), list(columns), n_jobs))
    return np.array(found).reshape(-1, 5).T


def fitted_column(x: Floats, w: Floats) -> Column:
    """Return exponent, centre, scale and range of the values that one feature has."""
    seen = ~np.isnan(x)
    x, w = x[seen], w[seen]
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    if np.all((x == low) | (x == high)):
        return 1.0, 0.0, 1.0, low, high
    w = w / w.sum()
    centre = _centre(x, w)
    scale = float(np.sqrt(_mean(np.square(x - centre), w)))
    exponent = best_exponent((x - centre) / scale, w)
    return exponent, centre, scale, low, high


def _centre(x: Floats, w: Floats) -> float:
    """Return the mean, on a grid so coarse that it is as exact far from zero as near it."""
    z = x - x[0]
    mean = _mean(z, w)
    scale = np.sqrt(_mean(np.square(z - mean), w))
    if not scale > SMALLEST:
        msg = f"the squares of a column that spreads over {np.ptp(x):.1g} vanish: rescale it"
        raise InvalidInputError(msg)
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


def curve(e: Any, logs: Floats) -> Floats:
    """Return P = ((1 + u)^e − 1) / e from log(1 + u): the logarithm itself where e = 0."""
    if not np.any(e == 0):
        return np.asarray(np.expm1(e * logs) / e)
    return np.where(e == 0, logs, np.expm1(e * logs) / np.where(e == 0, 1.0, e))


def _with_slope(e: float, logs: Floats) -> tuple[Floats, Floats]:
    """Return P and ∂P/∂e, from log(1 + u)."""
    p = curve(e, logs)
    if abs(e) > SMALL:
        # ∂P/∂e = ℓ P + (ℓ − P) / e,  ℓ = log(1 + u)
        return p, logs * p + (logs - p) / e
    # ∂P/∂e = Σ_k e^k ℓ^{k+2} / (k! (k + 2))
    t = e * logs
    return p, np.square(logs) * (1 / 2 + t * (1 / 3 + t * (1 / 8 + t / 30)))
