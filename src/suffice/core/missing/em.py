"""EM for missing numbers: the E-step and the M-step, computed from the sums of each pattern.

A pattern is the set of the columns that are observed in a row. Let Λ = Σ⁻¹, and let a row have the
observed columns o and the missing columns m. Given x_o, x_m is Gaussian with

    covariance  W = (Λ_mm)⁻¹        mean  μ_m − W Λ_mo (x_o − μ_o)

The E-step fills the missing columns of each row with this mean. With z the deviation of the
completed row from its class mean μ_k, and w the weight of the row, the E-step returns Σ w z,
Σ w E[z zᵀ], where E[z zᵀ] = z zᵀ + W, and the log-likelihood of the observed numbers, the sum of

    log p(x_o) = −½ (|o| log 2π + log|Σ| + log|Λ_mm| + zᵀ Λ z)

The M-step moves the means, and computes the scatters about the new means,

    μ_k ← μ_k + s_k,  s_k = Σ w z / w_k        M_k ← Σ w E[z zᵀ] − w_k s_k s_kᵀ

Then it estimates covariances from M_k with the settings that hold for complete rows, too.
``iteration.py`` repeats both steps until they converge. Little & Rubin (2019), section 11.2.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from suffice.core.linalg import LOG_2PI
from suffice.core.moments.column_sums import ColumnSums
from suffice.core.moments.moments import Moments
from suffice.core.moments.pattern_sums import PatternBlocks
from suffice.core.moments.scatter import (
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
    Scatter,
)
from suffice.typing import Codes, Flags, Floats

_BLOCK = 1 << 20  # most numbers in the matrices of a batch of blocks


class Covariance(Protocol):
    """The methods of a covariance Σ = L Lᵀ that the E-step uses."""

    @property
    def log_det(self) -> float: ...

    def whiten(self, x: Floats, /) -> Floats: ...

    def dense(self) -> Floats: ...

    def dense_precision(self) -> Floats: ...


class Gaussians(Protocol):
    """Class-conditional Gaussians N(centre + offset_k, Σ_g), where g is the group of class k."""

    @property
    def centre(self) -> Floats: ...  # (d,)

    @property
    def offsets(self) -> Floats: ...  # (K, d)

    @property
    def covariances(self) -> Sequence[Covariance]: ...  # (G,)

    @property
    def group_of(self) -> Codes: ...  # (K,)


class Expected(NamedTuple):
    """Sums over the completed rows, where z is the deviation from the class mean of the model."""

    sums: Floats  # Σ w z  (K, d)
    scatter: Scatter  # Σ w E[z zᵀ]
    log_likelihood: float  # Σ w log p(x_o | class)


EStep: TypeAlias = Callable[[Gaussians], Expected]


def e_step(moments: Moments, group_of: Codes, *, pooled: bool) -> EStep:
    """Return the E-step for these sums, a function of the model.

    If ``pooled``, the E-step adds up the scatters of all classes.
    """
    patterns = moments.patterns
    assert patterns is not None
    if isinstance(patterns, ColumnSums):
        column_sums = patterns.column_sums
        return lambda model: _expected_by_column(moments.weights, column_sums, group_of, model)
    return _PatternStep(moments, patterns.blocks, group_of, pooled=pooled).expected


def moved_to_new_means(expected: Expected, w: Floats, moves: Floats) -> tuple[Floats, Scatter]:
    """Return how far an M-step moves each mean (K, d), and the scatters about the new means.

    ``w`` holds the weights of the classes (K,). The mean of a column in a class moves only where
    ``moves`` (K, d) is 1.
    """
    # s_k = Σ w z / w_k,  M_k = Σ w E[z zᵀ] − w_k s_k s_kᵀ
    shifts = moves * expected.sums / np.where(w > 0, w, 1.0)[:, None]
    return shifts, expected.scatter.shifted(-w, shifts)


def observed_log_likelihood(moments: Moments, model: Gaussians) -> float:
    """Return Σ w log p(x_o | class), where x_o are the observed numbers of a row."""
    step = e_step(moments, model.group_of, pooled=len(model.covariances) == 1)
    return step(model).log_likelihood


def _expected_by_column(
    weights: Floats,
    column_sums: Moments,
    group_of: Codes,
    model: Gaussians,
) -> Expected:
    """Return the result of the E-step of naive Bayes, in which columns are independent.

    So a missing number has the mean and the variance of its column in the class.
    """
    w = column_sums.weights
    deviations = ((column_sums.means - model.centre) + column_sums.means_low) - model.offsets
    delta = np.where(w > 0, deviations, 0.0)
    variances = np.stack([np.diagonal(c.dense()) for c in model.covariances])[group_of]
    # Σ w E[z²] = M_j + w_j δ² + (w − w_j) σ², where w_j is the weight of the rows with column j
    squares = column_sums.scatter.values + w * delta**2
    completed = squares + (weights[:, None] - w) * variances
    # log N(x; μ, σ²) = −½ (log 2π + log σ² + z² / σ²)
    log_terms = w * (LOG_2PI + np.log(variances)) + squares / variances
    return Expected(
        sums=w * delta,
        scatter=DiagonalScatter(completed),
        log_likelihood=-0.5 * float(log_terms.sum()),
    )


class _Batch(NamedTuple):
    """Blocks (sums of a pattern, or single rows) of one group, with q missing columns each."""

    blocks: Codes  # (n,)
    pattern: Codes  # position of each block's pattern in ``missing``  (n,)
    missing: Codes  # missing columns of each pattern  (P, q)
    with_scatter: Codes  # positions in ``blocks`` of the blocks that have a scatter  (c,)
    scatters: Codes  # positions of these scatters  (c,)


class _PatternStep:
    """The E-step for sums by pattern of observed columns, which any number of models can use."""

    def __init__(
        self,
        moments: Moments,
        blocks: PatternBlocks,
        group_of: Codes,
        *,
        pooled: bool,
    ) -> None:
        self.blocks = blocks
        self.weights = moments.weights
        self.group_of = group_of
        self.pooled = pooled
        self.centre = moments.grand_mean
        self.z = (blocks.means - self.centre) + blocks.means_low
        # position of the matrix to which a block's products are added, its class or 0  (N,)
        self.bins = np.zeros_like(blocks.class_of) if pooled else blocks.class_of
        # sums of the patterns' scatters  (B, d, d)
        d = len(self.centre)
        self.scatters = np.zeros((1 if pooled else len(group_of), d, d))
        np.add.at(self.scatters, self.bins[blocks.with_scatter], blocks.scatters)
        block_groups = group_of[blocks.class_of]
        n_groups = int(group_of.max(initial=0)) + 1
        self.batches = [list(_batches(blocks, block_groups == g)) for g in range(n_groups)]

    def expected(self, model: Gaussians) -> Expected:
        """Return the expected sums under a model."""
        blocks = self.blocks
        w = blocks.weights
        means = (model.centre - self.centre) + model.offsets
        z = np.where(blocks.observed, self.z - means[blocks.class_of], 0.0)
        products = self.scatters.copy()
        spread = np.zeros_like(products)  # Σ w W, the covariance of the missing values
        log_dets = np.array([c.log_det for c in model.covariances])[self.group_of]
        log_terms = float(self.weights @ log_dets)
        log_terms += LOG_2PI * float(w @ blocks.observed.sum(1))
        precisions = [c.dense_precision() for c in model.covariances]
        for precision, batches in zip(precisions, self.batches, strict=True):
            for batch in batches:
                log_terms += self._complete(batch, precision, z, products, spread)
        sums = np.zeros(means.shape)
        edges = np.searchsorted(blocks.class_of, np.arange(len(means) + 1))
        for k in np.flatnonzero(np.diff(edges)):
            members = slice(edges[k], edges[k + 1])
            wz = w[members, None] * z[members]
            sums[k] = wz.sum(0)
            products[self.bins[edges[k]]] += wz.T @ z[members]
        # Σ w zᵀ Λ z = Σ_g tr(Λ_g Σ w z zᵀ)
        groups = self.group_of if len(products) > 1 else [0]
        log_terms += float((np.stack(precisions)[groups] * products).sum())
        total = products + spread
        scatter = PerClassScatter(total) if len(total) > 1 else PooledScatter(total[0])
        return Expected(sums, scatter, -0.5 * log_terms)

    def _complete(
        self,
        batch: _Batch,
        precision: Floats,
        z: Floats,
        products: Floats,
        spread: Floats,
    ) -> float:
        """Replace the missing deviations of a batch with expected ones; return Σ w log|Λ_mm|."""
        w = self.blocks.weights[batch.blocks]
        bins = self.bins[batch.blocks]
        lacking = batch.missing[batch.pattern]  # missing columns of each block  (n, q)
        inner = precision[batch.missing[:, :, None], batch.missing[:, None, :]]  # Λ_mm
        log_det = np.linalg.slogdet(inner)[1]
        W = np.linalg.inv(inner)
        W = (W + np.swapaxes(W, 1, 2)) / 2
        # z_m = −W Λ_mo z_o
        pull = np.take_along_axis(z[batch.blocks] @ precision, lacking, axis=1)
        solved = _solved(inner[batch.pattern], W[batch.pattern], pull[:, :, None])
        z[batch.blocks[:, None], lacking] = -solved[:, :, 0]
        variances = w[:, None, None] * W[batch.pattern]
        _scatter_add(spread, bins, lacking, lacking, variances)
        if len(batch.with_scatter):
            patterns = batch.pattern[batch.with_scatter]
            missing = batch.missing[patterns]
            # B = −W Λ_mo; B has columns for missing features, too, which the scatters multiply by 0
            B = -_solved(inner[patterns], W[patterns], precision[missing])
            _complete_scatters(
                self.blocks.scatters[batch.scatters],
                B,
                missing,
                bins[batch.with_scatter],
                products,
            )
        return float(w @ log_det[batch.pattern])


def _complete_scatters(
    S: Floats,
    B: Floats,
    missing: Codes,
    bins: Codes,
    products: Floats,
) -> None:
    """Add the missing rows and columns of the completed scatters to ``products``."""
    # the completed scatter is  (S, S Bᵀ; B S, B S Bᵀ)
    BS = B @ S
    BSB = BS @ np.swapaxes(B, 1, 2)
    d = S.shape[1]
    all_columns = np.broadcast_to(np.arange(d), (len(S), d))
    _scatter_add(products, bins, missing, all_columns, BS)
    _scatter_add(products, bins, all_columns, missing, np.swapaxes(BS, 1, 2))
    _scatter_add(products, bins, missing, missing, BSB)


def _batches(blocks: PatternBlocks, in_group: Flags) -> Iterator[_Batch]:
    """Yield batches of a group's incomplete blocks, by the number of missing columns."""
    d = blocks.observed.shape[1]
    scatter_of = np.full(len(in_group), -1)
    scatter_of[blocks.with_scatter] = np.arange(len(blocks.with_scatter))
    n_lacking = (~blocks.observed).sum(1)
    for q in np.unique(n_lacking[in_group & (n_lacking > 0)]):
        members = np.flatnonzero(in_group & (n_lacking == q))
        missing = np.nonzero(~blocks.observed[members])[1].reshape(-1, q)
        order = np.lexsort(missing.T)
        members = members[order]
        missing = missing[order]
        step = max(_BLOCK // max(q * q, d), 1)
        for lo in range(0, len(members), step):
            some_blocks = members[lo : lo + step]
            lacking = missing[lo : lo + step]
            is_new = np.append(True, np.any(lacking[1:] != lacking[:-1], axis=1))
            with_scatter = np.flatnonzero(scatter_of[some_blocks] >= 0)
            yield _Batch(
                blocks=some_blocks,
                pattern=np.cumsum(is_new) - 1,
                missing=lacking[is_new],
                with_scatter=with_scatter,
                scatters=scatter_of[some_blocks[with_scatter]],
            )


def _solved(matrix: Floats, inverse: Floats, b: Floats) -> Floats:
    """Return M⁻¹ b for each matrix M, given the inverse, with one step of iterative refinement."""
    x = inverse @ b
    return x + inverse @ (b - matrix @ x)


def _scatter_add(
    into: Floats,
    bins: Codes,
    rows: Codes,
    columns: Codes,
    values: Floats,
) -> None:
    """Add each of the n matrices ``values`` (n, r, c) to into[bin, rows, columns]."""
    d = into.shape[1]
    places = (bins[:, None, None] * d + rows[:, :, None]) * d + columns[:, None, :]
    into += np.bincount(places.ravel(), values.ravel(), into.size).reshape(into.shape)
