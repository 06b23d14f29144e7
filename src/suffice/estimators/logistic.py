"""scikit-learn estimator of logistic regression."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from suffice.core.checks import not_negative, whole_number
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.moments import Moments
from suffice.core.table.foreign import is_on_device
from suffice.core.table.labels import codes_of, encode
from suffice.core.table.matrix import column_name
from suffice.core.table.table import Table
from suffice.core.text.lists import counted, listed, noun_for
from suffice.core.threads import one_at_a_time
from suffice.discriminative.descent import DescentPath
from suffice.discriminative.descent_settings import (
    Descent,
    GradientDescent,
    NewtonDescent,
    SolverWord,
    parse_descent,
)
from suffice.discriminative.logistic_fit import LogisticFit, fit_in_span, fit_logistic
from suffice.discriminative.logistic_loss import against_first, sum_to_zero
from suffice.discriminative.penalty_choice import choose_penalty
from suffice.discriminative.problem import coded_moments, device_table, moments_to_fit
from suffice.discriminative.row_span import RowSpan, is_solved_in_span
from suffice.discriminative.scaling import reciprocals
from suffice.discriminative.separation import Separation
from suffice.discriminative.solver import Solver
from suffice.discriminative.starts import (
    Start,
    lda_start,
    random_start,
    start_at,
    zero_start,
)
from suffice.discriminative.stream import Stream
from suffice.discriminative.summary import LogisticSummary
from suffice.errors import (
    DegenerateDataWarning,
    InvalidParameterError,
    SeparationWarning,
    UnknownLabelError,
)
from suffice.estimators import linear
from suffice.estimators.linear import ClassWeight
from suffice.estimators.predictor import PosteriorMixin, checked_table
from suffice.persistence.coefficients import logistic_from, logistic_state
from suffice.persistence.fields import State
from suffice.typing import Array, Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike

# stack level of warnings: the user calls ``fit``, which calls ``_warn_of_fit``
_CALLER_OF_FIT = 3


class LogisticRegression(PosteriorMixin, linear.LinearDecisions):
    """Logistic regression for two classes, softmax regression for more.

    Minimises −Σ_i w_i log p(y_i∣x_i) + (λ/2) Σ_j (s_j w_j)², where s_j is the standard deviation of
    feature j (divisor Σw − 1). Intercepts are not penalised. The posteriors do not depend on the
    units of the features.

    Parameters
    ----------
    l2 : float or "auto", default=1.0
        λ. The default is a weak prior: the coefficients of standardised features are N(0, 1). 0 is
        maximum likelihood. If the classes are separable, no maximum exists: ``fit`` then uses l2=1
        and issues a warning. "auto" is the λ with the lowest leave-one-out log-loss.
    solver : {"auto", "newton", "quasi-newton", "gd", "sgd", "averaged-sgd"} or a value
        "newton" takes Newton steps, and "quasi-newton" suits many classes × features. "gd" is
        gradient descent, and "sgd" is stochastic gradient descent row by row. "averaged-sgd" is
        "sgd" with decreasing rates and averaged weights. "auto", the default, chooses "newton" or
        "quasi-newton" by the size of the problem. ``NewtonDescent`` and ``GradientDescent`` of
        ``suffice.lectures`` also set the start, the learning rate and whether to record the
        descent.
    class_weight : None, "balanced" or {label: weight}, default=None
        Factor by which the row weights of each class are multiplied.
    fit_intercept : bool, default=True
        Whether scores have an intercept. Without one, s_j is the root mean square of feature j.
    max_iter : int, optional
        Maximum number of steps (passes, for "sgd"): by default 100 for "newton", 10000 for "gd",
        else 1000.
    tol : float, optional
        Stop when no component of the mean gradient, on standardised features, exceeds this number.
        The default is 1e-3 for "averaged-sgd", 0 for "sgd", and 1e-8 for all other solvers.
    random_state : int, RandomState or None, default=0
        Seed of the random start and of the stochastic solvers.

    Attributes
    ----------
    classes_ : array (K,)
    coef_ : array (1, d) or (K, d)
        Coefficients of the log odds of the second class against the first. With K > 2 classes, the
        rows sum to zero.
    intercept_ : array (1,) or (K,)
    n_iter_ : int
    converged_ : bool
    gradient_norm_ : float
        Largest component of the mean gradient, on standardised features. With many rows, it is the
        value before the last Newton step.
    log_likelihood_ : float
        Σ w log p(y | x) of the training rows.
    l2_ : float
        The penalty used.
    separation_ : Separation or None
        How the classes are separated; None unless l2=0 and the classes are separable.
    path_ : DescentPath or None
        The path of the descent, if recorded.

    References
    ----------
    Cox (1958), *Journal of the Royal Statistical Society B* 20, 215–242.

    Examples
    --------
    >>> from suffice import LogisticRegression
    >>> hours = [[0.5], [1.0], [1.75], [2.0], [2.5], [3.0], [3.5], [4.0], [5.0]]
    >>> fit = LogisticRegression(l2=0).fit(hours, [0, 0, 1, 0, 0, 1, 0, 1, 1])
    >>> fit.coef_.round(3).tolist(), fit.intercept_.round(3).tolist()
    ([[1.089]], [-3.112])
    """

    classes_: Labels
    n_iter_: int
    converged_: bool
    gradient_norm_: float
    log_likelihood_: float
    l2_: float
    separation_: Separation | None = None
    path_: DescentPath | None = None
    _takes_categories = True
    _has_posterior = True
    _takes_sparse = True
    _scores_sparse = True
    _inference: LogisticSummary | None = None  # lacks the names of classes and columns
    _stream: Stream | None = None  # the state that partial_fit continues from

    def __init__(
        self,
        l2: float | Literal["auto"] = 1.0,
        *,
        solver: SolverWord | Descent = "auto",
        class_weight: ClassWeight = None,
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.l2 = l2
        self.solver = solver
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` with labels ``y``; a mixed table is encoded as numbers."""
        descent = parse_descent(self.solver)
        max_iter = None if self.max_iter is None else whole_number("max_iter", self.max_iter)
        tol = None if self.tol is None else not_negative("tol", self.tol)
        table, moments = self._rows_and_moments(descent, X, y, sample_weight)
        if self._solves_in_span(descent, table):
            fit = self._fit_in_span(table, moments, tol, max_iter)
            self._set_fit(table.classes, fit)
            self.path_ = None
            _warn_of_fit(fit, self._names())
            return self
        if self.l2 == "auto":
            l2 = choose_penalty(
                table,
                moments,
                fit_intercept=self.fit_intercept,
                standardize=descent.standardize,
            )
        else:
            l2 = not_negative("l2", self.l2)
        fit = fit_logistic(
            table,
            moments,
            l2=l2,
            fit_intercept=self.fit_intercept,
            standardize=descent.standardize,
            solver=self._solver(descent),
            start=self._start(descent, table),
            tol=tol,
            epsilon=descent.epsilon if isinstance(descent, GradientDescent) else None,
            max_iter=max_iter,
            record=descent.record,
        )
        self._set_fit(table.classes, fit)
        self.path_ = fit.path(self._parameter_names()) if descent.record else None
        _warn_of_fit(fit, self._names())
        return self

    def _solves_in_span(self, descent: Descent, table: Table) -> bool:
        """Return whether the fit is solved in the span of the rows: faster for few rows."""
        if not isinstance(descent, NewtonDescent) or descent.method != "auto":
            return False
        if descent.start != "lda" or descent.record or not descent.standardize:
            return False
        is_penalised = self.l2 == "auto" or not_negative("l2", self.l2) > 0
        return is_penalised and is_solved_in_span(table)

    def _fit_in_span(
        self,
        table: Table,
        moments: Moments,
        tol: float | None,
        max_iter: int | None,
    ) -> LogisticFit:
        span = RowSpan.of(table, moments, fit_intercept=self.fit_intercept)
        if self.l2 == "auto":
            l2 = choose_penalty(
                span.table,
                moments_to_fit(span.table),
                fit_intercept=self.fit_intercept,
                standardize=False,
                per_deviation=False,
            )
        else:
            l2 = not_negative("l2", self.l2)
        return fit_in_span(
            span,
            moments,
            l2=l2,
            fit_intercept=self.fit_intercept,
            tol=tol,
            max_iter=max_iter,
        )

    @one_at_a_time
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Take averaged stochastic gradient steps on one more batch; ``solver`` has no effect.

        ``classes`` lists all labels; the first call needs it, unless its batch contains them all.
        """
        if isinstance(self.class_weight, str):
            raise InvalidParameterError(
                "class_weight='balanced' needs all rows at once: pass {label: weight} instead"
            )
        stream = self._stream
        batch = linear.labelled(self, X, y, sample_weight, reset=stream is None)
        if self.encoding_ is not None:
            linear.refuse_mixed_batch()
        if stream is None:
            labels = batch.classes if classes is None else encode(np.asarray(classes))[0]
            require_two_classes(labels, np.ones(len(labels)))
            self.classes_ = labels
            stream = Stream.before(len(labels), batch.n_features)
        batch = linear.class_weighted(self._recoded(batch), self.class_weight)
        self.l2_ = not_negative("l2", self.l2)
        descent = parse_descent(self.solver)
        if not isinstance(descent, GradientDescent):
            descent = GradientDescent("averaged-sgd")
        steps = descent.averaged(self._seed())
        stream = stream.fed(batch, steps, self.l2_, fit_intercept=self.fit_intercept)
        self._stream = stream
        rows = sum_to_zero(stream.average)
        self._set_scores(rows[:, 1:], rows[:, 0], np.zeros(batch.n_features))
        self._forget_fit()
        return self

    def summary(
        self,
        X: RowsLike | None = None,
        y: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
        *,
        level: float = 0.95,
    ) -> LogisticSummary:
        """Return coefficients with standard errors, z, p, odds ratios, and measures of fit.

        Each class is compared with the first. If the solver was not "newton", pass the rows.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InvalidParameterError(f"level must lie between 0 and 1, got {level}")
        if X is None or y is None:
            inference = self._inference
        else:
            inference = self._inference_at(X, y, sample_weight)
        if inference is None:
            raise InvalidParameterError(
                "standard errors need second derivatives, which this solver does not "
                "compute: call summary(X, y), or fit with solver='newton'"
            )
        classes = tuple(self.classes_.tolist())
        return replace(inference, classes=classes, terms=self._terms(), level=level)

    def _solver(self, descent: Descent) -> Solver | None:
        """Return the solver; None if the size of the problem chooses it."""
        if isinstance(descent, NewtonDescent):
            return descent.solver()
        return descent.solver(self._seed())

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _start(self, descent: Descent, table: Table) -> Start:
        """Return the start of the descent; the last fit is used only if it fits the table."""
        if descent.start == "last" and self._stream is not None:
            same_features = self.coef_.shape[1] == table.n_features
            if same_features and np.array_equal(self.classes_, table.classes):
                return start_at(self._beta())
        if descent.start == "random":
            return partial(random_start, seed=self._seed())
        is_sgd = isinstance(descent, GradientDescent) and descent.method == "sgd"
        begins_at_zero = is_sgd and descent.start in (None, "last")
        if descent.start == "zero" or begins_at_zero:
            return zero_start
        return lda_start

    def _rows_and_moments(
        self,
        descent: Descent,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
    ) -> tuple[Table, Moments]:
        """Return the rows and their sums; rows on a device stay there if Newton steps suffice."""
        is_newton = isinstance(descent, NewtonDescent) and descent.method != "quasi-newton"
        needs_host = self.l2 == "auto" or descent.record or self.class_weight is not None
        if is_on_device(X) and is_newton and not needs_host:
            on_device = device_table(*checked_table(self, X, y, sample_weight, reset=True))
            if on_device is not None:
                table, moments = on_device
                require_two_classes(table.classes, moments.weights)
                return table, moments
        table = self._table(X, y, sample_weight)
        if self._solves_in_span(descent, table):
            return table, coded_moments(table, "diagonal")
        return table, moments_to_fit(table)

    def _table(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
        *,
        reset: bool = True,
    ) -> Table:
        table = linear.labelled(self, X, y, sample_weight, reset=reset).counted()
        require_two_classes(table.classes, table.class_weights)
        return linear.class_weighted(table, self.class_weight)

    def _set_fit(self, classes: Labels, fit: LogisticFit) -> None:
        solution = fit.solution
        self.classes_ = classes
        at_centre = sum_to_zero(fit.at_centre[:, None])[:, 0]
        scaling = fit.scaling
        scale = reciprocals(np.asarray(scaling.inverse))
        self._set_scores(sum_to_zero(fit.beta)[:, 1:], at_centre, scaling.centre, scale)
        self.l2_ = fit.l2
        self.separation_ = fit.separation
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.gradient_norm_ = fit.problem.objective.gradient_norm(solution.point)
        self.log_likelihood_ = -solution.point.misfit
        self._inference = fit.inference
        self._stream = Stream.after(fit.moments, fit.beta)

    def _forget_fit(self) -> None:
        """Delete the attributes that describe only the rows of the last ``fit``."""
        self.separation_ = None
        self.path_ = None
        self._inference = None
        if hasattr(self, "n_iter_"):
            del self.n_iter_
            del self.converged_
            del self.gradient_norm_
            del self.log_likelihood_

    def _beta(self) -> Floats:
        return against_first(np.column_stack([self.intercept_, self.coef_]))

    def _inference_at(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike,
    ) -> LogisticSummary:
        table = self._table(X, y, sample_weight, reset=False)
        if not np.array_equal(table.classes, self.classes_):
            raise UnknownLabelError(
                f"the rows have the classes {table.classes.tolist()}, but the model was "
                f"fitted to {self.classes_.tolist()}: pass rows of exactly these classes"
            )
        return LogisticSummary.at(
            table, self._beta(), self.l2_, fit_intercept=self.fit_intercept
        )

    def _recoded(self, batch: Table) -> Table:
        """Return a batch with labels as codes of ``classes_``; raise for an unknown label."""
        codes = codes_of(batch.classes, self.classes_, strict=False)
        if (codes < 0).any():
            raise UnknownLabelError(
                f"label {batch.classes[codes.argmin()].item()!r} is not one of the classes "
                f"{self.classes_.tolist()}: list all in the first call, partial_fit(…, classes=…)"
            )
        return replace(batch, classes=self.classes_, codes=codes[batch.codes])

    def _state(self) -> State:
        assert self._stream is not None  # every fit sets it
        header, arrays = super()._state()
        more_header, more_arrays = logistic_state(
            self._stream, self._inference, self.separation_
        )
        return {**header, **more_header}, {**arrays, **more_arrays}

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        super()._restored(header, arrays)
        self._stream, self._inference, self.separation_ = logistic_from(header, arrays)
        return self


