"""Gradient descent on any function, recorded: to see what a step size or a start does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.discriminative.path import Path
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class PointwiseLandscape:
    """A function of one parameter vector, over many."""

    loss: Callable[[Floats], float]

    def __call__(self, parameters: Floats) -> Floats:
        """Return the loss (m,) at each row of ``parameters`` (m, p)."""
        return np.array([float(self.loss(row)) for row in parameters])


def descend(
    loss: Callable[[Floats], float],
    gradient: Callable[[Floats], npt.ArrayLike],
    start: npt.ArrayLike,
    learning_rate: float = 0.1,
    n_steps: int = 100,
    names: Sequence[str] | None = None,
) -> Path:
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
        msg = f"learning_rate must be positive, got {learning_rate}"
        raise InvalidParameterError(msg)
    steps = []
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(n_steps + 1):
            value, g = float(loss(w)), np.asarray(gradient(w), np.float64)
            if not np.isfinite(value):
                break
            steps.append((w, value, float(np.abs(g).max()), learning_rate if t else 0.0))
            w = w - learning_rate * g
    if not steps:
        msg = f"the loss is not finite at the start {w}"
        raise InvalidParameterError(msg)
    way, losses, norms, sizes = (np.array(column) for column in zip(*steps, strict=True))
    called = tuple(names) if names is not None else tuple(f"w{j}" for j in range(len(w)))
    return Path(way, losses, norms, sizes, called, PointwiseLandscape(loss))
