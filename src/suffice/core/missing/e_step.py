"""The E-step of incomplete rows: expected sums of complete rows under Gaussians, from sums alone.

With Λ = Σ⁻¹, o the columns a row has and m those it lacks, x_m given x_o is Gaussian with

    covariance  W = (Λ_mm)⁻¹        mean  μ_m − W Λ_mo (x_o − μ_o)

and log p(x_o) = −½ (|o| log 2π + log|Σ| + log|Λ_mm| + zᵀ Λ z), z the completed deviation from μ.
Little & Rubin (2019), section 11.2.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.core.linalg import LOG_2PI
from suffice.core.moments.moments import Moments
from suffice.core.moments.patterns import ColumnSums, Units
from suffice.core.moments.scatter import (
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
    Scatter,
)
from suffice.typing import Codes, Floats

_BLOCK = 1 << 20  # numbers of a batch


class Expected(NamedTuple):
    """Sums over the rows as completed, deviations z taken from the means of the model."""

    sums: Floats  # Σ w z  (K, d)
    scatter: Scatter  # Σ w E[z zᵀ]
    log_likelihood: float  # Σ w log p(x_o | class)


def e_step(moments: Moments, group_of: Codes, *, pooled: bool) -> Callable[[Any], Expected]:
    """Return the E-step of these sums, for Gaussian models; ``pooled``: scatters of all classes."""
    if isinstance(moments.patterns, ColumnSums):
        return partial(_by_column, moments, group_of)
    assert moments.patterns is not None
    return _Patterns(moments, moments.patterns.units, group_of, pooled=pooled).under


def observed_log_likelihood(moments: Moments, model: Any) -> float:
    """Return Σ w log p(x_o | class) of the numbers that rows with holes have."""
    step = e_step(moments, model.group_of, pooled=len(model.covariances) == 1)
    return step(model).log_likelihood


def _by_column(moments: Moments, group_of: Codes, model: Any) -> Expected:
    """Take features as independent given the class: a missing one has its mean and variance."""
    assert moments.patterns is not None
    cells, w = moments.patterns.cells, moments.patterns.cells.weights
    delta = np.where(
        w > 0, ((cells.means - model.centre) + cells.means_low) - model.offsets, 0.0
    )
    variances = np.stack([np.diagonal(c.dense()) for c in model.covariances])[group_of]
    # Σ w z² = S + w_j δ² where observed,  (w − w_j) σ² where not
    squares = cells.scatter.values + w * delta**2
    filled = DiagonalScatter(squares + (moments.weights[:, None] - w) * variances)
    log_terms = w * (LOG_2PI + np.log(variances)) + squares / variances
    return Expected(w * delta, filled, -0.5 * float(log_terms.sum()))


class _Batch(NamedTuple):
    """Units of one group of classes that lack equally many columns, q of them."""

    units: Codes  # (n,)
    pattern: Codes  # of each unit, among those of the batch  (n,)
    missing: Codes  # columns that each pattern lacks  (P, q)
    cells: Codes  # those of ``units`` that have a scatter  (c,)
    scatters: Codes  # and which one it is  (c,)


class _Patterns:
    def __init__(
        self,
        moments: Moments,
        units: Units,
        group_of: Codes,
        *,
        pooled: bool,
    ) -> None:
        self.units, self.weights, self.group_of = units, moments.weights, group_of
        self.centre = centre = moments.grand_mean
        self.z = (units.means - centre) + units.means_low
        # where each unit's products go: its class, or 0  (N,)
        self.bins = np.zeros_like(units.class_of) if pooled else units.class_of
        # scatters of the cells, summed  (B, d, d)
        self.base = np.zeros((1 if pooled else len(group_of), len(centre), len(centre)))
        np.add.at(self.base, self.bins[units.cells], units.scatters)
        groups = range(int(group_of.max(initial=0)) + 1)
        self.batches = [list(_batches(units, group_of[units.class_of] == g)) for g in groups]

    def under(self, model: Any) -> Expected:
        u, w = self.units, self.units.weights
        mu = (model.centre - self.centre) + model.offsets
        z = np.where(u.observed, self.z - mu[u.class_of], 0.0)
        products, spread = self.base.copy(), np.zeros_like(self.base)
        log_dets = np.array([c.log_det for c in model.covariances])[self.group_of]
        log_terms = float(self.weights @ log_dets) + LOG_2PI * float(w @ u.observed.sum(1))
        precisions = [c.dense_precision() for c in model.covariances]
        for precision, batches in zip(precisions, self.batches, strict=True):
            for batch in batches:
                log_terms += self._complete(batch, precision, z, products, spread)
        sums = np.zeros(mu.shape)
        edges = np.searchsorted(u.class_of, np.arange(len(mu) + 1))
        for k in np.flatnonzero(np.diff(edges)):
            at = slice(edges[k], edges[k + 1])
            wz = w[at, None] * z[at]
            sums[k] = wz.sum(0)
            products[self.bins[edges[k]]] += wz.T @ z[at]
        # Σ w zᵀ Λ z = Σ_g tr(Λ_g Σ w z zᵀ)
        of_bins = self.group_of if len(products) > 1 else [0]
        log_terms += float((np.stack(precisions)[of_bins] * products).sum())
        total = products + spread
        scatter = PerClassScatter(total) if len(self.base) > 1 else PooledScatter(total[0])
        return Expected(sums, scatter, -0.5 * log_terms)

    def _complete(
        self,
        batch: _Batch,
        precision: Floats,
        z: Floats,
        products: Floats,
        spread: Floats,
    ) -> float:
        """Fill in the means that units of a batch lack, in place; return Σ w log|Λ_mm|."""
        missing, unit = batch.missing, batch.units
        w, at = self.units.weights[unit], missing[batch.pattern]
        inner = precision[missing[:, :, None], missing[:, None, :]]
        W, log_det = np.linalg.inv(inner), np.linalg.slogdet(inner)[1]
        W = (W + np.swapaxes(W, 1, 2)) / 2
        bins, of_unit = self.bins[unit], W[batch.pattern]
        # z_m = −W Λ_mo z_o
        pull = np.take_along_axis(z[unit] @ precision, at, axis=1)
        z[unit[:, None], at] = -_solved(inner[batch.pattern], of_unit, pull[:, :, None])[
            :, :, 0
        ]
        _scatter_add(spread, bins, at, at, w[:, None, None] * of_unit)
        if len(batch.cells):
            S, mine = self.units.scatters[batch.scatters], batch.pattern[batch.cells]
            at, bins, V, solid = missing[mine], bins[batch.cells], W[mine], inner[mine]
            every = np.broadcast_to(np.arange(z.shape[1]), (len(S), z.shape[1]))
            # B S with B = −W Λ_mo;  the completed scatter has B S beside S and B S Bᵀ below
            rows = np.take_along_axis(S @ precision, at[:, None, :], axis=2)
            BS = -_solved(solid, V, np.swapaxes(rows, 1, 2))
            right = np.take_along_axis(BS @ precision, at[:, None, :], axis=2)
            BSB = -_solved(solid, V, np.swapaxes(right, 1, 2))
            _scatter_add(products, bins, at, every, BS)
            _scatter_add(products, bins, every, at, np.swapaxes(BS, 1, 2))
            _scatter_add(products, bins, at, at, BSB)
        return float(w @ log_det[batch.pattern])


def _batches(units: Units, here: Any) -> Iterator[_Batch]:
    """Yield the units of a group that lack columns, by how many they lack, some at a time."""
    d = units.observed.shape[1]
    which = np.full(len(here), -1)
    which[units.cells] = np.arange(len(units.cells))
    lacking = (~units.observed).sum(1)
    for q in np.unique(lacking[here & (lacking > 0)]):
        found = np.flatnonzero(here & (lacking == q))
        holes = np.nonzero(~units.observed[found])[1].reshape(-1, q)
        order = np.lexsort(holes.T)
        found, holes = found[order], holes[order]
        step = max(_BLOCK // max(q * q, d), 1)
        for lo in range(0, len(found), step):
            unit, mine = found[lo : lo + step], holes[lo : lo + step]
            new = np.append(True, np.any(mine[1:] != mine[:-1], axis=1))
            cells = np.flatnonzero(which[unit] >= 0)
            yield _Batch(unit, np.cumsum(new) - 1, mine[new], cells, which[unit[cells]])


def _solved(matrix: Floats, inverse: Floats, b: Floats) -> Floats:
    """Return M⁻¹ b of each, refined once: M may be far from round where columns nearly agree."""
    x = inverse @ b
    return x + inverse @ (b - matrix @ x)


def _scatter_add(
    into: Floats,
    bins: Codes,
    rows: Codes,
    columns: Codes,
    values: Floats,
) -> None:
    """Add values (n, r, c) to into[bin, row, column] of each."""
    d = into.shape[1]
    at = (bins[:, None, None] * d + rows[:, :, None]) * d + columns[:, None, :]
    into += np.bincount(at.ravel(), values.ravel(), into.size).reshape(into.shape)
