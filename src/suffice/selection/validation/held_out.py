"""Losses of held-out rows under models estimated from the sums of the other folds."""

import pickle
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, Self, TypeAlias

import numpy as np

from suffice.core.decision.predictions import losses_of_rows, summed_losses
from suffice.core.estimation.covariance_structures import (
    FullStructure,
)
from suffice.core.estimation.degenerate import ReferenceCovariance, resolved_variances
from suffice.core.estimation.divisors import divided
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.few_rows_estimates import few_rows_covariance_path
from suffice.core.estimation.groups import full_groups
from suffice.core.estimation.regularisation import Regularisation, pooled_groups
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import rank_tolerance, scaled_cholesky, unit_scale
from suffice.core.model.covariance import Covariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.linear import discriminant
from suffice.core.model.posterior import LogPosterior
from suffice.core.moments import Moments
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.core.table.foreign import is_foreign, to_numpy
from suffice.selection.validation.folds import Fold
from suffice.typing import Codes, Flags, Floats

_NUMBERS = 1 << 16  # number of posteriors computed at a time, which fit into the cache
_FEWEST_ROWS = 256  # with fewer rows at a time, matrix products are slow
# limit on the numbers in singular covariances that are completed at once
_MOST_FILLED = 1 << 20


def held_out_losses(
    settings_list: Sequence[Settings],
    fold: Fold,
    temperatures: Floats,
    fixed_weights: Floats | None = None,
) -> Floats:
    """Return mean error, log-loss and Brier score, (C, T, 3), by setting and temperature.

    ``fixed_weights`` (K,) replace the class weights of the training rows in the priors.
    """
    weights = fold.train.weights if fixed_weights is None else fixed_weights
    # a class without training rows gets prior 0
    if fixed_weights is not None or not weights.all():
        settings_list = [
            settings.with_priors_of(weights, fold.train) for settings in settings_list
        ]
    losses = np.full((len(settings_list), len(temperatures), 3), np.nan)
    for places in _path_groups(settings_list):
        group = [settings_list[i] for i in places]
        losses[places] = _path_losses(group, fold, temperatures)
    for i in np.flatnonzero(np.isnan(losses).any((1, 2))).tolist():
        losses[i] = _model_losses(settings_list[i], fold, temperatures)
    return losses


def _path_groups(settings_list: Sequence[Settings]) -> list[list[int]]:
    """Return groups of indices of settings that differ only in γ and can be evaluated together."""
    groups: dict[Hashable, list[int]] = {}
    for i, settings in enumerate(settings_list):
        how = settings.regularisation
        key: Hashable = i
        if _has_path(settings, how):
            # pickled, because priors may contain arrays, which are not hashable
            priors = None if settings.priors is None else pickle.dumps(settings.priors)
            key = (settings.tied_classes, how.unbiased, how.target, priors, how.pooling)
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _has_path(settings: Settings, how: Regularisation) -> bool:
    """Return whether the covariance is full, and pooling and shrinkage are numbers."""
    is_full = isinstance(settings.structure, FullStructure)
    is_fixed = how.shrinkage.fixed is not None
    is_diagonal = how.target.keeps_variances or settings.tied_classes is True
    return settings.is_plug_in and is_full and is_fixed and is_diagonal


def _model_losses(settings: Settings, fold: Fold, temperatures: Floats) -> Floats:
    """Return the losses (T, 3) of the model estimated with the settings."""
    held_out = fold.held_out
    model = estimate(fold.train, settings, quiet=True)
    rows = held_out.x if isinstance(model, GaussianModel) else to_numpy(held_out.x)
    scores = to_numpy(model.scores(rows))
    losses = np.empty((len(temperatures), 3))
    for i, temperature in enumerate(temperatures):
        log_posterior = LogPosterior(temperature).read(scores)
        row_losses = losses_of_rows(log_posterior, held_out.codes)
        losses[i] = np.average(row_losses, axis=1, weights=held_out.weight)
    return losses


def log_priors_of(settings: Settings, train: Moments) -> Floats:
    """Return log π (K,), −∞ for classes without rows."""
    priors = settings.class_priors(train.classes, train.weights)
    with np.errstate(divide="ignore"):
        return np.log(np.where(train.weights > 0, priors, 0.0))


