"""Mixtures of Gaussians in every class, fitted by EM.

The E-step computes the share of each component in each row; the M-step computes moments with these
shares as weights. Both run over tiles of rows, so that the shares of all rows are never in memory.
Each covariance has an inverse-Wishart prior with κ pseudo-rows, which follow the class,

    Σ_r = (S_r + κ Ψ_k) / (w_r + κ)        Ψ_k = (W_k + Σ_k / R_k^(2/d)) / (w_k + 1)

where Σ_k is the covariance of the class, and W_k its scatter within the clusters that EM starts
from. The prior does not depend on units. If κ > 0, no component collapses, and a single component
is the Gaussian of its class for any κ. In directions in which a class does not vary, its components
have the variance that fills the class's single Gaussian.

References: Dempster, Laird & Rubin (1977); Hastie & Tibshirani (1996), JRSS B 58; Fraley &
Raftery (2007), J. Classification 24.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suffice.core.estimation.estimate import warn_of_relative_weights
from suffice.core.estimation.k_means import Clusters, k_means
from suffice.core.estimation.mixture_e_step import MixtureRows, rows_by_class, sampled_rows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.model.covariance import Covariance, DiagonalCovariance, FullCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.mixture import MixtureModel
from suffice.core.table import Table
from suffice.core.table.foreign import to_numpy
from suffice.core.table.sampling import ranks_within
from suffice.errors import InvalidInputError, NotConvergedWarning, warn
from suffice.typing import Codes, Floats

MOST = 12  # largest number of components per class that "auto" tries
FOLDS = 5


class MixtureRun(NamedTuple):
    """A mixture at the end of EM, and the course of the iteration."""

    problem: MixtureProblem
    model: GaussianModel
    objectives: list[float]  # log-likelihood plus log prior before each step
    converged: bool


def fit_mixtures(
    table: Table,
    counts: Sequence[int],
    settings: MixtureSettings,
    seed: int,
    *,
    quiet: bool = False,
) -> tuple[MixtureModel, list[MixtureRun]]:
    """Return mixtures with ``counts`` components per class, and the EM run of each problem."""
    rng = np.random.default_rng(seed)
    classes = list(range(table.n_classes))
    data = MixtureRows.of(table, settings, quiet=quiet)
    counts = [data.at_most(int(counts[k]), k, quiet=quiet) for k in classes]
    if not quiet and settings.prior_rows and max(counts) > 1:
        n_rows = sum(len(rows) for rows in data.rows)
        warn_of_relative_weights(n_rows, float(table.weights.sum()))
    if settings.tied is True:
        problems = [MixtureProblem(settings, data, classes, counts)]
    else:
        problems = [MixtureProblem(settings, data, [k], [counts[k]]) for k in classes]
    runs = [problem.best(rng) for problem in problems]
    if not quiet and not all(run.converged for run in runs):
        warn(
            f"EM stopped after max_iter={settings.max_iter} steps, before it converged: raise "
            "max_iter or tol",
            NotConvergedWarning,
        )
    components = _joined([run.model for run in runs])
    class_of = np.repeat(classes, counts)
    return MixtureModel(data.single.log_priors, components, class_of), runs


def _joined(models: list[GaussianModel]) -> GaussianModel:
    """Return one model with the components of all models."""
    covariances: list[Covariance] = []
    group_of = []
    for model in models:
        group_of.append(model.group_of + len(covariances))
        covariances.extend(model.covariances)
    return replace(
        models[0],
        log_priors=np.concatenate([model.log_priors for model in models]),
        offsets=np.concatenate([model.offsets for model in models]),
        covariances=tuple(covariances),
        group_of=np.concatenate(group_of),
        n_covariance_parameters=sum(model.n_covariance_parameters for model in models),
    )


def choose_counts(table: Table, settings: MixtureSettings, seed: int) -> list[int]:
    """Return the number of components of each class with the largest held-out likelihood.

    The numbers 1, 2, … are tried until two in a row do not improve on the best. A class with fewer
    than two rows for each fold has one component.
    """
    rng = np.random.default_rng(seed)
    n_classes = table.n_classes
    rows = np.concatenate([sampled_rows(rows, rng) for rows in rows_by_class(table)])
    table = table.take(rows)
    table = table.with_rows(to_numpy(table.x), table.names)
    active = np.bincount(table.codes, minlength=n_classes) >= 2 * FOLDS
    fold = np.where(active[table.codes], ranks_within(table.codes, rng) % FOLDS, -1)
    best = np.full(n_classes, -np.inf)
    chosen = np.ones(n_classes, int)
    for n in range(1, MOST + 1):
        if not active.any():
            break
        counts = np.where(active, n, 1)
        log_likelihood = _held_out_log_likelihood(table, fold, counts, settings, seed)
        is_better = active & (log_likelihood > best)
        best = np.where(is_better, log_likelihood, best)
        chosen = np.where(is_better, n, chosen)
        active = active & (chosen > n - 2)
    return [int(n) for n in chosen]


def _held_out_log_likelihood(
    table: Table,
    fold: Codes,
    counts: Codes,
    settings: MixtureSettings,
    seed: int,
) -> Floats:
    """Return Σ w log p(x | class) over each class's held-out rows, or over all if tied, (K,)."""
    total = np.zeros(table.n_classes)
    quick = replace(settings, n_init=1, tol=max(settings.tol, 1e-4))
    for f in range(FOLDS):
        model, _ = fit_mixtures(
            table.take(fold != f), counts.tolist(), quick, seed, quiet=True
        )
        held_out = table.take(fold == f)
        log_p = model.allowing_missing().class_log_density(held_out.x)
        log_p_of_label = log_p[np.arange(held_out.n_rows), held_out.codes]
        total += np.bincount(held_out.codes, held_out.weights * log_p_of_label, len(total))
    if settings.tied is True:
        return np.full(len(total), total.sum())
    return total


