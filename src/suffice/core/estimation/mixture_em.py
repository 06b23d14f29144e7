"""EM for mixtures of Gaussians: the E-step, the M-step, and the start of the iteration.

With α_r, μ_r and Σ_r the share, mean and covariance of component r of class k, w_i the weight of
row i, and w_k the weight of the class,

    E-step:  p_ir = w_i α_r N(x_i; μ_r, Σ_r) / Σ_s α_s N(x_i; μ_s, Σ_s)
    M-step:  w_r = Σ_i p_ir,  α_r = w_r / w_k,  μ_r = Σ_i p_ir x_i / w_r
             S_r = Σ_i p_ir (x_i − μ_r)(x_i − μ_r)ᵀ,  Σ_r = (S_r + κ Ψ_k) / (w_r + κ)

``responsibilities`` is the E-step of a block of rows, and ``MixtureProblem.step`` contains the
M-step. The E-step runs over tiles of rows, so that the shares p_ir of all rows are never in memory
together. Each covariance has an inverse-Wishart prior with κ pseudo-rows. For d features and R_k
components,

    Ψ_k = (W_k + Σ_k / R_k^(2/d)) / (w_k + 1)

where Σ_k is the covariance of the class, and W_k the scatter of the class within the clusters from
which EM starts. The prior does not depend on units. If κ > 0, no component collapses. A class with
a single component gets its Gaussian for any κ. In directions in which a class does not vary, its
components get the variance that fills the Gaussian of the class.

References: Dempster, Laird & Rubin (1977); Hastie & Tibshirani (1996), JRSS B 58; Fraley &
Raftery (2007), J. Classification 24.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suffice.core.estimation.k_means import Clusters, k_means
from suffice.core.estimation.mixture_rows import MixtureRows, sampled_rows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.missing.em import e_step as e_step_of_patterns
from suffice.core.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.core.model.device import device_score
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.mixture import log_sums
from suffice.core.model.posterior import Joint
from suffice.core.model.tiles import LANES, empty_tile
from suffice.core.moments import Moments
from suffice.core.moments.device import shared_sums
from suffice.core.progress import Progress
from suffice.core.table import Table
from suffice.core.table.foreign import constants_like, in_blocks, is_foreign, namespace
from suffice.core.table.matrix import taken
from suffice.core.threads import chunk_edges, in_order
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats

# most numbers in a block of rows on a device
DEVICE_NUMBERS = 1 << 26
_BLOCK = 32 * LANES  # rows of a tile


@dataclass(frozen=True, slots=True, eq=False)
class ComponentSums:
    """Sums over rows for each of R components, with p = w_i p(r | x_i) and z = x_i − μ_r."""

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


def e_step(data: MixtureRows, rows: Codes, model: GaussianModel) -> ComponentSums:
    """Return the sums of an E-step, given components with their shares as the model's priors."""
    if is_foreign(data.table.x):
        return _sums_on_device(data, rows, model)
    if data.has_gaps is None:
        complete = rows
        gaps = rows[:0]
    else:
        complete = rows[~data.has_gaps[rows]]
        gaps = rows[data.has_gaps[rows]]
    chunks = [complete[lo:hi] for lo, hi in chunk_edges(len(complete))]
    stages = list(model._density_scorer(model.log_priors)._stages())
    sums_of_chunk = partial(_sums_of_complete, data=data, model=model, stages=stages)
    parts = list(in_order(sums_of_chunk, chunks or [complete]))
    step = _BLOCK // model.n_classes + 1
    for first in range(0, len(gaps), step):
        parts.append(_expected_sums(data, gaps[first : first + step], model))  # noqa: PERF401
    return ComponentSums.total(parts)


