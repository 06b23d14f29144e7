"""Tests of whether rows have changed since a model was fitted.

``column_tests.py`` tests each column. Student's t test, corrected for skewness and kurtosis,
compares means, and an F test, corrected for kurtosis, compares spreads. Fisher's exact test, or
Pearson's X², compares shares of levels and of missing values. Holm's method adjusts the p-values.
``_hotelling`` tests all means together by T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import fdtrc

from suffice.core.decision.error_intervals import LEVEL, holm
from suffice.core.linalg import EPS
from suffice.core.moments import Moments
from suffice.core.moments.merging import aligned
from suffice.core.moments.schema_change import under_schema
from suffice.core.table.schema import Schema
from suffice.core.text.lists import counted
from suffice.core.text.numbers import p_statement, percent
from suffice.core.text.tables import Row, Tabled
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.evaluate.diagnostics.column_tests import (
    Column,
    mean_test,
    pooled_shape,
    share_test,
    spread_test,
    two_values,
)
from suffice.evaluate.diagnostics.diagnostic import (
    NOT_COUNTS,
    WEIGHTS_REMARK,
    can_count_rows,
    is_weighted,
)
from suffice.evaluate.diagnostics.row_sums import RowSums, number_names
from suffice.typing import Codes, Flags, Floats, RowsLike, WeightsLike

if TYPE_CHECKING:
    from suffice.estimators.gaussian_estimator import GaussianEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 6  # at most this many columns are named in a result
CONSTANT = "not tested: the column is constant"
FEW_ROWS = "not tested: too few rows for the tails of this column"
NO_FOURTH = "not tested: the fit keeps no fourth moments"


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """How one column differs between the rows of the fit and new rows.

    The effect on a mean is its change in standard deviations of the fitted rows. The effect on a
    spread is log(after / before). The effect on shares is their total variation distance.
    """

    column: str
    what: Literal["mean", "spread", "levels", "missing"]
    # mean or standard deviation of a number, share of missing cells, or share of the level with the
    # largest change
    before: float
    after: float
    effect: float
    p_value: float  # NaN if the change is not tested
    note: str = ""  # why the change is not tested


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Tabled):
    """Tests of whether p(x) has changed since the fit: one of each column, and a joint test."""

    columns: tuple[ColumnDrift, ...]
    # T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ for all features, where S is pooled over the two samples
    statistic: float
    df: int
    error_df: float  # ν, degrees of freedom of S
    n_before: float
    n_after: float
    weighted: bool = False  # whether rows have weights, which are taken as counts

    @property
    def p_value(self) -> float:
        """P-value of the joint test of means and shares (Hotelling 1931).

        The p-value is NaN if there are fewer degrees of freedom than features.
        """
        remaining_df = self.error_df - self.df + 1
        if self.df == 0 or not remaining_df > 0:
            return np.nan
        # T² (ν − d + 1) / (ν d) ~ F(d, ν − d + 1)
        f = self.statistic * remaining_df / (self.error_df * self.df)
        return float(fdtrc(self.df, remaining_df, f))

    @property
    def adjusted_p_values(self) -> Floats:
        """P-value of each change, adjusted for the number of tests by Holm's method."""
        return holm(np.array([column.p_value for column in self.columns]))

    @property
    def moved(self) -> tuple[str, ...]:
        """Columns with a significant change at the 5 % level, largest effect first."""
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
        """Draw the effect of each column, with a filled dot if it is significant."""
        from suffice.present.plots.results import drift_figure

        return drift_figure(self, ax)

    def __repr__(self) -> str:
        rows = f"{self.n_after:g} rows against {self.n_before:g} of the fit"
        sentences = [f"{rows}: {self.verdict}"]
        if np.isfinite(self.p_value):
            sentences.append(f"all together {p_statement(self.p_value)}")
        n_silent = sum(bool(column.note) for column in self.columns)
        if 0 < n_silent < len(self.columns):
            sentences.append(f"{counted(n_silent, 'change')} not tested for want of rows")
        if self.weighted:
            sentences.append(WEIGHTS_REMARK)
        return f"Drift({'; '.join(sentences)})"

    @property
    def verdict(self) -> str:
        """A sentence on which columns have changed and by how much, or on why none was tested."""
        n_tests = sum(np.isfinite(column.p_value) for column in self.columns)
        if any(column.note == NOT_COUNTS for column in self.columns):
            return NOT_COUNTS
        if n_tests == 0:
            return "not enough rows to test"
        if not self.moved:
            return f"no evidence in {counted(n_tests, 'test')} that a column has moved"
        return f"moved: {', '.join(self.described_moves())}, in {counted(n_tests, 'test')}"

    def described_moves(self) -> list[str]:
        """Return the changed columns, each with the size of its change."""
        changes = self._largest_changes()
        described = [f"{name!r} ({_size(changes[name])})" for name in self.moved[:_MOST_NAMED]]
        n_others = len(self.moved) - len(described)
        if n_others:
            described.append(f"{n_others} more")
        return described

    def _largest_changes(self) -> dict[str, ColumnDrift]:
        """Return the largest significant change of each changed column."""
        largest: dict[str, ColumnDrift] = {}
        for column, p in zip(self.columns, self.adjusted_p_values, strict=True):
            known = largest.get(column.column)
            if p <= LEVEL and (known is None or abs(column.effect) > abs(known.effect)):
                largest[column.column] = column
        return largest


