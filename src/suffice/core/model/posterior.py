"""Posteriors, densities and decisions, computed from scores aₖ(x) by NumPy or compiled loops.

A row without a finite score has NaN as its values, or −1 as the code of its class.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from suffice.core.model.tiles import LANES, empty_tile
from suffice.core.table.foreign import DeviceArray, Namespace
from suffice.errors import InvalidParameterError
from suffice.typing import Array, Codes, Floats, RowsLike

# numbers that tell the compiled loop which values to write
JOINT = 0
POSTERIOR = 1
LOG_POSTERIOR = 2
LOG_DENSITY = 3
ARGMAX = 4


class Readout(ABC):
    """A function of the scores of each row, such as the posterior."""

    loop_code: int  # JOINT, POSTERIOR, LOG_POSTERIOR, LOG_DENSITY or ARGMAX

    @property
    def temperature(self) -> float:
        """T of softmax(a / T)."""
        return 1.0

    @property
    def dtype(self) -> type[np.generic]:
        """Type of the values."""
        return np.float64

    @property
    def per_class(self) -> bool:
        """Whether there is a value for each class, (n, K), or one for each row, (n,)."""
        return True

    def shape(self, n_rows: int, n_scores: int) -> tuple[int, ...]:
        """Return the shape of the values of ``n_rows`` rows with ``n_scores`` scores each."""
        return (n_rows, n_scores) if self.per_class else (n_rows,)

    @abstractmethod
    def read(self, a: Floats) -> Array:
        """Return the values for scores ``a`` (n, K)."""

    def of_classes(
        self,
        xp: Namespace,  # noqa: ARG002
        a: DeviceArray,
    ) -> tuple[DeviceArray, "Readout"]:
        """Return the scores of the classes, in arrays of the library ``xp``, and their readout."""
        return a, self

    def write(self, tile: Floats, n_classes: int, out: Array) -> bool:
        """Write the values of a score tile; return whether some row has no finite score."""
        from suffice.core.model import loops

        table = out if self.per_class else out[:, None]
        return bool(loops.write(tile, n_classes, 1 / self.temperature, self.loop_code, table))


@dataclass(frozen=True)
class Posterior(Readout):
    """softmax(a / T): pₖ = exp dₖ / (1 + Σ exp d over the other classes).

    Here dₖ = (aₖ − max a) / T. By Bayes' rule with T = 1,
    p(k∣x) = p(x∣k) πₖ / Σⱼ p(x∣j) πⱼ = softmax(a), aₖ = log p(x∣k) + log πₖ.
    Two classes have p₂ = σ(a₂ − a₁) with σ(t) = 1 / (1 + exp(−t)). Then a₂ − a₁ = log(p₂ / p₁)
    are the log odds, and exp(a₂ − a₁) = p₂ / (1 − p₂) the odds.
    """

    temperature: float = 1.0
    loop_code = POSTERIOR

    def read(self, a: Floats) -> Floats:
        _, d, sum_of_others = _relative(a, self.temperature)
        return np.exp(d) / (1 + sum_of_others)[:, None]


@dataclass(frozen=True)
class LogPosterior(Readout):
    """log softmax(a / T): log pₖ = dₖ − log1p(Σ exp d over all classes except the best)."""

    temperature: float = 1.0
    loop_code = LOG_POSTERIOR

    def read(self, a: Floats) -> Floats:
        _, d, sum_of_others = _relative(a, self.temperature)
        return d - np.log1p(sum_of_others)[:, None]


@dataclass(frozen=True)
class LogDensity(Readout):
    """log p(x) from aₖ = log p(x, k): log Σₖ exp aₖ = max a + log1p(Σ exp d without the best)."""

    loop_code = LOG_DENSITY
    per_class = False

    def read(self, a: Floats) -> Floats:
        top, _, sum_of_others = _relative(a, 1.0)
        return top + np.log1p(sum_of_others)


@dataclass(frozen=True)
class Joint(Readout):
    """The scores themselves."""

    loop_code = JOINT

    def read(self, a: Floats) -> Floats:
        return np.where(np.isfinite(a.max(1))[:, None], a, np.nan)


@dataclass(frozen=True)
class Argmax(Readout):
    """The code of the class with the greatest score; ties go to the first class."""

    loop_code = ARGMAX
    dtype = np.intp
    per_class = False

    def read(self, a: Floats) -> Codes:
        return np.where(np.isfinite(a.max(1)), a.argmax(1), -1)


class ScoredModel(ABC):
    """A model that computes scores of rows, and posteriors and predictions from the scores."""

    temperature: float  # T of the posterior, softmax(a / T)
    has_posterior: bool  # whether the scores are log odds

    @abstractmethod
    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        """Return the readout of log p(x | k) + log_weights_k; without weights, of ``scores``."""

    def posterior(self, x: RowsLike) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return self._read(x, Posterior(self.temperature))

    def log_posterior(self, x: RowsLike) -> Floats:
        """Return log p(k | x), shape (n, K), without underflow far from the data."""
        return self._read(x, LogPosterior(self.temperature))

    def scores(self, x: RowsLike) -> Floats:
        """Return log p(x | k) + log π_k up to a term common to all classes, shape (n, K)."""
        return self._read(x, Joint())

    def most_probable(self, x: RowsLike) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return self._read(x, Argmax())


def read_scores(a: Floats, readout: Readout) -> Array:
    """Return the readout of scores (n, K), computed by compiled loops."""
    n, k = a.shape
    n_chunks = -(-n // LANES)
    rows = np.zeros((n_chunks * LANES, k))
    rows[:n] = a
    tile = empty_tile(n_chunks, k)
    tile[:, :k] = rows.reshape(n_chunks, LANES, k).transpose(0, 2, 1)
    values: Array = np.empty(readout.shape(n, k), readout.dtype)
    readout.write(tile, k, values)
    return values


def _relative(a: Floats, temperature: float) -> tuple[Floats, Floats, Floats]:
    """Return max a (n,), d = (a − max a) / T (n, K), and Σ exp d without the best class (n,)."""
    winner = a.argmax(1)[:, None]
    top = np.take_along_axis(a, winner, 1)
    top = np.where(np.isfinite(top), top, np.nan)
    d = (a - top) / temperature
    e = np.exp(d)
    np.put_along_axis(e, winner, 0.0, 1)
    return top[:, 0], d, e.sum(1)


def softmax(scores: npt.ArrayLike, base: float | None = None) -> Floats:
    """Return the softmax of scores along the last axis, bᵃ / Σ bᵃ.

    Parameters
    ----------
    scores : array (…, K)
        Scores a_k of each class.
    base : float, optional
        b > 1, by default e. The base b has the effect of the temperature T = 1 / ln b.

    Returns
    -------
    array (…, K)
        Positive numbers that sum to one.

    Examples
    --------
    >>> from suffice.lectures import softmax
    >>> softmax([0.0, 1.0, 2.0], base=2).round(3).tolist()
    [0.143, 0.286, 0.571]
    """
    if base is not None and not (np.isfinite(base) and base > 1):
        raise InvalidParameterError(
            f"base={base!r} does not favour larger scores: use a finite number above 1"
        )
    a = np.asarray(scores, np.float64)
    log_base = 1.0 if base is None else np.log(base)
    # bᵃ / Σ bᵃ, with each power divided by the greatest one
    powers = np.exp(log_base * (a - a.max(axis=-1, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
