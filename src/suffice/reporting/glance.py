"""The data at a glance: columns, gaps, classes, suspects, features by separation, outliers."""

from typing import Any

import numpy as np

from suffice.curves.feature_separation import separation
from suffice.diagnostics.diagnostic import varying_columns
from suffice.moments import Moments
from suffice.reporting import blocks as page
from suffice.reporting.charts import distributions
from suffice.reporting.choosing import Findings
from suffice.reporting.documented import DocumentedTable
from suffice.reporting.misclassified import Outliers
from suffice.text.lists import listed, plural, shortened
from suffice.text.numbers import percent

MOST_CLASSES, MOST_COLUMNS, MOST_FEATURES = 12, 15, 15  # of which the summary is shown
MOST_PAIRS, MOST_PATTERNS, MOST_GAPS = 8, 8, 10
COLLINEAR = 0.9  # correlation within classes that is worth a word


def glance(f: Findings, outliers: Outliers | None) -> page.Section:
    """Return the section that says what the data is."""
    data, checks = f.data, f.checks
    suspects = [f"Column {s.column!r} {s.why}." for s in (*checks.suspects, *checks.impossible)]
    told = (_constant(data), _collinear(f.sample))
    blocks: list[page.Block] = [
        _facts(data, checks, outliers),
        *(page.Paragraph(f"{note}.", "note") for note in data.notes),
        *(page.Paragraph(note, "caution") for note in suspects),
        _classes(data),
        _separation(f),
        *distributions(f),
        _columns(data),
        *_gaps(data),
        *(page.Paragraph(text) for text in told if text),
        *_pairs(data, f.moments),
        *([page.Paragraph(outliers.sentence)] if outliers is not None else []),
    ]
    return page.Section("data", "The data", tuple(blocks))


def _facts(data: DocumentedTable, checks: Any, outliers: Outliers | None) -> page.Facts:
    empty = sum(int(p.empty.sum()) for p in data.profiles)
    cells, n = data.table.n_rows * max(len(data.profiles), 1), checks.n_conflicting
    conflicting = f"{n:,} rows are equal in all but the class" if n else ""
    items = [
        page.Fact("rows", data.table.n_rows, "weighted" if data.table.weight is not None else ""),
        page.Fact("columns" if data.source is not None else "features", len(data.columns)),
        page.Fact("classes", data.table.n_classes, f"column {data.target}"),
        page.Fact("empty cells", empty, f"{percent(empty / cells)} of all" if empty else ""),
    ]
    if checks.has_many_values:  # else rows are equal by chance
        items.append(page.Fact("duplicate rows", checks.n_duplicates, conflicting))
    if outliers is not None:
        items.append(page.Fact("outliers", outliers.n_flagged, "by log density"))
    return page.Facts(tuple(page.Fact(f.name, f.value, f.remark, "count") for f in items))


def _classes(data: DocumentedTable) -> page.Intervals | page.Paragraph:
    counts = np.bincount(data.table.codes, minlength=data.table.n_classes)
    many = len(counts) > MOST_CLASSES
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES] if many else range(len(counts))
    items = tuple(
        page.Interval(data.class_names[k], int(counts[k]), percent(counts[k] / counts.sum()))
        for k in order
    )
    few = f"The {MOST_CLASSES} largest of {len(counts):,} classes." if many else ""
    if many and counts.min() == counts.max():
        each = plural(int(counts[0]), "row")
        return page.Paragraph(f"Each of the {len(counts):,} classes has {each}.")
    return page.Intervals("Rows of each class", "rows", "count", items, few)


def _separation(f: Findings) -> page.Intervals:
    """Return the features by how much of their variance lies between the classes."""
    between, order = 1 - 1 / (1 + separation(f.moments)), f.ranked_features[:MOST_FEATURES]
    items = tuple(page.Interval(f.data.names[j], float(between[j])) for j in order)
    more = len(f.data.names) - len(order)
    few = f"{plural(more, 'more feature')} not shown." if more else ""
    axis = "share of the variance that lies between the classes"
    return page.Intervals("Features by separation", axis, "percent", items, few)


