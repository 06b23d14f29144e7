"""Scores aₖ(x) of K classes, from full or diagonal covariances or linear in x.

Rows and means are measured from one origin. ``gaussian.py`` derives the scores of Gaussian classes
from π_k, μ_k and Σ_k. A part of a scorer computes the scores of some classes, in two ways, which
agree: ``scores`` uses NumPy for few rows, so that Numba is not imported; ``stages`` are compiled
loops that fill a score tile, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeAlias

import numpy as np

from suffice.core.model.posterior import Readout
from suffice.core.model.tiles import LANES, empty_tile, packed_blocks, packed_lower, padded
from suffice.core.power_transform import PowerTransform
from suffice.core.table.matrix import refuse_unusable
from suffice.core.threads import n_threads_of, one_blas_thread, together
from suffice.errors import InvalidInputError
from suffice.typing import Array, Codes, Floats, RowsLike

if TYPE_CHECKING:
    from suffice.core.model.covariance import Covariance, FullCovariance
    from suffice.core.model.student import StudentTail

Stage: TypeAlias = Callable[[Floats, Floats], None]  # fills a score tile from a tile of rows

SMALL = 100_000  # if n·d·K is smaller, NumPy is faster than loading the compiled loops
PARALLEL = 1_000_000  # if n·d·K is smaller, starting threads takes longer than it saves
LARGE = 1 << 16  # if K·d is larger, BLAS computes linear scores
TILE_BYTES = 1 << 19  # size of a tile, half of a common second-level cache
MOST_CHUNKS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Classes that share one covariance."""

    classes: Codes  # (m,)
    constants: Floats  # c  (m,)
    means: Floats  # μ − o  (m, d)


@dataclass(frozen=True, slots=True, eq=False)
class Whitened(Group):
    """Scores cₖ − ½ |W (x − μₖ)|², with a lower triangular W such that WᵀW = Σ⁻¹."""

    whitening: Floats  # W  (d, d)

    @property
    def whitened_means(self) -> Floats:
        """W (μₖ − μ₀), the whitened differences of the means from the first mean, (m, d)."""
        return np.asarray((self.means - self.means[0]) @ self.whitening.T)

    def scores(self, x: Floats) -> Floats:
        """Return cₖ − ½ |W (x − μ₀) − W (μₖ − μ₀)|², (n, m)."""
        z = (x - self.means[0]) @ self.whitening.T
        distances = [np.square(z - m).sum(1) for m in self.whitened_means]
        return self.constants - 0.5 * np.stack(distances, axis=1)

    @staticmethod
    def stages(parts: Sequence[Whitened]) -> Iterator[Stage]:
        """Yield one loop for all classes with their own W, and one loop for each shared W."""
        single = [part for part in parts if len(part.classes) == 1]
        if single:
            yield _single_class_stage(single)
        for part in parts:
            if len(part.classes) > 1:
                yield _shared_stage(part)


def _single_class_stage(parts: Sequence[Whitened]) -> Stage:
    from suffice.core.model.loops import full_scores

    codes, constants, means = _stacked(parts)
    factors = np.stack([packed_lower(part.whitening) for part in parts])

    def stage(tile: Floats, scores: Floats) -> None:
        full_scores(tile, scores, codes, constants, means, factors)

    return stage


def _shared_stage(part: Whitened) -> Stage:
    from suffice.core.model.loops import tied_scores

    codes, constants, means = _stacked([part])
    whitened_means = padded(part.whitened_means)
    factor = packed_lower(part.whitening)

    def stage(tile: Floats, scores: Floats) -> None:
        tied_scores(tile, scores, codes, constants, means, whitened_means, factor)

    return stage


