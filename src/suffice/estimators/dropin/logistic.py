"""scikit-learn's logistic regression, solved by suffice's Newton steps."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn import linear_model as theirs
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from suffice.core.table import Table
from suffice.discriminative.logistic_fit import fit_logistic
from suffice.discriminative.logistic_loss import against_first, all_scores, sum_to_zero
from suffice.discriminative.problem import moments_to_fit
from suffice.discriminative.starts import Start, lda_start, start_at, zero_start
from suffice.errors import InvalidParameterError
from suffice.estimators.dropin.drop_in import FLOATS, LinearDropIn, labelled_table
from suffice.estimators.linear import UnfinishedDescentWarning
from suffice.typing import Floats, LabelsLike, RowsLike, WeightsLike

_CERTAIN = 1e3  # log odds of a class if the other one has no weight
_FINEST = 1e-8  # upper limit of the gradient tolerance, even if the user allows more


class LogisticRegression(LinearDropIn, theirs.LogisticRegression):
    """Logistic regression with the parameters, attributes and definitions of scikit-learn.

    Newton or quasi-Newton steps compute the minimum, whatever ``solver`` is. L1 and elastic-net
    penalties and "liblinear" raise an error. Sparse rows stay sparse if that is faster.

    Cox (1958), *Journal of the Royal Statistical Society B* 20, 215–242.

    Examples
    --------
    >>> from suffice.sklearn import LogisticRegression
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> LogisticRegression(C=10.0).fit(X, y).coef_.round(3).tolist()
    [[1.564, 1.319]]
    """

    _scores_sparse = True

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        self._validate_params()
        self._warn_about_parameters()
        l2 = self._l2()
        table = labelled_table(self, X, y, dtype=FLOATS, accept_sparse=True)
        if table.n_classes < 2:  # scikit-learn raises its own error for this
            super().fit(X, y)
            return self
        table = self._weighted(table, sample_weight)
        start = self._last_coefficients(table)
        with_weight = table.counted()
        self.classes_ = table.classes
        if with_weight.n_classes == table.n_classes:
            beta, n_iter = self._solved(with_weight, l2, start)
            coefficients = sum_to_zero(beta)
        else:
            coefficients, n_iter = self._of_some_classes(table, with_weight, l2)
        coefficients = coefficients.astype(table.x.dtype)
        self.coef_ = coefficients[:, 1:].copy()
        self.intercept_ = coefficients[:, 0].copy()
        self.n_iter_ = np.array([n_iter], np.int32)
        return self

    def _of_some_classes(
        self,
        table: Table,
        with_weight: Table,
        l2: float,
    ) -> tuple[Floats, int]:
        """Return the coefficients, and the steps taken, if some class has no weight: its p is 0."""
        has_weight = table.class_weights > 0
        if table.n_classes == 2:
            coefficients = np.zeros((1, table.n_features + 1))
            coefficients[0, 0] = _CERTAIN if has_weight[1] else -_CERTAIN
            return coefficients, 0
        coefficients = np.zeros((table.n_classes, table.n_features + 1))
        coefficients[~has_weight, 0] = -np.inf
        if with_weight.n_classes == 1:
            return coefficients, 0
        # With K ≥ 3 classes, two of which have weight, the coefficients of these two are ±φ/2.
        # Their sum of squares is half that of φ, the coefficients of a fit of two classes.
        share = 0.5 if with_weight.n_classes == 2 else 1.0
        beta, n_iter = self._solved(with_weight, share * l2, None)
        scores = all_scores(beta)
        coefficients[has_weight] = scores - scores.mean(0)
        return coefficients, n_iter

    def _solved(self, table: Table, l2: float, start: Start | None) -> tuple[Floats, int]:
        """Return coefficients relative to the first class, intercept first, and the steps taken."""
        if start is None:
            start = zero_start if self.max_iter == 0 else lda_start
        fit = fit_logistic(
            table,
            moments_to_fit(table),
            l2=l2,
            fit_intercept=self.fit_intercept,
            start=start,
            max_iter=self.max_iter,
            tol=min(self.tol, _FINEST),
            per_deviation=False,
            refuse_separation=False,
        )
        n_iter = fit.solution.n_iter
        if not fit.solution.converged and fit.solution.trace[-1].gradient_norm > self.tol:
            if self.solver == "newton-cholesky":
                subject = "Newton solver did not"
            else:
                subject = f"{self.solver} failed to"
            warnings.warn(
                f"{subject} converge after {n_iter} iterations: The max_iter was reached which "
                "means the coef_ did not converge; Increase the number of iterations.",
                UnfinishedDescentWarning,
                stacklevel=3,
            )
        return fit.beta, n_iter

    def _weighted(self, table: Table, sample_weight: WeightsLike) -> Table:
        """Return the rows, with weights multiplied by the weights of the rows' classes."""
        if sample_weight is None and self.class_weight is None:
            return table
        weight = _check_sample_weight(sample_weight, table.x, dtype=np.float64, copy=True)
        if self.class_weight is not None:
            class_weights = compute_class_weight(
                self.class_weight,
                classes=table.classes,
                y=table.labels,
                sample_weight=weight,
            )
            weight *= class_weights[table.codes]
        return replace(table, weight=weight)

    def _last_coefficients(self, table: Table) -> Start | None:
        """Return the coefficients of the last fit as a start, if ``warm_start`` asks for it."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        n_scores = 1 if table.n_classes == 2 else table.n_classes
        shape = (n_scores, table.n_features)
        if self.coef_.shape != shape:
            raise ValueError(
                f"Initialization coef is of shape {self.coef_.shape}, expected shape {shape}"
            )
        beta = against_first(np.column_stack([self.intercept_, self.coef_]).astype(np.float64))
        return start_at(beta)

    def _l2(self) -> float:
        """Return λ = 1 / C of the penalty ½ λ Σ w²; raise for any other penalty."""
        if self.solver == "liblinear":
            raise InvalidParameterError(
                "solver='liblinear', which penalises the intercept too, is not part of "
                "suffice.sklearn.LogisticRegression: use another solver, or scikit-learn's own "
                "class (sklearn.linear_model, suffice.sklearn.unpatch())"
            )
        penalty = self.penalty
        if penalty == "deprecated":  # the penalty then follows from C and l1_ratio
            penalty = self._implied_penalty()
        if penalty in ("l1", "elasticnet"):
            raise InvalidParameterError(
                f"an {penalty} penalty is not part of suffice.sklearn.LogisticRegression: use an "
                "l2 penalty, or scikit-learn's own class (sklearn.linear_model, "
                "suffice.sklearn.unpatch())"
            )
        if self.dual:
            raise ValueError(f"Solver {self.solver} supports only dual=False, got dual=True")
        return 0.0 if penalty is None else 1 / self.C

    def _implied_penalty(self) -> str | None:
        """Return the penalty that follows from C and l1_ratio."""
        if np.isinf(self.C):
            return None
        if not self.l1_ratio:
            return "l2"
        return "l1" if self.l1_ratio == 1 else "elasticnet"

    def _warn_about_parameters(self) -> None:
        """Issue scikit-learn's warnings about parameters."""
        has_penalty = self.penalty != "deprecated"
        # since version 1.8 of scikit-learn, users set l1_ratio and C instead of ``penalty``
        is_deprecated = type(self)().penalty == "deprecated"
        if not has_penalty and self.l1_ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in version 1.8: use 0 <= l1_ratio <= 1 instead",
                FutureWarning,
                stacklevel=3,
            )
        if has_penalty and is_deprecated:
            warnings.warn(
                "'penalty' was deprecated in version 1.8: use l1_ratio, or C=np.inf for none",
                FutureWarning,
                stacklevel=3,
            )
            is_odd_l1 = self.penalty == "l1" and self.l1_ratio != 1
            is_odd_l2 = self.penalty == "l2" and self.l1_ratio != 0
            if is_odd_l1 or is_odd_l2:
                warnings.warn(
                    f"Inconsistent values: penalty={self.penalty} with l1_ratio={self.l1_ratio}: "
                    "use l1_ratio only",
                    UserWarning,
                    stacklevel=3,
                )
        is_mixture = self.l1_ratio is not None and 0 < self.l1_ratio < 1
        if has_penalty and self.penalty != "elasticnet" and is_mixture:
            warnings.warn(
                "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
                f"(penalty={self.penalty})",
                UserWarning,
                stacklevel=3,
            )
        if self.penalty is None and self.C != 1.0:
            warnings.warn(
                "Setting penalty=None will ignore the C and l1_ratio parameters",
                UserWarning,
                stacklevel=3,
            )
        if self.n_jobs is not None and is_deprecated:
            warnings.warn(
                "'n_jobs' has no effect since 1.8 and will be removed in 1.10: leave it out",
                FutureWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = False
        return tags
