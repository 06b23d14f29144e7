"""EDDA families as covariance structures, with a way out where a likelihood has no maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidInputError
from suffice.estimation.degenerate import Gap, filled_variances, full_metric
from suffice.estimation.edda import edda_covariances, family
from suffice.estimation.structures import diagonal_variances, resolved_variances
from suffice.linalg import scaled_cholesky
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.estimation.structures import Dials
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True)
class EddaStructure:
    """One of VEE, EVE, VVE, EEV, VEV, EVV: volume, shape and orientation, shared or not."""

    code: str

    def covariances(
        self,
        moments: Moments,
        group_of: Codes,
        dials: Dials,  # noqa: ARG002
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return the covariances of greatest likelihood; singular classes are filled first."""
        seen = np.flatnonzero(moments.weights > 0)
        w, scatters = moments.weights[seen], moments.scatters[seen]
        gaps: list[Gap] = []
        try:
            fit = edda_covariances(self.code, w, scatters)
        except InvalidInputError:
            sigmas = scatters / w[:, None, None]
            filled, gaps = _filled(sigmas, moments, group_of, seen)
            fit = edda_covariances(self.code, w, filled * w[:, None, None])
        found = [FullCovariance.of(sigma) for sigma in fit.covariances]
        return _placed(found, seen, moments.n_classes), gaps

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free parameters of the family."""
        return family(self.code).n_parameters(n_groups, n_features)

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices."""
        return "per-class"


@dataclass(frozen=True, slots=True)
class DiagonalEddaStructure:
    """VEI or EVI: features independent given the class, volume or shape shared."""

    code: str

    def covariances(
        self, moments: Moments, group_of: Codes, dials: Dials
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return the covariances of greatest likelihood; empty variances are filled first."""
        seen = np.flatnonzero(moments.weights > 0)
        w = moments.weights[seen]
        variances, pooled, totals = diagonal_variances(moments, group_of, dials)
        gaps: list[Gap] = []
        try:
            fit = edda_covariances(self.code, w, _diagonal(w, moments.diagonals[seen]))
        except InvalidInputError:
            gaps = [
                Gap.of(int(k), np.zeros((0, 0)), variances[k])
                for k in seen
                if not variances[k].all()
            ]
            filled = filled_variances(variances[seen], pooled, totals)
            fit = edda_covariances(self.code, w, _diagonal(w, filled * w[:, None]))
        scales = np.sqrt(np.diagonal(fit.covariances, axis1=1, axis2=2))
        found = [DiagonalCovariance(scale) for scale in scales]
        return _placed(found, seen, moments.n_classes), gaps

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free parameters of the family."""
        return family(self.code).n_parameters(n_groups, n_features)

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices."""
        return "diagonal"


def _filled(
    sigmas: Floats, moments: Moments, group_of: Codes, seen: Codes
) -> tuple[Floats, list[Gap]]:
    """Return the covariances of classes with rows, singular ones filled, and the gaps."""
    everyone = np.zeros((moments.n_classes, *sigmas.shape[1:]))
    everyone[seen] = sigmas
    diagonals = np.diagonal(everyone, axis1=1, axis2=2)
    variances = resolved_variances(diagonals, moments, group_of)[seen]
    metric = full_metric(moments)
    filled, gaps = sigmas.copy(), []
    for i, k in enumerate(seen):
        if not variances[i].all() or scaled_cholesky(sigmas[i]) is None:
            root = metric.filled(sigmas[i])
            filled[i] = root @ root.T
            gaps.append(Gap.of(int(k), sigmas[i], variances[i]))
    return filled, gaps


def _diagonal(w: Floats, squares: Floats) -> Floats:
    """Return diagonal scatters (K, d, d)."""
    return squares[:, :, None] * np.eye(squares.shape[1]) * (w > 0)[:, None, None]


def _placed(found: Sequence[Covariance], seen: Codes, n_classes: int) -> list[Covariance]:
    """Return a covariance for every class; those without rows take the first."""
    everyone = [found[0]] * n_classes
    for k, covariance in zip(seen, found, strict=True):
        everyone[k] = covariance
    return everyone
