"""scikit-learn face of logistic regression: names and checks here, mathematics elsewhere."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from suffice import errors
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.settings import is_open, parse_word
from suffice.core.moments import Moments
from suffice.core.table.foreign import is_on_device, to_numpy
from suffice.core.table.labels import codes_of, encode
from suffice.core.table.matrix import column_name
from suffice.core.table.table import Table
from suffice.core.text.lists import listed
from suffice.core.threads import one_at_a_time
from suffice.discriminative import gradient_descent as gradient
from suffice.discriminative import logistic_fit
from suffice.discriminative.design import device_table, moments_to_fit
from suffice.discriminative.logistic_fit import (
    LogisticFit,
    Start,
    choose_penalty,
    fit_logistic,
)
from suffice.discriminative.logistic_loss import against_first, sum_to_zero
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.separation import Separation
from suffice.discriminative.summary import LogisticSummary
from suffice.estimators import linear
from suffice.estimators.predictor import PosteriorMixin, checked_table, keep
from suffice.persistence.coefficients import logistic_from, logistic_state
from suffice.typing import Codes, Floats


def _notes(fit: LogisticFit, names: Any) -> Iterator[tuple[type[Warning], str]]:
    """Yield what to warn of: columns without effect, separation, a descent that did not arrive."""

    def named(columns: Codes) -> str:
        return f"columns {listed([column_name(names, j) for j in columns])}"

    aliased, found, solution = fit.problem.aliased, fit.separation, fit.solution
    if len(aliased):
        said = f"{named(aliased)}: constant, so their coefficients are set to zero; drop them"
        if fit.l2 == 0:
            said = (
                f"the data cannot tell the coefficients of {named(aliased)}: they are "
                "constant, or combinations of other columns, and are set to zero. Drop them, or "
                "set l2 > 0 to share the effect among combined columns"
            )
        yield errors.DegenerateDataWarning, said
    if found is not None:
        how = "completely separated" if found.complete else "separated but for ties"
        by = f" by {named(found.features)}" if len(found.features) else ""
        n, d = fit.problem.objective.design.table.n_rows, fit.problem.moments.n_features
        few = f" (there are {n} rows for {d} features)" if n <= d + 1 else ""
        said = (
            f"the classes are {how}{by}{few}, so no finite maximum-likelihood coefficients exist: "
            f"l2={fit.l2:g} was used instead of l2=0. Set l2 > 0 yourself, or drop those columns"
        )
        yield errors.SeparationWarning, said
    if not solution.converged:
        said = (
            f"stopped after {solution.n_iter} steps with a mean gradient of "
            f"{solution.trace[-1].gradient_norm:.3g}: raise max_iter or tol, or use solver='newton'"
        )
        yield linear.UnfinishedDescentWarning, said


_OF_A_FIT = ("n_iter_", "converged_", "gradient_norm_", "log_likelihood_", "path_")


class LogisticRegression(PosteriorMixin, linear.LinearDecisions, BaseEstimator):
    """Logistic regression of two classes, softmax regression of more.

    Minimises −Σ_i w_i log p(y_i∣x_i) + (λ/2) Σ_j (s_j w_j)², s_j the standard deviation of
    feature j (divisor Σw − 1), intercepts free: the units of the features do not matter.

    Parameters
    ----------
    l2 : float or "auto", default=1.0
        λ. The default is a weak prior, w_j ~ N(0, 1) per standard deviation of a feature; 0 is
        maximum likelihood, and where the classes are separable, so that no maximum exists, this is
        said, and the fit of l2=1 is returned. "auto" is the λ of least leave-one-out log-loss.
    solver : {"auto", "newton", "quasi-newton", "gd", "sgd", "averaged-sgd"}, default="auto"
        Newton steps; quasi-Newton (for many classes × features); gradient descent; stochastic
        gradient descent, w ← w − η (y − t) x row by row; the same with falling rates and averaged
        weights, which arrives. "auto" is one of the first two, by size.
    start : {"lda", "zero", "random"}, optional
        First parameters: linear discriminant analysis, zeros, or normal numbers. By default
        "lda"; "zero" for "sgd".
    learning_rate : "auto" or float, default="auto"
        η of the descents, for the mean loss in the units walked in; one at which the loss rises
        is refused, "auto" is sure to descend.
    batch_size : int, optional
        Rows of a step: by default 1 for "sgd"; 32, at most a tenth of all, for "averaged-sgd".
    shuffle : bool, default=False
        Whether "sgd" visits the rows in a random order, drawn anew for each pass, or in theirs.
    tol : float, optional
        Stop where no mean gradient, in standard units, exceeds this. By default 1e-8; 1e-3 for
        "averaged-sgd"; 0 for "sgd".
    epsilon : float, optional
        Stop where the log-likelihood changes by less than this in a step; by default 1e-4 for
        "sgd".
    max_iter : int, optional
        Most steps (passes, for "sgd"): by default 100 for "newton", 10000 for "gd", else 1000.
    fit_intercept : bool, default=True
        Whether scores have an intercept. Without one, s_j is the root mean square of feature j.
    class_weight : None, "balanced" or {label: weight}, default=None
        Factor on the weights of each class's rows.
    standardize : bool, default=True
        Whether solvers walk in standard units; the minimum is the same.
    warm_start : bool, default=False
        Start from the last fit.
    record : bool, default=False
        Keep the descent in ``path_``, with a reference to the rows.
    random_state : int, RandomState or None, default=0
        Seed of the random start and of "sgd".

    Attributes
    ----------
    classes_ : array (K,)
    coef_ : array (1, d) or (K, d)
        Log odds of the second class against the first; for K > 2, rows that sum to zero.
    intercept_ : array (1,) or (K,)
    n_iter_ : int
    converged_ : bool
    gradient_norm_ : float
        Greatest mean gradient, in standard units; before the last Newton step of many rows.
    log_likelihood_ : float
        Σ w log p(y | x) of the training rows.
    l2_ : float
        The penalty used.
    separation_ : Separation or None
        How the classes are separated, if l2=0 was asked for and they are.
    path_ : DescentPath or None

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

    _takes_categories = True
    separation_: Separation | None
    _inference: LogisticSummary | None  # without names

    def __init__(
        self,
        l2: Any = 1.0,
        solver: str = "auto",
        *,
        start: str | None = None,
        learning_rate: Any = "auto",
        batch_size: int | None = None,
        shuffle: bool = False,
        tol: float | None = None,
        epsilon: float | None = None,
        max_iter: int | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        standardize: bool = True,
        warm_start: bool = False,
        record: bool = False,
        random_state: Any = 0,
    ) -> None:
        keep(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``; mixed ones as ``TableEncoder`` codes them."""
        solver, limits = parse_word(self.solver, self._solvers(), "solver"), self._limits()
        table, moments = self._summed(X, y, sample_weight)
        posed: Any = {"standardize": self.standardize, "fit_intercept": self.fit_intercept}
        l2 = choose_penalty(table, moments, **posed) if is_open(self.l2) else self._penalty()
        how: Any = {
            "solver": solver,
            "limits": limits,
            "start": self._start_for(table),
            **posed,
        }
        return self._accept(
            table, fit_logistic(table, moments, l2=l2, record=self.record, **how)
        )

    @one_at_a_time
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from one more batch by stochastic gradient steps, whatever the solver.

        ``classes`` lists all labels; the first batch needs it unless it has them all.
        """
        if isinstance(self.class_weight, str):
            msg = (
                "class_weight='balanced' needs all rows at once: pass {label: weight} instead"
            )
            raise errors.InvalidParameterError(msg)
        first = "_stream" not in vars(self)
        table = linear.labelled(self, X, y, sample_weight, reset=first)
        if self.encoding_ is not None:
            linear.refuse_batch()
        if first:
            labels = table.classes if classes is None else encode(classes)[0]
            require_two_classes(labels, np.ones(len(labels)))
            self.classes_ = labels
            self._stream = gradient.Stream.before(len(labels), table.n_features)
        table = linear.class_weighted(self._recoded(table), self.class_weight)
        self.l2_, self.separation_ = self._penalty(), None
        how: Any = {"l2": self.l2_, "fit_intercept": self.fit_intercept}
        self._stream = self._stream.fed(table, self._solvers()["averaged-sgd"], **how)
        rows = sum_to_zero(self._stream.average)
        self._set_scores(rows[:, 1:], rows[:, 0], np.zeros(table.n_features))
        self._inference = None
        for name in _OF_A_FIT:
            self.__dict__.pop(name, None)
        return self

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        level: float = 0.95,
    ) -> LogisticSummary:
        """Return coefficients with standard errors, z, p, odds ratios, and measures of fit.

        Each class is set against the first. Other solvers than "newton" need the rows.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise errors.InvalidParameterError(f"level must lie between 0 and 1, got {level}")
        known = self._inference if X is None else self._inference_at(X, y, sample_weight)
        if known is None:
            msg = (
                "this solver knows no curvature: call summary(X, y), or fit by solver='newton'"
            )
            raise errors.InvalidParameterError(msg)
        classes = tuple(self.classes_.tolist())
        return replace(known, classes=classes, terms=self._terms(), level=level)

    def _accept(self, table: Table, fit: LogisticFit) -> Self:
        self.classes_ = table.classes
        at_centre = sum_to_zero(fit.solution.point.phi)[:, 0]
        self._set_scores(sum_to_zero(fit.beta)[:, 1:], at_centre, fit.problem.scaling.centre)
        solution, self.l2_, self.separation_ = fit.solution, fit.l2, fit.separation
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        self.gradient_norm_ = fit.problem.objective.gradient_norm(solution.point)
        self.log_likelihood_ = -solution.point.misfit
        self.path_ = fit.path(self._parameter_names()) if self.record else None
        self._inference = fit.inference
        self._stream = gradient.Stream.after(fit.problem.moments, fit.beta)
        for category, said in _notes(fit, self._names()):
            warnings.warn(said, category, stacklevel=3)
        return self

    def _summed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Moments]:
        """Return the rows and their sums; for plain Newton steps on a device, where they lie."""
        special = is_open(self.l2) or self.record or self.class_weight is not None
        if is_on_device(X) and self.solver in ("auto", "newton") and not special:
            there = device_table(*checked_table(self, X, y, sample_weight, reset=True))
            if there is not None:
                require_two_classes(there[0].classes, there[1].weights)
                return there
        table = self._table(*map(to_numpy, (X, y, sample_weight)))
        return table, moments_to_fit(table)

    def _beta(self) -> Floats:
        return against_first(np.column_stack([self.intercept_, self.coef_]))

    def _table(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> Table:
        table = linear.labelled(self, X, y, sample_weight, reset=reset).counted()
        require_two_classes(table.classes, table.class_weights)
        return linear.class_weighted(table, self.class_weight)

    def _inference_at(self, X: Any, y: Any, sample_weight: Any) -> LogisticSummary:
        table = self._table(X, y, sample_weight, reset=False)
        if not np.array_equal(table.classes, self.classes_):
            msg = f"rows of classes {table.classes.tolist()}; fitted {self.classes_.tolist()}"
            raise errors.UnknownLabelError(msg)
        return LogisticSummary.at(
            table, self._beta(), self.l2_, fit_intercept=self.fit_intercept
        )

    def _recoded(self, batch: Table) -> Table:
        """Return a batch coded by the classes of the stream."""
        codes = codes_of(batch.classes, self.classes_, strict=False)
        if (codes < 0).any():
            raise errors.UnknownLabelError(
                f"label {batch.classes[codes.argmin()].item()!r} is not one of the classes "
                f"{self.classes_.tolist()}: list all in the first call, partial_fit(…, classes=…)"
            )
        return replace(batch, classes=self.classes_, codes=codes[batch.codes])

    def _penalty(self) -> float:
        return linear.positive("l2", self.l2, zero=True)

    def _solvers(self) -> dict[str, Any]:
        rate, size, seed = self.learning_rate, self.batch_size, self._seed()
        rate = None if is_open(rate) else linear.positive("learning_rate", rate)
        size = None if size is None else linear.whole_number("batch_size", size)
        return {
            "auto": None,
            "newton": Newton(),
            "quasi-newton": QuasiNewton(),
            "gd": gradient.GradientDescent(rate),
            "sgd": gradient.StochasticDescent(rate, size or 1, seed if self.shuffle else None),
            "averaged-sgd": gradient.AveragedDescent(rate, size or 32, seed),
        }

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _limits(self) -> dict[str, Any]:
        asked = {"tol": self.tol, "epsilon": self.epsilon, "max_iter": self.max_iter}
        checks: Any = {
            "tol": partial(linear.positive, zero=True),
            "max_iter": linear.whole_number,
        }
        return {
            k: checks.get(k, linear.positive)(k, v) for k, v in asked.items() if v is not None
        }

    def _start_for(self, table: Table) -> Start:
        """Return the last coefficients, if warm and fitting, otherwise the start asked for."""
        random = partial(logistic_fit.random_start, seed=self._seed())
        starts: dict[str, Start] = {
            "lda": logistic_fit.lda_start,
            "zero": logistic_fit.zero_start,
        }
        start = self.start or ("zero" if self.solver == "sgd" else "lda")
        first = parse_word(start, starts | {"random": random}, "start")
        again = self.warm_start and "_stream" in vars(self)
        if not again or self.coef_.shape[1] != table.n_features:
            return first
        same, beta = np.array_equal(self.classes_, table.classes), self._beta()
        return (lambda problem: problem.scaling.from_original(beta)) if same else first

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        header, arrays = super()._state()
        separation = getattr(self, "separation_", None)
        more, others = logistic_state(self._stream, self._inference, separation)
        return header | more, arrays | others

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        super()._restored(header, arrays)
        self._stream, self._inference, self.separation_ = logistic_from(header, arrays)
        return self
