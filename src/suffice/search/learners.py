"""Classifiers that are no Gaussians, at several settings each: what a table teaches them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from suffice.discriminative.descent import Stopping
from suffice.discriminative.design import Problem, coded_moments
from suffice.discriminative.logistic_fit import lda_start
from suffice.discriminative.logistic_loss import symmetric
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.model.linear import LinearModel
from suffice.model.outside import ForeignModel, Outsider, Trees
from suffice.table import Table
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
        """Return what a copy learns."""
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
        """Each penalty, in words."""
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
        """Each size of a leaf, in words."""
        return tuple(f", leaves of {n} or more" for n in self.leaves)

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:
        """Return the trees of each size of a leaf."""
        n_trees = self.n_judging if judging else self.n_trees
        return [
            Trees.grown(
                table, n_trees, self.leaves[i], min(self.most_rows, table.n_rows), self.seed
            )
            for i in chosen
        ]
