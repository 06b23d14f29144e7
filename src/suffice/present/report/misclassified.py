"""Where the chosen model errs: held-out confusion, misclassified rows, outliers."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from suffice.core.text.lists import counted
from suffice.core.text.numbers import count, number, percent, signed_difference
from suffice.data.predict import OUTLIER_RATE, outlier_threshold
from suffice.evaluate.curves.reliability import confusion
from suffice.present.report import blocks as page
from suffice.present.report.charts import class_distances, posteriors
from suffice.present.report.choosing import Findings
from suffice.present.report.explaining import LEAST, contributions
from suffice.typing import Codes, Floats

MOST, MOST_PARTS = 10, 5  # rows or pairs shown, and columns
MOST_COLUMNS = 300  # whose parts are found one by one
_BLOCK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Outliers:
    """Log density of every row, and the value under which a row is an outlier."""

    log_densities: Floats  # (n,)
    threshold: float

    @classmethod
    def of(cls, f: Findings) -> Self | None:
        """Return the rows as the Gaussian classifier sees them, if densities mean anything."""
        model, x = f.explained, f.data.table.x
        # levels have no density, and values that are few hardly one
        levels = any(p.kind == "category" for p in f.data.profiles)
        if model is None or levels or not f.checks.has_many_values:
            return None
        blocks = (x[lo : lo + _BLOCK] for lo in range(0, len(x), _BLOCK))
        found = np.concatenate([model.model_.model.log_density(block) for block in blocks])
        return cls(found, outlier_threshold(model.model_, OUTLIER_RATE))

    @property
    def n_flagged(self) -> int:
        return int((self.log_densities < self.threshold).sum())


def _least_likely(outliers: Outliers, f: Findings) -> page.DataTable:
    """Return the least likely rows, each with the feature that is most extreme in its class."""
    data, moments, codes = f.data, f.moments, f.data.table.codes
    at = np.argsort(outliers.log_densities, kind="stable")[:MOST]
    scale = np.sqrt(moments.diagonals / np.maximum(moments.weights, 1e-300)[:, None])[
        codes[at]
    ]
    z = (data.table.x[at] - moments.means[codes[at]]) / np.where(scale > 0, scale, np.inf)
    body = []
    for r, i in enumerate(at):
        j, density = int(np.abs(z[r]).argmax()), float(outliers.log_densities[i])
        rare = "yes" if density < outliers.threshold else "no"
        extreme = (data.names[j], float(data.table.x[i, j]), float(z[r, j]))
        body.append((str(data.ids[i]), data.class_names[codes[i]], density, rare, *extreme))
    head = ("class", "log density", "outlier", "most extreme feature", "value", "z-score")
    styles = ("text", "text", "number", "text", "text", "number", "signed")
    return page.DataTable(
        "Least likely rows",
        (data.id_name, *head),
        styles,
        tuple(body),
        f"An outlier has a log density under {number(outliers.threshold)}; were the model true, "
        f"{number(OUTLIER_RATE * data.table.n_rows, 2)} would be expected. The z-score is the "
        "distance from the mean of the class in its standard deviations.",
        linked=True,
    )


def misclassified(f: Findings, outliers: Outliers | None) -> page.Section:
    """Return the section of errors; every judged row was held out from the model that judged it."""
    counts = confusion(f.held_out)
    square = counts[:, :-1]  # the last column is of rows without a decision
    order = confused_together(square) if f.many else np.arange(len(counts))
    cells = tuple(map(tuple, square[np.ix_(order, order)].tolist()))
    notes = ["Classes that are often confused stand together."] if f.many else []
    notes += ["Numbers are weights of rows."] if f.counted != "rows" else []
    caption = (
        "Held-out confusion: a row for each true class, a column for each predicted class"
    )
    errors = square * ~np.eye(len(counts), dtype=bool)
    blocks: list[page.Block] = [
        page.Paragraph(_in_words(f), "lead"),
        page.Matrix(caption, tuple(f.names[k] for k in order), cells, " ".join(notes)),
        *((_confused_pairs(f, counts, errors),) if f.many and errors.any() else ()),
        *(class_distances(f, order) if f.many else ()),
        _by_class(f, counts),
        *posteriors(f),
    ]
    none = page.Paragraph(f"{f.name} states no probabilities: nothing to calibrate.")
    blocks.append(_worst(f) if f.held_out.logs is not None else none)
    if outliers is not None and outliers.n_flagged:
        blocks.append(_least_likely(outliers, f))
    return page.Section("errors", "Where it errs", tuple(blocks))


def confused_together(counts: Floats) -> Codes:
    """Return the classes in an order in which those that are confused stand together."""
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    far = 1 - np.clip(shares + shares.T, 0, 1)
    tree = linkage(far[np.triu_indices(len(far), 1)], "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), np.intp)


def _in_words(f: Findings) -> str:
    """Return how many rows were predicted wrongly, whatever their weights, and how most often."""
    n_rows, n_wrong = f.sample.table.n_rows, int(f.held_out.wrong.sum())
    counts = confusion(replace(f.held_out, weight=None))
    errors = counts[:, :-1] * ~np.eye(len(counts), dtype=bool)
    if not n_wrong:
        return f"All {n_rows:,} rows were predicted correctly while they were held out."
    said = f"It misclassified {n_wrong:,} of {counted(n_rows, 'row')} while they were held out"
    a, b = np.unravel_index(errors.argmax(), errors.shape)
    if (errors == errors[a, b]).sum() > 1:  # no pair stands out
        return f"{said}."
    of, often = (
        f"{count(errors[a, b])} of {count(counts[a].sum())}",
        "most often " * (n_wrong > 1),
    )
    return f"{said}; {often}class {f.names[a]} was predicted as {f.names[b]} ({of})."


def _confused_pairs(f: Findings, counts: Floats, errors: Floats) -> page.Intervals:
    items = []
    for flat in np.argsort(-errors, axis=None, kind="stable")[:MOST]:
        a, b = np.unravel_index(flat, errors.shape)
        share = percent(errors[a, b] / counts[a].sum())
        items.append(page.Interval(f"{f.names[a]} → {f.names[b]}", float(errors[a, b]), share))
    caption = "Most confused pairs: true class → predicted, with the share of the true class"
    return page.Intervals(caption, f.counted, "count", tuple(i for i in items if i.value))


def _by_class(f: Findings, counts: Floats) -> page.DataTable:
    hits, n, called = np.diagonal(counts), counts.sum(1), counts.sum(0)
    with np.errstate(invalid="ignore"):
        shares = np.stack([hits / n, hits / called[: len(n)]], 1)
    rows = zip(f.names, n.tolist(), shares.tolist(), strict=True)
    body = tuple((name, size, *both) for name, size, both in rows)
    head, styles = (
        ("class", f.counted, "recall", "precision"),
        ("text", "count", *["percent"] * 2),
    )
    note = (
        "Recall: share of the class that is found. Precision: share of the rows predicted so "
    )
    return page.DataTable("By class", head, styles, body, f"{note}that are of the class.")


def _worst(f: Findings) -> page.DataTable:
    """Return the rows whose own class had the least posterior, and why."""
    p, codes, chosen = f.held_out.posteriors, f.held_out.truth, f.held_out.predicted
    at = np.argsort(f.held_out.log_posteriors[np.arange(len(codes)), codes], kind="stable")[
        :MOST
    ]
    others = p[at].copy()
    others[np.arange(len(at)), codes[at]] = -1  # the most probable class but the true one
    why, columns = _why(f, at, others.argmax(1))
    body = [
        (f.id(i), f.names[codes[i]], f.guess(i), float(p[i, codes[i]]), *parts)
        for i, parts in zip(at, why.tolist(), strict=True)
    ]
    said = (
        " On the right, why, by a model that had not seen the row: the log odds of the most "
        "probable wrong class against the true one. They start from those of a typical row, the "
        "one of the true class nearest to its mean; each column adds its part; the sum, rounded, "
        "is above zero where the wrong class is the more probable one. "
        f"Log posteriors below {signed_difference(LEAST)} count as that."
    )
    return page.DataTable(
        "Worst predictions",
        (f.sample.id_name, "true class", "predicted", "posterior of true class", *columns),
        ("text", "text", "text", "percent", *["signed"] * len(columns)),
        tuple(body),
        "Smallest posterior of the true class first, while the row was held out; rows in colour "
        f"were misclassified.{said if columns else ''}",
        tuple(np.flatnonzero(chosen[at] != codes[at]).tolist()),
        linked=True,
    )


def _why(f: Findings, at: Codes, rival: Codes) -> tuple[Floats, tuple[str, ...]]:
    """Return the log odds of the rival class part by part, with their sum, and what parts are."""
    names, table, truth = f.sample.columns, f.sample.table, f.sample.table.codes[at]
    z = (table.x - table.x.mean(0)) / np.maximum(table.x.std(0), 1e-300)
    typical = np.zeros(table.n_classes, np.intp)  # the row of each class nearest to its mean
    for k in np.unique(truth):
        own = np.flatnonzero(table.codes == k)
        typical[k] = own[np.square(z[own] - z[own].mean(0)).sum(1).argmin()]
    who, pairs = np.stack([at, typical[truth]], axis=1), np.stack([rival, truth], axis=1)
    every = np.arange(len(names))
    tried = (f.ranked_features if table.n_features == len(names) else every)[:MOST_COLUMNS]
    rest = np.setdiff1d(every, tried)
    groups = [np.array([j]) for j in tried] + ([rest] if len(rest) else [])
    found = np.zeros((len(at), 1 + len(groups)))
    folds = f.outcome.folds[np.argsort(f.outcome.held_out.rows, kind="stable")][at]
    for fold in np.unique(folds):
        here = folds == fold
        of_fold = f.learnt[fold], f.sample.rows, table.classes, who[here], pairs[here]
        parts = contributions(*of_fold, groups)
        if parts is None:
            return np.zeros((len(at), 0)), ()
        found[here] = parts
    # the columns that say most of these rows, and the sum of what is left
    largest = np.argsort(-np.abs(found[:, 1 : 1 + len(tried)]).mean(0), kind="stable")[
        :MOST_PARTS
    ]
    told, shown = found[:, [0, *(1 + largest)]], [f"+ {names[tried[i]]}" for i in largest]
    if len(names) > len(shown):
        told, shown = np.c_[told, found.sum(1) - told.sum(1)], [*shown, "+ all others"]
    return np.c_[told, found.sum(1)], ("typical row", *shown, "= log odds")
