"""Fit logistic and softmax regression with the solver that suits the size of the problem."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from suffice.core.moments import Moments
from suffice.core.table.table import Table
from suffice.core.threads import one_blas_thread
from suffice.discriminative.descent import DescentPath
from suffice.discriminative.logistic_loss import Objective, against_first, sum_to_zero
from suffice.discriminative.newton import LimitedMemory, Newton, QuasiNewton, SampledNewton
from suffice.discriminative.problem import WIDEST_HESSIAN, Problem, coded_moments
from suffice.discriminative.row_span import RowSpan
from suffice.discriminative.scaling import Scaling
from suffice.discriminative.separation import Separation, find_separation
from suffice.discriminative.solver import Solution, Solver
from suffice.discriminative.starts import Start, lda_start, zero_start
from suffice.discriminative.summary import LogisticSummary
from suffice.typing import Codes, Floats

SUBSTITUTE_L2 = 1.0  # the penalty that is used if the likelihood has no maximum
_CHEAP_CURVATURE = 200  # if (C + 1) D is smaller, a Hessian costs little more than a gradient
_WIDEST_HESSIAN_IN_SPAN = 300  # more parameters in the span of the rows take L-BFGS
_DRAWN_ROWS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A fitted logistic regression."""

    problem: Problem
    solution: Solution
    l2: float  # the penalty used
    # how the classes are separated, if l2=0 was asked for and they are separable
    separation: Separation | None
    moments: Moments  # moments of the rows in original units
    # the span of the rows, if the problem was solved in coordinates along it
    span: RowSpan | None = None

    @property
    def beta(self) -> Floats:
        """Intercepts and coefficients against the first class, in original units, (C, D)."""
        beta = self.problem.scaling.to_original(self.solution.point.phi)
        beta[:, 1 + self.problem.aliased] = 0.0
        return beta if self.span is None else self.span.to_original(beta)

    @property
    def at_centre(self) -> Floats:
        """Log odds against the first class at the centre of ``scaling``, (C,)."""
        phi = self.solution.point.phi
        if self.span is None:
            return phi[:, 0]
        # coordinates in the span are measured from the centre of ``scaling``
        return self.problem.scaling.to_original(phi)[:, 0]

    @property
    def scaling(self) -> Scaling:
        """The map from original rows to the units of the solver."""
        return self.problem.scaling if self.span is None else self.span.scaling

    @property
    def aliased(self) -> Codes:
        """Columns whose coefficients are held at zero, since the rows cannot determine them."""
        if self.span is None:
            return self.problem.aliased
        return np.flatnonzero(np.asarray(self.span.scaling.inverse) == 0)

    @property
    def inference(self) -> LogisticSummary | None:
        """Uncertainty of ``beta``, if the solver computed the Hessian of all coefficients."""
        point = self.solution.point
        if point.hessian is None or self.span is not None:
            return None
        return LogisticSummary.of(self.problem, point, self.l2)

    def path(self, names: tuple[str, ...]) -> DescentPath:
        """Return the recorded descent; for many rows, with the loss surface of a sample."""
        scaling = self.problem.scaling

        def to_original(phi: Floats) -> Floats:
            return sum_to_zero(scaling.to_original(phi))

        loss = LossOnPath.of(self.problem)
        return DescentPath.along(self.solution.trace, to_original, names, loss)


@dataclass(frozen=True, slots=True, eq=False)
class LossOnPath:
    """The loss as a function of all parameters in original units, as a class for pickling."""

    objective: Objective
    scaling: Scaling
    factor: float  # weight of all rows divided by that of the objective's rows

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the loss of all rows, or of a sample if there are many rows."""
        objective = problem.objective
        if objective.design.table.n_rows <= _DRAWN_ROWS:
            return cls(objective, problem.scaling, factor=1.0)
        sample = objective.sample(_DRAWN_ROWS)
        factor = objective.design.total_weight / sample.design.total_weight
        return cls(sample, problem.scaling, factor)

    def __call__(self, parameters: Floats) -> float:
        beta = against_first(parameters.reshape(-1, self.objective.shape[1]))
        phi = self.scaling.from_original(beta)
        return self.factor * self.objective.evaluate(phi).loss


def fit_logistic(
    table: Table,
    moments: Moments,
    *,
    l2: float = 1.0,
    fit_intercept: bool = True,
    standardize: bool = True,
    per_deviation: bool = True,
    solver: Solver | None = None,
    start: Start = lda_start,
    tol: float | None = None,
    epsilon: float | None = None,
    max_iter: int | None = None,
    record: bool = False,
    refuse_separation: bool = True,
) -> LogisticFit:
    """Return the fit to a table; for separable classes and l2 = 0, with ``SUBSTITUTE_L2``.

    ``tol``, ``epsilon`` and ``max_iter`` replace the solver's own limits. ``Problem.of`` explains
    ``standardize`` and ``per_deviation``.
    """

    def solved(l2: float) -> tuple[Problem, Solution]:
        problem = Problem.of(
            table,
            moments,
            l2=l2,
            fit_intercept=fit_intercept,
            standardize=standardize,
            per_deviation=per_deviation,
        )
        suitable = solver or suitable_solver(problem)
        stopping = suitable.default.with_limits(tol, epsilon, max_iter)
        return problem, suitable.solve(problem, start(problem), stopping, record=record)

    with one_blas_thread():
        problem, solution = solved(l2)
        separation = None
        if refuse_separation and l2 == 0:
            separation = find_separation(problem, solution)
        if separation is not None:
            l2 = SUBSTITUTE_L2
            problem, solution = solved(l2)
        return LogisticFit(problem, solution, l2, separation, moments)


def fit_in_span(
    span: RowSpan,
    moments: Moments,
    *,
    l2: float,
    fit_intercept: bool,
    tol: float | None,
    max_iter: int | None,
) -> LogisticFit:
    """Return the fit to few rows with l2 > 0 in coordinates along their span.

    ``moments`` are those of the original rows.
    """
    n_parameters = (span.table.n_classes - 1) * (span.table.n_features + 1)
    fit = fit_logistic(
        span.table,
        coded_moments(span.table, "diagonal"),
        l2=l2,
        fit_intercept=fit_intercept,
        standardize=False,  # the rows are in standard units, and their coordinates are a rotation
        per_deviation=False,
        solver=LimitedMemory() if n_parameters > _WIDEST_HESSIAN_IN_SPAN else Newton(),
        start=zero_start,
        tol=tol,
        max_iter=max_iter,
    )
    return replace(fit, moments=moments, span=span)


def suitable_solver(problem: Problem) -> Solver:
    """Return Newton's method if Hessians are affordable, otherwise a quasi-Newton method.

    A Hessian costs about as much as (C + 1) D / 8 gradients.
    """
    c, d = problem.objective.shape
    if c * d > WIDEST_HESSIAN:
        return QuasiNewton()
    if not problem.objective.design.has_many_rows:
        return Newton()
    if c == 1:
        return SampledNewton()
    if (c + 1) * d <= _CHEAP_CURVATURE:
        return Newton()
    return QuasiNewton()
