"""Importance of columns: the rise of the held-out loss when a column is shuffled."""

# Breiman (2001), *Machine Learning* 45, 5–32; Fisher, Rudin & Dominici (2019), *JMLR* 20 (177)

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.decision.predictions import log_posteriors_of, losses_of_rows
from suffice.core.table.matrix import taken
from suffice.evaluate.comparison.judging import Outcome, learner_of
from suffice.evaluate.comparison.models import ComparedModel
from suffice.evaluate.comparison.paired import ERROR, LARGEST, LOG_LOSS, LOSSES, Loss
from suffice.selection.validation.folds import Folds
from suffice.typing import Codes, Floats, Labels, RowsLike, SklearnClassifier

REPEATS = 5
FEWEST_REPEATS = 2  # with fewer repeats, rows are sampled instead
MOST_SHOWN = 20  # most columns in the result
MOST_COLUMNS = 200  # tables with more columns get no importance
# limits on rows × columns × repeats, for models that predict quickly and for all others
MOST_QUICK_PREDICTIONS = 1_000_000
MOST_PREDICTIONS = 60_000


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a loss rises when a column is shuffled among the held-out rows.

    The interval allows for the choice of the held-out rows, but not of the training rows: models
    fitted to other rows may rely on other columns.
    """

    feature: str
    # "error"; "log_loss" if no column changes the error, or the constant model makes as few errors
    loss: Loss
    mean: float
    low: float  # lower end of the 95 % interval
    high: float
    n_rows: int  # number of held-out rows used, a sample if there are many


class FoldRises(NamedTuple):
    """Rises of the losses for some held-out rows of a fold."""

    places: Codes  # positions of these rows among the held-out rows of the fold (n,)
    rises: Floats  # the result of ``_rises`` (2, d, 2, n)


@dataclass(frozen=True, slots=True, eq=False)
class Shuffling:
    """The classifier of each fold, and how its held-out rows are shuffled."""

    model: ComparedModel
    learnt: tuple[Any, ...]  # the classifier of each fold
    folds: Folds
    n_columns: int
    n_repeats: int
    share: float  # share of the held-out rows that is used, drawn at random
    seed: int

    @classmethod
    def of(
        cls,
        model: ComparedModel,
        outcome: Outcome,
        folds: Folds,
        n_columns: int,
        seed: int = 0,
    ) -> Self:
        """Return how the columns of a model's held-out rows are shuffled.

        Large tables are shuffled fewer times. If that is still too slow, only a sample of their
        held-out rows is used.
        """
        n_held_out = len(outcome.held_out.rows)
        n_repeats, n_rows = _affordable(n_held_out, n_columns, is_quick=model.predicts_quickly)
        return cls(
            model=model,
            learnt=outcome.learnt,
            folds=folds,
            n_columns=n_columns,
            n_repeats=n_repeats,
            share=n_rows / n_held_out,
            seed=seed,
        )

    def rises(self, fold: int) -> FoldRises:
        """Return the rises of the losses on a fold, independent of all other folds."""
        learner = learner_of(self.model.estimator, self.folds.X, is_plain=self.folds.is_plain)
        rng = np.random.default_rng([self.seed, fold])
        _, test = self.folds.splits[fold]
        places = np.arange(len(test))
        if self.share < 1:
            n_drawn = max(round(len(test) * self.share), 2)
            places = np.sort(rng.permutation(len(test))[:n_drawn])
        drawn = test[places]
        rises = _rises(
            self.learnt[fold],
            learner.rows_to_predict(self.folds, drawn),
            self.folds.codes[drawn],
            self.folds.classes,
            self.n_columns,
            self.n_repeats,
            rng,
        )
        return FoldRises(places, rises)


def permutation_importance(
    model: ComparedModel,
    outcome: Outcome,
    folds: Folds,
    names: tuple[str, ...],
    seed: int = 0,
    *,
    computed: Callable[[int], FoldRises | None] = lambda _: None,
) -> tuple[Importance, ...]:
    """Return the rise of the loss by column, largest first; empty for very many columns.

    ``computed`` returns the rises of a fold if another process has computed them, else None.
    """
    if not outcome.learnt or len(names) > MOST_COLUMNS:
        return ()
    if min(len(test) for _, test in folds.splits) < 2:
        return ()  # a single row in a fold could only receive its own value
    shuffling = Shuffling.of(model, outcome, folds, len(names), seed)
    fold_rises = []
    kept = []  # positions of the rows among the held-out rows of all folds
    n_before = 0
    for fold, (_, test) in enumerate(folds.splits):
        answer = computed(fold)
        if answer is None:
            answer = shuffling.rises(fold)
        fold_rises.append(answer.rises)
        kept.append(n_before + answer.places)
        n_before += len(test)
    rises = np.concatenate(fold_rises, axis=3)
    order = np.concatenate(kept)
    weights = outcome.held_out.weights[order]
    units = outcome.units[order]
    by_error = _importances(rises[:, :, ERROR], LOSSES[ERROR], names, weights, units)
    by_log_loss = _importances(rises[:, :, LOG_LOSS], LOSSES[LOG_LOSS], names, weights, units)
    rows = outcome.held_out
    shares = np.bincount(rows.truth, rows.weights) / rows.weights.sum()
    # without fewer errors than the constant model, there is no gain in error to explain
    explains_error = by_error[0].low > 0 and outcome.error < 1 - shares.max()
    if explains_error or np.isnan(by_log_loss[0].mean):
        return by_error
    return by_log_loss


def _affordable(n_rows: int, n_columns: int, *, is_quick: bool) -> tuple[int, int]:
    """Return how often columns are shuffled, and how many held-out rows are used."""
    most = MOST_QUICK_PREDICTIONS if is_quick else MOST_PREDICTIONS
    n_repeats = int(np.clip(most // (n_rows * n_columns), FEWEST_REPEATS, REPEATS))
    return n_repeats, min(n_rows, max(most // (n_repeats * n_columns), 1))


def _rises(
    learnt: SklearnClassifier,
    shown: RowsLike,
    truth: Codes,
    classes: Labels,
    n_columns: int,
    n_repeats: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the rises of error and log-loss for each row of a fold and each column, (2, d, 2, n).

    Entry 0 is the rise of the row that receives a value from another row. Entry 1 is the rise that
    a row causes by giving its value to another row. Both are means over the repeats.
    """
    n = len(truth)
    before = _losses(learnt, shown, truth, classes)
    repeated_truth = np.tile(truth, n_repeats)
    copies = taken(shown, np.tile(np.arange(n), n_repeats))
    received = []
    given = []
    for j in range(n_columns):
        # each repeat is shuffled on its own
        order = np.concatenate([copy * n + _cycle(n, rng) for copy in range(n_repeats)])
        after = _losses(learnt, _shuffled(copies, j, order), repeated_truth, classes)
        rises = after - np.tile(before, n_repeats)
        by_giver = np.empty_like(rises)
        by_giver[:, order] = rises
        received.append(rises.reshape(2, n_repeats, n).mean(1))
        given.append(by_giver.reshape(2, n_repeats, n).mean(1))
    return np.stack([received, given])


