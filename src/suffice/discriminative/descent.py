"""Descents: following one until it stops, the same for every solver, and the record of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.core.table.matrix import column_position
from suffice.discriminative.logistic_loss import Evaluation
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from suffice.discriminative.design import Problem

    ParameterPair = tuple[int | str, int | str]  # two parameters, by name or position

_HALVINGS = 40
_SUFFICIENT = 1e-4
_ROUNDING = 1e-12
_INVISIBLE = 1e-24  # of the loss: a gain that no arithmetic can show
_NOT_KEPT = np.empty(0)


class Passed(NamedTuple):
    """Parameters that a descent went through, and how it stood there."""

    parameters: Floats
    loss: float
    gradient_norm: float
    step_size: float  # that led here: 0 at the start


@dataclass(frozen=True, slots=True, eq=False)
class DescentPath:
    """Where a solver went, step by step, the start included.

    Examples
    --------
    >>> from suffice import descend
    >>> path = descend(lambda w: w @ w, lambda w: 2 * w, [1.0, 2.0], learning_rate=0.25)
    >>> path.losses[:3].tolist()
    [5.0, 1.25, 0.3125]
    >>> path.parameters[1].tolist()
    [0.5, 1.0]
    """

    parameters: Floats  # (T, p), in original units
    losses: Floats  # (T,)
    gradient_norms: Floats  # (T,)
    step_sizes: Floats  # (T,): 0 at the start
    names: tuple[str, ...]  # (p,)
    loss: Callable[[Floats], float]  # at parameters (p,)

    @classmethod
    def along(
        cls,
        trace: Sequence[Passed],
        shown: Callable[[Floats], Floats],
        names: Any,
        loss: Any,
    ) -> DescentPath:
        """Return the path of a descent, its parameters as they are shown to people."""
        parameters = np.array([shown(passed.parameters).ravel() for passed in trace])
        losses, norms, sizes = np.array([passed[1:] for passed in trace], np.float64).T
        return cls(parameters, losses, norms, sizes, names, loss)

    def __len__(self) -> int:
        return len(self.losses)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per step: loss, gradient norm, step size, and every parameter."""
        import pandas as pd

        steps = {"loss": self.losses, "gradient_norm": self.gradient_norms}
        steps["step_size"] = self.step_sizes
        frame = pd.DataFrame(steps | dict(zip(self.names, self.parameters.T, strict=True)))
        return frame.rename_axis("step")

    def plot(self, parameters: ParameterPair | None = None, window: Any = None) -> Figure:
        """Return a figure: loss and gradient by step; the way over the contours of the loss.

        ``window`` is (low, high) of each parameter that is drawn, by default around the way.
        """
        from suffice.present.plots.paths import descent_figure

        return descent_figure(self, self.pair(parameters), window)

    def animate(
        self,
        parameters: ParameterPair | None = None,
        n_frames: int = 60,
    ) -> FuncAnimation:
        """Return an animation of the way over the contours of the loss, with ``save(path)``."""
        from suffice.present.plots.paths import descent_animation

        return descent_animation(self, self.pair(parameters), n_frames)

    def pair(self, parameters: ParameterPair | None) -> tuple[int, ...]:
        """Return the positions of the parameters to draw: two, or the only one."""
        if parameters is None:
            return tuple(range(min(2, len(self.names))))
        n = len(self.names)
        chosen = tuple(column_position(p, self.names, n, "parameter") for p in parameters)
        if len(set(chosen)) != 2:
            msg = f"parameters must name two different ones of {self.names}, got {parameters}"
            raise InvalidParameterError(msg)
        return chosen

    def section(self, axes: tuple[int, ...], grids: list[Floats]) -> Floats:
        """Return the loss over a grid in some parameters, the others at their last values."""
        mesh = np.meshgrid(*grids)
        points = np.tile(self.parameters[-1], (mesh[0].size, 1))
        for axis, values in zip(axes, mesh, strict=True):
            points[:, axis] = values.ravel()
        return np.array([float(self.loss(row)) for row in points]).reshape(mesh[0].shape)


