"""Contributions of columns to log odds, and accumulated local effects on posteriors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from suffice.core.decision.predictions import log_posteriors_of
from suffice.core.model.contributions import parts_of_log_odds, replacements
from suffice.typing import Codes, Flags, Floats, Labels, RowsLike, SklearnClassifier

#: Smaller log posteriors are replaced with this value: log 2e-9 ≈ −20.
SMALLEST_LOG_POSTERIOR = -20.0


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedModel:
    """A fitted classifier, rows in the form that it reads, and its classes."""

    estimator: SklearnClassifier
    rows: Any  # an array or a frame  (n, d)
    classes: Labels  # (K,)

    def log_posteriors(self, source_rows: Codes) -> Floats | None:
        """Return log p(k | x), (m, K), of the rows that ``combined_rows`` returns, if possible."""
        combined = combined_rows(self.rows, source_rows)
        return log_posteriors(self.estimator, combined, self.classes)


def combined_rows(rows: Any, source_rows: Codes) -> Any:
    """Return m rows; cell (i, j) is the cell of column j in row ``source_rows[i, j]``."""
    n_columns = source_rows.shape[1]
    if hasattr(rows, "iloc"):
        import pandas as pd

        columns = []
        for j in range(n_columns):
            column = rows.iloc[source_rows[:, j], j]
            columns.append(column.reset_index(drop=True))
        return pd.concat(columns, axis=1)
    if hasattr(rows, "get_columns"):
        cells = {}
        for j, series in enumerate(rows.get_columns()):
            # Methods of a Series treat names such as "^x$" as patterns.
            cells[series.name] = series.alias("values").gather(source_rows[:, j])
        return pl.DataFrame(cells)
    return np.asarray(rows)[source_rows, np.arange(n_columns)]


def log_posteriors(
    estimator: SklearnClassifier,
    rows: RowsLike,
    classes: Labels,
) -> Floats | None:
    """Return log p(k | x), (n, K), at least −20; None without posteriors."""
    logs = log_posteriors_of(estimator, rows, classes)
    if logs is None:
        return None
    return np.maximum(logs, SMALLEST_LOG_POSTERIOR)


def contributions(
    model: ExplainedModel,
    who: Codes,
    pairs: Codes,
    groups: list[Codes],
) -> Floats | None:
    """Return the log odds of each reference row, and the part of each column group, (m, 1 + G).

    The cells of a reference row are replaced with those of the explained row, one group of columns
    after the other. This is done once in the order of the groups and once in reverse, and the
    results are averaged. Each row of the result adds up to the log odds of the explained row.

    Parameters
    ----------
    who : (m, 2)
        The explained row and its reference row.
    pairs : (m, 2)
        Classes a and b of the log odds log p(a | x) − log p(b | x).
    groups : list of G arrays
        Columns to replace together.
    """
    replaced = replacements(groups, model.rows.shape[1])
    forwards = _log_odds_by_step(model, who, pairs, replaced)
    backwards = _log_odds_by_step(model, who, pairs, ~replaced)
    if forwards is None or backwards is None:
        return None
    return parts_of_log_odds(forwards, backwards)


def _log_odds_by_step(
    model: ExplainedModel,
    who: Codes,
    pairs: Codes,
    from_row: Flags,
) -> Floats | None:
    """Return the log odds (m, S) of reference rows after each of S steps of replacement.

    ``from_row`` (S, d) says which columns have the cells of the explained row in each step.
    """
    n_steps, n_columns = from_row.shape
    explained = who[:, 0, None, None]
    reference = who[:, 1, None, None]
    source_rows = np.where(from_row[None], explained, reference)  # (m, S, d)
    logs = model.log_posteriors(source_rows.reshape(-1, n_columns))
    if logs is None:
        return None
    logs = logs.reshape(len(who), n_steps, -1)
    log_a = np.take_along_axis(logs, pairs[:, None, [0]], axis=2)[:, :, 0]
    log_b = np.take_along_axis(logs, pairs[:, None, [1]], axis=2)[:, :, 0]
    return np.asarray(log_a - log_b)


def local_effects(
    model: ExplainedModel,
    column: int,
    values: Floats,
    bins: int = 12,
) -> tuple[Floats, Floats] | None:
    """Return edges (b,) of a column and the accumulated local effect on each posterior, (b, K).

    Effects are differences of posteriors. The mean of the effects over the rows is zero, and so is
    their sum over the classes. Each row is moved only to the edges of its own bin, so no point is
    far from the data. The result is None if the column has fewer than two bins, or if the
    classifier has no posteriors. Apley & Zhu (2020), *JRSS B* 82, 1059–1086.
    """
    order = np.argsort(values, kind="stable")
    quantiles = np.linspace(0, len(order) - 1, bins + 1).round().astype(int)
    edge_rows = order[np.unique(quantiles)]
    is_new_value = np.append(True, np.diff(values[edge_rows]) > 0)
    edge_rows = edge_rows[is_new_value]
    edges = values[edge_rows]
    if len(edges) < 3:
        return None
    n_bins = len(edges) - 1
    bin_of_row = np.clip(np.searchsorted(edges, values, "left") - 1, 0, n_bins - 1)
    at_low_edge = _posteriors_moved(model, column, edge_rows[bin_of_row])
    at_high_edge = _posteriors_moved(model, column, edge_rows[bin_of_row + 1])
    if at_low_edge is None or at_high_edge is None:
        return None
    rows_in_bin = np.bincount(bin_of_row, minlength=n_bins)
    rises = (at_high_edge - at_low_edge).T  # (K, n)
    total_rise = np.stack([np.bincount(bin_of_row, rise, n_bins) for rise in rises], axis=1)
    mean_rise = total_rise / np.maximum(rows_in_bin, 1)[:, None]
    # ALE(e_b) = Σ_{c ≤ b} mean rise in bin c, centred so that its mean over rows is zero
    start = np.zeros((1, mean_rise.shape[1]))
    curve = np.vstack([start, np.cumsum(mean_rise, axis=0)])
    share_of_bin = rows_in_bin / rows_in_bin.sum()
    mean_of_curve = share_of_bin @ (curve[1:] + curve[:-1]) / 2
    return edges, curve - mean_of_curve


def _posteriors_moved(
    model: ExplainedModel,
    column: int,
    source_rows: Codes,
) -> Floats | None:
    """Return posteriors (n, K) of the rows, with one column taken from ``source_rows``."""
    n_rows, n_columns = model.rows.shape
    cells = np.repeat(np.arange(n_rows)[:, None], n_columns, axis=1)
    cells[:, column] = source_rows
    logs = model.log_posteriors(cells)
    if logs is None:
        return None
    return np.asarray(np.exp(logs))
