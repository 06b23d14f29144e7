"""Designs, which hold rows (1, z) in standard units and sum the logistic loss over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.core.moments.sparse_moments import weighted_products
from suffice.core.table.count_rows import CountRows, is_sparse
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
from suffice.discriminative.logistic_loss import (
    curvature_weights,
    hessian_of_blocks,
    loss_sums,
    residuals_of,
)
from suffice.discriminative.scaling import Scaling
from suffice.typing import Codes, Floats

# −log-likelihood, gradient (C, 1 + d), and, if requested, Hessian (C, 1 + d, C, 1 + d)
Sums: TypeAlias = tuple[float, Floats, Floats | None]
# −log-likelihood and gradient of some rows, and the B blocks k ≥ j of the Hessian,
# (B, 1 + d, 1 + d), where B = 0 if no Hessian was requested
PartialSums: TypeAlias = tuple[float, Floats, Floats]
DEVICE_BLOCK = 1 << 27  # most numbers that are standardised at once on a device
# most numbers in a block of sparse rows that is converted to dense rows
_DENSE_NUMBERS = 1 << 22
_DENSE_SHARE = 0.2  # with a larger share of non-zero cells, a dense table is quicker
SMALL = 500_000  # tables with fewer numbers are summed by NumPy, so that Numba is not imported


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A design for few rows, which keeps standardised rows and sums them with NumPy."""

    table: Table  # x holds (1, z), or, in designs for many rows, the original rows

    @property
    def total_weight(self) -> float:
        weight = self.table.weight
        return float(self.table.n_rows if weight is None else weight.sum())

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        """Return −log-likelihood at φ (C, 1 + d), its gradient and, if ``curved``, its Hessian."""
        table = self.table
        loss, gradient, blocks = loss_sums(
            np, phi, table.x, table.codes, table.weights, curved=curved
        )
        if not curved:
            return float(loss), gradient, None
        return float(loss), gradient, hessian_of_blocks(blocks, *phi.shape)

    def sample(self, n: int) -> Self:
        """Return a design of about n rows, evenly spaced in each class, with the weight of all."""
        return replace(self, table=strided_sample(self.table, n))

    @property
    def has_many_rows(self) -> bool:
        """Whether summing a sample of the rows is much quicker than summing all rows."""
        return False

    def take(self, rows: Codes | slice) -> Table:
        """Return a table of some rows in standard units."""
        return self.table.take(rows)

    def blocks(self) -> Iterator[Table]:
        """Yield tables of all rows in order, in standard units."""
        yield self.table


@dataclass(frozen=True, slots=True, eq=False)
class CompiledDesign(Design):
    """A design for many rows, which compiled loops standardise and sum, tile by tile."""

    scaling: Scaling

    @property
    def has_many_rows(self) -> bool:
        return True

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
        """Return the sums with the whole Hessian, in which an absent intercept has zeros."""
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
    """A design for rows on a device, which standardises and sums rows there in float64."""

    @property
    def has_many_rows(self) -> bool:
        return False

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
        """Return the sums of rows lo … hi−1, on the host."""
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


@dataclass(frozen=True, slots=True, eq=False)
class SparseDesign(Design):
    """A design for sparse rows, which stores x and m instead of z = x − m, to stay sparse."""

    # ``table.x`` is a SciPy CSR array in standard units
    shift: (
        # m in standard units  (d,); zero for a column without zero cells, which is stored centred
        Floats
    )
    # the first number of a row (1, z), which the intercept multiplies; 0 without an intercept
    lead: float

    @classmethod
    def of(cls, table: Table, scaling: Scaling) -> SparseDesign:
        """Return the rows in the units of ``scaling``."""
        from scipy.sparse import csr_array

        rows = CountRows.of_sparse(table.x)
        cells_of_column = np.bincount(rows.columns, minlength=rows.n_features)
        # store full columns centred: far from zero, a difference of large sums would lose digits
        is_full = cells_of_column == rows.n_rows
        centre_of_cells = np.where(is_full, scaling.centre, 0.0)
        values = (rows.values - centre_of_cells[rows.columns]) * scaling.inverse[rows.columns]
        x = csr_array(
            (values, rows.columns, rows.starts), shape=(rows.n_rows, rows.n_features)
        )
        return cls(
            table=replace(table, x=x, weight=table.weights, names=None),
            shift=np.where(is_full, 0.0, scaling.centre) * scaling.inverse,
            lead=scaling.lead,
        )

    @property
    def has_many_rows(self) -> bool:
        return True

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        x = self.table.x
        # φ_0 + φᵀ(x − m)
        at_zero = self.lead * phi[:, 0] - phi[:, 1:] @ self.shift
        scores = (x @ phi[:, 1:].T).T + at_zero[:, None]
        loss, residuals, p = residuals_of(np, scores, self.table.codes, self.table.weights)
        total = residuals.sum(1)
        gradient = np.empty(phi.shape)
        gradient[:, 0] = self.lead * total
        # Σ r (x − m) = Σ r x − m Σ r
        gradient[:, 1:] = (x.T @ residuals.T).T - total[:, None] * self.shift
        if not curved:
            return float(loss), gradient, None
        blocks = [self._block(v) for v in curvature_weights(p, self.table.weights)]
        return float(loss), gradient, hessian_of_blocks(blocks, *phi.shape)

    def _block(self, v: Floats) -> Floats:
        """Return Σ v (1, z) (1, z)ᵀ, (1 + d, 1 + d)."""
        total = v.sum()
        sums = self.table.x.T @ v
        block = np.empty((1 + len(sums), 1 + len(sums)))
        block[0, 0] = self.lead**2 * total
        block[0, 1:] = self.lead * (sums - total * self.shift)
        block[1:, 0] = block[0, 1:]
        # Σ v (x − m)(x − m)ᵀ = Σ v x xᵀ − s mᵀ − m sᵀ + m mᵀ Σ v,  s = Σ v x
        half = np.outer(sums - 0.5 * total * self.shift, self.shift)
        block[1:, 1:] = weighted_products(CountRows.of_sparse(self.table.x), v) - half - half.T
        return block

    def take(self, rows: Codes | slice) -> Table:
        table = self.table.take(rows)
        z = np.empty((table.n_rows, 1 + len(self.shift)))
        z[:, 0] = self.lead
        np.subtract(table.x.toarray(), self.shift, out=z[:, 1:])
        return replace(table, x=z)

    def blocks(self) -> Iterator[Table]:
        size = max(_DENSE_NUMBERS // (1 + len(self.shift)), 1)
        for lo in range(0, self.table.n_rows, size):
            yield self.take(slice(lo, lo + size))


def is_quicker_dense(x: Any) -> bool:
    """Return whether the rows are so few, or have so few zeros, that dense rows are quicker."""
    n_numbers = x.shape[0] * x.shape[1]
    return bool(n_numbers <= SMALL or x.nnz > _DENSE_SHARE * n_numbers)


def design_of(table: Table, scaling: Scaling) -> Design:
    """Return the design for the number and the type of the rows."""
    if is_sparse(table.x):
        return SparseDesign.of(table, scaling)
    if is_on_device(table.x):
        return DeviceDesign(table, scaling)
    if table.x.size <= SMALL:
        return Design(scaling.standardised(table))
    return CompiledDesign(table, scaling)
