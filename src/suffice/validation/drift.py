"""Have the rows changed since a model was fitted? From moments of both, column by column."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtr

from suffice.drawing import draw
from suffice.errors import InvalidInputError
from suffice.moments import Moments
from suffice.moments.merging import aligned, under_schema
from suffice.table import Table
from suffice.table.schema import Schema
from suffice.text.lists import quoted
from suffice.text.numbers import p_statement
from suffice.text.tables import Row, Tabled
from suffice.typing import Codes, Floats
from suffice.validation.predictions import LEVEL, holm


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """How one column differs between the rows of fit and new rows."""

    column: str
    what: str  # "mean", "spread", "levels" or "missing"
    before: float  # mean or spread of a number, share of the level that changed most
    after: float
    effect: float  # in standard deviations, or the total variation distance of the shares
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Tabled):
    """Whether p(x) has moved since the fit: a test of each column, and one of all together."""

    columns: tuple[ColumnDrift, ...]
    statistic: float  # δᵀ (V₁/n₁ + V₂/n₂)⁻¹ δ of all features together
    df: int
    n_before: float
    n_after: float

    @property
    def p_value(self) -> float:
        """Of all means and shares together: χ² with ``df`` degrees of freedom."""
        return float(chdtrc(self.df, self.statistic)) if self.df else np.nan

    @property
    def adjusted_p_values(self) -> Floats:
        """Of each column, adjusted for the number of tests by Holm's rule."""
        return holm(np.array([c.p_value for c in self.columns]))

    @property
    def moved(self) -> tuple[str, ...]:
        """Columns that differ significantly at the 5 % level, largest effect first."""
        pairs = zip(self.columns, self.adjusted_p_values, strict=True)
        order = sorted((c for c, p in pairs if p <= LEVEL), key=lambda c: -abs(c.effect))
        return tuple(dict.fromkeys(c.column for c in order))

    def rows(self) -> list[Row]:
        """Return a row per column and question, largest effect first."""
        pairs = zip(self.columns, self.adjusted_p_values.tolist(), strict=True)
        rows = [{**asdict(c), "p_adjusted": p, "moved": bool(p <= LEVEL)} for c, p in pairs]
        return sorted(rows, key=lambda row: -abs(row["effect"]))

    def plot(self, ax: Any = None) -> Any:
        """Draw the effect of each column, those that moved significantly filled."""
        return draw("drift", self, ax)

    def __repr__(self) -> str:
        found = self.moved
        what = f"moved: {quoted(found, 6)}" if found else "no column has moved significantly"
        rows = f"{self.n_after:g} rows against {self.n_before:g} of the fit"
        together = "" if np.isnan(self.p_value) else f"; all together {p_statement(self.p_value)}"
        return f"Drift({rows}: {what}{together})"


def rows_like(moments: Moments, X: Any, sample_weight: Any = None) -> Moments:
    """Return the moments of rows without labels, taken as those of a fit were; levels their own."""
    n_rows, schema = X.shape[0] if hasattr(X, "shape") else len(X), moments.schema
    reading: dict[str, Any] = {"classes": moments.classes}
    if schema is not None:
        reading["categorical"] = [c.name for c in schema.categories]
        reading["missing"] = "indicator" if len(schema.filled) else "marginal"
    table = Table.of(X, np.repeat(moments.classes[:1], n_rows), sample_weight, **reading)
    if schema is None:  # an array has the columns of the fit, in their order
        table = table.with_rows(table.x, table.names or moments.feature_names)
    alike: Any = {"storage": moments.storage, "power": moments.power}
    return Moments.of_table(table, fourth=False, holes=True, **alike)


def _alike(before: Moments, after: Moments) -> tuple[Moments, Moments]:
    """Return both over the same features; what the fit counted as other levels stays so."""
    if before.schema is not None and after.schema is not None:
        known = {c.name: c for c in before.schema.categories if c.other}
        both = before.schema.merged(after.schema).columns
        schema = Schema(tuple(known.get(c.name, c) for c in both))
        before, after = under_schema(before, schema), under_schema(after, schema)
    before = replace(before, log_slopes=None)
    return aligned(before, replace(after, power=before.power, log_slopes=None))


def drift(before: Moments, after: Moments, kurtosis: Mapping[str, float] | None = None) -> Drift:
    """Return how rows differ from those of a fit; spreads are tested at kurtosis 3 if unknown."""
    old, new = map(_of_all_classes, _alike(before, after))
    for m, which in ((old, "the fit"), (new, "the new rows")):
        if not m.total_weight > 1:
            raise InvalidInputError(f"{which}: weight {m.total_weight:g} is too little for a test")
    columns = (*_numbers(old, new, kurtosis or {}), *_levels(old, new))
    statistic, df = _together(old, new)
    return Drift(columns, statistic, df, old.total_weight, new.total_weight)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """The moments of all rows, whatever their classes."""

    moments: Moments
    total_weight: float
    mean: Floats  # (D,)
    variances: Floats  # (D,)
    observed: Floats  # weight of the rows that have each number  (D,)


