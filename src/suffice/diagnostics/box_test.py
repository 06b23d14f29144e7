"""Do all classes have the same covariance? Box's M, from moments alone."""

import warnings
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc, polygamma

from suffice.diagnostics.diagnostic import Diagnostic, columns_remark, is_weighted, usable_columns
from suffice.errors import DegenerateDataWarning, InvalidInputError
from suffice.linalg import resolved, scaled_cholesky
from suffice.model.covariance import FullCovariance
from suffice.moments import Moments
from suffice.text.lists import plain, quoted
from suffice.text.numbers import p_statement
from suffice.text.tables import Row
from suffice.typing import Codes, Floats, Labels
from suffice.validation.significance import LEVEL

MANY = 1e7  # degrees of freedom beyond which χ² is exact and differences of cumulants are not


class ChiSquareTest(NamedTuple):
    """A statistic that is χ² with ``df`` degrees of freedom under the null."""

    statistic: float
    df: float

    @property
    def p_value(self) -> float:
        """Return P(χ² ≥ statistic)."""
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
        tests = ("cumulants", self.cumulants), ("chi-square", self.chi_square)
        return [
            {"approximation": name, "m": self.statistic, **test._asdict(), "p_value": test.p_value}
            for name, test in tests
        ]

    def __repr__(self) -> str:
        account = f"Box's M = {self.statistic:.4g}, {p_statement(self.p_value)}"
        out = self.left_out
        remarks = f"; classes left out: {quoted(out)}, of singular covariance" if len(out) else ""
        remarks += columns_remark(self.left_out_columns, weighted=self.weighted)
        return f"{self._verdict()} ({account}){remarks}"

    def _verdict(self) -> str:
        if self.p_value > LEVEL:
            return "Equal covariances: no evidence against them"
        most, least = (self.classes[i(self.log_det_excess)] for i in (np.argmax, np.argmin))
        return f"Covariances differ: class {plain(most)!r} spreads most, {plain(least)!r} least"


def box_m(moments: Moments) -> BoxM:
    """Return Box's test that all classes have one covariance.

    M = v log∣Σ∣ − Σ_k v_k log∣Σ_k∣,  v_k = w_k − 1

    with Σ_k = S_k / v_k and Σ = Σ_k S_k / v. The p-value is that
    of a shifted χ² with the first three cumulants of M, which are known exactly. Box's χ², which
    other programs print, stands beside it; it fails where a class has fewer than about 2 d rows.
    The test supposes normal classes and is sensitive to that: see ``normality``.

    Box (1949), *Biometrika* 36, 317–346.

    Parameters
    ----------
    moments : Moments
        Sums with a matrix per class. Weights are taken as counts: a row of weight 2 stands
        for two rows, so multiplying all weights changes the answer.

    Returns
    -------
    BoxM
        Columns that are constant in all classes, or combinations of others, and classes whose
        covariance is singular even so are left out, named and warned of.

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
    v = used.weights[codes] - 1
    scatters = used.scatters[codes]
    whitening = FullCovariance.of(scatters.sum(0) / v.sum()).whitening
    # |Σ_k| / |Σ| = |L⁻¹ Σ_k L⁻ᵀ|, whitened by the pooled Σ so that units cancel
    log_dets = np.linalg.slogdet(whitening @ (scatters / v[:, None, None]) @ whitening.T)[1]
    m, d = float(-v @ log_dets), used.n_features
    return BoxM(
        moments.classes[codes],
        v,
        d,
        m,
        cumulant_test(m, v, d),
        chi_square_test(m, v, d),
        log_dets,
        np.setdiff1d(moments.classes[present], moments.classes[codes]),
        left_out_columns,
        is_weighted(moments),
    )


def _comparable(moments: Moments, present: Codes) -> Codes:
    """Return the classes whose covariance has full rank; the others are warned of."""
    codes = np.array([k for k in present if _has_full_rank(moments, k)], np.intp)
    left_out = quoted(np.setdiff1d(moments.classes[present], moments.classes[codes]))
    if len(codes) < 2:
        raise InvalidInputError(
            f"fewer than 2 classes have a covariance of full rank, not so {left_out}: drop columns "
            f"(moments.select) or collect more rows than the {moments.n_features} features; "
            "weights are taken as counts"
        )
    if len(codes) < len(present):
        msg = f"Box's M leaves out the classes {left_out}: their covariance is singular"
        warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
    return codes


def _has_full_rank(moments: Moments, k: int) -> bool:
    sigma = moments.scatters[k] / moments.weights[k]
    variances = resolved(np.diagonal(sigma), moments.means[k], moments.total_variances)
    enough = min(moments.counts[k], moments.weights[k]) > moments.n_features
    return bool(enough and variances.all() and scaled_cholesky(sigma) is not None)
