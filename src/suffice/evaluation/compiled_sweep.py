"""Losses of a path of (λ, γ) on one fold by compiled loops: the quick twin of ``sweep``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.model.parts import SIDE
from suffice.model.tiles import LANES

if TYPE_CHECKING:
    from suffice.evaluation.folds import Fold
    from suffice.evaluation.sweep import Spectrum
    from suffice.typing import Codes, Floats

_CHUNKS = 16  # of LANES rows in a tile


def path_losses(
    spectra: list[Spectrum],
    group_of: Codes,
    fold: Fold,
    log_priors: Floats,
    gammas: Floats,
    temperatures: Floats,
) -> Floats:
    """Return mean error, log-loss and Brier score of each γ and temperature, (Γ, T, 3)."""
    from suffice.evaluation import kernels

    losses = np.zeros((len(gammas), len(temperatures), 3))
    build = _linear if len(spectra) == 1 else _quadratic
    add, parameters = build(spectra, group_of, fold.train.centred_means, log_priors, gammas)
    x, origin = fold.x, fold.train.grand_mean
    weight = np.ones(len(x)) if fold.weight is None else fold.weight
    tile = np.zeros((_CHUNKS, -(-x.shape[1] // SIDE) * SIDE, LANES))
    for lo in range(0, len(x), _CHUNKS * LANES):
        rows = slice(lo, lo + _CHUNKS * LANES)
        block = np.ascontiguousarray(x[rows], np.float64)
        used = tile[: -(-len(block) // LANES)]
        kernels.load_rows(block, 0, origin, used)
        add(used, fold.truth[rows], weight[rows], *parameters, temperatures, losses)
    means: Floats = losses / weight.sum()
    return means


def _quadratic(
    spectra: list[Spectrum],
    group_of: Codes,
    offsets: Floats,
    log_priors: Floats,
    gammas: Floats,
) -> tuple[Any, tuple[Floats, ...]]:
    from suffice.evaluation.kernels import quadratic_losses
    from suffice.model.kernels import packed

    shrunk = [spectrum.shrunk(gammas) for spectrum in spectra]
    # z = Vᵀ diag(1/s) (x − μ)
    rotations = [packed(np.ascontiguousarray((s.vectors / s.scale[:, None]).T)) for s in spectra]
    inverses = [packed(np.ascontiguousarray(inverse.T)) for inverse, _ in shrunk]
    constants = np.array([log_priors[k] - 0.5 * shrunk[g][1] for k, g in enumerate(group_of)])
    pick = np.stack
    return quadratic_losses, (
        _padded(offsets),
        pick([rotations[g] for g in group_of]),
        pick([inverses[g] for g in group_of]),
        constants,
    )


def _linear(
    spectra: list[Spectrum],
    group_of: Codes,  # noqa: ARG001
    offsets: Floats,
    log_priors: Floats,
    gammas: Floats,
) -> tuple[Any, tuple[Floats, ...]]:
    from suffice.evaluation.kernels import linear_losses
    from suffice.model.kernels import packed

    spectrum = spectra[0]
    m = spectrum.rotate(offsets)
    inverse, _ = spectrum.shrunk(gammas)
    back = spectrum.vectors.T / spectrum.scale
    # w_k(γ) = diag(1/s) V E(γ)⁻¹ m_k,   b_k(γ) = log π_k − ½ m_kᵀ E(γ)⁻¹ m_k
    weights = [packed(np.ascontiguousarray((m * e) @ back)) for e in inverse.T]
    intercepts = log_priors - 0.5 * (np.square(m) @ inverse).T
    return linear_losses, (np.stack(weights), np.ascontiguousarray(intercepts))


def _padded(means: Floats) -> Floats:
    width = -(-means.shape[1] // SIDE) * SIDE
    return np.pad(means, ((0, 0), (0, width - means.shape[1])))
