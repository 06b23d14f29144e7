"""Classifiers of other kinds as members of an average, judged on rows they have not seen."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.model import ClassModel
from suffice.model.outside import TemperedModel, doubted
from suffice.model.views import Plain
from suffice.moments import Moments
from suffice.search.judging import judged_scores
from suffice.search.learners import Learner
from suffice.search.training import Cells, HeldOut
from suffice.table import Table
from suffice.typing import Floats

#: Averages of trees are not confident enough, so these reach further below one.
MEMBER_TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(-2, 4)).ravel())


@dataclass(frozen=True, slots=True, eq=False)
class OutsideCandidate:
    """A classifier of another kind as judged, and how confident it is allowed to be."""

    name: str
    learner: Learner | None  # None where a file did not keep it
    setting: int
    temperature: float
    error: float
    log_loss: float
    log_loss_se: float
    weight: float = 0.0  # share in the average
    view = Plain()

    def describe(self) -> str:
        """Return what it is, in words."""
        return f"{self.name}, temperature {self.temperature:.3g}"


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A candidate that was kept, and its model of all rows."""

    candidate: Any
    model: ClassModel | TemperedModel
    moments: Moments | None = None  # of the rows as a Gaussian sees them


def fitted_outsider(candidate: OutsideCandidate, table: Table) -> Member:
    """Return a member fitted to all rows."""
    [model] = candidate.learner.learn(table, [candidate.setting], judging=False)  # type: ignore[union-attr]
    priors = table.class_weights / table.class_weights.sum()
    known = candidate.temperature, doubt_of(table.n_rows), priors
    return Member(candidate, TemperedModel(model, *known))


def doubt_of(n_rows: int) -> float:
    """Return ε: the next row is as likely as one in n + 1 to be like none before."""
    return 1 / (n_rows + 1)


def judged_member(
    name: str, learner: Learner, cells: Cells, n_kept: int
) -> list[tuple[OutsideCandidate, Floats]]:
    """Return its best settings at their temperatures, and log p(true class) of every row."""
    held = HeldOut.of(cells, cells.teaching)
    posterior = held_out_posteriors(learner, cells)
    log_p = doubted(posterior, doubt_of(cells.table.n_rows))
    scores = np.ascontiguousarray(log_p[:, held.rows].transpose(3, 0, 1, 2))  # (K, S, F, m)
    *figures, true_log = judged_scores(scores, held, MEMBER_TEMPERATURES)
    found = [
        OutsideCandidate(name + words, learner, i, *(float(figure[i]) for figure in figures))
        for i, words in enumerate(learner.settings)
    ]
    best = np.argsort(figures[2], kind="stable")[:n_kept]
    return [(found[i], true_log[i]) for i in best]


def held_out_posteriors(learner: Learner, cells: Cells) -> Floats:
    """Return p(k | x) of every row by models that did not see it, (S, n, K)."""
    table, settings = cells.table, range(len(learner.settings))
    out = np.full((len(settings), table.n_rows, table.n_classes), 1 / table.n_classes)
    for f in np.flatnonzero(cells.teaching):
        lo, hi = cells.fold_edges[f : f + 2]
        rest = table.take(np.r_[0:lo, hi : table.n_rows])
        there = np.flatnonzero(rest.class_weights > 0)
        codes = np.searchsorted(there, rest.codes)
        known = replace(rest, codes=codes, classes=table.classes[there])
        models = learner.learn(known, settings, judging=True)
        out[:, lo:hi] = 0.0
        for i, model in enumerate(models):
            out[i, lo:hi, there] = model.posterior(table.x[lo:hi]).T
    return out
