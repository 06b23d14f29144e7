"""Why a classifier says what it says: cells of real rows exchanged for those of other rows."""

from typing import Any

import numpy as np
import polars as pl

from suffice.core.decision.predictions import log_posteriors_of
from suffice.typing import Codes, Floats

LEAST = -20.0  # log posterior below which a class is simply impossible


def exchanged(rows: Any, at: Codes) -> Any:
    """Return m rows like ``rows``, each cell taken from the row that ``at`` (m, d) names."""
    if hasattr(rows, "iloc"):
        import pandas as pd

        columns = [rows.iloc[at[:, j], j].reset_index(drop=True) for j in range(at.shape[1])]
        return pd.concat(columns, axis=1)
    if hasattr(rows, "get_columns"):
        return pl.DataFrame([s.gather(at[:, j]) for j, s in enumerate(rows.get_columns())])
    return np.asarray(rows)[at, np.arange(at.shape[1])]


def log_posteriors(estimator: Any, rows: Any, classes: Any) -> Floats | None:
    """Return log p(k | x), (n, K), no less than −20; None where the classifier has none."""
    logs = log_posteriors_of(estimator, rows, classes)
    return None if logs is None else np.maximum(logs, LEAST)


def contributions(
    estimator: Any,
    rows: Any,
    classes: Any,
    who: Codes,
    pairs: Codes,
    groups: list[Codes],
) -> Floats | None:
    """Return the log odds of each row's reference, and what each group adds to them, (m, 1 + G).

    ``who`` (m, 2) names each row and the reference; ``pairs`` (m, 2) the classes a, b of
    log p(a | x) − log p(b | x). Cells of the reference are exchanged for those of the row, group
    after group, in their order and in reverse, and both are averaged: the sum is the log odds of
    the row, and of an additive score each part is its own.
    """
    m, g, d = len(who), len(groups), rows.shape[1]
    of_row = np.zeros((g + 1, d), bool)  # whether a cell is the row's after s exchanges
    for s, group in enumerate(groups):
        of_row[s + 1 :, group] = True
    found = np.zeros((m, 1 + g))
    for steps in (of_row, ~of_row):  # forwards: row's cells come; backwards: they go
        at = np.where(steps[None], who[:, :1, None], who[:, 1:, None]).reshape(-1, d)
        logs = log_posteriors(estimator, exchanged(rows, at), classes)
        if logs is None:
            return None
        each = logs.reshape(m, g + 1, -1)
        a, b = (np.take_along_axis(each, pairs[:, None, [i]], 2)[:, :, 0] for i in (0, 1))
        found[:, 0] += 0.5 * (a - b)[:, 0 if steps is of_row else -1]
        found[:, 1:] += np.diff(a - b, axis=1) * (0.5 if steps is of_row else -0.5)
    return found


def local_effects(
    estimator: Any,
    rows: Any,
    classes: Any,
    column: int,
    values: Floats,
    bins: int = 12,
) -> tuple[Floats, Floats] | None:
    """Return edges (b,) of a column and the accumulated local effect on each posterior, (b, K).

    Every row is moved only to the edges of its own bin, so no point is far from the data.
    Apley & Zhu (2020), *JRSS B* 82, 1059–1086.
    """
    order = np.argsort(values, kind="stable")
    edges = order[np.unique(np.linspace(0, len(order) - 1, bins + 1).round().astype(int))]
    edges = edges[np.append(True, np.diff(values[edges]) > 0)]
    if len(edges) < 3:
        return None
    inside = np.clip(np.searchsorted(values[edges], values, "left") - 1, 0, len(edges) - 2)
    sides = []
    for to in (inside, inside + 1):
        at = np.repeat(np.arange(len(values))[:, None], rows.shape[1], axis=1)
        at[:, column] = edges[to]
        logs = log_posteriors(estimator, exchanged(rows, at), classes)
        if logs is None:
            return None
        sides.append(np.exp(logs))
    n = np.bincount(inside, minlength=len(edges) - 1)
    rise = np.stack([np.bincount(inside, c, len(n)) for c in (sides[1] - sides[0]).T], 1)
    # ALE(e_b) = Σ_{c ≤ b} mean rise in bin c, centred so that its mean over rows is that of p
    curve = np.vstack(
        [np.zeros(rise.shape[1]), np.cumsum(rise / np.maximum(n, 1)[:, None], 0)]
    )
    middle, mean = (
        (n / n.sum()) @ (curve[1:] + curve[:-1]) / 2,
        (sides[0] + sides[1]).mean(0) / 2,
    )
    return values[edges], curve - middle + mean
