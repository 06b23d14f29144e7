"""Which columns a model needs: its loss on held-out rows once a column is shuffled."""

# Breiman (2001), *Machine Learning* 45, 5–32; Fisher, Rudin & Dominici (2019), *JMLR* 20 (177)

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from suffice.core.decision.predictions import LEVEL, log_posteriors_of, losses_of_rows
from suffice.core.table.matrix import taken
from suffice.evaluate.comparison.judging import Outcome, learner_of
from suffice.evaluate.comparison.models import ComparedModel
from suffice.evaluate.comparison.paired import LARGEST, LOSSES
from suffice.selection.validation.folds import Folds
from suffice.typing import Codes, Floats, Labels

REPEATS = 5
MOST = 20  # columns told of
MOST_COLUMNS = 200  # of which any is told
MOST_WORK = 2_000_000  # rows × columns × repeats that are predicted again


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a loss rises once a column is shuffled among held-out rows."""

    feature: str
    loss: str  # "error"; "log_loss" where no column changes it, or a constant errs as rarely
    mean: float
    low: float  # 95 % interval over rows
    high: float


def permutation_importance(
    model: ComparedModel,
    outcome: Outcome,
    folds: Folds,
    names: tuple[str, ...],
    seed: int = 0,
) -> tuple[Importance, ...]:
    """Return the rise of the loss by column, largest first; none of very many columns."""
    work = len(folds.judged_rows) * len(names) * REPEATS
    if not outcome.learnt or work > MOST_WORK or len(names) > MOST_COLUMNS:
        return ()
    learner = learner_of(model.estimator, folds.X, is_plain=folds.is_plain)
    rng = np.random.default_rng(seed)
    parts: list[Floats] = []  # rise of error and log-loss by column, of the rows of a fold
    for (_, test), learnt in zip(folds.splits, outcome.learnt, strict=True):
        n, shown, truth = len(test), learner.shown(folds, test), folds.codes[test]
        before = _losses(learnt, shown, truth, folds.classes)
        copies = taken(
            shown, np.tile(np.arange(n), REPEATS)
        )  # of which each is shuffled apart
        shuffled = []
        for j in range(len(names)):
            order = np.concatenate([at * n + rng.permutation(n) for at in range(REPEATS)])
            rows, again = _shuffled(copies, j, order), np.tile(truth, REPEATS)
            after = _losses(learnt, rows, again, folds.classes)
            shuffled.append(after.reshape(2, REPEATS, n).mean(1) - before)
        parts.append(np.stack(shuffled))
    rises = np.concatenate(parts, axis=2)
    told = [_told(rises[:, at], loss, outcome, names) for at, loss in enumerate(LOSSES)]
    rows = outcome.held_out
    shares = np.bincount(rows.truth, rows.weights) / rows.weights.sum()
    # a model that errs as often as the most frequent class does has no error to explain
    clear = told[0][0].low > 0 and outcome.error < 1 - shares.max()
    return told[0] if clear or np.isnan(told[1][0].mean) else told[1]


def _losses(learnt: Any, rows: Any, truth: Codes, classes: Labels) -> Floats:
    """Return error and log-loss of each row, (2, n)."""
    logs = log_posteriors_of(learnt, rows, classes)
    if logs is None:
        wrong = learnt.predict(rows) != classes[truth]
        return np.stack([wrong, np.full(len(wrong), np.nan)])
    return np.minimum(losses_of_rows(logs, truth)[:2], LARGEST)


def _told(
    rises: Floats,
    loss: str,
    outcome: Outcome,
    names: tuple[str, ...],
) -> tuple[Importance, ...]:
    """Return the importance of columns by the rise of the loss of each row, (d, n)."""
    w = outcome.held_out.weights
    mean = np.average(rises, axis=1, weights=w)
    variance = np.average(np.square(rises - mean[:, None]), axis=1, weights=w)
    half = float(ndtri(1 - LEVEL / 2)) * np.sqrt(variance / outcome.effective_rows)
    order = np.argsort(-mean, kind="stable")[:MOST]
    ends = np.stack([mean, mean - half, mean + half], axis=1)
    return tuple(Importance(names[j], loss, *ends[j].tolist()) for j in order)


def _shuffled(table: Any, column: int, order: Codes) -> Any:
    """Return a table, one of whose columns comes from its rows in another order."""
    if hasattr(table, "with_columns"):
        return table.with_columns(table[table.columns[column]].gather(order))
    if hasattr(table, "set_column"):
        return table.set_column(column, table.column_names[column], table[column].take(order))
    mixed = table.copy()
    if hasattr(table, "iloc"):
        mixed[table.columns[column]] = table.iloc[order, column].array
    else:
        mixed[:, column] = table[order, column]
    return mixed
