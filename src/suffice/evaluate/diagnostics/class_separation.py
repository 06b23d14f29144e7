"""Test of whether class means differ: Wilks' Λ and canonical correlations from moments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import fdtrc

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.linalg import dependent_columns
from suffice.core.model.covariance import FullCovariance
from suffice.core.moments import Moments
from suffice.core.text.lists import noun_for, quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row
from suffice.errors import InvalidInputError
from suffice.evaluate.diagnostics.diagnostic import (
    NOT_COUNTS,
    Diagnostic,
    can_count_rows,
    column_remarks,
    is_weighted,
    usable_columns,
)
from suffice.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassSeparation(Diagnostic):
    """The test of class means, as ``class_separation`` describes it."""

    roots: Floats  # eigenvalues λ of W⁻¹B, descending  (s,)
    statistic: float  # Rao's F
    df1: int
    df2: float
    # columns that are constant within classes, or combinations of other columns
    left_out: tuple[str, ...]
    weighted: bool
    # Whether cells are missing. There is then no test, because the uncertainty of Λ is unknown.
    has_missing: bool = False
    counts_rows: bool = True  # whether weights can be row counts; if not, there is no test

    @property
    def correlations(self) -> Floats:
        """Canonical correlations ρ = √(λ/(1 + λ)) with class membership, descending, (s,)."""
        return np.sqrt(self.roots / (1 + self.roots))

    @property
    def wilks_lambda(self) -> float:
        """Wilks' Λ = |W| / |W + B| = Π 1/(1 + λ)."""
        return float(np.exp(-np.log1p(self.roots).sum()))

    @property
    def p_value(self) -> float:
        """P(F ≥ statistic); NaN for missing cells, weights that are not counts, or too few rows."""
        if self.has_missing or not self.counts_rows:
            return np.nan
        return float(fdtrc(self.df1, self.df2, max(self.statistic, 0.0)))

    def rows(self) -> list[Row]:
        """Return one mapping with Wilks' Λ, the F test, and the largest canonical correlation."""
        row = {
            "wilks_lambda": self.wilks_lambda,
            "f": self.statistic,
            "df1": self.df1,
            "df2": self.df2,
            "p_value": self.p_value,
            "correlation": float(self.correlations.max(initial=0.0)),
        }
        return [row]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw on ``ax``, or on new axes, and return the axes."""
        from suffice.present.plots.results import class_separation_figure

        return class_separation_figure(self, ax)

    def __repr__(self) -> str:
        remarks = column_remarks(self.left_out, weighted=self.weighted)
        if self.has_missing:
            verdict = (
                f"Class means: not tested, since cells are missing (Wilks' lambda = "
                f"{self.wilks_lambda:.4g}); drop the rows or columns with missing cells"
            )
            return "; ".join([verdict, *remarks])
        if not self.counts_rows:
            verdict = f"Class means {NOT_COUNTS} (Wilks' lambda = {self.wilks_lambda:.4g})"
            return "; ".join([verdict, *remarks])
        verdict = "No evidence that the class means differ"
        if self.p_value <= LEVEL:
            verdict = "Class means differ"
        test = (
            f"Wilks' lambda = {self.wilks_lambda:.4g}, {p_statement(self.p_value)} by Rao's F"
        )
        return "; ".join([f"{verdict} ({test})", *remarks])


def class_separation(moments: Moments) -> ClassSeparation:
    """Return the multivariate analysis of variance of K class means.

    Let W be the pooled within-class scatter and B the between-class scatter. The result depends
    only on the eigenvalues λ_i of W⁻¹B, called roots. Rao's F tests Wilks' Λ, and is exact for at
    most 2 features or 3 classes. Rencher & Christensen (2012), *Methods of Multivariate Analysis*,
    chapters 6 and 8.

    Parameters
    ----------
    moments : Moments
        Sums with a pooled scatter matrix, or one for each class. Weights are taken as row counts.
        Columns that are constant within classes, or combinations of other columns, are left out,
        and a warning names them. If cells are missing, the p-value is NaN, because it would be too
        small.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> result = class_separation(Moments.of(*load_iris(return_X_y=True)))
    >>> result
    Class means differ (Wilks' lambda = 0.02344, p < 0.0001 by Rao's F)
    >>> result.correlations.round(4)
    array([0.9848, 0.4712])
    """
    used, left_out = usable_columns(moments)
    d = used.n_features
    q = int((moments.weights > 0).sum()) - 1
    v = moments.total_weight - q - 1
    if left_out and _total_rank(moments) > d:
        raise InvalidInputError(
            f"{noun_for(len(left_out), 'column')} {quoted(left_out)}, alone or combined with "
            f"others, {'differs' if len(left_out) == 1 else 'differ'} between classes but not "
            "within them. No test applies to classes that are separated without error: drop such "
            "columns (moments.select)"
        )
    roots = _roots(used, v)
    # t = √((d²q² − 4) / (d² + q² − 5)), or 1
    t = 1.0
    if d**2 + q**2 > 5:
        t = float(np.sqrt((d**2 * q**2 - 4) / (d**2 + q**2 - 5)))
    # df₂ = (v − (d − q + 1)/2) t − (dq − 2)/2
    df2 = (v - (d - q + 1) / 2) * t - (d * q - 2) / 2
    # F = (Λ^(−1/t) − 1) df₂ / (dq)
    f = float(np.expm1(np.log1p(roots).sum() / t)) * df2 / (d * q)
    return ClassSeparation(
        roots=roots,
        statistic=f,
        df1=d * q,
        df2=df2,
        left_out=left_out,
        weighted=is_weighted(moments),
        has_missing=moments.patterns is not None,
        counts_rows=can_count_rows(moments),
    )


def _total_rank(moments: Moments) -> int:
    """Return the rank of the scatter of all rows about their common mean."""
    varying = np.flatnonzero(moments.total_variances)
    total = moments.pooled_scatter + moments.between_scatter
    dependent = dependent_columns(total[np.ix_(varying, varying)])
    return len(varying) - len(dependent)


def _roots(moments: Moments, v: float) -> Floats:
    """Return the eigenvalues of W⁻¹B, computed as squares so that none is negative."""
    sigma = FullCovariance.of(moments.pooled_scatter / v)
    present = moments.weights > 0
    # row k is √(w_k / v) L⁻¹ (μ_k − μ), with W/v = L Lᵀ
    offsets = np.sqrt(moments.weights[present] / v)[:, None] * moments.centred_means[present]
    values = np.linalg.svd(sigma.whiten(offsets), compute_uv=False)
    n_roots = min(moments.n_features, int(present.sum()) - 1)
    return np.asarray(np.square(values[:n_roots]))
