"""The data at a glance: classes, columns, gaps, collinear columns, outliers."""

from typing import Any

import numpy as np

from suffice.curves.importance import separation
from suffice.diagnostics.usable_columns import varying_columns
from suffice.estimation.divisors import total_variances
from suffice.moments import Moments
from suffice.reporting.blocks import Block, DataTable, Fact, Facts, Paragraph, Section
from suffice.reporting.documented import DocumentedTable
from suffice.reporting.misclassified import Outliers
from suffice.text.lists import listed, plural
from suffice.text.numbers import percent
from suffice.typing import Floats

MOST_CLASSES, MOST_COLUMNS = 30, 12  # of which the summary is shown
MOST_PAIRS = 8
COLLINEAR = 0.9  # correlation within classes that is worth a word


def glance(
    data: DocumentedTable, moments: Moments, outliers: Outliers | None, figures: tuple[Block, ...]
) -> Section:
    """Return the section that says what the data is."""
    blocks: list[Block] = [
        _facts(data, outliers),
        *(Paragraph(note, "note") for note in data.notes),
    ]
    blocks += [_classes(data), _columns(data, moments)]
    blocks += [Paragraph(text) for text in (_constant(data), _collinear(data, moments)) if text]
    pairs = _pairs(data, moments)
    blocks += [pairs] if pairs.rows else []
    blocks += [Paragraph(outliers.sentence)] if outliers is not None else []
    return Section("glance", "The data at a glance", (*blocks, *figures))


def _facts(data: DocumentedTable, outliers: Outliers | None) -> Facts:
    items = [
        Fact("rows", f"{data.table.n_rows:,}", "weighted" if data.table.weight is not None else ""),
        Fact("columns" if data.source is not None else "features", f"{len(data.columns):,}"),
        Fact("classes", f"{data.table.n_classes:,}", f"of {data.target}"),
    ]
    if outliers is not None:
        items.append(Fact("outliers", f"{outliers.n_flagged:,}", "by log density"))
    return Facts(tuple(items))


def _classes(data: DocumentedTable) -> DataTable:
    counts = np.bincount(data.table.codes, minlength=data.table.n_classes)
    many = len(counts) > MOST_CLASSES
    order = np.argsort(-counts)[:MOST_CLASSES] if many else np.arange(len(counts))
    return DataTable(
        f"Classes of {data.target}",
        ("class", "rows", "share"),
        ("text", "count", "percent"),
        tuple((data.class_names[k], int(counts[k]), counts[k] / data.table.n_rows) for k in order),
        note=f"The {MOST_CLASSES} largest of {len(counts):,} classes." if many else "",
    )


def _columns(data: DocumentedTable, moments: Moments) -> DataTable:
    """Return the columns, those that separate classes most first."""
    ratio = separation(moments)
    order = np.argsort(-np.nan_to_num(ratio, posinf=np.inf), kind="stable")[:MOST_COLUMNS]
    low, high = data.table.x.min(0), data.table.x.max(0)
    deviation = np.sqrt(total_variances(moments))
    between = 1 - 1 / (1 + ratio)  # share of the variance
    numbers = np.stack([moments.grand_mean, deviation, low, high, between], axis=1)
    body = [(data.names[j], *numbers[j].tolist()) for j in order]
    more = len(data.names) - len(order)
    return DataTable(
        "Features, those that separate the classes most first",
        ("feature", "mean", "standard deviation", "min", "max", "variance between classes"),
        ("text", "number", "number", "number", "number", "percent"),
        tuple(body),
        note=f"{plural(more, 'more feature')} not shown." if more else "",
    )


def _constant(data: DocumentedTable) -> str:
    flat = [data.names[j] for j in np.flatnonzero(data.table.x.max(0) == data.table.x.min(0))]
    if not flat:
        return ""
    verb = "is" if len(flat) == 1 else "are"
    return f"{listed(flat)} {verb} constant: nothing can be learnt from that."


def _collinear(data: DocumentedTable, moments: Moments) -> str:
    """Return what to say of columns that are combinations of others."""
    varying = np.flatnonzero(data.table.x.max(0) > data.table.x.min(0))
    lost = np.setdiff1d(varying, varying_columns(moments))
    names = [data.names[j] for j in lost]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return (
        f"Within classes {listed(names)} {verb} constant or a combination of other columns; the "
        "model borrows what variance is missing, and such columns can be dropped."
    )


def _pairs(data: DocumentedTable, moments: Moments) -> DataTable:
    """Return the pairs of columns most alike within classes."""
    found: list[tuple[Any, ...]] = []
    if moments.storage != "diagonal" and data.table.n_features > 1:
        r = _correlations(moments)
        i, j = np.triu_indices(data.table.n_features, 1)
        order = np.argsort(-np.abs(r[i, j]), kind="stable")[:MOST_PAIRS]
        kept = [p for p in order if abs(r[i[p], j[p]]) >= COLLINEAR]
        found = [(data.names[i[p]], data.names[j[p]], float(r[i[p], j[p]])) for p in kept]
    return DataTable(
        f"Collinear columns: correlation within classes of {COLLINEAR} or more",
        ("column", "and", "correlation"),
        ("text", "text", "number"),
        tuple(found),
        note="Linear coefficients of such columns are not to be read one by one.",
    )


def _correlations(moments: Moments) -> Floats:
    scatter = moments.pooled_scatter
    scale = np.sqrt(np.maximum(np.diagonal(scatter), 0))
    units = np.outer(scale, scale)
    r: Floats = np.divide(scatter, units, out=np.zeros_like(units), where=units > 0)
    return r


def summary(data: DocumentedTable) -> str:
    """Return the size of the data in words."""
    table = data.table
    guess = 1 - np.bincount(table.codes).max() / table.n_rows
    what = plural(len(data.columns), "feature" if data.source is None else "column")
    return (
        f"{plural(table.n_rows, 'row')} of {what} in "
        f"{plural(table.n_classes, 'class')} of {data.target}; always predicting the largest class "
        f"would be wrong for {percent(guess)} of the rows"
    )
