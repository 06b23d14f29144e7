"""Fit views to rows: landmarks of kernels, quantiles of features, noise on indicators."""

from dataclasses import replace

import numpy as np

from suffice.core.linalg import unit_scale
from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.scoring import LinearScores
from suffice.core.model.views import (
    Kernel,
    KernelFeatures,
    PiecewiseLinear,
    Softened,
    View,
)
from suffice.selection.search.repeated_rows import distinct_rows
from suffice.typing import Array, Floats

# directions with a smaller share of the variance are mostly noise, and are dropped
_NEGLIGIBLE = 1e-4


def fit_kernel_features(
    below: View,
    x: Array,
    *,
    width: float,
    n_landmarks: int,
    seed: int,
    kernel: Kernel = "Gaussian",
) -> KernelFeatures:
    """Return the view of kernels at ``n_landmarks`` distinct rows, or at all if there are fewer.

    The ``width`` of the kernel is in units of the typical distance between rows.
    """
    rows = below.apply(x)
    rng = np.random.default_rng(seed)
    centre = rows.mean(0)
    scale = kernel_scale(rows)
    distinct = np.sort(distinct_rows(rows)[0])
    chosen = rng.choice(distinct, min(n_landmarks, len(distinct)), replace=False)
    landmarks = (rows[chosen] - centre) / scale
    unmixed = KernelFeatures(
        below=below,
        centre=centre,
        scale=scale,
        landmarks=landmarks,
        mixing=None,
        width=width,
        kernel=kernel,
    )
    # Features k(x)ᵀ U e^−½ have the inner products k(x)ᵀ K⁻¹ k(x'), where K = U e Uᵀ is the kernel
    # between landmarks.
    e, u = np.linalg.eigh(unmixed.nearness(landmarks))
    kept = e > _NEGLIGIBLE * len(e)
    n_kept = int(np.count_nonzero(kept))
    # An orthogonal matrix mixes the features evenly. All features then have about the same
    # variance, which suits shrinkage to a diagonal.
    signs = rng.choice([-1.0, 1.0], n_kept)
    rotation = signs[:, None] * _cosines(n_kept)
    return replace(unmixed, mixing=u[:, kept] / np.sqrt(e[kept]) @ rotation)


def fold_mixing(view: KernelFeatures, model: ClassModel) -> LinearModel:
    """Return a tied Gaussian on mixed kernel features as linear scores of unmixed kernels."""
    scorer = model.formula.scorer
    (part,) = scorer.parts
    if view.mixing is None or not isinstance(part, LinearScores):
        raise TypeError("only a tied Gaussian of mixed kernel features has linear scores")
    d = len(view.centre)
    w_features, w_mixed = np.split(part.weights, [d], axis=1)
    # w (M k − o) + b  =  (w M) k + (b − w o)
    weights = np.hstack([w_features, w_mixed @ view.mixing.T])
    constants = part.constants - w_mixed @ scorer.origin[d:]
    centre = np.concatenate([scorer.origin[:d], np.zeros(len(view.landmarks))])
    linear = LinearModel.of(weights, constants, centre=centre)
    return replace(linear, temperature=model.temperature)


def fit_pieces(x: Array, n_pieces: int) -> PiecewiseLinear:
    """Return a view with linear pieces between quantiles of the features."""
    rows = np.asarray(x, np.float64)
    n_each = max(2, n_pieces // rows.shape[1])
    quantiles = np.quantile(rows, np.linspace(0, 1, n_each + 1), axis=0)
    knots = [np.unique(column) for column in quantiles.T]
    n_pieces_of = [len(knot) - 1 for knot in knots]
    return PiecewiseLinear(
        features=np.repeat(np.arange(len(knots)), n_pieces_of),
        left=np.concatenate([knot[:-1] for knot in knots]),
        length=np.concatenate([np.diff(knot) for knot in knots]),
    )


def fit_softened(below: View, x: Array, share: float) -> Softened:
    """Return a view that adds ``share`` of a fair coin's variance to each two-valued feature."""
    noise = share * np.square(_half_range(below.apply(x)))
    return Softened(below, noise, share)


def kernel_scale(rows: Floats) -> Floats:
    """Return the unit of each feature in a kernel, (d,).

    The unit is the standard deviation. For a two-valued feature, the unit is half the distance
    between the values: otherwise rows with a rare value would be far from all other rows.
    """
    half_range = _half_range(rows)
    return np.where(half_range > 0, half_range, unit_scale(rows.var(0)))


def _half_range(rows: Floats) -> Floats:
    """Return half the distance between the values of two-valued features, else 0, (d,)."""
    low = rows.min(0)
    high = rows.max(0)
    has_two_values = ((rows == low) | (rows == high)).all(0)
    return np.where(has_two_values, (high - low) / 2, 0.0)


def _cosines(n: int) -> Floats:
    """Return the orthogonal matrix of the discrete cosine transform, (n, n)."""
    at = np.arange(n)
    matrix: Floats = np.sqrt(2 / n) * np.cos(np.pi / n * np.outer(at, at + 0.5))
    matrix[0] = np.sqrt(1 / n)
    return matrix
