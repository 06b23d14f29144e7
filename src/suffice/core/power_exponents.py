"""Maximum-likelihood exponents of the Yeo–Johnson transform of each feature."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from suffice.core.table.matrix import as_matrix, as_weights, column_name, refuse_unusable
from suffice.core.threads import in_order
from suffice.errors import InvalidInputError
from suffice.typing import Floats, RowsLike, WeightsLike

# of exponents, symmetric about 1: mirroring a feature mirrors its exponent
RANGE = (-4.0, 6.0)
PRECISION = 1e-13
SCOUTS = 1_000  # rows of the first, rough search for an exponent
SMALL = 1e-4  # an exponent under which closed forms cancel
SMALLEST = 1e-150  # a standard deviation whose square has all its digits
GRID = 23  # bits of a standard deviation that a centre has
PARALLEL = 100_000  # numbers under which starting threads does not pay


class FeatureFit(NamedTuple):
    """The transform of one feature."""

    exponent: float  # λ
    centre: float  # c
    scale: float  # s
    low: float  # the smallest value
    high: float  # the largest value


def power_curve(e: float | Floats, logs: Floats) -> Floats:
    """Return P = ((1 + u)^e − 1) / e from log(1 + u): the logarithm itself where e = 0."""
    # ``logs`` may also be a node of an ONNX graph, so it is not made an array here
    is_zero = np.asarray(e == 0)
    if not is_zero.any():
        curve: Floats = np.expm1(e * logs) / e
        return curve
    return np.where(is_zero, logs, np.expm1(e * logs) / np.where(is_zero, 1.0, e))


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
    if len(rows) > n_rows:  # a seeded sample, in order
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
    """Return the mean, on a grid so coarse that it is as exact far from zero as near it."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = x - x[0]
        mean = _mean(z, w)
        scale = np.sqrt(_mean(np.square(z - mean), w))
    if scale <= SMALLEST:
        raise InvalidInputError(f"the squares of column {name} vanish: rescale it")
    if not scale < np.inf:
        raise InvalidInputError(f"the squares of column {name} overflow: rescale it")
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
    # the n values from zero on come first
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
    """Return where an increasing function is zero, or the end of the range nearest to it."""
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
    """Return Σ w v without BLAS, which would start threads inside our threads."""
    return float(np.einsum("i,i->", values, w))


def _curve_and_slope(e: float, logs: Floats) -> tuple[Floats, Floats]:
    """Return P and ∂P/∂e, from log(1 + u)."""
    p = power_curve(e, logs)
    if abs(e) > SMALL:
        # ∂P/∂e = ℓ P + (ℓ − P) / e,  ℓ = log(1 + u)
        return p, logs * p + (logs - p) / e
    # ∂P/∂e = Σ_k e^k ℓ^{k+2} / (k! (k + 2))
    t = e * logs
    return p, np.square(logs) * (1 / 2 + t * (1 / 3 + t * (1 / 8 + t / 30)))