@dataclass(frozen=True, slots=True, eq=False)
class Scaled(Group):
    """Scores cₖ − ½ Σⱼ ((xⱼ − μₖⱼ) / σⱼ)²."""

    scale: Floats  # σ  (d,)

    def scores(self, x: Floats) -> Floats:
        distances = [np.square((x - mu) / self.scale).sum(1) for mu in self.means]
        return self.constants - 0.5 * np.stack(distances, axis=1)

    @staticmethod
    def stage(parts: Sequence[Scaled]) -> Stage:
        """Return the loop for all classes with diagonal covariances."""
        from suffice.core.model.loops import diagonal_scores

        codes, constants, means = _stacked(parts)
        sizes = [len(part.classes) for part in parts]
        inverse = padded(np.repeat([1 / part.scale for part in parts], sizes, axis=0))

        def stage(tile: Floats, scores: Floats) -> None:
            diagonal_scores(tile, scores, codes, constants, means, inverse)

        return stage


@dataclass(frozen=True, slots=True, eq=False)
class LinearScores:
    """Scores wₖᵀx + bₖ of all classes."""

    weights: Floats  # w  (K, d)
    constants: Floats  # b  (K,)

    @property
    def classes(self) -> Codes:
        return np.arange(len(self.constants))

    @property
    def is_large(self) -> bool:
        """Whether the weights exceed the cache, so that BLAS is faster than the compiled loop."""
        return self.weights.size > LARGE

    def scores(self, x: Floats) -> Floats:
        return x @ self.weights.T + self.constants

    def stage(self) -> Stage:
        """Return the loop for all classes, or BLAS's matrix product if that is faster."""
        if self.is_large:
            return self._product
        from suffice.core.model.loops import linear_scores

        intercepts = padded(self.constants)
        weights = packed_blocks(self.weights)

        def stage(tile: Floats, scores: Floats) -> None:
            linear_scores(tile, scores, intercepts, weights)

        return stage

    def _product(self, tile: Floats, scores: Floats) -> None:
        k, d = self.weights.shape
        with np.errstate(invalid="ignore", over="ignore"):
            np.matmul(self.weights, tile[:, :d], out=scores[:, :k])
            scores[:, :k] += self.constants[:, None]


