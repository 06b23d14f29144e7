"""The section on the data of a report."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.pipeline import Pipeline

from suffice.core.moments import Moments
from suffice.core.text.dates import date_text
from suffice.core.text.lists import counted, listed, shortened
from suffice.core.text.numbers import loss, percent
from suffice.errors import SufficeError
from suffice.estimators.auto import AutoGaussian
from suffice.estimators.encoder import TableEncoder
from suffice.estimators.gaussian import LDA
from suffice.evaluate.curves.feature_separation import separation
from suffice.evaluate.diagnostics import class_separation
from suffice.present.report import blocks as page
from suffice.present.report.charts import distributions
from suffice.present.report.documented_table import DocumentedTable, Profile
from suffice.present.report.findings import Findings
from suffice.present.report.misclassified import Outliers
from suffice.typing import Floats

MOST_CLASSES = 12
MOST_COLUMNS = 30
MOST_FEATURES = 15
MOST_CORRELATIONS = 12  # most features in a table of correlations
MOST_COORDINATES = 6  # most discriminant coordinates
MOST_PAIRS = 8  # most collinear pairs of columns
MOST_PATTERNS = 8  # most patterns of empty cells
MOST_EMPTY_COLUMNS = 10  # most columns in a table of patterns
COLLINEAR = 0.9  # larger correlations within classes are listed
SCALES = (
    {"low", "medium", "middle", "high"},
    {"small", "medium", "large"},
    {"mild", "moderate", "severe"},
    {"poor", "fair", "good"},
)
Item = TypeVar("Item")


def data_summary(findings: Findings, outliers: Outliers | None) -> page.Section:
    """Return the section on the data."""
    data = findings.data
    blocks: list[page.Block] = [_facts(findings, outliers)]
    blocks.extend(page.Paragraph(f"{note}.", "note") for note in data.notes)
    blocks.extend(page.Paragraph(note, "note") for note in _note_on_constant_features(data))
    blocks.extend(_note_on_empty_cells(findings))
    blocks.extend(page.Paragraph(note, "note") for note in _note_on_ordered_classes(data))
    blocks.append(_classes(data))
    blocks.append(_features_by_separation(findings))
    blocks.append(_columns(data))
    blocks.extend(_patterns_of_empty_cells(data))
    blocks.extend(_collinear_columns(data, findings.moments))
    blocks.extend(_correlations(findings))
    blocks.extend(_canonical_structure(findings))
    blocks.extend(distributions(findings))
    return page.Section("data", "The data", tuple(blocks), is_folded=True)


def summary(data: DocumentedTable) -> str:
    """Return a sentence on the size of the data."""
    rows = counted(data.table.n_rows, "row")
    columns = counted(len(data.columns), "feature" if data.source is None else "column")
    classes = counted(data.table.n_classes, "class")
    return f"{rows} of {columns} in {classes} (column {data.target})"


def _facts(findings: Findings, outliers: Outliers | None) -> page.Facts:
    data = findings.data
    checks = findings.checks
    n_empty = sum(int(profile.empty.sum()) for profile in data.profiles)
    n_cells = data.table.n_rows * max(len(data.profiles), 1)
    if not checks.n_duplicates:
        on_copies = ""
    elif checks.has_many_values:
        on_copies = "equal to an earlier row"
    else:
        on_copies = "expected, because the columns have few values"
    if checks.n_duplicates and checks.n_conflicting:
        on_copies += (
            f"; {checks.n_conflicting:,} have the same values as a row of another class"
        )
    facts = [
        page.Fact(
            name="rows",
            value=data.table.n_rows,
            remark="" if data.table.weight is None else "weighted",
            style="count",
        ),
        page.Fact(
            name="features" if data.source is None else "columns",
            value=len(data.columns),
            style="count",
        ),
        page.Fact("classes", data.table.n_classes, f"column {data.target}", "count"),
        page.Fact(
            name="empty cells",
            value=n_empty,
            remark=f"{percent(n_empty / n_cells)} of all" if n_empty else "",
            style="count",
        ),
        page.Fact("repeated rows", checks.n_duplicates, on_copies, "count"),
    ]
    if outliers is not None:
        facts.append(page.Fact("outliers", outliers.n_flagged, "by log density", "count"))
    return page.Facts(tuple(facts))


def _note_on_constant_features(data: DocumentedTable) -> list[str]:
    is_constant = data.table.x.max(0) == data.table.x.min(0)
    names = [data.names[j] for j in np.flatnonzero(is_constant)]
    if not names:
        return []
    if len(names) == 1:
        return [f"{names[0]} is constant, so models cannot learn anything from it."]
    return [f"{listed(names)} are constant, so models cannot learn anything from them."]


def _with_empty_cells(data: DocumentedTable) -> list[Profile]:
    """Return the columns with empty cells, sorted by their number of empty cells."""
    columns = [profile for profile in data.profiles if profile.empty.any()]
    return sorted(columns, key=lambda profile: -profile.empty.sum())


def _note_on_empty_cells(findings: Findings) -> list[page.Paragraph]:
    """Return paragraphs on the share of empty cells by column, and how the model treats them."""
    columns = [
        f"{profile.name} ({profile.empty.sum():,}, {percent(profile.empty.mean())})"
        for profile in _with_empty_cells(findings.data)
    ]
    if not columns:
        return []
    estimator = findings.estimator
    first_step = estimator[0] if isinstance(estimator, Pipeline) else estimator
    missing = getattr(first_step, "missing", "")
    if isinstance(first_step, (TableEncoder, AutoGaussian)) or missing == "indicator":
        treatment = (
            "replaces missing numbers with the mean and adds an indicator of missing values"
        )
    elif missing == "marginal":
        treatment = "classifies rows with empty cells by their other cells"
    else:
        treatment = "accepts empty cells as they are"
    sentence = (
        f"These columns have empty cells: {listed(columns)}. "
        f"{findings.name[:1].upper()}{findings.name[1:]} {treatment}. Charts show the mean instead "
        "of an empty cell."
    )
    figures = {
        profile.name: int(profile.empty.sum()) for profile in _with_empty_cells(findings.data)
    }
    return [page.Paragraph(sentence, "note", figures)]


def _note_on_ordered_classes(data: DocumentedTable) -> list[str]:
    names = {name.lower() for name in data.class_names}
    if len(names) <= 2:
        return []
    if all(re.fullmatch(r"[-+]?\d+(\.\d+)?", name) for name in names):
        return ["The classes are numbers. Their order may matter, but no model here uses it."]
    if any(names <= scale for scale in SCALES):
        return [
            "The classes are steps of a scale. Their order may matter, but no model here uses it."
        ]
    return []


def _classes(data: DocumentedTable) -> page.Intervals | page.Paragraph:
    counts = np.bincount(data.table.codes, minlength=data.table.n_classes)
    n_classes = len(counts)
    shown = np.arange(n_classes)
    note = ""
    if n_classes > MOST_CLASSES and counts.min() == counts.max():
        rows = counted(int(counts[0]), "row")
        return page.Paragraph(f"Each of the {n_classes:,} classes has {rows}.")
    if n_classes > MOST_CLASSES:
        shown = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
        note = f"Shown are the {MOST_CLASSES} largest of {n_classes:,} classes."
    items = []
    for k in shown:
        share = percent(counts[k] / counts.sum())
        items.append(page.Interval(data.class_names[k], int(counts[k]), share))
    return page.Intervals("Rows of each class", "rows", "count", tuple(items), note)


def _features_by_separation(findings: Findings) -> page.Intervals:
    """Return a chart of the features, sorted by the share of their variance between classes."""
    names = findings.data.names
    share_between = 1 - 1 / (1 + separation(findings.moments))
    shown = _first_of_many(findings.ranked_features.tolist(), MOST_FEATURES)
    n_more = len(names) - len(shown)
    return page.Intervals(
        caption="Features by separation",
        axis="share of the variance that lies between the classes",
        style="percent",
        items=tuple(page.Interval(names[j], float(share_between[j])) for j in shown),
        note=f"{counted(n_more, 'more feature')} not shown." if n_more else "",
    )


def _columns(data: DocumentedTable) -> page.DataTable:
    body = []
    for profile in _first_of_many(data.profiles, MOST_COLUMNS):
        is_used = not profile.kind.startswith("not used")
        distinct = profile.distinct if is_used else None
        share_empty = float(profile.empty.mean())
        described = (profile.name, profile.kind, share_empty, distinct)
        body.append((*described, *_spread(profile)))
    n_more = len(data.profiles) - len(body)
    return page.DataTable(
        caption="Columns",
        columns=(
            "column",
            "type",
            "empty",
            "distinct",
            "mean",
            "standard deviation",
            "min",
            "max",
        ),
        styles=("text", "text", "percent", "count", *["number"] * 4),
        rows=tuple(body),
        note=f"{counted(n_more, 'more column')} not shown." if n_more else "",
    )


def _spread(profile: Profile) -> tuple[float | str, float, float | str, float | str]:
    """Return mean, standard deviation, minimum and maximum; NaN without values."""
    values = profile.values[~profile.empty]
    if profile.kind not in ("number", "date") or not len(values):
        return np.nan, np.nan, np.nan, np.nan
    mean = float(np.mean(values))
    deviation = float(np.std(values))
    smallest = float(np.min(values))
    largest = float(np.max(values))
    if profile.kind == "date" and np.isfinite(mean):
        return date_text(mean), deviation, date_text(smallest), date_text(largest)
    return mean, deviation, smallest, largest


def _first_of_many(items: Sequence[Item], most: int) -> Sequence[Item]:
    """Return the first ``most`` items, or all items if there are only a few more."""
    return items if len(items) <= 1.2 * most else items[:most]


def _patterns_of_empty_cells(data: DocumentedTable) -> list[page.Block]:
    """Return a table of the most frequent patterns of empty cells in a row."""
    columns = _with_empty_cells(data)
    shown = columns[:MOST_EMPTY_COLUMNS]
    if len(shown) < 2:
        return []
    is_empty = np.stack([profile.empty for profile in shown], axis=1)
    patterns, counts = np.unique(is_empty, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_PATTERNS]
    body: list[tuple[Any, ...]] = []
    for i in order:
        marks = ["□" if empty else "■" for empty in patterns[i]]
        body.append((int(counts[i]), *marks))
    table = page.DataTable(
        caption="Which cells are empty together",
        columns=("rows", *shortened([profile.name for profile in shown])),
        styles=("count", *["text"] * len(shown)),
        rows=tuple(body),
        note=(
            f"■ observed, □ empty. The table shows {len(order)} of "
            f"{counted(len(counts), 'pattern')}, the most frequent first, and {len(shown)} of "
            f"{counted(len(columns), 'column')} with empty cells."
        ),
    )
    return [table]


def _correlations(findings: Findings) -> list[page.Block]:
    """Return a table of within-class correlations of the features that separate classes most."""
    moments = findings.moments
    if moments.storage == "diagonal" or findings.data.table.n_features < 2:
        return []
    shown = findings.ranked_features[:MOST_CORRELATIONS]
    correlations = _within_correlations(moments)[np.ix_(shown, shown)]
    names = [findings.data.names[j] for j in shown]
    body = [(name, *row.tolist()) for name, row in zip(names, correlations, strict=True)]
    n_more = findings.data.table.n_features - len(shown)
    table = page.DataTable(
        caption="Correlation within classes",
        columns=("", *shortened(names)),
        styles=("text", *["signed"] * len(names)),
        rows=tuple(body),
        note=f"{counted(n_more, 'more feature')} not shown." if n_more else "",
    )
    return [table]


def _canonical_structure(findings: Findings) -> list[page.Block]:
    """Return Wilks' Λ, and the correlations of features with discriminant coordinates."""
    try:
        separation_test = class_separation(findings.moments)
        discriminant = LDA().fit_moments(findings.moments)
        loadings = discriminant.discriminants_.loadings
    except (SufficeError, ValueError, np.linalg.LinAlgError):
        return []
    n_shown = min(loadings.shape[1], MOST_COORDINATES)
    order = findings.ranked_features[:MOST_FEATURES]
    n_more = len(loadings) - len(order)
    body = [(findings.data.names[j], *loadings[j, :n_shown].tolist()) for j in order]
    headings = [
        f"coordinate {i + 1}, canonical correlation {loss(float(separation_test.correlations[i]))}"
        for i in range(n_shown)
    ]
    table = page.DataTable(
        caption=(
            "Canonical structure: correlations between features and discriminant coordinates "
            "within the classes"
        ),
        columns=("feature", *headings),
        styles=("text", *["signed"] * n_shown),
        rows=tuple(body),
        note=f"{counted(n_more, 'more feature')} not shown." if n_more else "",
    )
    sentence = page.Paragraph(
        f"{separation_test!r}.",
        figures={"wilks": separation_test.wilks_lambda, "p": separation_test.p_value},
    )
    return [sentence, table]