class ClassStart(NamedTuple):
    """Clusters of one class, from which EM starts."""

    means: Floats  # cluster means minus the centre of the model  (R, d)
    shares: Floats  # (R,)
    within_scatter: Floats  # W_k  (d, d)
    component_covariance: Floats  # Σ_k / R_k^(2/d), without borrowed variance  (d, d)
    weight: float  # w_k


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """Classes whose mixtures are fitted together: one class, or all if covariances are tied."""

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
        """Run EM from several starts on a sample; run it from the best one on all rows."""
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
        """Return the problem with Ψ from clusters, and the clusters as a model with these Ψ."""
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
        # Ψ_k = (W_k + Σ_k / R_k^(2/d)) / (w_k + 1), plus the class's borrowed variance
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
        """Return clusters of the rows of one class, computed after whitening them."""
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
        while len(objectives) < self.settings.max_iter:
            following, objective = self.step(rows, model)
            objectives.append(objective)
            if len(objectives) > 1 and objective - objectives[-2] < least_gain:
                return MixtureRun(self, model, objectives, converged=True)
            model = following
        return MixtureRun(self, model, objectives, converged=False)

    def step(self, rows: Sequence[Codes], model: GaussianModel) -> tuple[GaussianModel, float]:
        """Return the model after an E-step and an M-step, and the objective before them."""
        if self.targets is None:
            raise TypeError("this problem has no prior yet: take the one that start returns")
        ends = np.cumsum([0, *self.counts])
        models = [model.some(slice(lo, hi)) for lo, hi in pairwise(ends)]
        # E-step: p_ir = π_r N(x_i; μ_r, Σ_r) / Σ_s π_s N(x_i; μ_s, Σ_s); ``MixtureRows.sums`` of
        # mixture_e_step.py computes and sums the p_ir tile by tile
        parts = [self.data.sums(*pair) for pair in zip(rows, models, strict=True)]
        w = np.concatenate([part.weights for part in parts])
        sums = np.concatenate([part.sums for part in parts])
        scatters = np.concatenate([part.scatters for part in parts])
        # M-step: μ_r ← μ_r + Σ_i p_ir z_i / w_r
        shift = sums / np.where(w > 0, w, 1.0)[:, None]
        # S_r about the new means, plus the class's borrowed variance
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
                "covariance: set prior_rows above 0, or fewer n_components"
            ) from None
