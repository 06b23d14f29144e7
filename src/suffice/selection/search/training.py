"""The sums that every fold learns from, of all folds at once, and the rows that it is judged by."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.estimation.degenerate import SEPARATING_SHARE
from suffice.core.linalg import EPS, unit_scale
from suffice.core.moments import Moments
from suffice.core.moments.scatter import PerClassScatter, PooledScatter
from suffice.core.table import Table
from suffice.typing import Codes, Floats

_ROUNDING = (
    1e-11  # of the squares about a mean of more rows: what their difference cannot tell
)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The rows in the order of their folds, and of their classes within a fold."""

    table: Table  # in this order
    order: Codes  # where each row stood before  (n,)
    n_folds: int
    cells: Codes  # f K + k of every fold and class with rows  (C,)
    edges: Codes  # where each begins, and the end  (C + 1,)
    fold_edges: Codes  # (F + 1,)

    @classmethod
    def of(cls, table: Table, splits: Iterable[tuple[Codes, Codes]]) -> Self:
        fold = np.empty(table.n_rows, np.intp)
        for f, (_, test) in enumerate(splits):
            fold[test] = f
        cell = fold * table.n_classes + table.codes
        order = np.argsort(cell, kind="stable")
        cells, starts = np.unique(cell[order], return_index=True)
        n_folds = int(fold.max()) + 1
        folds = np.searchsorted(cells, np.arange(n_folds + 1) * table.n_classes)
        edges = np.append(starts, len(cell))
        return cls(table.take(order), order, n_folds, cells, edges, edges[folds])

    @property
    def teaching(self) -> Any:
        """Whether the other folds have rows of two classes to learn from, (F,) bool."""
        weight = self.summed(self.table.weights)
        return np.count_nonzero((1.0 - np.eye(self.n_folds)) @ weight, axis=1) > 1

    def summed(self, values: Floats) -> Floats:
        """Return the sums of rows (n, …) over each fold and class, (F, K, …)."""
        k = self.table.n_classes
        out = np.zeros((self.n_folds * k, *values.shape[1:]))
        out[self.cells] = np.add.reduceat(values, self.edges[:-1], axis=0)
        return out.reshape(self.n_folds, k, *values.shape[1:])


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The rows of each fold side by side, short folds filled up."""

    rows: Codes  # row numbers in the order of the cells, 0 where filled up  (F, m)
    truth: Codes  # (F, m)
    weight: Floats  # 0 where filled up  (F, m)

    @classmethod
    def of(cls, cells: Cells) -> Self:
        counts = np.diff(cells.fold_edges)
        filled = np.arange(counts.max()) < counts[:, None]
        rows = np.zeros(filled.shape, np.intp)
        rows[filled] = np.arange(len(cells.order))
        return cls(
            rows, cells.table.codes[rows], np.where(filled, cells.table.weights[rows], 0.0)
        )

    def take(self, folds: Any) -> Self:
        return type(self)(self.rows[folds], self.truth[folds], self.weight[folds])

    @property
    def weights(self) -> Floats:
        """Weights of the rows that are there, fold by fold, (n,)."""
        return self.weight[self.weight > 0]


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Weight, mean and scatter of each class in what each fold learns from, free of units."""

    x: Floats  # rows in these units, in the order of the cells  (n, d)
    held_out: HeldOut
    weights: Floats  # (F, K)
    means: Floats  # (F, K, d)
    pooled: Floats  # Σ_k S_k  (F, d, d)
    scatters: Floats | None  # S_k; None where only pooled ones are needed  (F, K, d, d)
    varies: Any  # whether each feature varies in each class  (F, K, d) bool
    moments: Moments  # of all rows, in the units of the view

    @classmethod
    def of(
        cls,
        seen: Floats,
        cells: Cells,
        *,
        per_class: bool,
        noise: Floats | None = None,
    ) -> Self:
        """Return the sums of rows as a view shows them, with a variance added to each feature."""
        x = np.array(seen)  # in standard deviations from the mean of all rows
        centre = x.mean(0)
        x -= centre
        scale = unit_scale(np.einsum("ij,ij->j", x, x) / len(x))
        x /= scale
        table, others = cells.table, 1.0 - np.eye(cells.n_folds)
        w = None if table.weight is None else table.weight[:, None]
        weight = cells.summed(table.weights)
        # about the mean of each class over all folds, so that the sums of folds can be added
        mean = cells.summed(x if w is None else w * x).sum(0)
        mean /= np.maximum(weight.sum(0), np.finfo(float).tiny)[:, None]
        sums, pooled, scatters = _centred_sums(x, w, mean, cells, per_class=per_class)
        if noise is not None:
            added = np.diag(noise / np.square(scale))
            pooled += weight.sum(1)[:, None, None] * added
            if scatters is not None:
                scatters += weight[..., None, None] * added
        weights = others @ weight
        # δ = Σ w z / Σ w over the other folds,   S_k = Σ w z zᵀ − w δ δᵀ
        delta = np.tensordot(others, sums, 1) / np.where(weights > 0, weights, 1.0)[..., None]
        root = np.sqrt(weights)[..., None] * delta
        trained = np.tensordot(others, pooled, 1)
        # what rounding leaves of a feature that does not vary, by row
        rounding = (16 * EPS) ** 2 * (1 + np.square(centre / scale))
        least = weights.sum(1)[:, None] * rounding
        floor = np.maximum(_ROUNDING * np.einsum("fjj->fj", trained), least)
        trained -= root.transpose(0, 2, 1) @ root
        of_classes = _of_classes(scatters, others, root, weights[..., None] * rounding)
        whole = _moments(cells.table, (centre, scale, weight.sum(0), mean), pooled, scatters)
        # a fold that holds out all rows of the only other class teaches nothing
        found = cls(x, HeldOut.of(cells), weights, mean + delta, trained, *of_classes, whole)
        found._fill(floor)
        return found if cells.teaching.all() else found.take(cells.teaching)

    def _fill(self, floor: Floats) -> None:
        """Lend variance to features that vary in no class: much where the classes agree there."""
        lacking = np.einsum("fjj->fj", self.pooled) <= floor
        for f in np.flatnonzero(lacking.any(1)):
            columns, total = np.flatnonzero(lacking[f]), self.weights[f].sum()
            share, at = self.weights[f] / total, self.means[f][:, columns]
            between = share @ np.square(at - share @ at)
            lent = np.where(between > EPS, SEPARATING_SHARE * between, 1.0)
            set_diagonal(self.pooled[f], columns, lent * total)
            if self.scatters is not None:
                self.varies[f][:, columns] = True
                for k, w in enumerate(self.weights[f]):
                    set_diagonal(self.scatters[f, k], columns, lent * w)

    @property
    def n_folds(self) -> int:
        return len(self.weights)

    def rows_of(self, fold: int) -> Floats:
        """Return the rows held out in a fold, (m, d)."""
        rows = self.held_out.rows[fold]
        return self.x[rows[0] : rows[0] + np.count_nonzero(self.held_out.weight[fold])]

    def take(self, folds: Any) -> Self:
        names = ("weights", "means", "pooled", "varies", "scatters")
        arrays = {name: getattr(self, name) for name in names}
        found = {name: each[folds] for name, each in arrays.items() if each is not None}
        return replace(self, held_out=self.held_out.take(folds), **found)


