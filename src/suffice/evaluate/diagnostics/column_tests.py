"""Test whether two samples of a column have the same distribution, from their sums alone.

Each test is a permutation test. If nothing has changed, all choices of the new rows among all rows
are equally likely. The distribution of the statistic over these choices is approximated by its
first moments, which follow from the sums of both samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import (
    betaln,
    fdtr,
    fdtrc,
    gammainc,
    gammaincc,
    ndtr,
    ndtri,
    stdtr,
)

from suffice.typing import Floats

# An F test of spreads with fewer degrees of freedom than this, after the correction for tails, is
# skipped. In simulations, such a test rejects too often.
LEAST_SPREAD_DF = 15
LEAST_KURTOSIS = 2.0  # a smaller kurtosis would make the F test too sensitive
# If the mean has a larger excess kurtosis than this, the test uses a bound that holds for all
# tails.
MOST_EXCESS = 1.0
_MOST_EXACT = 20_000  # limit on the terms of an exact test of two shares
_ROUNDING = 1e-6  # up to this relative rounding error of sums, a column counts as two-valued


class Column(NamedTuple):
    """The moments of one column in one sample; weights are taken as counts of rows."""

    n: float
    mean: float
    variance: float  # Σ (x − x̄)² / n
    third: float  # Σ (x − x̄)³ / n, NaN if unknown
    fourth: float  # Σ (x − x̄)⁴ / n, NaN if unknown


class Shape(NamedTuple):
    """The shape of the distribution of all rows of two samples, about their common mean."""

    variance: float
    skewness: float
    kurtosis: float


def pooled_shape(old: Column, new: Column) -> Shape:
    """Return the variance, skewness and kurtosis of the rows of both samples together."""
    n = old.n + new.n
    step = new.mean - old.mean
    unit = max(np.sqrt(old.variance), np.sqrt(new.variance), abs(step))
    if not unit > 0:
        return Shape(0.0, np.nan, np.nan)
    variance = 0.0
    third = 0.0
    fourth = 0.0
    for sample, rest, sign in ((old, new, -1.0), (new, old, 1.0)):
        share = sample.n / n
        # moments of z = x − x̄, in a unit in which no power overflows or underflows
        v = sample.variance / unit / unit
        m3 = sample.third / unit / unit / unit
        m4 = sample.fourth / unit / unit / unit / unit
        e = sign * step / unit * rest.n / n
        # E(z + e)ᵖ
        variance += share * (v + e**2)
        third += share * (m3 + 3 * e * v + e**3)
        fourth += share * (m4 + 4 * e * m3 + 6 * e**2 * v + e**4)
    skewness = third / variance**1.5
    return Shape(variance * unit * unit, skewness, fourth / variance**2)


def two_values(old: Column, new: Column) -> tuple[float, float] | None:
    """Return the two values of a column if both samples together have only two values."""
    shape = pooled_shape(old, new)
    # κ ≥ γ² + 1, with equality if and only if there are two values (Pearson 1916)
    gap = shape.kurtosis - np.square(shape.skewness) - 1
    if not abs(gap) <= _ROUNDING * shape.kurtosis:
        return None
    n = old.n + new.n
    mean = (old.n * old.mean + new.n * new.mean) / n
    # share p of the larger value: γ = (1 − 2p)/√(p(1 − p)), hence p = ½ − ½γ/√(4 + γ²)
    p = 0.5 - 0.5 * shape.skewness / np.sqrt(4 + np.square(shape.skewness))
    deviation = np.sqrt(shape.variance)
    return float(mean - deviation * np.sqrt(p / (1 - p))), float(
        mean + deviation * np.sqrt((1 - p) / p)
    )


def mean_test(old: Column, new: Column) -> float:
    """Return the two-sided p-value of equal means; NaN for a constant column.

    For normal rows, this is Student's t test with a pooled variance. For other rows, the test is
    corrected for skewness and kurtosis.
    """
    n1 = old.n
    n2 = new.n
    n = n1 + n2
    shape = pooled_shape(old, new)
    if not shape.variance > 0 or not n > 3:
        return np.nan
    # The mean of n₂ rows, drawn from n without replacement, has variance σ² = (s²/n₂) n₁/(n − 1).
    deviation = np.sqrt(shape.variance / n2 * n1 / (n - 1))
    change = (new.mean - old.mean) * n1 / n
    standardised = change / deviation
    z = standardised
    # t = z √((n − 2)/(n − 1 − z²)), which is then converted to a standard normal quantile
    t = z * np.sqrt((n - 2) / max(n - 1 - z**2, 1e-300))
    z = _normal_quantile(t, n - 2)
    if not np.isfinite(shape.skewness) or not np.isfinite(shape.kurtosis):
        return _skewed_p_value(z, 0.0)
    # skewness of this mean:  γ (n₁ − n₂) √(n − 1) / (√(n n₁ n₂) (n − 2)/√n)
    skewness = shape.skewness * (n1 - n2) / (n - 2) * np.sqrt((n - 1) / (n1 * n2))
    # its excess kurtosis:  (κ − 3)(n² − 6 n₁n₂)/(n n₁ n₂)
    excess = (shape.kurtosis - 3) * (n**2 - 6 * n1 * n2) / (n * n1 * n2)
    # A gamma distribution with this skewness has the excess kurtosis 3γ²/2. A Student t has the
    # rest.
    rest = excess - 1.5 * skewness**2
    if rest > 0:
        df = 4 + 6 / rest
        z = _normal_quantile(z * np.sqrt(df / (df - 2)), df)
    p = _skewed_p_value(z, skewness)
    if excess > MOST_EXCESS:
        # P(|Z| ≥ z) ≤ min(1/z², E Z⁴/z⁴): Chebyshev's and Markov's inequalities
        square = max(standardised**2, 1.0)
        p = max(p, float(min(1 / square, (3 + excess) / square**2)))
    return p


def _normal_quantile(t: float, df: float) -> float:
    """Return the standard normal quantile with the same tail probability as Student's t."""
    return float(-np.sign(t) * ndtri(stdtr(df, -abs(t))))


