"""The recorded path of a descent, and plain gradient descent on any function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.core.table.matrix import column_position
from suffice.errors import InvalidParameterError, NotConvergedWarning, warn
from suffice.typing import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    ParameterPair = tuple[int | str, int | str]  # names or positions of two parameters
    Window = tuple[tuple[float, float], ...]  # (low, high) for each parameter that is drawn


_FLAT = 1e-4  # a smaller gradient norm counts as zero
_LOWER = 1e-9  # a smaller relative decrease of the loss is a rounding error


class PathPoint(NamedTuple):
    """A point that a descent visited, with the loss and the norm of the gradient at the point."""

    parameters: Floats
    loss: float
    gradient_norm: float
    step_size: float  # size of the step that led to this point; 0 at the start


@dataclass(frozen=True, slots=True, eq=False)
class DescentPath:
    """The points that a solver visited, beginning with the start.

    Examples
    --------
    >>> from suffice.lectures import descend
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
    loss: Callable[[Floats], float]  # the loss as a function of the parameters  (p,)

    @classmethod
    def along(
        cls,
        trace: Sequence[PathPoint],
        to_original: Callable[[Floats], Floats],
        names: tuple[str, ...],
        loss: Callable[[Floats], float],
    ) -> DescentPath:
        """Return the path of a descent, with the parameters in original units."""
        return cls(
            parameters=np.array([to_original(point.parameters).ravel() for point in trace]),
            losses=np.array([point.loss for point in trace], np.float64),
            gradient_norms=np.array([point.gradient_norm for point in trace], np.float64),
            step_sizes=np.array([point.step_size for point in trace], np.float64),
            names=names,
            loss=loss,
        )

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def is_stalled(self) -> bool:
        """Whether the gradient is zero at the end of the path, but the loss is lower nearby.

        The search for a lower loss varies each parameter by up to a tenth of its absolute value, or
        by a tenth if the absolute value is less than one.
        """
        if self.gradient_norms[-1] > _FLAT:
            return False
        end = self.parameters[-1]
        lowest = self.losses[-1] - _LOWER * max(abs(self.losses[-1]), 1.0)
        for axis, size in enumerate(np.maximum(np.abs(end), 1.0)):
            for step in (-0.1, -0.01, 0.01, 0.1):
                nearby = end.copy()
                nearby[axis] += step * size
                if float(self.loss(nearby)) < lowest:
                    return True
        return False

    def to_frame(self) -> pd.DataFrame:
        """Return a row per step: loss, gradient norm, step size, and every parameter."""
        import pandas as pd

        parameters = dict(zip(self.names, self.parameters.T, strict=True))
        columns = {
            "loss": self.losses,
            "gradient_norm": self.gradient_norms,
            "step_size": self.step_sizes,
            **parameters,
        }
        return pd.DataFrame(columns).rename_axis("step")

    def plot(
        self, parameters: ParameterPair | None = None, window: Window | None = None
    ) -> Figure:
        """Return a figure of the loss and the gradient at each step, and of the path over the loss.

        ``window`` holds (low, high) for each parameter that is drawn, by default around the path.
        """
        from suffice.present.plots.paths import descent_figure

        return descent_figure(self, self.pair(parameters), window)

    def animate(
        self,
        parameters: ParameterPair | None = None,
        n_frames: int = 60,
    ) -> FuncAnimation:
        """Return an animation of the path over the contours of the loss, with ``save(path)``."""
        from suffice.present.plots.paths import descent_animation

        return descent_animation(self, self.pair(parameters), n_frames)

    def pair(self, parameters: ParameterPair | None) -> tuple[int, ...]:
        """Return the positions of the parameters to draw: two, or one if there is only one."""
        if parameters is None:
            return tuple(range(min(2, len(self.names))))
        n = len(self.names)
        chosen = tuple(column_position(p, self.names, n, "parameter") for p in parameters)
        if len(set(chosen)) != 2:
            raise InvalidParameterError(
                f"parameters must name two different ones of {self.names}, got {parameters}"
            )
        return chosen

    def section(self, axes: tuple[int, ...], grids: list[Floats]) -> Floats:
        """Return the loss over a grid of some parameters; the others have their last values."""
        mesh = np.meshgrid(*grids)
        points = np.tile(self.parameters[-1], (mesh[0].size, 1))
        for axis, values in zip(axes, mesh, strict=True):
            points[:, axis] = values.ravel()
        return np.array([float(self.loss(row)) for row in points]).reshape(mesh[0].shape)


def descend(
    loss: Callable[[Floats], float],
    gradient: Callable[[Floats], npt.ArrayLike],
    start: npt.ArrayLike,
    learning_rate: float | Callable[[int], float] = 0.1,
    n_steps: int = 100,
    names: Sequence[str] | None = None,
) -> DescentPath:
    """Return the path of plain gradient descent w ← w − η ∇f(w), where f need not be convex.

    A warning says if the descent ends at a zero gradient that is not a minimum.

    Parameters
    ----------
    loss, gradient : callables
        f and ∇f of a parameter vector (p,).
    start : array (p,)
        First parameters.
    learning_rate : float or function
        η, or η_t as a function of the step t = 0, 1, …. If the learning rate is too large, the loss
        increases, and the path ends where the loss is not finite.
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
    trace = []
    step_size = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(n_steps + 1):
            value = float(loss(w))
            g = np.asarray(gradient(w), np.float64)
            if not np.isfinite(value):
                break
            trace.append(PathPoint(w, value, float(np.abs(g).max()), step_size))
            step_size = _rate_at(learning_rate, t)
            w = w - step_size * g
    if not trace:
        raise InvalidParameterError(f"the loss is not finite at the start {w}")
    if names is None:
        names = [f"w{j}" for j in range(len(w))]
    path = DescentPath.along(trace, np.asarray, tuple(names), loss)
    if path.is_stalled:
        warn(
            f"the descent stalls at {path.parameters[-1].tolist()}: the gradient is zero there, "
            "but the loss is lower nearby; start elsewhere",
            NotConvergedWarning,
        )
    return path


def _rate_at(learning_rate: float | Callable[[int], float], t: int) -> float:
    """Return η_t, or raise unless it is positive."""
    rate = learning_rate(t) if callable(learning_rate) else learning_rate
    if not rate > 0:
        raise InvalidParameterError(
            f"learning_rate must be positive, got {rate:g} at step {t}"
        )
    return float(rate)