def _of_all_classes(m: Moments) -> _Sample:
    between = np.diagonal(m.between_scatter)
    variances = (m.scatter.pooled_diagonal() + between) / max(m.total_weight, 1e-300)
    mean, observed = m.grand_mean, np.full(m.n_features, m.total_weight)
    if m.patterns is not None:  # of each column, the rows that have it
        by_class = m.patterns.by_column().cells.weights
        observed = by_class.sum(0)
        shares = by_class / np.maximum(observed, 1e-300)
        mean = mean + (shares * (m.means - mean + m.means_low)).sum(0)
        if m.storage != "pooled":
            within = m.diagonals / np.maximum(m.weights, 1e-300)[:, None]
            variances = (shares * (within + np.square(m.means - mean))).sum(0)
    return _Sample(m, m.total_weight, mean, variances, observed)


def _numbers(old: _Sample, new: _Sample, kurtosis: Mapping[str, float]) -> Iterator[ColumnDrift]:
    schema = old.moments.schema
    for j in range(old.moments.n_features if schema is None else schema.n_numbers):
        name = old.moments.feature_names[j] if old.moments.feature_names else f"x{j}"
        scale, n, m = np.sqrt(old.variances[j]), old.observed[j], new.observed[j]
        gaps = np.array([[old.total_weight - n, n], [new.total_weight - m, m]])
        if gaps[:, 0].any():
            yield _of_shares(name, "missing", gaps)
        if n < 2 or m < 2:
            continue
        change = new.mean[j] - old.mean[j]
        # t = (x̄₂ − x̄₁) / √(s₁²/n₁ + s₂²/n₂)
        error = np.sqrt(old.variances[j] / n + new.variances[j] / m)
        effect = change / scale if scale > 0 else np.inf * np.sign(change) if change else 0.0
        yield ColumnDrift(name, "mean", old.mean[j], new.mean[j], effect, _two_sided(change, error))
        if old.variances[j] > 0 and new.variances[j] > 0:
            ratio = 0.5 * np.log(new.variances[j] / old.variances[j])
            # Var log s ≈ (κ − 1) / (4n)
            p = _two_sided(ratio, np.sqrt((kurtosis.get(name, 3.0) - 1) / 4 * (1 / n + 1 / m)))
            before, after = np.sqrt([old.variances[j], new.variances[j]]).tolist()
            yield ColumnDrift(name, "spread", before, after, float(ratio), p)


def _levels(old: _Sample, new: _Sample) -> Iterator[ColumnDrift]:
    schema = old.moments.schema
    if schema is None:
        return
    starts = schema.n_numbers + schema.starts
    named = [(schema.numbers[j].name, "missing") for j in schema.filled]
    named += [(c.name, "levels") for c in schema.categories]
    for (name, what), lo, hi in zip(named, starts[:-1], starts[1:], strict=True):
        counts = np.stack([m.total_weight * m.mean[lo:hi] for m in (old, new)])
        if what == "missing":
            weights = np.array([old.total_weight, new.total_weight])
            counts = np.stack([counts[:, 0], weights - counts[:, 0]], 1)
        yield _of_shares(name, what, counts)


def _of_shares(name: str, what: str, counts: Floats) -> ColumnDrift:
    """Return the χ² test that two rows of counts have the same shares."""
    counts = counts[:, counts.sum(0) > 0]
    shares = counts / counts.sum(1, keepdims=True)
    most = 0 if what == "missing" else int(np.argmax(np.abs(shares[1] - shares[0])))
    # Σ (observed − expected)² / expected
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    statistic, df = (np.square(counts - expected) / expected).sum(), counts.shape[1] - 1
    p = float(chdtrc(df, statistic)) if df else np.nan
    effect = 0.5 * float(np.abs(shares[1] - shares[0]).sum())
    before, after = shares[:, most].tolist()
    return ColumnDrift(name, what, before, after, effect, p)


def _together(old: _Sample, new: _Sample) -> tuple[float, int]:
    """Return δᵀ (V₁/n₁ + V₂/n₂)⁻¹ δ of all means, and the rank of the matrix."""
    delta, both = new.mean - old.mean, (old.moments, new.moments)
    if any(m.storage == "diagonal" for m in both):
        return np.nan, 0
    v = np.add(*((m.pooled_scatter + m.between_scatter) / m.total_weight**2 for m in both))
    scale = np.sqrt(np.diagonal(v))
    kept: Codes = np.flatnonzero((scale > 0) & (old.observed > 0) & (new.observed > 0))
    values, vectors = np.linalg.eigh(v[np.ix_(kept, kept)] / np.outer(scale[kept], scale[kept]))
    z = vectors.T @ (delta[kept] / scale[kept])
    good = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    return float(np.square(z[good] / np.sqrt(values[good])).sum()), int(good.sum())


def _two_sided(difference: float, error: float) -> float:
    if not error > 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * ndtr(-abs(difference / error)))