def _skewed_p_value(z: float, skewness: float) -> float:
    """Return the two-sided p-value of a value under a standardised gamma distribution."""
    above = upper_tail(z, skewness)
    below = upper_tail(-z, -skewness)
    return min(2 * min(above, below), 1.0)


def upper_tail(z: float, skewness: float) -> float:
    """Return P(Z ≥ z) for a standardised gamma distribution (Pearson type III)."""
    if abs(skewness) < 1e-4:
        return float(ndtr(-z))
    # a = 4/γ²,  ±Z √a + a ~ Gamma(a)
    a = 4 / skewness**2
    q = max(np.sign(skewness) * z * np.sqrt(a) + a, 0.0)
    return float(gammaincc(a, q) if skewness > 0 else gammainc(a, q))


def spread_test(old: Column, new: Column) -> float:
    """Return the two-sided p-value of equal variances; NaN if there are too few rows.

    This is the F test, with degrees of freedom multiplied by 2/(κ − 1), where κ is the kurtosis of
    both samples (Box & Andersen 1955, *JRSS B* 17, 1–26; Layard 1973, *JASA* 68, 195–198).
    """
    total = old.n + new.n
    variance = (old.n * old.variance + new.n * new.variance) / total
    fourth = (old.n * old.fourth + new.n * new.fourth) / total
    if not (old.variance > 0 and new.variance > 0 and np.isfinite(fourth)):
        return np.nan
    pooled = fourth / variance / variance
    old_kurtosis = old.fourth / old.variance / old.variance
    new_kurtosis = new.fourth / new.variance / new.variance
    larger = max(old_kurtosis, new_kurtosis)
    # A large change of the spread makes the pooled kurtosis large, even without heavy tails.
    tails = max(min(pooled, larger), LEAST_KURTOSIS)
    if 2 / (tails - 1) * min(old.n, new.n) < LEAST_SPREAD_DF:
        return np.nan
    kurtosis = max(min(pooled, 2 * larger), LEAST_KURTOSIS)
    factor = 2 / (kurtosis - 1)
    ratio = new.variance / old.variance * new.n / (new.n - 1) * (old.n - 1) / old.n
    below = fdtr(factor * (new.n - 1), factor * (old.n - 1), ratio)
    above = fdtrc(factor * (new.n - 1), factor * (old.n - 1), ratio)
    return float(min(2 * min(below, above), 1.0))


def share_test(counts: Floats) -> float:
    """Return the p-value of equal shares of L levels in two samples, from counts (2, L).

    Two levels are tested by Fisher's exact test with mid-p. More levels are tested by Pearson's X²,
    under a gamma distribution with the exact mean and variance of X² (Haldane 1940, *Biometrika*
    31, 346–355).
    """
    counts = counts[:, counts.sum(0) > 0]
    n = float(counts.sum())
    n_levels = counts.shape[1]
    if n_levels < 2 or not n > 3:
        return np.nan
    rounded = np.rint(counts)
    is_whole = np.allclose(counts, rounded, rtol=1e-9, atol=1e-6)
    n_terms = min(rounded.sum(0).min(), rounded[1].sum())
    if n_levels == 2 and is_whole and n_terms <= _MOST_EXACT:
        return _exact_p_value(rounded)
    # X² = Σ (observed − expected)² / expected
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / n
    statistic = (np.square(counts - expected) / expected).sum()
    v1, w1 = _margin_terms(counts.sum(0), n)
    v2, w2 = _margin_terms(counts.sum(1), n)
    mean = n * (n_levels - 1) / (n - 1)
    variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
    return float(gammaincc(mean**2 / variance, statistic * mean / variance))


def _exact_p_value(counts: Floats) -> float:
    """Return Fisher's mid-p of a table (2, 2): half the probability of tied outcomes counts."""
    rare = int(np.argmin(counts.sum(0)))
    total = float(counts.sum())
    hits = float(counts[:, rare].sum())
    drawn = float(counts[1].sum())
    least = max(0.0, drawn + hits - total)
    k = np.arange(least, min(hits, drawn) + 1)
    # log P(k) = log C(hits, k) C(total − hits, drawn − k) / C(total, drawn)
    log_p = (
        _log_binomial(hits, k)
        + _log_binomial(total - hits, drawn - k)
        - _log_binomial(total, np.array([drawn]))
    )
    observed = log_p[int(counts[1, rare] - least)]
    p = np.exp(log_p)
    is_equal = np.abs(log_p - observed) < 1e-7
    is_rarer = (log_p < observed) & ~is_equal
    return float(min(p[is_rarer].sum() + 0.5 * p[is_equal].sum(), 1.0))


def _log_binomial(n: float, k: Floats) -> Floats:
    # log C(n, k) = −log(n + 1) − log B(n − k + 1, k + 1)
    return np.asarray(-np.log(n + 1) - betaln(n - k + 1, k + 1))


def _margin_terms(totals: Floats, n: float) -> tuple[float, float]:
    """Return Haldane's v and w for the totals of one margin."""
    k = len(totals)
    v = (k - 1) * (n - k) / (n - 1)
    w = float((n / totals).sum() - k**2) / (n - 2)
    return v, w
