"""Scores of held-out rows, computed from inner products if rows are fewer than features."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import lapack

from suffice.core.estimation.degenerate import SEPARATING_SHARE
from suffice.core.linalg import EPS
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.selection.search.training import (
    Cells,
    FoldIndex,
    HeldOut,
    Standardisation,
    standardised,
)
from suffice.typing import Codes, Flags, Floats


@dataclass(frozen=True, slots=True, eq=False)
class FewRowsTraining:
    """The standardised training rows of each fold, from which no (d, d) matrix is computed."""

    x: Floats  # standardised rows, in the order of the cells  (n, d)
    table: Table  # the same rows before the view and the standardisation
    held_out: HeldOut
    weights: Floats  # weight of each class in each fold's training rows  (F, K)
    learning_rows: tuple[Codes, ...]  # training rows of each fold
    rounding: Floats  # rounding error of the variance of a constant feature  (d,)
    moments: Moments  # moments of all rows, in the units of the view

    @classmethod
    def of(cls, seen: Floats, cells: Cells) -> Self:
        """Return the training rows under a view, without folds with a single training class."""
        standardisation: Standardisation
        x, standardisation = standardised(seen)
        class_weights = cells.summed(cells.table.weights)
        table = cells.table.with_rows(seen)
        training = cls(
            x=x,
            table=cells.table,
            held_out=HeldOut.of(cells),
            weights=cells.learns_from @ class_weights,
            learning_rows=tuple(cells.training_rows(f) for f in range(cells.n_folds)),
            rounding=standardisation.rounding,
            moments=Moments.of_table(table, storage="rows", fourth=False),
        )
        trainable = cells.trainable
        return training if trainable.all() else training.take(trainable)

    @property
    def n_folds(self) -> int:
        return len(self.weights)

    def take(self, folds: FoldIndex) -> Self:
        places = np.arange(self.n_folds)[folds]
        return replace(
            self,
            held_out=self.held_out.take(folds),
            weights=self.weights[folds],
            learning_rows=tuple(self.learning_rows[f] for f in places),
        )

    def fold(self, f: int) -> "FoldProducts":
        """Return the inner products that give the scores of a fold for every shrinkage."""
        learnt = self.learning_rows[f]
        codes = self.table.codes[learnt]
        shares = self.table.weights[learnt] / self.weights[f].sum()
        means = _class_means(self.x[learnt], codes, shares, self.weights.shape[1])
        z = self.x[learnt] - means[codes]
        z *= np.sqrt(shares)[:, None]
        variances = np.square(z).sum(0)
        is_constant = variances <= self.rounding
        if is_constant.any():
            z[:, is_constant] = 0.0
            class_shares = self.weights[f] / self.weights[f].sum()
            between = class_shares @ np.square(means - class_shares @ means)
            lent = np.where(between > EPS, SEPARATING_SHARE * between, 1.0)
            variances = np.where(is_constant, lent, variances)
        scale = np.sqrt(variances)
        z /= scale
        means /= scale
        n_held_out = np.count_nonzero(self.held_out.weight[f])
        first = self.held_out.rows[f, 0]
        held_out = self.x[first : first + n_held_out] / scale
        constant_rows = held_out[:, is_constant]
        constant_means = means[:, is_constant]
        means[:, is_constant] = 0.0
        return FoldProducts(
            gram=z @ z.T,
            means_with_rows=means @ z.T,
            held_out_with_rows=held_out @ z.T,
            means_with_held_out=means @ held_out.T,
            squared_means=np.square(means).sum(1),
            constants_with_held_out=constant_means @ constant_rows.T,
            squared_constants=np.square(constant_means).sum(1),
        )


class FoldProducts(NamedTuple):
    """Inner products of rows, in units of pooled standard deviations.

    The rows of Z are the training rows of a fold, relative to their class means and multiplied by
    √(w / W). The rows of y are the held-out rows, and the rows of m are the class means. Features
    without variance have their own inner products.
    """

    gram: Floats  # Z Zᵀ  (r, r)
    means_with_rows: Floats  # m Zᵀ  (K, r)
    held_out_with_rows: Floats  # y Zᵀ  (n, r)
    means_with_held_out: Floats  # m yᵀ  (K, n)
    squared_means: Floats  # |m|²  (K,)
    constants_with_held_out: Floats  # m yᵀ for the features without variance  (K, n)
    squared_constants: Floats  # |m|² for the features without variance  (K,)

    def scores(self, gamma: float) -> Floats | None:
        """Return mᵀΣ⁻¹y − ½ mᵀΣ⁻¹m, (K, n), for Σ = (1 − γ) ZᵀZ + γ I with γ > 0."""
        # Σ⁻¹ = γ⁻¹ (I − (1 − γ) Zᵀ (γ I + (1 − γ) Z Zᵀ)⁻¹ Z)
        small = (1 - gamma) * self.gram
        small.flat[:: len(small) + 1] += gamma
        _, solved, info = lapack.dposv(small, self.means_with_rows.T, lower=1, overwrite_a=1)
        if info:
            return None
        explained = (1 - gamma) * (self.held_out_with_rows @ solved).T
        explained_means = (1 - gamma) * np.einsum("kr,rk->k", self.means_with_rows, solved)
        products = (self.means_with_held_out - explained) / gamma
        squares = (self.squared_means - explained_means) / gamma
        products += self.constants_with_held_out
        squares += self.squared_constants
        return np.asarray(products - 0.5 * squares[:, None])


def few_rows_path(
    training: FewRowsTraining,
    log_priors: Floats,
    gammas: Floats,
) -> tuple[Floats, Floats]:
    """Return the usable values of γ for a shared covariance, and scores (K, Γ, F, m)."""
    k = training.weights.shape[1]
    scores = np.zeros((k, len(gammas), *training.held_out.rows.shape))
    usable: Flags = gammas > 0
    for f in range(training.n_folds):
        products = training.fold(f)
        for g in np.flatnonzero(usable).tolist():
            fold_scores = products.scores(float(gammas[g]))
            if fold_scores is None:
                usable[g] = False
                continue
            n_rows = fold_scores.shape[1]
            scores[:, g, f, :n_rows] = fold_scores + log_priors[f][:, None]
    return gammas[usable], scores[:, usable]


def _class_means(x: Floats, codes: Codes, shares: Floats, n_classes: int) -> Floats:
    """Return the mean of each class, zero for classes without rows, (K, d)."""
    means = np.zeros((n_classes, x.shape[1]))
    for k in np.unique(codes):
        members = np.flatnonzero(codes == k)
        means[k] = shares[members] @ x[members] / shares[members].sum()
    return means
