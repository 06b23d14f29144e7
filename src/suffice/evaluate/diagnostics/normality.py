"""Is each class Gaussian? Henze and Zirkler's test, from rows."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import qr
from scipy.special import ndtr

from suffice.core.decision.predictions import LEVEL, holm
from suffice.core.linalg import EPS, rank_tolerance
from suffice.core.text.lists import quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row
from suffice.errors import DegenerateDataWarning, InvalidInputError
from suffice.evaluate.diagnostics.diagnostic import Diagnostic, finite_table, sampled
from suffice.typing import Codes, Floats, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK = 256  # rows of products held at once


def whitened(x: Floats) -> Floats | None:
    """Return rows z, (n, r), with zᵢ·zⱼ = (xᵢ−x̄)ᵀS⁺(xⱼ−x̄), S of rank r; None where n < r + 2."""
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


def henze_zirkler(z: Floats) -> tuple[float, float]:
    """Return the statistic of whitened rows (n, d), and its p-value."""
    n, d = z.shape
    r = np.square(z).sum(1)
    # b = β² = ½ (n (2d+1) / 4)^{2/(d+4)}
    b = (n * (2 * d + 1) / 4) ** (2 / (d + 4)) / 2
    # HZ = Σᵢⱼ exp(−β²|zᵢ−zⱼ|²/2) / n − 2 (1+β²)^{−d/2} Σᵢ exp(−β²|zᵢ|²/(2(1+β²)))
    #      + n (1+2β²)^{−d/2}
    single = np.exp(-b * r / (2 * (1 + b))).sum()
    hz = _kernels(z, r, b) / n - 2 * (1 + b) ** (-d / 2) * single + n * (1 + 2 * b) ** (-d / 2)
    # log-normal with the exact mean and variance
    mean, variance = _null_moments(b, d)
    log_variance = np.log1p(variance / mean**2)
    excess = np.log(max(hz, np.finfo(float).tiny)) - (np.log(mean) - log_variance / 2)
    return float(hz), float(ndtr(-excess / np.sqrt(log_variance)))


def _kernels(z: Floats, r: Floats, b: float) -> float:
    """Return Σᵢⱼ exp(−β² |zᵢ − zⱼ|²/2), a block of rows at a time."""
    total = 0.0
    for lo in range(0, len(z), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        squares = np.maximum(r[rows, None] + r[lo:] - 2 * (z[rows] @ z[lo:].T), 0.0)
        # pairs with later blocks stand for two
        twice = np.where(np.arange(lo, len(z)) < lo + _BLOCK, 1.0, 2.0)
        total += float(np.exp(-b / 2 * squares).sum(0) @ twice)
    return total


def _null_moments(b: float, d: int) -> tuple[float, float]:
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Normality(Diagnostic):
    """Whether each class is Gaussian; see ``normality``."""

    classes: Labels  # those tested  (K,)
    statistics: Floats  # Henze and Zirkler's  (K,)
    p_values: Floats  # (K,)
    directions: Codes  # in which each class varies  (K,)
    n_used: Codes  # rows of each class looked at  (K,)
    n_rows: Codes  # rows of each class given  (K,)
    left_out: Labels  # classes with too few rows
    n_features: int

    @property
    def adjusted_p_values(self) -> Floats:
        """Return Holm's p-values, right for all classes at once, shape (K,)."""
        return holm(self.p_values)

    @property
    def p_value(self) -> float:
        """Return the smallest adjusted p-value."""
        return float(self.adjusted_p_values.min())

    def rows(self) -> list[Row]:
        """Return a row for each class."""
        columns = {
            "class": self.classes,
            "henze_zirkler": self.statistics,
            "p_value": self.p_values,
            "adjusted_p_value": self.adjusted_p_values,
            "directions": self.directions,
            "n_used": self.n_used,
            "n_rows": self.n_rows,
        }
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw into ``ax``, or new axes, and return them."""
        from suffice.present.plots.results import normality_figure

        return normality_figure(self, ax)

    def __repr__(self) -> str:
        against, said = self.adjusted_p_values <= LEVEL, p_statement(self.p_value)
        verdict = "Gaussian classes: no evidence against them"
        if against.any():
            verdict = f"Not Gaussian: {quoted(self.classes[against])}"
        used = self.n_used[self.n_used < self.n_rows]
        remarks = f"; a sample of {max(used)} rows of larger classes" if len(used) else ""
        flat = self.directions < self.n_features
        if flat.any():
            ends = sorted({self.directions[flat].min(), self.directions[flat].max()})
            few = f"{' to '.join(map(str, ends))} of {self.n_features} directions"
            remarks += f"; only {few} vary in {quoted(self.classes[flat])}"
        if len(self.left_out):
            remarks += f"; too few rows to test {quoted(self.left_out)}"
        return f"{verdict} ({said}){remarks}"


def normality(X: Any, y: Any, *, max_rows: int = 4000, random_state: Any = 0) -> Normality:
    """Return the Henze–Zirkler test of each class: whether it is Gaussian.

    The statistic is a distance between the characteristic functions of the whitened rows and of
    a standard normal, so that no departure escapes it as rows grow; affine maps change nothing.
    Henze & Zirkler (1990), *Communications in Statistics: Theory and Methods* 19, 3595–3617.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Rows that count once each, and their classes. A class with constant or dependent columns is
        judged in the directions in which it varies; those with too few rows are left out, named
        and warned of.
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
    seen, classes = (
        sampled(table, max_rows, np.random.default_rng(random_state)),
        table.classes,
    )
    white = [
        whitened(np.asarray(seen.x[seen.codes == k], np.float64)) for k in range(len(classes))
    ]
    rows = [z for z in white if z is not None]
    tested = np.array([z is not None for z in white], bool)
    if not tested.all():
        why = "rows that vary in r directions must be at least r + 2, and vary at all"
        msg = f"no test of normality for classes {quoted(classes[~tested])}: {why}"
        if not tested.any():
            raise InvalidInputError(f"{msg}: use fewer columns, or collect more rows")
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    statistics, p_values = np.array([henze_zirkler(z) for z in rows]).T
    n_used, directions = np.array([z.shape for z in rows]).T
    found = (classes[tested], statistics, p_values, directions, n_used)
    n_rows = np.bincount(table.codes, minlength=len(classes))[tested]
    return Normality(*found, n_rows, classes[~tested], table.n_features)
