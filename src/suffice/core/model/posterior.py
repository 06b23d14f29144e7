"""What is read out of scores aₖ(x), by NumPy for few rows and by compiled loops for many.

A row none of whose scores is finite reads NaN, or code −1.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from suffice.core.model.tiles import LANES, empty_tile
from suffice.typing import Array, Codes, Floats


class Readout(Protocol):
    """A function of the scores of each row."""

    name: str = ""  # a word of ``kernels``
    temperature: float = 1.0
    dtype: Any = np.float64  # of the values read out
    per_class: bool = (
        True  # whether there is a value for each class, (n, K), rather than one, (n,)
    )

    def shape(self, n_rows: int, n_scores: int) -> tuple[int, ...]:
        """Return the shape of the values of so many rows and scores."""
        return (n_rows, n_scores) if self.per_class else (n_rows,)

    def read(self, a: Floats) -> Array:
        """Return the values for scores ``a`` (n, K)."""
        ...

    def of_classes(self, xp: Any, a: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Return the scores of classes, in a library of the Array API, and what is read out."""
        return a, self

    def write(self, tile: Floats, n_classes: int, out: Array) -> bool:
        """Write ``read`` of a score tile to rows; return whether some row has none."""
        from suffice.core.model import loops as kernels

        what, rows = getattr(kernels, self.name), out if self.per_class else out[:, None]
        return bool(kernels.write(tile, n_classes, 1 / self.temperature, what, rows))


@dataclass(frozen=True)
class Posterior(Readout):
    """softmax(a / T): pₖ = exp dₖ / (1 + Σ exp d over the losers)."""

    temperature: float = 1.0
    name = "POSTERIOR"

    def read(self, a: Floats) -> Floats:
        _, d, rest = _relative(a, self.temperature)
        return np.exp(d) / (1 + rest)[:, None]


@dataclass(frozen=True)
class LogPosterior(Posterior):
    """log softmax(a / T): log pₖ = dₖ − log1p(Σ exp d over the losers)."""

    name = "LOG_POSTERIOR"

    def read(self, a: Floats) -> Floats:
        _, d, rest = _relative(a, self.temperature)
        return d - np.log1p(rest)[:, None]


@dataclass(frozen=True)
class LogDensity(Readout):
    """log Σₖ exp aₖ = max a + log1p(Σ exp d over the losers): the log density for a log joint a."""

    name = "LOG_DENSITY"
    per_class = False

    def read(self, a: Floats) -> Floats:
        top, _, rest = _relative(a, 1.0)
        return top + np.log1p(rest)


@dataclass(frozen=True)
class Joint(Readout):
    """The scores themselves."""

    name = "JOINT"

    def read(self, a: Floats) -> Floats:
        return np.where(np.isfinite(a.max(1))[:, None], a, np.nan)


@dataclass(frozen=True)
class Argmax(Readout):
    """The code of the greatest score, of equal ones the first."""

    name = "ARGMAX"
    dtype = np.intp
    per_class = False

    def read(self, a: Floats) -> Codes:
        return np.where(np.isfinite(a.max(1)), a.argmax(1), -1)


class ScoredModel(ABC):
    """What is read out of the scores of every model."""

    temperature: float  # T of the posterior, softmax(a / T)
    has_posterior: bool  # whether scores are log odds

    @abstractmethod
    def _read(self, x: Any, readout: Readout, log_weights: Floats | None = None) -> Array:
        """Return what is read out of log p(x | k) + log_weights_k; of ``scores`` where None."""

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return self._read(x, Posterior(self.temperature))

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K), exact far from the data."""
        return self._read(x, LogPosterior(self.temperature))

    def scores(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k up to a term common to all classes, shape (n, K)."""
        return self._read(x, Joint())

    def most_probable(self, x: Any) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return self._read(x, Argmax())


def read_scores(a: Floats, readout: Readout) -> Array:
    """Return what is read out of scores (n, K), by compiled loops."""
    n, k = a.shape
    n_chunks = -(-n // LANES)
    tile, whole = empty_tile(n_chunks, k), np.zeros((n_chunks * LANES, k))
    whole[:n] = a
    tile[:, :k] = whole.reshape(n_chunks, LANES, k).transpose(0, 2, 1)
    values: Array = np.empty(readout.shape(n, k), readout.dtype)
    readout.write(tile, k, values)
    return values


def _relative(a: Floats, temperature: float) -> tuple[Floats, Floats, Floats]:
    """Return max a (n,), d = (a − max a) / T (n, K), and Σ exp d over all but the winner (n,)."""
    winner = a.argmax(1)[:, None]
    top = np.take_along_axis(a, winner, 1)
    top = np.where(np.isfinite(top), top, np.nan)
    d = (a - top) / temperature
    e = np.exp(d)
    np.put_along_axis(e, winner, 0.0, 1)
    return top[:, 0], d, e.sum(1)
