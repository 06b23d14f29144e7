"""Have the rows changed since a model was fitted? From moments of both, column by column."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import fdtr, fdtrc, gammaincc, stdtr

from suffice.core.decision.predictions import LEVEL, holm
from suffice.core.linalg import unit_scale
from suffice.core.moments import Moments
from suffice.core.moments.merging import aligned
from suffice.core.moments.schema_change import under_schema
from suffice.core.table import Table
from suffice.core.table.schema import Schema
from suffice.core.text.lists import quoted
from suffice.core.text.numbers import p_statement
from suffice.core.text.tables import Row, Tabled
from suffice.drawing import draw
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats


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
    statistic: float  # T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ of all features together, S of both samples
    df: int
    error_df: float  # ν, degrees of freedom of S
    n_before: float
    n_after: float

    @property
    def p_value(self) -> float:
        """Of all means and shares together (Hotelling 1931); NaN of fewer rows than features."""
        left = self.error_df - self.df + 1
        if not (self.df and left > 0):
            return np.nan
        # T² (ν − d + 1) / (ν d) ~ F(d, ν − d + 1)
        return float(fdtrc(self.df, left, self.statistic * left / (self.error_df * self.df)))

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
        together = (
            "" if np.isnan(self.p_value) else f"; all together {p_statement(self.p_value)}"
        )
        return f"Drift({rows}: {what}{together})"


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """The sums of rows, whatever their classes, taken as those of a fit were."""

    moments: Moments
    # Σ w zᵖ of each number, p = 0 … 4, z in deviations of the fit; none where rows are gone
    powers: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def like(cls, fit: Moments, X: Any, sample_weight: Any = None) -> Self:
        """Return the sums of rows without labels, categories by levels of their own."""
        n_rows, schema = X.shape[0] if hasattr(X, "shape") else len(X), fit.schema
        reading: dict[str, Any] = {"classes": fit.classes}
        if schema is not None:
            reading["categorical"] = [c.name for c in schema.categories]
            reading["missing"] = "indicator" if len(schema.filled) else "marginal"
        table = Table.of(X, np.repeat(fit.classes[:1], n_rows), sample_weight, **reading)
        if schema is None:  # an array has the columns of the fit, in their order
            table = table.with_rows(table.x, table.names or fit.feature_names)
        alike: Any = {"storage": fit.storage, "power": fit.power}
        moments = Moments.of_table(table, fourth=False, holes=True, **alike)
        return cls(moments, dict(_powers(fit, table)))

    def __add__(self, other: Self) -> Self:
        powers = {name: sums + other.powers[name] for name, sums in self.powers.items()}
        return type(self)(self.moments + other.moments, powers)


def _powers(fit: Moments, table: Table) -> Iterator[tuple[str, Floats]]:
    """Yield Σ w zᵖ of each column of numbers, p = 0 … 4, of the cells that are not empty."""
    places = {name: j for j, name in enumerate(_number_names(fit))}
    power = None if fit.power is None else fit.power.select(np.arange(len(places)))
    x = table.x if power is None else power.apply_observed(table.x)
    scale = unit_scale(fit.total_variances)
    for name, column in zip(_number_names(table), x.T, strict=False):
        if name in places:
            known, at = np.isfinite(column), places[name]
            z = (column[known] - fit.grand_mean[at]) / scale[at]
            yield name, np.vander(z, 5, increasing=True).T @ table.weights[known]


def _number_names(rows: Moments | Table) -> list[str]:
    if rows.schema is not None:
        return [column.name for column in rows.schema.numbers]
    names = rows.names if isinstance(rows, Table) else rows.feature_names
    return [*(names or (f"x{j}" for j in range(rows.n_features)))]


def _kurtosis(name: str, before: RowSums, after: RowSums) -> float:
    """Return E(x − μ)⁴ / σ⁴, both samples about their own means."""
    # of few rows it comes out too small: without those of the fit, no less than a Gaussian's
    known = [sums.powers[name] for sums in (before, after) if name in sums.powers]
    w, m1, m2, m3, m4 = np.array([[s[0], *(s[1:] / max(s[0], 1e-300))] for s in known]).T
    second, fourth = w @ (m2 - m1**2), w @ (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4)
    return float(
        np.fmax(fourth * w.sum() / max(second**2, 1e-300), 2.0 if len(known) > 1 else 3.0)
    )


def _alike(before: Moments, after: Moments) -> tuple[Moments, Moments]:
    """Return both over the same features; what the fit counted as other levels stays so."""
    if before.schema is not None and after.schema is not None:
        known = {c.name: c for c in before.schema.categories if c.other}
        both = before.schema.merged(after.schema).columns
        schema = Schema(tuple(known.get(c.name, c) for c in both))
        before, after = under_schema(before, schema), under_schema(after, schema)
    before = replace(before, log_slopes=None)
    return aligned(before, replace(after, power=before.power, log_slopes=None))


def drift(before: RowSums, after: RowSums) -> Drift:
    """Return how rows differ from those of a fit."""
    old, new = map(_of_all_classes, _alike(before.moments, after.moments))
    for m, which in ((old, "the fit"), (new, "the new rows")):
        if not m.total_weight > 1:
            raise InvalidInputError(
                f"{which}: weight {m.total_weight:g} is too little for a test"
            )
    kurtosis = {name: _kurtosis(name, before, after) for name in after.powers}
    columns = (*_numbers(old, new, kurtosis), *_levels(old, new))
    return Drift(columns, *_together(old, new), old.total_weight, new.total_weight)


class _Sample(NamedTuple):
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
        by_class = m.patterns.by_column().column_sums.weights
        observed = by_class.sum(0)
        shares = by_class / np.maximum(observed, 1e-300)
        mean = mean + (shares * (m.means - mean + m.means_low)).sum(0)
        if m.storage != "pooled":
            within = m.diagonals / np.maximum(m.weights, 1e-300)[:, None]
            variances = (shares * (within + np.square(m.means - mean))).sum(0)
    return _Sample(m, m.total_weight, mean, variances, observed)


def _numbers(
    old: _Sample,
    new: _Sample,
    kurtosis: Mapping[str, float],
) -> Iterator[ColumnDrift]:
    for j, name in enumerate(_number_names(old.moments)):
        scale, n, m = np.sqrt(old.variances[j]), old.observed[j], new.observed[j]
        gaps = np.array([[old.total_weight - n, n], [new.total_weight - m, m]])
        if gaps[:, 0].any():
            yield _of_shares(name, "missing", gaps)
        if n < 2 or m < 2:
            continue
        change = new.mean[j] - old.mean[j]
        # t = (x̄₂ − x̄₁) / √(s₁²/n₁ + s₂²/n₂), by Welch's degrees of freedom
        a, b = old.variances[j] / (n - 1), new.variances[j] / (m - 1)
        share = a / (a + b) if a + b > 0 else 0.5
        df = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
        effect = change / scale if scale > 0 else np.inf * np.sign(change) if change else 0.0
        p = (
            float(2 * stdtr(df, -abs(change / np.sqrt(a + b))))
            if a + b > 0
            else float(not change)
        )
        yield ColumnDrift(name, "mean", old.mean[j], new.mean[j], effect, p)
        if old.variances[j] > 0 and new.variances[j] > 0:
            # s₂²/s₁² ~ F, its degrees of freedom times 2 / (κ − 1) (Box & Andersen 1955)
            share = 2 / (kurtosis.get(name, 3.0) - 1)
            ratio = share * (m - 1), share * (n - 1), float(b * m / (a * n))
            p = min(2 * float(min(fdtr(*ratio), fdtrc(*ratio))), 1.0)
            before, after = np.sqrt([old.variances[j], new.variances[j]]).tolist()
            yield ColumnDrift(name, "spread", before, after, float(np.log(after / before)), p)


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
    """Return the χ² test that two rows of counts have the same shares, rare levels or not."""
    counts = counts[:, counts.sum(0) > 0]
    shares = counts / counts.sum(1, keepdims=True)
    most = 0 if what == "missing" else int(np.argmax(np.abs(shares[1] - shares[0])))
    # Σ (observed − expected)² / expected
    n, expected = counts.sum(), counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    statistic, df = (np.square(counts - expected) / expected).sum(), counts.shape[1] - 1
    p = np.nan
    if df and n > 3:
        # its mean and variance given the margins (Haldane 1940, *Biometrika* 31, 346–355), and the
        # gamma distribution that has these: χ² where there are many rows
        (v1, w1), (v2, w2) = (_margin(counts.sum(axis), n) for axis in (0, 1))
        variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
        mean = n * df / (n - 1)
        p = float(gammaincc(mean**2 / variance, statistic * mean / variance))
    effect = 0.5 * float(np.abs(shares[1] - shares[0]).sum())
    before, after = shares[:, most].tolist()
    return ColumnDrift(name, what, before, after, effect, p)


def _margin(totals: Floats, n: float) -> tuple[float, float]:
    k = len(totals)
    return (k - 1) * (n - k) / (n - 1), float((n / totals).sum() - k**2) / (n - 2)


def _together(old: _Sample, new: _Sample) -> tuple[float, int, float]:
    """Return T² = δᵀ (S/n₁ + S/n₂)⁻¹ δ of all means, the rank of S, and its degrees of freedom."""
    delta, both = new.mean - old.mean, (old.moments, new.moments)
    if any(m.storage == "diagonal" for m in both):
        return np.nan, 0, np.nan
    # S = Σ_i Σ w (x − x̄_i)(x − x̄_i)ᵀ / (n₁ + n₂ − 2)
    df, each = old.total_weight + new.total_weight - 2, sum(1 / m.total_weight for m in both)
    v = np.add(*(m.pooled_scatter + m.between_scatter for m in both)) * each / max(df, 1e-300)
    scale = np.sqrt(np.diagonal(v))
    kept: Codes = np.flatnonzero((scale > 0) & (old.observed > 0) & (new.observed > 0))
    values, vectors = np.linalg.eigh(
        v[np.ix_(kept, kept)] / np.outer(scale[kept], scale[kept])
    )
    z = vectors.T @ (delta[kept] / scale[kept])
    good = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
    return float(np.square(z[good] / np.sqrt(values[good])).sum()), int(good.sum()), df
