"""The section on errors: the confusion matrix, misclassified rows, and outliers."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import count, number, percent
from suffice.data.density_threshold import OUTLIER_RATE, fitted_row_threshold
from suffice.evaluate.curves.reliability import confusion
from suffice.present.report import blocks as page
from suffice.present.report.charts import class_distances, threshold_chart
from suffice.present.report.effects import ExplainedModel, contributions
from suffice.present.report.findings import Findings
from suffice.typing import Codes, Floats

MOST_ROWS = 10  # most rows, or pairs of classes, that are shown
MOST_WORST = 6  # most rows with the lowest posteriors that are shown
MOST_PARTS = 5  # most columns whose contribution is shown
MOST_COLUMNS = 300  # most columns whose contribution is computed separately
BLOCK_ROWS = 65_536  # number of rows whose density is computed at a time


@dataclass(frozen=True, slots=True, eq=False)
class Outliers:
    """The log density of every row, and the limit below which a row is an outlier."""

    log_densities: Floats  # (n,)
    threshold: float

    @classmethod
    def of(cls, findings: Findings) -> Self | None:
        """Return the outliers under the Gaussian classifier; None if densities mean little."""
        model = findings.gaussian
        # levels have no density, and densities mean little for numbers with few values
        has_categories = any(p.kind == "category" for p in findings.data.profiles)
        if model is None or has_categories or not findings.checks.has_many_values:
            return None
        x = findings.data.table.x
        blocks = [
            model.model_.density.log_density(x[start : start + BLOCK_ROWS])
            for start in range(0, len(x), BLOCK_ROWS)
        ]
        threshold = fitted_row_threshold(model.model_, OUTLIER_RATE)
        return cls(np.concatenate(blocks), threshold)

    @property
    def n_flagged(self) -> int:
        return int((self.log_densities < self.threshold).sum())


def misclassified(findings: Findings, outliers: Outliers | None) -> page.Section:
    """Return the section on errors; each row is predicted by a model that did not train on it."""
    counts = confusion(findings.held_out)
    by_class = counts[:, :-1]  # the last column counts rows without a predicted class
    errors = by_class * ~np.eye(len(counts), dtype=bool)
    order = np.arange(len(counts))
    if findings.has_many_classes:
        order = confused_together(by_class)
    blocks: list[page.Block] = [
        page.Paragraph(_errors_in_words(findings), "lead"),
        _confusion_matrix(findings, by_class, order),
    ]
    details: list[page.Block] = [_recall_and_precision(findings, counts)]
    folded = ["recall and precision of each class"]
    thresholds = threshold_chart(findings)
    if thresholds is not None:
        blocks.append(thresholds)
    if findings.has_many_classes and errors.any():
        blocks.append(_confused_pairs(findings, counts, errors))
    if findings.has_many_classes:
        class_means = class_distances(findings, order)
        details.extend([] if class_means is None else [class_means])
    if findings.held_out.logs is None:
        no_posteriors = (
            f"{findings.name} predicts no probabilities, so there is no calibration to check."
        )
        blocks.append(page.Paragraph(no_posteriors))
    else:
        worst = _WorstRows.of(findings)
        blocks.append(_worst_predictions(findings, worst))
        reasons = _reasons_for_worst_predictions(findings, worst)
        details.extend(reasons)
        folded.extend(["reasons for the worst predictions"] if reasons else [])
    if outliers is not None and outliers.n_flagged:
        details.append(_least_likely_rows(findings, outliers))
        folded.append("outliers")
    return page.Section(
        key="errors",
        title="Where it errs",
        blocks=tuple(blocks),
        details=tuple(details),
        more=f"More: {listed(folded)}",
    )


def confused_together(counts: Floats) -> Codes:
    """Return an order of the classes that puts confused classes next to each other."""
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    distance = 1 - np.clip(shares + shares.T, 0, 1)
    pairs = distance[np.triu_indices(len(distance), 1)]
    tree = linkage(pairs, "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), np.intp)


def _errors_in_words(findings: Findings) -> str:
    """Return a sentence on the number of misclassified rows, and the most frequent error."""
    n_rows = findings.sample.table.n_rows
    n_wrong = int(findings.held_out.wrong.sum())
    if not n_wrong:
        return f"All {n_rows:,} rows were predicted correctly while they were held out."
    counts = confusion(replace(findings.held_out, weight=None))
    errors = counts[:, :-1] * ~np.eye(len(counts), dtype=bool)
    truth, predicted = np.unravel_index(errors.argmax(), errors.shape)
    most = errors[truth, predicted]
    rows = counted(n_rows, "row")
    subject = f"{findings.name[:1].upper()}{findings.name[1:]}"
    if (errors == most).sum() > 1:  # several pairs of classes are equally frequent
        return f"{subject} misclassified {n_wrong:,} of {rows} while they were held out."
    often = "Most often, class" if n_wrong > 1 else "Class"
    return (
        f"{subject} misclassified {n_wrong:,} of {rows} while they were held out. {often} "
        f"{findings.class_names[truth]} was predicted as {findings.class_names[predicted]} "
        f"({count(most)} of {count(counts[truth].sum())})."
    )


def _confusion_matrix(findings: Findings, counts: Floats, order: Codes) -> page.Matrix:
    notes = []
    if findings.has_many_classes:
        notes.append("Classes that are often confused stand next to each other.")
    if findings.counted != "rows":
        notes.append("Numbers are weights of rows.")
    ordered = counts[np.ix_(order, order)]
    return page.Matrix(
        caption=(
            "Confusion matrix of held-out rows: a row for each true class, a column for each "
            "predicted class"
        ),
        classes=tuple(findings.class_names[k] for k in order),
        counts=tuple(map(tuple, ordered.tolist())),
        note=" ".join(notes),
    )


def _confused_pairs(findings: Findings, counts: Floats, errors: Floats) -> page.Intervals:
    items = []
    n_more = int((errors > 0).sum()) - MOST_ROWS
    for flat in np.argsort(-errors, axis=None, kind="stable")[:MOST_ROWS]:
        truth, predicted = np.unravel_index(flat, errors.shape)
        n_wrong = float(errors[truth, predicted])
        if n_wrong:
            name = f"{findings.class_names[truth]} → {findings.class_names[predicted]}"
            share = percent(n_wrong / counts[truth].sum())
            items.append(page.Interval(name, n_wrong, share))
    return page.Intervals(
        caption=(
            "Most frequent confusions: true class → predicted class, with the share of the rows "
            "of the true class"
        ),
        axis=findings.counted,
        style="count",
        items=tuple(items),
        note=f"{counted(n_more, 'more pair')} not shown." if n_more > 0 else "",
    )


def _recall_and_precision(findings: Findings, counts: Floats) -> page.DataTable:
    hits = np.diagonal(counts)
    n_true = counts.sum(1)
    n_predicted = counts.sum(0)[: len(hits)]
    with np.errstate(invalid="ignore"):
        recall = hits / n_true
        precision = hits / n_predicted
    body = zip(
        findings.class_names, n_true.tolist(), recall.tolist(), precision.tolist(), strict=True
    )
    return page.DataTable(
        caption="Recall and precision of each class",
        columns=("class", findings.counted, "recall", "precision"),
        styles=("text", "count", "percent", "percent"),
        rows=tuple(body),
        note=(
            "Recall: of the rows of a class, the share that is predicted as this class. Precision: "
            "of the rows predicted as a class, the share that belongs to it."
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _WorstRows:
    """The held-out rows with the lowest posterior of the true class."""

    rows: Codes  # (m,), lowest posterior first
    parts: "_Parts"  # contributions to the log odds of the most probable wrong class
    columns: tuple[int, ...]  # columns that contribute most to these rows

    @classmethod
    def of(cls, findings: Findings) -> Self:
        held_out = findings.held_out
        truth = held_out.truth
        log_of_truth = held_out.log_posteriors[np.arange(len(truth)), truth]
        rows = np.argsort(log_of_truth, kind="stable")[:MOST_WORST]
        of_others = held_out.posteriors[rows].copy()
        of_others[np.arange(len(rows)), truth[rows]] = -1
        rivals = of_others.argmax(1)  # the most probable wrong class
        parts = _log_odds_in_parts(findings, rows, rivals)
        columns = parts.columns
        if not columns:
            columns = tuple(range(min(MOST_PARTS, len(findings.sample.profiles))))
        return cls(rows, parts, columns)

    def named(self, findings: Findings) -> list[tuple[str, str, str, float]]:
        """Return id, true class, predicted class and posterior of the true class of each row."""
        held_out = findings.held_out
        named = []
        for row in self.rows:
            k = held_out.truth[row]
            posterior = float(held_out.posteriors[row, k])
            names = (findings.id(row), findings.class_names[k], findings.predicted_class(row))
            named.append((*names, posterior))
        return named

    def misclassified(self, findings: Findings) -> tuple[int, ...]:
        """Return the positions of the misclassified rows."""
        held_out = findings.held_out
        wrong = held_out.predicted[self.rows] != held_out.truth[self.rows]
        return tuple(np.flatnonzero(wrong).tolist())


_NAMED_COLUMNS = ("true class", "predicted", "posterior of true class")
_NAMED_STYLES = ("text", "text", "text", "percent")


def _worst_predictions(findings: Findings, worst: _WorstRows) -> page.DataTable:
    """Return a table of the worst predictions, with the columns that contribute most."""
    profiles = [findings.sample.profiles[j] for j in worst.columns]
    body = []
    for row, named in zip(worst.rows, worst.named(findings), strict=True):
        body.append((*named, *[profile.cell(row) for profile in profiles]))
    styles = ["number" if profile.kind == "number" else "text" for profile in profiles]
    return page.DataTable(
        caption="Worst predictions",
        columns=(
            findings.sample.id_name,
            *_NAMED_COLUMNS,
            *[profile.name for profile in profiles],
        ),
        styles=(*_NAMED_STYLES, *styles),
        rows=tuple(body),
        note=_note_on_worst_rows(findings, len(worst.misclassified(findings))),
        marked=worst.misclassified(findings),
        linked=True,
    )


def _note_on_worst_rows(findings: Findings, n_misclassified: int) -> str:
    """Return a note on how the rows were chosen and numbered, and on further rows."""
    note = (
        "These held-out rows have the lowest posteriors of their true class. Coloured rows were "
        "misclassified. The values on the right are those of the columns that matter most for "
        "these rows."
    )
    n_more = int(findings.held_out.wrong.sum()) - n_misclassified
    if n_more:
        note = f"{note} {counted(n_more, 'more misclassified row')} not shown."
    if findings.data.rows_are_numbered:
        return f"{note} Rows are numbered from 0, in the order of the data."
    return note


def _reasons_for_worst_predictions(
    findings: Findings, worst: _WorstRows
) -> list[page.DataTable]:
    """Return a table of each column's part of the log odds against the true class."""
    if not worst.parts.names:
        return []
    body = []
    for named, parts in zip(worst.named(findings), worst.parts.values.tolist(), strict=True):
        body.append((*named, *parts))
    table = page.DataTable(
        caption="What speaks against the true class in the worst predictions",
        columns=(findings.sample.id_name, *_NAMED_COLUMNS, *worst.parts.names),
        styles=(*_NAMED_STYLES, *["signed"] * len(worst.parts.names)),
        rows=tuple(body),
        note=(
            "For each row, a model that was not fitted to it compares the most probable wrong "
            "class with the true class. The table shows how much each column adds to their log "
            "odds. The sum starts from the log odds of a typical row, the row of the true class "
            "that is nearest to the class mean. "
            "A positive sum means that the wrong class is more probable. Posteriors below 2e-9 "
            "are treated as 2e-9."
        ),
        marked=worst.misclassified(findings),
        linked=True,
    )
    return [table]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Log odds of some rows as a sum of named parts; the last part is the sum."""

    values: Floats  # (m, P)
    names: tuple[str, ...]  # (P,)
    columns: tuple[int, ...] = ()  # columns that contribute most


def _log_odds_in_parts(findings: Findings, rows: Codes, rivals: Codes) -> _Parts:
    """Return the log odds of the most probable wrong class against the true class, by column."""
    columns = findings.sample.columns
    groups = _column_groups(findings)
    values = _contributions_by_fold(findings, rows, rivals, groups)
    if values is None:
        return _Parts(np.zeros((len(rows), 0)), ())
    total = values.sum(1)
    # parts: the columns that contribute most to these rows, all other columns, and the sum
    single = [group for group in groups[:MOST_COLUMNS] if len(group) == 1]
    mean_size = np.abs(values[:, 1 : 1 + len(single)]).mean(0)
    largest = np.argsort(-mean_size, kind="stable")[:MOST_PARTS]
    shown = values[:, [0, *(1 + largest)]]
    names = ["typical row", *(f"+ {columns[single[i][0]]}" for i in largest)]
    if len(columns) > len(largest):
        shown = np.column_stack([shown, total - shown.sum(1)])
        names.append("+ all others")
    return _Parts(
        values=np.column_stack([shown, total]),
        names=(*names, "= log odds"),
        columns=tuple(int(single[i][0]) for i in largest),
    )


def _column_groups(findings: Findings) -> list[Codes]:
    """Return groups of columns: each of the most important ones alone, all others together."""
    n_columns = len(findings.sample.columns)
    every = np.arange(n_columns)
    has_one_feature_each = findings.sample.table.n_features == n_columns
    ranked = findings.ranked_features if has_one_feature_each else every
    one_by_one = ranked[:MOST_COLUMNS]
    groups = [np.array([j]) for j in one_by_one]
    rest = np.setdiff1d(every, one_by_one)
    if len(rest):
        groups.append(rest)
    return groups


def _contributions_by_fold(
    findings: Findings,
    rows: Codes,
    rivals: Codes,
    groups: list[Codes],
) -> Floats | None:
    """Return contributions (m, 1 + G), computed with the model that did not train on the row."""
    table = findings.sample.table
    truth = table.codes[rows]
    typical = _typical_rows(table.x, table.codes, table.n_classes)
    who = np.stack([rows, typical[truth]], axis=1)
    pairs = np.stack([rivals, truth], axis=1)
    outcome = findings.outcome
    fold_of_row = outcome.folds[np.argsort(outcome.held_out.rows, kind="stable")][rows]
    values = np.zeros((len(rows), 1 + len(groups)))
    for fold in np.unique(fold_of_row):
        in_fold = fold_of_row == fold
        model = ExplainedModel(findings.fold_models[fold], findings.sample.rows, table.classes)
        parts = contributions(model, who[in_fold], pairs[in_fold], groups)
        if parts is None:
            return None
        values[in_fold] = parts
    return values


def _typical_rows(x: Floats, codes: Codes, n_classes: int) -> Codes:
    """Return the index of the row closest to the mean of each class, (K,); 0 without rows."""
    z = (x - x.mean(0)) / np.maximum(x.std(0), 1e-300)
    typical = np.zeros(n_classes, np.intp)
    for k in np.unique(codes):
        of_class = np.flatnonzero(codes == k)
        from_mean = np.square(z[of_class] - z[of_class].mean(0)).sum(1)
        typical[k] = of_class[from_mean.argmin()]
    return typical


def _least_likely_rows(findings: Findings, outliers: Outliers) -> page.DataTable:
    """Return a table of the rows with the lowest density, and their most extreme features."""
    data = findings.data
    moments = findings.moments
    rows = np.argsort(outliers.log_densities, kind="stable")[:MOST_ROWS]
    codes = data.table.codes[rows]
    variances = moments.diagonals / np.maximum(moments.weights, 1e-300)[:, None]
    scale = np.sqrt(variances)[codes]
    deviations = data.table.x[rows] - moments.means[codes]
    z_scores = deviations / np.where(scale > 0, scale, np.inf)
    body = []
    for row, code, z in zip(rows, codes, z_scores, strict=True):
        j = int(np.abs(z).argmax())
        log_density = float(outliers.log_densities[row])
        cells = (
            str(data.ids[row]),
            data.class_names[code],
            log_density,
            "yes" if log_density < outliers.threshold else "no",
            data.names[j],
            float(data.table.x[row, j]),
            float(z[j]),
        )
        body.append(cells)
    n_expected = number(OUTLIER_RATE * data.table.n_rows, 2)
    return page.DataTable(
        caption="Least likely rows",
        columns=(
            data.id_name,
            "class",
            "log density",
            "outlier",
            "most extreme feature",
            "value",
            "z-score",
        ),
        styles=("text", "text", "number", "text", "text", "number", "signed"),
        rows=tuple(body),
        note=(
            f"An outlier has a log density below {number(outliers.threshold)}. If the model were "
            f"true, about {n_expected} outliers would be expected among the "
            f"{counted(data.table.n_rows, 'row')}. The z-score is the distance of the value from "
            "the mean of the class, in standard deviations of the class."
        ),
        linked=True,
    )
