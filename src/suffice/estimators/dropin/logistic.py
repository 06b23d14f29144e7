"""Logistic regression by scikit-learn's definitions, solved by this library's Newton steps."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import linear_model as theirs
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from suffice.core.table import Table
from suffice.discriminative.logistic_fit import fit_logistic
from suffice.discriminative.logistic_loss import against_first, all_scores, sum_to_zero
from suffice.discriminative.problem import moments_to_fit
from suffice.discriminative.starts import Start, lda_start, start_at, zero_start
from suffice.errors import InvalidParameterError
from suffice.estimators.dropin.rows import FLOATS, Linear, labelled_table
from suffice.estimators.linear import UnfinishedDescentWarning
from suffice.typing import Floats

_CERTAIN = 1e3  # log odds of the only class with any weight
_FINEST = 1e-8  # greatest mean gradient that is left, where more is allowed too


class LogisticRegression(Linear, theirs.LogisticRegression):
    """Logistic regression: parameters, attributes and definitions are scikit-learn's.

    Whatever the solver, the minimum comes from Newton or quasi-Newton steps. L1 and elastic-net
    penalties, "liblinear" and sparse rows are refused.

    Cox (1958), *Journal of the Royal Statistical Society B* 20, 215–242.

    Examples
    --------
    >>> from suffice.sklearn import LogisticRegression
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> LogisticRegression(C=10.0).fit(X, y).coef_.round(3).tolist()
    [[1.564, 1.319]]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        self._validate_params()
        l2 = self._l2()
        _refuse_sparse(X)
        table = labelled_table(self, X, y, dtype=FLOATS)
        if table.n_classes < 2:  # it refuses
            return super().fit(X, y)  # type: ignore[no-any-return]
        table = self._weighted(table, sample_weight)
        start, counted = self._first(table), table.counted()
        self.classes_ = table.classes
        if counted.n_classes == table.n_classes:
            beta, n_iter = self._solved(counted, l2, start)
            rows = sum_to_zero(beta)
        else:
            rows, n_iter = self._of_some_classes(table, counted, l2)
        rows = rows.astype(table.x.dtype)
        self.coef_, self.intercept_ = rows[:, 1:].copy(), rows[:, 0].copy()
        self.n_iter_ = np.array([n_iter], np.int32)
        return self

    def _of_some_classes(self, table: Table, counted: Table, l2: float) -> tuple[Floats, int]:
        """Return the coefficients where some class has no weight, and so no probability."""
        seen, n_iter = table.class_weights > 0, 0
        if table.n_classes == 2:
            rows = np.zeros((1, table.n_features + 1))
            rows[0, 0] = _CERTAIN if seen[1] else -_CERTAIN
            return rows, n_iter
        rows = np.zeros((table.n_classes, table.n_features + 1))
        rows[~seen, 0] = -np.inf
        if counted.n_classes > 1:
            # two rows ±φ/2 of three or more have half the squares of the one vector φ of two
            share = 0.5 if counted.n_classes == 2 else 1.0
            beta, n_iter = self._solved(counted, share * l2, None)
            rows[seen] = all_scores(beta) - all_scores(beta).mean(0)
        return rows, n_iter

    def _solved(self, table: Table, l2: float, start: Start | None) -> tuple[Floats, int]:
        """Return coefficients against the first class, intercepts first, and steps taken."""
        fit = fit_logistic(
            table,
            moments_to_fit(table),
            l2=l2,
            fit_intercept=self.fit_intercept,
            start=start or (lda_start if self.max_iter else zero_start),
            max_iter=self.max_iter,
            tol=min(self.tol, _FINEST),
            per_deviation=False,
            refuse_separation=False,
        )
        if not fit.solution.converged and fit.solution.trace[-1].gradient_norm > self.tol:
            newton = self.solver == "newton-cholesky"
            who = "Newton solver did not" if newton else f"{self.solver} failed to"
            msg = (
                f"{who} converge after {fit.solution.n_iter} iterations: The max_iter was reached "
                "which means the coef_ did not converge; Increase the number of iterations."
            )
            warnings.warn(msg, UnfinishedDescentWarning, stacklevel=3)
        return fit.beta, fit.solution.n_iter

    def _weighted(self, table: Table, sample_weight: Any) -> Table:
        """Return the rows with their own weights and those of their classes."""
        if sample_weight is None and self.class_weight is None:
            return table
        weight = _check_sample_weight(sample_weight, table.x, dtype=np.float64, copy=True)
        if self.class_weight is not None:
            given = {"classes": table.classes, "y": table.labels, "sample_weight": weight}
            weight *= compute_class_weight(self.class_weight, **given)[table.codes]
        return replace(table, weight=weight)

    def _first(self, table: Table) -> Start | None:
        """Return the coefficients of the last fit, where these are asked for and fit."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        shape = (1 if table.n_classes == 2 else table.n_classes, table.n_features)
        if self.coef_.shape != shape:
            msg = f"Initialization coef is of shape {self.coef_.shape}, expected shape {shape}"
            raise ValueError(msg)
        beta = against_first(np.column_stack([self.intercept_, self.coef_]).astype(np.float64))
        return start_at(beta)

    def _l2(self) -> float:
        """Return λ = 1 / C of the penalty ½ λ Σ w², after refusing other penalties."""
        self._warn()
        penalty = self.penalty
        if penalty == "deprecated":
            penalty = {0: "l2", 1: "l1"}.get(self.l1_ratio or 0, "elasticnet")
            penalty = None if np.isinf(self.C) else penalty
        if self.solver == "liblinear":
            _refuse("solver='liblinear', which penalises the intercept too,")
        if penalty in ("l1", "elasticnet"):
            _refuse(f"an {penalty} penalty")
        if self.dual:
            raise ValueError(f"Solver {self.solver} supports only dual=False, got dual=True")
        return 0.0 if penalty is None else 1 / self.C

    def _warn(self) -> None:
        named, ratio, is_named = self.penalty, self.l1_ratio, self.penalty != "deprecated"
        recent = type(self)().penalty == "deprecated"  # l1_ratio and C are in its place
        one = {"l1": 1, "l2": 0}.get(named, ratio)
        none = "'l1_ratio=None' was deprecated in version 1.8: use 0 <= l1_ratio <= 1 instead"
        old = "'penalty' was deprecated in version 1.8: use l1_ratio, or C=np.inf for none"
        two = f"Inconsistent values: penalty={named} with l1_ratio={ratio}: use l1_ratio only"
        got = f"Got (penalty={named})"
        idle = f"l1_ratio parameter is only used when penalty is 'elasticnet'. {got}"
        lost = "Setting penalty=None will ignore the C and l1_ratio parameters"
        jobs = "'n_jobs' has no effect since 1.8 and will be removed in 1.10: leave it out"
        for holds, message, category in (
            (not is_named and ratio is None, none, FutureWarning),
            (recent and is_named, old, FutureWarning),
            (recent and is_named and ratio != one, two, UserWarning),
            (is_named and named != "elasticnet" and 0 < (ratio or 0) < 1, idle, UserWarning),
            (named is None and self.C != 1.0, lost, UserWarning),
            (recent and self.n_jobs is not None, jobs, FutureWarning),
        ):
            if holds:
                warnings.warn(message, category, stacklevel=4)

    def _read(self, X: Any, readout: Any) -> Any:
        _refuse_sparse(X)
        return super()._read(X, readout)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.array_api_support = False
        return tags


def _refuse_sparse(X: Any) -> None:
    if issparse(X):
        cure = "use X.toarray(), or scikit-learn's own class (suffice.sklearn.unpatch())"
        needs = "suffice.sklearn.LogisticRegression needs dense rows"
        raise TypeError(f"Sparse data was passed for X, and {needs}: {cure}")


def _refuse(what: str) -> None:
    msg = f"{what} is not part of suffice.sklearn.LogisticRegression: use an l2 penalty with"
    cure = "scikit-learn's own class (sklearn.linear_model, suffice.sklearn.unpatch())"
    raise InvalidParameterError(f"{msg} another solver, or {cure}")
