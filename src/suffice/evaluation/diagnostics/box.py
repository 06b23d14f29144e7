"""Do all classes have the same covariance? Box's M, from moments alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import DegenerateDataWarning, InvalidInputError
from suffice.evaluation.diagnostics.box_null import (
    chi_square_test,
    cumulant_test,
    f_test,
    log_det_moments,
    null_draws,
)
from suffice.evaluation.diagnostics.columns import columns_remark, independent_columns
from suffice.evaluation.diagnostics.nulls import simulated_p
from suffice.evaluation.diagnostics.regular import (
    described,
    is_weighted,
    present_classes,
    singular_classes,
)
from suffice.evaluation.diagnostics.words import LEVEL, Row, as_frame, axes, p_text, plain
from suffice.model.covariance import FullCovariance
from suffice.notebook import Tabled

if TYPE_CHECKING:
    from suffice.evaluation.diagnostics.nulls import ChiSquareTest, FTest
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoxM(Tabled):
    """Whether classes share one covariance; see ``box_m``."""

    classes: Labels  # those compared  (K,)
    degrees: Floats  # v_k = w_k − 1  (K,)
    n_features: int
    statistic: float  # M
    cumulants: ChiSquareTest  # a shifted χ² with the first three cumulants of M
    chi_square: ChiSquareTest
    f: FTest
    simulated_p_value: float  # NaN where nothing was simulated
    log_det_ratios: Floats  # log |Σ_k| / |Σ|  (K,)
    left_out: tuple[str, ...]  # classes whose covariance is singular, described
    left_out_columns: tuple[str, ...]  # columns without variance of their own in any class
    weighted: bool

    @property
    def approximation(self) -> str:
        """Which distribution ``p_value`` uses: "cumulants", or "simulation" if asked for."""
        return "cumulants" if np.isnan(self.simulated_p_value) else "simulation"

    @property
    def p_value(self) -> float:
        """Return P(M this large), were the covariances equal and the classes normal."""
        simulated = self.approximation == "simulation"
        return self.simulated_p_value if simulated else self.cumulants.p_value

    @property
    def log_det_errors(self) -> Floats:
        """Return the standard error of each log determinant, shape (K,)."""
        return log_det_moments(self.degrees, self.n_features)[1]

    @property
    def log_det_excess(self) -> Floats:
        """Return ``log_det_ratios`` less what the size of the class alone explains, (K,)."""
        own = log_det_moments(self.degrees, self.n_features)[0]
        pooled = log_det_moments(self.degrees.sum(keepdims=True), self.n_features)[0]
        excess: Floats = self.log_det_ratios - (own - pooled)
        return excess

    def rows(self) -> list[Row]:
        """Return a row for each null distribution."""
        tests: dict[str, Row] = {
            "cumulants": self.cumulants.row(),
            "chi-square": self.chi_square.row(),
            "F": self.f.row(),
        }
        if self.approximation == "simulation":
            tests["simulation"] = {
                "statistic": self.statistic,
                "df1": np.nan,
                "df2": np.nan,
                "p_value": self.simulated_p_value,
            }
        return [
            {"approximation": name, "m": self.statistic}
            | row
            | {"used": name == self.approximation}
            for name, row in tests.items()
        ]

    def to_frame(self) -> Any:
        """Return ``rows()`` as a pandas frame."""
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw how much more each class spreads than the pool, with two standard errors."""
        ax = axes(ax)
        place = np.arange(len(self.classes))
        ax.axvline(0.0, color="0.6", lw=1)
        ax.errorbar(self.log_det_excess, place, xerr=2 * self.log_det_errors, fmt="o", capsize=3)
        ax.set_yticks(place, [str(label) for label in self.classes])
        ax.set_xlabel("log |Σₖ| − log |Σ pooled|")
        ax.set_title(f"Box's M, {p_text(self.p_value)}")
        return ax

    def __repr__(self) -> str:
        account = f"Box's M = {self.statistic:.4g}, {p_text(self.p_value)}"
        return f"{self._verdict()} ({account}){self._remarks()}"

    def _verdict(self) -> str:
        if self.p_value > LEVEL:
            return "Equal covariances: no evidence against them"
        most, least = (self.classes[i(self.log_det_excess)] for i in (np.argmax, np.argmin))
        return f"Covariances differ: class {plain(most)!r} spreads most, {plain(least)!r} least"

    def _remarks(self) -> str:
        remarks = f"; left out: {'; '.join(self.left_out)}" if self.left_out else ""
        remarks += columns_remark(self.left_out_columns)
        return remarks + ("; weights taken as counts" if self.weighted else "")


