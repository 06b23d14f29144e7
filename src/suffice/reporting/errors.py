"""Where the chosen model errs: held-out confusion, strange rows, calibration, costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.curves import confusion
from suffice.reporting.blocks import Block, Matrix, Section, Table, Text
from suffice.reporting.outliers import least_likely_rows
from suffice.text.lists import plural
from suffice.text.numbers import count

if TYPE_CHECKING:
    from suffice.curves import Predictions
    from suffice.reporting.judging import Judgement
    from suffice.reporting.outliers import Outliers
    from suffice.reporting.rows import Rows

MOST = 10  # rows shown


def errors(
    rows: Rows,
    sample: Rows,
    judgement: Judgement,
    outliers: Outliers | None,
    figures: tuple[Block, ...],
) -> Section:
    """Return the section of errors; every judged row was held out from the model that judged it."""
    blocks: list[Block] = [Text(_in_words(sample, judgement), "lead"), _matrix(sample, judgement)]
    blocks.append(_by_class(sample, judgement))
    if judgement.predictions is not None:
        blocks.append(_confused(sample, judgement.predictions))
    if outliers is not None:
        blocks.append(least_likely_rows(outliers, judgement.explained, rows))
    if judgement.predictions is None:
        blocks.append(Text(f"{judgement.name} states no probabilities: nothing to calibrate."))
    return Section("errors", "Where it errs", (*blocks, *figures))


def _in_words(sample: Rows, judgement: Judgement) -> str:
    wrong = int((judgement.predicted != sample.codes).sum())
    if not wrong:
        return f"All {sample.n_rows:,} rows were classified rightly while they were held out."
    table = _counts(sample, judgement)
    np.fill_diagonal(table, 0)
    a, b = np.unravel_index(table.argmax(), table.shape)
    return (
        f"{wrong:,} of {plural(sample.n_rows, 'row')} were classified wrongly while they were held "
        f"out; most often {sample.class_names[a]} was taken for {sample.class_names[b]} "
        f"({count(table[a, b])} of {count(_counts(sample, judgement)[a].sum())})."
    )


def _counts(
    sample: Rows, judgement: Judgement
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    labels = sample.classes[judgement.predicted]
    return np.array(confusion(sample.labels, labels, sample.classes, sample.weight).counts)


def _matrix(sample: Rows, judgement: Judgement) -> Matrix:
    counts = _counts(sample, judgement)
    return Matrix(
        "Held-out confusion: a row for each true class, a column for each class named",
        sample.class_names,
        tuple(tuple(row) for row in counts.tolist()),
    )


def _by_class(sample: Rows, judgement: Judgement) -> Table:
    counts = _counts(sample, judgement)
    right = np.diagonal(counts)
    with np.errstate(invalid="ignore"):
        recall, precision = right / counts.sum(1), right / counts.sum(0)
    body = zip(sample.class_names, counts.sum(1), recall, precision, strict=True)
    return Table(
        "By class",
        ("class", "rows", "found (recall)", "right when named (precision)"),
        ("text", "count", "percent", "percent"),
        tuple((name, float(n), float(r), float(p)) for name, n, r, p in body),
    )


def _confused(sample: Rows, predictions: Predictions) -> Table:
    """Return the rows whose own class had the least posterior."""
    p, codes, chosen = predictions.posteriors, predictions.codes, predictions.chosen
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
    return Table(
        "Most confused rows",
        (sample.id_name, "true class", "named", "p(named)", "p(true class)"),
        ("text", "text", "text", "loss", "loss"),
        body,
        note=(
            "Least posterior of the true class first, while the row was held out; rows in colour "
            "were named wrongly."
        ),
        marked=tuple(wrong),
    )
