"""scikit-learn face of the perceptron."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from suffice.discriminative import perceptron as passes
from suffice.discriminative.design import CompiledDesign, Design, Scaling, coded_moments, design_of
from suffice.discriminative.path import DescentPath
from suffice.errors import InvalidParameterError
from suffice.estimators import linear
from suffice.estimators.predictor import keep
from suffice.typing import Floats

_FEW_ROWS = 100  # up to which stochastic steps are taken without compiling
_RULES = {"one-against-rest": passes.one_against_rest, "direct": passes.direct}
_VARIANTS = {"plain": passes.last, "averaged": passes.averaged, "pocket": passes.pocket}


class Perceptron(linear.LinearDecisions, BaseEstimator):
    """Rosenblatt's perceptron: weights move only when a row is misclassified.

    With labels t = ±1 it descends E(w) = −Σ_{mistakes} t_n wᵀx_n. It
    converges if, and only if, the classes are linearly separable, after at most (R / γ)²
    mistakes; otherwise ``converged_`` is False, and a warning says so unless the variant is made
    for it.

    Parameters
    ----------
    learning : {"stochastic", "batch"}, default="stochastic"
        w ← w + η t x at each mistake; or w ← w + η Σ t x once a pass.
    shuffle : bool, default=True
        Whether stochastic steps visit the rows in a random order, drawn anew for each pass, or in
        theirs.
    multiclass : {"one-against-rest", "direct"}, default="direct"
        K perceptrons; or one weight vector a class, a mistake moving the right class up and its
        best rival down. Two classes always have one weight vector.
    variant : {"plain", "averaged", "pocket"}, default="plain"
        Answer with the last weights, with their mean over all rows shown, or with those of the
        pass that left the fewest errors. The last two suit classes that cannot be separated.
    learning_rate : float, default=1.0
        η. From a zero start it only scales the answer.
    start : {"zero", "random"}, default="zero"
        First weights; which answer is found depends on it.
    max_iter : int, default=100
        Most passes.
    standardize : bool, default=True
        Whether to work in standard units, so that the units of features do not matter.
    fit_intercept : bool, default=True
        Whether there is a w_0; without, every boundary goes through the origin.
    record : bool or "mistakes", default=False
        Keep the weights of every pass in ``path_``, with a reference to the rows; "mistakes":
        of every mistake of plain stochastic steps, for ``plots.perceptron_steps``.
    random_state : int, RandomState or None, default=0
        Seed of the order of rows and of the random start.

    Attributes
    ----------
    classes_ : array (K,)
    coef_ : array (1, d) or (K, d)
    intercept_ : array (1,) or (K,)
    converged_ : bool
        Whether the last pass made no mistake.
    n_passes_ : int
    n_updates_ : int
        Mistakes made in all passes.
    margin_ : float
        Least distance of a row from a boundary, in the units worked in; negative if some row is
        misclassified.
    path_ : DescentPath or None
    mistakes_ : tuple of int
        Rows that moved the weights, in order, if ``record="mistakes"``.

    References
    ----------
    Rosenblatt (1958), *Psychological Review* 65, 386–408; Novikoff (1962), *Symposium on the
    Mathematical Theory of Automata* 12, 615–622.

    Examples
    --------
    >>> from suffice.estimators.perceptron import Perceptron
    >>> p = Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> p.converged_, p.predict([[0.5], [3.5]]).tolist()
    (True, ['low', 'high'])
    """

    def __init__(
        self,
        learning: str = "stochastic",
        *,
        multiclass: str = "direct",
        variant: str = "plain",
        learning_rate: float = 1.0,
        start: str = "zero",
        max_iter: int = 100,
        shuffle: bool = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        record: Any = False,
        random_state: Any = 0,
    ) -> None:
        keep(locals())

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        steps, variant = self._steps(rng), linear.chosen("variant", self.variant, _VARIANTS)
        max_iter = int(linear.positive("max_iter", self.max_iter))
        table = linear.labelled(self, X, y)
        linear.require_two(table.classes)
        self.classes_ = table.classes
        rule = linear.chosen("multiclass", self.multiclass, _RULES)
        rule = passes.one_against_rest if table.n_classes == 2 else rule
        moments = coded_moments(table, "diagonal")
        how: Any = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        scaling, by_mistake = Scaling.of(moments, **how), self._keeps_mistakes()
        # Python is slow row by row
        one_by_one = self.learning == "stochastic" and table.n_rows > _FEW_ROWS and not by_mistake
        design = (CompiledDesign if one_by_one else design_of)(table, scaling)
        starts: dict[str, Any] = {"zero": np.zeros, "random": rng.standard_normal}
        n_scores = 1 if table.n_classes == 2 else table.n_classes
        start = linear.chosen("start", self.start, starts)((n_scores, table.n_features + 1))
        start[:, 0] *= scaling.lead
        fit = passes.learn(design, rule, steps, variant, start, max_iter)
        self.converged_, self.n_updates_ = fit.converged, fit.n_updates
        self.n_passes_ = self.n_iter_ = fit.n_passes
        self.margin_ = passes.margin(design, fit.weights)
        self._set_scores(fit.weights[:, 1:] * scaling.inverse, fit.weights[:, 0], scaling.centre)
        self.mistakes_ = fit.mistakes if by_mistake else ()
        shown = fit.by_mistake(design, rule, steps.rate) if by_mistake else fit
        self.path_ = self._path(shown, design, rule, scaling) if self.record else None
        if not fit.converged and self.variant == "plain":
            msg = (
                f"still making mistakes after {fit.n_passes} passes: the classes may not be "
                "linearly separable; raise max_iter, or use variant='averaged' or 'pocket', or "
                "LogisticRegression"
            )
            warnings.warn(msg, linear.UnfinishedDescentWarning, stacklevel=2)
        return self

    def _keeps_mistakes(self) -> bool:
        if self.record == "mistakes" and (self.learning, self.variant) != ("stochastic", "plain"):
            raise InvalidParameterError(
                "record='mistakes' is for learning='stochastic' and variant='plain', whose weights "
                "move at single mistakes: use record=True"
            )
        return bool(self.record == "mistakes")

    def _path(
        self, fit: passes.PerceptronFit, design: Design, rule: passes.Rule, scaling: Scaling
    ) -> DescentPath:
        trace = list(passes.trace_of(fit, design, rule, self.learning_rate))
        loss = partial(_loss_at, design, rule, scaling)
        return DescentPath.along(trace, scaling.to_original, self._parameter_names(), loss)

    def _steps(self, rng: np.random.Generator) -> passes.Steps:
        rate = linear.positive("learning_rate", self.learning_rate)
        kinds: dict[str, passes.Steps] = {
            "stochastic": passes.StochasticSteps(rate, rng if self.shuffle else None),
            "batch": passes.BatchSteps(rate),
        }
        return linear.chosen("learning", self.learning, kinds)


def _loss_at(design: Design, rule: passes.Rule, scaling: Scaling, parameters: Floats) -> float:
    """Return the criterion at weights in original units."""
    weights = scaling.from_original(parameters.reshape(-1, len(scaling.centre) + 1))
    return passes.criterion(design, rule, weights)[0]
