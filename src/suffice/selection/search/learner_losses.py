"""Losses of learners on held-out rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from suffice.core.table import Table
from suffice.core.threads import side_by_side
from suffice.selection.search.boosting import HeldOutBoosting, judge_boosting
from suffice.selection.search.candidates import LearnerCandidate, doubt_of
from suffice.selection.search.learners import BoostedLearner, Learner
from suffice.selection.search.ranking import Judged
from suffice.selection.search.temperatures import judge_scores
from suffice.selection.search.training import Cells, HeldOut
from suffice.typing import Codes, Floats

#: Averages of trees are underconfident, so these temperatures go further below 1 than
# ``TEMPERATURES``.
LEARNER_TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(-2, 4)).ravel())
_ENOUGH_ROWS = 2_000  # number of held-out rows that suffices to evaluate a learner
_MORE_ROUNDS = (
    1.1  # factor on the number of boosting rounds if the model is fitted to all rows
)


def judge_learner(name: str, learner: Learner, cells: Cells, n_kept: int) -> list[Judged]:
    """Return the settings of a learner with the lowest loss, at their best temperatures."""
    held_out = HeldOut.of(cells).take(judging_folds(cells))
    if isinstance(learner, BoostedLearner):
        posteriors, n_rounds = boosted_posteriors(learner, cells)
        settings = [n_rounds]
    else:
        posteriors = held_out_posteriors(learner, cells)  # (S, n, K)
        settings = list(range(len(learner.settings)))
    n_rows = cells.table.n_rows
    doubt = doubt_of(n_rows)
    # ε bounds the loss of a row to which a learner gives probability 0: log((1 − ε) p + ε / n)
    log_p = np.log((1 - doubt) * posteriors + doubt / n_rows)
    scores = np.ascontiguousarray(
        log_p[:, held_out.rows].transpose(3, 0, 1, 2)
    )  # (K, S, F, m)
    losses = judge_scores(scores, held_out, LEARNER_TEMPERATURES)
    judged = []
    for i in np.argsort(losses.log_loss, kind="stable")[:n_kept].tolist():
        candidate = LearnerCandidate(
            name=name + learner.settings[i],
            learner=learner,
            setting=settings[i],
            temperature=float(losses.temperature[i]),
            error=float(losses.error[i]),
            log_loss=float(losses.log_loss[i]),
            log_loss_se=float(losses.log_loss_se[i]),
            view=learner.view,
        )
        judged.append(Judged(candidate, losses.true_log[i], losses.log_posterior[:, i]))
    return judged


def judging_folds(cells: Cells) -> Codes:
    """Return the folds that evaluate learners: the first folds that together have enough rows."""
    folds = np.flatnonzero(cells.trainable)
    counts = np.diff(cells.fold_edges)[folds]
    rows_before = np.cumsum(counts) - counts
    return folds[rows_before < _ENOUGH_ROWS]


def held_out_posteriors(learner: Learner, cells: Cells) -> Floats:
    """Return p(k | x) for held-out rows, and 1 / K for rows outside ``judging_folds``.

    The shape is (S, n, K): S settings of the learner, n rows in the order of the cells.
    """
    table = cells.table.with_rows(learner.view.apply(cells.table.x))
    settings = range(len(learner.settings))
    shape = (len(settings), table.n_rows, table.n_classes)
    posteriors = np.full(shape, 1 / table.n_classes)
    for f in judging_folds(cells):
        fold = _fold_tables(cells, table, f)
        posteriors[:, fold.held_rows] = 0.0
        for i, model in enumerate(learner.learn(fold.train, settings, judging=True)):
            posterior = model.posterior(table.x[fold.held_rows])
            posteriors[i, fold.held_rows, fold.present] = posterior.T
    return posteriors


def boosted_posteriors(learner: BoostedLearner, cells: Cells) -> tuple[Floats, int]:
    """Return ``held_out_posteriors`` of boosted trees, and the number of rounds for all rows.

    Boosting in a fold stops at the lowest loss of the held-out rows, which may be whole groups or
    later rows. For all rows, the number of rounds is 10 % larger than for the training rows of a
    fold. This factor is a guess.
    """
    table = cells.table

    def judged(f: int) -> tuple[_Fold, HeldOutBoosting]:
        fold = _fold_tables(cells, table, f)
        held_out = table.take(fold.held_rows)
        has_learnt_class = np.isin(held_out.codes, fold.present)
        codes = np.minimum(
            np.searchsorted(fold.present, held_out.codes), len(fold.present) - 1
        )
        # held-out rows of a class without training rows get weight 0
        weight = np.where(has_learnt_class, held_out.weights, 0.0)
        held_out = replace(held_out, codes=codes, classes=fold.train.classes, weight=weight)
        return fold, judge_boosting(fold.train, held_out, learner.seed)

    posteriors = np.full((1, table.n_rows, table.n_classes), 1 / table.n_classes)
    n_rounds = []
    folds = judging_folds(cells).tolist()
    for fold, boosting in side_by_side(judged, folds, n_numbers=table.x.size):
        n_rounds.append(boosting.n_rounds)
        posteriors[0, fold.held_rows] = 0.0
        posteriors[0, fold.held_rows, fold.present] = boosting.posterior.T
    return posteriors, round(_MORE_ROUNDS * float(np.mean(n_rounds)))


class _Fold(NamedTuple):
    train: Table  # has only the classes with training rows
    present: Codes  # codes of these classes among all classes
    held_rows: slice


def _fold_tables(cells: Cells, table: Table, fold: int) -> _Fold:
    """Return the training rows of a fold, and the positions of its held-out rows."""
    lo, hi = cells.fold_edges[fold : fold + 2]
    train = table.take(cells.training_rows(fold))
    present = np.flatnonzero(train.class_weights > 0)
    codes = np.searchsorted(present, train.codes)
    train = replace(train, codes=codes, classes=table.classes[present])
    return _Fold(train, present, slice(lo, hi))
