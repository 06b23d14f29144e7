"""Rows as linear scores see them, (1, z) in standard units, and sums of the loss over them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from suffice.core.table.foreign import (
    DeviceArray,
    in_blocks,
    is_on_device,
    namespace,
    placed,
    to_numpy,
)
from suffice.core.table.sampling import strided_sample
from suffice.core.table.table import Table
from suffice.core.threads import chunk_edges, over_chunks
from suffice.discriminative.logistic_loss import hessian_of_blocks, loss_sums
from suffice.discriminative.scaling import Scaling
from suffice.typing import Codes, Floats

# −log-likelihood, gradient (C, 1 + d), and Hessian (C, 1 + d, C, 1 + d) where it was asked for
Sums: TypeAlias = tuple[float, Floats, Floats | None]
# the same of some rows, with the blocks k ≥ j of the Hessian, or none of them, (B, 1 + d, 1 + d)
PartialSums: TypeAlias = tuple[float, Floats, Floats]
DEVICE_BLOCK = 1 << 27  # numbers that are standardised at once on a device
SMALL = 500_000  # numbers; below this NumPy is quick enough and Numba is not imported


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Few rows: kept standardised, summed with NumPy."""

    table: Table  # x holds (1, z); in the designs for many rows, x itself

    @property
    def total_weight(self) -> float:
        weight = self.table.weight
        return float(self.table.n_rows if weight is None else weight.sum())

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        """Return −log-likelihood at φ (C, 1 + d), its gradient, and its Hessian if ``curved``."""
        table = self.table
        loss, gradient, blocks = loss_sums(
            np, phi, table.x, table.codes, table.weights, curved=curved
        )
        if not curved:
            return float(loss), gradient, None
        return float(loss), gradient, hessian_of_blocks(blocks, *phi.shape)

    def sample(self, n: int) -> Self:
        """Return about n rows, copied, evenly from every class, weighted to stand for all."""
        return replace(self, table=strided_sample(self.table, n))

    def take(self, rows: Codes | slice) -> Table:
        """Return some rows, standardised."""
        return self.table.take(rows)

    def blocks(self) -> Iterator[Table]:
        """Yield all rows in order, standardised."""
        yield self.table


@dataclass(frozen=True, slots=True, eq=False)
class CompiledDesign(Design):
    """Many rows: left where they are, standardised tile by tile, summed by compiled chunks."""

    scaling: Scaling

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        from suffice.core.compiled import read_only
        from suffice.discriminative.loops import chunk_gradient, chunk_sums

        table = self.table
        weight = np.zeros(0) if table.weight is None else table.weight
        x, codes, weight = read_only(table.x, table.codes, weight)
        centre = self.scaling.centre
        inverse = self.scaling.inverse
        c, d = phi.shape
        padded = -(-d // 4) * 4
        n_blocks = c * (c + 1) // 2 if curved else 0
        row_by_row = c == 1 and not curved and table.x.flags.c_contiguous

        def sums_of_chunk(lo: int, hi: int) -> PartialSums:
            gradient = np.zeros(phi.shape)
            blocks = np.zeros((n_blocks, padded, padded))
            if row_by_row:
                loss = chunk_gradient(x, codes, weight, lo, hi, centre, inverse, phi, gradient)
            else:
                loss = chunk_sums(
                    x, codes, weight, lo, hi, centre, inverse, phi, gradient, blocks
                )
            return loss, gradient, blocks

        total_loss = 0.0
        total_gradient = np.zeros(phi.shape)
        total_blocks = np.zeros((n_blocks, padded, padded))
        for loss, gradient, blocks in over_chunks(sums_of_chunk, table.n_rows):
            total_loss += loss
            total_gradient += gradient
            total_blocks += blocks
        return self._assembled(total_loss, total_gradient, total_blocks, curved=curved)

    def _assembled(
        self,
        loss: float,
        gradient: Floats,
        blocks: Floats,
        *,
        curved: bool,
    ) -> Sums:
        """Return the sums with the whole Hessian; where lead is 0, its first terms are 0."""
        c, d = gradient.shape
        lead = self.scaling.lead
        gradient[:, 0] *= lead
        if not curved:
            return loss, gradient, None
        lower = np.tril(blocks[:, :d, :d])
        symmetric = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
        hessian = hessian_of_blocks(symmetric, c, d)
        hessian[:, 0] *= lead
        hessian[:, :, :, 0] *= lead
        return loss, gradient, hessian

    def take(self, rows: Codes | slice) -> Table:
        return self.scaling.standardised(self.table.take(rows))

    def blocks(self) -> Iterator[Table]:
        for lo, hi in chunk_edges(self.table.n_rows):
            yield self.take(slice(lo, hi))


@dataclass(frozen=True, slots=True, eq=False)
class DeviceDesign(CompiledDesign):
    """Rows on a device, standardised and summed there in double precision, block by block."""

    @property
    def total_weight(self) -> float:
        weight = self.table.weight
        if weight is None:
            return float(self.table.x.shape[0])
        return float(namespace(weight).sum(weight))

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        n, d = self.table.x.shape
        c = len(phi)
        n_blocks = c * (c + 1) // 2 if curved else 0

        def sums_of_block(lo: int, hi: int) -> PartialSums:
            return self._block_sums(phi, lo, hi, curved=curved)

        total_loss = 0.0
        total_gradient = np.zeros(phi.shape)
        total_blocks = np.zeros((n_blocks, d + 1, d + 1))
        for loss, gradient, blocks in in_blocks(sums_of_block, n, DEVICE_BLOCK // d + 1):
            total_loss += loss
            total_gradient += gradient
            total_blocks += blocks
        return self._assembled(total_loss, total_gradient, total_blocks, curved=curved)

    def take(self, rows: Codes | slice) -> Table:
        table = self.table
        weight = None if table.weight is None else to_numpy(table.weight[rows])
        on_host = replace(
            table,
            x=to_numpy(table.x[rows]),
            codes=to_numpy(table.codes[rows]),
            weight=weight,
        )
        return self.scaling.standardised(on_host)

    def _block_sums(self, phi: Floats, lo: int, hi: int, *, curved: bool) -> PartialSums:
        """Return the sums of the rows lo … hi−1, on the host."""
        table = self.table
        xp = namespace(table.x)

        def on_device(values: Floats) -> DeviceArray:
            return placed(values, table.x, xp.float64)

        x = xp.astype(table.x[lo:hi, :], xp.float64)
        z = (x - on_device(self.scaling.centre)) * on_device(self.scaling.inverse)
        z = xp.concat([on_device(np.ones((z.shape[0], 1))), z], axis=1)
        if table.weight is None:
            w = on_device(np.ones(1))
        else:
            w = xp.astype(table.weight[lo:hi], xp.float64)
        loss, gradient, blocks = loss_sums(
            xp, on_device(phi), z, table.codes[lo:hi], w, curved=curved
        )
        on_host = np.zeros((len(blocks), z.shape[1], z.shape[1]))
        for i, block in enumerate(blocks):
            on_host[i] = to_numpy(block)
        return float(to_numpy(loss)), to_numpy(gradient), on_host


def design_of(table: Table, scaling: Scaling) -> Design:
    """Return the rows in the form that suits their number."""
    if is_on_device(table.x):
        return DeviceDesign(table, scaling)
    if table.x.size <= SMALL:
        return Design(scaling.standardised(table))
    return CompiledDesign(table, scaling)
