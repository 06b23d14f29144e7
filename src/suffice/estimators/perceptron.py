"""scikit-learn face of the perceptron."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from suffice.discriminative.path import Path
from suffice.discriminative.perceptron import (
    Averaged,
    Batch,
    Direct,
    Last,
    OneAgainstRest,
    PerceptronLandscape,
    Pocket,
    Stochastic,
    learn,
    margin,
)
from suffice.discriminative.problem import Scaling
from suffice.discriminative.rows import StreamedRows, rows_of
from suffice.errors import NotConvergedWarning
from suffice.estimators.linear import LinearDecisions, chosen, coded_table, positive, require_two
from suffice.moments import Moments

if TYPE_CHECKING:
    from suffice.discriminative.perceptron import Keeping, Lesson, Rule, Teaching
    from suffice.discriminative.rows import Rows
    from suffice.typing import Codes, Floats

_FEW_ROWS = 100  # up to which stochastic steps are taken without compiling


class Perceptron(LinearDecisions, BaseEstimator):
    r"""Rosenblatt's perceptron: weights move only when a row is misclassified.

    With labels t = ±1 it descends :math:`E(w) = -\sum_{\textrm{mistakes}} t_n w^\top x_n`. It
    converges if, and only if, the classes are linearly separable, after at most (R / γ)²
    mistakes; otherwise ``converged_`` is False, and a warning says so unless the variant is made
    for it.

    Parameters
    ----------
    learning : {"stochastic", "batch"}, default="stochastic"
        w ← w + η t x at each mistake, rows in random order; or w ← w + η Σ t x once a pass.
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
    record : bool, default=False
        Keep the weights of every pass in ``path_``, with a reference to the rows.
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
    path_ : Path or None

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
        standardize: bool = True,
        record: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.learning = learning
        self.multiclass = multiclass
        self.variant = variant
        self.learning_rate = learning_rate
        self.start = start
        self.max_iter = max_iter
        self.standardize = standardize
        self.record = record
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        teaching, keeping, max_iter = self._teaching(rng), self._keeping(), self._max_iter()
        x, self.classes_, codes = coded_table(self, X, y)
        require_two(self.classes_)
        rule = self._rule()
        moments = Moments.of(x, codes, storage="diagonal", fourth=False)
        scaling = Scaling.of(moments) if self.standardize else Scaling.raw(x.shape[1])
        rows = self._rows(x, codes, scaling)
        first = self._first(rng, (rule.n_scores, x.shape[1] + 1))
        lesson = learn(rows, rule, teaching, keeping, first, max_iter, record=self.record)
        return self._accept(rows, rule, scaling, lesson)

    def _rows(self, x: Any, codes: Codes, scaling: Scaling) -> Rows:
        """Return the rows in a form that suits their number: Python is slow one by one."""
        make = StreamedRows if len(x) > _FEW_ROWS and self.learning == "stochastic" else rows_of
        return make(x, codes, None, len(self.classes_), scaling)

    def _accept(self, rows: Rows, rule: Rule, scaling: Scaling, lesson: Lesson) -> Self:
        beta = scaling.to_original(lesson.weights)
        self.intercept_, self.coef_ = beta[:, 0], beta[:, 1:]
        self.converged_ = lesson.converged
        self.n_passes_ = self.n_iter_ = lesson.n_passes
        self.n_updates_ = lesson.n_updates
        self.margin_ = margin(rows, lesson.weights)
        self.path_ = self._path(rows, rule, scaling, lesson) if self.record else None
        if not lesson.converged and self.variant == "plain":
            msg = (
                f"still making mistakes after {lesson.n_passes} passes: the classes may not be "
                "linearly separable; raise max_iter, or use variant='averaged' or 'pocket', or "
                "LogisticRegression"
            )
            warnings.warn(msg, NotConvergedWarning, stacklevel=3)
        return self

    def _path(self, rows: Rows, rule: Rule, scaling: Scaling, lesson: Lesson) -> Path:
        landscape = PerceptronLandscape(rows, rule, scaling)
        names = self._parameter_names()
        return Path.along(lesson.trace, scaling.to_original, names, landscape)

    def _rule(self) -> Rule:
        rules = {"one-against-rest": OneAgainstRest, "direct": Direct}
        rule = chosen("multiclass", self.multiclass, rules)
        k = len(self.classes_)
        return OneAgainstRest(k) if k == 2 else rule(k)

    def _teaching(self, rng: np.random.Generator) -> Teaching:
        rate = positive("learning_rate", self.learning_rate)
        ways = {"stochastic": Stochastic(rate, rng), "batch": Batch(rate)}
        way: Teaching = chosen("learning", self.learning, ways)
        return way

    def _keeping(self) -> Keeping:
        variants = {"plain": Last(), "averaged": Averaged(), "pocket": Pocket()}
        keeping: Keeping = chosen("variant", self.variant, variants)
        return keeping

    def _max_iter(self) -> int:
        return int(positive("max_iter", self.max_iter))

    def _first(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        draw = {"zero": np.zeros, "random": rng.standard_normal}
        first: Floats = chosen("start", self.start, draw)(shape)
        return first


__all__ = ["Perceptron"]
