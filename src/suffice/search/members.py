"""Classifiers of other kinds as members of an average, judged on rows they have not seen."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from suffice.discriminative.descent import Stopping
from suffice.discriminative.design import Problem, coded_moments
from suffice.discriminative.logistic_fit import lda_start
from suffice.discriminative.logistic_loss import symmetric
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.model import ClassModel
from suffice.model.averaged import ForeignModel, Outsider, TemperedModel, Trees, doubted
from suffice.model.linear import LinearModel
from suffice.model.views import Plain
from suffice.moments import Moments
from suffice.search.judging import judged_scores
from suffice.search.training import Cells, HeldOut
from suffice.table import Table
from suffice.typing import Floats
from suffice.validation.folds import fitted

_WIDEST = 200  # coefficients whose curvature is worth its sums


class Learner(Protocol):
    """A kind of classifier, at one or several settings."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Each setting, in words."""

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:
        """Return the models of some settings, all classes of the table having rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ForeignLearner:
    """A classifier of scikit-learn's kind."""

    estimator: Any
    settings = ("",)

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:  # noqa: ARG002
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy = fitted(self.estimator, table.x, table.codes, table.weight)
        return [ForeignModel(copy, table.n_classes)]


@dataclass(frozen=True, slots=True)
class LogisticPath:
    """Logistic regression of standardised features, from much to little penalty."""

    penalties: tuple[float, ...]

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(f", penalty {l2:g}" for l2 in self.penalties)

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:
        """Return the model of each penalty; the search for one begins at the last one's."""
        whole = Problem.of(table, coded_moments(table), l2=1.0)
        stopping = Stopping(tol=1e-3 if judging else 1e-6, max_iter=50)
        phi = lda_start(whole)
        solver = Newton() if phi.size <= _WIDEST else QuasiNewton()
        found: list[Outsider] = []
        for i in chosen:
            penalty = self.penalties[i] * whole.objective.penalty
            problem = replace(whole, objective=replace(whole.objective, penalty=penalty))
            phi = solver.solve(problem, phi, stopping).point.phi
            rows = symmetric(phi)
            slopes = rows[:, 1:] * whole.scaling.inverse
            found.append(LinearModel.of(slopes, rows[:, 0], centre=whole.scaling.centre))
        return found


@dataclass(frozen=True, slots=True)
class ExtraTrees:
    """Extremely randomised trees, down to leaves of so many rows; fewer of them for a judgement."""

    leaves: tuple[int, ...]
    seed: int
    n_trees: int = 100
    n_judging: int = 30
    most_rows: int = 5_000  # that a tree learns from

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(f", leaves of {n} or more" for n in self.leaves)

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:
        n_trees = self.n_judging if judging else self.n_trees
        return [
            Trees.grown(
                table, n_trees, self.leaves[i], min(self.most_rows, table.n_rows), self.seed
            )
            for i in chosen
        ]


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
