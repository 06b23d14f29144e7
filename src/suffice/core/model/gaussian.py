"""Class-conditional Gaussians: their density and their scores.

    density      log N(x; μ, Σ) = −½ (d log 2π + log|Σ| + (x − μ)ᵀ Σ⁻¹ (x − μ))
    quadratic    a_k(x) = log π_k − ½ log|Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)
    linear       a_k(x) = w_kᵀ x + w_k0, if all classes share Σ  (``linear.py``)

For rows with missing values, ``_log_density`` computes the density. For complete rows,
``_density_scorer`` computes the constants of the scores, from which ``Whitened`` of ``scoring.py``
subtracts ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k). ``posterior.py`` turns scores into posteriors, and
``log_likelihood.py`` computes the likelihood of all rows from their moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from suffice.core.linalg import LOG_2PI
from suffice.core.model.bayes_error import BayesError, gaussian_error
from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import Covariance, DiagonalCovariance
from suffice.core.model.device import score_anywhere
from suffice.core.model.linear import discriminant
from suffice.core.model.log_likelihood import gaussian_log_likelihood
from suffice.core.model.missing_values import EllipticalModel
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.model.student import StudentModel
from suffice.core.moments import Moments
from suffice.typing import Array, Codes, Floats, RowsLike


@dataclass(frozen=True, slots=True, eq=False)
class SampleSizes:
    """The numbers of rows from which each class's mean and Σ_k = M_k / divisor_k were estimated."""

    rows: Floats  # n, the number of rows of the class  (K,)
    degrees: Floats  # ν, the degrees of freedom of the scatter M_k of the group  (K,)
    divisors: Floats  # divisor_k = M_k / Σ_k  (K,)

    def some(self, classes: Codes | slice) -> SampleSizes:
        """Return the sample sizes of some classes."""
        return SampleSizes(
            rows=self.rows[classes],
            degrees=self.degrees[classes],
            divisors=self.divisors[classes],
        )


