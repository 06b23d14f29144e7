"""Fitting logistic and softmax regression: choice of solver, separation, the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from suffice.discriminative.contrasts import against_first, symmetric
from suffice.discriminative.descent import Solution
from suffice.discriminative.design import SMALL, Scaling, SmallDesign
from suffice.discriminative.gradient import GradientDescent, StochasticDescent
from suffice.discriminative.leave_one_out import held_out_loss, penalties
from suffice.discriminative.logistic_loss import CurvedEvaluation, Objective
from suffice.discriminative.newton import Newton
from suffice.discriminative.path import DescentPath
from suffice.discriminative.problem import Problem, Start, given_start, lda_start
from suffice.discriminative.quasi_newton import WIDEST_HESSIAN, QuasiNewton, SampledNewton
from suffice.discriminative.separation import Separation, find_separation
from suffice.discriminative.summary import Inference
from suffice.errors import InvalidParameterError
from suffice.moments import Moments
from suffice.table.table import Table
from suffice.threads import one_blas_thread
from suffice.typing import Floats

SUBSTITUTE_L2 = 1.0  # answers in place of a maximum likelihood that does not exist
_CHEAP_CURVATURE = 200  # (C + 1) D: below this a Hessian costs little more than a gradient
_DRAWN_ROWS = 2000

Solver: TypeAlias = Newton | QuasiNewton | SampledNewton | GradientDescent | StochasticDescent


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A fitted logistic regression."""

    problem: Problem
    solution: Solution[Any]
    l2: float  # the penalty used
    separation: Separation | None  # found, and so l2 used, where l2=0 was asked for

    @property
    def beta(self) -> Floats:
        """Intercepts and coefficients against the first class, original units, (C, D)."""
        beta = self.problem.scaling.to_original(self.solution.point.phi)
        beta[:, 1 + self.problem.aliased] = 0.0
        return beta

    @property
    def inference(self) -> Inference | None:
        """Uncertainty of ``beta``, if the solver knew the Hessian."""
        point = self.solution.point
        curved = isinstance(point, CurvedEvaluation)
        return Inference.of(self.problem, point, self.l2) if curved else None

    def path(self, names: tuple[str, ...]) -> DescentPath:
        """Return the recorded descent; of many rows, the loss around it is that of a sample."""
        scaling, objective, factor = self.problem.scaling, self.problem.objective, 1.0
        if objective.design.table.n_rows > _DRAWN_ROWS:
            sample = objective.sample(_DRAWN_ROWS)
            factor = objective.design.total_weight / sample.design.total_weight
            objective = sample
        loss = partial(_loss_at, objective, scaling, factor)
        trace = self.solution.trace
        return DescentPath.along(trace, lambda p: symmetric(scaling.to_original(p)), names, loss)


def fit_logistic(
    table: Table,
    moments: Moments,
    *,
    l2: float = 1.0,
    solver: Solver | None = None,
    start: Start | None = None,
    limits: Mapping[str, Any] | None = None,
    record: bool = False,
    refuse_separation: bool = True,
    **posed: bool,
) -> LogisticFit:
    """Return the fit of a table whose moments are known.

    Without a solver, the one that suits the size. ``limits`` are fields of ``Stopping`` that
    replace the solver's own. Where l2 = 0 and the classes turn out to be separable, the fit of
    ``SUBSTITUTE_L2`` is returned, and says so, unless told not to look. ``posed`` are settings of
    ``Problem.of``.
    """

    def fitted(l2: float) -> tuple[Problem, Solution[Any]]:
        problem = Problem.of(table, moments, l2=l2, **posed)
        way = solver or suitable_solver(problem)
        first = (start or lda_start)(problem)
        stopping = replace(way.default, **(limits or {}))
        return problem, way.solve(problem, first, stopping, record=record)

    with one_blas_thread(when=table.x.size > SMALL):
        problem, solution = fitted(l2)
        looked = refuse_separation and l2 == 0
        separation = find_separation(problem, solution) if looked else None
        if separation is None:
            return LogisticFit(problem, solution, l2, None)
        return LogisticFit(*fitted(SUBSTITUTE_L2), SUBSTITUTE_L2, separation)


def choose_penalty(table: Table, moments: Moments, **posed: bool) -> float:
    """Return the λ of least leave-one-out log-loss, read from one fit of each λ."""
    n_parameters = (table.n_classes - 1) * (table.n_features + 1)
    if n_parameters > WIDEST_HESSIAN:
        msg = (
            f"l2='auto' needs the curvature of all {n_parameters} coefficients, and that of at "
            f"most {WIDEST_HESSIAN} is affordable: pass a number, or fewer features"
        )
        raise InvalidParameterError(msg)
    best, beta = (np.inf, 0.0), None
    with one_blas_thread(when=table.x.size > SMALL):
        for l2 in penalties(moments.total_weight).tolist():
            problem = Problem.of(table, moments, l2=l2, **posed)
            start = lda_start(problem) if beta is None else given_start(problem, beta)
            point = Newton().solve(problem, start, Newton.default).point
            beta = problem.scaling.to_original(point.phi)
            best = min(best, (held_out_loss(problem, point), l2))
    return best[1]


def suitable_solver(problem: Problem) -> Solver:
    """Return Newton where Hessians are affordable, otherwise quasi-Newton.

    A Hessian costs about (C + 1) D / 8 times a gradient; of many rows in two classes, one
    Hessian is computed, near the end.
    """
    c, d = problem.objective.shape
    few = isinstance(problem.objective.design, SmallDesign)
    if c * d > WIDEST_HESSIAN:
        return QuasiNewton()
    if few or (c > 1 and (c + 1) * d <= _CHEAP_CURVATURE):
        return Newton()
    return SampledNewton() if c == 1 else QuasiNewton()


def _loss_at(objective: Objective, scaling: Scaling, factor: float, parameters: Floats) -> float:
    """Return the loss at parameters in original units, times a factor."""
    beta = against_first(parameters.reshape(-1, objective.shape[1]))
    return factor * objective.evaluate(scaling.from_original(beta)).loss
