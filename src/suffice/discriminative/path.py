"""The recorded descent of an iterative solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path as FilePath

    import pandas as pd
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from suffice.discriminative.descent import Trace
    from suffice.typing import Floats


class Landscape(Protocol):
    """A loss that can be drawn."""

    def __call__(self, parameters: Floats) -> Floats:
        """Return the loss (m,) at each row of ``parameters`` (m, p)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Where a solver went, step by step, the start included.

    Examples
    --------
    >>> from suffice.discriminative import descend
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
    landscape: Landscape

    @classmethod
    def along(
        cls,
        trace: Trace,
        shown: Callable[[Floats], Floats],
        names: tuple[str, ...],
        landscape: Landscape,
    ) -> Path:
        """Return the path of a solver's trace, its parameters as they are shown to people."""
        parameters = np.array([shown(phi).ravel() for phi in trace.phi])
        norms, sizes = trace.gradient_norms, trace.step_sizes
        return cls(parameters, trace.losses, norms, sizes, names, landscape)

    def __len__(self) -> int:
        return len(self.losses)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per step: loss, gradient norm, step size, and every parameter."""
        import pandas as pd

        steps = {
            "loss": self.losses,
            "gradient_norm": self.gradient_norms,
            "step_size": self.step_sizes,
        }
        frame = pd.DataFrame(steps | dict(zip(self.names, self.parameters.T, strict=True)))
        return frame.rename_axis("step")

    def plot(self, parameters: tuple[int | str, int | str] | None = None) -> Figure:
        """Return a figure: loss and gradient by step; the way over the contours of the loss.

        Parameters
        ----------
        parameters : pair of names or positions, optional
            The two parameters to draw; the others stay at their last values. By default the
            first two.
        """
        from suffice.plots.paths import draw

        return draw(self, self.pair(parameters))

    def animate(
        self, parameters: tuple[int | str, int | str] | None = None, n_frames: int = 60
    ) -> FuncAnimation:
        """Return an animation of the way over the contours of the loss."""
        from suffice.plots.paths import animate

        return animate(self, self.pair(parameters), n_frames)

    def save_animation(
        self,
        path: str | FilePath,
        parameters: tuple[int | str, int | str] | None = None,
        n_frames: int = 60,
    ) -> None:
        """Write the animation to a ``.gif`` or a self-contained ``.html`` file."""
        from suffice.plots.paths import save

        save(self, self.pair(parameters), n_frames, path)

    def pair(self, parameters: tuple[int | str, int | str] | None) -> tuple[int, ...]:
        """Return the positions of the parameters to draw: two, or the only one."""
        if parameters is None:
            return tuple(range(min(2, len(self.names))))
        chosen = tuple(self._position(name) for name in parameters)
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
        return np.asarray(self.landscape(points)).reshape(mesh[0].shape)

    def _position(self, name: Any) -> int:
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        if not isinstance(name, str) and -len(self.names) <= name < len(self.names):
            return int(name) % len(self.names)
        msg = f"no parameter {name!r}: there are {', '.join(map(repr, self.names))}"
        raise InvalidParameterError(msg)
