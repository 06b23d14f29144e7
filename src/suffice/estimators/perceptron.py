"""Rosenblatt's perceptron as a scikit-learn estimator."""

import warnings
from typing import Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from suffice.core.checks import positive, whole_number
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.table.table import Table
from suffice.core.text.lists import counted
from suffice.discriminative import perceptron as passes
from suffice.discriminative.descent import DescentPath
from suffice.discriminative.design import CompiledDesign, Design, design_of
from suffice.discriminative.perceptron import PerceptronLearning, State
from suffice.discriminative.problem import coded_moments
from suffice.discriminative.scaling import Scaling
from suffice.errors import InvalidParameterError, require_word
from suffice.estimators import linear
from suffice.typing import Floats, Labels, LabelsLike, RowsLike

_FEW_ROWS = 100  # with at most this many rows, stochastic steps are not compiled


class Perceptron(linear.LinearDecisions):
    """Rosenblatt's perceptron: weights change only when a row is misclassified.

    With labels t = ±1, learning descends E(w) = −Σ_{mistakes} t_n wᵀx_n. It converges if, and only
    if, the classes are linearly separable. Otherwise ``converged_`` is False, and ``fit`` warns.

    Parameters
    ----------
    learning : {"stochastic", "batch"} or PerceptronLearning, default="stochastic"
        "stochastic" updates w ← w + η t x after each mistake, with the rows in random order.
        "batch" updates w ← w + η Σ t x once per pass, summed over the mistakes.
        ``suffice.lectures.PerceptronLearning`` also sets the order of rows, their units, and what
        is recorded in ``path_``.
    multiclass : {"one-against-rest", "direct"}, default="direct"
        "one-against-rest" fits K perceptrons. "direct" fits one weight vector per class: a
        mistake raises the score of the right class and lowers that of its best rival. With two
        classes, there is always a single weight vector.
    variant : {"plain", "averaged", "pocket"}, default="plain"
        "plain" predicts with the last weights. "averaged" predicts with their mean over all steps
        (Freund & Schapire 1999, *Machine Learning* 37, 277–296). "pocket" predicts with the weights
        of the pass with the fewest errors.
    learning_rate : float, default=1.0
        η. If the weights start at zero, η only scales them.
    start : {"zero", "random"}, default="zero"
        Initial weights, on which the result depends.
    max_iter : int, default=100
        Maximum number of passes over the rows.
    fit_intercept : bool, default=True
        Whether scores have an intercept w_0. Without one, every boundary goes through the origin.
    random_state : int, RandomState or None, default=0
        Seed of the order of the rows and of the random start.

    Attributes
    ----------
    classes_ : array (K,)
    coef_ : array (1, d) or (K, d)
    intercept_ : array (1,) or (K,)
    converged_ : bool
        Whether the last pass made no mistake.
    n_passes_ : int
    n_updates_ : int
        Number of mistakes in all passes.
    margin_ : float
        Smallest distance of a row from a boundary; negative if some row is misclassified.
    path_ : DescentPath or None
    mistakes_ : tuple of int
        Indices of the rows that changed the weights, in order; empty unless recorded.

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

    classes_: Labels
    converged_: bool
    n_passes_: int
    n_iter_: int
    n_updates_: int
    margin_: float
    path_: DescentPath | None = None
    mistakes_: tuple[int, ...] = ()

    def __init__(
        self,
        *,
        learning: Literal["stochastic", "batch"] | PerceptronLearning = "stochastic",
        multiclass: Literal["one-against-rest", "direct"] = "direct",
        variant: Literal["plain", "averaged", "pocket"] = "plain",
        learning_rate: float = 1.0,
        start: Literal["zero", "random"] = "zero",
        max_iter: int = 100,
        fit_intercept: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.learning = learning
        self.multiclass = multiclass
        self.variant = variant
        self.learning_rate = learning_rate
        self.start = start
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: RowsLike, y: LabelsLike) -> Self:
        """Fit the model to rows ``X`` with labels ``y``."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        learning = self._learning()
        rate = positive("learning_rate", self.learning_rate)
        max_iter = whole_number("max_iter", self.max_iter)
        require_word(self.start, ("zero", "random"), "start")
        table = linear.labelled(self, X, y)
        require_two_classes(table.classes, table.class_weights)
        self.classes_ = table.classes
        moments = coded_moments(table, "diagonal")
        scaling = Scaling.of(
            moments,
            fit_intercept=self.fit_intercept,
            standardize=learning.standardize,
        )
        design = _design(table, scaling, learning)
        rule = passes.direct_rule if self.multiclass == "direct" else passes.one_against_rest
        n_scores = table.n_classes
        if table.n_classes == 2:
            rule = passes.one_against_rest
            n_scores = 1
        shape = (n_scores, table.n_features + 1)
        start = rng.standard_normal(shape) if self.start == "random" else np.zeros(shape)
        start[:, 0] *= scaling.lead
        order = rng if learning.shuffle else None

        def one_pass(state: State) -> State:
            if learning.method == "batch":
                return passes.batch_pass(design, rule, state, rate)
            return passes.stochastic_pass(design, rule, state, rate, order)

        states, self.converged_ = passes.learn(one_pass, start, max_iter)
        self._set_weights(design, scaling, states)
        self._scale = np.sqrt(moments.total_variances)
        self._set_path(design, rule, scaling, states)
        if not self.converged_ and self.variant == "plain":
            warnings.warn(
                f"the perceptron still makes mistakes after {counted(self.n_passes_, 'pass')}: the "
                "classes may not be linearly separable. Raise max_iter, or use variant='averaged' "
                "or 'pocket', or LogisticRegression",
                linear.UnfinishedDescentWarning,
                stacklevel=2,
            )
        return self

    def _learning(self) -> PerceptronLearning:
        """Return the parameter ``learning`` in its full form; raise if a keyword is unknown."""
        require_word(self.multiclass, ("one-against-rest", "direct"), "multiclass")
        require_word(self.variant, ("plain", "averaged", "pocket"), "variant")
        learning = self.learning
        if not isinstance(learning, PerceptronLearning):
            require_word(learning, ("stochastic", "batch"), "learning")
            return PerceptronLearning(learning)
        if learning.record == "mistakes" and self.variant != "plain":
            raise InvalidParameterError(
                "record='mistakes' needs variant='plain': use that variant, or record=True"
            )
        return learning

    def _answers(self, design: Design, states: list[State]) -> list[Floats]:
        """Return the weights that ``variant`` predicts with, at the start and after each pass."""
        if self.variant == "averaged":
            return [state.average for state in states]
        if self.variant == "pocket":
            return passes.pocket_weights(design, states)
        return [state.weights for state in states]

    def _set_weights(self, design: Design, scaling: Scaling, states: list[State]) -> None:
        weights = self._answers(design, states)[-1]
        self.n_updates_ = states[-1].n_updates
        self.n_passes_ = len(states) - 1
        self.n_iter_ = self.n_passes_
        self.margin_ = passes.margin(design, weights)
        self._set_scores(weights[:, 1:] * scaling.inverse, weights[:, 0], scaling.centre)

    def _set_path(
        self,
        design: Design,
        rule: passes.Rule,
        scaling: Scaling,
        states: list[State],
    ) -> None:
        """Record the weights after every pass, or every mistake, if ``learning`` asks for it."""
        record = self._learning().record
        self.mistakes_ = ()
        self.path_ = None
        if not record:
            return
        history = self._answers(design, states)
        if record == "mistakes":
            mistakes = [mistake for state in states for mistake in state.mistakes]
            self.mistakes_ = tuple(row for row, _ in mistakes)
            history = [states[0].weights, *(weights for _, weights in mistakes)]
        self.path_ = DescentPath.along(
            list(passes.trace_of(design, rule, self.learning_rate, history)),
            scaling.to_original,
            self._parameter_names(),
            passes.CriterionOnPath(design, rule, scaling),
        )


def _design(table: Table, scaling: Scaling, learning: PerceptronLearning) -> Design:
    """Return the design of the rows, with compiled loops if many rows are read one by one."""
    is_compiled = (
        learning.method == "stochastic"
        and learning.record != "mistakes"
        and table.n_rows > _FEW_ROWS
    )
    return CompiledDesign(table, scaling) if is_compiled else design_of(table, scaling)
