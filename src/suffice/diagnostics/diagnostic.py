"""A frozen answer to one question about a model, and the null distributions it refers to."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, fdtrc

from suffice.drawing import draw
from suffice.text.numbers import p_statement
from suffice.text.tables import Tabled
from suffice.typing import Floats


class Diagnostic(Tabled):
    """A frozen answer to one question about a model; ``str`` of it is the answer in words."""

    __slots__ = ()
    figure: ClassVar[str]  # the name of its drawing

    def plot(self, ax: Any = None) -> Any:
        """Draw into ``ax``, or new axes, and return them."""
        return draw(self.figure, self, ax)


@dataclass(frozen=True, slots=True)
class ChiSquareTest:
    """A statistic that is χ² with ``df`` degrees of freedom under the null."""

    statistic: float
    df: float

    @property
    def p_value(self) -> float:
        """Return P(χ² ≥ statistic)."""
        return float(chdtrc(self.df, max(self.statistic, 0.0)))


@dataclass(frozen=True, slots=True)
class FTest:
    """A statistic that is F with ``df1`` and ``df2`` degrees of freedom under the null."""

    statistic: float
    df1: float
    df2: float

    @property
    def p_value(self) -> float:
        """Return P(F ≥ statistic); NaN where no such distribution exists."""
        return float(fdtrc(self.df1, self.df2, max(self.statistic, 0.0)))


def simulated_p(statistic: Any, replicates: Floats) -> Any:
    """Return (1 + #{replicates ≥ statistic}) / (1 + B), a valid p-value for any B.

    Davison & Hinkley (1997), *Bootstrap Methods and their Application*, section 4.2.
    """
    # a replicate that ties up to rounding counts as larger
    larger = replicates >= statistic - 1e-12 * np.abs(statistic)
    return (1 + larger.sum(0)) / (1 + len(replicates))


def simulated_statement(p: float, simulations: int) -> str:
    """Return a simulated p-value in words: the least that so many draws can show is a bound."""
    return p_statement(p, "≤" if p <= 1 / (simulations + 1) else "=")