def _size(change: ColumnDrift) -> str:
    """Return a phrase on what changed and by how much."""
    if change.what == "mean":
        if not np.isfinite(change.effect):
            return f"a constant, {change.before:.4g}, is {change.after:.4g} on average"
        return f"mean by {change.effect:+.2g} standard deviations"
    if change.what == "spread":
        return f"standard deviation multiplied by {np.exp(change.effect):.2g}"
    if change.what == "missing":
        return f"missing {percent(change.before)}, now {percent(change.after)}"
    return f"{percent(change.effect)} of the rows changed level"


def drift(model: GaussianEstimator, X: RowsLike, sample_weight: WeightsLike = None) -> Drift:
    """Return tests of whether new rows differ from the rows that a model was fitted to.

    Means, spreads, shares of levels and shares of missing values are compared column by column. All
    means and shares are also tested jointly. Labels are not used. P-values are adjusted for the
    number of tests (Holm). If there are too few rows for a test, the change has a note instead of a
    p-value. The same holds if weights cannot be counts: if they are not integers, and sum to at
    least the number of rows.

    Parameters
    ----------
    model : fitted Gaussian classifier
        A fitted model. Its moments describe the rows of the fit, so these rows are not needed.
    X : array or frame (m, d)
        New rows with the features of the fit.
    sample_weight : array (m,), optional
        Weights of the new rows. Integers are taken as row counts. Other weights are multiplied by
        Σw/Σw², so that they sum to the effective number of rows.

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
    weight = _effective_weights(sample_weight)
    after = RowSums.like(model.moments_, checked_rows(model, X), weight)
    return drift_between(RowSums(model.moments_), after)


def _effective_weights(sample_weight: WeightsLike) -> Floats | None:
    """Return row counts unchanged, and other weights scaled to the effective number of rows."""
    if sample_weight is None:
        return None
    w = np.asarray(sample_weight, np.float64)
    squares = float(np.square(w).sum())
    if not 0 < squares < np.inf or (w == np.rint(w)).all():
        return w  # a later check raises an error for an unusable sum of weights
    # n = (Σ w)² / Σ w²  (Kish 1965)
    return np.asarray(w * (w.sum() / squares))


def drift_between(before: RowSums, after: RowSums) -> Drift:
    """Return the tests of new rows against the rows of a fit, both given by their sums."""
    old_moments, new_moments = _over_the_same_features(before.moments, after.moments)
    old = _Sample.of(old_moments)
    new = _Sample.of(new_moments)
    for name, sample in (("the fit", old), ("the new rows", new)):
        if not sample.total_weight > 1:
            raise InvalidInputError(
                f"{name}: weight {sample.total_weight:g} is too little for a test of drift, which "
                "needs at least two rows"
            )
    statistic, df, error_df = _hotelling(old, new)
    columns = (*_number_drifts(old, new), *_level_drifts(old, new))
    if not can_count_rows(old.moments) or not can_count_rows(new.moments):
        columns = tuple(replace(each, p_value=np.nan, note=NOT_COUNTS) for each in columns)
        error_df = np.nan
    return Drift(
        columns=columns,
        statistic=statistic,
        df=df,
        error_df=error_df,
        n_before=old.total_weight,
        n_after=new.total_weight,
        weighted=is_weighted(old.moments) or is_weighted(new.moments),
    )


def _over_the_same_features(before: Moments, after: Moments) -> tuple[Moments, Moments]:
    if before.schema is not None and after.schema is not None:
        # levels that the fit has merged into "other" stay merged
        with_other = {c.name: c for c in before.schema.categories if c.other}
        merged = before.schema.merged(after.schema)
        schema = Schema(tuple(with_other.get(c.name, c) for c in merged.columns))
        before = under_schema(before, schema)
        after = under_schema(after, schema)
    before = replace(before, log_slopes=None)
    after = replace(after, power=before.power, log_slopes=None)
    return aligned(before, after)


class _Sample(NamedTuple):
    """The moments of all rows, ignoring their classes."""

    moments: Moments
    total_weight: float
    mean: Floats  # (D,)
    variances: Floats  # (D,)
    observed: Floats  # total weight of the rows in which each number is observed  (D,)

    @classmethod
    def of(cls, moments: Moments) -> _Sample:
        mean = moments.grand_mean
        scatter = moments.scatter.pooled_diagonal() + np.diagonal(moments.between_scatter)
        variances = scatter / max(moments.total_weight, 1e-300)
        observed = np.full(moments.n_features, moments.total_weight)
        if moments.patterns is not None:
            # the moments of a column are those of the rows in which it is observed
            observed_by_class = moments.patterns.by_column().column_sums.weights
            observed = observed_by_class.sum(0)
            shares = observed_by_class / np.maximum(observed, 1e-300)
            # ``means_low`` holds the rounding errors of ``means``
            mean = mean + (shares * (moments.means - mean + moments.means_low)).sum(0)
            if moments.storage != "pooled":
                within = moments.diagonals / np.maximum(moments.weights, 1e-300)[:, None]
                variances = (shares * (within + np.square(moments.means - mean))).sum(0)
        return cls(moments, moments.total_weight, mean, variances, observed)

    def column(self, j: int) -> Column:
        """Return the moments of number j; third and fourth moments are NaN if unknown."""
        higher = self.moments.higher
        if higher is None or not np.isfinite(higher.as_array()[:, j]).all():
            return Column(self.observed[j], self.mean[j], self.variances[j], np.nan, np.nan)
        n = float(higher.weights[j])
        if not n > 0:
            return Column(0.0, np.nan, np.nan, np.nan, np.nan)
        mean = float(higher.means[j])
        squares = max(float(higher.squares[j]), 0.0)
        fourths = float(higher.fourths[j])
        # n Σ z⁴ ≥ (Σ z²)² always holds, unless the fourth powers have underflowed
        if squares > 0 and not n * (1 + 1e-6) * fourths / squares >= squares:
            return Column(n, mean, squares / n, np.nan, np.nan)
        return Column(n, mean, squares / n, float(higher.cubes[j]) / n, fourths / n)


def _number_drifts(old: _Sample, new: _Sample) -> Iterator[ColumnDrift]:
    for j, name in enumerate(number_names(old.moments)):
        observed = np.array([old.observed[j], new.observed[j]])
        missing = np.array([old.total_weight, new.total_weight]) - observed
        if missing.any():
            yield _share_drift(name, "missing", np.stack([missing, observed], axis=1))
        before = old.column(j)
        after = new.column(j)
        if min(before.n, after.n) < 2:
            continue
        if _is_constant(before, after):
            yield ColumnDrift(name, "mean", before.mean, after.mean, 0.0, np.nan, CONSTANT)
            continue
        values = two_values(before, after)
        if values is not None:
            yield _two_value_drift(name, before, after, values)
            continue
        yield _mean_drift(name, before, after)
        if before.variance > 0 and after.variance > 0:
            yield _spread_drift(name, before, after)


def _is_constant(before: Column, after: Column) -> bool:
    """Return whether the column has one value in both samples, up to rounding."""
    largest = max(abs(before.mean), abs(after.mean))
    deviation = float(np.sqrt(max(before.variance, after.variance)))
    return max(deviation, abs(after.mean - before.mean)) <= 16 * EPS * largest


def _two_value_drift(
    name: str,
    before: Column,
    after: Column,
    values: tuple[float, float],
) -> ColumnDrift:
    """Return the test of a number with two values, whose shares are given by the mean."""
    low, high = values
    sizes = np.array([before.n, after.n])
    shares = (np.array([before.mean, after.mean]) - low) / (high - low)
    counts = np.stack([sizes * shares, sizes * (1 - shares)], axis=1)
    effect = _in_deviations(after.mean - before.mean, float(np.sqrt(before.variance)))
    p = share_test(np.maximum(counts, 0.0))
    note = "" if np.isfinite(p) else FEW_ROWS
    return ColumnDrift(name, "mean", before.mean, after.mean, effect, p, note)


def _mean_drift(name: str, before: Column, after: Column) -> ColumnDrift:
    """Return the test of equal means."""
    effect = _in_deviations(after.mean - before.mean, float(np.sqrt(before.variance)))
    p = mean_test(before, after)
    note = "" if np.isfinite(p) else CONSTANT
    return ColumnDrift(name, "mean", before.mean, after.mean, effect, p, note)


def _in_deviations(change: float, deviation: float) -> float:
    """Return a change in units of the standard deviation; infinite if the column was constant."""
    if deviation > 0:
        return change / deviation
    return np.inf * np.sign(change) if change else 0.0


def _spread_drift(name: str, before: Column, after: Column) -> ColumnDrift:
    """Return the test of equal standard deviations."""
    deviation_before = float(np.sqrt(before.variance))
    deviation_after = float(np.sqrt(after.variance))
    effect = float(np.log(deviation_after / deviation_before))
    p = spread_test(before, after)
    note = ""
    if not np.isfinite(p):
        has_fourth = np.isfinite(before.fourth) and np.isfinite(after.fourth)
        note = FEW_ROWS if has_fourth else NO_FOURTH
    return ColumnDrift(name, "spread", deviation_before, deviation_after, effect, p, note)


def _level_drifts(old: _Sample, new: _Sample) -> Iterator[ColumnDrift]:
    """Yield the tests of the shares of missing values and of levels."""
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
    """Return the test of equal shares of L levels in two samples, from counts (2, L)."""
    counts = counts[:, counts.sum(0) > 0]
    p = share_test(counts)
    shares = counts / counts.sum(1, keepdims=True)
    changes = np.abs(shares[1] - shares[0])
    shown = 0 if what == "missing" else int(np.argmax(changes))
    before, after = shares[:, shown].tolist()
    note = "" if np.isfinite(p) else CONSTANT
    return ColumnDrift(name, what, before, after, 0.5 * float(changes.sum()), p, note)


def _hotelling(old: _Sample, new: _Sample) -> tuple[float, int, float]:
    """Return T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ for all means, the rank of S, and its degrees of freedom.

    If there are too few rows for the columns, the number of columns is returned instead of the
    rank. With missing cells, each mean is computed from the rows in which the column is observed.
    """
    if "diagonal" in (old.moments.storage, new.moments.storage):
        return np.nan, 0, np.nan
    # S = Σ_i Σ w (x − x̄_i)(x − x̄_i)ᵀ / (n₁ + n₂ − 2)
    all_df = old.total_weight + new.total_weight - 2
    old_scatter = old.moments.pooled_scatter + old.moments.between_scatter
    new_scatter = new.moments.pooled_scatter + new.moments.between_scatter
    inverse_sizes = _inverse_sizes(old) + _inverse_sizes(new)
    v = (old_scatter + new_scatter) * inverse_sizes / max(all_df, 1e-300)
    scale = np.sqrt(np.diagonal(v))
    is_observed = (scale > 0) & (old.observed > 0) & (new.observed > 0)
    kept: Codes = np.flatnonzero(is_observed & ~_has_heavy_tails(old, new))
    # ν = n − 2, where n is the smallest number of observed cells in a kept column
    error_df = float((old.observed + new.observed)[kept].min(initial=all_df + 2)) - 2
    correlations = v[np.ix_(kept, kept)] / np.outer(scale[kept], scale[kept])
    values, vectors = np.linalg.eigh(correlations)
    delta = new.mean - old.mean
    z = vectors.T @ (delta[kept] / scale[kept])
    resolved = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    statistic = float(np.square(z[resolved] / np.sqrt(values[resolved])).sum())
    rank = int(resolved.sum())
    if rank < len(kept) and rank >= error_df:
        # too few rows: the rank of S is limited, and T² measures only some directions
        rank = len(kept)
    return statistic, rank, error_df


def _inverse_sizes(sample: _Sample) -> Floats:
    """Return 1/n; with missing cells, n_ij / (n_i n_j) for each pair of columns, (d, d)."""
    patterns = sample.moments.patterns
    if patterns is None:
        return np.asarray(1 / sample.total_weight)
    # Cov(x̄_i, x̄_j) = σ_ij n_ij / (n_i n_j), where n_ij is the weight of rows with both columns
    pairs = patterns.available_sums().product_weights.sum(0)
    sizes = np.maximum(np.diagonal(pairs), 1e-300)
    return np.asarray(pairs / sizes / sizes[:, None])


def _has_heavy_tails(old: _Sample, new: _Sample) -> Flags:
    """Return the features whose excess kurtosis exceeds half the rows of the smaller sample.

    The mean of such a feature is far from normal, so T² would be too large too often.
    """
    most = min(old.total_weight, new.total_weight) / 2
    total = old.total_weight + new.total_weight
    # the mean of an indicator is its share; entries of numbers are overwritten below
    shares = (old.total_weight * old.mean + new.total_weight * new.mean) / total
    # an indicator has κ − 3 = 1/(p (1 − p)) − 6
    excess = 1 / np.clip(shares * (1 - shares), 1e-300, None) - 6
    n_numbers = len(number_names(old.moments))
    for j in range(n_numbers):
        excess[j] = pooled_shape(old.column(j), new.column(j)).kurtosis - 3
    return np.nan_to_num(excess, nan=0.0) > most