def _of_classes(
    scatters: Floats | None,
    others: Floats,
    root: Floats,
    noise: Floats,
) -> tuple[Floats | None, Any]:
    """Return S_k of the other folds (F, K, d, d), where they are asked for, and what varies."""
    if scatters is None:
        return None, np.ones(noise.shape, bool)
    found = np.tensordot(others, scatters, 1)
    least = np.maximum(_ROUNDING * np.einsum("fkjj->fkj", found), noise)
    found -= root[..., None] * root[:, :, None]
    return found, np.einsum("fkjj->fkj", found) > least


def _centred_sums(
    x: Floats,
    w: Floats | None,
    mean: Floats,
    cells: Cells,
    *,
    per_class: bool,
) -> tuple[Floats, Floats, Floats | None]:
    """Return Σ w z (F, K, d), Σ w z zᵀ of each fold (F, d, d), and of each class if asked."""
    n_folds, k, d = cells.n_folds, *mean.shape
    sums, pooled = np.zeros((n_folds, k, d)), np.empty((n_folds, d, d))
    scatters = np.zeros((n_folds, k, d, d)) if per_class else None
    firsts = np.searchsorted(cells.cells, np.arange(n_folds + 1) * k)
    for f in range(n_folds):
        lo, hi = cells.fold_edges[f : f + 2]
        z = x[lo:hi] - mean[cells.table.codes[lo:hi]]
        wz = z if w is None else w[lo:hi] * z
        inside = range(firsts[f], firsts[f + 1])
        starts = cells.edges[firsts[f] : firsts[f + 1]] - lo
        sums[f, cells.cells[inside.start : inside.stop] - f * k] = np.add.reduceat(wz, starts)
        if scatters is None:
            np.matmul(wz.T, z, out=pooled[f])
            continue
        for c in inside:
            a, b = cells.edges[c : c + 2] - lo
            np.matmul(wz[a:b].T, z[a:b], out=scatters[f, cells.cells[c] - f * k])
        pooled[f] = scatters[f].sum(0)
    return sums, pooled, scatters


def _moments(
    table: Table,
    units: tuple[Floats, ...],
    pooled: Floats,
    scatters: Floats | None,
) -> Moments:
    """Return the moments of all rows from sums in other units."""
    centre, scale, weights, means = units
    square = scale[:, None] * scale
    scatter: Any = PooledScatter(square * pooled.sum(0))
    if scatters is not None:
        scatter = PerClassScatter(square * scatters.sum(0))
    counts = np.bincount(table.codes[table.weights > 0], minlength=table.n_classes)
    high = centre + scale * means
    return Moments(
        table.classes, None, counts, weights, high, np.zeros_like(high), scatter, None
    )


def set_diagonal(matrix: Floats, columns: Codes, values: Any) -> None:
    """Make some features independent of all others, with these variances."""
    matrix[columns] = matrix[:, columns] = 0.0
    matrix[columns, columns] = values
