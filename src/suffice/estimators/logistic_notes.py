"""What a logistic fit has to say about itself, in words."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from suffice.discriminative.warnings import NotConvergedWarning, SeparationWarning
from suffice.errors import DegenerateDataWarning
from suffice.estimators.linear import column_names

if TYPE_CHECKING:
    from suffice.discriminative.logistic import LogisticFit


def warn_of(estimator: Any, fit: LogisticFit) -> None:
    """Warn of columns without effect, of separation, and of a descent that did not arrive."""
    notes = (
        (_aliased(estimator, fit), DegenerateDataWarning),
        (_separated(estimator, fit), SeparationWarning),
        (_unfinished(fit), NotConvergedWarning),
    )
    for message, category in notes:
        if message:
            warnings.warn(message, category, stacklevel=4)


def _aliased(estimator: Any, fit: LogisticFit) -> str:
    columns = fit.problem.aliased
    if not len(columns):
        return ""
    named = column_names(estimator, columns)
    if fit.l2 > 0:
        return f"columns {named}: constant, so their coefficients are set to zero; drop them"
    return (
        f"the data cannot tell the coefficients of columns {named}: they are constant, or "
        "combinations of other columns, and are set to zero. Drop them, or set l2 > 0 to share "
        "the effect among combined columns"
    )


def _separated(estimator: Any, fit: LogisticFit) -> str:
    separation = fit.separation
    if separation is None:
        return ""
    how = "completely separated" if separation.complete else "separated but for ties"
    by = column_names(estimator, separation.features)
    n, d = fit.problem.objective.rows.n_rows, fit.problem.moments.n_features
    few = f" (there are {n} rows for {d} features)" if n <= d + 1 else ""
    return (
        f"the classes are {how}{f' by columns {by}' if by else ''}{few}, so no finite "
        f"maximum-likelihood coefficients exist: l2={fit.l2:g} was used instead of l2=0. "
        "Set l2 > 0 yourself, or drop those columns"
    )


def _unfinished(fit: LogisticFit) -> str:
    solution = fit.solution
    if solution.converged:
        return ""
    norm = solution.trace.gradient_norms[-1]
    left = f"stopped after {solution.n_iter} steps with a mean gradient of {norm:.3g}"
    rises = solution.trace.rises
    if rises <= solution.n_iter // 10:
        return f"{left}: raise max_iter or tol, or use solver='newton'"
    rate = solution.trace.step_sizes[-1]
    return (
        f"{left}: the loss rose in {rises} steps, so the learning rate {rate:.4g} is too "
        "large; lower it, or use learning_rate='auto'"
    )
