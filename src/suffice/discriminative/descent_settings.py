"""Settings of descents, for the parameter ``solver`` of ``LogisticRegression``."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

from suffice.core.checks import not_negative, positive, whole_number
from suffice.discriminative.gradient_descent import (
    AveragedDescent,
    BatchDescent,
    StochasticDescent,
)
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.solver import Solver
from suffice.errors import InvalidParameterError, require_word

NewtonMethod: TypeAlias = Literal["auto", "newton", "quasi-newton"]
GradientMethod: TypeAlias = Literal["gd", "sgd", "averaged-sgd"]
StartWord: TypeAlias = Literal["lda", "zero", "random", "last"]
_NEWTON_METHODS = ("auto", "newton", "quasi-newton")
_GRADIENT_METHODS = ("gd", "sgd", "averaged-sgd")
_STARTS = ("lda", "zero", "random", "last")
_BATCH_SIZE = 32  # default batch size of "averaged-sgd"


@dataclass(frozen=True)
class NewtonDescent:
    """Settings of Newton or quasi-Newton steps: the method, the start and the record.

    Parameters
    ----------
    method : {"auto", "newton", "quasi-newton"}, default="auto"
        The kind of steps. "auto" takes Newton steps if there are few classes and features,
        otherwise quasi-Newton steps.
    start : {"lda", "zero", "random", "last"}, default="lda"
        First parameters: those of linear discriminant analysis, zeros, random normal numbers, or
        the coefficients of the last fit if that had the same classes and features.
    standardize : bool, default=True
        Whether the solver works in standard units, which do not change the minimum.
    record : bool, default=False
        Whether to keep the descent in ``path_``, with a reference to the rows.

    Examples
    --------
    >>> from suffice import LogisticRegression
    >>> from suffice.lectures import NewtonDescent
    >>> recorded = LogisticRegression(solver=NewtonDescent(start="zero", record=True))
    >>> path = recorded.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).path_
    >>> path.parameters[0].tolist()
    [0.0, 0.0]
    """

    method: NewtonMethod = "auto"
    _: KW_ONLY
    start: StartWord = "lda"
    standardize: bool = True
    record: bool = False

    def __post_init__(self) -> None:
        require_word(self.method, _NEWTON_METHODS, "method")
        require_word(self.start, _STARTS, "start")

    def solver(self) -> Solver | None:
        """Return the solver, or None if the size of the problem decides."""
        if self.method == "newton":
            return Newton()
        if self.method == "quasi-newton":
            return QuasiNewton()
        return None


@dataclass(frozen=True)
class GradientDescent:
    """Settings of gradient descent: the method, the learning rate, the start and the record.

    Parameters
    ----------
    method : {"gd", "sgd", "averaged-sgd"}, default="gd"
        "gd" takes steps along the mean gradient of all rows. "sgd" takes stochastic steps, w ← w −
        η (y − t) x, row by row. "averaged-sgd" lowers the rate and returns an average of the
        weights.
    learning_rate : "auto" or float, default="auto"
        η, for the mean loss in the units in which the solver works. If the loss increases, an error
        is raised. With "auto", the loss cannot increase.
    decay : float, default=0.0
        For "sgd", step t = 0, 1, … has the learning rate η / (1 + decay · t). With 0, the rate is
        constant.
    batch_size : int, optional
        Rows per step of the stochastic methods. The default is 1 for "sgd". For "averaged-sgd", it
        is 32, but at most a tenth of the rows.
    shuffle : bool, default=False
        Whether "sgd" visits the rows in a random order, drawn again for each pass, instead of the
        given order. "averaged-sgd" always visits the rows in a random order.
    epsilon : float, optional
        Stop if a step changes the log-likelihood by less than this; by default 1e-4 for "sgd".
    start : {"lda", "zero", "random", "last"}, optional
        First parameters, as in ``NewtonDescent``. By default "zero" for "sgd", otherwise "lda".
    standardize : bool, default=True
        Whether the solver works in standard units, which do not change the minimum.
    record : bool, default=False
        Whether to keep the descent in ``path_``, with a reference to the rows.

    Examples
    --------
    >>> from suffice import LogisticRegression
    >>> from suffice.lectures import GradientDescent
    >>> steps = GradientDescent("sgd", learning_rate=0.05, standardize=False)
    >>> fit = LogisticRegression(l2=0, solver=steps).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> fit.converged_
    True
    """

    method: GradientMethod = "gd"
    _: KW_ONLY
    learning_rate: float | Literal["auto"] = "auto"
    decay: float = 0.0
    batch_size: int | None = None
    shuffle: bool = False
    epsilon: float | None = None
    start: StartWord | None = None
    standardize: bool = True
    record: bool = False

    def __post_init__(self) -> None:
        require_word(self.method, _GRADIENT_METHODS, "method")
        if self.learning_rate != "auto":
            positive("learning_rate", self.learning_rate)
        self._check_decay()
        self._check_batch_size()
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)
        if self.start is not None:
            require_word(self.start, _STARTS, "start")

    def _check_decay(self) -> None:
        not_negative("decay", self.decay)
        if self.decay and self.method != "sgd":
            raise InvalidParameterError(
                f"decay={self.decay} has no effect on {self.method!r}: use 'sgd', or leave "
                "decay out"
            )

    def _check_batch_size(self) -> None:
        if self.batch_size is None:
            return
        whole_number("batch_size", self.batch_size)
        if self.method == "gd":
            raise InvalidParameterError(
                f"batch_size={self.batch_size} has no effect, since each step of 'gd' takes "
                "all rows: use 'sgd' or 'averaged-sgd', or leave batch_size out"
            )

    def solver(self, seed: int) -> Solver:
        """Return the solver, which draws the order of rows with this seed."""
        if self.method == "gd":
            return BatchDescent(self._rate())
        if self.method == "sgd":
            return StochasticDescent(
                rate=self._rate(),
                batch_size=int(self.batch_size or 1),
                seed=seed if self.shuffle else None,
                decay=float(self.decay),
            )
        return self.averaged(seed)

    def averaged(self, seed: int) -> AveragedDescent:
        """Return averaged stochastic gradient descent with this rate and batch size."""
        return AveragedDescent(
            rate=self._rate(),
            batch_size=int(self.batch_size or _BATCH_SIZE),
            seed=seed,
        )

    def _rate(self) -> float | None:
        return None if self.learning_rate == "auto" else float(self.learning_rate)


Descent: TypeAlias = NewtonDescent | GradientDescent
SolverWord: TypeAlias = NewtonMethod | GradientMethod
_BY_WORD: Mapping[str, Descent] = {
    "auto": NewtonDescent("auto"),
    "newton": NewtonDescent("newton"),
    "quasi-newton": NewtonDescent("quasi-newton"),
    "gd": GradientDescent("gd"),
    "sgd": GradientDescent("sgd"),
    "averaged-sgd": GradientDescent("averaged-sgd"),
}


def parse_descent(solver: SolverWord | Descent) -> Descent:
    """Return the settings that a keyword of ``solver`` means; return other values unchanged."""
    if isinstance(solver, (NewtonDescent, GradientDescent)):
        return solver
    require_word(solver, _BY_WORD, "solver")
    return _BY_WORD[solver]
