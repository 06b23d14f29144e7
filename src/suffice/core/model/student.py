"""Class-conditional Student t densities: Gaussian classes whose parameters are integrated out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn, Self

import numpy as np

from suffice.core.model.covariance import Covariance
from suffice.core.model.missing_values import EllipticalModel
from suffice.core.model.posterior import Joint, Readout
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.moments import Moments
from suffice.errors import InvalidParameterError, MissingStatisticsError
from suffice.typing import Array, Codes, Floats, RowsLike


@dataclass(frozen=True, eq=False)
class StudentTail(Readout):
    """A readout of the scores c_k − p_k log(1 + s_k Δ²), which it computes from −½ Δ²."""

    readout: Readout
    constants: Floats  # c  (K,)
    powers: Floats  # p = (f + d) / 2  (K,)
    # s  (K,), where Δ² is measured with Ψ and the Student t has the shape matrix Ψ / (s f)
    shares: Floats

    @property
    def dtype(self) -> type[np.generic]:
        return self.readout.dtype

    @property
    def per_class(self) -> bool:
        return self.readout.per_class

    def read(self, a: Floats) -> Array:
        return self.readout.read(self.student_scores(a))

    def student_scores(self, a: Floats) -> Floats:
        """Return c_k − p_k log(1 + s_k Δ²), (n, K), given a = −½ Δ²."""
        return self.constants - self.powers * np.log1p(-2 * self.shares * a)

    def hole_constants(self, d: int) -> Floats:
        """Return what 0, 1, …, d missing values in a row add to the constants, (d + 1, K)."""
        from scipy.special import gammaln

        n_missing = np.arange(d + 1)[:, None]
        # log Γ((f + d_o)/2) − log Γ((f + d)/2) + ½ (d − d_o) log(π/s),  f + d = 2p
        gains = gammaln(self.powers - n_missing / 2) - gammaln(self.powers)
        return np.asarray(gains + n_missing / 2 * np.log(np.pi / self.shares))

    def write(self, tile: Floats, n_classes: int, out: Array) -> bool:
        """Write the values of a score tile (chunks, classes, rows); overwrite the tile."""
        a = tile[:, :n_classes]
        a *= -2 * self.shares[:, None]
        np.log1p(a, out=a)
        a *= -self.powers[:, None]
        a += self.constants[:, None]
        return self.readout.write(tile, n_classes, out)


@dataclass(frozen=True, eq=False)
class StudentModel(EllipticalModel):
    """Class k has prior π_k and a Student t density with f_k degrees.

    log t_k(x) = c_k − ½ (f_k + d) log(1 + s_k Δ_k²),  Δ_k² = (x − m_k)ᵀ Ψ_k⁻¹ (x − m_k).

    The posterior predictive has f = ν − d + 1 and s = κ / (κ + 1), with κ, ν and Ψ of the
    Normal–inverse-Wishart posterior (``estimation/normal_inverse_wishart.py``). For plug-in
    estimates, Ψ = Σ_k (``GaussianModel.of_new_rows``). Geisser (1964), *JRSS B* 26.
    """

    log_priors: Floats  # log π  (K,)
    centre: Floats  # (d,)
    offsets: Floats  # m − centre  (K, d)
    shapes: tuple[Covariance, ...]  # Ψ  (G,)
    group_of: Codes  # group of each class  (K,)
    degrees: Floats  # f  (K,)
    shares: Floats  # s  (K,)
    temperature: float = 1.0

    @property
    def n_parameters(self) -> int:
        present = np.flatnonzero(np.isfinite(self.log_priors))
        d = self.n_features
        n_shapes = len(np.unique(self.group_of[present]))
        return len(present) - 1 + len(present) * d + n_shapes * d * (d + 1) // 2

    @property
    def covariance_matrices(self) -> Floats:
        """Covariances of the densities, (K, d, d), infinite if f_k ≤ 2."""
        dense = np.stack([shape.dense() for shape in self.shapes])[self.group_of]
        # shape = Ψ / (s f),  covariance = shape · f / (f − 2)
        with np.errstate(divide="ignore"):
            factor = np.where(self.degrees > 2, 1 / (self.shares * (self.degrees - 2)), np.inf)
        return dense * factor[:, None, None]

    @property
    def group_shapes(self) -> tuple[Covariance, ...]:
        return self.shapes

    def with_log_priors(self, log_priors: Floats) -> Self:
        return replace(self, log_priors=log_priors)

    def with_temperature(self, temperature: float) -> Self:
        return replace(self, temperature=temperature)

    def marginal(self, observed: Codes) -> StudentModel:
        # marginals have the same f: Kotz & Nadarajah (2004), *Multivariate t Distributions*, 1.10
        kept = np.arange(self.n_features)[observed]
        return replace(
            self,
            centre=self.centre[kept],
            offsets=self.offsets[:, kept],
            shapes=tuple(shape.marginal(kept) for shape in self.shapes),
        )

    def as_gaussian(self) -> NoReturn:
        raise InvalidParameterError(
            "predictive densities are Student t, and their boundary is neither a hyperplane "
            "nor a quadric: use estimate='map' or 'plug-in' for boundaries and coefficients"
        )

    def _log_likelihood(self, moments: Moments) -> NoReturn:  # noqa: ARG002
        raise MissingStatisticsError(
            "the likelihood of predictive densities cannot be computed from moments: sum "
            "log_joint over the rows, or use estimate='map' or 'plug-in'"
        )

    @property
    def formula(self) -> Formula:
        return Formula(self._scorer, self._with_tail(Joint(), self.log_priors))

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        weights = self.log_priors if log_weights is None else log_weights
        return self._scorer.score(x, self._with_tail(readout, weights))

    def _with_tail(self, readout: Readout, log_weights: Floats) -> StudentTail:
        return StudentTail(
            readout=readout,
            constants=log_weights + self._constants,
            powers=(self.degrees + self.n_features) / 2,
            shares=self.shares,
        )

    def _log_density(self, distances: Floats, log_dets: Floats, n_observed: Codes) -> Floats:
        # log t(x_o) = c_o − ½ (f + d_o) log(1 + s Δ²)
        tails = (self.degrees + n_observed[:, None]) / 2 * np.log1p(self.shares * distances)
        return self._log_peaks(n_observed, log_dets) - tails

    def _radii(
        self,
        codes: Codes,
        distances: Floats,
        n_observed: Codes,
        rng: np.random.Generator,
    ) -> Floats:
        # x_m given x_o is a Student t with f + d_o degrees: r = √((1 + s Δ²) / (s χ²_{f + d_o}))
        shares = self.shares[codes]
        chi = rng.chisquare(self.degrees[codes] + n_observed)
        return np.asarray(np.sqrt((1 + shares * distances) / (shares * chi)))

    @cached_property
    def _scorer(self) -> Scorer:
        shapes = [self.shapes[g] for g in self.group_of]
        return Scorer.of(np.zeros(self.n_classes), self.offsets, shapes, origin=self.centre)

    @cached_property
    def _constants(self) -> Floats:
        """Log density of each class at the centre m_k, shape (K,)."""
        log_dets = np.array([shape.log_det for shape in self.shapes])[self.group_of]
        return self._log_peaks(np.array(self.n_features), log_dets)

    def _log_peaks(self, n_observed: Codes, log_dets: Floats) -> Floats:
        """Return the log density of ``n_observed`` features at m_k, (…, K)."""
        from scipy.special import gammaln  # slow to import, and seldom needed

        # compute these terms once for every possible number of features instead of for every row
        every_d = np.arange(self.n_features + 1)[:, None]
        log_gammas = gammaln((self.degrees + every_d) / 2) - gammaln(self.degrees / 2)
        d = n_observed[..., None]
        # log Γ((f+d)/2) − log Γ(f/2) − ½ (d log(π/s) + log|Ψ|)
        exponents = 0.5 * (d * np.log(np.pi / self.shares) + log_dets)
        return np.asarray(log_gammas[n_observed] - exponents)
