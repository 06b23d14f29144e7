"""The Henze–Zirkler test of whether each class is Gaussian."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import qr

from suffice.core.decision.error_intervals import LEVEL, holm
from suffice.core.linalg import EPS, rank_tolerance
from suffice.core.text.lists import noun_for, python_scalar, quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row
from suffice.errors import DegenerateDataWarning, InvalidInputError, warn
from suffice.evaluate.diagnostics.column_tests import upper_tail
from suffice.evaluate.diagnostics.diagnostic import (
    Diagnostic,
    finite_table,
    sample_remarks,
    sampled,
)
from suffice.typing import Codes, Floats, Labels, LabelsLike, RowsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK = 256  # number of rows per block of inner products
# With fewer rows per direction than this, the asymptotic null distribution is wrong, so the null
# distribution is simulated. The columns are then also tested one by one, because the joint test has
# little power.
ROWS_PER_DIRECTION = 8
# least number of rows of a tested class; fewer rows cannot show skewness or kurtosis
LEAST_ROWS = 8
LEAST_KURTOSIS_ROWS = 20
# least number of rows per direction; with fewer, all whitened rows have about the same length
LEAST_SHARE = 1.2
_PAIRS = 4e7  # number of distances in the simulation of a null distribution


class Null(NamedTuple):
    """The null distribution of a statistic whose logarithm is approximately normal."""

    log_mean: float
    log_deviation: float
    skewness: float  # skewness of the log statistic


def whitened(x: Floats) -> Floats | None:
    """Return whitened rows z (n, r), zᵢ·zⱼ = (xᵢ−x̄)ᵀS⁺(xⱼ−x̄), rank S = r; None for few rows."""
    mean = x.mean(0)
    centred = x - mean
    centred -= centred.mean(0)
    size = np.linalg.norm(centred, axis=0)
    varying = size > 16 * EPS * np.sqrt(len(x)) * np.abs(mean)
    if not varying.any():
        return None
    # X P = Q R, pivoted by residual norm  ⇒  S⁺ = n R⁻¹R⁻ᵀ on the span,  z = √n Q
    q, r, _ = qr(centred[:, varying] / size[varying], mode="economic", pivoting=True)
    rank = int((np.diagonal(r) ** 2 > rank_tolerance(x.shape[1])).sum())
    if len(x) < max(LEAST_SHARE * rank + 2, LEAST_ROWS):
        return None
    return np.asarray(np.sqrt(len(x)) * q[:, :rank])


def henze_zirkler(z: Floats) -> tuple[float, float]:
    """Return the statistic of whitened rows (n, d), and its p-value.

    Affine maps do not change the statistic, so the null distribution depends only on n and d. With
    few rows, it is simulated.
    """
    n, d = z.shape
    hz = _statistic(z)
    null = _simulated_null(n, d) if n < ROWS_PER_DIRECTION * d else _asymptotic_null(n, d)
    excess = (np.log(max(hz, np.finfo(float).tiny)) - null.log_mean) / null.log_deviation
    return hz, upper_tail(float(excess), null.skewness)


def _statistic(z: Floats) -> float:
    n, d = z.shape
    r = np.square(z).sum(1)
    b = _smoothing(n, d)
    # HZ = Σᵢⱼ exp(−β²|zᵢ−zⱼ|²/2) / n − 2 (1+β²)^{−d/2} Σᵢ exp(−β²|zᵢ|²/(2(1+β²)))
    #      + n (1+2β²)^{−d/2}
    pairs = _pair_sum(z, r, b)
    single = np.exp(-b * r / (2 * (1 + b))).sum()
    return float(pairs / n - 2 * (1 + b) ** (-d / 2) * single + n * (1 + 2 * b) ** (-d / 2))


def _smoothing(n: int, d: int) -> float:
    # b = β² = ½ (n (2d+1) / 4)^{2/(d+4)}
    return float((n * (2 * d + 1) / 4) ** (2 / (d + 4)) / 2)


def _asymptotic_null(n: int, d: int) -> Null:
    """Return the log-normal null with the asymptotic mean and variance of the statistic."""
    mean, variance = _null_moments(_smoothing(n, d), d)
    log_variance = np.log1p(variance / mean**2)
    return Null(
        log_mean=float(np.log(mean) - log_variance / 2),
        log_deviation=float(np.sqrt(log_variance)),
        skewness=0.0,
    )


@lru_cache(maxsize=256)
def _simulated_null(n: int, d: int) -> Null:
    """Return the null distribution that simulated normal rows give."""
    rng = np.random.default_rng([n, d])
    n_draws = int(np.clip(_PAIRS / n**2, 39, 999))
    logs = np.empty(n_draws)
    for i in range(n_draws):
        z = whitened(rng.normal(size=(n, d)))
        assert z is not None
        logs[i] = np.log(max(_statistic(z), np.finfo(float).tiny))
    z = (logs - logs.mean()) / logs.std()
    return Null(
        log_mean=float(logs.mean()),
        log_deviation=float(logs.std(ddof=1)),
        skewness=float((z**3).mean()),
    )


def marginal_p_value(x: Floats) -> float:
    """Return the smallest p-value of tests of the columns' skewness and kurtosis, adjusted (Šidák).

    D'Agostino (1970), *Biometrika* 57, 679–681; Anscombe & Glynn (1983), *Biometrika* 70, 227–234.
    """
    from scipy import stats  # slow to import, and needed only for few rows with many columns

    varies = np.ptp(x, axis=0) > 16 * EPS * np.abs(x).max(0)
    columns = x[:, varies]
    skewness = stats.skewtest(columns, axis=0).pvalue
    # with fewer rows, the approximation of the distribution of the kurtosis is too rough
    p_values = [skewness]
    if len(columns) >= LEAST_KURTOSIS_ROWS:
        p_values.append(stats.kurtosistest(columns, axis=0).pvalue)
    tests = np.concatenate(p_values)
    # 1 − (1 − p)ᵐ
    return float(-np.expm1(len(tests) * np.log1p(-min(tests.min(), 1 - 1e-16))))


def _pair_sum(z: Floats, r: Floats, b: float) -> float:
    """Return Σᵢⱼ exp(−β² |zᵢ − zⱼ|²/2), computed block by block."""
    total = 0.0
    for lo in range(0, len(z), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        squares = np.maximum(r[rows, None] + r[lo:] - 2 * (z[rows] @ z[lo:].T), 0.0)
        # pairs with rows of a later block count twice, as (i, j) and (j, i)
        times = np.where(np.arange(lo, len(z)) < lo + _BLOCK, 1.0, 2.0)
        total += float(np.exp(-b / 2 * squares).sum(0) @ times)
    return total


def _null_moments(b: float, d: int) -> tuple[float, float]:
    """Return the mean and variance of the statistic for Gaussian rows, given b = β²."""
    # a = 1 + 2β²,  w = (1 + β²)(1 + 3β²),  e = d(d + 2)
    a = 1 + 2 * b
    w = (1 + b) * (1 + 3 * b)
    e = d * (d + 2)
    # μ = 1 − a^{−d/2} (1 + dβ²/a + d(d+2)β⁴/(2a²))
    mean = 1 - a ** (-d / 2) * (1 + d * b / a + e * b**2 / (2 * a**2))
    # σ² = 2(1+4β²)^{−d/2} + 2a^{−d}(1 + 2dβ⁴/a² + 3d(d+2)β⁸/(4a⁴))
    #      − 4w^{−d/2}(1 + 3dβ⁴/(2w) + d(d+2)β⁸/(2w²))
    variance = (
        2 * (1 + 4 * b) ** (-d / 2)
        + 2 * a**-d * (1 + 2 * d * b**2 / a**2 + 3 * e * b**4 / (4 * a**4))
        - 4 * w ** (-d / 2) * (1 + 3 * d * b**2 / (2 * w) + e * b**4 / (2 * w**2))
    )
    return mean, variance


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Normality(Diagnostic):
    """The tests of whether each class is Gaussian, as ``normality`` describes them."""

    classes: Labels  # the tested classes  (K,)
    statistics: Floats  # Henze–Zirkler statistics  (K,)
    p_values: Floats  # (K,)
    directions: Codes  # number of directions in which each class varies  (K,)
    n_used: Codes  # rows of each class used in the test  (K,)
    n_rows: Codes  # rows of each class given  (K,)
    left_out: Labels  # classes with too few rows
    n_features: int

    @property
    def adjusted_p_values(self) -> Floats:
        """P-values adjusted for the number of classes by Holm's method, shape (K,)."""
        return holm(self.p_values)

    @property
    def p_value(self) -> float:
        """The smallest adjusted p-value."""
        return float(self.adjusted_p_values.min())

    def rows(self) -> list[Row]:
        """Return a row for each class."""
        adjusted = self.adjusted_p_values
        return [
            {
                "class": python_scalar(label),
                "henze_zirkler": float(self.statistics[k]),
                "p_value": float(self.p_values[k]),
                "adjusted_p_value": float(adjusted[k]),
                "directions": int(self.directions[k]),
                "n_used": int(self.n_used[k]),
                "n_rows": int(self.n_rows[k]),
            }
            for k, label in enumerate(self.classes)
        ]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw on ``ax``, or on new axes, and return the axes."""
        from suffice.present.plots.results import normality_figure

        return normality_figure(self, ax)

    def __repr__(self) -> str:
        rejected = self.classes[self.adjusted_p_values <= LEVEL]
        verdict = "Gaussian classes: no evidence against them"
        if len(rejected):
            verdict = f"Not Gaussian: {noun_for(len(rejected), 'class')} {quoted(rejected)}"
        remarks = sample_remarks(self.n_used, self.n_rows)
        flat = self.directions < self.n_features
        if flat.any():
            low = self.directions[flat].min()
            high = self.directions[flat].max()
            n_varying = f"{low}" if low == high else f"{low} to {high}"
            names = f"{noun_for(int(flat.sum()), 'class')} {quoted(self.classes[flat])}"
            verb = "varies" if flat.sum() == 1 else "vary"
            remarks.append(
                f"{names} {verb} in only {n_varying} of {self.n_features} directions"
            )
        if len(self.left_out):
            remarks.append(f"too few rows to test {quoted(self.left_out)}")
        return "; ".join([f"{verdict} ({p_statement(self.p_value)})", *remarks])


def normality(
    X: RowsLike,
    y: LabelsLike,
    *,
    max_rows: int = 4000,
    random_state: int | np.random.Generator = 0,
) -> Normality:
    """Return the Henze–Zirkler test of normality for each class.

    The statistic is a distance between the characteristic function of the whitened rows and that of
    a standard normal. It is invariant to affine maps. With enough rows, the test detects every
    departure from normality. Henze & Zirkler (1990), *Communications in Statistics: Theory and
    Methods* 19, 3595–3617.

    A class with fewer than 8 rows per direction gets a simulated null distribution. The skewness
    and kurtosis of its columns are then tested as well, and the p-value is adjusted for both tests.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Unweighted rows and their classes. A class with constant or dependent columns is tested in
        the directions in which it varies. A class with too few rows is left out, and a warning
        names it.
    max_rows : int, default=4000
        A class with more rows is represented by a random sample, and the result says so.
    random_state : int or Generator, default=0
        Seed of the sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> normality(X, y)
    Gaussian classes: no evidence against them (p = 0.15)
    """
    table = finite_table(X, y)
    classes = table.classes
    sample = sampled(table, max_rows, np.random.default_rng(random_state))
    is_tested = np.zeros(len(classes), bool)
    tested_rows = []
    for k in range(len(classes)):
        x = np.asarray(sample.x[sample.codes == k], np.float64)
        z = whitened(x)
        if z is not None:
            is_tested[k] = True
            tested_rows.append(_tested_class(x, z))
    if not is_tested.any():
        raise InvalidInputError(
            "no class has enough rows for a test of normality: a class that varies in r "
            "directions needs at least 1.2 r + 2 rows, and at least 8. Use fewer columns, or "
            "collect more rows"
        )
    if not is_tested.all():
        warn(
            f"{noun_for(int((~is_tested).sum()), 'class')} {quoted(classes[~is_tested])} cannot "
            "be tested for normality: a class that varies in r directions needs at least 1.2 r + "
            "2 rows, and at least 8",
            DegenerateDataWarning,
        )
    n_rows = np.bincount(table.codes, minlength=len(classes))
    return Normality(
        classes=classes[is_tested],
        statistics=np.array([each.statistic for each in tested_rows]),
        p_values=np.array([each.p_value for each in tested_rows]),
        directions=np.array([each.n_directions for each in tested_rows]),
        n_used=np.array([each.n_rows for each in tested_rows]),
        n_rows=n_rows[is_tested],
        left_out=classes[~is_tested],
        n_features=table.n_features,
    )


class _TestedClass(NamedTuple):
    statistic: float
    p_value: float
    n_directions: int
    n_rows: int


def _tested_class(x: Floats, z: Floats) -> _TestedClass:
    """Return the test of one class, given its rows and its whitened rows."""
    n, d = z.shape
    statistic, p = henze_zirkler(z)
    if n < ROWS_PER_DIRECTION * d:
        # there are two tests, so the p-values are adjusted by Bonferroni's method
        p = min(2 * p, 2 * marginal_p_value(x), 1.0)
    return _TestedClass(statistic, p, n_directions=d, n_rows=n)