def descend(
    loss: Callable[[Floats], float],
    gradient: Callable[[Floats], npt.ArrayLike],
    start: npt.ArrayLike,
    learning_rate: float = 0.1,
    n_steps: int = 100,
    names: Sequence[str] | None = None,
) -> DescentPath:
    """Return the path of plain gradient descent w ← w − η ∇f(w), convex or not.

    Parameters
    ----------
    loss, gradient : callables
        f and ∇f of a parameter vector (p,).
    start : array (p,)
        Where to begin.
    learning_rate : float
        η; too large a one makes the loss rise, and the path ends where it is not finite.
    n_steps : int
        Number of steps.
    names : sequence of p names, optional
        By default w0, w1, …

    Examples
    --------
    >>> import numpy as np
    >>> valley = lambda w: (w[0] ** 2 - 1) ** 2  # two minima: the start decides
    >>> slope = lambda w: 4 * w * (w**2 - 1)
    >>> [descend(valley, slope, [s]).parameters[-1].round(3).tolist() for s in (-0.1, 0.1)]
    [[-1.0], [1.0]]
    """
    w = np.atleast_1d(np.asarray(start, np.float64))
    if not learning_rate > 0:
        raise InvalidParameterError(f"learning_rate must be positive, got {learning_rate}")
    steps = []
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(n_steps + 1):
            value, g = float(loss(w)), np.asarray(gradient(w), np.float64)
            if not np.isfinite(value):
                break
            steps.append(Passed(w, value, float(np.abs(g).max()), learning_rate if t else 0.0))
            w = w - learning_rate * g
    if not steps:
        raise InvalidParameterError(f"the loss is not finite at the start {w}")
    called = tuple(names) if names is not None else tuple(f"w{j}" for j in range(len(w)))
    return DescentPath.along(steps, np.asarray, called, loss)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A point that a solver has reached, and how."""

    point: Evaluation
    size: float  # step length or learning rate that led here; 0 at the start
    decrement: float = 0.0  # gᵀH⁻¹g, twice the loss still to gain, where a solver knows it


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop."""

    tol: float = 1e-8  # greatest mean gradient, in standard units, and loss still to gain
    epsilon: float | None = None  # change of the log-likelihood
    max_iter: int = 100

    def met(self, gradient_norm: float, before: Step | None, now: Step) -> bool:
        small = gradient_norm <= self.tol and now.decrement <= self.tol
        if small or 0 < now.decrement <= _INVISIBLE * now.point.loss:
            return True
        if self.epsilon is None or before is None:
            return False
        # |Δ log-likelihood| < ε
        return abs(before.point.misfit - now.point.misfit) < self.epsilon


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where a descent ended."""

    point: Evaluation
    n_iter: int
    converged: bool
    trace: list[Passed]  # the start included; parameters (C, D) where they were recorded


class Solver(ABC):
    """A way down: the points it goes through, and when it stops unless told otherwise."""

    default: ClassVar[Stopping]

    @abstractmethod
    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        """Yield the points of a descent from (C, D), for ever or until the loss stays."""

    @np.errstate(over="ignore", invalid="ignore")
    def solve(
        self,
        problem: Problem,
        start: Floats,
        stopping: Stopping,
        *,
        record: bool = False,
    ) -> Solution:
        """Return the end of the descent: it meets the rule, breaks off, or runs out of steps."""
        trace: list[Passed] = []
        before: Step | None = None
        converged = False
        for now in self.steps(problem, start):
            if not np.isfinite(now.point.loss):
                break
            norm, phi = problem.objective.gradient_norm(now.point), now.point.phi
            trace.append(Passed(phi if record else _NOT_KEPT, now.point.loss, norm, now.size))
            converged = stopping.met(norm, before, now)
            before = now
            if converged or len(trace) > stopping.max_iter:
                break
        if before is None:
            msg = (
                "the loss is not finite at the start: choose another start, or smaller weights"
            )
            raise InvalidInputError(msg)
        return Solution(before.point, len(trace) - 1, converged, trace)


def damped(
    evaluate: Callable[[Floats], Evaluation],
    start: Floats,
    direction: Callable[[Evaluation], Floats],
) -> Iterator[Step]:
    """Yield the points of steps φ + t Δ, t the first of 1, ½, ¼ … that is low enough, if any is."""
    here, t = evaluate(start), 0.0
    while True:
        delta = direction(here)
        decrement = -float(np.vdot(here.gradient, delta))
        yield Step(here, t, decrement)
        for t in 0.5 ** np.arange(_HALVINGS):
            there = evaluate(here.phi + t * delta)
            # f(φ + tΔ) ≤ f(φ) + α t gᵀΔ  (Armijo), up to the rounding of a long sum
            if there.loss <= here.loss - _SUFFICIENT * t * decrement + _ROUNDING * abs(
                here.loss
            ):
                break
        else:
            return
        here = there