class DistanceMeasure(Protocol):
    """A covariance that computes distances of rows without a dense matrix."""

    def squared_distances(self, x: Floats) -> Floats:
        """Return xᵀ Σ⁻¹ x for each row, (n,)."""

    def as_full(self) -> FullCovariance:
        """Return the same covariance as a dense factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Distances(Group):
    """Scores cₖ − ½ (x − μₖ)ᵀ Σ⁻¹ (x − μₖ), with a covariance that needs no dense matrix."""

    covariance: DistanceMeasure

    def scores(self, x: Floats) -> Floats:
        distances = [self.covariance.squared_distances(x - mu) for mu in self.means]
        return self.constants - 0.5 * np.stack(distances, axis=1)

    def stage(self, tile: Floats, scores: Floats) -> None:
        """Write the scores of these classes to a score tile, computed by NumPy."""
        d = self.means.shape[1]
        n_chunks, _, lanes = tile.shape
        rows = tile[:, :d].transpose(0, 2, 1).reshape(-1, d)
        with np.errstate(invalid="ignore", over="ignore"):
            values = self.scores(rows).reshape(n_chunks, lanes, -1)
        scores[:, self.classes] = values.transpose(0, 2, 1)

    def as_whitened(self) -> Whitened:
        """Return a part with the same scores and a dense matrix, for GPUs and exported models."""
        return self.covariance.as_full().part(self.classes, self.constants, self.means)


MatrixPart: TypeAlias = Whitened | Scaled | LinearScores
ScorePart: TypeAlias = MatrixPart | Distances


def _stacked(groups: Sequence[Group]) -> tuple[Codes, Floats, Floats]:
    """Return the classes, constants and padded means of all groups, concatenated."""
    codes = np.concatenate([group.classes for group in groups])
    constants = np.concatenate([group.constants for group in groups])
    means = np.concatenate([group.means for group in groups])
    return codes, constants, padded(means)


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores a_k(x) = c_k − ½ |W_k (x − μ_k)|² with W_kᵀ W_k = Σ_k⁻¹, a part per group of classes.

    The constant is c_k = log π_k − ½ log|Σ_k|, minus ½ d log 2π if densities are needed; c_k = −∞
    excludes a class. If all classes are tied, posteriors need only w_kᵀ(x − o) + b_k.
    """

    origin: Floats  # o, from which rows and means are measured  (d,)
    n_classes: int
    parts: tuple[ScorePart, ...]

    @classmethod
    def of(
        cls,
        c: Floats,
        mu: Floats,
        sigmas: Sequence[Covariance],
        *,
        origin: Floats | None = None,
    ) -> Scorer:
        """Return the scorer, given cₖ, μₖ − o and Σₖ; classes with the same object Σ are tied."""
        members: dict[int, list[int]] = {}  # classes of each covariance object
        for k, sigma in enumerate(sigmas):
            members.setdefault(id(sigma), []).append(k)
        parts = []
        for classes in members.values():
            shared = sigmas[classes[0]]
            parts.append(shared.part(np.array(classes), c[classes], mu[classes]))
        if origin is None:
            origin = np.zeros(mu.shape[1])
        return cls(origin, len(c), tuple(parts))

    @classmethod
    def linear(cls, origin: Floats, weights: Floats, intercepts: Floats) -> Scorer:
        return cls(origin, len(intercepts), (LinearScores(weights, intercepts),))

    def score(self, x: RowsLike, readout: Readout) -> Array:
        """Return the readout of each row of ``x`` (n, d), or raise if a row has no finite score."""
        rows = np.asarray(x)
        values, bad = self.try_score(rows, readout)
        if len(bad):
            if not np.isfinite(rows).all():
                refuse_unusable(rows, None)
            raise too_far_error(int(bad[0]))
        return values

    def try_score(self, x: Array, readout: Readout) -> tuple[Array, Codes]:
        """Return the readout of each row, and the numbers of the rows without a finite score.

        The values of rows without a finite score are NaN, or code −1.
        """
        is_small = x.size * self.n_classes < SMALL
        if is_small or (self._uses_blas and len(x) < LANES):
            with np.errstate(invalid="ignore", over="ignore"):
                values = readout.read(self.joint(x))
            return values, unscored(values)
        values = np.empty(readout.shape(len(x), self.n_classes), readout.dtype)
        with one_blas_thread(when=self._uses_blas):
            some_bad = _write_rows(x, self, readout, values)
        bad = unscored(values) if some_bad else np.zeros(0, np.intp)
        return values, bad

    def joint(self, x: Array) -> Floats:
        """Return aₖ(x) (n, K), computed by NumPy."""
        centred = np.asarray(x, np.float64) - self.origin
        a = np.empty((len(centred), self.n_classes))
        for part in self.parts:
            a[:, part.classes] = part.scores(centred)
        return a

    @property
    def _uses_blas(self) -> bool:
        for part in self.parts:
            if isinstance(part, Distances) or (
                isinstance(part, LinearScores) and part.is_large
            ):
                return True
        return False

    def matrix_parts(self) -> tuple[MatrixPart, ...]:
        """Return the parts with the same scores, all computed from dense matrices."""
        return tuple(
            part.as_whitened() if isinstance(part, Distances) else part for part in self.parts
        )

    def _stages(self) -> Iterator[Stage]:
        whitened = [part for part in self.parts if isinstance(part, Whitened)]
        scaled = [part for part in self.parts if isinstance(part, Scaled)]
        yield from Whitened.stages(whitened)
        if scaled:
            yield Scaled.stage(scaled)
        for part in self.parts:
            if isinstance(part, LinearScores):
                yield part.stage()
            elif isinstance(part, Distances):
                yield part.stage


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """The scores a_k(t(x)) of a model in a form that another system can compute.

    With a ``tail``, the scorer computes only −½ Δ_k², from which the tail computes the scores. With
    ``levels``, the scorer reads only the numbers, and each category adds the term of the row's
    level; level 0 is the reference. If scores are linear, the shared covariance is needed, too, to
    integrate out missing values.
    """

    scorer: Scorer
    tail: StudentTail | None = None
    power: PowerTransform | None = None  # t
    levels: tuple[Floats, ...] = ()  # log p(level | k) of each category  (K, L)
    shared: Covariance | None = None  # Σ of all classes
    class_of: Codes | None = None  # class of each component of a mixture  (R,)

    @property
    def constants(self) -> Floats:
        """The constant term of each score, (K,)."""
        if self.tail is not None:
            return self.tail.constants
        constants = np.empty(self.scorer.n_classes)
        for part in self.scorer.parts:
            constants[part.classes] = part.constants
        return constants


