"""Class-conditional Gaussians and the posterior they imply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

import numpy as np

from suffice.core.linalg import LOG_2PI
from suffice.core.missing.e_step import observed_log_likelihood
from suffice.core.model.bayes_error import BayesError, gaussian_error
from suffice.core.model.covariance import Covariance
from suffice.core.model.device import score_anywhere
from suffice.core.model.elliptical_and_missing import EllipticalModel
from suffice.core.model.linear import discriminant
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.moments import Moments
from suffice.typing import Array, Codes, Floats


@dataclass(frozen=True, eq=False)
class GaussianModel(EllipticalModel):
    """Class k has prior π_k and density N(μ_k, Σ_k); classes of one group share one covariance."""

    log_priors: Floats  # log π  (K,)
    centre: Floats  # (d,)
    offsets: Floats  # μ − centre  (K, d)
    covariances: tuple[Covariance, ...]  # Σ  (G,)
    group_of: Codes  # group of each class  (K,)
    n_covariance_parameters: int = 0
    temperature: float = 1.0

    @classmethod
    def of(cls, *, priors: Floats, covariances: Sequence[Covariance], **fields: Any) -> Self:
        with np.errstate(divide="ignore"):
            return cls(np.log(priors), covariances=tuple(covariances), **fields)

    @property
    def is_tied(self) -> bool:
        """Whether all classes share one covariance, so that scores are linear."""
        return len(self.covariances) == 1

    @property
    def n_parameters(self) -> int:
        k, d = np.isfinite(self.log_priors).sum(), self.n_features  # of classes with rows
        return int(k - 1 + k * d + self.n_covariance_parameters)

    @property
    def covariance_matrices(self) -> Floats:
        if self.is_tied:
            return self.covariances[0].dense()
        return np.stack([self.covariance_of(k).dense() for k in range(self.n_classes)])

    @property
    def shared_covariance(self) -> Covariance | None:
        return self.covariances[0] if self.is_tied else None

    def covariance_of(self, k: int) -> Covariance:
        return self.covariances[int(self.group_of[k])]

    shapes = property(attrgetter("covariances"))

    def some(self, classes: Any) -> GaussianModel:
        """Return the model of some classes only, by codes or slice; priors stay as they are."""
        groups, own = np.unique(self.group_of[classes], return_inverse=True)
        sigmas = tuple(self.covariances[g] for g in groups)
        own_fields: Any = {
            "log_priors": self.log_priors[classes],
            "offsets": self.offsets[classes],
        }
        return replace(self, covariances=sigmas, group_of=own, **own_fields)

    def marginal(self, observed: Codes) -> GaussianModel:
        centre, offsets, sigmas = self._marginals(observed)
        # at most those of so many full matrices
        most = len(sigmas) * len(centre) * (len(centre) + 1) // 2
        known: Any = {"n_covariance_parameters": min(self.n_covariance_parameters, most)}
        return replace(self, centre=centre, offsets=offsets, covariances=sigmas, **known)

    def as_gaussian(self) -> GaussianModel:
        return self

    def _log_likelihood(self, moments: Moments) -> float:
        seen = moments.weights > 0
        w = moments.weights[seen]
        if moments.patterns is not None:
            return float(w @ self.log_priors[seen]) + observed_log_likelihood(moments, self)
        log_dets = np.array([c.log_det for c in self.covariances])[self.group_of][seen]
        # Σ_k w_k (log π_k − ½ (d log 2π + log|Σ_k|)) − ½ Σ_g tr(Σ_g⁻¹ S_g)
        gaussian = self.log_priors[seen] - 0.5 * (self.n_features * LOG_2PI + log_dets)
        return float(w @ gaussian) - 0.5 * _squared_distances(self, moments)

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        return gaussian_error(self, n_samples, rng)

    @property
    def formula(self) -> Formula:
        return Formula(self._scorer, shared=self.shared_covariance)

    @cached_property
    def _scorer(self) -> Scorer:
        if self.is_tied:
            found = discriminant(self.covariances[0], self.offsets, self.log_priors)
            return Scorer.linear(self.centre, *found)
        return self._density_scorer(self.log_priors)

    def _density_scorer(self, log_weights: Floats) -> Scorer:
        log_dets = np.array([c.log_det for c in self.covariances])[self.group_of]
        # log N(x; μ, Σ) = −½ (d log 2π + log|Σ| + |L⁻¹(x − μ)|²),  Σ = L Lᵀ
        constants = log_weights - 0.5 * (self.n_features * LOG_2PI + log_dets)
        covariances = [self.covariances[g] for g in self.group_of]
        return Scorer.of(constants, self.offsets, covariances, origin=self.centre)

    def _read(self, x: Any, readout: Readout, log_weights: Floats | None = None) -> Array:
        scorer = self._scorer if log_weights is None else self._density_scorer(log_weights)
        return score_anywhere(scorer, x, readout)

    def _log_density(self, distances: Floats, log_dets: Floats, n_observed: Codes) -> Floats:
        # log N(x_o; μ_o, Σ_oo) = −½ (d_o log 2π + log|Σ_oo| + Δ²)
        return -0.5 * (n_observed[:, None] * LOG_2PI + log_dets + distances)

    def _radii(
        self,
        codes: Codes,
        distances: Floats,
        n: Any,
        rng: np.random.Generator,
    ) -> Floats:
        del distances, n, rng  # a conditional Gaussian is as wide for every x_o
        return np.ones(len(codes))


def _squared_distances(model: GaussianModel, moments: Moments) -> float:
    """Return Σ_n w_n (x_n − m)ᵀ Σ⁻¹ (x_n − m), with m, Σ of each row's class."""
    total = 0.0
    drift = moments.centred_means + (moments.grand_mean - model.centre) - model.offsets
    for g, covariance in enumerate(model.covariances):
        members = np.flatnonzero(model.group_of == g)
        moved = covariance.whiten(drift[members])
        total += float(moments.weights[members] @ np.square(moved).sum(1))
        if moments.storage == "diagonal":
            unit = covariance.whiten(np.eye(moments.n_features))
            total += float(np.square(unit).sum(0) @ moments.diagonals[members].sum(0))
            continue
        scatter = moments.pooled_scatter if model.is_tied else moments.scatters[members].sum(0)
        # tr(Σ⁻¹ S) = Σ_j (L⁻¹ S L⁻ᵀ)_jj
        total += float(np.trace(covariance.whiten(covariance.whiten(scatter).T)))
    return total


def bic(log_likelihood: float, n_parameters: float, weight: float) -> float:
    """Return Schwarz's (1978) criterion p log n − 2 log L: smaller is better."""
    return float(n_parameters * np.log(weight)) - 2 * log_likelihood
