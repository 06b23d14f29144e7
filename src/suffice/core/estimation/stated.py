"""A model stated by its parameters: the sums from which they, and nothing else, are estimated."""

from typing import Any

import numpy as np

from suffice.core.estimation.covariance_estimates import Tied
from suffice.core.estimation.settings import parse_priors
from suffice.core.linalg import scaled_cholesky
from suffice.core.moments import Moments
from suffice.core.moments.scatter import PerClassScatter
from suffice.core.table.labels import as_labels
from suffice.errors import InvalidParameterError
from suffice.typing import Floats, Labels


def stated(
    priors: Any,
    means: Any,
    covariances: Any,
    classes: Any = None,
    names: Any = None,
) -> tuple[Moments, Tied]:
    """Return w_k = π_k, μ_k and S_k = π_k Σ_k, all as one row, and who shares a covariance."""
    mu = np.array(means, np.float64)
    mu = mu[:, None] if mu.ndim == 1 else mu
    if mu.ndim != 2 or not mu.size or not np.isfinite(mu).all():
        raise InvalidParameterError(
            f"means must be finite, of shape (K, d), got shape {mu.shape}"
        )
    k, d = mu.shape
    labels = as_labels(np.arange(k) if classes is None else classes)
    if len(labels) != k or len(set(labels.tolist())) != k:
        msg = f"classes must be {k} different labels, one for each mean, got {labels.tolist()}"
        raise InvalidParameterError(msg)
    if names is not None and len(names) != d:
        msg = (
            f"feature_names must be {d} names, one for each column of means, got {len(names)}"
        )
        raise InvalidParameterError(msg)
    pi, sigmas = (
        parse_priors(priors).of(labels, np.ones(k)),
        _covariances(covariances, labels, d),
    )
    if not pi.all():
        msg = f"the prior of class {labels[pi.argmin()].item()!r} is 0: leave the class out"
        raise InvalidParameterError(msg)
    order = np.argsort(labels, kind="stable")
    scatter = PerClassScatter(pi[order, None, None] * sigmas[order])
    known = (np.ones(k, np.int64), pi[order], mu[order], np.zeros_like(mu), scatter, None)
    called = names if names is None else tuple(map(str, names))
    return Moments(labels[order], called, *known), _alike(sigmas[order], labels[order])


def _covariances(given: Any, labels: Labels, d: int) -> Floats:
    """Return Σ of each class (K, d, d), of one for all, of one each, or of variances."""
    k, sigma = len(labels), np.array(given, np.float64)
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
        whole = np.isfinite(each).all() and np.allclose(each, each.T, rtol=1e-12, atol=0)
        if not whole or (np.diagonal(each) <= 0).any() or scaled_cholesky(each) is None:
            who = f"the covariance of class {label!r}"
            msg = f"{who} is not symmetric and positive definite: {each.tolist()}"
            raise InvalidParameterError(msg)
    return sigmas


def _alike(sigmas: Floats, labels: Labels) -> Tied:
    """Return the labels in groups of one covariance."""
    _, group_of = np.unique(sigmas.reshape(len(sigmas), -1), axis=0, return_inverse=True)
    groups = [labels[group_of == g].tolist() for g in range(group_of.max() + 1)]
    return tuple(map(tuple, groups)) if 1 < len(groups) < len(labels) else len(groups) == 1
