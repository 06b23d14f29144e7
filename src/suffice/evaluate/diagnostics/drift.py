"""Have the rows changed since a model was fitted? Tests of each column, and of all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import fdtr, fdtrc, gammaincc, stdtr

from suffice.core.decision.predictions import LEVEL, holm
from suffice.core.moments import Moments
from suffice.core.moments.merging import aligned
from suffice.core.moments.schema_change import under_schema
from suffice.core.table.schema import Schema
from suffice.core.text.lists import quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row, Tabled
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.evaluate.diagnostics.row_sums import RowSums, number_names, pooled_kurtosis
from suffice.typing import Codes, Floats, RowsLike, WeightsLike

if TYPE_CHECKING:
    from suffice.estimators.gaussian_estimator import GaussianEstimator

GAUSSIAN_KURTOSIS = 3.0

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """How one column differs between the rows of fit and new rows."""

    column: str
    what: Literal["mean", "spread", "levels", "missing"]
    before: float  # mean or spread of a number, share of the level that changed most
    after: float
    effect: float  # in standard deviations, or the total variation distance of the shares
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Tabled):
    """Whether p(x) has moved since the fit: a test of each column, and one of all together."""

    columns: tuple[ColumnDrift, ...]
    statistic: (
        float  # T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ of all features, S pooled over the two samples
    )
    df: int
    error_df: float  # ν, degrees of freedom of S
    n_before: float
    n_after: float

    @property
    def p_value(self) -> float:
        """P-value of all means and shares together (Hotelling 1931).

        It is NaN where the degrees of freedom are fewer than the features.
        """
        remaining_df = self.error_df - self.df + 1
        if self.df == 0 or not remaining_df > 0:
            return np.nan
        # T² (ν − d + 1) / (ν d) ~ F(d, ν − d + 1)
        f = self.statistic * remaining_df / (self.error_df * self.df)
        return float(fdtrc(self.df, remaining_df, f))

    @property
    def adjusted_p_values(self) -> Floats:
        """P-value of each column, adjusted for the number of tests by Holm's rule."""
        return holm(np.array([column.p_value for column in self.columns]))

    @property
    def moved(self) -> tuple[str, ...]:
        """Columns that differ significantly at the 5 % level, largest effect first."""
        significant = [
            column
            for column, p in zip(self.columns, self.adjusted_p_values, strict=True)
            if p <= LEVEL
        ]
        significant.sort(key=lambda column: -abs(column.effect))
        return tuple(dict.fromkeys(column.column for column in significant))

    def rows(self) -> list[Row]:
        """Return a row per column and test, largest effect first."""
        rows = [
            {**asdict(column), "p_adjusted": p, "moved": bool(p <= LEVEL)}
            for column, p in zip(self.columns, self.adjusted_p_values.tolist(), strict=True)
        ]
        return sorted(rows, key=lambda row: -abs(row["effect"]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the effect of each column, with a filled dot where it is significant."""
        from suffice.present.plots.results import drift_figure

        return drift_figure(self, ax)

    def __repr__(self) -> str:
        rows = f"{self.n_after:g} rows against {self.n_before:g} of the fit"
        columns = "no column has moved significantly"
        if self.moved:
            columns = f"moved: {quoted(self.moved, 6)}"
        if np.isnan(self.p_value):
            return f"Drift({rows}: {columns})"
        return f"Drift({rows}: {columns}; all together {p_statement(self.p_value)})"


def drift(model: GaussianEstimator, X: RowsLike, sample_weight: WeightsLike = None) -> Drift:
    """Return whether new rows differ from those that a model was fitted to.

    Means, spreads, shares of levels and shares of missing values are compared column by column, and
    all means and shares together. Labels play no part.

    Parameters
    ----------
    model : fitted Gaussian classifier
        Its moments describe the rows of the fit; those rows are not needed.
    X : array or frame (m, d)
        New rows with the features of the fit.
    sample_weight : array (m,), optional
        Weights of the new rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import suffice as sf
    >>> X, y = load_iris(return_X_y=True)
    >>> sf.diagnostics.drift(sf.LDA().fit(X, y), X + [0, 1, 0, 0]).moved
    ('x1',)
    """
    from sklearn.utils.validation import check_is_fitted  # slow to import

    from suffice.estimators.predictor import checked_rows

    check_is_fitted(model)
    if not hasattr(model, "moments_"):
        raise InvalidParameterError(
            f"drift needs a Gaussian classifier, which keeps the moments of its rows, and "
            f"{type(model).__name__} keeps none: fit LDA to the same rows, and pass that"
        )
    after = RowSums.like(model.moments_, checked_rows(model, X), sample_weight)
    return drift_between(RowSums(model.moments_), after)


def drift_between(before: RowSums, after: RowSums) -> Drift:
    """Return how new rows differ from those of a fit, both given by their sums."""
    old_moments, new_moments = _over_the_same_features(before.moments, after.moments)
    old = _Sample.of(old_moments)
    new = _Sample.of(new_moments)
    for name, sample in (("the fit", old), ("the new rows", new)):
        if not sample.total_weight > 1:
            raise InvalidInputError(
                f"{name}: weight {sample.total_weight:g} is too little for a test of drift, which "
                "needs at least two rows"
            )
    kurtosis = {}
    for name, sums in after.powers.items():
        samples = [before.powers[name], sums] if name in before.powers else [sums]
        kurtosis[name] = pooled_kurtosis(samples)
    statistic, df, error_df = _hotelling(old, new)
    return Drift(
        columns=(*_number_drifts(old, new, kurtosis), *_level_drifts(old, new)),
        statistic=statistic,
        df=df,
        error_df=error_df,
        n_before=old.total_weight,
        n_after=new.total_weight,
    )


def _over_the_same_features(before: Moments, after: Moments) -> tuple[Moments, Moments]:
    if before.schema is not None and after.schema is not None:
        # levels that the fit merged into "other" stay merged
        with_other = {c.name: c for c in before.schema.categories if c.other}
        merged = before.schema.merged(after.schema)
        schema = Schema(tuple(with_other.get(c.name, c) for c in merged.columns))
        before = under_schema(before, schema)
        after = under_schema(after, schema)
    before = replace(before, log_slopes=None)
    after = replace(after, power=before.power, log_slopes=None)
    return aligned(before, after)


class _Sample(NamedTuple):
    """The moments of all rows, whatever their classes."""

    moments: Moments
    total_weight: float
    mean: Floats  # (D,)
    variances: Floats  # (D,)
    observed: Floats  # weight of the rows in which each number is observed  (D,)

    @classmethod
    def of(cls, moments: Moments) -> _Sample:
        mean = moments.grand_mean
        scatter = moments.scatter.pooled_diagonal() + np.diagonal(moments.between_scatter)
        variances = scatter / max(moments.total_weight, 1e-300)
        observed = np.full(moments.n_features, moments.total_weight)
        if moments.patterns is not None:
            # each column is described by the rows in which it is observed
            observed_by_class = moments.patterns.by_column().column_sums.weights
            observed = observed_by_class.sum(0)
            shares = observed_by_class / np.maximum(observed, 1e-300)
            mean = mean + (shares * (moments.means - mean + moments.means_low)).sum(0)
            if moments.storage != "pooled":
                within = moments.diagonals / np.maximum(moments.weights, 1e-300)[:, None]
                variances = (shares * (within + np.square(moments.means - mean))).sum(0)
        return cls(moments, moments.total_weight, mean, variances, observed)


def _number_drifts(
    old: _Sample,
    new: _Sample,
    kurtosis: Mapping[str, float],
) -> Iterator[ColumnDrift]:
    for j, name in enumerate(number_names(old.moments)):
        observed = np.array([old.observed[j], new.observed[j]])
        missing = np.array([old.total_weight, new.total_weight]) - observed
        if missing.any():
            yield _share_drift(name, "missing", np.stack([missing, observed], axis=1))
        if observed.min() < 2:
            continue
        yield _mean_drift(name, old, new, j)
        if old.variances[j] > 0 and new.variances[j] > 0:
            yield _spread_drift(name, old, new, j, kurtosis.get(name, GAUSSIAN_KURTOSIS))


def _mean_drift(name: str, old: _Sample, new: _Sample, j: int) -> ColumnDrift:
    """Return Welch's test that a number has the same mean."""
    n_old = old.observed[j]
    n_new = new.observed[j]
    change = new.mean[j] - old.mean[j]
    # squared standard errors s²/n, s² = variance n / (n − 1)
    old_error = old.variances[j] / (n_old - 1)
    new_error = new.variances[j] / (n_new - 1)
    if old_error + new_error > 0:
        # t = (x̄₂ − x̄₁) / √(s₁²/n₁ + s₂²/n₂), with Welch's degrees of freedom
        t = change / np.sqrt(old_error + new_error)
        share = old_error / (old_error + new_error)
        df = 1 / (share**2 / (n_old - 1) + (1 - share) ** 2 / (n_new - 1))
        p = float(2 * stdtr(df, -abs(t)))
    else:
        p = 0.0 if change else 1.0
    effect = _in_deviations(change, np.sqrt(old.variances[j]))
    return ColumnDrift(name, "mean", old.mean[j], new.mean[j], effect, p)


def _in_deviations(change: float, deviation: float) -> float:
    """Return a change in standard deviations, infinite for a column that was constant."""
    if deviation > 0:
        return change / deviation
    return np.inf * np.sign(change) if change else 0.0


def _spread_drift(
    name: str, old: _Sample, new: _Sample, j: int, kurtosis: float
) -> ColumnDrift:
    """Return the F test that a number has the same variance, robust to its kurtosis."""
    n_old = old.observed[j]
    n_new = new.observed[j]
    old_variance = old.variances[j] / (n_old - 1) * n_old
    new_variance = new.variances[j] / (n_new - 1) * n_new
    # s₂²/s₁² ~ F, its degrees of freedom times 2 / (κ − 1) (Box & Andersen 1955)
    factor = 2 / (kurtosis - 1)
    ratio = float(new_variance / old_variance)
    below = fdtr(factor * (n_new - 1), factor * (n_old - 1), ratio)
    above = fdtrc(factor * (n_new - 1), factor * (n_old - 1), ratio)
    p = min(2 * float(min(below, above)), 1.0)
    before = float(np.sqrt(old.variances[j]))
    after = float(np.sqrt(new.variances[j]))
    return ColumnDrift(name, "spread", before, after, float(np.log(after / before)), p)


def _level_drifts(old: _Sample, new: _Sample) -> Iterator[ColumnDrift]:
    """Yield the tests of the features that are indicators: of missing values, and of levels."""
    schema = old.moments.schema
    if schema is None:
        return
    edges = schema.n_numbers + schema.starts
    totals = np.array([old.total_weight, new.total_weight])
    for i, j in enumerate(schema.filled):
        missing = totals * np.array([old.mean[edges[i]], new.mean[edges[i]]])
        counts = np.stack([missing, totals - missing], axis=1)
        yield _share_drift(schema.numbers[j].name, "missing", counts)
    for i, category in enumerate(schema.categories, start=len(schema.filled)):
        levels = slice(edges[i], edges[i + 1])
        counts = np.stack([totals[0] * old.mean[levels], totals[1] * new.mean[levels]])
        yield _share_drift(category.name, "levels", counts)


def _share_drift(name: str, what: Literal["levels", "missing"], counts: Floats) -> ColumnDrift:
    """Return the χ² test that two rows of counts (2, L) have the same shares."""
    counts = counts[:, counts.sum(0) > 0]
    n = counts.sum()
    df = counts.shape[1] - 1
    p = np.nan
    if df > 0 and n > 3:
        # X² = Σ (observed − expected)² / expected
        expected = counts.sum(1, keepdims=True) * counts.sum(0) / n
        statistic = (np.square(counts - expected) / expected).sum()
        # Mean and variance of X² given the margins (Haldane 1940, *Biometrika* 31, 346–355). The
        # gamma distribution that has them is χ² for many rows, and right for rare levels, too.
        v1, w1 = _margin_terms(counts.sum(0), n)
        v2, w2 = _margin_terms(counts.sum(1), n)
        mean = n * df / (n - 1)
        variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
        p = float(gammaincc(mean**2 / variance, statistic * mean / variance))
    shares = counts / counts.sum(1, keepdims=True)
    changes = np.abs(shares[1] - shares[0])
    shown = 0 if what == "missing" else int(np.argmax(changes))
    before, after = shares[:, shown].tolist()
    return ColumnDrift(name, what, before, after, 0.5 * float(changes.sum()), p)


def _margin_terms(totals: Floats, n: float) -> tuple[float, float]:
    """Return Haldane's v and w of the totals of one margin."""
    k = len(totals)
    v = (k - 1) * (n - k) / (n - 1)
    w = float((n / totals).sum() - k**2) / (n - 2)
    return v, w


def _hotelling(old: _Sample, new: _Sample) -> tuple[float, int, float]:
    """Return T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ of all means, the rank of S, and its degrees of freedom."""
    if "diagonal" in (old.moments.storage, new.moments.storage):
        return np.nan, 0, np.nan
    # S = Σ_i Σ w (x − x̄_i)(x − x̄_i)ᵀ / (n₁ + n₂ − 2)
    error_df = old.total_weight + new.total_weight - 2
    old_scatter = old.moments.pooled_scatter + old.moments.between_scatter
    new_scatter = new.moments.pooled_scatter + new.moments.between_scatter
    inverse_sizes = 1 / old.total_weight + 1 / new.total_weight
    v = (old_scatter + new_scatter) * inverse_sizes / max(error_df, 1e-300)
    scale = np.sqrt(np.diagonal(v))
    kept: Codes = np.flatnonzero((scale > 0) & (old.observed > 0) & (new.observed > 0))
    correlations = v[np.ix_(kept, kept)] / np.outer(scale[kept], scale[kept])
    values, vectors = np.linalg.eigh(correlations)
    delta = new.mean - old.mean
    z = vectors.T @ (delta[kept] / scale[kept])
    resolved = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    statistic = float(np.square(z[resolved] / np.sqrt(values[resolved])).sum())
    return statistic, int(resolved.sum()), error_df