def _warn_of_fit(fit: LogisticFit, names: tuple[str, ...] | None) -> None:
    """Warn of columns without effect, of separation, and of a descent that did not converge."""
    aliased = fit.aliased
    if len(aliased) and fit.l2 == 0:
        warnings.warn(
            f"the coefficients of {_named(aliased, names)} are set to zero, because their values "
            "are constant or combinations of other columns. Drop such columns, or set l2 > 0, "
            "which divides the effect among the combined columns",
            DegenerateDataWarning,
            stacklevel=_CALLER_OF_FIT,
        )
    elif len(aliased):
        warnings.warn(
            f"the coefficients of {_named(aliased, names)} are set to zero, because the values "
            "are constant: drop such columns",
            DegenerateDataWarning,
            stacklevel=_CALLER_OF_FIT,
        )
    if fit.separation is not None:
        warnings.warn(
            _separation_message(fit, fit.separation, names),
            SeparationWarning,
            stacklevel=_CALLER_OF_FIT,
        )
    if not fit.solution.converged:
        warnings.warn(
            f"logistic regression stopped after {counted(fit.solution.n_iter, 'step')} with a mean "
            f"gradient of {fit.solution.trace[-1].gradient_norm:.3g}, before it converged: raise "
            "max_iter or tol, or use solver='newton'",
            linear.UnfinishedDescentWarning,
            stacklevel=_CALLER_OF_FIT,
        )


def _separation_message(
    fit: LogisticFit,
    separation: Separation,
    names: tuple[str, ...] | None,
) -> str:
    separated, dropped = "a combination of columns separates the classes", "some columns"
    if len(separation.features) == 1:
        separated = f"{_named(separation.features, names)} separates the classes"
        dropped = "this column"
    elif len(separation.features):
        separated = f"{_named(separation.features, names)} separate the classes"
        dropped = "these columns"
    ties = "" if separation.complete else ", except for rows on the boundary"
    n = fit.problem.objective.design.table.n_rows
    d = fit.moments.n_features
    few_rows = f" (there are {n} rows for {d} features)" if n <= d + 1 else ""
    return (
        f"{separated}{ties}{few_rows}, so no finite maximum-likelihood coefficients exist: "
        f"l2={fit.l2:g} was used instead of l2=0. Set l2 > 0 yourself, or drop {dropped}"
    )


def _named(columns: Codes, names: tuple[str, ...] | None) -> str:
    noun = noun_for(len(columns), "column")
    return f"{noun} {listed([column_name(names, j) for j in columns])}"
