"""Is each class Gaussian? Mardia's and Henze and Zirkler's tests, from rows."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import qr
from scipy.special import chdtrc, ndtr

from suffice.diagnostics.diagnostic import Diagnostic
from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError
from suffice.linalg import EPS, rank_tolerance
from suffice.table.matrix import refuse_unusable
from suffice.table.sampling import ranks_within
from suffice.table.table import Table
from suffice.text.lists import plain, quoted
from suffice.text.numbers import p_statement
from suffice.text.tables import Row
from suffice.typing import Floats, Labels
from suffice.validation.significance import LEVEL, holm

_BLOCK = 256  # rows of products held at once


@dataclass(frozen=True, slots=True)
class Shape:
    """Three measures of non-normality of n rows in d features, with their p-values."""

    n: int
    d: int  # directions in which the rows vary
    skewness: float  # b₁ = Σᵢⱼ (zᵢ·zⱼ)³ / n²
    kurtosis: float  # b₂ = Σᵢ |zᵢ|⁴ / n
    henze_zirkler: float

    @classmethod
    def of(cls, z: Floats) -> Self:
        """Return the measures of whitened rows, (n, d)."""
        n, d = z.shape
        r = np.square(z).sum(1)
        beta2 = smoothing(n, d)
        cubes, kernels = _pair_sums(z, r, beta2)
        # HZ = Σᵢⱼ exp(−β²|zᵢ−zⱼ|²/2) / n − 2 (1+β²)^{−d/2} Σᵢ exp(−β²|zᵢ|²/(2(1+β²)))
        #      + n (1+2β²)^{−d/2}
        single = np.exp(-beta2 * r / (2 * (1 + beta2))).sum()
        hz = kernels / n - 2 * (1 + beta2) ** (-d / 2) * single + n * (1 + 2 * beta2) ** (-d / 2)
        return cls(n, d, cubes / n**2, float(np.square(r).mean()), float(hz))

    @property
    def skewness_chi_square(self) -> float:
        """Return the χ² of the skewness with Mardia's correction for few rows."""
        n, d = self.n, self.d
        # c = (d+1)(n+1)(n+3) / (n ((n+1)(d+1) − 6));  χ² = c n b₁ / 6
        c = (d + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (d + 1) - 6))
        return c * n * self.skewness / 6

    @property
    def kurtosis_z(self) -> float:
        """Return the kurtosis less its exact mean over its exact standard deviation."""
        n, d = self.n, self.d
        # E b₂ = d(d+2)(n−1)/(n+1),  Var b₂ = 8d(d+2)(n−3)(n−d−1)(n−d+1) / ((n+1)²(n+3)(n+5))
        mean = d * (d + 2) * (n - 1) / (n + 1)
        top = 8 * d * (d + 2) * (n - 3) * (n - d - 1) * (n - d + 1)
        return float((self.kurtosis - mean) / np.sqrt(top / ((n + 1) ** 2 * (n + 3) * (n + 5))))

    @property
    def p_values(self) -> tuple[float, float, float]:
        """Return the p-values of skewness, kurtosis (two-sided) and Henze–Zirkler."""
        df = self.d * (self.d + 1) * (self.d + 2) / 6
        skewness = float(chdtrc(df, self.skewness_chi_square))
        return skewness, float(2 * ndtr(-abs(self.kurtosis_z))), self._henze_zirkler_p()

    def _henze_zirkler_p(self) -> float:
        # log-normal with the exact mean and variance
        mean, variance = _henze_zirkler_moments(smoothing(self.n, self.d), self.d)
        log_variance = np.log1p(variance / mean**2)
        log_mean = np.log(mean) - log_variance / 2
        statistic = max(self.henze_zirkler, np.finfo(float).tiny)
        return float(ndtr((log_mean - np.log(statistic)) / np.sqrt(log_variance)))


