"""Which columns a model needs: its loss on held-out rows once a column is shuffled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from suffice.comparison.judging import learner_of
from suffice.comparison.models import ComparedModel
from suffice.comparison.outcome import Outcome, row_losses
from suffice.comparison.paired import LARGEST, LOSSES
from suffice.table.matrix import taken
from suffice.typing import Codes, Floats
from suffice.validation.folds import Folds
from suffice.validation.significance import LEVEL

REPEATS = 5
MOST = 20  # columns told of
MOST_WORK = 2_000_000  # rows × columns × repeats that are predicted again


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a loss rises once a column is shuffled among held-out rows."""

    feature: str
    loss: str  # "error", or "log_loss" where no column changes the error significantly
    mean: float
    low: float  # 95 % interval over rows
    high: float


def permutation_importance(
    model: ComparedModel, outcome: Outcome, folds: Folds, names: tuple[str, ...], seed: int = 0
) -> tuple[Importance, ...]:
    """Return the rise of the loss by column, largest first, on rows held out by each fold.

    ``outcome`` must have kept the classifier of each fold. Of very many columns none is told.

    References
    ----------
    Breiman (2001), *Machine Learning* 45, 5–32; Fisher, Rudin & Dominici (2019), *JMLR* 20 (177).
    """
    work = len(folds.judged_rows) * len(names) * REPEATS
    if not outcome.learnt or work > MOST_WORK:
        return ()
    learner = learner_of(model.estimator, folds.X, is_plain=folds.is_plain)
    rng = np.random.default_rng(seed)
    parts: list[Floats] = []  # rise of error and log-loss by column, of the rows of a fold
    for fold, learnt in enumerate(outcome.learnt):
        shown = learner.shown(folds, folds.splits[fold][1])

        def losses(rows: Any, fold: int = fold, learnt: Any = learnt) -> Floats:
            return np.minimum(row_losses(folds.predictions(fold, learnt, rows))[:2], LARGEST)

        orders = [[rng.permutation(len(shown)) for _ in range(REPEATS)] for _ in names]
        shuffled = [
            np.mean([losses(_shuffled(shown, j, order)) for order in orders[j]], axis=0)
            for j in range(len(names))
        ]
        parts.append(np.stack(shuffled) - losses(shown))
    rises = np.concatenate(parts, axis=2)
    told = [_told(rises[:, at], loss, outcome, names) for at, loss in enumerate(LOSSES)]
    clear = told[0][0].low > 0 or np.isnan(told[1][0].mean)
    return told[0] if clear else told[1]


def _told(
    rises: Floats, loss: str, outcome: Outcome, names: tuple[str, ...]
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
    if isinstance(table, np.ndarray):
        mixed = table.copy()
        mixed[:, column] = table[order, column]
        return mixed
    other = taken(table, order)
    if hasattr(table, "iloc"):
        mixed = table.copy()
        mixed[table.columns[column]] = other.iloc[:, column].array
        return mixed
    if hasattr(table, "with_columns"):
        return table.with_columns(other[table.columns[column]])
    name = table.column_names[column]
    return table.set_column(column, name, other[name])
