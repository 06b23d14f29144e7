"""Which features tell the classes apart on their own? One F test each, from moments alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import fdtrc

from suffice.diagnostics.columns import is_weighted, present_classes
from suffice.drawing import axes
from suffice.errors import InvalidInputError
from suffice.estimation.degenerate import resolved, total_variances
from suffice.text.numbers import p_statement
from suffice.text.tables import Row, Tabled
from suffice.validation.significance import LEVEL, holm

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FeatureTests(Tabled):
    """One-way analysis of variance of each feature; see ``feature_tests``."""

    feature_names: tuple[str, ...]
    f: Floats  # F; infinite where only the classes vary, NaN where nothing does  (d,)
    p_values: Floats  # (d,)
    explained: Floats  # η² = B_jj / (B_jj + W_jj), the share of variance between classes  (d,)
    df1: float
    df2: float
    weighted: bool

    @property
    def adjusted_p_values(self) -> Floats:
        """Return Holm's p-values, right for all features at once, shape (d,)."""
        return holm(self.p_values)

    def rows(self) -> list[Row]:
        """Return a row for each feature."""
        columns = zip(
            self.feature_names,
            self.f.tolist(),
            self.p_values.tolist(),
            self.adjusted_p_values.tolist(),
            self.explained.tolist(),
            strict=True,
        )
        names = ("feature", "f", "p_value", "adjusted_p_value", "explained")
        degrees = {"df1": self.df1, "df2": self.df2}
        return [dict(zip(names, values, strict=True)) | degrees for values in columns]

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of each feature's variance that lies between classes."""
        ax = axes(ax)
        place = np.arange(len(self.f))[::-1]
        beyond = np.nan_to_num(self.adjusted_p_values, nan=1.0) <= LEVEL
        ax.barh(place, self.explained, color=np.where(beyond, "C0", "0.8").tolist())
        ax.set_yticks(place, self.feature_names)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of variance between classes")
        return ax

    def __repr__(self) -> str:
        beyond = int((self.adjusted_p_values <= LEVEL).sum())
        best = int(np.argmax(np.nan_to_num(self.explained, nan=-1.0)))
        remark = "; weights taken as counts" if self.weighted else ""
        return (
            f"{beyond} of {len(self.f)} features differ between classes on their own "
            f"(most: {self.feature_names[best]!r}, {self.explained[best]:.0%} of its variance, "
            f"{p_statement(float(self.p_values[best]))}){remark}"
        )


def feature_tests(moments: Moments) -> FeatureTests:
    r"""Return the one-way F test of each feature.

    .. math::  F_j = \frac{B_{jj} / (K - 1)}{W_{jj} / (n - K)}

    Parameters
    ----------
    moments : Moments
        Sums in any storage, also ``"diagonal"``. Weights are taken as counts: a row of weight 2
        stands for two rows, so multiplying all weights changes the answer.

    References
    ----------
    Fisher (1925), *Statistical Methods for Research Workers*, chapter 7.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> feature_tests(Moments.of(*load_iris(return_X_y=True))).f.round(2).tolist()
    [119.26, 49.16, 1180.16, 960.01]
    """
    n_classes = len(present_classes(moments))
    df1, df2 = n_classes - 1.0, moments.total_weight - n_classes
    if df2 <= 0:
        msg = (
            f"total weight {moments.total_weight:g} must exceed the number of classes, "
            f"{n_classes}; weights are taken as counts: multiply them, or collect more rows"
        )
        raise InvalidInputError(msg)
    within, between = _variances(moments)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = (between / df1) / (within / df2)
        explained = between / (between + within)
    p = np.where(np.isinf(f), 0.0, fdtrc(df1, df2, f))
    names = moments.feature_names or tuple(str(j) for j in range(moments.n_features))
    return FeatureTests(names, f, p, explained, df1, df2, is_weighted(moments))


def _variances(moments: Moments) -> tuple[Floats, Floats]:
    """Return W_jj / n and B_jj / n, zero where they are no more than rounding."""
    totals, means = total_variances(moments), moments.grand_mean
    within = moments.scatter.pooled_diagonal() / moments.total_weight
    shares = moments.weights / moments.total_weight
    between = shares @ np.square(moments.centred_means)
    return resolved(within, means, totals), np.where(totals > 0, between, 0.0)