def _cycle(n: int, rng: np.random.Generator) -> Codes:
    """Return, for each row, the index of the other row whose value it receives."""
    circle = rng.permutation(n)
    order = np.empty(n, np.intp)
    order[circle] = np.roll(circle, 1)
    return order


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
    names: tuple[str, ...],
    w: Floats,
    row_units: Codes,
) -> tuple[Importance, ...]:
    """Return the importance of columns, from the rises (2, d, n) of receivers and givers."""
    received, given = rises
    mean = np.average(received, axis=1, weights=w)
    # The mean is a U-statistic of pairs (receiver, giver): Var = E[(r_i + g_i − 2 μ)²] / n, since
    # a row is the receiver of one pair and the giver of another (Hoeffding 1948). The influences of
    # the rows of a group are added.
    influences = w * (received + given - 2 * mean[:, None])
    units, unit_of = np.unique(row_units, return_inverse=True)
    n_units = len(units)
    sums = np.stack([np.bincount(unit_of, each, n_units) for each in influences])
    squares = np.square(sums).sum(1)
    if loss == LOSSES[ERROR]:
        # Add a row with a rise and a row with a fall, as ``RowLosses.mean_difference`` does, so
        # that the interval is valid for few rows.
        squares = squares + 2 * np.average(w, weights=w) ** 2
    variance = squares / w.sum() ** 2 * n_units / max(n_units - 1, 1)
    half = float(stdtrit(max(n_units - 1, 1), 1 - LEVEL / 2)) * np.sqrt(variance)
    order = np.argsort(-mean, kind="stable")[:MOST_SHOWN]
    return tuple(
        Importance(
            feature=names[j],
            loss=loss,
            mean=float(mean[j]),
            low=float(mean[j] - half[j]),
            high=float(mean[j] + half[j]),
            n_rows=len(w),
        )
        for j in order
    )


def _shuffled(table: Any, column: int, order: Codes) -> Any:
    """Return a table with the rows of one column in another order."""
    if hasattr(table, "with_columns"):  # polars
        values = table.to_series(column)
        # Methods of a Series treat names such as "^x$" as patterns.
        shuffled_values = values.alias("values").gather(order).alias(values.name)
        return table.with_columns(shuffled_values)
    if hasattr(table, "set_column"):  # pyarrow
        return table.set_column(column, table.column_names[column], table[column].take(order))
    shuffled = table.copy()
    if hasattr(table, "iloc"):  # pandas
        shuffled[table.columns[column]] = table.iloc[order, column].array
    else:
        shuffled[:, column] = table[order, column]
    return shuffled
