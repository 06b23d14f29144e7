"""The data at a glance: classes, columns, gaps, collinear columns, outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.curves import separation
from suffice.diagnostics.usable_columns import varying_columns
from suffice.reporting.blocks import Block, Fact, Facts, Section, Table, Text
from suffice.text.lists import listed, plural
from suffice.text.numbers import percent

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.reporting.outliers import Outliers
    from suffice.reporting.rows import Rows
    from suffice.typing import Floats

MOST_COLUMNS = 12  # of which the summary is shown
MOST_PAIRS = 8
COLLINEAR = 0.9  # correlation within classes that is worth a word


def glance(
    rows: Rows, sums: Moments, outliers: Outliers | None, figures: tuple[Block, ...]
) -> Section:
    """Return the section that says what the data is."""
    blocks: list[Block] = [_facts(rows, outliers), *(Text(note, "note") for note in rows.notes)]
    blocks += [_classes(rows), _columns(rows, sums)]
    blocks += [Text(text) for text in (_constant(rows), _collinear(rows, sums)) if text]
    pairs = _pairs(rows, sums)
    blocks += [pairs] if pairs.rows else []
    blocks += [Text(outliers.sentence)] if outliers is not None else []
    return Section("glance", "The data at a glance", (*blocks, *figures))


def _facts(rows: Rows, outliers: Outliers | None) -> Facts:
    items = [
        Fact("rows", f"{rows.n_rows:,}", "weighted" if rows.weight is not None else ""),
        Fact("features", f"{rows.n_features:,}"),
        Fact("classes", f"{rows.n_classes:,}", f"of {rows.target}"),
    ]
    if outliers is not None:
        items.append(Fact("outliers", f"{outliers.n_flagged:,}", "by log density"))
    return Facts(tuple(items))


def _classes(rows: Rows) -> Table:
    counts = np.bincount(rows.codes, minlength=rows.n_classes)
    order = np.arange(rows.n_classes) if rows.n_classes <= 30 else np.argsort(-counts)[:30]
    more = f"The 30 largest of {rows.n_classes:,} classes." if rows.n_classes > 30 else ""
    return Table(
        f"Classes of {rows.target}",
        ("class", "rows", "share"),
        ("text", "count", "percent"),
        tuple((rows.class_names[k], int(counts[k]), counts[k] / rows.n_rows) for k in order),
        note=more,
    )


def _columns(rows: Rows, sums: Moments) -> Table:
    """Return the columns, those that separate classes most first."""
    ratio = separation(sums)
    order = np.argsort(-np.nan_to_num(ratio, posinf=np.inf), kind="stable")[:MOST_COLUMNS]
    low, high = rows.x.min(0), rows.x.max(0)
    deviation = np.sqrt(_total_variances(sums))
    body = [
        (
            rows.names[j],
            float(sums.grand_mean[j]),
            float(deviation[j]),
            float(low[j]),
            float(high[j]),
            float(ratio[j] / (1 + ratio[j])) if np.isfinite(ratio[j]) else 1.0,
        )
        for j in order
    ]
    more = len(rows.names) - len(order)
    return Table(
        "Features, those that separate the classes most first",
        ("feature", "mean", "deviation", "least", "greatest", "variance between classes"),
        ("text", "number", "number", "number", "number", "percent"),
        tuple(body),
        note=f"{plural(more, 'more feature')} not shown." if more else "",
    )


def _total_variances(sums: Moments) -> Floats:
    between = sums.weights @ np.square(sums.centred_means)
    total: Floats = (sums.diagonals.sum(axis=0) + between) / sums.total_weight
    return total


def _constant(rows: Rows) -> str:
    flat = [rows.names[j] for j in np.flatnonzero(rows.x.max(0) == rows.x.min(0))]
    if not flat:
        return ""
    verb = "is" if len(flat) == 1 else "are"
    return f"{listed(flat)} {verb} constant: nothing can be learnt from that."


def _collinear(rows: Rows, sums: Moments) -> str:
    """Return what to say of columns that are combinations of others."""
    varying = np.flatnonzero(rows.x.max(0) > rows.x.min(0))
    lost = np.setdiff1d(varying, varying_columns(sums))
    names = [rows.names[j] for j in lost]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return (
        f"Within classes {listed(names)} {verb} constant or a combination of other columns; the "
        "model borrows what variance is missing, and such columns can be dropped."
    )


def _pairs(rows: Rows, sums: Moments) -> Table:
    """Return the pairs of columns most alike within classes."""
    found: list[tuple[Any, ...]] = []
    if sums.storage != "diagonal" and rows.n_features > 1:
        r = _correlations(sums)
        i, j = np.triu_indices(rows.n_features, 1)
        order = np.argsort(-np.abs(r[i, j]), kind="stable")[:MOST_PAIRS]
        kept = [p for p in order if abs(r[i[p], j[p]]) >= COLLINEAR]
        found = [(rows.names[i[p]], rows.names[j[p]], float(r[i[p], j[p]])) for p in kept]
    return Table(
        f"Collinear columns: correlation within classes of {COLLINEAR} or more",
        ("column", "and", "correlation"),
        ("text", "text", "number"),
        tuple(found),
        note="Linear coefficients of such columns are not to be read one by one.",
    )


def _correlations(sums: Moments) -> Floats:
    scatter = sums.pooled_scatter
    scale = np.sqrt(np.maximum(np.diagonal(scatter), 0))
    units = np.outer(scale, scale)
    r: Floats = np.divide(scatter, units, out=np.zeros_like(units), where=units > 0)
    return r


def summary(rows: Rows) -> str:
    """Return the size of the data in words."""
    counts = np.bincount(rows.codes, minlength=rows.n_classes)
    guess = 1 - counts.max() / rows.n_rows
    return (
        f"{plural(rows.n_rows, 'row')} of {plural(rows.n_features, 'feature')} in "
        f"{plural(rows.n_classes, 'class')} of {rows.target}; always naming the largest class "
        f"would be wrong for {percent(guess)} of the rows"
    )