def whitened(x: Floats) -> Floats | None:
    """Return rows z, (n, r), with zᵢ·zⱼ = (xᵢ−x̄)ᵀS⁺(xⱼ−x̄), S = Σ (x−x̄)(x−x̄)ᵀ/n of rank r.

    None where the rows are too few to differ from each other by more than their number, n < r+2.
    """
    mean = x.mean(0)
    centred = x - mean
    centred -= centred.mean(0)
    size = np.linalg.norm(centred, axis=0)
    varying = size > 16 * EPS * np.sqrt(len(x)) * np.abs(mean)
    if not varying.any():
        return None
    # X P = Q R, columns in order of what they add  ⇒  S⁺ = n R⁻¹R⁻ᵀ on the span,  z = √n Q
    q, r, _ = qr(centred[:, varying] / size[varying], mode="economic", pivoting=True)
    rank = int((np.diagonal(r) ** 2 > rank_tolerance(x.shape[1])).sum())
    rows: Floats = np.sqrt(len(x)) * q[:, :rank]
    return rows if len(x) >= rank + 2 else None


def smoothing(n: int, d: int) -> float:
    """Return β² of Henze and Zirkler, β = (n (2d+1) / 4)^{1/(d+4)} / √2."""
    return float((n * (2 * d + 1) / 4) ** (2 / (d + 4)) / 2)