@dataclass(frozen=True, eq=False)
class GaussianModel(EllipticalModel):
    """Class k has prior π_k and density N(μ_k, Σ_k); the classes of a group share a covariance."""

    log_priors: Floats  # log π  (K,)
    centre: Floats  # (d,)
    offsets: Floats  # μ − centre  (K, d)
    covariances: tuple[Covariance, ...]  # Σ  (G,)
    group_of: Codes  # group of each class  (K,)
    n_covariance_parameters: int = 0
    temperature: float = 1.0
    # None if parameters were given or regularised, or if rows are weighted
    sample_sizes: SampleSizes | None = None

    @classmethod
    def of(
        cls,
        *,
        priors: Floats,
        centre: Floats,
        offsets: Floats,
        covariances: Sequence[Covariance],
        group_of: Codes,
        n_covariance_parameters: int = 0,
        temperature: float = 1.0,
        sample_sizes: SampleSizes | None = None,
    ) -> Self:
        """Return the model, given priors π instead of log priors."""
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors)
        return cls(
            log_priors=log_priors,
            centre=centre,
            offsets=offsets,
            covariances=tuple(covariances),
            group_of=group_of,
            n_covariance_parameters=n_covariance_parameters,
            temperature=temperature,
            sample_sizes=sample_sizes,
        )

    @property
    def is_tied(self) -> bool:
        """Whether all classes share one covariance, so that scores are linear."""
        return len(self.covariances) == 1

    @property
    def n_parameters(self) -> int:
        n_present = np.isfinite(self.log_priors).sum()  # number of classes with rows
        n_means = n_present * self.n_features
        return int(n_present - 1 + n_means + self.n_covariance_parameters)

    @property
    def covariance_matrices(self) -> Floats:
        if self.is_tied:
            return self.covariances[0].dense()
        return np.stack([self.covariance_of(k).dense() for k in range(self.n_classes)])

    @property
    def shared_covariance(self) -> Covariance | None:
        return self.covariances[0] if self.is_tied else None

    @property
    def group_shapes(self) -> tuple[Covariance, ...]:
        return self.covariances

    def covariance_of(self, k: int) -> Covariance:
        return self.covariances[int(self.group_of[k])]

    def with_log_priors(self, log_priors: Floats) -> Self:
        return replace(self, log_priors=log_priors)

    def with_temperature(self, temperature: float) -> Self:
        return replace(self, temperature=temperature)

    def some(self, classes: Codes | slice) -> GaussianModel:
        """Return the model of the classes with these codes, with unchanged priors."""
        groups, group_of = np.unique(self.group_of[classes], return_inverse=True)
        sizes = self.sample_sizes
        return replace(
            self,
            log_priors=self.log_priors[classes],
            offsets=self.offsets[classes],
            covariances=tuple(self.covariances[g] for g in groups),
            group_of=group_of,
            sample_sizes=None if sizes is None else sizes.some(classes),
        )

    def of_new_rows(self) -> ClassModel:
        """Return the Student t model of new rows, or ``self`` if there is none.

        There is none if ``sample_sizes`` is None, or if a class has too few degrees of freedom.
        """
        sizes = self.sample_sizes
        if sizes is None:
            return self
        degrees = sizes.degrees - self.n_features + 1
        has_law = (sizes.rows > 0) & (degrees > 0)
        if not has_law[np.isfinite(self.log_priors)].all():
            return self
        # Hotelling (1931), *Annals of Mathematical Statistics* 2: with f = ν − d + 1,
        # (x − m)ᵀ M⁻¹ (x − m) ~ (1 + 1/n) d/f F(d, f). So x has a Student t with f degrees and
        # shape (1 + 1/n) M / f = Σ / (s f),  s = n / ((n + 1) divisor)
        shares = sizes.rows / ((sizes.rows + 1) * np.where(has_law, sizes.divisors, 1.0))
        return StudentModel(
            log_priors=self.log_priors,
            centre=self.centre,
            offsets=self.offsets,
            shapes=self.covariances,
            group_of=self.group_of,
            degrees=np.where(has_law, degrees, 1.0),
            shares=np.where(has_law, shares, 1.0),
            temperature=self.temperature,
        )

    def marginal(self, observed: Codes) -> GaussianModel:
        kept = np.arange(self.n_features)[observed]
        covariances = tuple(sigma.marginal(kept) for sigma in self.covariances)
        d = len(kept)
        n_of_matrices = 0
        for sigma in covariances:
            n_of_matrices += d if isinstance(sigma, DiagonalCovariance) else d * (d + 1) // 2
        return replace(
            self,
            centre=self.centre[kept],
            offsets=self.offsets[:, kept],
            covariances=covariances,
            n_covariance_parameters=min(self.n_covariance_parameters, n_of_matrices),
        )

    def as_gaussian(self) -> GaussianModel:
        return self

    def _log_likelihood(self, moments: Moments) -> float:
        return gaussian_log_likelihood(self, moments)

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        return gaussian_error(self, n_samples, rng)

    @property
    def formula(self) -> Formula:
        return Formula(self._scorer, shared=self.shared_covariance)

    @property
    def log_dets(self) -> Floats:
        """Log-determinant log|Σ_k| of each class, (K,)."""
        return np.array([sigma.log_det for sigma in self.covariances])[self.group_of]

    @cached_property
    def _scorer(self) -> Scorer:
        if self.is_tied:
            w, w_0 = discriminant(self.covariances[0], self.offsets, self.log_priors)
            return Scorer.linear(self.centre, w, w_0)
        return self._density_scorer(self.log_priors)

    def _density_scorer(self, log_weights: Floats) -> Scorer:
        # quadratic score: a_k(x) = −½ log|Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) + log π_k
        # log density: log π_k + log N(x; μ_k, Σ_k) = a_k(x) − ½ d log 2π
        # ``scoring.Whitened`` subtracts half the squared distance from the constants computed here:
        # (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) = |W_k (x − μ_k)|²,  W_kᵀ W_k = Σ_k⁻¹
        constants = log_weights - 0.5 * (self.n_features * LOG_2PI + self.log_dets)
        covariances = [self.covariances[g] for g in self.group_of]
        return Scorer.of(constants, self.offsets, covariances, origin=self.centre)

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        scorer = self._scorer if log_weights is None else self._density_scorer(log_weights)
        return score_anywhere(scorer, x, readout)

    def _log_density(self, distances: Floats, log_dets: Floats, n_observed: Codes) -> Floats:
        # log N(x; μ, Σ) = −½ (d log 2π + log|Σ| + Δ²),  Δ² = (x − μ)ᵀ Σ⁻¹ (x − μ)
        # if values are missing, d, μ, Σ and x are those of the observed features
        return -0.5 * (n_observed[:, None] * LOG_2PI + log_dets + distances)

    def _radii(
        self,
        codes: Codes,
        distances: Floats,
        n_observed: Codes,
        rng: np.random.Generator,
    ) -> Floats:
        # the covariance of a conditional Gaussian does not depend on x_o
        del distances, n_observed, rng
        return np.ones(len(codes))
