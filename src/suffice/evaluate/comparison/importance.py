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
from suffice.evaluate.comparison.paired import ERROR, LARGEST, LOG_LOSS, LOSSES, Loss
from suffice.selection.validation.folds import Folds
from suffice.typing import Codes, Floats, Labels, RowsLike, SklearnClassifier

REPEATS = 5
MOST_SHOWN = 20  # columns in the result
MOST_COLUMNS = 200  # of a table for which importance is computed
MOST_WORK = 2_000_000  # rows × columns × repeats that are predicted again


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a loss rises once a column is shuffled among held-out rows."""

    feature: str
    loss: Loss  # "log_loss" where no column changes the error, or a constant errs as rarely
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
    """Return the rise of the loss by column, largest first; nothing for very many columns."""
    work = len(folds.judged_rows) * len(names) * REPEATS
    if not outcome.learnt or work > MOST_WORK or len(names) > MOST_COLUMNS:
        return ()
    learner = learner_of(model.estimator, folds.X, is_plain=folds.is_plain)
    rng = np.random.default_rng(seed)
    fold_rises = []
    for (_, test), learnt in zip(folds.splits, outcome.learnt, strict=True):
        shown = learner.shown(folds, test)
        fold_rises.append(
            _rises(learnt, shown, folds.codes[test], folds.classes, len(names), rng)
        )
    rises = np.concatenate(fold_rises, axis=2)
    by_error = _importances(rises[:, ERROR], LOSSES[ERROR], outcome, names)
    by_log_loss = _importances(rises[:, LOG_LOSS], LOSSES[LOG_LOSS], outcome, names)
    rows = outcome.held_out
    shares = np.bincount(rows.truth, rows.weights) / rows.weights.sum()
    # a model that errs as often as the most frequent class does has no error to explain
    explains_error = by_error[0].low > 0 and outcome.error < 1 - shares.max()
    if explains_error or np.isnan(by_log_loss[0].mean):
        return by_error
    return by_log_loss


def _rises(
    learnt: SklearnClassifier,
    shown: RowsLike,
    truth: Codes,
    classes: Labels,
    n_columns: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the mean rise of error and log-loss of each row of a fold by column, (d, 2, n)."""
    n = len(truth)
    before = _losses(learnt, shown, truth, classes)
    repeated_truth = np.tile(truth, REPEATS)
    copies = taken(shown, np.tile(np.arange(n), REPEATS))
    rises = []
    for j in range(n_columns):
        # each copy is shuffled by itself
        order = np.concatenate([copy * n + rng.permutation(n) for copy in range(REPEATS)])
        after = _losses(learnt, _shuffled(copies, j, order), repeated_truth, classes)
        rises.append(after.reshape(2, REPEATS, n).mean(1) - before)
    return np.stack(rises)


def _losses(
    learnt: SklearnClassifier,
    rows: RowsLike,
    truth: Codes,
    classes: Labels,
) -> Floats:
    """Return error and log-loss of each row, (2, n)."""
    logs = log_posteriors_of(learnt, rows, classes)
    if logs is None:
        wrong = learnt.predict(rows) != classes[truth]
        return np.stack([wrong, np.full(len(wrong), np.nan)])
    return np.minimum(losses_of_rows(logs, truth)[:2], LARGEST)


def _importances(
    rises: Floats,
    loss: Loss,
    outcome: Outcome,
    names: tuple[str, ...],
) -> tuple[Importance, ...]:
    """Return the importance of columns by the rise of the loss of each row, (d, n)."""
    w = outcome.held_out.weights
    mean = np.average(rises, axis=1, weights=w)
    variance = np.average(np.square(rises - mean[:, None]), axis=1, weights=w)
    half = float(ndtri(1 - LEVEL / 2)) * np.sqrt(variance / outcome.effective_rows)
    order = np.argsort(-mean, kind="stable")[:MOST_SHOWN]
    return tuple(
        Importance(
            feature=names[j],
            loss=loss,
            mean=float(mean[j]),
            low=float(mean[j] - half[j]),
            high=float(mean[j] + half[j]),
        )
        for j in order
    )


def _shuffled(table: Any, column: int, order: Codes) -> Any:
    """Return a table, one of whose columns comes from its rows in another order."""
    if hasattr(table, "with_columns"):  # polars
        return table.with_columns(table[table.columns[column]].gather(order))
    if hasattr(table, "set_column"):  # pyarrow
        return table.set_column(column, table.column_names[column], table[column].take(order))
    shuffled = table.copy()
    if hasattr(table, "iloc"):  # pandas
        shuffled[table.columns[column]] = table.iloc[order, column].array
    else:
        shuffled[:, column] = table[order, column]
    return shuffled