def _pair_sums(z: Floats, r: Floats, beta2: float) -> tuple[float, float]:
    """Return Σᵢⱼ (zᵢ·zⱼ)³ and Σᵢⱼ exp(−β² |zᵢ − zⱼ|²/2), a block of rows at a time."""
    cubes = kernels = 0.0
    for lo in range(0, len(z), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        g = z[rows] @ z[lo:].T
        squares = np.maximum(r[rows, None] + r[lo:] - 2 * g, 0.0)
        # pairs with later blocks stand for two
        twice = np.where(np.arange(lo, len(z)) < lo + _BLOCK, 1.0, 2.0)
        cubes += float((g * g * g).sum(0) @ twice)
        kernels += float(np.exp(-beta2 / 2 * squares).sum(0) @ twice)
    return cubes, kernels


def _henze_zirkler_moments(b: float, d: int) -> tuple[float, float]:
    """Return mean and variance of the statistic for Gaussian rows; b = β²."""
    # a = 1 + 2β²,  w = (1 + β²)(1 + 3β²)
    a, w, e = 1 + 2 * b, (1 + b) * (1 + 3 * b), d * (d + 2)
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


def checked_table(X: Any, y: Any) -> Table:
    """Return rows with their classes, refused where there are none or some are not finite."""
    table = Table.of(X, y)
    if not table.n_rows:
        raise InvalidInputError("X has no rows")
    if table.x.dtype.kind == "f" and not np.isfinite(table.x).all():
        refuse_unusable(table.x, table.names)
    return table


def sampled(table: Table, max_rows: int, rng: np.random.Generator) -> Table:
    """Return the rows, of larger classes a random sample of ``max_rows``."""
    if max_rows < 1:
        raise InvalidParameterError(f"max_rows must be at least 1, got {max_rows}")
    if np.bincount(table.codes).max() <= max_rows:
        return table
    return table.take(ranks_within(table.codes, rng) < max_rows)


TESTS = ("skewness", "kurtosis", "Henze-Zirkler")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Normality(Diagnostic):
    """Whether each class is Gaussian; see ``normality``."""

    figure: ClassVar[str] = "normality"
    classes: Labels  # those tested  (K,)
    shapes: tuple[Shape, ...]
    p_values: Floats  # columns as in TESTS  (K, 3)
    n_rows: tuple[int, ...]  # rows of each class, of which shapes[k].n were looked at
    left_out: Labels  # classes with too few rows
    n_features: int

    @property
    def adjusted_p_values(self) -> Floats:
        """Return Holm's p-values, right for all classes and tests at once, shape (K, 3)."""
        return holm(self.p_values.ravel()).reshape(self.p_values.shape)

    @property
    def p_value(self) -> float:
        """Return the smallest adjusted p-value."""
        return float(self.adjusted_p_values.min())

    def rows(self) -> list[Row]:
        """Return a row for each class and test."""
        adjusted = self.adjusted_p_values
        return [
            {
                "class": plain(label),
                "test": test,
                "value": value,
                "statistic": statistic,
                "p_value": float(self.p_values[k, t]),
                "adjusted_p_value": float(adjusted[k, t]),
                "directions": self.shapes[k].d,
                "n_used": self.shapes[k].n,
                "n_rows": self.n_rows[k],
            }
            for k, label in enumerate(self.classes)
            for t, (test, value, statistic) in enumerate(_statistics(self.shapes[k]))
        ]

    def __repr__(self) -> str:
        against = (self.adjusted_p_values <= LEVEL).any(1)
        if against.any():
            k, t = np.unravel_index(np.argmin(self.p_values), self.p_values.shape)
            verdict = (
                f"Not Gaussian: {quoted(self.classes[against])} (clearest: {TESTS[t]} of "
                f"{plain(self.classes[k])!r}, {p_statement(self.p_value)})"
            )
        else:
            verdict = f"Gaussian classes: no evidence against them ({p_statement(self.p_value)})"
        return verdict + self._remarks()

    def _remarks(self) -> str:
        pairs = zip(self.shapes, self.n_rows, strict=True)
        used = [shape.n for shape, n in pairs if shape.n < n]
        remarks = f"; a sample of {max(used)} rows of larger classes" if used else ""
        flat = np.array([shape.d < self.n_features for shape in self.shapes])
        if flat.any():
            least = min(shape.d for shape in self.shapes)
            remarks += f"; only {least} of {self.n_features} directions vary in "
            remarks += quoted(self.classes[flat])
        if len(self.left_out):
            remarks += f"; too few rows to test {quoted(self.left_out)}"
        return remarks


def normality(X: Any, y: Any, *, max_rows: int = 4000, random_state: Any = 0) -> Normality:
    """Return Mardia's skewness and kurtosis and the Henze–Zirkler test of each class.

    b_1 = (1/n²) Σ_{ij} (z_iᵀz_j)³,  b_2 = (1/n) Σ_i ‖z_i‖⁴

    for whitened rows z. The χ² of the skewness carries Mardia's correction for few rows, the
    kurtosis is standardised by its exact mean and variance; by these approximations up to 7 % of
    small Gaussian classes fall below the 5 % level. These are not functions of moments:
    rows are needed. Weights are not supported: the distributions are those of independent rows
    that count once each.

    Mardia (1970), *Biometrika* 57, 519–530; Mardia (1974), *Sankhyā B* 36, 115–128;
    Henze & Zirkler (1990), *Communications in Statistics: Theory and Methods* 19, 3595–3617.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Rows and their classes.
    max_rows : int, default=4000
        The cost grows as the square of the rows of a class; a class with more is represented
        by a random sample of this size, and the result says so.
    random_state : int or Generator, default=0
        Seed of the sample.

    Returns
    -------
    Normality
        Where a class has constant or dependent columns, it is judged in the directions in which
        it does vary. Classes with fewer than d + 2 rows are left out, named and warned of.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> normality(X, y)
    Gaussian classes: no evidence against them (p = 0.25)
    """
    table = checked_table(X, y)
    rng = np.random.default_rng(random_state)
    seen, classes = sampled(table, max_rows, rng), table.classes
    white = [whitened(np.asarray(seen.x[seen.codes == k], np.float64)) for k in range(len(classes))]
    tested = np.array([z is not None for z in white], bool)
    _say_left_out(classes[~tested], classes)
    shapes = tuple(Shape.of(z) for z in white if z is not None)
    counts = np.bincount(table.codes, minlength=len(classes))[tested]
    return Normality(
        classes[tested],
        shapes,
        np.array([shape.p_values for shape in shapes]),
        tuple(counts.tolist()),
        classes[~tested],
        table.n_features,
    )


def _statistics(shape: Shape) -> list[tuple[str, float, float]]:
    """Return (test, what it measures, what is compared with its null distribution)."""
    hz = shape.henze_zirkler
    values = (shape.skewness, shape.kurtosis, hz)
    return list(zip(TESTS, values, (shape.skewness_chi_square, shape.kurtosis_z, hz), strict=True))


def _say_left_out(left_out: Labels, classes: Labels) -> None:
    if not len(left_out):
        return
    msg = (
        f"no test of normality for classes {quoted(left_out)}: rows that vary in r directions "
        "must be at least r + 2, and vary at all"
    )
    if len(left_out) == len(classes):
        msg += ": use fewer columns, or collect more rows"
        raise InvalidInputError(msg)
    warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
