"""Scores aₖ(x) of K classes: by matrices, by scales, or linear in x, measured from one origin.

Every part scores in two ways, which agree: ``scores`` with NumPy, for few rows, so that Numba is
never imported for them; and ``stages``, compiled loops that fill a score tile, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

import numpy as np

from suffice.core.model.posterior import Readout
from suffice.core.model.tiles import LANES, empty_tile, packed_blocks, packed_lower, padded
from suffice.core.power_transform import PowerTransform
from suffice.core.table.matrix import refuse_unusable
from suffice.core.threads import n_threads_of, one_blas_thread, together
from suffice.errors import InvalidInputError
from suffice.typing import Array, Codes, Floats

if TYPE_CHECKING:
    from suffice.core.model.covariance import Covariance
    from suffice.core.model.student import Tailed

    Stage = Callable[[Floats, Floats], None]  # tile, score tile → nothing

SMALL = 100_000  # n·d·K under which compiled loops do not pay
PARALLEL = 1_000_000  # n·d·K under which starting threads does not pay
LARGE = 1 << 16  # K·d beyond which linear scores are left to BLAS
TILE_BYTES = 1 << 19  # half of a common second-level cache
MOST_CHUNKS = 64
TOO_FAR = "row {} is so far from every class that it overflows: check its units"


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Classes that share one covariance."""

    classes: Codes  # (m,)
    constants: Floats  # c  (m,)
    means: Floats  # μ − o  (m, d)


@dataclass(frozen=True, slots=True, eq=False)
class Whitened(Group):
    """Score cₖ − ½ |W (x − μₖ)|², W lower triangular with WᵀW = Σ⁻¹."""

    whitening: Floats  # W  (d, d)

    @property
    def whitened_means(self) -> Floats:
        """Means about the first of them, W (μₖ − μ₀), (m, d)."""
        return np.asarray((self.means - self.means[0]) @ self.whitening.T)

    def scores(self, x: Floats) -> Floats:
        """Return cₖ − ½ |W (x − μ₀) − W (μₖ − μ₀)|², (n, m)."""
        z = (x - self.means[0]) @ self.whitening.T
        distances = [np.square(z - m).sum(1) for m in self.whitened_means]
        return self.constants - 0.5 * np.stack(distances, axis=1)

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        from suffice.core.model.loops import full_scores, tied_scores

        single = [part for part in parts if len(part.classes) == 1]
        if single:
            codes, constants, means = _stacked(single)
            factors = np.stack([packed_lower(part.whitening) for part in single])
            yield lambda t, s: full_scores(t, s, codes, constants, means, factors)
        for part in parts:
            if len(part.classes) > 1:
                tied = (
                    *_stacked([part]),
                    padded(part.whitened_means),
                    packed_lower(part.whitening),
                )
                yield lambda t, s, tied=tied: tied_scores(t, s, *tied)  # type: ignore[misc]


@dataclass(frozen=True, slots=True, eq=False)
class Scaled(Group):
    """Score cₖ − ½ Σⱼ ((xⱼ − μₖⱼ) / σⱼ)²."""

    scale: Floats  # σ  (d,)

    def scores(self, x: Floats) -> Floats:
        distances = [np.square((x - mu) / self.scale).sum(1) for mu in self.means]
        return self.constants - 0.5 * np.stack(distances, axis=1)

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        from suffice.core.model.loops import diagonal_scores

        codes, constants, means = _stacked(parts)
        sizes = [len(part.classes) for part in parts]
        inverse = padded(np.repeat([1 / part.scale for part in parts], sizes, axis=0))
        yield lambda t, s: diagonal_scores(t, s, codes, constants, means, inverse)


