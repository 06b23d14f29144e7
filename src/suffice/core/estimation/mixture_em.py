"""Mixtures of Gaussians in every class, by EM: shares of rows, then moments with these as weights.

Both halves of a step run over tiles of rows, so that the shares of all rows are never held. Each
covariance has an inverse-Wishart prior, κ imagined rows of the class itself,

    Σ_r = (S_r + κ Ψ_k) / (w_r + κ)        Ψ_k = (W_k + Σ_k / R_k^(2/d)) / (w_k + 1)

with Σ_k the class's own covariance and W_k its scatter within the clusters that EM starts from:
units do not matter, no component collapses while κ > 0, and a single component is the Gaussian of
its class for any κ. Directions in which a class does not vary keep the variance that it borrows
as a single Gaussian.

References: Dempster, Laird & Rubin (1977); Hastie & Tibshirani (1996), JRSS B 58; Fraley &
Raftery (2007), J. Classification 24; Arthur & Vassilvitskii (2007), SODA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from suffice.core.estimation.covariance_estimates import diagonal_groups, divided, full_groups
from suffice.core.estimation.recipe import Recipe, warn_of_relative_weights
from suffice.core.linalg import EPS
from suffice.core.missing.e_step import e_step
from suffice.core.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.core.model.device import device_score
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.mixture import MixtureModel, log_sums
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
from suffice.core.table.sampling import ranks_within
from suffice.core.threads import chunk_edges, in_order
from suffice.errors import DegenerateDataWarning, InvalidInputError, NotConvergedWarning, warn
from suffice.typing import Codes, Floats

MOST = 12  # components of a class that "auto" tries
FOLDS = 5
SAMPLE = 20_000  # rows of a class that starts, and numbers of components, are tried on
_BLOCK = 32 * LANES  # rows of a tile
DEVICE_NUMBERS = 1 << 26  # of the rows of a block on a device
_LLOYD, _TRIALS = 10, 4  # steps of k-means; rows that its next start is the best of
Sums = tuple[Any, ...]  # Σ p, Σ p (x − μ), Σ p (x − μ)(x − μ)ᵀ of components, log-likelihood


class Run(NamedTuple):
    """A mixture at the end of EM, and how it went."""

    problem: MixtureProblem
    model: GaussianModel
    objectives: list[float]  # log-likelihood and log prior before each step
    arrived: bool


@dataclass(frozen=True, slots=True)
class MixtureRecipe:
    """How rows become a mixture: every setting."""

    covariance: str = "full"  # or "diagonal"
    tied: Any = False  # one covariance per component; "class": per class; True: for all
    prior_rows: float = 1.0  # κ
    n_init: int = 3
    max_iter: int = 500
    tol: float = 1e-6  # gain of the objective by one step, per unit of weight

    def fit(
        self,
        table: Table,
        counts: Any,
        seed: Any,
        *,
        quiet: bool = False,
    ) -> tuple[MixtureModel, list[Run]]:
        """Return mixtures with so many components in each class, and EM of each problem."""
        rng, every = np.random.default_rng(seed), range(table.n_classes)
        data = MixtureRows.of(table, self, quiet=quiet)
        counts = [data.at_most(int(counts[k]), k, quiet=quiet) for k in every]
        if not quiet and self.prior_rows and max(counts) > 1:
            warn_of_relative_weights(sum(map(len, data.rows)), float(table.weights.sum()))
        sets = [list(every)] if self.tied is True else [[k] for k in every]
        runs = [
            MixtureProblem(self, data, ks, [counts[k] for k in ks]).best(rng) for ks in sets
        ]
        if not quiet and not all(run.arrived for run in runs):
            told = f"EM stopped after max_iter={self.max_iter} steps: raise it, or tol"
            warn(told, NotConvergedWarning)
        models = [run.model for run in runs]
        before = np.cumsum([0, *(len(model.covariances) for model in models)])
        components = replace(
            models[0],
            log_priors=np.concatenate([model.log_priors for model in models]),
            offsets=np.concatenate([model.offsets for model in models]),
            covariances=tuple(sigma for model in models for sigma in model.covariances),
            group_of=np.concatenate(
                [m.group_of + n for m, n in zip(models, before, strict=False)]
            ),
            n_covariance_parameters=sum(model.n_covariance_parameters for model in models),
        )
        return MixtureModel(data.single.log_priors, components, np.repeat(every, counts)), runs

    def counts(self, table: Table, seed: Any) -> list[int]:
        """Return how many components each class needs, by the likelihood of rows held out."""
        # numbers are tried in order, until two in a row are no better than the best; a class with
        # fewer than two rows for each fold has one
        rng, n_classes = np.random.default_rng(seed), table.n_classes
        table = table.take(np.concatenate([_some(rows, rng) for rows in _rows_of(table)]))
        table = table.with_rows(to_numpy(table.x), table.names)
        active = np.bincount(table.codes, minlength=n_classes) >= 2 * FOLDS
        fold = np.where(active[table.codes], ranks_within(table.codes, rng) % FOLDS, -1)
        best, chosen = np.full(n_classes, -np.inf), np.ones(n_classes, int)
        for n in range(1, MOST + 1):
            if active.any():
                found = self._held_out(table, fold, np.where(active, n, 1), seed)
                better = active & (found > best)
                best, chosen = np.where(better, found, best), np.where(better, n, chosen)
                active = active & (chosen > n - 2)
        return [int(n) for n in chosen]

    def _held_out(self, table: Table, fold: Codes, counts: Codes, seed: Any) -> Floats:
        """Return Σ w log p(x | class) of the rows of each class, or of all where they are tied."""
        total, quick = (
            np.zeros(table.n_classes),
            replace(self, n_init=1, tol=max(self.tol, 1e-4)),
        )
        for f in range(FOLDS):
            model, _ = quick.fit(table.take(fold != f), counts, seed, quiet=True)
            out = table.take(fold == f)
            log_p = model.allowing_missing().class_log_density(out.x)
            own = out.weights * log_p[np.arange(out.n_rows), out.codes]
            total += np.bincount(out.codes, own, len(total))
        return np.full(len(total), total.sum()) if self.tied is True else total


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRows:
    """Rows of a table by class, and one Gaussian for each class."""

    table: Table
    rows: list[Codes]  # those of each class with any weight
    empty: Any  # which rows have empty cells  (n,), or None
    single: GaussianModel
    borrowed: Floats  # variance that a class lacks, and has from others  (K, d, d)

    @classmethod
    def of(cls, table: Table, how: MixtureRecipe, *, quiet: bool) -> MixtureRows:
        """Return the rows, summed up once."""
        moments = Moments.of_table(table, storage="per-class", fourth=False, holes=True)
        diagonal = how.covariance == "diagonal"
        recipe = Recipe.parse(covariance=how.covariance, tied=how.tied is True)
        single: Any = recipe.estimate(moments, quiet=quiet)
        whole, x = recipe.completed(moments, quiet=True), table.x
        sigmas = np.stack([single.covariance_of(k).dense() for k in range(table.n_classes)])
        group_of = recipe.group_of(table.classes)
        groups = (diagonal_groups if diagonal else full_groups)(whole, group_of)
        own = divided(groups, unbiased=False)[group_of]
        lent = sigmas - (own[:, :, None] * np.eye(x.shape[1]) if diagonal else own)
        scale = np.sqrt(np.diagonal(sigmas, axis1=1, axis2=2))
        # no more than rounding is none
        large = np.abs(lent / scale[:, :, None] / scale[:, None, :]).max((1, 2)) > 1e-9
        empty = np.isnan(x).any(1) if not is_foreign(x) and has_missing(x) else None
        return cls(table, _rows_of(table), empty, single, large[:, None, None] * lent)

    def at_most(self, count: int, k: int, *, quiet: bool) -> int:
        """Return how many components a class can have: as many as it has distinct rows."""
        if count == 1:
            return 1
        rows = self.rows[k]
        x = np.nan_to_num(self.some(rows[:SAMPLE])[0])
        most, why = max(len(np.unique(x, axis=0)), 1), "has too few distinct rows"
        if self.empty is not None and self.empty[rows].any() and self.borrowed[k].any():
            most, why = 1, "has empty cells and does not vary in some direction"
        if most < count and not quiet:
            told = f"class {self.table.classes[k].item()!r} {why}"
            warn(f"{told}: {most} components in the place of {count}", DegenerateDataWarning)
        return min(count, most)

    def some(self, rows: Codes) -> tuple[Floats, Floats]:
        """Return numbers and weights of some rows."""
        w = np.ones(len(rows)) if self.table.weight is None else self.table.weight[rows]
        return np.asarray(to_numpy(taken(self.table.x, rows)), np.float64), w

    def sums(self, rows: Codes, model: GaussianModel) -> Sums:
        """Return the sums of an E-step under a mixture whose shares are the model's priors."""
        if is_foreign(self.table.x):
            return self._on_device(rows, model)
        empty = np.zeros(len(rows), bool) if self.empty is None else self.empty[rows]
        whole, holes = rows[~empty], rows[empty]
        tasks = [whole[lo:hi] for lo, hi in chunk_edges(len(whole))] or [whole]
        stages = list(model._density_scorer(model.log_priors)._stages())
        parts = list(in_order(partial(self._complete, model=model, stages=stages), tasks))
        step = _BLOCK // model.n_classes + 1
        parts += [
            self._expected(holes[i : i + step], model) for i in range(0, len(holes), step)
        ]
        return tuple(sum(each) for each in zip(*parts, strict=True))

    def _on_device(self, rows: Codes, model: GaussianModel) -> Sums:
        """Return the sums of rows that lie on a device, taken there in double precision."""
        x, scorer = self.table.x, model._density_scorer(model.log_priors)
        xp, w = namespace(x), self.table.weight

        def summed(lo: int, hi: int) -> Sums:
            part = xp.astype(taken(x, rows[lo:hi]), xp.float64)
            weight = None if w is None else constants_like(w[rows[lo:hi]], part)
            means = constants_like(model.centre + model.offsets, part)
            return shared_sums(part, device_score(scorer, part, Joint()), weight, means)

        parts = in_blocks(summed, len(rows), max(DEVICE_NUMBERS // x.shape[1], 4096))
        return tuple(sum(each) for each in zip(*parts, strict=True))

    def _complete(self, rows: Codes, model: GaussianModel, stages: Any) -> Sums:
        from suffice.core.model.loops import share_out
        from suffice.core.moments.loops import gather_tile, shared_chunk

        n_components, d = model.offsets.shape
        n_chunks = -(-min(_BLOCK, len(rows)) // LANES)
        tile, scores = empty_tile(n_chunks, d), empty_tile(n_chunks, n_components)
        weights, sums, total = np.zeros(n_components), np.zeros((n_components, d)), 0.0
        grams = np.zeros((n_components, tile.shape[1], tile.shape[1]))
        for lo in range(0, len(rows), _BLOCK):
            part = rows[lo : lo + _BLOCK]
            used = -(-len(part) // LANES)
            t, s, w = tile[:used], scores[:used], np.zeros(used * LANES)
            w[: len(part)] = 1.0 if self.table.weight is None else self.table.weight[part]
            gather_tile(self.table.x, part, model.centre, LANES, t)
            for stage in stages:
                stage(t, s)
            # p_ir = w_i softmax_r(log α_r + log N(x_i; μ_r, Σ_r))
            total += share_out(s, n_components, w.reshape(-1, LANES))
            shared_chunk(t, s, model.offsets, LANES, weights, sums, grams)
        low = np.tril(grams[:, :d, :d])
        return weights, sums, low + np.swapaxes(np.tril(low, -1), 1, 2), total

    def _expected(self, rows: Codes, model: GaussianModel) -> Sums:
        """Return sums expected of rows with holes, from moments by pattern of observed columns."""
        (x, w), each = self.some(rows), np.arange(model.n_classes)
        a = model.allowing_missing()._read(x, Joint(), model.log_priors)
        logs = log_sums(a, each[:1])
        p = w[:, None] * np.exp(a - logs)
        table = Table(np.repeat(x, len(each), 0), each, np.tile(each, len(x)), p.ravel())
        moments = Moments.of_table(table, storage="per-class", fourth=False, holes=True)
        found = e_step(moments, model.group_of, pooled=False)(model)
        scatters = found.scatter.values.reshape(len(each), *found.scatter.values.shape[-2:])
        return moments.weights, found.sums, scatters, float(w @ logs[:, 0])


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """Classes whose mixtures are fitted together: one class, or all where covariances are tied."""

    how: MixtureRecipe
    data: MixtureRows
    classes: list[int]
    counts: list[int]  # components of each
    targets: Any = None  # Ψ of each covariance  (G, d, d), from a start

    @cached_property
    def class_of(self) -> Codes:
        """Class of each component, (R,)."""
        return np.repeat(self.classes, self.counts)

    @cached_property
    def group_of(self) -> Codes:
        """Covariance of each component, (R,)."""
        if self.how.tied == "class":
            return np.searchsorted(self.classes, self.class_of)
        return np.arange(len(self.class_of)) * (not self.how.tied)

    def best(self, rng: np.random.Generator) -> Run:
        """Return the best of several starts, tried on some of the rows, run on all of them."""
        rows = [self.data.rows[k] for k in self.classes]
        if max(self.counts) == 1:
            sigmas = [self.data.single.covariance_of(k).dense() for k in self._class_of_group]
            means = self.data.single.offsets[self.classes]
            start = self._model(np.ones(len(rows)), means, np.stack(sigmas))
            return Run(self, start, [], arrived=True)
        few, runs, failed = [_some(own, rng) for own in rows], list[Run](), None
        for _ in range(self.how.n_init):
            try:
                problem, start = self.start(few, rng)
                runs.append(problem.run(few, start))
            except InvalidInputError as collapsed:
                failed = collapsed
        if failed and not runs:
            raise failed
        best = max(runs, key=lambda run: run.objectives[-1])
        whole = sum(map(len, few)) == sum(map(len, rows))
        return best if whole else best.problem.run(rows, best.model)

    @cached_property
    def _class_of_group(self) -> Codes:
        return self.class_of[np.unique(self.group_of, return_index=True)[1]]

    def start(self, rows: Sequence[Codes], rng: Any) -> tuple[MixtureProblem, GaussianModel]:
        """Return the problem with Ψ of clusters, and these as a model of covariances Ψ."""
        single, lent, parts = self.data.single, self.data.borrowed[self.classes], []
        for k, count, own in zip(self.classes, self.counts, rows, strict=True):
            sigma, (x, w) = single.covariance_of(k), self.data.some(own)
            y = x - single.centre - single.offsets[k]
            z = sigma.whiten(np.where(np.isnan(y), 0.0, y))
            one_cluster = np.zeros((1, z.shape[1])), np.ones(1), (w * z.T) @ z
            centres, shares, scatter = k_means(z, w, count, rng) if count > 1 else one_cluster
            root = sigma.colorize(np.eye(z.shape[1])).T
            one = (sigma.dense() - self.data.borrowed[k]) / count ** (2 / z.shape[1])
            means = single.offsets[k] + sigma.colorize(centres)
            parts.append((means, shares, root @ scatter @ root.T, one, w.sum()))
        within, one, w = (np.stack([part[i] for part in parts]) for i in (2, 3, 4))
        if self.how.tied is True:
            within, one, w = within.sum(0, keepdims=True), one.mean(0, keepdims=True), w.sum()
        psi = (within + one) / (np.reshape(w, (-1, 1, 1)) + 1) + lent[: len(within)]
        targets = psi[np.searchsorted(self.classes, self._class_of_group)]
        means, shares = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        return replace(self, targets=targets), self._model(shares, means, targets)

    def run(self, rows: Sequence[Codes], model: GaussianModel) -> Run:
        """Return where EM leads from a start."""
        least = self.how.tol * sum(self.data.table.weights[own].sum() for own in rows)
        objectives: list[float] = []
        while len(objectives) < self.how.max_iter:
            following, objective = self.step(rows, model)
            objectives.append(objective)
            if len(objectives) > 1 and objective - objectives[-2] < least:
                return Run(self, model, objectives, arrived=True)
            model = following
        return Run(self, model, objectives, arrived=False)

    def step(self, rows: Sequence[Codes], model: GaussianModel) -> tuple[GaussianModel, float]:
        """Return the model after an E- and an M-step, and the objective before them."""
        models = [model.some(slice(*ends)) for ends in pairwise(np.cumsum([0, *self.counts]))]
        parts = [self.data.sums(*each) for each in zip(rows, models, strict=True)]
        w, sums, scatters = (np.concatenate([part[i] for part in parts]) for i in range(3))
        # α_r = w_r / w_k,  μ_r ← μ_r + Σ_i p_ir z_i / w_r
        shift = sums / np.where(w > 0, w, 1.0)[:, None]
        # about the new means, and with the variance that the class borrows
        spread = self.data.borrowed[self.class_of] - shift[:, :, None] * shift[:, None, :]
        kappa, totals = self.how.prior_rows, np.bincount(self.group_of, w)
        scatter = kappa * self.targets
        np.add.at(scatter, self.group_of, scatters + w[:, None, None] * spread)
        # Σ_g = (S_g + κ Ψ_g) / (w_g + κ)
        sigmas = scatter / np.where(totals + kappa > 0, totals + kappa, 1.0)[:, None, None]
        total = np.bincount(self.class_of, w)[self.class_of]
        shares = np.where(total > 0, w, 1.0) / np.where(total > 0, total, 1.0)
        # log p(Σ_g) = −½ κ (log|Σ_g| − log|Ψ_g| + tr(Σ_g⁻¹ Ψ_g)) + …
        inverses = np.stack([sigma.dense_precision() for sigma in model.covariances])
        prior = (inverses * self.targets).sum() - np.linalg.slogdet(self.targets)[1].sum()
        prior += sum(sigma.log_det for sigma in model.covariances)
        objective = sum(part[3] for part in parts) - 0.5 * kappa * float(prior)
        return self._model(shares, model.offsets + shift, sigmas), objective

    def _model(self, shares: Floats, offsets: Floats, sigmas: Floats) -> GaussianModel:
        d, diagonal = offsets.shape[1], self.how.covariance == "diagonal"
        return GaussianModel.of(
            priors=shares,
            centre=self.data.single.centre,
            offsets=offsets,
            group_of=self.group_of,
            covariances=[self._covariance(g, sigma) for g, sigma in enumerate(sigmas)],
            n_covariance_parameters=len(sigmas) * (d if diagonal else d * (d + 1) // 2),
        )

    def _covariance(self, g: int, sigma: Floats) -> Covariance:
        diagonal = self.how.covariance == "diagonal"
        try:
            found = FullCovariance.of(sigma * np.eye(len(sigma)) if diagonal else sigma)
            return DiagonalCovariance(np.diagonal(found.factor).copy()) if diagonal else found
        except InvalidInputError:
            label = self.data.table.classes[self.class_of[self.group_of == g][0]].item()
            raise InvalidInputError(
                f"a component of class {label!r} has collapsed onto too few rows to have a "
                "covariance: set prior_rows above 0, or fewer n_components"
            ) from None


def _rows_of(table: Table) -> list[Codes]:
    """Return the rows of each class that have any weight."""
    codes = np.where(table.weights > 0, table.codes, -1)
    return [np.flatnonzero(codes == k) for k in range(table.n_classes)]


def _some(rows: Codes, rng: np.random.Generator) -> Codes:
    return rows if len(rows) <= SAMPLE else np.sort(rng.choice(rows, SAMPLE, replace=False))


def k_means(z: Floats, w: Floats, k: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Return k centres (k, d) by Lloyd from k-means++, their shares, and the scatter within."""
    centres, none = z[rng.choice(len(z), 1, p=w / w.sum())], EPS * w.sum()
    for _ in range(k - 1):
        # the next centre is the best of some rows drawn with probability ∝ w D²
        near = _distances(z, centres).min(1)
        p = w * near if near.any() else w
        tried = z[rng.choice(len(z), _TRIALS, p=p / p.sum())]
        left = w @ np.minimum(near[:, None], _distances(z, tried))
        centres = np.vstack([centres, tried[left.argmin()]])
    for _ in range(_LLOYD):
        nearest = _distances(z, centres).argmin(1)
        weights = np.maximum(np.bincount(nearest, w, k), none)
        sums = np.stack([np.bincount(nearest, w * column, k) for column in z.T], axis=1)
        centres = np.where(weights[:, None] > none, sums / weights[:, None], centres)
    far = z - centres[nearest]
    return centres, weights / weights.sum(), (w * far.T) @ far


def _distances(z: Floats, centres: Floats) -> Floats:
    return np.stack([np.square(z - centre).sum(1) for centre in centres], axis=1)
