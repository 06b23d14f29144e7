"""Do the classes differ, in means, in covariances? Wilks' Λ and Box's M, from moments alone."""

import warnings
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc, polygamma

from suffice.core.decision.predictions import LEVEL
from suffice.core.linalg import dependent_columns, resolved, scaled_cholesky
from suffice.core.model.covariance import FullCovariance
from suffice.core.moments import Moments
from suffice.core.text.lists import python_scalar, quoted
from suffice.core.text.numbers import number, p_statement
from suffice.core.text.tables import Row
from suffice.errors import DegenerateDataWarning, InvalidInputError
from suffice.evaluate.diagnostics.diagnostic import (
    Diagnostic,
    columns_remark,
    is_weighted,
    usable_columns,
)
from suffice.typing import Codes, Floats, Labels

MANY = 1e7  # degrees of freedom beyond which χ² is exact and differences of cumulants are not


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
        verdict = (
            "Class means differ" if differ else "Class means: no evidence that they differ"
        )
        account = (
            f"Wilks' lambda = {self.wilks_lambda:.4g}, {p_statement(self.p_value)} by Rao's F"
        )
        return f"{verdict} ({account}){columns_remark(self.left_out, weighted=self.weighted)}"


def class_separation(moments: Moments) -> ClassSeparation:
    """Return the multivariate analysis of variance of K class means.

    With W the pooled within-class scatter and B the between-class scatter, everything is a
    function of the roots λ_i of W⁻¹B: Wilks' Λ, tested by Rao's F (exact for at most 2 features
    or 3 classes), and the canonical correlations. Rencher & Christensen (2012), *Methods of
    Multivariate Analysis*, chapters 6 and 8.

    Parameters
    ----------
    moments : Moments
        Sums with at least a pooled matrix. Weights are taken as counts. Columns that are constant
        within classes, or combinations of others, are left out, named and warned of.

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
        found = "differ between classes but not within them, alone or with others"
        cure = "they tell classes apart without error; drop them (moments.select)"
        raise InvalidInputError(f"columns {quoted(left_out)} {found}: {cure}")
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
    return np.asarray(np.square(values[: min(moments.n_features, int(present.sum()) - 1)]))


class ChiSquareTest(NamedTuple):
    """A statistic that is χ² with ``df`` degrees of freedom under the null."""

    statistic: float
    df: float

    @property
    def p_value(self) -> float:
        return float(chdtrc(self.df, max(self.statistic, 0.0)))


def chi_square_test(m: float, v: Floats, d: int) -> ChiSquareTest:
    """Return (1 − c₁) M against χ², NaN where classes are too small for it."""
    k = len(v)
    # c₁ = (Σ 1/v_k − 1/v) (2d² + 3d − 1) / (6 (d+1)(K−1))
    c1 = ((1 / v).sum() - 1 / v.sum()) * (2 * d**2 + 3 * d - 1) / (6 * (d + 1) * (k - 1))
    return ChiSquareTest(float((1 - c1) * m) if c1 < 1 else np.nan, d * (d + 1) * (k - 1) / 2)


def cumulant_test(m: float, v: Floats, d: int) -> ChiSquareTest:
    """Return M, shifted and scaled, against the χ² that has its first three cumulants."""
    if v.min() > MANY:
        return chi_square_test(m, v, d)
    k1, k2, k3 = (_cumulant(v, d, r) for r in (1, 2, 3))
    # M ≈ a + b χ²_ν:  κ₁ = a + bν,  κ₂ = 2b²ν,  κ₃ = 8b³ν
    b, nu = k3 / (4 * k2), 8 * k2**3 / k3**2
    return ChiSquareTest((m - (k1 - b * nu)) / b, nu)


def _cumulant(v: Floats, d: int, order: int) -> float:
    """Return a cumulant of M where the covariances are equal."""
    # M is independent of W = Σ W_k, so that the cumulants of −Σ v_k log|W_k/v_k| are those of
    # M plus those of −v log|W/v|
    total = v.sum(keepdims=True)
    own, pooled = _log_det_cumulants(v, d, order), _log_det_cumulants(total, d, order)
    return float(((-v) ** order * own).sum() - ((-total) ** order * pooled).sum())


def _log_det_cumulants(v: Floats, d: int, order: int) -> Floats:
    """Return a cumulant of log |W/v| for W ~ Wishart(v, I), shape (K,)."""
    # log |W| = Σ_j log χ²_{v−j};  κ_r(log χ²_f) = ψ^(r−1)(f/2), and log 2 more for r = 1
    sums: Floats = polygamma(order - 1, (v[:, None] - np.arange(d)) / 2).sum(1)
    return sums + d * (np.log(2) - np.log(v)) if order == 1 else sums


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoxM(Diagnostic):
    """Whether classes share one covariance; see ``box_m``."""

    figure: ClassVar[str] = "Box's M"
    classes: Labels  # those compared  (K,)
    degrees: Floats  # v_k = w_k − 1  (K,)
    n_features: int
    statistic: float  # M
    cumulants: ChiSquareTest  # a shifted χ² with the first three cumulants of M
    chi_square: ChiSquareTest
    log_det_ratios: Floats  # log |Σ_k| / |Σ|  (K,)
    left_out: Labels  # classes whose covariance is singular
    left_out_columns: tuple[str, ...]  # columns without variance of their own in any class
    weighted: bool

    @property
    def p_value(self) -> float:
        """Return P(M this large), were the covariances equal and the classes normal."""
        return self.cumulants.p_value

    @property
    def log_det_errors(self) -> Floats:
        """Return the standard error of each log determinant, shape (K,)."""
        return np.sqrt(_log_det_cumulants(self.degrees, self.n_features, 2))

    @property
    def log_det_excess(self) -> Floats:
        """Return ``log_det_ratios`` less what the size of the class alone explains, (K,)."""
        own = _log_det_cumulants(self.degrees, self.n_features, 1)
        pooled = _log_det_cumulants(self.degrees.sum(keepdims=True), self.n_features, 1)
        return self.log_det_ratios - (own - pooled)

    def rows(self) -> list[Row]:
        """Return a row for each null distribution."""
        return [
            {
                "approximation": name,
                "m": self.statistic,
                **test._asdict(),
                "p_value": test.p_value,
            }
            for name, test in (("cumulants", self.cumulants), ("chi-square", self.chi_square))
        ]

    def __repr__(self) -> str:
        account = f"Box's M = {number(self.statistic)}, {p_statement(self.p_value)}"
        out = self.left_out
        remarks = (
            f"; classes left out: {quoted(out)}, of singular covariance" if len(out) else ""
        )
        remarks += columns_remark(self.left_out_columns, weighted=self.weighted)
        if self.p_value > LEVEL:
            return f"Equal covariances: no evidence against them ({account}){remarks}"
        ends = (self.classes[i(self.log_det_excess)] for i in (np.argmax, np.argmin))
        most, least = (repr(python_scalar(label)) for label in ends)
        found = f"class {most} spreads most, {least} least"
        return f"Covariances differ: {found} ({account}){remarks}"


def box_m(moments: Moments) -> BoxM:
    """Return Box's test that all classes have one covariance.

    M = v log∣Σ∣ − Σ_k v_k log∣Σ_k∣,  v_k = w_k − 1

    with Σ_k = S_k / v_k and Σ = Σ_k S_k / v. The p-value is that of a shifted χ² with the first
    three cumulants of M, which are known exactly. Box's χ², which other programs print, stands
    beside it; it fails where a class has fewer than about 2 d rows. The test supposes normal
    classes and is sensitive to that: see ``normality``. Box (1949), *Biometrika* 36, 317–346.

    Parameters
    ----------
    moments : Moments
        Sums with a matrix per class. Weights are taken as counts. Columns that are constant in all
        classes, or combinations of others, and classes whose covariance is singular even so are
        left out, named and warned of.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> box_m(Moments.of(*load_iris(return_X_y=True)))
    Covariances differ: class 2 spreads most, 0 least (Box's M = 146.7, p < 0.0001)
    """
    used, left_out_columns = usable_columns(moments)
    present = np.flatnonzero(moments.weights > 0)
    codes = _comparable(used, present)
    v, scatters = used.weights[codes] - 1, used.scatters[codes]
    whitening = FullCovariance.of(scatters.sum(0) / v.sum()).whitening
    # |Σ_k| / |Σ| = |L⁻¹ Σ_k L⁻ᵀ|, whitened by the pooled Σ so that units cancel
    log_dets = np.linalg.slogdet(whitening @ (scatters / v[:, None, None]) @ whitening.T)[1]
    m, d, classes = float(-v @ log_dets), used.n_features, moments.classes
    tests = cumulant_test(m, v, d), chi_square_test(m, v, d)
    left_out = np.setdiff1d(classes[present], classes[codes]), left_out_columns
    return BoxM(classes[codes], v, d, m, *tests, log_dets, *left_out, is_weighted(moments))


def _comparable(moments: Moments, present: Codes) -> Codes:
    """Return the classes whose covariance has full rank; the others are warned of."""
    codes = np.array([k for k in present if _has_full_rank(moments, k)], np.intp)
    left_out = quoted(np.setdiff1d(moments.classes[present], moments.classes[codes]))
    if len(codes) < 2:
        found = (
            "at least two classes must have a covariance of full rank; singular are those of"
        )
        rows = f"collect more rows than the {moments.n_features} features"
        cure = f"drop columns (moments.select) or {rows}; weights are taken as counts"
        raise InvalidInputError(f"{found} {left_out}: {cure}")
    if len(codes) < len(present):
        msg = f"Box's M leaves out the classes {left_out}: their covariance is singular"
        warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
    return codes


def _has_full_rank(moments: Moments, k: int) -> bool:
    sigma = moments.scatters[k] / moments.weights[k]
    variances = resolved(np.diagonal(sigma), moments.means[k], moments.total_variances)
    enough = min(moments.counts[k], moments.weights[k]) > moments.n_features
    return bool(enough and variances.all() and scaled_cholesky(sigma) is not None)