def box_m(moments: Moments, *, simulations: int = 0, random_state: Any = 0) -> BoxM:
    r"""Return Box's test that all classes have one covariance.

    .. math::  M = v \log|\Sigma| - \sum_k v_k \log|\Sigma_k|, \quad v_k = w_k - 1

    with :math:`\Sigma_k = S_k / v_k` and :math:`\Sigma = \sum_k S_k / v`. The p-value is that
    of a shifted χ² with the first three cumulants of M, which are known exactly. Box's χ² and
    F, which other programs print, stand beside it; they fail where a class has fewer than about
    2 d rows: at the 5 % level, two classes alike of 11 and 201 rows and 10 features are told
    apart 30 times in 100 by F, and of 52 rows and 50 features 99 times, but 5 times by
    cumulants. The test supposes normal classes and is sensitive to that: see ``normality``.

    Parameters
    ----------
    moments : Moments
        Sums with a matrix per class. Weights are taken as counts: a row of weight 2 stands
        for two rows, so multiplying all weights changes the answer.
    simulations : int, default=0
        Draws from the exact null distribution of M, to be used in place of the cumulants.
    random_state : int or Generator, default=0
        Seed of the draws.

    Returns
    -------
    BoxM
        Columns that are constant in all classes, or combinations of others, and classes whose
        covariance is singular even so are left out, named and warned of.

    References
    ----------
    Box (1949), *Biometrika* 36, 317–346.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> box_m(Moments.of(*load_iris(return_X_y=True)))
    Covariances differ: class 2 spreads most, 0 least (Box's M = 146.7, p < 0.0001)
    """
    present = present_classes(moments)
    used, left_out_columns = independent_columns(moments, between=False)
    codes, left_out = _comparable(used, present)
    v = used.weights[codes] - 1
    log_dets = _log_det_ratios(used.scatters[codes], v)
    m, d = float(-v @ log_dets), used.n_features
    p = float("nan")
    if simulations:
        rng = np.random.default_rng(random_state)
        p = simulated_p(m, null_draws(v, d, simulations, rng))
    return BoxM(
        moments.classes[codes],
        v,
        d,
        m,
        cumulant_test(m, v, d),
        chi_square_test(m, v, d),
        f_test(m, v, d),
        p,
        log_dets,
        left_out,
        left_out_columns,
        is_weighted(moments),
    )


def _comparable(moments: Moments, present: Codes) -> tuple[Codes, tuple[str, ...]]:
    """Return the classes of full rank, and a sentence for each of the others."""
    gaps = singular_classes(moments, present)
    left_out = described(gaps, moments)
    codes = np.setdiff1d(present, [gap.group for gap in gaps])
    if len(codes) < 2:
        msg = (
            f"fewer than 2 classes have a covariance of full rank: {'; '.join(left_out)}: "
            "drop such columns (moments.select) or collect more rows"
        )
        raise InvalidInputError(msg)
    _refuse_light(moments, codes)
    if left_out:
        msg = f"Box's M leaves out {'; '.join(left_out)}"
        warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
    return codes, left_out


def _refuse_light(moments: Moments, codes: Codes) -> None:
    light = codes[moments.weights[codes] - 1 <= moments.n_features - 1]
    if len(light):
        k = light[0]
        msg = (
            f"class {plain(moments.classes[k])!r} has weight {moments.weights[k]:g} from "
            f"{moments.counts[k]} rows; weights are taken as counts, and {moments.n_features} "
            "features need more: multiply the weights so that they sum to the number of rows"
        )
        raise InvalidInputError(msg)


def _log_det_ratios(scatters: Floats, v: Floats) -> Floats:
    """Return log |Σ_k| / |Σ|, whitened by the pooled Σ first so that units cancel."""
    whitening = FullCovariance.of(scatters.sum(0) / v.sum()).whitening
    # |Σ_k| / |Σ| = |L⁻¹ Σ_k L⁻ᵀ|
    whitened = whitening @ (scatters / v[:, None, None]) @ whitening.T
    log_dets: Floats = np.linalg.slogdet(whitened)[1]
    return log_dets