def _sums_on_device(data: MixtureRows, rows: Codes, model: GaussianModel) -> ComponentSums:
    """Return the sums of rows on a device, computed there in double precision."""
    x = data.table.x
    xp = namespace(x)
    weight = data.table.weight
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
    rows: Codes,
    data: MixtureRows,
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
        w[: len(block)] = 1.0 if data.table.weight is None else data.table.weight[block]
        gather_tile(data.table.x, block, model.centre, LANES, t)
        for stage in stages:
            stage(t, s)
        # p_ir = w_i softmax_r(log α_r + log N(x_i; μ_r, Σ_r)); ``share_out`` of
        # core/model/loops.py is the compiled form of ``responsibilities``
        log_likelihood += share_out(s, n_components, w.reshape(-1, LANES))
        shared_chunk(t, s, model.offsets, LANES, weights, sums, grams)
    lower = np.tril(grams[:, :d, :d])
    scatters = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
    return ComponentSums(weights, sums, scatters, log_likelihood)


def _expected_sums(data: MixtureRows, rows: Codes, model: GaussianModel) -> ComponentSums:
    """Return the expected sums of rows with missing values, pattern by pattern."""
    x, w = data.values_and_weights(rows)
    components = np.arange(model.n_classes)
    a = model.allowing_missing()._read(x, Joint(), model.log_priors)
    p, log_p = responsibilities(a, w)
    # a table that holds every row once for each component, with the component's share as weight
    table = Table(
        np.repeat(x, len(components), 0),
        components,
        np.tile(components, len(x)),
        p.ravel(),
    )
    moments = Moments.of_table(table, storage="per-class", fourth=False, holes=True)
    expected = e_step_of_patterns(moments, model.group_of, pooled=False)(model)
    scatters = expected.scatter.values
    return ComponentSums(
        weights=moments.weights,
        sums=expected.sums,
        scatters=scatters.reshape(len(components), *scatters.shape[-2:]),
        log_likelihood=float(w @ log_p),
    )


