"""Is each class Gaussian? Mardia's and Henze and Zirkler's tests, from rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import DegenerateDataWarning, InvalidInputError
from suffice.evaluation.diagnostics.nulls import simulated_p
from suffice.evaluation.diagnostics.sampled import class_rows, labelled_rows
from suffice.evaluation.diagnostics.shape import Shape, whitened
from suffice.evaluation.diagnostics.words import (
    LEVEL,
    Row,
    as_frame,
    axes,
    holm,
    listed,
    p_text,
    plain,
)
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from suffice.typing import Floats, Labels

TESTS = ("skewness", "kurtosis", "Henze-Zirkler")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Normality(Tabled):
    """Whether each class is Gaussian; see ``normality``."""

    classes: Labels  # those tested  (K,)
    shapes: tuple[Shape, ...]
    p_values: Floats  # columns as in TESTS  (K, 3)
    n_rows: tuple[int, ...]  # rows of each class, of which shapes[k].n were looked at
    simulations: int
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

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame."""
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw −log₁₀ p of each class and test, with the 5 % level."""
        ax = axes(ax)
        place = np.arange(len(self.classes))
        for t, test in enumerate(TESTS):
            heights = -np.log10(np.maximum(self.adjusted_p_values[:, t], 1e-16))
            ax.bar(place + 0.25 * (t - 1), heights, 0.25, label=test)
        ax.axhline(-np.log10(LEVEL), color="0.4", lw=1, ls="--")
        ax.set_xticks(place, [str(label) for label in self.classes])
        ax.set_ylabel("−log₁₀ p, adjusted")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        against = (self.adjusted_p_values <= LEVEL).any(1)
        if against.any():
            k, t = np.unravel_index(np.argmin(self.p_values), self.p_values.shape)
            verdict = (
                f"Not Gaussian: {listed(self.classes[against])} (clearest: {TESTS[t]} of "
                f"{plain(self.classes[k])!r}, {p_text(self.p_value)})"
            )
        else:
            verdict = f"Gaussian classes: no evidence against them ({p_text(self.p_value)})"
        return verdict + self._remarks()

    def _remarks(self) -> str:
        pairs = zip(self.shapes, self.n_rows, strict=True)
        used = [shape.n for shape, n in pairs if shape.n < n]
        remarks = f"; a sample of {max(used)} rows of larger classes" if used else ""
        flat = np.array([shape.d < self.n_features for shape in self.shapes])
        if flat.any():
            least = min(shape.d for shape in self.shapes)
            remarks += f"; only {least} of {self.n_features} directions vary in "
            remarks += listed(self.classes[flat])
        if len(self.left_out):
            remarks += f"; too few rows to test {listed(self.left_out)}"
        return remarks


def normality(
    X: Any,
    y: Any,
    *,
    max_rows: int = 4000,
    simulations: int = 0,
    random_state: Any = 0,
) -> Normality:
    r"""Return Mardia's skewness and kurtosis and the Henze–Zirkler test of each class.

    .. math::  b_1 = \frac{1}{n^2} \sum_{ij} (z_i^\top z_j)^3, \quad
               b_2 = \frac{1}{n} \sum_i |z_i|^4

    for whitened rows z. The χ² of the skewness carries Mardia's correction for few rows, the
    kurtosis is standardised by its exact mean and variance. These are not functions of moments:
    rows are needed. Weights are not supported: the distributions are those of independent rows
    that count once each.

    Parameters
    ----------
    X, y : array or frame (n, d), labels (n,)
        Rows and their classes.
    max_rows : int, default=4000
        The cost grows as the square of the rows of a class; a class with more is represented
        by a random sample of this size, and the result says so.
    simulations : int, default=0
        Draws of Gaussian rows for p-values that are exact for any n, in place of the χ²,
        normal and log-normal approximations, by which up to 7 % of small Gaussian classes fall
        below the 5 % level.
    random_state : int or Generator, default=0
        Seed of the sample and of the draws.

    Returns
    -------
    Normality
        Where a class has constant or dependent columns, it is judged in the directions in which
        it does vary. Classes with fewer than d + 2 rows are left out, named and warned of.

    References
    ----------
    Mardia (1970), *Biometrika* 57, 519–530; Mardia (1974), *Sankhyā B* 36, 115–128;
    Henze & Zirkler (1990), *Communications in Statistics: Theory and Methods* 19, 3595–3617.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> normality(X, y)
    Gaussian classes: no evidence against them (p = 0.25)
    """
    x, classes, codes, _ = labelled_rows(X, y)
    rng = np.random.default_rng(random_state)
    samples = [class_rows(x, codes, k, max_rows, rng) for k in range(len(classes))]
    white = [whitened(rows) for rows in samples]
    tested = np.array([z is not None for z in white], bool)
    _say_left_out(classes[~tested], classes)
    shapes = tuple(Shape.of(z) for z in white if z is not None)
    p = [_p_values(shape, simulations, rng) for shape in shapes]
    counts = np.bincount(codes, minlength=len(classes))[tested]
    return Normality(
        classes[tested],
        shapes,
        np.array(p),
        tuple(counts.tolist()),
        simulations,
        classes[~tested],
        int(x.shape[1]),
    )


def _statistics(shape: Shape) -> list[tuple[str, float, float]]:
    """Return (test, what it measures, what is compared with its null distribution)."""
    hz = shape.henze_zirkler
    values = (shape.skewness, shape.kurtosis, hz)
    return list(zip(TESTS, values, (shape.skewness_chi_square, shape.kurtosis_z, hz), strict=True))


def _p_values(
    shape: Shape, simulations: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    if not simulations:
        return shape.p_values
    # every Gaussian has the same null distribution: draw the standard one
    draws = (whitened(rng.standard_normal((shape.n, shape.d))) for _ in range(simulations))
    null = np.array([Shape.of(z).extremes() for z in draws if z is not None])
    skewness, kurtosis, hz = (
        simulated_p(value, null[:, t]) for t, value in enumerate(shape.extremes())
    )
    return skewness, kurtosis, hz


def _say_left_out(left_out: Labels, classes: Labels) -> None:
    if not len(left_out):
        return
    msg = (
        f"no test of normality for classes {listed(left_out)}: rows that vary in r directions "
        "must be at least r + 2, and vary at all"
    )
    if len(left_out) == len(classes):
        msg += ": use fewer columns, or collect more rows"
        raise InvalidInputError(msg)
    warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
