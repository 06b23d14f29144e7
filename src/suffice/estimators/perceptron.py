"""scikit-learn face of the perceptron."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.settings import parse_word
from suffice.core.table.table import Table
from suffice.discriminative import perceptron as passes
from suffice.discriminative.descent import DescentPath
from suffice.discriminative.design import (
    CompiledDesign,
    Design,
    Scaling,
    coded_moments,
    design_of,
)
from suffice.errors import InvalidParameterError
from suffice.estimators import linear
from suffice.estimators.predictor import keep
from suffice.typing import Floats

_FEW_ROWS = 100  # up to which stochastic steps are taken without compiling
_UNFINISHED = (
    "still making mistakes after {} passes: the classes may not be linearly separable; raise "
    "max_iter, or use variant='averaged' or 'pocket', or LogisticRegression"
)
_WORDS: dict[str, Any] = {
    "learning": {"stochastic": passes.one_by_one, "batch": passes.at_once},
    "multiclass": {"one-against-rest": passes.one_against_rest, "direct": passes.direct},
    "variant": {
        "plain": passes.last_weights,
        "averaged": passes.mean_weights,
        "pocket": passes.best_weights,
    },
}


class Perceptron(linear.LinearDecisions, BaseEstimator):
    """Rosenblatt's perceptron: weights move only when a row is misclassified.

    With labels t = ±1 it descends E(w) = −Σ_{mistakes} t_n wᵀx_n. It converges if, and only if,
    the classes are linearly separable; otherwise ``converged_`` is False, and a warning says so.

    Parameters
    ----------
    learning : {"stochastic", "batch"}, default="stochastic"
        w ← w + η t x at each mistake; or w ← w + η Σ t x once a pass.
    shuffle : bool, default=True
        Whether stochastic steps visit the rows in an order drawn anew for each pass.
    multiclass : {"one-against-rest", "direct"}, default="direct"
        K perceptrons; or one weight vector a class, a mistake moving the right class up and its
        best rival down. Two classes always have one weight vector.
    variant : {"plain", "averaged", "pocket"}, default="plain"
        Answer with the last weights, with their mean over all rows shown, or with those of the
        pass that left the fewest errors.
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
        Least distance of a row from a boundary; negative if some row is misclassified.
    path_ : DescentPath or None
    mistakes_ : tuple of int
        Rows that moved the weights, in order, if ``record="mistakes"``.

    References
    ----------
    Rosenblatt (1958), *Psychological Review* 65, 386–408.

    Examples
    --------
    >>> from suffice import Perceptron
    >>> p = Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> p.converged_, p.predict([[0.5], [3.5]]).tolist()
    (True, ['low', 'high'])
    """

    mistakes_: tuple[int, ...]

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
        rate = linear.positive("learning_rate", self.learning_rate)
        max_iter = linear.whole_number("max_iter", self.max_iter)
        asked = {name: parse_word(getattr(self, name), _WORDS[name], name) for name in _WORDS}
        table = linear.labelled(self, X, y)
        require_two_classes(table.classes, table.class_weights)
        self.classes_, n_scores = table.classes, table.n_classes if table.n_classes > 2 else 1
        rule = asked["multiclass"] if n_scores > 1 else passes.one_against_rest
        scaling, design = self._design(table)
        starts: dict[str, Any] = {"zero": np.zeros, "random": rng.standard_normal}
        start = parse_word(self.start, starts, "start")((n_scores, table.n_features + 1))
        start[:, 0] *= scaling.lead
        shuffled = rng if self.shuffle else None
        one_pass = partial(asked["learning"], design, rule, rate=rate, rng=shuffled)
        states, self.converged_ = passes.learn(one_pass, start, max_iter)
        history, self.mistakes_, self.path_ = asked["variant"](design, states), (), None
        weights, self.n_updates_ = history[-1], states[-1].n_updates
        self.n_passes_ = self.n_iter_ = len(states) - 1
        self.margin_ = passes.margin(design, weights)
        self._set_scores(weights[:, 1:] * scaling.inverse, weights[:, 0], scaling.centre)
        if self.record == "mistakes":
            moved = [mistake for state in states for mistake in state.mistakes]
            self.mistakes_ = tuple(row for row, _ in moved)
            history = [start, *(weights for _, weights in moved)]
        if self.record:
            self.path_ = self._path(design, rule, scaling, history)
        if not self.converged_ and self.variant == "plain":
            msg = _UNFINISHED.format(self.n_passes_)
            warnings.warn(msg, linear.UnfinishedDescentWarning, stacklevel=2)
        return self

    def _path(self, design: Design, rule: Any, scaling: Scaling, history: Any) -> DescentPath:
        loss = partial(_loss_at, design, rule, scaling)
        trace = list(passes.trace_of(design, rule, self.learning_rate, history))
        return DescentPath.along(trace, scaling.to_original, self._parameter_names(), loss)

    def _design(self, table: Table) -> tuple[Scaling, Design]:
        by_mistake, stochastic = self.record == "mistakes", self.learning == "stochastic"
        if by_mistake and (not stochastic or self.variant != "plain"):
            msg = "record='mistakes' is for plain stochastic steps: use record=True"
            raise InvalidParameterError(msg)
        how: Any = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        scaling = Scaling.of(coded_moments(table, "diagonal"), **how)
        # Python is slow row by row
        compiled = stochastic and not by_mistake and table.n_rows > _FEW_ROWS
        return scaling, (CompiledDesign if compiled else design_of)(table, scaling)


def _loss_at(design: Design, rule: passes.Rule, scaling: Scaling, parameters: Floats) -> float:
    """Return the criterion at weights in original units."""
    weights = scaling.from_original(parameters.reshape(-1, len(scaling.centre) + 1))
    return passes.criterion(design, rule, weights)[0]
