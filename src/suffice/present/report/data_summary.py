"""The data at a glance: columns, gaps, classes, suspects, features by separation, outliers."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from suffice.core.moments import Moments
from suffice.core.text.lists import listed, plural, shortened
from suffice.core.text.numbers import percent
from suffice.estimators.auto import AutoGaussian
from suffice.estimators.encoder import TableEncoder
from suffice.evaluate.curves.feature_separation import separation
from suffice.present.report import blocks as page
from suffice.present.report.charts import distributions
from suffice.present.report.choosing import Findings
from suffice.present.report.documented import DocumentedTable
from suffice.present.report.misclassified import Outliers

MOST_CLASSES, MOST_COLUMNS, MOST_FEATURES = 12, 30, 15  # of which the summary is shown
MOST_PAIRS, MOST_PATTERNS, MOST_GAPS = 8, 8, 10
COLLINEAR = 0.9  # correlation within classes that is worth a word
SCALES = (
    "low medium middle high",
    "small medium large",
    "mild moderate severe",
    "poor fair good",
)


def glance(f: Findings, outliers: Outliers | None) -> page.Section:
    """Return the section that says what the data is."""
    data, checks = f.data, f.checks
    suspects = [
        f"Column {s.column!r} {s.why}." for s in (*checks.suspects, *checks.impossible)
    ]
    notes = [
        *(f"{note}." for note in data.notes),
        *_constant(data),
        *_empty(f),
        *_ordered(data),
    ]
    blocks: list[page.Block] = [
        _facts(data, checks, outliers),
        *(page.Paragraph(note, "note") for note in notes),
        *(page.Paragraph(note, "caution") for note in suspects),
        _classes(data),
        _separation(f),
        *distributions(f),
        _columns(data),
        *_gaps(data),
        *_pairs(data, f.moments),
    ]
    return page.Section("data", "The data", tuple(blocks))


def _facts(data: DocumentedTable, checks: Any, outliers: Outliers | None) -> page.Facts:
    empty = sum(int(p.empty.sum()) for p in data.profiles)
    cells = data.table.n_rows * max(len(data.profiles), 1)
    copies = (
        "equal to an earlier row" if checks.has_many_values else "likely with so few values"
    )
    if checks.n_conflicting:
        copies += f"; {checks.n_conflicting:,} equal one of another class"
    fact = partial(page.Fact, style="count")
    items = [
        fact("rows", data.table.n_rows, "weighted" if data.table.weight is not None else ""),
        fact("columns" if data.source is not None else "features", len(data.columns)),
        fact("classes", data.table.n_classes, f"column {data.target}"),
        fact("empty cells", empty, f"{percent(empty / cells)} of all" if empty else ""),
        fact("repeated rows", checks.n_duplicates, copies if checks.n_duplicates else ""),
    ]
    if outliers is not None:
        items.append(fact("outliers", outliers.n_flagged, "by log density"))
    return page.Facts(tuple(items))


def _empty(f: Findings) -> Iterator[str]:
    """Yield the share of empty cells by column, and what the chosen model makes of them."""
    holed = sorted((p for p in f.data.profiles if p.empty.any()), key=lambda p: -p.empty.sum())
    told = [f"{p.name} ({p.empty.sum():,}, {percent(p.empty.mean())})" for p in holed]
    first = f.estimator[0] if isinstance(f.estimator, Pipeline) else f.estimator
    missing = getattr(first, "missing", "")
    how = (
        "judges a row by its other cells"
        if missing == "marginal"
        else "takes them as they are"
    )
    if isinstance(first, (TableEncoder, AutoGaussian)) or missing == "indicator":
        how = "takes the mean for an empty number and learns that it was empty"
    if told:
        yield f"Empty cells: {listed(told)}; {f.name} {how}, and charts show the mean."


def _ordered(data: DocumentedTable) -> Iterator[str]:
    """Yield what to say where the classes may have an order."""
    names = {name.lower() for name in data.class_names}
    numbers = all(re.fullmatch(r"[-+]?\d+(\.\d+)?", name) for name in names)
    if len(names) > 2 and (numbers or any(names <= {*scale.split()} for scale in SCALES)):
        what = "numbers" if numbers else "steps of a scale"
        yield f"The classes are {what}: if their order matters, no model here uses it."


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
    between, order = (
        1 - 1 / (1 + separation(f.moments)),
        _most(f.ranked_features, MOST_FEATURES),
    )
    items = tuple(page.Interval(f.data.names[j], float(between[j])) for j in order)
    more = len(f.data.names) - len(order)
    few = f"{plural(more, 'more feature')} not shown." if more else ""
    axis = "share of the variance that lies between the classes"
    return page.Intervals("Features by separation", axis, "percent", items, few)


def _columns(data: DocumentedTable) -> page.DataTable:
    body = []
    for p in _most(data.profiles, MOST_COLUMNS):
        known = p.values[~p.empty] if p.kind in ("number", "date") else np.zeros(0)
        known = known if len(known) else np.full(1, np.nan)
        spread: list[Any] = [float(each(known)) for each in (np.mean, np.std, np.min, np.max)]
        if p.kind == "date" and np.isfinite(spread[0]):  # its spread stays in days
            days = [str(np.datetime64(int(day // 1), "D")) for day in spread]
            spread = [days[0], spread[1], *days[2:]]
        distinct = p.distinct if not p.kind.startswith("not used") else None
        body.append((p.name, p.kind, float(p.empty.mean()), distinct, *spread))
    more = len(data.profiles) - len(body)
    return page.DataTable(
        "Columns",
        ("column", "type", "empty", "distinct", "mean", "standard deviation", "min", "max"),
        ("text", "text", "percent", "count", *["number"] * 4),
        tuple(body),
        note=f"{plural(more, 'more column')} not shown." if more else "",
    )


def _most(items: Any, most: int) -> Any:
    """Return the first of many, or all of a few more."""
    return items if len(items) <= 1.2 * most else items[:most]


def _gaps(data: DocumentedTable) -> tuple[page.DataTable, ...]:
    """Return which cells are empty together, the most frequent patterns first."""
    holed = sorted((p for p in data.profiles if p.empty.any()), key=lambda p: -p.empty.sum())
    shown = holed[:MOST_GAPS]
    if len(shown) < 2:
        return ()
    patterns, counts = np.unique(
        np.stack([p.empty for p in shown], 1), axis=0, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")[:MOST_PATTERNS]
    body = tuple(
        (int(counts[i]), *("□" if gap else "■" for gap in patterns[i])) for i in order
    )
    head = ("rows", *shortened([p.name for p in shown]))
    note = (
        f"■ known, □ empty; shown: {len(order)} of {plural(len(counts), 'pattern')}, the most "
        f"frequent first, and {len(shown)} of {plural(len(holed), 'column')} with empty cells."
    )
    caption, styles = "Which cells are empty together", ("count", *["text"] * len(shown))
    return (page.DataTable(caption, head, styles, body, note),)


def _constant(data: DocumentedTable) -> Iterator[str]:
    flat = [data.names[j] for j in np.flatnonzero(data.table.x.max(0) == data.table.x.min(0))]
    if flat:
        verb = "is" if len(flat) == 1 else "are"
        yield f"Nothing can be learnt from {listed(flat)}, which {verb} constant."


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
    rows, classes = plural(data.table.n_rows, "row"), plural(data.table.n_classes, "class")
    what = plural(len(data.columns), "feature" if data.source is None else "column")
    return f"{rows} of {what} in {classes} (column {data.target})"
