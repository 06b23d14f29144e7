"""Rows as linear scores see them, (1, z) in standard units: few in NumPy, many compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from suffice.discriminative.logistic_loss import gradient_sum, hessian_sum, misfit_and_probabilities
from suffice.estimation.divisors import total_variances
from suffice.moments import Moments
from suffice.table.sampling import strided_sample
from suffice.table.table import Table
from suffice.threads import chunk_edges, over_chunks
from suffice.typing import Floats

# −log-likelihood, gradient (C, 1 + d), and Hessian (C, 1 + d, C, 1 + d) where it was asked for
Sums: TypeAlias = tuple[float, Floats, Floats | None]
SMALL = 500_000  # numbers; below this NumPy is quick enough and Numba is not imported


def standard_deviations(moments: Moments) -> Floats:
    """Return s_j of each feature over all rows, shape (d,); zero where it is constant.

    The divisor is Σw − 1, as R's ``sd``; never less than half of Σw, so that weights which sum
    to one or less have a standard deviation too.
    """
    weight = moments.total_weight
    return np.sqrt(total_variances(moments) * weight / max(weight - 1, weight / 2))


def root_mean_squares(moments: Moments) -> Floats:
    """Return the size of each feature about zero, over all rows, shape (d,)."""
    return np.hypot(np.sqrt(total_variances(moments)), moments.grand_mean)


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The map z = (x − m) / s to the units a solver works in, and back."""

    centre: Floats  # m  (d,)
    inverse: Floats  # 1 / s  (d,); zero for a constant feature
    lead: float = 1.0  # what stands before z and meets the intercept; 0 where there is none

    @classmethod
    def of(cls, moments: Moments, *, fit_intercept: bool = True) -> Scaling:
        """Return the map that gives every feature mean zero and standard deviation one.

        Without an intercept features stay about zero, and their root mean square becomes one.
        """
        if fit_intercept:
            return cls(moments.grand_mean, _reciprocals(standard_deviations(moments)))
        zero = np.zeros(moments.n_features)
        return cls(zero, _reciprocals(root_mean_squares(moments)), 0.0)

    @classmethod
    def raw(cls, n_features: int, *, fit_intercept: bool = True) -> Scaling:
        """Return the map that leaves every feature as it is."""
        return cls(np.zeros(n_features), np.ones(n_features), float(fit_intercept))

    def standardised(self, table: Table) -> Table:
        """Return the table with rows (1, z), shape (n, 1 + d), and a weight for each."""
        z = np.empty((table.n_rows, table.n_features + 1))
        z[:, 0] = self.lead
        np.subtract(table.x, self.centre, out=z[:, 1:])
        z[:, 1:] *= self.inverse
        return replace(table, x=z, weight=table.weights, names=None)

    def to_original(self, phi: Floats) -> Floats:
        """Return (w_0, w) of wᵀx + w_0 for (φ_0, φ) of φᵀz + φ_0, each (…, 1 + d)."""
        # w = φ / s,  w_0 = φ_0 − wᵀm
        slopes = phi[..., 1:] * self.inverse
        intercept = phi[..., :1] - slopes @ self.centre[:, None]
        return np.concatenate([intercept, slopes], axis=-1)

    def from_original(self, beta: Floats) -> Floats:
        """Return (φ_0, φ) for (w_0, w), each (…, 1 + d); a constant feature gets zero."""
        # φ = w s,  φ_0 = w_0 + wᵀm
        slopes = beta[..., 1:] * _reciprocals(self.inverse)
        intercept = self.lead * (beta[..., :1] + beta[..., 1:] @ self.centre[:, None])
        return np.concatenate([intercept, slopes], axis=-1)


def _reciprocals(s: Floats) -> Floats:
    """Return 1 / s, and zero where s is."""
    return np.divide(1.0, s, out=np.zeros(len(s)), where=s > 0)


@dataclass(frozen=True, slots=True, eq=False)
class SmallDesign:
    """Few rows: kept standardised, summed with NumPy."""

    table: Table  # x holds (1, z), weight is never None

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.table.weights.sum())

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        """Return −log-likelihood at φ (C, 1 + d), its gradient, and its Hessian if ``curved``."""
        loss, p = misfit_and_probabilities(phi, self.table)
        hessian = hessian_sum(p, self.table) if curved else None
        return loss, gradient_sum(p, self.table), hessian

    def sample(self, n: int) -> SmallDesign:
        """Return about n rows, evenly from every class, weighted to stand for all."""
        return SmallDesign(strided_sample(self.table, n))

    def take(self, index: Any) -> Table:
        """Return some rows, standardised."""
        return self.table.take(index)

    def blocks(self) -> Iterator[Table]:
        """Yield all rows at once, standardised."""
        yield self.table


