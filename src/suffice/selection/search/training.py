"""The sums of the training rows of every fold, and the held-out rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from suffice.core.estimation.degenerate import SEPARATING_SHARE
from suffice.core.linalg import EPS, unit_scale
from suffice.core.moments import Moments
from suffice.core.moments.scatter import PerClassScatter, PooledScatter
from suffice.core.table import Table
from suffice.typing import Codes, Flags, Floats

FoldIndex: TypeAlias = slice | Codes | Flags

# relative rounding error of squares about a mean, if these are computed by subtraction
_ROUNDING = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The rows sorted by fold, and by class within a fold."""

    table: Table  # the rows in this order
    order: Codes  # original index of each row  (n,)
    n_folds: int
    cells: Codes  # f K + k for each fold f and class k that has rows  (C,)
    edges: Codes  # first row of each cell, then n  (C + 1,)
    fold_edges: Codes  # first row of each fold, then n  (F + 1,)
    forward: bool = False  # whether the model of a fold is trained on earlier folds only

    @classmethod
    def of(
        cls,
        table: Table,
        splits: Iterable[tuple[Codes, Codes]],
        *,
        forward: bool = False,
    ) -> Self:
        """Return the rows sorted by the fold that holds them out; each row must be held out once.

        With ``forward``, the model of a fold is trained on the folds before it, otherwise on all
        other folds.
        """
        fold_of_row = np.empty(table.n_rows, np.intp)
        for f, (_, test) in enumerate(splits):
            fold_of_row[test] = f
        n_folds = int(fold_of_row.max()) + 1
        cell_of_row = fold_of_row * table.n_classes + table.codes
        order = np.argsort(cell_of_row, kind="stable")
        cells, starts = np.unique(cell_of_row[order], return_index=True)
        edges = np.append(starts, table.n_rows)
        first_cells = np.searchsorted(cells, np.arange(n_folds + 1) * table.n_classes)
        return cls(
            table=table.take(order),
            order=order,
            n_folds=n_folds,
            cells=cells,
            edges=edges,
            fold_edges=edges[first_cells],
            forward=forward,
        )

    @property
    def learns_from(self) -> Floats:
        """Entry (f, g) is 1 if the model of fold f is trained on fold g, otherwise 0, (F, F)."""
        if self.forward:
            return np.tril(np.ones((self.n_folds, self.n_folds)), -1)
        return np.asarray(1.0 - np.eye(self.n_folds))

    def training_rows(self, fold: int) -> Codes:
        """Return the training rows of a fold, in the order of the cells."""
        lo, hi = self.fold_edges[fold : fold + 2]
        if self.forward:
            return np.arange(lo)
        return np.concatenate([np.arange(lo), np.arange(hi, self.table.n_rows)])

    @property
    def trainable(self) -> Flags:
        """Whether each fold's training rows have at least two classes, (F,)."""
        weights = self.summed(self.table.weights)
        other_weights = self.learns_from @ weights
        return np.asarray(np.count_nonzero(other_weights, axis=1) > 1)

    def summed(self, values: Floats) -> Floats:
        """Return the sums of rows (n, …) by fold and class, (F, K, …)."""
        k = self.table.n_classes
        shape = values.shape[1:]
        sums = np.zeros((self.n_folds * k, *shape))
        sums[self.cells] = np.add.reduceat(values, self.edges[:-1], axis=0)
        return sums.reshape(self.n_folds, k, *shape)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The held-out rows of all folds in one array, in which short folds are padded."""

    rows: Codes  # row indices in the order of the cells, padded with 0  (F, m)
    truth: Codes  # class of each row  (F, m)
    weight: Floats  # weight of each row, padded with 0  (F, m)

    @classmethod
    def of(cls, cells: Cells) -> Self:
        counts = np.diff(cells.fold_edges)
        is_row = np.arange(counts.max()) < counts[:, None]
        rows = np.zeros(is_row.shape, np.intp)
        rows[is_row] = np.arange(len(cells.order))
        return cls(
            rows=rows,
            truth=cells.table.codes[rows],
            weight=np.where(is_row, cells.table.weights[rows], 0.0),
        )

    def take(self, folds: FoldIndex) -> Self:
        return type(self)(self.rows[folds], self.truth[folds], self.weight[folds])

    @property
    def weights(self) -> Floats:
        """Weights of the rows, fold by fold, without padding, (n,)."""
        return self.weight[self.weight > 0]


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Weight, mean and scatter of each class in the standardised training rows of each fold."""

    x: Floats  # standardised rows, in the order of the cells  (n, d)
    held_out: HeldOut
    weights: Floats  # (F, K)
    means: Floats  # (F, K, d)
    pooled: Floats  # Σ_k M_k  (F, d, d)
    scatters: Floats | None  # M_k; None if only pooled scatters are needed (F, K, d, d)
    varies: Flags  # whether each feature varies in each class  (F, K, d)
    moments: Moments  # moments of all rows, in the units of the view

    @classmethod
    def of(
        cls,
        seen: Floats,
        cells: Cells,
        *,
        per_class: bool,
        noise: Floats | None = None,
    ) -> Self:
        """Return the training sums under a view, with ``noise`` (d,) added to the variances.

        ``per_class`` keeps the scatter of each class. Folds whose training rows have a single class
        are left out.
        """
        x, standardisation = standardised(seen)
        sums = _FoldSums.of(x, cells, per_class=per_class)
        if noise is not None:
            sums = sums.with_noise(noise / np.square(standardisation.scale))
        others = cells.learns_from
        weights = others @ sums.weights
        # δ = Σ w z / Σ w over the training folds
        positive = np.where(weights > 0, weights, 1.0)
        delta = np.tensordot(others, sums.sums, 1) / positive[..., None]
        means = sums.means + delta
        # M_k = Σ w z zᵀ − w δ δᵀ
        root = np.sqrt(weights)[..., None] * delta
        pooled = np.tensordot(others, sums.pooled, 1)
        rounding = weights.sum(1)[:, None] * standardisation.rounding
        floor = np.maximum(_ROUNDING * np.einsum("fjj->fj", pooled), rounding)
        pooled -= root.transpose(0, 2, 1) @ root
        if sums.scatters is None:
            scatters = None
            varies = np.ones(means.shape, bool)
        else:
            scatters = np.tensordot(others, sums.scatters, 1)
            class_rounding = weights[..., None] * standardisation.rounding
            class_floor = np.maximum(
                _ROUNDING * np.einsum("fkjj->fkj", scatters), class_rounding
            )
            scatters -= root[..., None] * root[:, :, None]
            varies = np.einsum("fkjj->fkj", scatters) > class_floor
        constant = np.einsum("fjj->fj", pooled) <= floor
        _lend_variance(constant, weights, means, pooled, scatters, varies)
        training = cls(
            x=x,
            held_out=HeldOut.of(cells),
            weights=weights,
            means=means,
            pooled=pooled,
            scatters=scatters,
            varies=varies,
            moments=_moments(cells.table, standardisation, sums),
        )
        trainable = cells.trainable
        return training if trainable.all() else training.take(trainable)

    @property
    def n_folds(self) -> int:
        return len(self.weights)

    @property
    def class_scatters(self) -> Floats:
        """M_k of each fold and class, (F, K, d, d); raises unless they were collected."""
        if self.scatters is None:
            raise ValueError(
                "only pooled scatters were kept, but the scatter of each class is needed: collect "
                "it with per_class=True"
            )
        return self.scatters

    def rows_of(self, fold: int) -> Floats:
        """Return the held-out rows of a fold, (m, d)."""
        first = self.held_out.rows[fold, 0]
        n_rows = np.count_nonzero(self.held_out.weight[fold])
        return self.x[first : first + n_rows]

    def take(self, folds: FoldIndex) -> Self:
        return replace(
            self,
            held_out=self.held_out.take(folds),
            weights=self.weights[folds],
            means=self.means[folds],
            pooled=self.pooled[folds],
            scatters=None if self.scatters is None else self.scatters[folds],
            varies=self.varies[folds],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Standardisation:
    """Mean and standard deviation of each feature over all rows: x = centre + scale · z."""

    centre: Floats  # (d,)
    scale: Floats  # (d,)

    @property
    def rounding(self) -> Floats:
        """Rounding error, per row, of the squares of a constant feature, (d,)."""
        return np.asarray((16 * EPS) ** 2 * (1 + np.square(self.centre / self.scale)))


def standardised(rows: Floats) -> tuple[Floats, Standardisation]:
    """Return z = (x − centre) / scale, (n, d), with the centre and the scale."""
    centre = rows.mean(0)
    z = rows - centre
    scale = unit_scale(np.einsum("ij,ij->j", z, z) / len(z))
    z /= scale
    return z, Standardisation(centre, scale)


@dataclass(frozen=True, slots=True, eq=False)
class _FoldSums:
    """Sums of each fold about the class means of all folds, which can be added over folds."""

    weights: Floats  # Σ w  (F, K)
    means: Floats  # m_k, the mean over all folds; z = x − m_k  (K, d)
    sums: Floats  # Σ w z  (F, K, d)
    pooled: Floats  # Σ w z zᵀ  (F, d, d)
    scatters: Floats | None  # Σ w z zᵀ of each class; None if not needed (F, K, d, d)

    @classmethod
    def of(cls, x: Floats, cells: Cells, *, per_class: bool) -> Self:
        table = cells.table
        n_folds = cells.n_folds
        k = table.n_classes
        d = x.shape[1]
        w = None if table.weight is None else table.weight[:, None]
        weights = cells.summed(table.weights)
        means = cells.summed(x if w is None else w * x).sum(0)
        means /= np.maximum(weights.sum(0), np.finfo(float).tiny)[:, None]
        sums = np.zeros((n_folds, k, d))
        pooled = np.empty((n_folds, d, d))
        scatters = np.zeros((n_folds, k, d, d)) if per_class else None
        first_cells = np.searchsorted(cells.cells, np.arange(n_folds + 1) * k)
        for f in range(n_folds):
            lo, hi = cells.fold_edges[f : f + 2]
            z = x[lo:hi] - means[table.codes[lo:hi]]
            wz = z if w is None else w[lo:hi] * z
            fold_cells = slice(first_cells[f], first_cells[f + 1])
            classes = cells.cells[fold_cells] - f * k
            starts = cells.edges[fold_cells] - lo
            sums[f, classes] = np.add.reduceat(wz, starts)
            if scatters is None:
                np.matmul(wz.T, z, out=pooled[f])
                continue
            ends = np.append(starts[1:], hi - lo)
            for class_, start, end in zip(classes, starts, ends, strict=True):
                np.matmul(wz[start:end].T, z[start:end], out=scatters[f, class_])
            pooled[f] = scatters[f].sum(0)
        return cls(weights=weights, means=means, sums=sums, pooled=pooled, scatters=scatters)

    def with_noise(self, variances: Floats) -> Self:
        """Return the sums with ``variances`` (d,) added to the variance of each feature."""
        noise = np.diag(variances)
        pooled = self.pooled + self.weights.sum(1)[:, None, None] * noise
        if self.scatters is None:
            return replace(self, pooled=pooled)
        scatters = self.scatters + self.weights[..., None, None] * noise
        return replace(self, pooled=pooled, scatters=scatters)


def _lend_variance(
    constant: Flags,
    weights: Floats,
    means: Floats,
    pooled: Floats,
    scatters: Floats | None,
    varies: Flags,
) -> None:
    """Set a variance for the features ``constant`` (F, d), which are constant in every class.

    The arrays are changed in place. The variance is small if the class means differ, because the
    feature then separates the classes. If the class means are equal, the variance is 1.
    """
    for f in np.flatnonzero(constant.any(1)):
        columns = np.flatnonzero(constant[f])
        total = weights[f].sum()
        if total == 0:
            continue  # a fold without training rows, which is left out later
        shares = weights[f] / total
        class_means = means[f][:, columns]
        between = shares @ np.square(class_means - shares @ class_means)
        variance = np.where(between > EPS, SEPARATING_SHARE * between, 1.0)
        set_diagonal(pooled[f], columns, variance * total)
        if scatters is not None:
            varies[f][:, columns] = True
            for k, weight in enumerate(weights[f]):
                set_diagonal(scatters[f, k], columns, variance * weight)


def _moments(table: Table, standardisation: Standardisation, sums: _FoldSums) -> Moments:
    """Return the moments of all rows in the units of the view."""
    means = standardisation.centre + standardisation.scale * sums.means
    square = standardisation.scale[:, None] * standardisation.scale
    scatter: PooledScatter | PerClassScatter
    if sums.scatters is None:
        scatter = PooledScatter(square * sums.pooled.sum(0))
    else:
        scatter = PerClassScatter(square * sums.scatters.sum(0))
    return Moments(
        classes=table.classes,
        feature_names=None,
        counts=np.bincount(table.codes[table.weights > 0], minlength=table.n_classes),
        weights=sums.weights.sum(0),
        means=means,
        means_low=np.zeros_like(means),
        scatter=scatter,
        fourth=None,
    )


def set_diagonal(matrix: Floats, columns: Codes, values: Floats | float) -> None:
    """Make some features independent of all others, and set their variances."""
    matrix[columns] = 0.0
    matrix[:, columns] = 0.0
    matrix[columns, columns] = values
