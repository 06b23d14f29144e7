"""Scores of Student t densities, read from squared distances as these are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from suffice.model.readout import Readout
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Tailed:
    """A readout of c_k − p_k log(1 + s_k Δ²) where the scorer gives −½ Δ²."""

    readout: Readout
    constants: Floats  # c  (K,)
    powers: Floats  # p = (f + d) / 2  (K,)
    shares: Floats  # s: Δ² is measured by the posterior scale, s Δ² by f times the shape  (K,)

    @property
    def dtype(self) -> type:
        """Of the values read out."""
        return self.readout.dtype

    @property
    def per_class(self) -> bool:
        """Whether there is a value for each class."""
        return self.readout.per_class

    def read(self, a: Floats) -> npt.NDArray[Any]:
        """Return the values for −½ Δ² (n, K)."""
        tails = self.constants - self.powers * np.log1p(-2 * self.shares * a)
        return self.readout.read(tails)

    def write(self, tile: Floats, n_classes: int, out: npt.NDArray[Any]) -> bool:
        """Write ``read`` of a tile (chunks, classes, rows), which is changed in place."""
        a = tile[:, :n_classes]
        a *= -2 * self.shares[:, None]
        np.log1p(a, out=a)
        a *= -self.powers[:, None]
        a += self.constants[:, None]
        return self.readout.write(tile, n_classes, out)
