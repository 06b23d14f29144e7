"""The rows that mixtures are fitted to, and the sums of an E-step over tiles of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from suffice.core.estimation.divisors import divided
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.gaussian import complete_rows
from suffice.core.estimation.groups import diagonal_groups, full_groups
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.estimation.settings import Settings
from suffice.core.missing.e_step import e_step
from suffice.core.model.device import device_score
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.mixture import log_sums
from suffice.core.model.posterior import Joint
from suffice.core.model.tiles import LANES, empty_tile
from suffice.core.moments import Moments
from suffice.core.moments.device import shared_sums
from suffice.core.table import Table
from suffice.core.table.foreign import (
    constants_like,
    in_blocks,
    is_foreign,
    namespace,
    to_numpy,
)
from suffice.core.table.matrix import has_missing, taken
from suffice.core.text.lists import counted
from suffice.core.threads import chunk_edges, in_order
from suffice.errors import DegenerateDataWarning, warn
from suffice.typing import Codes, Flags, Floats

SAMPLE = 20_000  # most rows of a class for trying starts and numbers of components
DEVICE_NUMBERS = 1 << 26  # most numbers in a block of rows on a device
_BLOCK = 32 * LANES  # rows of a tile
# a borrowed covariance with a smaller correlation than this is a rounding error
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ComponentSums:
    """Sums over rows for each of R components, with weights p_ir = w_i p(r | x_i), z = x − μ_r."""

    weights: Floats  # Σ p  (R,)
    sums: Floats  # Σ p z  (R, d)
    scatters: Floats  # Σ p z zᵀ  (R, d, d)
    log_likelihood: float

    @classmethod
    def total(cls, parts: Iterable[ComponentSums]) -> ComponentSums:
        """Return the sums over all rows, given the sums over parts of the rows."""
        first, *rest = parts
        total = first
        for part in rest:
            total = cls(
                weights=total.weights + part.weights,
                sums=total.sums + part.sums,
                scatters=total.scatters + part.scatters,
                log_likelihood=total.log_likelihood + part.log_likelihood,
            )
        return total


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRows:
    """The rows of each class, and one Gaussian for each class."""

    table: Table
    rows: list[Codes]  # row numbers of each class, with positive weight
    has_gaps: Flags | None  # rows with missing values  (n,); None if no row has any
    single: GaussianModel
    borrowed: Floats  # missing variance of each class, filled from others  (K, d, d)

    @classmethod
    def of(cls, table: Table, settings: MixtureSettings, *, quiet: bool) -> MixtureRows:
        """Return the rows of a table, with the Gaussians fitted to them."""
        x = table.x
        moments = Moments.of_table(table, storage="per-class", fourth=False, holes=True)
        plain = Settings(covariance=settings.covariance, tied=settings.tied is True)
        single = estimate(moments, plain, quiet=quiet)
        assert isinstance(single, GaussianModel)
        completed = complete_rows(moments, plain, quiet=True)
        group_of = plain.group_of(table.classes)
        if settings.is_diagonal:
            variances = divided(diagonal_groups(completed, group_of), unbiased=False)
            unborrowed = variances[group_of][:, :, None] * np.eye(x.shape[1])
        else:
            unborrowed = divided(full_groups(completed, group_of), unbiased=False)[group_of]
        sigmas = np.stack([single.covariance_of(k).dense() for k in range(table.n_classes)])
        borrowed = sigmas - unborrowed
        scale = np.sqrt(np.diagonal(sigmas, axis1=1, axis2=2))
        relative = np.abs(borrowed / scale[:, :, None] / scale[:, None, :]).max((1, 2))
        is_borrowed = relative > _ROUNDING
        has_gaps = None
        if not is_foreign(x) and has_missing(x):
            has_gaps = np.isnan(x).any(1)
        return cls(
            table=table,
            rows=rows_by_class(table),
            has_gaps=has_gaps,
            single=single,
            borrowed=is_borrowed[:, None, None] * borrowed,
        )

    def at_most(self, count: int, k: int, *, quiet: bool) -> int:
        """Return ``count``, or the number of distinct rows of class k if that is smaller."""
        if count == 1:
            return 1
        rows = self.rows[k]
        label = self.table.classes[k].item()
        has_gaps = self.has_gaps is not None and self.has_gaps[rows].any()
        if has_gaps and self.borrowed[k].any():
            if not quiet:
                warn(
                    f"class {label!r} has missing values and does not vary in some direction, "
                    f"so it gets 1 component instead of {count}",
                    DegenerateDataWarning,
                )
            return 1
        x, _ = self.values_and_weights(rows[:SAMPLE])
        n_distinct = max(len(np.unique(np.nan_to_num(x), axis=0)), 1)
        if n_distinct >= count:
            return count
        if not quiet:
            warn(
                f"class {label!r} has only {counted(n_distinct, 'distinct row')}, so it gets "
                f"{counted(n_distinct, 'component')} instead of {count}",
                DegenerateDataWarning,
            )
        return n_distinct

    def values_and_weights(self, rows: Codes) -> tuple[Floats, Floats]:
        """Return values (m, d) and weights (m,) of some rows."""
        weight = self.table.weight
        w = np.ones(len(rows)) if weight is None else weight[rows]
        return np.asarray(to_numpy(taken(self.table.x, rows)), np.float64), w

    def sums(self, rows: Codes, model: GaussianModel) -> ComponentSums:
        """Return the sums of an E-step; the model's priors are the shares of the components."""
        if is_foreign(self.table.x):
            return self._sums_on_device(rows, model)
        if self.has_gaps is None:
            complete = rows
            gaps = rows[:0]
        else:
            complete = rows[~self.has_gaps[rows]]
            gaps = rows[self.has_gaps[rows]]
        chunks = [complete[lo:hi] for lo, hi in chunk_edges(len(complete))]
        stages = list(model._density_scorer(model.log_priors)._stages())
        sums_of_chunk = partial(self._sums_of_complete, model=model, stages=stages)
        parts = list(in_order(sums_of_chunk, chunks or [complete]))
        step = _BLOCK // model.n_classes + 1
        for first in range(0, len(gaps), step):
            parts.append(self._expected_sums(gaps[first : first + step], model))  # noqa: PERF401
        return ComponentSums.total(parts)

    def _sums_on_device(self, rows: Codes, model: GaussianModel) -> ComponentSums:
        """Return the sums of rows on a device, computed there in double precision."""
        x = self.table.x
        xp = namespace(x)
        weight = self.table.weight
        scorer = model._density_scorer(model.log_priors)

        def sums_of_block(lo: int, hi: int) -> ComponentSums:
            block = xp.astype(taken(x, rows[lo:hi]), xp.float64)
            w = None if weight is None else constants_like(weight[rows[lo:hi]], block)
            means = constants_like(model.centre + model.offsets, block)
            scores = device_score(scorer, block, Joint())
            return ComponentSums(*shared_sums(block, scores, w, means))

        step = max(DEVICE_NUMBERS // x.shape[1], 4096)
        return ComponentSums.total(in_blocks(sums_of_block, len(rows), step))

    def _sums_of_complete(
        self,
        rows: Codes,
        model: GaussianModel,
        stages: list[Callable[[Floats, Floats], None]],
    ) -> ComponentSums:
        """Return the sums of rows without missing values, computed by compiled loops."""
        from suffice.core.model.loops import share_out
        from suffice.core.moments.loops import gather_tile, shared_chunk

        n_components, d = model.offsets.shape
        n_chunks = -(-min(_BLOCK, len(rows)) // LANES)
        tile = empty_tile(n_chunks, d)
        scores = empty_tile(n_chunks, n_components)
        weights = np.zeros(n_components)
        sums = np.zeros((n_components, d))
        grams = np.zeros((n_components, tile.shape[1], tile.shape[1]))
        log_likelihood = 0.0
        for lo in range(0, len(rows), _BLOCK):
            block = rows[lo : lo + _BLOCK]
            used = -(-len(block) // LANES)
            t = tile[:used]
            s = scores[:used]
            w = np.zeros(used * LANES)
            w[: len(block)] = 1.0 if self.table.weight is None else self.table.weight[block]
            gather_tile(self.table.x, block, model.centre, LANES, t)
            for stage in stages:
                stage(t, s)
            # p_ir = w_i softmax_r(log α_r + log N(x_i; μ_r, Σ_r)), as in ``responsibilities``
            log_likelihood += share_out(s, n_components, w.reshape(-1, LANES))
            shared_chunk(t, s, model.offsets, LANES, weights, sums, grams)
        lower = np.tril(grams[:, :d, :d])
        scatters = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
        return ComponentSums(weights, sums, scatters, log_likelihood)

    def _expected_sums(self, rows: Codes, model: GaussianModel) -> ComponentSums:
        """Return the expected sums of rows with missing values, pattern by pattern."""
        x, w = self.values_and_weights(rows)
        components = np.arange(model.n_classes)
        a = model.allowing_missing()._read(x, Joint(), model.log_priors)
        p, log_p = responsibilities(a, w)
        # a table with every row once for each component, weighted by the component's share
        table = Table(
            np.repeat(x, len(components), 0),
            components,
            np.tile(components, len(x)),
            p.ravel(),
        )
        moments = Moments.of_table(table, storage="per-class", fourth=False, holes=True)
        expected = e_step(moments, model.group_of, pooled=False)(model)
        scatters = expected.scatter.values
        return ComponentSums(
            weights=moments.weights,
            sums=expected.sums,
            scatters=scatters.reshape(len(components), *scatters.shape[-2:]),
            log_likelihood=float(w @ log_p),
        )


def responsibilities(a: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return each row's shares of the components times its weight (n, R), and log p(x) (n,)."""
    # a_ir = log α_r + log N(x_i; μ_r, Σ_r),  log p(x_i) = log Σ_r exp a_ir
    log_p = log_sums(a, np.zeros(1, np.intp))[:, 0]
    # p_ir = w_i exp(a_ir − log p(x_i))
    return w[:, None] * np.exp(a - log_p[:, None]), log_p


def rows_by_class(table: Table) -> list[Codes]:
    """Return, for each class, the numbers of its rows with positive weight."""
    codes = np.where(table.weights > 0, table.codes, -1)
    return [np.flatnonzero(codes == k) for k in range(table.n_classes)]


def sampled_rows(rows: Codes, rng: np.random.Generator) -> Codes:
    """Return at most ``SAMPLE`` of the rows, drawn at random, in ascending order."""
    if len(rows) <= SAMPLE:
        return rows
    return np.sort(rng.choice(rows, SAMPLE, replace=False))