def _collinear_columns(data: DocumentedTable, moments: Moments) -> list[page.Block]:
    """Return a table of the pairs of columns with the largest within-class correlations."""
    if moments.storage == "diagonal" or data.table.n_features < 2:
        return []
    correlations = _within_correlations(moments)
    first, second = np.triu_indices(data.table.n_features, 1)
    of_pair = correlations[first, second]
    n_collinear = int((np.abs(of_pair) >= COLLINEAR).sum())
    if n_collinear == 0:
        return []
    body = []
    for pair in np.argsort(-np.abs(of_pair), kind="stable")[: min(n_collinear, MOST_PAIRS)]:
        names = (data.names[first[pair]], data.names[second[pair]])
        body.append((*names, float(of_pair[pair])))
    note = "Do not interpret the linear coefficients of these columns one by one."
    if n_collinear > len(body):
        note = f"{counted(n_collinear - len(body), 'more pair')} not shown. {note}"
    table = page.DataTable(
        caption=f"Collinear columns: their within-class correlation is {COLLINEAR} or more",
        columns=("column", "and", "correlation"),
        styles=("text", "text", "loss"),
        rows=tuple(body),
        note=note,
    )
    return [table]


def _within_correlations(moments: Moments) -> Floats:
    """Return the pooled within-class correlations, (d, d); NaN for a constant feature."""
    scatter = moments.pooled_scatter
    scale = np.sqrt(np.maximum(np.diagonal(scatter), 0))
    products = np.outer(scale, scale)
    unknown = np.full_like(products, np.nan)
    return np.asarray(np.divide(scatter, products, out=unknown, where=products > 0))
