"""Box's M, a test of whether the classes share one covariance, computed from moments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc, polygamma

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.linalg import resolved, scaled_cholesky
from suffice.core.model.covariance import FullCovariance
from suffice.core.moments import Moments
from suffice.core.text.lists import noun_for, python_scalar, quoted
from suffice.core.text.numbers import number, p_statement
from suffice.core.text.tables import Row
from suffice.errors import DegenerateDataWarning, InvalidInputError, warn
from suffice.evaluate.diagnostics.diagnostic import (
    NOT_COUNTS,
    Diagnostic,
    can_count_rows,
    column_remarks,
    is_weighted,
    usable_columns,
)
from suffice.typing import Codes, Floats, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Above this inflation, the test is conservative: it rejected less than 1 % of simulated classes
# with t₃ distributions.
HEAVY_TAILS = 1.5
# With more degrees of freedom, the χ² approximation is exact, and differences of cumulants lose
# digits.
MANY = 1e7


class ChiSquareTest(NamedTuple):
    """A statistic that has a χ² distribution with ``df`` degrees of freedom if the null holds."""

    statistic: float
    df: float

    @property
    def p_value(self) -> float:
        return float(chdtrc(self.df, max(self.statistic, 0.0)))


def chi_square_test(m: float, v: Floats, d: int) -> ChiSquareTest:
    """Return Box's χ² test, of (1 − c₁) M; NaN if classes are too small."""
    k = len(v)
    # c₁ = (Σ 1/v_k − 1/v) (2d² + 3d − 1) / (6 (d+1)(K−1))
    c1 = ((1 / v).sum() - 1 / v.sum()) * (2 * d**2 + 3 * d - 1) / (6 * (d + 1) * (k - 1))
    statistic = float((1 - c1) * m) if c1 < 1 else np.nan
    return ChiSquareTest(statistic, df=d * (d + 1) * (k - 1) / 2)


def cumulant_test(m: float, v: Floats, d: int) -> ChiSquareTest:
    """Return the test of M by a shifted and scaled χ² with the same first three cumulants."""
    if v.min() > MANY:
        return chi_square_test(m, v, d)
    k1, k2, k3 = (_cumulant(v, d, order) for order in (1, 2, 3))
    # M ≈ a + b χ²_ν:  κ₁ = a + bν,  κ₂ = 2b²ν,  κ₃ = 8b³ν
    b = k3 / (4 * k2)
    nu = 8 * k2**3 / k3**2
    a = k1 - b * nu
    return ChiSquareTest((m - a) / b, df=nu)


def _cumulant(v: Floats, d: int, order: int) -> float:
    """Return a cumulant of M under equal covariances."""
    # M is independent of W = Σ W_k. Each cumulant of −Σ v_k log|W_k/v_k| is therefore the sum of
    # that of M and that of −v log|W/v|.
    total = v.sum(keepdims=True)
    by_class = (-v) ** order * _log_det_cumulants(v, d, order)
    pooled = (-total) ** order * _log_det_cumulants(total, d, order)
    return float(by_class.sum() - pooled.sum())