@dataclass(frozen=True, slots=True, eq=False)
class CompiledDesign:
    """Many rows: left where they are, standardised tile by tile, summed by compiled chunks."""

    table: Table  # float64 or float32, in any memory order
    scaling: Scaling

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        weight = self.table.weight
        return float(self.table.n_rows if weight is None else weight.sum())

    def sums(self, phi: Floats, *, curved: bool = False) -> Sums:
        """Return −log-likelihood at φ (C, 1 + d), its gradient, and its Hessian if ``curved``."""
        c, d = phi.shape
        if c == 1 and not curved and self.table.x.flags.c_contiguous:
            loss, gradient = self._row_by_row(phi)
        else:
            loss, gradient, lower = self._summed(phi, c * (c + 1) // 2 if curved else 0)
        gradient[:, 0] *= self.scaling.lead
        if not curved:
            return loss, gradient, None
        hessian = np.empty((c, d, c, d))
        for block, k, j in zip(lower, *np.tril_indices(c), strict=True):
            low = np.tril(block[:d, :d])
            hessian[k, :, j] = hessian[j, :, k] = low + np.tril(low, -1).T
        for first in (hessian[:, 0], hessian[:, :, :, 0]):
            first *= self.scaling.lead
        return loss, gradient, hessian

    def sample(self, n: int) -> CompiledDesign:
        """Return about n rows, copied, evenly from every class, weighted to stand for all."""
        return CompiledDesign(strided_sample(self.table, n), self.scaling)

    def take(self, index: Any) -> Table:
        """Return some rows, standardised."""
        return self.scaling.standardised(self.table.take(index))

    def blocks(self) -> Iterator[Table]:
        """Yield all rows in order, standardised, some thousands at a time."""
        yield from (self.take(slice(lo, hi)) for lo, hi in chunk_edges(self.table.n_rows))

    def _row_by_row(self, phi: Floats) -> tuple[float, Floats]:
        """Return −log-likelihood and gradient of two classes, chunks added in order."""
        from suffice.discriminative.kernels import chunk_gradient

        def one(lo: int, hi: int) -> tuple[float, Floats]:
            gradient = np.zeros(phi.shape)
            return chunk_gradient(*self._chunk(lo, hi), phi, gradient), gradient

        parts = list(over_chunks(one, self.table.n_rows))
        return sum(loss for loss, _ in parts), np.sum([part for _, part in parts], axis=0)

    def _summed(self, phi: Floats, n_blocks: int) -> tuple[float, Floats, Floats]:
        """Return −log-likelihood, gradient and lower Hessian blocks, chunks added in order."""
        from suffice.discriminative.kernels import chunk_sums

        padded = -(-phi.shape[1] // 4) * 4

        def one(lo: int, hi: int) -> tuple[float, Floats, Floats]:
            gradient, blocks = np.zeros(phi.shape), np.zeros((n_blocks, padded, padded))
            return chunk_sums(*self._chunk(lo, hi), phi, gradient, blocks), gradient, blocks

        loss, gradient, blocks = 0.0, np.zeros(phi.shape), np.zeros((n_blocks, padded, padded))
        for part in over_chunks(one, self.table.n_rows):
            loss += part[0]
            gradient += part[1]
            blocks += part[2]
        return loss, gradient, blocks

    def _chunk(self, lo: int, hi: int) -> tuple[Any, ...]:
        """Return what the compiled sums ask of the rows lo … hi−1."""
        table, scaling = self.table, self.scaling
        weight = np.zeros(0) if table.weight is None else table.weight
        return table.x, table.codes, weight, lo, hi, scaling.centre, scaling.inverse


Design: TypeAlias = SmallDesign | CompiledDesign


def design_of(table: Table, scaling: Scaling) -> Design:
    """Return the rows in the form that suits their number."""
    if table.x.size <= SMALL:
        return SmallDesign(scaling.standardised(table))
    return CompiledDesign(table, scaling)