@dataclass(frozen=True, slots=True, eq=False)
class LinearScores:
    """Score wₖᵀx + bₖ, for all classes at once."""

    weights: Floats  # w  (K, d)
    constants: Floats  # b  (K,)

    @property
    def classes(self) -> Codes:
        return np.arange(len(self.constants))

    @property
    def is_large(self) -> bool:
        """Whether the weights leave the cache, so that BLAS is faster than our own loop."""
        return self.weights.size > LARGE

    def scores(self, x: Floats) -> Floats:
        return x @ self.weights.T + self.constants

    @classmethod
    def stages(cls, parts: Sequence[Self]) -> Iterator[Stage]:
        from suffice.core.model.loops import linear_scores

        (part,) = parts
        if part.is_large:
            yield part._product
            return
        intercepts, weights = padded(part.constants), packed_blocks(part.weights)
        yield lambda t, s: linear_scores(t, s, intercepts, weights)

    def _product(self, tile: Floats, scores: Floats) -> None:
        k, d = self.weights.shape
        with np.errstate(invalid="ignore", over="ignore"):
            np.matmul(self.weights, tile[:, :d], out=scores[:, :k])
            scores[:, :k] += self.constants[:, None]


ScorePart: TypeAlias = Whitened | Scaled | LinearScores