def responsibilities(a: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return p_ir, the shares of the components times the row's weight, and log p(x) (n,)."""
    # a_ir = log α_r + log N(x_i; μ_r, Σ_r),  log p(x_i) = log Σ_r exp a_ir
    log_p = log_sums(a, np.zeros(1, np.intp))[:, 0]
    # p_ir = w_i exp(a_ir − log p(x_i))
    return w[:, None] * np.exp(a - log_p[:, None]), log_p


class MixtureRun(NamedTuple):
    """The mixture at the end of EM, and the objective at each step."""

    problem: MixtureProblem
    model: GaussianModel
    objectives: list[float]  # log-likelihood plus log prior before each step
    converged: bool


class ClassStart(NamedTuple):
    """The clusters of a class from which EM starts."""

    means: Floats  # means of the clusters minus the centre of the model  (R, d)
    shares: Floats  # (R,)
    within_scatter: Floats  # W_k  (d, d)
    # Σ_k / R_k^(2/d), without the variance that other classes fill  (d, d)
    component_covariance: Floats
    weight: float  # w_k


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """The fit of one class or, if all components share a covariance, of all classes."""

    settings: MixtureSettings
    data: MixtureRows
    classes: list[int]
    counts: list[int]  # number of components of each class
    targets: Floats | None = None  # Ψ of each covariance, set by ``start``  (G, d, d)

    @cached_property
    def class_of(self) -> Codes:
        """Class of each component, (R,)."""
        return np.repeat(self.classes, self.counts)

    @cached_property
    def group_of(self) -> Codes:
        """Position of each component's covariance, (R,)."""
        if self.settings.tied == "class":
            return np.searchsorted(self.classes, self.class_of)
        if self.settings.tied:
            return np.zeros(len(self.class_of), np.intp)
        return np.arange(len(self.class_of))

    @cached_property
    def _class_of_group(self) -> Codes:
        """Class of the first component of each covariance, (G,)."""
        _, first = np.unique(self.group_of, return_index=True)
        return self.class_of[first]

    def best(self, rng: np.random.Generator) -> MixtureRun:
        """Return the run of EM on all rows, from the best result of several starts on a sample."""
        if max(self.counts) == 1:
            return MixtureRun(self, self._single_gaussians(), [], converged=True)
        all_rows = [self.data.rows[k] for k in self.classes]
        some_rows = [sampled_rows(rows, rng) for rows in all_rows]
        runs: list[MixtureRun] = []
        collapse: InvalidInputError | None = None
        for _ in range(self.settings.n_init):
            try:
                problem, start = self.start(some_rows, rng)
                runs.append(problem.run(some_rows, start))
            except InvalidInputError as error:
                collapse = error
        if collapse is not None and not runs:
            raise collapse
        best = max(runs, key=lambda run: run.objectives[-1])
        if sum(map(len, some_rows)) == sum(map(len, all_rows)):
            return best
        return best.problem.run(all_rows, best.model)

    def _single_gaussians(self) -> GaussianModel:
        """Return mixtures with one component: the Gaussian of each class."""
        single = self.data.single
        sigmas = np.stack([single.covariance_of(k).dense() for k in self._class_of_group])
        return self.model(np.ones(len(self.classes)), single.offsets[self.classes], sigmas)

    def start(
        self,
        rows: Sequence[Codes],
        rng: np.random.Generator,
    ) -> tuple[MixtureProblem, GaussianModel]:
        """Return the problem with the Ψ of clusters, and the model that the clusters define."""
        starts = [
            self._class_start(k, count, class_rows, rng)
            for k, count, class_rows in zip(self.classes, self.counts, rows, strict=True)
        ]
        within = np.stack([start.within_scatter for start in starts])
        component = np.stack([start.component_covariance for start in starts])
        weights = np.array([start.weight for start in starts])
        if self.settings.tied is True:
            within = within.sum(0, keepdims=True)
            component = component.mean(0, keepdims=True)
            weights = weights.sum(keepdims=True)
        # Ψ_k = (W_k + Σ_k / R_k^(2/d)) / (w_k + 1), plus the variance that other classes fill
        borrowed = self.data.borrowed[self.classes][: len(within)]
        psi = (within + component) / (weights[:, None, None] + 1) + borrowed
        targets = psi[np.searchsorted(self.classes, self._class_of_group)]
        means = np.concatenate([start.means for start in starts])
        shares = np.concatenate([start.shares for start in starts])
        return replace(self, targets=targets), self.model(shares, means, targets)

    def _class_start(
        self,
        k: int,
        count: int,
        rows: Codes,
        rng: np.random.Generator,
    ) -> ClassStart:
        """Return clusters of the rows of one class, computed from whitened rows."""
        single = self.data.single
        sigma = single.covariance_of(k)
        x, w = self.data.values_and_weights(rows)
        centred = x - single.centre - single.offsets[k]
        z = sigma.whiten(np.where(np.isnan(centred), 0.0, centred))
        d = z.shape[1]
        if count == 1:
            clusters = Clusters(np.zeros((1, d)), np.ones(1), (w * z.T) @ z)
        else:
            clusters = k_means(z, w, count, rng)
        root = sigma.colorize(np.eye(d)).T
        return ClassStart(
            means=single.offsets[k] + sigma.colorize(clusters.centres),
            shares=clusters.shares,
            within_scatter=root @ clusters.within_scatter @ root.T,
            component_covariance=(sigma.dense() - self.data.borrowed[k]) / count ** (2 / d),
            weight=w.sum(),
        )

    def run(self, rows: Sequence[Codes], model: GaussianModel) -> MixtureRun:
        """Return the result of EM that starts from ``model``."""
        weights = self.data.table.weights
        least_gain = self.settings.tol * sum(weights[class_rows].sum() for class_rows in rows)
        objectives: list[float] = []
        with Progress(what="mixtures: steps of EM") as progress:
            while len(objectives) < self.settings.max_iter:
                following, objective = self.step(rows, model)
                objectives.append(objective)
                if len(objectives) > 1 and objective - objectives[-2] < least_gain:
                    return MixtureRun(self, model, objectives, converged=True)
                model = following
                progress.step()
        return MixtureRun(self, model, objectives, converged=False)

    def step(self, rows: Sequence[Codes], model: GaussianModel) -> tuple[GaussianModel, float]:
        """Return the model after an E-step and an M-step, and the objective before these steps."""
        if self.targets is None:
            raise TypeError("this problem has no prior yet: take the one that start returns")
        ends = np.cumsum([0, *self.counts])
        models = [model.some(slice(lo, hi)) for lo, hi in pairwise(ends)]
        # E-step: w_r = Σ_i p_ir,  Σ_i p_ir z_i,  Σ_i p_ir z_i z_iᵀ
        parts = [
            e_step(self.data, class_rows, of_class)
            for class_rows, of_class in zip(rows, models, strict=True)
        ]
        w = np.concatenate([part.weights for part in parts])
        sums = np.concatenate([part.sums for part in parts])
        scatters = np.concatenate([part.scatters for part in parts])
        # M-step: μ_r ← μ_r + Σ_i p_ir z_i / w_r
        shift = sums / np.where(w > 0, w, 1.0)[:, None]
        # M_g is the sum of S_r about the new means, plus the variance that other classes fill
        spread = self.data.borrowed[self.class_of] - shift[:, :, None] * shift[:, None, :]
        kappa = self.settings.prior_rows
        scatter = kappa * self.targets
        np.add.at(scatter, self.group_of, scatters + w[:, None, None] * spread)
        # Σ_g = (M_g + κ Ψ_g) / (w_g + κ)
        totals = np.bincount(self.group_of, w) + kappa
        sigmas = scatter / np.where(totals > 0, totals, 1.0)[:, None, None]
        # shares α_r = w_r / w_k of the components in their classes
        class_weight = np.bincount(self.class_of, w)[self.class_of]
        has_weight = class_weight > 0
        shares = np.where(has_weight, w, 1.0) / np.where(has_weight, class_weight, 1.0)
        log_likelihood = sum(part.log_likelihood for part in parts)
        objective = log_likelihood + self._log_prior(model, self.targets)
        return self.model(shares, model.offsets + shift, sigmas), objective

    def _log_prior(self, model: GaussianModel, targets: Floats) -> float:
        """Return the log density of the inverse-Wishart prior, up to a constant."""
        # log p(Σ_g) = −½ κ (log|Σ_g| − log|Ψ_g| + tr(Σ_g⁻¹ Ψ_g)) + …
        inverses = np.stack([sigma.dense_precision() for sigma in model.covariances])
        distance = (inverses * targets).sum() - np.linalg.slogdet(targets)[1].sum()
        distance += sum(sigma.log_det for sigma in model.covariances)
        return -0.5 * self.settings.prior_rows * float(distance)

    def model(self, shares: Floats, offsets: Floats, sigmas: Floats) -> GaussianModel:
        """Return components with these shares (R,), means (R, d) and covariances (G, d, d)."""
        d = offsets.shape[1]
        n_parameters = d if self.settings.is_diagonal else d * (d + 1) // 2
        return GaussianModel.of(
            priors=shares,
            centre=self.data.single.centre,
            offsets=offsets,
            group_of=self.group_of,
            covariances=[self._covariance(g, sigma) for g, sigma in enumerate(sigmas)],
            n_covariance_parameters=len(sigmas) * n_parameters,
        )

    def _covariance(self, g: int, sigma: Floats) -> Covariance:
        try:
            if self.settings.is_diagonal:
                factor = FullCovariance.of(sigma * np.eye(len(sigma))).factor
                return DiagonalCovariance(np.diagonal(factor).copy())
            return FullCovariance.of(sigma)
        except InvalidInputError:
            label = self.data.table.classes[self._class_of_group[g]].item()
            raise InvalidInputError(
                f"a component of class {label!r} has collapsed onto too few rows to have a "
                "covariance: set prior_rows above 0, or lower n_components"
            ) from None
