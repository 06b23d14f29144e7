"""Do the class means differ? Wilks' Λ, from moments alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import fdtrc

from suffice.diagnostics.diagnostic import Diagnostic, columns_remark, is_weighted, usable_columns
from suffice.errors import InvalidInputError
from suffice.linalg import dependent_columns
from suffice.model.covariance import FullCovariance
from suffice.moments import Moments
from suffice.text.lists import quoted
from suffice.text.numbers import p_statement
from suffice.text.tables import Row
from suffice.typing import Floats
from suffice.validation.significance import LEVEL


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassSeparation(Diagnostic):
    """How far apart the class means lie; see ``class_separation``."""

    figure: ClassVar[str] = "class separation"
    roots: Floats  # eigenvalues λ of W⁻¹B, falling  (s,)
    statistic: float  # Rao's F
    df1: int
    df2: float
    left_out: tuple[str, ...]  # columns without variance of their own within classes
    weighted: bool

    @property
    def correlations(self) -> Floats:
        """Canonical correlations ρ = √(λ/(1 + λ)) with class membership, falling, (s,)."""
        return np.sqrt(self.roots / (1 + self.roots))

    @property
    def wilks_lambda(self) -> float:
        """Wilks' Λ = |W| / |W + B| = Π 1/(1 + λ)."""
        return float(np.exp(-np.log1p(self.roots).sum()))

    @property
    def p_value(self) -> float:
        """Return P(F ≥ statistic); NaN where no such distribution exists."""
        return float(fdtrc(self.df1, self.df2, max(self.statistic, 0.0)))

    def rows(self) -> list[Row]:
        """Return one row: Wilks' Λ, its F, and the largest canonical correlation."""
        tested = {"wilks_lambda": self.wilks_lambda, "f": self.statistic, "df1": self.df1}
        tested |= {"df2": self.df2, "p_value": self.p_value}
        return [tested | {"correlation": float(self.correlations.max(initial=0.0))}]

    def __repr__(self) -> str:
        differ = self.p_value <= LEVEL
        verdict = "Class means differ" if differ else "Class means: no evidence that they differ"
        remark = columns_remark(self.left_out, weighted=self.weighted)
        return (
            f"{verdict} (Wilks' lambda = {self.wilks_lambda:.4g}, "
            f"{p_statement(self.p_value)} by Rao's F){remark}"
        )


def class_separation(moments: Moments) -> ClassSeparation:
    """Return the multivariate analysis of variance of K class means.

    With W the pooled within-class scatter and B the between-class scatter, everything is a
    function of the roots λ_i of W⁻¹B: Wilks' Λ, tested by Rao's F (exact for at most 2 features
    or 3 classes), and the canonical correlations.

    Rencher & Christensen (2012), *Methods of Multivariate Analysis*, chapters 6 and 8.

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
    d, q = used.n_features, int((moments.weights > 0).sum()) - 1
    v = moments.total_weight - q - 1
    if left_out and _rank_of_all_rows(moments) > d:
        raise InvalidInputError(
            f"columns {quoted(left_out)} differ between classes but not within them, alone or with "
            "others: they tell classes apart without error; drop them (moments.select)"
        )
    roots = _roots(used, v)
    # t = √((d²q² − 4) / (d² + q² − 5)), or 1
    t = float(np.sqrt((d**2 * q**2 - 4) / (d**2 + q**2 - 5))) if d**2 + q**2 > 5 else 1.0
    # df₂ = (v − (d − q + 1)/2) t − (dq − 2)/2
    df2 = (v - (d - q + 1) / 2) * t - (d * q - 2) / 2
    # F = (Λ^(−1/t) − 1) df₂ / (dq)
    f = float(np.expm1(np.log1p(roots).sum() / t)) * df2 / (d * q)
    return ClassSeparation(roots, f, d * q, df2, left_out, is_weighted(moments))


def _rank_of_all_rows(moments: Moments) -> int:
    varying = np.flatnonzero(moments.total_variances)
    total = (moments.pooled_scatter + moments.between_scatter)[np.ix_(varying, varying)]
    return len(varying) - len(dependent_columns(total))


def _roots(moments: Moments, v: float) -> Floats:
    """Return the eigenvalues of W⁻¹B as squares of singular values: none is negative."""
    sigma = FullCovariance.of(moments.pooled_scatter / v)
    present = moments.weights > 0
    # rows √(w_k / v) L⁻¹ (μ_k − μ),  W/v = L Lᵀ
    offsets = np.sqrt(moments.weights[present] / v)[:, None] * moments.centred_means[present]
    values = np.linalg.svd(sigma.whiten(offsets), compute_uv=False)
    roots: Floats = np.square(values[: min(moments.n_features, int(present.sum()) - 1)])
    return roots