def _write_rows(x: Array, scorer: Scorer, readout: Readout, values: Array) -> bool:
    """Write the readout of all rows to ``values``; return whether a row has no finite score."""
    n, d = x.shape
    k = scorer.n_classes
    stages = list(scorer._stages())
    origin = np.array(scorer.origin, np.float64)
    # choose the number of chunks such that the tiles of a block stay in the cache
    n_chunks = min(max(TILE_BYTES // (8 * LANES * (d + k)), 1), MOST_CHUNKS)
    starts = range(0, n, n_chunks * LANES)
    # all threads share this iterator: a free thread takes the next block
    next_start = iter(starts)

    def work() -> bool:
        load = _loader(x, origin)
        tile = empty_tile(n_chunks, d)
        scores = empty_tile(n_chunks, k)
        some_bad = False
        for start in next_start:
            rows = values[start : start + n_chunks * LANES]
            n_used = -(-len(rows) // LANES)
            used_tile = tile[:n_used]
            used_scores = scores[:n_used]
            load(start, used_tile)
            for stage in stages:
                stage(used_tile, used_scores)
            some_bad |= readout.write(used_scores, k, rows)
        return some_bad

    n_threads = n_threads_of(None) if x.size * k > PARALLEL else 1
    return any(together(work, min(n_threads, len(starts))))


def _loader(x: Array, origin: Floats) -> Callable[[int, Floats], None]:
    """Return the loop that writes x − o to a tile, for the memory order and type of x."""
    from suffice.core.compiled import read_only
    from suffice.core.model.loops import tile_columns, tile_rows

    (rows,) = read_only(x)
    columns = rows.T

    def load_rows(start: int, tile: Floats) -> None:
        tile_rows(rows, start, origin, tile)

    def load_columns(start: int, tile: Floats) -> None:
        tile_columns(columns, start, origin, tile)

    def load_converted(start: int, tile: Floats) -> None:
        block = rows[start : start + len(tile) * LANES]
        (converted,) = read_only(block.astype(np.float64, "C"))
        tile_rows(converted, 0, origin, tile)

    if x.dtype not in (np.float64, np.float32):
        return load_converted
    if abs(x.strides[0]) < abs(x.strides[1]):
        return load_columns
    return load_rows


def refuse_unread(read: Callable[[Floats], object], x: Floats, lo: int, hi: int) -> NoReturn:
    """Raise an error that names the first infinity, or the first failing row of lo … hi − 1."""
    if np.isinf(x).any():
        refuse_unusable(np.where(np.isnan(x), 0.0, x), None)
    while hi - lo > 1:
        middle = (lo + hi) // 2
        try:
            read(x[lo:middle])
            lo = middle
        except InvalidInputError:
            hi = middle
    raise too_far_error(lo)


def too_far_error(row: int) -> InvalidInputError:
    """Return the error for a row whose scores overflow."""
    return InvalidInputError(
        f"row {row} is so far from every class that its scores overflow: check its units"
    )


def unscored(values: Array) -> Codes:
    """Return the numbers of the rows whose values are NaN or code −1."""
    first = values if values.ndim == 1 else values[:, 0]
    is_bad = np.isnan(first) if first.dtype.kind == "f" else first < 0
    return np.flatnonzero(is_bad)
