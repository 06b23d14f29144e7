"""Do the class means differ, and in how many directions? From moments alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.diagnostics.columns import (
    columns_remark,
    independent_columns,
    is_weighted,
    present_classes,
)
from suffice.diagnostics.nulls import ChiSquareTest, FTest
from suffice.drawing import axes
from suffice.model.covariance import FullCovariance
from suffice.text.numbers import p_statement
from suffice.text.tables import Row, Tabled
from suffice.validation.significance import LEVEL

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.text.tables import Row
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """One way to sum up the roots, with its F test."""

    name: str
    value: float
    f: FTest
    kind: str  # "exact", "approximate", or "bound": p is at least the one given

    def row(self) -> Row:
        """Return name, value, F, degrees of freedom and p-value."""
        test = self.f.row()
        head = {"criterion": self.name, "value": self.value, "f": test.pop("statistic")}
        return head | test | {"kind": self.kind}


@dataclass(frozen=True, slots=True, eq=False)
class Roots:
    """The roots of W⁻¹B and the sizes that their distribution depends on."""

    values: Floats  # λ, falling  (s,)
    d: int
    q: int
    v: float

    @property
    def s(self) -> int:
        """Number of roots."""
        return min(self.d, self.q)

    @property
    def m(self) -> float:
        """(|d − q| − 1) / 2."""
        return (abs(self.d - self.q) - 1) / 2

    @property
    def n(self) -> float:
        """(v − d − 1) / 2."""
        return (self.v - self.d - 1) / 2

    @property
    def log_lambda(self) -> float:
        """Log of Wilks' Λ = Π 1/(1 + λ)."""
        return float(-np.log1p(self.values).sum())

    def without_first(self, j: int) -> Roots:
        """Return what is left once the first j canonical variables are taken out."""
        return Roots(self.values[j:], self.d - j, self.q - j, self.v)

    def wilks(self) -> Criterion:
        """Return Wilks' Λ with Rao's F, exact for at most 2 features or 3 classes."""
        d, q = self.d, self.q
        # t = √((d²q² − 4) / (d² + q² − 5)), or 1
        t = np.sqrt((d**2 * q**2 - 4) / (d**2 + q**2 - 5)) if d**2 + q**2 > 5 else 1.0
        # df₂ = (v − (d − q + 1)/2) t − (dq − 2)/2
        df2 = (self.v - (d - q + 1) / 2) * t - (d * q - 2) / 2
        # F = (Λ^(−1/t) − 1) df₂ / (dq)
        f = np.expm1(-self.log_lambda / t) * df2 / (d * q)
        kind = "exact" if self.s <= 2 else "approximate"
        test = FTest(float(f), d * q, float(df2))
        return Criterion("Wilks' lambda", float(np.exp(self.log_lambda)), test, kind)

    def bartlett(self) -> ChiSquareTest:
        """Return Bartlett's χ² of Wilks' Λ."""
        # χ² = −(v − (d − q + 1)/2) log Λ
        scale = self.v - (self.d - self.q + 1) / 2
        return ChiSquareTest(-scale * self.log_lambda, self.d * self.q)

    def pillai(self) -> Criterion:
        """Return Pillai's trace V = Σ λ/(1 + λ)."""
        s, a, b = self.s, 2 * self.m + self.s + 1, 2 * self.n + self.s + 1
        value = float((self.values / (1 + self.values)).sum())
        # F = b V / (a (s − V)),  s − V = Σ 1/(1 + λ)
        rest = float((1 / (1 + self.values)).sum())
        test = FTest(b * value / (a * rest), s * a, s * b)
        return Criterion("Pillai's trace", value, test, self._kind)

    def hotelling_lawley(self) -> Criterion:
        """Return the Hotelling–Lawley trace U = Σ λ, by McKeon's F where n > 0."""
        value = float(self.values.sum())
        test = self._mckeon(value) if self.n > 0 else self._pillai_f(value)
        return Criterion("Hotelling-Lawley trace", value, test, self._kind)

    def roy(self) -> Criterion:
        """Return Roy's largest root, whose F is an upper bound unless it is the only root."""
        largest = float(self.values[0])
        r = max(self.d, self.q)
        # F = λ₁ (v − r + q) / r
        df2 = self.v - r + self.q
        test = FTest(largest * df2 / r, r, df2)
        kind = "exact" if self.s == 1 else "bound"
        return Criterion("Roy's largest root", largest, test, kind)

    @property
    def _kind(self) -> str:
        return "exact" if self.s == 1 else "approximate"

    def _mckeon(self, u: float) -> FTest:
        d, q, n = self.d, self.q, self.n
        # b = (d + 2n)(q + 2n) / (2 (2n + 1)(n − 1)),  g = (dq + 2)/(b − 1)
        top, bottom = (d + 2 * n) * (q + 2 * n), 2 * (2 * n + 1) * (n - 1)
        g = (d * q + 2) * bottom / (top - bottom)
        # F = U (4 + g) / (c dq),  c = (2 + g) / (2n)
        c = (2 + g) / (2 * n)
        return FTest(u * (4 + g) / (c * d * q), d * q, 4 + g)

    def _pillai_f(self, u: float) -> FTest:
        s, a, b = self.s, 2 * self.m + self.s + 1, 2 * (self.s * self.n + 1)
        # F = 2 (s n + 1) U / (s² (2m + s + 1))
        return FTest(b * u / (s**2 * a), s * a, b)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CanonicalCorrelations(Tabled):
    """Correlations ρ of discriminant coordinates with class membership, falling.

    Test j asks whether ρ_j and all smaller ones are zero.
    """

    roots: Floats  # λ of W⁻¹B  (s,)
    correlations: Floats  # ρ = √(λ/(1 + λ))  (s,)
    lambdas: Floats  # Λ_j = Π_{i ≥ j} (1 − ρ_i²)  (s,)
    f: tuple[FTest, ...]  # Rao's, of each Λ_j
    chi_square: tuple[ChiSquareTest, ...]  # Bartlett's, of each Λ_j

    @classmethod
    def of(cls, roots: Roots) -> CanonicalCorrelations:
        """Return the correlations and tests that the roots of W⁻¹B imply."""
        rest = [roots.without_first(j) for j in range(roots.s)]
        rho = np.sqrt(roots.values / (1 + roots.values))
        lambdas = np.exp([part.log_lambda for part in rest])
        return cls(
            roots.values,
            rho,
            lambdas,
            tuple(part.wilks().f for part in rest),
            tuple(part.bartlett() for part in rest),
        )

    @property
    def p_values(self) -> Floats:
        """Return the p-value of each sequential test by Rao's F, shape (s,)."""
        return np.array([test.p_value for test in self.f])

    @property
    def n_dimensions(self) -> int:
        """Return how many tests in a row, from the first, are below the 5 % level."""
        return int(np.cumprod(self.p_values <= LEVEL).sum())

    def rows(self) -> list[Row]:
        """Return a row for each correlation."""
        return [
            {
                "dimension": j + 1,
                "correlation": float(self.correlations[j]),
                "root": float(self.roots[j]),
                "wilks_lambda": float(self.lambdas[j]),
                "f": f.statistic,
                "df1": f.df1,
                "df2": f.df2,
                "p_value": f.p_value,
                "chi_square": chi.statistic,
                "chi_square_p_value": chi.p_value,
            }
            for j, (f, chi) in enumerate(zip(self.f, self.chi_square, strict=True))
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the correlations, those beyond chance filled."""
        ax = axes(ax)
        place = np.arange(1, len(self.correlations) + 1)
        colors = ["C0" if j < self.n_dimensions else "0.8" for j in range(len(place))]
        ax.bar(place, self.correlations, color=colors)
        ax.set_xticks(place)
        ax.set_ylim(0, 1)
        ax.set_xlabel("discriminant direction")
        ax.set_ylabel("canonical correlation")
        return ax

    def __repr__(self) -> str:
        values = ", ".join(f"{rho:.3g}" for rho in self.correlations[:4])
        more = ", …" if len(self.correlations) > 4 else ""
        return (
            f"{self.n_dimensions} of {len(self.correlations)} canonical correlations "
            f"beyond chance ({values}{more})"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassSeparation(Tabled):
    """How far apart the class means lie; see ``class_separation``."""

    roots: Floats  # eigenvalues of W⁻¹B, falling  (s,)
    wilks: Criterion
    pillai: Criterion
    hotelling_lawley: Criterion
    roy: Criterion
    bartlett: ChiSquareTest  # of Wilks' Λ
    canonical: CanonicalCorrelations
    n_classes: int
    left_out: tuple[str, ...]  # columns without variance of their own within classes
    weighted: bool

    @property
    def p_value(self) -> float:
        """Return that of Wilks' Λ by Rao's F."""
        return self.wilks.f.p_value

    def rows(self) -> list[Row]:
        """Return a row for each of the four criteria."""
        four = (self.wilks, self.pillai, self.hotelling_lawley, self.roy)
        return [criterion.row() for criterion in four]

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of each discriminant direction in the separation."""
        ax = axes(ax)
        place = np.arange(1, len(self.roots) + 1)
        ax.bar(place, self.roots / max(self.roots.sum(), np.finfo(float).tiny))
        ax.set_xticks(place)
        ax.set_xlabel("discriminant direction")
        ax.set_ylabel("share of the separation")
        ax.set_title(f"Wilks' Λ = {self.wilks.value:.3g}, {p_statement(self.p_value)}")
        return ax

    def __repr__(self) -> str:
        differ = self.p_value <= LEVEL
        verdict = "Class means differ" if differ else "Class means: no evidence that they differ"
        n = self.canonical.n_dimensions
        where = f" in {n} direction{'' if n == 1 else 's'}" if differ and n else ""
        remark = columns_remark(self.left_out)
        remark += "; weights taken as counts" if self.weighted else ""
        return (
            f"{verdict}{where} (Wilks' lambda = {self.wilks.value:.4g}, "
            f"{p_statement(self.p_value)} by Rao's F){remark}"
        )


def class_separation(moments: Moments) -> ClassSeparation:
    r"""Return the multivariate analysis of variance of K class means.

    With W the pooled within-class scatter and B the between-class scatter, everything is a
    function of the roots :math:`\lambda_i` of :math:`W^{-1}B`: Wilks' Λ with Rao's F and
    Bartlett's χ², Pillai's and the Hotelling–Lawley trace (by McKeon's F, as SAS; R uses a
    cruder one), Roy's largest root, and the canonical correlations with their sequential tests.

    Parameters
    ----------
    moments : Moments
        Sums with at least a pooled matrix. Weights are taken as counts: a row of weight 2
        stands for two rows, so multiplying all weights changes the answer.

    Returns
    -------
    ClassSeparation
        Columns that are constant within classes, or combinations of others, are left out, named
        and warned of.

    References
    ----------
    Rencher & Christensen (2012), *Methods of Multivariate Analysis*, chapters 6 and 8;
    McKeon (1974), *Biometrika* 61, 381–383.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> result = class_separation(Moments.of(*load_iris(return_X_y=True)))
    >>> result
    Class means differ in 2 directions (Wilks' lambda = 0.02344, p < 0.0001 by Rao's F)
    >>> result.canonical.correlations.round(4)
    array([0.9848, 0.4712])
    """
    present = present_classes(moments)
    q, v = len(present) - 1, moments.total_weight - len(present)
    used, left_out = independent_columns(moments)
    roots = Roots(_roots(used, v), used.n_features, q, v)
    return ClassSeparation(
        roots.values,
        roots.wilks(),
        roots.pillai(),
        roots.hotelling_lawley(),
        roots.roy(),
        roots.bartlett(),
        CanonicalCorrelations.of(roots),
        len(present),
        left_out,
        is_weighted(moments),
    )


def _roots(moments: Moments, v: float) -> Floats:
    """Return the eigenvalues of W⁻¹B as squares of singular values: none is negative."""
    sigma = FullCovariance.of(moments.pooled_scatter / v)
    present = moments.weights > 0
    # rows √(w_k / v) L⁻¹ (μ_k − μ),  W/v = L Lᵀ
    offsets = np.sqrt(moments.weights[present] / v)[:, None] * moments.centred_means[present]
    values = np.linalg.svd(sigma.whiten(offsets), compute_uv=False)
    roots = np.square(values[: min(moments.n_features, int(present.sum()) - 1)])
    return np.asarray(roots, np.float64)