def _stacked(groups: Sequence[Group]) -> tuple[Codes, Floats, Floats]:
    """Return the classes, constants and padded means of all groups, one after the other."""
    names = ("classes", "constants", "means")
    codes, c, mu = (np.concatenate([getattr(each, name) for each in groups]) for name in names)
    return codes, c, padded(mu)


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores a_k(x) = c_k − ½ |W_k (x − μ_k)|², W_kᵀ W_k = Σ_k⁻¹: a part for each group of classes.

    The constant is c_k = log π_k − ½ log|Σ_k|, less ½ d log 2π where densities are wanted; −∞ rules
    a class out. For fully tied classes the posterior needs only w_kᵀ(x − o) + b_k.
    """

    origin: Floats  # o  (d,): rows and means are measured from it
    n_classes: int
    parts: tuple[ScorePart, ...]

    @classmethod
    def of(
        cls,
        c: Floats,
        mu: Floats,
        sigmas: Sequence[Covariance],
        *,
        origin: Any = None,
    ) -> Self:
        """Return the scorer of cₖ, μₖ − o and Σₖ; classes that share one object Σ are tied."""
        members: dict[int, list[int]] = {}
        for k, sigma in enumerate(sigmas):
            members.setdefault(id(sigma), []).append(k)
        parts = [sigmas[ks[0]].part(np.array(ks), c[ks], mu[ks]) for ks in members.values()]
        return cls(np.zeros(mu.shape[1]) if origin is None else origin, len(c), tuple(parts))

    @classmethod
    def linear(cls, origin: Floats, weights: Floats, intercepts: Floats) -> Scorer:
        return cls(origin, len(intercepts), (LinearScores(weights, intercepts),))

    def score(self, x: Array, readout: Readout) -> Array:
        """Return what is read out for each row of ``x`` (n, d); raise if a row has no score."""
        values, bad = self.try_score(x, readout)
        for row in bad[:1]:
            if not np.isfinite(x).all():
                refuse_unusable(x, None)
            raise InvalidInputError(TOO_FAR.format(row))
        return values

    def try_score(self, x: Array, readout: Readout) -> tuple[Array, Codes]:
        """Return the values, and the numbers of the rows without any: NaN, or code −1."""
        x = np.asarray(x)
        if x.size * self.n_classes < SMALL or (self._uses_blas and len(x) < LANES):
            with np.errstate(invalid="ignore", over="ignore"):
                values = readout.read(self.joint(x))
            return values, unscored(values)
        values = np.empty(readout.shape(len(x), self.n_classes), readout.dtype)
        with one_blas_thread(when=self._uses_blas):
            bad = _write_rows(x, self, readout, values)
        return values, unscored(values[: len(x) if bad else 0])

    def joint(self, x: Array) -> Floats:
        """Return aₖ(x) (n, K), by NumPy alone."""
        x = np.asarray(x, np.float64) - self.origin
        a = np.empty((len(x), self.n_classes))
        for part in self.parts:
            a[:, part.classes] = part.scores(x)
        return a

    @property
    def _uses_blas(self) -> bool:
        return any(isinstance(part, LinearScores) and part.is_large for part in self.parts)

    def _stages(self) -> Iterator[Stage]:
        kinds: dict[type[Any], list[Any]] = {}
        for part in self.parts:
            kinds.setdefault(type(part), []).append(part)
        for kind, parts in kinds.items():
            yield from kind.stages(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """All that another system must compute to score like a model: a_k(t(x)) of every class.

    Where there is a tail, the scorer gives −½ Δ_k² alone. Where there are levels, it reads the
    numbers alone, and each category after them adds the term of its level, the reference first.
    Where scores are linear, holes in x need the shared covariance, too.
    """

    scorer: Scorer
    tail: Tailed | None = None
    power: PowerTransform | None = None  # t
    levels: tuple[Floats, ...] = ()  # log p(level | k) of each category  (K, L)
    shared: Covariance | None = None  # Σ of all classes
    class_of: Codes | None = (
        None  # where scores are of components: their classes, in order  (R,)
    )

    @property
    def constants(self) -> Floats:
        """The term of each score that no feature changes, (K,)."""
        if self.tail is not None:
            return self.tail.constants
        constants = np.empty(self.scorer.n_classes)
        for part in self.scorer.parts:
            constants[part.classes] = part.constants
        return constants


def _write_rows(x: Array, scorer: Scorer, readout: Readout, values: Array) -> bool:
    """Write what is read out of all rows; return whether some row has no finite score."""
    (n, d), k = x.shape, scorer.n_classes
    stages, origin = list(scorer._stages()), np.array(scorer.origin, np.float64)
    # chunks of a block: as many as keep its tiles in cache
    n_chunks = min(max(TILE_BYTES // (8 * LANES * (d + k)), 1), MOST_CHUNKS)
    starts = range(0, n, n_chunks * LANES)
    blocks = iter(starts)  # one iterator for all: whoever is free takes the next block

    def work() -> bool:
        load, bad = _loader(x, origin), False
        tile, scores = empty_tile(n_chunks, d), empty_tile(n_chunks, k)
        for start in blocks:
            rows = values[start : start + n_chunks * LANES]
            used = -(-len(rows) // LANES)
            t, s = tile[:used], scores[:used]
            load(start, t)
            for stage in stages:
                stage(t, s)
            bad |= readout.write(s, k, rows)
        return bad

    wanted = n_threads_of(None) if x.size * k > PARALLEL else 1
    return any(together(work, min(wanted, len(starts))))


def _loader(x: Array, origin: Floats) -> Callable[[int, Floats], None]:
    """Return the loop that brings x − o to a tile: along rows, along columns, or converted."""
    from suffice.core.compiled import read_only
    from suffice.core.model.loops import tile_columns, tile_rows

    (x,) = read_only(x)

    def load_converted(start: int, t: Floats) -> None:
        (part,) = read_only(x[start : start + len(t) * LANES].astype(np.float64, "C"))
        tile_rows(part, 0, origin, t)

    if x.dtype not in (np.float64, np.float32):
        return load_converted
    if abs(x.strides[0]) < abs(x.strides[1]):
        return lambda start, t: tile_columns(x.T, start, origin, t)
    return lambda start, t: tile_rows(x, start, origin, t)


def refuse_unread(read: Callable[[Any], object], x: Floats, lo: int, hi: int) -> NoReturn:
    """Raise the error that names the first infinity, or the first of rows lo to hi that fails."""
    if np.isinf(x).any():
        refuse_unusable(np.where(np.isnan(x), 0.0, x), None)
    while hi - lo > 1:
        middle = (lo + hi) // 2
        try:
            read(x[lo:middle])
            lo = middle
        except InvalidInputError:
            hi = middle
    raise InvalidInputError(TOO_FAR.format(lo))


def unscored(values: Array) -> Codes:
    """Return the numbers of the rows that are NaN, or have code −1."""
    first = values if values.ndim == 1 else values[:, 0]
    return np.flatnonzero(np.isnan(first) if first.dtype.kind == "f" else first < 0)
