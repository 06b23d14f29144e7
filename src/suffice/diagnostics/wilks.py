"""Do the class means differ, and in how many directions? Wilks' Λ, from moments alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice.diagnostics.diagnostic import Diagnostic, FTest
from suffice.diagnostics.usable_columns import (
    columns_remark,
    is_weighted,
    present_classes,
    usable_columns,
)
from suffice.errors import InvalidInputError
from suffice.linalg import dependent_columns
from suffice.model.covariance import FullCovariance
from suffice.moments import Moments
from suffice.text.lists import quoted
from suffice.text.numbers import p_statement
from suffice.text.tables import Row
from suffice.typing import Floats
from suffice.validation.significance import LEVEL


def wilks_test(log_lambda: float, d: int, q: int, v: float) -> FTest:
    """Return Rao's F of Wilks' Λ for d features, q + 1 classes and v degrees within them.

    Exact for at most 2 features or 3 classes.
    """
    # t = √((d²q² − 4) / (d² + q² − 5)), or 1
    t = np.sqrt((d**2 * q**2 - 4) / (d**2 + q**2 - 5)) if d**2 + q**2 > 5 else 1.0
    # df₂ = (v − (d − q + 1)/2) t − (dq − 2)/2
    df2 = (v - (d - q + 1) / 2) * t - (d * q - 2) / 2
    # F = (Λ^(−1/t) − 1) df₂ / (dq)
    f = np.expm1(-log_lambda / t) * df2 / (d * q)
    return FTest(float(f), d * q, float(df2))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassSeparation(Diagnostic):
    """How far apart the class means lie; see ``class_separation``.

    The first test is that of all directions together; test j asks whether ρ_j and all smaller
    correlations are zero.
    """

    figure: ClassVar[str] = "class separation"
    roots: Floats  # eigenvalues λ of W⁻¹B, falling  (s,)
    lambdas: Floats  # Wilks' Λ_j = Π_{i ≥ j} 1/(1 + λ_i)  (s,)
    tests: tuple[FTest, ...]  # Rao's F of each Λ_j  (s,)
    n_classes: int
    left_out: tuple[str, ...]  # columns without variance of their own within classes
    weighted: bool

    @property
    def correlations(self) -> Floats:
        """Canonical correlations ρ = √(λ/(1 + λ)) with class membership, falling, (s,)."""
        return np.sqrt(self.roots / (1 + self.roots))

    @property
    def wilks_lambda(self) -> float:
        """Wilks' Λ = |W| / |W + B| of all directions."""
        return float(self.lambdas[0])

    @property
    def p_values(self) -> Floats:
        """Return the p-value of each sequential test, shape (s,)."""
        return np.array([test.p_value for test in self.tests])

    @property
    def p_value(self) -> float:
        """Return that of Wilks' Λ by Rao's F."""
        return self.tests[0].p_value

    @property
    def n_dimensions(self) -> int:
        """Return how many tests in a row, from the first, are below the 5 % level."""
        return int(np.cumprod(self.p_values <= LEVEL).sum())

    def rows(self) -> list[Row]:
        """Return a row for each discriminant direction; the first tests all of them."""
        return [
            {
                "dimension": j + 1,
                "correlation": float(self.correlations[j]),
                "root": float(self.roots[j]),
                "wilks_lambda": float(self.lambdas[j]),
                "f": test.statistic,
                "df1": test.df1,
                "df2": test.df2,
                "p_value": test.p_value,
            }
            for j, test in enumerate(self.tests)
        ]

    def __repr__(self) -> str:
        differ = self.p_value <= LEVEL
        verdict = "Class means differ" if differ else "Class means: no evidence that they differ"
        n = self.n_dimensions
        where = f" in {n} direction{'' if n == 1 else 's'}" if n else ""
        remark = columns_remark(self.left_out, weighted=self.weighted)
        return (
            f"{verdict}{where} (Wilks' lambda = {self.wilks_lambda:.4g}, "
            f"{p_statement(self.p_value)} by Rao's F){remark}"
        )


def class_separation(moments: Moments) -> ClassSeparation:
    """Return the multivariate analysis of variance of K class means.

    With W the pooled within-class scatter and B the between-class scatter, everything is a
    function of the roots λ_i of W⁻¹B: Wilks' Λ with Rao's F, and the
    canonical correlations with their sequential tests.

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
    Class means differ in 2 directions (Wilks' lambda = 0.02344, p < 0.0001 by Rao's F)
    >>> result.correlations.round(4)
    array([0.9848, 0.4712])
    """
    present = present_classes(moments)
    q, v = len(present) - 1, moments.total_weight - len(present)
    used, left_out = usable_columns(moments)
    d = used.n_features
    if left_out and _rank_of_all_rows(moments) > d:
        raise InvalidInputError(
            f"columns {quoted(left_out)} differ between classes but not within them, alone or with "
            "others: they tell classes apart without error; drop them (moments.select)"
        )
    roots = _roots(used, v)
    # what is left of Λ, d and q once the first j canonical variables are taken out
    log_lambdas = -np.cumsum(np.log1p(roots)[::-1])[::-1]
    tests = (wilks_test(float(part), d - j, q - j, v) for j, part in enumerate(log_lambdas))
    lambdas, k = np.exp(log_lambdas), len(present)
    return ClassSeparation(roots, lambdas, tuple(tests), k, left_out, is_weighted(moments))


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
