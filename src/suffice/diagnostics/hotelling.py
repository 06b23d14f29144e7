"""Do two classes have the same mean? Hotelling's T², from moments alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.diagnostics.columns import (
    columns_remark,
    independent_columns,
    is_weighted,
    present_classes,
)
from suffice.diagnostics.nulls import FTest
from suffice.drawing import axes
from suffice.errors import InvalidParameterError, UnknownLabelError
from suffice.model.covariance import FullCovariance
from suffice.moments.scatter import PerClassScatter
from suffice.text.lists import plain
from suffice.text.numbers import p_statement
from suffice.text.tables import Row, Tabled
from suffice.validation.significance import LEVEL

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HotellingT2(Tabled):
    """Whether two class means are equal; see ``hotelling_t2``."""

    labels: tuple[Any, Any]
    weights: tuple[float, float]
    feature_names: tuple[str, ...]
    statistic: float  # T²
    f: FTest  # exact
    distance: float  # Mahalanobis distance of the means, √(δᵀ Σ⁻¹ δ)
    standardised: Floats  # δ_j / σ_j, first label less second  (d,)
    left_out: tuple[str, ...]  # columns without variance of their own within the classes
    weighted: bool

    @property
    def p_value(self) -> float:
        """Return P(T² this large), were the means equal and the classes normal and alike."""
        return self.f.p_value

    def rows(self) -> list[Row]:
        """Return one row."""
        test = self.f.row()
        head = {"label_a": self.labels[0], "label_b": self.labels[1], "t2": self.statistic}
        return [head | {"f": test.pop("statistic")} | test | {"distance": self.distance}]

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference of the means, in standard deviations of each feature."""
        ax = axes(ax)
        place = np.arange(len(self.standardised))[::-1]
        ax.barh(place, self.standardised)
        ax.axvline(0.0, color="0.6", lw=1)
        ax.set_yticks(place, self.feature_names)
        ax.set_xlabel(f"mean of {self.labels[0]} − mean of {self.labels[1]}, in σ")
        return ax

    def __repr__(self) -> str:
        a, b = self.labels
        differ = self.p_value <= LEVEL
        verdict = "differ" if differ else "no evidence that they differ"
        remark = columns_remark(self.left_out)
        remark += "; weights taken as counts" if self.weighted else ""
        return (
            f"Means of {a!r} and {b!r}{' ' if differ else ': '}{verdict} "
            f"(T² = {self.statistic:.4g}, {p_statement(self.p_value)}, "
            f"{self.distance:.3g} standard deviations apart){remark}"
        )


def hotelling_t2(moments: Moments, label_a: Any = None, label_b: Any = None) -> HotellingT2:
    r"""Return Hotelling's test that two classes have one mean.

    .. math::  T^2 = \frac{n_a n_b}{n_a + n_b} (\mu_a - \mu_b)^\top \Sigma^{-1} (\mu_a - \mu_b)

    Σ is pooled over the two classes only, whatever others there are.

    Parameters
    ----------
    moments : Moments
        Sums with a matrix per class, or a pooled one where there are no other classes. Weights
        are taken as counts: a row of weight 2 stands for two rows.
    label_a, label_b : labels, optional
        The two classes; may be left out where there are only two.

    Returns
    -------
    HotellingT2
        Columns that are constant within both classes, or combinations of others, are left out,
        named and warned of.

    References
    ----------
    Hotelling (1931), *Annals of Mathematical Statistics* 2, 360–378.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import Moments
    >>> round(hotelling_t2(Moments.of(*load_iris(return_X_y=True)), 1, 2).statistic, 2)
    355.47
    """
    two, left_out = independent_columns(_only(moments, _pair(moments, label_a, label_b)))
    (n_a, n_b), d = two.weights.tolist(), two.n_features
    v = n_a + n_b - 2
    sigma = FullCovariance.of(two.pooled_scatter / v)
    delta = (two.means[0] - two.means[1]) + (two.means_low[0] - two.means_low[1])
    # D² = |L⁻¹ (μ_a − μ_b)|²
    squared = float(np.square(sigma.whiten(delta)).sum())
    t2 = n_a * n_b / (n_a + n_b) * squared
    return HotellingT2(
        (plain(two.classes[0]), plain(two.classes[1])),
        (n_a, n_b),
        two.feature_names or tuple(str(j) for j in range(d)),
        t2,
        # F = (v − d + 1) T² / (d v)
        FTest((v - d + 1) * t2 / (d * v), d, v - d + 1),
        float(np.sqrt(squared)),
        delta / np.sqrt(np.diagonal(sigma.dense())),
        left_out,
        is_weighted(two),
    )


def _pair(moments: Moments, label_a: Any, label_b: Any) -> Codes:
    """Return the positions of the two classes."""
    present = present_classes(moments)
    if label_a is None and label_b is None and len(present) == 2:
        return present
    labels = moments.classes.tolist()
    if label_a is None or label_b is None or label_a == label_b:
        msg = f"name two different classes among {labels}, got {label_a!r} and {label_b!r}"
        raise InvalidParameterError(msg)
    for label in (label_a, label_b):
        if label not in moments.classes[present].tolist():
            msg = f"label {label!r} is not a class with rows; the classes are {labels}"
            raise UnknownLabelError(msg)
    return np.array([labels.index(label_a), labels.index(label_b)])


def _only(moments: Moments, pair: Codes) -> Moments:
    """Return the sums of two classes, in the order asked for."""
    others = np.delete(moments.weights, pair).any()
    kept = PerClassScatter(moments.scatters) if others else moments.scatter
    return replace(
        moments,
        classes=moments.classes[pair],
        counts=moments.counts[pair],
        weights=moments.weights[pair],
        means=moments.means[pair],
        means_low=moments.means_low[pair],
        scatter=kept.taken(pair),
        fourth=None,
    )
