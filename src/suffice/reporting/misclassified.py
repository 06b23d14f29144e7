"""Where the chosen model errs: held-out confusion, misclassified rows, outliers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.curves.confusion import confusion
from suffice.reporting.blocks import Block, DataTable, Matrix, Paragraph, Section
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.sources.predict import OUTLIER_RATE, outlier_threshold
from suffice.text.lists import plural
from suffice.text.numbers import count, number, percent
from suffice.typing import Codes, Floats
from suffice.validation.predictions import Predictions

MOST = 10  # rows shown
_BLOCK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Outliers:
    """Log density of every row, and the value under which a row is an outlier."""

    log_densities: Floats  # (n,)
    threshold: float
    rate: float  # share of the model's own draws under the threshold

    @classmethod
    def of(cls, explained: Any, data: DocumentedTable) -> Self:
        """Return the rows as a fitted Gaussian classifier sees them."""
        blocks = (data.table.x[lo : lo + _BLOCK] for lo in range(0, data.table.n_rows, _BLOCK))
        found = np.concatenate([explained.model_.log_density(block) for block in blocks])
        return cls(found, outlier_threshold(explained.classifier_, OUTLIER_RATE), OUTLIER_RATE)

    @property
    def n_flagged(self) -> int:
        """Number of rows under the threshold."""
        return int((self.log_densities < self.threshold).sum())

    @property
    def sentence(self) -> str:
        """How many outliers there are against how many one expects."""
        n, found = len(self.log_densities), self.n_flagged
        who = f"{plural(found, 'row')} ({percent(found / n)})" if found else "No row"
        return (
            f"Outliers: {who} {'are' if found > 1 else 'is'} less likely under the chosen model "
            f"than {percent(1 - self.rate)} of rows drawn from it; were it true, one would expect "
            f"{number(self.rate * n, 2)}."
        )

    def least_likely(self, most: int = MOST) -> Codes:
        """Return the rows of least log density, least first."""
        n = min(most, len(self.log_densities))
        at = np.argpartition(self.log_densities, n - 1)[:n]
        found: Codes = at[np.argsort(self.log_densities[at], kind="stable")]
        return found


def least_likely_rows(outliers: Outliers, explained: Any, data: DocumentedTable) -> DataTable:
    """Return the least likely rows, each with the feature that is most extreme in its class."""
    at = outliers.least_likely()
    z = standardised(explained, data, at)
    extreme = np.abs(z).argmax(1)
    body = [
        (
            str(data.ids[i]),
            data.class_names[data.table.codes[i]],
            float(outliers.log_densities[i]),
            "yes" if outliers.log_densities[i] < outliers.threshold else "no",
            data.names[j],
            float(data.table.x[i, j]),
            f"{z[r, j]:+.1f}".replace("-", "−"),
        )
        for r, (i, j) in enumerate(zip(at, extreme, strict=True))
    ]
    return DataTable(
        "Least likely rows",
        (
            data.id_name,
            "class",
            "log density",
            "outlier",
            "most extreme feature",
            "value",
            "z-score",
        ),
        ("text", "text", "number", "text", "text", "number", "text"),
        tuple(body),
        note=(
            f"An outlier has a log density under {number(outliers.threshold)}. The "
            "z-score is the distance from the mean of the class in its standard deviations."
        ),
    )


def standardised(explained: Any, data: DocumentedTable, at: Codes) -> Floats:
    """Return how far rows lie from the mean of their class, feature by feature, (m, d)."""
    moments, x, codes = explained.moments_, data.table.x[at], data.table.codes[at]
    if moments.power is not None:
        x = moments.power.apply(x)
    variances = moments.diagonals / np.maximum(moments.weights, 1e-300)[:, None]
    pooled = moments.diagonals.sum(0) / moments.total_weight
    scale = np.sqrt(np.where(variances[codes] > 0, variances[codes], pooled))
    difference = x - moments.means[codes]
    z: Floats = np.divide(difference, scale, out=np.zeros_like(difference), where=scale > 0)
    return z


def misclassified(
    data: DocumentedTable,
    sample: DocumentedTable,
    judgement: Judgement,
    outliers: Outliers | None,
    figures: tuple[Block, ...],
) -> Section:
    """Return the section of errors; every judged row was held out from the model that judged it."""
    table = sample.table
    predicted = judgement.held_out.predicted_labels
    counts = np.array(confusion(table.labels, predicted, table.classes, table.weight).counts)
    n_wrong = int(judgement.held_out.wrong.sum())
    blocks: list[Block] = [
        Paragraph(_in_words(sample, counts, n_wrong), "lead"),
        Matrix(
            "Held-out confusion: a row for each true class, a column for each predicted class",
            sample.class_names,
            tuple(tuple(row) for row in counts.tolist()),
        ),
        _by_class(sample, counts),
    ]
    if judgement.held_out.logs is not None:
        blocks.append(_confused(sample, judgement.held_out))
    if outliers is not None:
        blocks.append(least_likely_rows(outliers, judgement.explained, data))
    if judgement.held_out.logs is None:
        blocks.append(Paragraph(f"{judgement.name} states no probabilities: nothing to calibrate."))
    return Section("errors", "Where it errs", (*blocks, *figures))


def _in_words(sample: DocumentedTable, counts: Floats, n_wrong: int) -> str:
    n_rows, names = sample.table.n_rows, sample.class_names
    if not n_wrong:
        return f"All {n_rows:,} rows were predicted correctly while they were held out."
    errors = counts - np.diag(np.diagonal(counts))
    a, b = np.unravel_index(errors.argmax(), errors.shape)
    return (
        f"{n_wrong:,} of {plural(n_rows, 'row')} were predicted wrongly while they were held out; "
        f"most often {names[a]} was taken for {names[b]} ({count(errors[a, b])} of "
        f"{count(counts[a].sum())})."
    )


def _by_class(sample: DocumentedTable, counts: Floats) -> DataTable:
    right = np.diagonal(counts)
    with np.errstate(invalid="ignore"):
        recall, precision = right / counts.sum(1), right / counts.sum(0)
    body = zip(sample.class_names, counts.sum(1), recall, precision, strict=True)
    return DataTable(
        "By class",
        ("class", "rows", "recall", "precision"),
        ("text", "count", "percent", "percent"),
        tuple((name, float(n), float(r), float(p)) for name, n, r, p in body),
    )


def _confused(sample: DocumentedTable, predictions: Predictions) -> DataTable:
    """Return the rows whose own class had the least posterior."""
    p, codes, chosen = predictions.posteriors, predictions.truth, predictions.predicted
    own = predictions.log_posteriors[np.arange(len(codes)), codes]
    at = np.argsort(own, kind="stable")[:MOST]
    wrong = np.flatnonzero(chosen[at] != codes[at]).tolist()
    body = tuple(
        (
            str(sample.ids[i]),
            sample.class_names[codes[i]],
            sample.class_names[chosen[i]],
            float(p[i, chosen[i]]),
            float(p[i, codes[i]]),
        )
        for i in at
    )
    return DataTable(
        "Most confused rows",
        (sample.id_name, "true class", "predicted", "p(predicted)", "p(true class)"),
        ("text", "text", "text", "loss", "loss"),
        body,
        note=(
            "Smallest posterior of the true class first, while the row was held out; rows in "
            "colour were predicted wrongly."
        ),
        marked=tuple(wrong),
    )
