"""Do the class means differ, and in how many directions? From moments alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.evaluation.diagnostics.canonical import CanonicalCorrelations
from suffice.evaluation.diagnostics.columns import columns_remark, independent_columns
from suffice.evaluation.diagnostics.regular import is_weighted, present_classes
from suffice.evaluation.diagnostics.roots import Roots
from suffice.evaluation.diagnostics.words import LEVEL, Row, as_frame, axes, p_text
from suffice.model.covariance import FullCovariance
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from suffice.evaluation.diagnostics.nulls import ChiSquareTest
    from suffice.evaluation.diagnostics.roots import Criterion
    from suffice.moments import Moments
    from suffice.typing import Floats


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

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame."""
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of each discriminant direction in the separation."""
        ax = axes(ax)
        place = np.arange(1, len(self.roots) + 1)
        ax.bar(place, self.roots / max(self.roots.sum(), np.finfo(float).tiny))
        ax.set_xticks(place)
        ax.set_xlabel("discriminant direction")
        ax.set_ylabel("share of the separation")
        ax.set_title(f"Wilks' Λ = {self.wilks.value:.3g}, {p_text(self.p_value)}")
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
            f"{p_text(self.p_value)} by Rao's F){remark}"
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
