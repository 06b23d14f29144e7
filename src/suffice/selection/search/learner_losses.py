"""Learners judged on rows that they have not seen."""

from dataclasses import replace

import numpy as np

from suffice.selection.search.candidates import LearnerCandidate, doubt_of
from suffice.selection.search.learners import Learner
from suffice.selection.search.ranking import Judged
from suffice.selection.search.temperatures import judge_scores
from suffice.selection.search.training import Cells, HeldOut
from suffice.typing import Codes, Floats

#: Averages of trees are not confident enough, so these reach further below one.
LEARNER_TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(-2, 4)).ravel())
_ENOUGH_ROWS = 2_000  # held out, to judge a learner by


def judge_learner(name: str, learner: Learner, cells: Cells, n_kept: int) -> list[Judged]:
    """Return the best settings of a learner at their temperatures."""
    held_out = HeldOut.of(cells).take(judging_folds(cells))
    posteriors = held_out_posteriors(learner, cells)  # (S, n, K)
    n_rows = cells.table.n_rows
    doubt = doubt_of(n_rows)
    # log((1 − ε) p + ε / n) bounds the loss of a row that a learner gives probability 0
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
            setting=i,
            temperature=float(losses.temperature[i]),
            error=float(losses.error[i]),
            log_loss=float(losses.log_loss[i]),
            log_loss_se=float(losses.log_loss_se[i]),
            view=learner.view,
        )
        judged.append(Judged(candidate, losses.true_log[i]))
    return judged


def judging_folds(cells: Cells) -> Codes:
    """Return the folds that judge learners: the first ones, until they have rows enough."""
    folds = np.flatnonzero(cells.trainable)
    counts = np.diff(cells.fold_edges)[folds]
    rows_before = np.cumsum(counts) - counts
    return folds[rows_before < _ENOUGH_ROWS]


def held_out_posteriors(learner: Learner, cells: Cells) -> Floats:
    """Return p(k | x) by models that have not seen the row, 1 / K outside ``judging_folds``.

    The shape is (S, n, K), for the settings of the learner and the rows in the order of the cells.
    """
    table = cells.table.with_rows(learner.view.apply(cells.table.x))
    settings = range(len(learner.settings))
    shape = (len(settings), table.n_rows, table.n_classes)
    posteriors = np.full(shape, 1 / table.n_classes)
    for f in judging_folds(cells):
        lo, hi = cells.fold_edges[f : f + 2]
        train = table.take(cells.training_rows(f))
        present = np.flatnonzero(train.class_weights > 0)
        codes = np.searchsorted(present, train.codes)
        train = replace(train, codes=codes, classes=table.classes[present])
        posteriors[:, lo:hi] = 0.0
        for i, model in enumerate(learner.learn(train, settings, judging=True)):
            posteriors[i, lo:hi, present] = model.posterior(table.x[lo:hi]).T
    return posteriors