def _columns(data: DocumentedTable) -> page.DataTable:
    body = []
    for p in data.profiles[:MOST_COLUMNS]:
        known = p.values[~p.empty] if p.kind == "number" else np.full(1, np.nan)
        known = known if len(known) else np.full(1, np.nan)
        spread = (known.mean(), known.std(), known.min(), known.max())
        distinct = p.distinct if not p.kind.startswith("not used") else None
        body.append((p.name, p.kind, int(p.empty.sum()), distinct, *map(float, spread)))
    more = len(data.profiles) - len(body)
    return page.DataTable(
        "Columns",
        ("column", "type", "empty", "distinct", "mean", "standard deviation", "min", "max"),
        ("text", "text", "count", "count", *["number"] * 4),
        tuple(body),
        note=f"{plural(more, 'more column')} not shown." if more else "",
    )


def _gaps(data: DocumentedTable) -> tuple[page.DataTable, ...]:
    """Return which cells are empty together, the most frequent patterns first."""
    holed = sorted((p for p in data.profiles if p.empty.any()), key=lambda p: -p.empty.sum())
    shown = holed[:MOST_GAPS]
    if len(shown) < 2:
        return ()
    patterns, counts = np.unique(np.stack([p.empty for p in shown], 1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_PATTERNS]
    body = tuple((int(counts[i]), *("□" if gap else "■" for gap in patterns[i])) for i in order)
    head = ("rows", *shortened([p.name for p in shown]))
    note = (
        f"■ known, □ empty; shown: {len(order)} of {plural(len(counts), 'pattern')}, the most "
        f"frequent first, and {len(shown)} of {plural(len(holed), 'column')} with empty cells."
    )
    caption, styles = "Which cells are empty together", ("count", *["text"] * len(shown))
    return (page.DataTable(caption, head, styles, body, note),)


def _constant(data: DocumentedTable) -> str:
    flat = [data.names[j] for j in np.flatnonzero(data.table.x.max(0) == data.table.x.min(0))]
    if not flat:
        return ""
    verb = "is" if len(flat) == 1 else "are"
    return f"Nothing can be learnt from {listed(flat)}, which {verb} constant."


def _collinear(sample: DocumentedTable) -> str:
    """Return what to say of columns that are combinations of others."""
    x = sample.table.x
    varying = np.flatnonzero(x.max(0) > x.min(0))
    # all rows as one class: a column that differs between classes alone is no combination
    lost = np.setdiff1d(varying, varying_columns(Moments.of(x, np.zeros(len(x)))))
    if not len(lost):
        return ""
    named = listed([sample.names[j] for j in lost])
    are = "is a combination" if len(lost) == 1 else "are combinations"
    return f"To a linear model nothing is added by {named}, which {are} of other columns."


def _pairs(data: DocumentedTable, moments: Moments) -> tuple[page.DataTable, ...]:
    """Return the pairs of columns most alike within classes."""
    if moments.storage == "diagonal" or data.table.n_features < 2:
        return ()
    scatter = moments.pooled_scatter
    scale = np.sqrt(np.maximum(np.diagonal(scatter), 0))
    units = np.outer(scale, scale)
    r = np.divide(scatter, units, out=np.zeros_like(units), where=units > 0)
    i, j = np.triu_indices(data.table.n_features, 1)
    order = np.argsort(-np.abs(r[i, j]), kind="stable")[:MOST_PAIRS]
    kept = [(i[p], j[p]) for p in order if abs(r[i[p], j[p]]) >= COLLINEAR]
    found = tuple((data.names[a], data.names[b], float(r[a, b])) for a, b in kept)
    caption = f"Collinear columns: correlation within classes of {COLLINEAR} or more"
    note = "Linear coefficients of such columns are not to be read one by one."
    head, styles = ("column", "and", "correlation"), ("text", "text", "loss")
    return (page.DataTable(caption, head, styles, found, note),) if found else ()


def summary(data: DocumentedTable) -> str:
    """Return the size of the data in words."""
    table = data.table
    what = plural(len(data.columns), "feature" if data.source is None else "column")
    return (
        f"{plural(table.n_rows, 'row')} of {what} in "
        f"{plural(table.n_classes, 'class')} (column {data.target})"
    )
