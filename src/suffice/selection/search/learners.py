"""Classifiers other than Gaussians that may enter the average of the search."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from suffice.core.model.averaged import ForeignModel, PosteriorModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.views import Plain, View
from suffice.core.table import Table
from suffice.discriminative.logistic_loss import sum_to_zero
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.problem import Problem, coded_moments, moments_to_fit
from suffice.discriminative.row_span import RowSpan, is_solved_in_span
from suffice.discriminative.starts import Start, lda_start, start_at, zero_start
from suffice.discriminative.stopping import Stopping
from suffice.selection.search.boosting import fit_boosting
from suffice.selection.search.repeated_rows import distinct_table
from suffice.selection.search.tree_growing import grow_extra_trees, grow_random_forest
from suffice.selection.validation.fitting import fitted, weight_name
from suffice.typing import SklearnClassifier

_PLAIN = Plain()
# with more coefficients, steps without second derivatives are faster
_MOST_NEWTON_COEFFICIENTS = 200
_MOST_TREE_ROWS = 5_000  # most training rows of one tree
_N_TREES = 72
_N_JUDGED_TREES = 24  # number of trees when learners are evaluated on a large table
_MANY_BOOSTED_TREES = (
    1_000  # with more trees in one fit, at most two boosted fits are averaged
)
_FEW_NUMBERS = 10_000  # with at most this many cells, evaluation uses all trees


class Learner(Protocol):
    """A kind of classifier with one or more settings."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Suffix of the learner's name for each setting."""

    @property
    def view(self) -> View:
        """The view applied to the rows before the learner gets them."""

    def learn(
        self,
        table: Table,
        chosen: Sequence[int],
        *,
        judging: bool,
    ) -> list[PosteriorModel]:
        """Return the models for the ``chosen`` settings; every class of the table must have rows.

        With ``judging``, the models are only evaluated, so a rougher fit is enough.
        """


@dataclass(frozen=True, slots=True, eq=False)
class ForeignLearner:
    """A scikit-learn classifier. If it takes no weights, its posteriors allow for class weights."""

    estimator: SklearnClassifier
    settings = ("",)
    view = Plain()

    def learn(
        self,
        table: Table,
        chosen: Sequence[int],  # noqa: ARG002
        *,
        judging: bool,  # noqa: ARG002
    ) -> list[PosteriorModel]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = fitted(self.estimator, table.x, table.codes, table.weight)
        class_weights = None
        if table.weight is not None and weight_name(self.estimator) is None:
            class_weights = table.class_weights / np.bincount(table.codes)
        return [ForeignModel(estimator, table.n_classes, class_weights)]


@dataclass(frozen=True, slots=True)
class LogisticPath:
    """Logistic regression on standardised features, from strong to weak penalty."""

    penalties: tuple[float, ...]
    view: View = _PLAIN

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(f", penalty {l2:g}" for l2 in self.penalties)

    def learn(
        self,
        table: Table,
        chosen: Sequence[int],
        *,
        judging: bool,
    ) -> list[PosteriorModel]:
        """Return the model for each penalty; each fit starts at the previous solution."""
        distinct, place = distinct_table(table)
        if distinct is not table:
            table = replace(distinct, weight=distinct.weights * np.bincount(place))
        if is_solved_in_span(table):
            return self._learn_in_span(table, chosen, judging=judging)
        unit_problem = Problem.of(table, coded_moments(table), l2=1.0)
        objective = unit_problem.objective
        scaling = unit_problem.scaling
        stopping = Stopping(tol=1e-2 if judging else 1e-6, max_iter=50)
        phi = lda_start(unit_problem)
        solver = Newton() if phi.size <= _MOST_NEWTON_COEFFICIENTS else QuasiNewton()
        models: list[PosteriorModel] = []
        for i in chosen:
            penalised = replace(objective, penalty=self.penalties[i] * objective.penalty)
            problem = replace(unit_problem, objective=penalised)
            phi = solver.solve(problem, phi, stopping).point.phi
            coefficients = sum_to_zero(phi)
            slopes = coefficients[:, 1:] * scaling.inverse
            models.append(LinearModel.of(slopes, coefficients[:, 0], centre=scaling.centre))
        return models

    def _learn_in_span(
        self,
        table: Table,
        chosen: Sequence[int],
        *,
        judging: bool,
    ) -> list[PosteriorModel]:
        """Return the same models, fitted in the span of the rows: faster for few rows."""
        span = RowSpan.of(table, coded_moments(table, "diagonal"), fit_intercept=True)
        sums = moments_to_fit(span.table)
        stopping = Stopping(tol=1e-2 if judging else 1e-6, max_iter=50)
        start: Start = zero_start
        models: list[PosteriorModel] = []
        for i in chosen:
            problem = Problem.of(span.table, sums, l2=self.penalties[i], per_deviation=False)
            phi = QuasiNewton().solve(problem, start(problem), stopping).point.phi
            beta = problem.scaling.to_original(phi)
            start = start_at(beta)
            coefficients = sum_to_zero(beta)
            slopes = span.slopes(coefficients) * span.scaling.inverse
            models.append(
                LinearModel.of(slopes, coefficients[:, 0], centre=span.scaling.centre)
            )
        return models


@dataclass(frozen=True, slots=True)
class TreeLearner:
    """A random forest or extremely randomised trees, with a least number of rows per leaf."""

    min_leaf_rows: int
    random_forest: bool
    seed: int
    settings = ("",)
    view = Plain()

    def learn(
        self,
        table: Table,
        chosen: Sequence[int],  # noqa: ARG002
        *,
        judging: bool,
    ) -> list[PosteriorModel]:
        grow = grow_random_forest if self.random_forest else grow_extra_trees
        is_large = table.x.size > _FEW_NUMBERS
        trees = grow(
            table,
            n_trees=_N_JUDGED_TREES if judging and is_large else _N_TREES,
            min_leaf_rows=self.min_leaf_rows,
            n_rows=min(_MOST_TREE_ROWS, table.n_rows),
            seed=self.seed,
        )
        return [trees]


@dataclass(frozen=True, slots=True)
class BoostedLearner:
    """Boosted trees; its setting is the number of rounds, which held-out rows choose."""

    n_repeats: int
    seed: int
    settings = ("",)
    view = Plain()

    def learn(
        self,
        table: Table,
        chosen: Sequence[int],
        *,
        judging: bool,  # noqa: ARG002
    ) -> list[PosteriorModel]:
        n_outputs = 1 if table.n_classes == 2 else table.n_classes
        models: list[PosteriorModel] = []
        for n_rounds in chosen:
            # An average of many fits varies less, but takes longer.
            n_repeats = self.n_repeats
            if n_rounds * n_outputs > _MANY_BOOSTED_TREES:
                n_repeats = min(n_repeats, 2)
            model = fit_boosting(table, n_rounds=n_rounds, n_repeats=n_repeats, seed=self.seed)
            models.append(model)
        return models
