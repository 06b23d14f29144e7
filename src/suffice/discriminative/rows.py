"""Labelled rows that can be summed: few of them by plain NumPy, many by compiled chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.discriminative.contrasts import all_scores
from suffice.threads import chunk_edges, over_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.problem import Scaling
    from suffice.typing import Codes, Floats

SMALL = 500_000  # numbers; below this NumPy is quick enough and Numba is not imported


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Standardised rows with a leading 1, the code of each row's class, and weights."""

    z: Floats  # (n, 1 + d)
    codes: Codes  # (n,)
    weight: Floats  # (n,)

    def take(self, index: Codes) -> Block:
        """Return some of the rows."""
        return Block(self.z[index], self.codes[index], self.weight[index])


class Rows(Protocol):
    """What a solver asks of the data; φ is (C, 1 + d), C = K − 1."""

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        ...

    def sums(self, phi: Floats) -> tuple[float, Floats]:
        """Return −log-likelihood and its gradient (C, 1 + d)."""
        ...

    def curved_sums(self, phi: Floats) -> tuple[float, Floats, Floats]:
        """Return −log-likelihood, gradient, and Hessian (C, 1 + d, C, 1 + d)."""
        ...

    def sample(self, n: int) -> Rows:
        """Return about n rows, evenly from every class, weighted to stand for all."""
        ...

    def take(self, index: Codes) -> Block:
        """Return some rows, standardised."""
        ...

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, some at a time."""
        ...


def rows_of(x: Any, codes: Codes, weight: Floats | None, n_classes: int, scaling: Scaling) -> Rows:
    """Return the rows in the form that suits their number."""
    if x.size <= SMALL:
        w = np.ones(len(x)) if weight is None else weight
        return PlainRows(Block(scaling.design(x), codes, w), n_classes)
    return StreamedRows(x, codes, weight, n_classes, scaling)


@dataclass(frozen=True, slots=True, eq=False)
class PlainRows:
    """Few rows: kept standardised, summed with NumPy."""

    block: Block
    n_classes: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.block.z)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.block.weight.sum())

    def sums(self, phi: Floats) -> tuple[float, Floats]:
        """Return −log-likelihood and its gradient (C, 1 + d)."""
        loss, p = probabilities(self.block, phi)
        return loss, self._gradient(p)

    def curved_sums(self, phi: Floats) -> tuple[float, Floats, Floats]:
        """Return −log-likelihood, gradient, and Hessian (C, 1 + d, C, 1 + d)."""
        loss, p = probabilities(self.block, phi)
        z, w = self.block.z, self.block.weight
        c, d = phi.shape
        hessian = np.empty((c, d, c, d))
        for k in range(c):
            for j in range(k + 1):
                # ∂²/∂φ_k∂φ_j = Σ w p_k (δ_kj − p_j) z zᵀ
                v = w * p[k] * ((k == j) - p[j])
                hessian[k, :, j] = hessian[j, :, k] = (v[:, None] * z).T @ z
        return loss, self._gradient(p), hessian

    def sample(self, n: int) -> PlainRows:
        """Return about n rows, evenly from every class, weighted to stand for all."""
        index, factor = spread(self.block.codes, self.n_classes, n)
        block = self.block.take(index)
        return PlainRows(replace(block, weight=block.weight * factor), self.n_classes)

    def take(self, index: Codes) -> Block:
        """Return some rows, standardised."""
        return self.block.take(index)

    def blocks(self) -> Iterator[Block]:
        """Yield all rows at once."""
        yield self.block

    def _gradient(self, p: Floats) -> Floats:
        """Return Σ w (p_k − t_k) z for each class k after the first."""
        residual = p.copy()
        own = np.flatnonzero(self.block.codes)
        residual[self.block.codes[own] - 1, own] -= 1.0
        gradient: Floats = (residual * self.block.weight) @ self.block.z
        return gradient


def spread(codes: Codes, n_classes: int, n: int) -> tuple[Codes, Floats]:
    """Return about n rows, as many of each class as it has, and what each row stands for."""
    counts = np.bincount(codes, minlength=n_classes)
    stride = np.maximum(1, counts // max(1, n // n_classes))
    order = np.argsort(codes.astype(np.int16) if n_classes < 2**15 else codes, kind="stable")
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    index = np.sort(order[ranks % np.repeat(stride, counts) == 0])
    kept = np.bincount(codes[index], minlength=n_classes)
    return index, (counts / np.maximum(kept, 1))[codes[index]]


def probabilities(block: Block, phi: Floats) -> tuple[float, Floats]:
    """Return Σ −w log p(y | x) and the probabilities of all classes but the first, (C, n)."""
    a = all_scores(phi @ block.z.T)
    own = a[block.codes, np.arange(len(block.codes))]
    # p_k = exp(a_k − top) / Σ_j exp(a_j − top);  −log p_y = log Σ_j exp(a_j − top) + top − a_y
    top = a.max(0)
    e = np.exp(a - top)
    total = e.sum(0)
    loss = float(block.weight @ (np.log(total) + (top - own)))
    return loss, e[1:] / total


@dataclass(frozen=True, slots=True, eq=False)
class StreamedRows:
    """Many rows: left where they are, standardised tile by tile, summed by compiled chunks."""

    x: Any  # (n, d) float64 or float32, in any memory order
    codes: Codes  # (n,)
    weight: Floats | None  # (n,)
    n_classes: int
    scaling: Scaling

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_rows if self.weight is None else self.weight.sum())

    def sums(self, phi: Floats) -> tuple[float, Floats]:
        """Return −log-likelihood and its gradient (C, 1 + d)."""
        if len(phi) > 1 or not self.x.flags.c_contiguous:
            loss, gradient, _ = self._summed(phi, 0)
            return loss, gradient
        return self._row_by_row(phi)

    def curved_sums(self, phi: Floats) -> tuple[float, Floats, Floats]:
        """Return −log-likelihood, gradient, and Hessian (C, 1 + d, C, 1 + d)."""
        c, d = phi.shape
        loss, gradient, lower = self._summed(phi, c * (c + 1) // 2)
        hessian = np.empty((c, d, c, d))
        rows, columns = np.tril_indices(c)
        for block, k, j in zip(lower, rows, columns, strict=True):
            low = np.tril(block[:d, :d])
            hessian[k, :, j] = hessian[j, :, k] = low + np.tril(low, -1).T
        return loss, gradient, hessian

    def sample(self, n: int) -> StreamedRows:
        """Return about n rows, copied, evenly from every class, weighted to stand for all."""
        index, factor = spread(self.codes, self.n_classes, n)
        weight = factor if self.weight is None else factor * self.weight[index]
        return replace(self, x=self.x[index], codes=self.codes[index], weight=weight)

    def take(self, index: Codes | slice) -> Block:
        """Return some rows, standardised."""
        codes = self.codes[index]
        weight = np.ones(len(codes)) if self.weight is None else self.weight[index]
        return Block(self.scaling.design(self.x[index]), codes, weight)

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, some thousands at a time."""
        yield from (self.take(slice(lo, hi)) for lo, hi in chunk_edges(self.n_rows))

    def _row_by_row(self, phi: Floats) -> tuple[float, Floats]:
        """Return −log-likelihood and gradient of two classes, chunks added in order."""
        from suffice.discriminative.kernels import chunk_gradient

        def one(lo: int, hi: int) -> tuple[float, Floats]:
            gradient = np.zeros(phi.shape)
            return chunk_gradient(*self._table(lo, hi), phi, gradient), gradient

        parts = list(over_chunks(one, self.n_rows))
        return sum(loss for loss, _ in parts), np.sum([part for _, part in parts], axis=0)

    def _table(self, lo: int, hi: int) -> tuple[Any, ...]:
        """Return what the compiled sums ask of the rows lo … hi−1."""
        weight = np.zeros(0) if self.weight is None else self.weight
        return self.x, self.codes, weight, lo, hi, self.scaling.centre, self.scaling.inverse

    def _summed(self, phi: Floats, n_blocks: int) -> tuple[float, Floats, Floats]:
        """Return −log-likelihood, gradient and lower Hessian blocks, chunks added in order."""
        from suffice.discriminative.kernels import chunk_sums

        padded = -(-phi.shape[1] // 4) * 4

        def one(lo: int, hi: int) -> tuple[float, Floats, Floats]:
            gradient, blocks = np.zeros(phi.shape), np.zeros((n_blocks, padded, padded))
            return chunk_sums(*self._table(lo, hi), phi, gradient, blocks), gradient, blocks

        loss, gradient, blocks = 0.0, np.zeros(phi.shape), np.zeros((n_blocks, padded, padded))
        for part in over_chunks(one, self.n_rows):
            loss += part[0]
            gradient += part[1]
            blocks += part[2]
        return loss, gradient, blocks