def _log_det_cumulants(v: Floats, d: int, order: int) -> Floats:
    """Return a cumulant of log |W/v| for W ~ Wishart(v, I), shape (K,)."""
    # log |W| = Σ_j log χ²_{v−j};  κ_r(log χ²_f) = ψ^(r−1)(f/2), plus log 2 for r = 1
    cumulants = polygamma(order - 1, (v[:, None] - np.arange(d)) / 2).sum(1)
    if order == 1:
        cumulants = cumulants + d * (np.log(2) - np.log(v))
    return np.asarray(cumulants)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoxM(Diagnostic):
    """The test of whether classes share one covariance, as ``box_m`` describes it."""

    classes: Labels  # the compared classes  (K,)
    degrees: Floats  # v_k = w_k − 1  (K,)
    n_features: int
    statistic: float  # M
    cumulants: ChiSquareTest  # shifted χ² with the first three cumulants of M
    chi_square: ChiSquareTest
    log_det_ratios: Floats  # log |Σ_k| / |Σ|  (K,)
    left_out: Labels  # classes with a singular covariance
    # columns that are constant in all classes, or combinations of other columns
    left_out_columns: tuple[str, ...]
    weighted: bool
    inflation: float = np.nan  # E M divided by its value for normal classes; NaN if unknown
    inflation_df: float = (
        np.inf
    )  # 2/r², where r is the relative standard error of ``inflation``
    # share of the degrees of freedom that remains, if variances vary more than for normal rows
    effective_share: float = 1.0
    counts_rows: bool = True  # whether weights can be row counts; if not, there is no p-value
    # Whether cells are missing. Covariances from pairs of columns then make M too large.
    has_missing: bool = False

    @property
    def p_value(self) -> float:
        """P(M at least this large) under equal covariances.

        M is divided by ``inflation``, an estimate from the fourth moments of the classes. Because M
        and the estimate both vary, the p-value is then that of an F distribution. Without fourth
        moments, the p-value holds for normal classes. The p-value is NaN if weights do not count
        rows, or if cells are missing.
        """
        if self.has_missing or not self.counts_rows:
            return np.nan
        if np.isnan(self.inflation):
            return self.cumulants.p_value
        test = cumulant_test(self.statistic / self.inflation, self.degrees, self.n_features)
        df = self.effective_share * test.df
        # χ²_df / df divided by an estimate with relative variance 2/f is about F(df, f)
        return float(fdtrc(df, self.inflation_df, max(test.statistic / test.df, 0.0)))

    @property
    def log_det_errors(self) -> Floats:
        """Standard error of ``log_det_excess`` under equal covariances of normal classes, (K,)."""
        # log |W_k| − log |W| is independent of W = Σ W_k, as M is. Its variance is therefore that
        # of log |W_k| minus that of log |W|.
        by_class = _log_det_cumulants(self.degrees, self.n_features, order=2)
        total = self.degrees.sum(keepdims=True)
        return np.sqrt(by_class - _log_det_cumulants(total, self.n_features, order=2))

    @property
    def log_det_excess(self) -> Floats:
        """``log_det_ratios`` minus their expectation under equal covariances, (K,)."""
        by_class = _log_det_cumulants(self.degrees, self.n_features, order=1)
        total = self.degrees.sum(keepdims=True)
        pooled = _log_det_cumulants(total, self.n_features, order=1)
        return self.log_det_ratios - (by_class - pooled)

    def rows(self) -> list[Row]:
        """Return a mapping for each null distribution, with the statistic and the p-value."""
        tests = {"cumulants": self.cumulants, "chi-square": self.chi_square}
        is_tested = self.counts_rows and not self.has_missing
        return [
            {
                "approximation": name,
                "m": self.statistic,
                "statistic": test.statistic,
                "df": test.df,
                "p_value": test.p_value if is_tested else np.nan,
            }
            for name, test in tests.items()
        ]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the result on ``ax``, or on new axes, and return the axes."""
        from suffice.present.plots.results import box_m_figure

        return box_m_figure(self, ax)

    def __repr__(self) -> str:
        test = f"Box's M = {number(self.statistic)}, {p_statement(self.p_value)}"
        if self.has_missing:
            verdict = (
                f"Equal covariances: not tested, since cells are missing (Box's M = "
                f"{number(self.statistic)}); drop the rows or columns with missing cells"
            )
        elif not self.counts_rows:
            verdict = f"Equal covariances {NOT_COUNTS} (Box's M = {number(self.statistic)})"
        elif self.p_value > LEVEL:
            verdict = f"Equal covariances: no evidence against them ({test})"
        else:
            most = python_scalar(self.classes[np.argmax(self.log_det_excess)])
            least = python_scalar(self.classes[np.argmin(self.log_det_excess)])
            verdict = (
                f"Covariances differ: class {most!r} spreads most, {least!r} least ({test})"
            )
        remarks = []
        if self.inflation > HEAVY_TAILS:
            remarks.append(
                "with tails this heavy, the test is cautious: if the covariances are equal, p ≤ "
                "0.05 occurs in at most 5 % of tables, often in fewer than 1 %"
            )
        if np.isnan(self.inflation) and not self.has_missing:
            remarks.append(
                "the test assumes normal classes, because the sums have no fourth moments"
            )
        if len(self.left_out):
            remarks.append(
                f"{noun_for(len(self.left_out), 'class')} {quoted(self.left_out)} left out, "
                "because the covariance is singular"
            )
        remarks += column_remarks(self.left_out_columns, weighted=self.weighted)
        return "; ".join([verdict, *remarks])


def box_m(moments: Moments) -> BoxM:
    """Return Box's test that all classes have one covariance.

    M = v log∣Σ∣ − Σ_k v_k log∣Σ_k∣,  v_k = w_k − 1

    where Σ_k is the scatter of class k divided by v_k, and Σ is the sum of all scatters divided by
    v = Σ v_k. The p-value is that of a shifted χ² with the first three cumulants of M, which have
    closed forms. ``chi_square`` is Box's χ² approximation (Box 1949, *Biometrika* 36, 317–346),
    which other programs print. It fails if a class has fewer than about 2 d rows. Heavy tails make
    M larger. The p-value allows for heavy tails if the moments include fourth moments, as those of
    ``Moments.of`` do.

    Parameters
    ----------
    moments : Moments
        Sums with a scatter matrix for each class. Weights are taken as row counts. Columns that are
        constant in all classes, or combinations of other columns, are left out. Classes whose
        covariance is still singular are then left out, too. Warnings name these columns and
        classes. If cells are missing, the p-value is NaN, because it would be too small.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> box_m(Moments.of(*load_iris(return_X_y=True)))
    Covariances differ: class 2 spreads most, 0 least (Box's M = 146.7, p < 0.0001)
    """
    used, left_out_columns = usable_columns(moments)
    present = np.flatnonzero(moments.weights > 0)
    codes = _full_rank_classes(used, present)
    d = used.n_features
    v = used.weights[codes] - 1
    scatters = used.scatters[codes]
    whitening = FullCovariance.of(scatters.sum(0) / v.sum()).whitening
    # |Σ_k| / |Σ| = |L⁻¹ Σ_k L⁻ᵀ| with the pooled Σ = L Lᵀ, which is independent of units
    log_dets = np.linalg.slogdet(whitening @ (scatters / v[:, None, None]) @ whitening.T)[1]
    m = float(-v @ log_dets)
    inflation = _inflation(used, codes, m)
    return BoxM(
        classes=moments.classes[codes],
        degrees=v,
        n_features=d,
        statistic=m,
        cumulants=cumulant_test(m, v, d),
        chi_square=chi_square_test(m, v, d),
        log_det_ratios=log_dets,
        left_out=np.setdiff1d(moments.classes[present], moments.classes[codes]),
        left_out_columns=left_out_columns,
        weighted=is_weighted(moments),
        inflation=inflation,
        inflation_df=_inflation_df(used, codes, inflation),
        effective_share=_effective_share(used, codes, inflation),
        counts_rows=can_count_rows(moments),
        has_missing=moments.patterns is not None,
    )


def _effective_share(moments: Moments, codes: Codes, inflation: float) -> float:
    """Return the effective share of the degrees of freedom, (Σ λ)² / (df Σ λ²) (Satterthwaite)."""
    d = moments.n_features
    if moments.fourth is None or d < 2:
        return 1.0
    weight = float(moments.weights[codes].sum())
    variances = np.diagonal(moments.scatters[codes].sum(0)) / weight
    fourths = np.diagonal(moments.fourth.fourths[codes].sum(0)) / weight
    # λ = (κ − 1)/2 for each variance; the rest of the sum is divided equally among the covariances
    of_variances = np.maximum((fourths / variances**2 - 1) / 2, 0.0)
    df = d * (d + 1) / 2
    n_covariances = d * (d - 1) / 2
    rest = max(inflation * df - float(of_variances.sum()), 0.0)
    squares = float(np.square(of_variances).sum()) + rest**2 / n_covariances
    total = float(of_variances.sum()) + rest
    return min(total**2 / (df * squares), 1.0)


def _inflation(moments: Moments, codes: Codes, m: float) -> float:
    """Return E M divided by E M for normal classes; NaN without fourth moments.

    M ≈ ½ Σ_k v_k tr (W_k − I)² has expectation ½ (K − 1)(E|z|⁴ − d) for whitened rows z. For
    elliptical rows, E|z|⁴ = (1 + κ) d (d + 2). Browne & Shapiro (1987), *BJMSP* 40, 193–208.
    """
    if moments.fourth is None:
        return np.nan
    d = moments.n_features
    weight = float(moments.weights[codes].sum())
    sigma = moments.scatters[codes].sum(0) / weight
    variances = np.diagonal(sigma)
    products = np.outer(variances, variances)
    fourths = moments.fourth.fourths[codes].sum(0) / weight / products
    squared_correlations = np.square(sigma) / products
    # E u_i² u_j² = (1 + κ)(1 + 2ρ_ij²) for standardised columns u
    one_plus_kappa = float(fourths.sum() / (1 + 2 * squared_correlations).sum())
    # the kurtosis of few normal rows is too small: on average it is 3 ν/(ν + 2)
    nu = weight - len(codes)
    one_plus_kappa *= (nu + 2) / nu
    # Classes with different covariances have a larger pooled kurtosis, in proportion to M. If M has
    # its expectation under equal covariances, the relative excess is 2 (K − 1)/n, which the step
    # above includes.
    test = cumulant_test(m / _inflation_of(one_plus_kappa, d), moments.weights[codes] - 1, d)
    ratio = max(test.statistic / test.df, 0.0)
    one_plus_kappa /= 1 + 2 * (len(codes) - 1) / weight * (ratio - 1)
    return _inflation_of(one_plus_kappa, d)


def _inflation_of(one_plus_kappa: float, d: int) -> float:
    # E|z|⁴ − d = (1 + κ) d (d + 2) − d, divided by its value for κ = 0
    return max(((d + 2) * one_plus_kappa - 1) / (d + 1), 0.25)


def _inflation_df(moments: Moments, codes: Codes, inflation: float) -> float:
    """Return 2/r², where r is the relative standard error of ``_inflation`` for normal classes.

    Let u be the standardised columns, and R their correlations. The estimate of 1 + κ is the mean
    of |u|⁴ divided by its expectation for normal rows. Correlated columns contain less information
    on κ than independent columns.
    """
    if moments.fourth is None:
        return np.inf
    d = moments.n_features
    sigma = moments.scatters[codes].sum(0)
    squared_correlations = np.square(sigma) / np.outer(np.diagonal(sigma), np.diagonal(sigma))
    correlations = sigma / np.sqrt(np.outer(np.diagonal(sigma), np.diagonal(sigma)))
    # |u|⁴ = Σᵢⱼ uᵢ²uⱼ² has the expectation d² + 2 tr R². With estimated covariances, only the
    # fourth-order part of |u|⁴ varies, with variance 8 ((tr R²)² + 2 tr R⁴) (Isserlis 1918).
    trace_2 = float(squared_correlations.sum())
    trace_4 = float(np.square(correlations @ correlations).sum())
    n = float(moments.weights[codes].sum()) - len(codes) + 1
    # correction for few rows: variance of the kurtosis of n normal numbers / (24/n) (Fisher 1930)
    of_few = n**2 * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    variance = 8 * (trace_2**2 + 2 * trace_4) / (d**2 + 2 * trace_2) ** 2 / n * of_few
    # r follows from inflation = ((d + 2)(1 + κ) − 1)/(d + 1) and the relative variance of 1 + κ
    relative_error = np.sqrt(variance) * (inflation * (d + 1) + 1) / (inflation * (d + 1))
    return 2 / max(float(relative_error**2), 1e-12)


def _full_rank_classes(moments: Moments, present: Codes) -> Codes:
    """Return the classes whose covariance has full rank; a warning names the other classes."""
    codes = np.array([k for k in present if _has_full_rank(moments, k)], np.intp)
    singular = quoted(np.setdiff1d(moments.classes[present], moments.classes[codes]))
    if len(codes) < 2:
        treated = ". Weights are treated as counts of rows" if is_weighted(moments) else ""
        raise InvalidInputError(
            "the test needs at least 2 classes whose covariance has full rank, but the covariance "
            f"of {singular} is singular: drop columns (moments.select), or collect more rows than "
            f"there are features ({moments.n_features:,}) in each class{treated}"
        )
    if len(codes) < len(present):
        warn(
            f"Box's M leaves out {noun_for(len(present) - len(codes), 'class')} {singular}, "
            "because the covariance is singular",
            DegenerateDataWarning,
        )
    return codes


def _has_full_rank(moments: Moments, k: int) -> bool:
    if min(moments.counts[k], moments.weights[k]) <= moments.n_features:
        return False
    sigma = moments.scatters[k] / moments.weights[k]
    variances = resolved(np.diagonal(sigma), moments.means[k], moments.total_variances)
    return bool(variances.all()) and scaled_cholesky(sigma) is not None
