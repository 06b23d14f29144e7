"""Sums from which estimation returns exactly the given parameters, to make a model of these."""

from collections.abc import Sequence

import numpy as np

from suffice.core.estimation.groups import Tied
from suffice.core.estimation.priors import Priors, class_priors
from suffice.core.linalg import scaled_cholesky
from suffice.core.moments import Moments
from suffice.core.moments.scatter import PerClassScatter
from suffice.core.table.labels import as_labels
from suffice.errors import InvalidParameterError
from suffice.typing import Floats, Labels, LabelsLike, RowsLike

ROUNDING = 1e-12  # asymmetry up to this share of two standard deviations is a rounding error


def moments_of_parameters(
    priors: Priors,
    means: RowsLike,
    covariances: RowsLike,
    classes: LabelsLike | None = None,
    names: Sequence[str] | None = None,
) -> tuple[Moments, Tied]:
    """Return moments with w_k = π_k, μ_k and M_k = π_k Σ_k, and the groups of tied classes."""
    mu = np.array(means, np.float64)
    if mu.ndim == 1:
        mu = mu[:, None]
    if mu.ndim != 2 or not mu.size or not np.isfinite(mu).all():
        raise InvalidParameterError(
            f"means must be finite, of shape (K, d), got shape {mu.shape}"
        )
    k, d = mu.shape
    labels = as_labels(np.arange(k) if classes is None else classes)
    if len(labels) != k or len(set(labels.tolist())) != k:
        raise InvalidParameterError(
            f"classes must be {k} different labels, one for each mean, got {labels.tolist()}"
        )
    if names is not None and len(names) != d:
        raise InvalidParameterError(
            f"feature_names must be {d} names, one for each column of means, got {len(names)}"
        )
    pi = class_priors(priors, labels, np.ones(k))
    sigmas = _covariances(covariances, labels, d)
    if not pi.all():
        label = labels[pi.argmin()].item()
        raise InvalidParameterError(f"the prior of class {label!r} is 0: leave the class out")
    order = np.argsort(labels, kind="stable")
    moments = Moments(
        classes=labels[order],
        feature_names=None if names is None else tuple(str(name) for name in names),
        counts=np.ones(k, np.int64),
        weights=pi[order],
        means=mu[order],
        means_low=np.zeros_like(mu),
        scatter=PerClassScatter(pi[order, None, None] * sigmas[order]),
        fourth=None,
    )
    return moments, _tied_alike(sigmas[order], labels[order])


def _covariances(covariances: RowsLike, labels: Labels, d: int) -> Floats:
    """Return Σ of each class (K, d, d), given one matrix, one per class, or variances."""
    k = len(labels)
    sigma = np.array(covariances, np.float64)
    if sigma.ndim == 0:  # σ² I
        sigma = sigma * np.eye(d)
    if d == 1 and sigma.shape == (k,):
        sigma = sigma[:, None, None]
    if sigma.shape not in {(d, d), (k, d, d)}:
        raise InvalidParameterError(
            f"covariances must be one matrix {(d, d)}, one for each class {(k, d, d)}, or a "
            f"variance of all features, got shape {sigma.shape}"
        )
    sigmas: Floats = np.broadcast_to(sigma, (k, d, d))
    for label, each in zip(labels.tolist(), sigmas, strict=True):
        if not _is_symmetric(each) or scaled_cholesky(each) is None:
            raise InvalidParameterError(
                f"the covariance of class {label!r} is not symmetric and positive definite: "
                f"{each.tolist()}"
            )
    # halve each matrix before the sum, since the sum might overflow
    return np.asarray(sigmas / 2 + np.swapaxes(sigmas, 1, 2) / 2)


def _is_symmetric(sigma: Floats) -> bool:
    """Return whether a finite matrix with positive variances is symmetric up to rounding."""
    variances = np.diagonal(sigma)
    if not np.isfinite(sigma).all() or (variances <= 0).any():
        return False
    # |Σ_ij − Σ_ji| ≤ ε √(Σ_ii Σ_jj)
    deviations = np.sqrt(variances)
    asymmetry = np.abs(sigma - sigma.T)
    return bool((asymmetry <= ROUNDING * np.outer(deviations, deviations)).all())


def _tied_alike(sigmas: Floats, labels: Labels) -> Tied:
    """Return the setting ``tied`` for which classes with equal covariances share a group."""
    flat = sigmas.reshape(len(sigmas), -1)
    _, group_of = np.unique(flat, axis=0, return_inverse=True)
    n_groups = int(group_of.max()) + 1
    if n_groups == 1:
        return True
    if n_groups == len(labels):
        return False
    return tuple(tuple(labels[group_of == g].tolist()) for g in range(n_groups))
