"""Classifiers of other kinds as members of an average: judged out of fold, or out of bag."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from suffice.model import ClassModel
from suffice.model.outside import ForeignModel, TemperedModel, doubted, outsider_of
from suffice.model.views import Plain
from suffice.moments import Moments
from suffice.search.judging import judged_scores
from suffice.search.training import Cells, HeldOut
from suffice.table import Table
from suffice.typing import Floats
from suffice.validation.folds import fitted

#: Averages of trees are not confident enough, so these reach further below one.
MEMBER_TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(-1, 4)).ravel())


@dataclass(frozen=True, slots=True, eq=False)
class OutsideCandidate:
    """A classifier of another kind as judged, and how confident it is allowed to be."""

    name: str
    estimator: Any  # not fitted; None where a file did not keep it
    temperature: float
    error: float
    log_loss: float
    log_loss_se: float
    weight: float = 0.0  # share in the average
    learnt: Any = None  # a forest, fitted to the rows that it was judged on out of bag
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
    """Return a member fitted to all rows; a forest stays as it was judged."""
    learnt = candidate.learnt
    if learnt is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learnt = fitted(candidate.estimator, table.x, table.codes, table.weight)
    priors = table.class_weights / table.class_weights.sum()
    known = candidate.temperature, doubt_of(table.n_rows), priors
    return Member(candidate, TemperedModel(outsider_of(learnt, table.n_classes), *known))


def doubt_of(n_rows: int) -> float:
    """Return ε: the next row is as likely as one in n + 1 to be like none before."""
    return 1 / (n_rows + 1)


def judged_member(name: str, estimator: Any, cells: Cells) -> tuple[OutsideCandidate, Floats]:
    """Return a member at its best temperature, and log p(true class) of every row held out."""
    held = HeldOut.of(cells, cells.teaching)
    posterior, learnt = held_out_posteriors(estimator, cells)
    log_p = doubted(posterior, doubt_of(cells.table.n_rows))
    scores = np.moveaxis(log_p[held.rows], 2, 0)[:, None]  # (K, 1, F, m)
    *figures, true_log = judged_scores(np.ascontiguousarray(scores), held, MEMBER_TEMPERATURES)
    temperature, error, log_loss, se = (float(figure[0]) for figure in figures)
    found = OutsideCandidate(name, estimator, temperature, error, log_loss, se, learnt=learnt)
    return found, true_log[0]


def held_out_posteriors(estimator: Any, cells: Cells) -> tuple[Floats, Any]:
    """Return p(k | x) of every row by a copy that did not see it, in the order of the cells.

    Of a forest of bootstrap samples these are the trees that did not; it is returned, too.
    """
    table = cells.table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if getattr(estimator, "bootstrap", False) and hasattr(estimator, "oob_score"):
            bagged = clone(estimator).set_params(oob_score=True)
            learnt = fitted(bagged, table.x, table.codes, table.weight)
            found = np.asarray(learnt.oob_decision_function_)
            # a row that every tree has seen is like none
            empty = ~np.isfinite(found).all(1) | (found.sum(1) <= 0)
            priors = table.class_weights / table.class_weights.sum()
            return np.where(empty[:, None], priors, found), learnt
        out = np.full((table.n_rows, table.n_classes), 1 / table.n_classes)
        for f in np.flatnonzero(cells.teaching):
            lo, hi = cells.fold_edges[f : f + 2]
            rows = np.r_[0:lo, hi : table.n_rows]
            weight = None if table.weight is None else table.weight[rows]
            copy = fitted(estimator, table.x[rows], table.codes[rows], weight)
            out[lo:hi] = ForeignModel(copy, table.n_classes).posterior(table.x[lo:hi])
        return out, None
