"""What is simulated: rows of many shapes, and what a test, interval or alarm says about them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.typing import Floats

LEVEL = 0.05
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


class Range(NamedTuple):
    """An interval at 95 %, and a number whose mean over repeats is what it should cover."""

    low: float
    high: float
    truth: float


# whether there was an alarm, None where the test was silent, or an interval
Finding = bool | None | Range


@dataclass(frozen=True)
class Case:
    """One setting, in which one or more tests are made of the same rows."""

    setting: str
    n_rows: int  # of the smaller side: bands are wider below 30
    effect: str  # what happens where something happens; "" where nothing can
    draw: Callable[[np.random.Generator, bool], Mapping[str, Finding]]
    is_dear: bool = False  # so that fewer repeats must do


def is_alarm(p: float) -> bool | None:
    """Return whether a p-value is an alarm, None if there is none."""
    return bool(p <= LEVEL) if np.isfinite(p) else None


def _contaminated(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return normal numbers, one in twenty of which has five times the spread."""
    return rng.normal(size=shape) * np.where(rng.random(shape) < 0.05, 5.0, 1.0)


def _correlated(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return normal columns whose correlations are 0.8."""
    common = rng.normal(size=(shape[0], 1))
    return np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=shape)


DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "correlated normal": _correlated,
    "uniform": lambda rng, shape: rng.random(shape),
    "beta(2, 5)": lambda rng, shape: rng.beta(2, 5, size=shape),
    "gamma(2)": lambda rng, shape: rng.gamma(2, size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "log-normal": lambda rng, shape: rng.lognormal(size=shape),
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
    "contaminated normal": _contaminated,
    "Poisson(0.7)": lambda rng, shape: rng.poisson(0.7, size=shape).astype(float),
    "rare 0/1": lambda rng, shape: (rng.random(shape) < 0.03).astype(float),
}
CONTINUOUS = tuple(name for name in DRAWS if name not in ("Poisson(0.7)", "rare 0/1"))