def _path_losses(
    settings_list: Sequence[Settings], fold: Fold, temperatures: Floats
) -> Floats:
    """Return the losses (Γ, T, 3) of settings that differ only in γ.

    The losses of a setting that cannot be evaluated together with the others are NaN.
    """
    first = settings_list[0]
    held_out = fold.held_out
    how = first.regularisation
    losses = np.full((len(settings_list), len(temperatures), 3), np.nan)
    if not _has_path(first, how) or is_foreign(held_out.x):
        return losses
    fixed = [settings.regularisation.shrinkage.fixed for settings in settings_list]
    gammas = np.array(fixed, np.float64)
    group_of = first.group_of(fold.train.classes)
    path = _path_of(fold.train, group_of, how, gammas)
    if path is None:
        return losses
    log_priors = log_priors_of(first, fold.train)
    for places, scores_of in path.parts():
        step = max(_FEWEST_ROWS, _NUMBERS // (len(group_of) * len(places)))
        total = np.zeros((len(places), len(temperatures), 3))
        for lo in range(0, held_out.n_rows, step):
            rows = slice(lo, lo + step)
            scores = scores_of(np.asarray(held_out.x[rows], np.float64))
            scores += log_priors[:, None, None]
            codes = held_out.codes[rows]
            weights = held_out.weights[rows]
            total += summed_losses(scores, codes, weights, temperatures)
        losses[places] = total / held_out.weights.sum()
    return losses


# maps rows (m, d) to log p(x | k) for some γ, (K, Γ, m), up to a term common to all classes
_Scores: TypeAlias = Callable[[Floats], Floats]


class _Path(Protocol):
    """Gaussian models for several shrinkages γ."""

    def parts(self) -> Iterator[tuple[Codes, _Scores]]:
        """Yield the indices of some values of γ, and a function that computes their scores."""


def _path_of(
    train: Moments,
    group_of: Codes,
    how: Regularisation,
    gammas: Floats,
) -> _Path | None:
    """Return the models for every γ; None if singular covariances are too large to complete.

    If a shared covariance is singular at some γ, and too large to complete, the path has no part
    for this γ.
    """
    if isinstance(train.scatter, RowScatter) and train.scatter.has_few_rows:
        return _FewRowsPath(
            origin=train.grand_mean,
            offsets=train.centred_means,
            group_of=group_of,
            covariances=few_rows_covariance_path(train, group_of, how, gammas),
        )
    groups = pooled_groups(full_groups(train, group_of), how.pooling)
    sigmas = divided(groups, unbiased=how.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    resolved = resolved_variances(variances, train, group_of) > 0
    is_small = len(gammas) * sigmas.size <= _MOST_FILLED
    if len(sigmas) == 1 and not how.target.keeps_variances:
        # a target that is not the diagonal has variance in every feature
        pooled_deviations = unit_scale(train.scatter.pooled_diagonal() / train.total_weight)
        target = how.target.variances(variances, pooled_deviations)[0]
        return _TiedPath.of(train, sigmas[0], target, gammas)
    if not resolved.all() and (is_small or len(sigmas) > 1):
        return _filled_path(train, group_of, sigmas, resolved, gammas) if is_small else None
    if len(sigmas) == 1:
        target = np.where(resolved, variances, 0.0)[0]
        path = _TiedPath.of(train, sigmas[0], target, gammas)
        is_filled = is_small and len(path.places) < len(gammas)
        return _filled_path(train, group_of, sigmas, resolved, gammas) if is_filled else path
    # Σ = diag(s) V diag(e) Vᵀ diag(s),   e(γ) = (1 − γ) e + γ
    scale = np.sqrt(variances)
    values, vectors = np.linalg.eigh(sigmas / scale[:, None] / scale[..., None])
    e = (1 - gammas) * values[..., None] + gammas  # (G, d, Γ)
    if e.min() <= rank_tolerance(e.shape[1]):
        return _filled_path(train, group_of, sigmas, resolved, gammas) if is_small else None
    return _ClassPath(
        origin=train.grand_mean,
        offsets=train.centred_means,
        group_of=group_of,
        rotations=vectors / scale[..., None],
        eigenvalues=e,
        log_dets=np.log(e).sum(1) + 2 * np.log(scale).sum(1)[:, None],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _TiedPath:
    """One covariance for all classes, with linear scores; one eigendecomposition serves every γ.

    The features c are constant within classes, and get their variance from a reference covariance
    R. The other features v have the covariance Σ(γ) about B (x_c − μ_c), with B = R_vc R_cc⁻¹.
    """

    origin: Floats  # o  (d,)
    offsets: Floats  # class means minus o  (K, d)
    varying: Codes  # v: features with variance within classes
    constant: Codes  # c: all other features
    rotation: Floats  # Σ(γ)⁻¹ = R diag(1 / e(γ)) Rᵀ  (v, v)
    eigenvalues: Floats  # e(γ) of the full-rank covariances  (v, Γ)
    places: Codes  # indices of the values of γ with full rank  (Γ,)
    regression: Floats  # B  (v, c)
    constant_precision: Floats  # R_cc⁻¹  (c, c)

    @classmethod
    def of(cls, train: Moments, sigma: Floats, target: Floats, gammas: Floats) -> Self:
        """Return the models of every γ for which the varying features have full rank.

        ``target`` (d,) is the diagonal of T; it is zero for constant features.
        """
        varying = np.flatnonzero(target > 0)
        constant = np.flatnonzero(target <= 0)
        # T = diag(s²),   Σ = diag(s) V diag(e) Vᵀ diag(s),   e(γ) = (1 − γ) e + γ
        scale = np.sqrt(target[varying])
        scaled = sigma[np.ix_(varying, varying)] / scale / scale[:, None]
        values, vectors = np.linalg.eigh(scaled)
        e = (1 - gammas) * values[:, None] + gammas
        tolerance = rank_tolerance(len(sigma))
        places = np.flatnonzero(e.min(0, initial=1.0) > tolerance)
        is_regular = values.min(initial=1.0) > tolerance
        regression, precision = _of_constants(
            train, varying, constant, is_block_diagonal=is_regular
        )
        return cls(
            origin=train.grand_mean,
            offsets=train.centred_means,
            varying=varying,
            constant=constant,
            rotation=vectors / scale[:, None],
            eigenvalues=e[:, places],
            places=places,
            regression=regression,
            constant_precision=precision,
        )

    def parts(self) -> Iterator[tuple[Codes, _Scores]]:
        n_classes = len(self.offsets)
        step = max(1, _NUMBERS // (n_classes * _FEWEST_ROWS))
        for lo in range(0, len(self.places), step):
            gammas = np.arange(lo, min(lo + step, len(self.places)))
            yield self.places[gammas], self._scores_of(gammas)

    def _scores_of(self, gammas: Codes) -> _Scores:
        # y = x_v − B x_c:   wᵀ y + mᵀ R_cc⁻¹ x_c − ½ (wᵀ m_y + mᵀ R_cc⁻¹ m),   w = Σ(γ)⁻¹ m_y,
        # which is the part of the score that differs between tied classes
        means = (
            self.offsets[:, self.varying] - self.offsets[:, self.constant] @ self.regression.T
        )
        of_constants = self.offsets[:, self.constant] @ self.constant_precision
        rotated = means @ self.rotation
        e = self.eigenvalues[:, gammas]
        k, d = self.offsets.shape
        weights = np.empty((k, len(gammas), d))
        along = (rotated[:, None] / e.T).reshape(k * len(gammas), len(e))
        along = along @ self.rotation.T
        weights[:, :, self.varying] = along.reshape(k, len(gammas), -1)
        explained = along @ self.regression
        weights[:, :, self.constant] = of_constants[:, None] - explained.reshape(
            k, len(gammas), -1
        )
        bias = -0.5 * np.einsum("kgd,kd->kg", weights, self.offsets)

        def scores(x: Floats) -> Floats:
            products = weights.reshape(-1, d) @ (x - self.origin).T
            products = products.reshape(*bias.shape, -1)
            products += bias[..., None]
            return products

        return scores


def _of_constants(
    train: Moments, varying: Codes, constant: Codes, *, is_block_diagonal: bool
) -> tuple[Floats, Floats]:
    """Return B = R_vc R_cc⁻¹ and R_cc⁻¹ of the reference covariance R of ``_TiedPath``.

    If the varying features have full rank, R is block-diagonal, and only its block of the constant
    features is needed.
    """
    if not len(constant):
        return np.zeros((len(varying), 0)), np.zeros((0, 0))
    if is_block_diagonal:
        factor = ReferenceCovariance.of(train.select(constant)).inverse
        return np.zeros((len(varying), len(constant))), factor.T @ factor
    factor = ReferenceCovariance.of(train).factor
    precision = np.linalg.inv(factor[constant] @ factor[constant].T)
    regression = factor[varying] @ factor[constant].T @ precision
    return np.asarray(regression), np.asarray(precision)


@dataclass(frozen=True, slots=True, eq=False)
class _ClassPath:
    """A covariance per group of classes, with quadratic scores."""

    origin: Floats  # o  (d,)
    offsets: Floats  # class means minus o  (K, d)
    group_of: Codes  # group of each class  (K,)
    rotations: Floats  # z = (x − o) R  (G, d, d)
    eigenvalues: Floats  # e(γ)  (G, d, Γ)
    log_dets: Floats  # log|Σ(γ)|  (G, Γ)

    def parts(self) -> Iterator[tuple[Codes, _Scores]]:
        yield np.arange(self.eigenvalues.shape[2]), self._scores

    def _scores(self, x: Floats) -> Floats:
        rows = x - self.origin
        n_gammas = self.eigenvalues.shape[2]
        scores = np.empty((len(self.group_of), n_gammas, len(x)))
        for k, g in enumerate(self.group_of):
            z = rows @ self.rotations[g]
            z -= self.offsets[k] @ self.rotations[g]
            # −½ (log|Σ(γ)| + Σ_i (z_i − m_i)² / e_i(γ))
            distances = (1 / self.eigenvalues[g]).T @ np.square(z, out=z).T
            scores[k] = -0.5 * (distances + self.log_dets[g][:, None])
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class _FewRowsPath:
    """Covariances for fewer rows than features."""

    origin: Floats  # o  (d,)
    offsets: Floats  # class means minus o  (K, d)
    group_of: Codes  # group of each class  (K,)
    covariances: Sequence[Sequence[Covariance]]  # Σ_g(γ) for each γ and group

    def parts(self) -> Iterator[tuple[Codes, _Scores]]:
        for i, covariances in enumerate(self.covariances):
            if len(covariances) == 1:
                yield np.array([i]), self._linear_scores(covariances[0])
            else:
                yield np.array([i]), partial(self._quadratic_scores, covariances)

    def _linear_scores(self, covariance: Covariance) -> _Scores:
        # mᵀ Σ⁻¹ x − ½ mᵀ Σ⁻¹ m: the part of the score that differs between tied classes
        weights, bias = discriminant(covariance, self.offsets, np.zeros(len(self.offsets)))

        def scores(x: Floats) -> Floats:
            return (weights @ (x - self.origin).T + bias[:, None])[:, None]

        return scores

    def _quadratic_scores(self, covariances: Sequence[Covariance], x: Floats) -> Floats:
        rows = x - self.origin
        scores = np.empty((len(self.group_of), 1, len(x)))
        for k, g in enumerate(self.group_of):
            distances = covariances[g].squared_distances(rows - self.offsets[k])
            # −½ (log|Σ(γ)| + Δ²)
            scores[k, 0] = -0.5 * (distances + covariances[g].log_det)
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class _FilledPath:
    """Singular covariances, completed with variances of the pooled covariance."""

    origin: Floats  # o  (d,)
    offsets: Floats  # class means minus o  (K, d)
    whitenings: Floats  # (Γ, K, d, d)
    log_dets: Floats  # log|Σ(γ)|  (Γ, K, 1)

    def parts(self) -> Iterator[tuple[Codes, _Scores]]:
        yield np.arange(len(self.whitenings)), self._scores

    def _scores(self, x: Floats) -> Floats:
        rows = (x - self.origin) - self.offsets[:, None]  # (K, m, d)
        distances = [np.square(rows @ whitening).sum(-1) for whitening in self.whitenings]
        # −½ (log|Σ(γ)| + |z|²)
        return np.asarray(-0.5 * (np.stack(distances) + self.log_dets)).swapaxes(0, 1)


def _filled_path(
    train: Moments,
    group_of: Codes,
    sigmas: Floats,
    resolved: Flags,
    gammas: Floats,
) -> _FilledPath:
    """Return the path of completed covariances; ``resolved`` (G, d) says what has variance."""
    # Σ(γ) = (1 − γ) Σ + γ diag Σ
    kept_shares = 1 - gammas[:, None, None] * (1 - np.eye(sigmas.shape[-1]))
    paths = kept_shares[:, None] * sigmas  # (Γ, G, d, d)
    is_factored = np.empty(paths.shape[:2], bool)  # (Γ, G)
    for place in np.ndindex(is_factored.shape):
        is_factored[place] = scaled_cholesky(paths[place]) is not None
    reference = ReferenceCovariance.of(train)
    a, v, filled = reference.spectrum(paths)
    is_regular = (is_factored & resolved.all(1))[..., None]
    # Even if a factor exists, rounding may have left an eigenvalue of 0 with either sign.
    e = np.where(is_regular & (a > 0), a, filled)[:, group_of]  # (Γ, K, d)
    rotations = (reference.inverse.T @ v)[:, group_of]
    return _FilledPath(
        origin=train.grand_mean,
        offsets=train.centred_means,
        whitenings=rotations / np.sqrt(e)[..., None, :],
        log_dets=np.log(e).sum(-1)[..., None],
    )
