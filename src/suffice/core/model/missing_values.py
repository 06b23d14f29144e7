"""Missing values at prediction: integrated out of Gaussian and Student t classes, or filled.

A row is scored by its observed features x_o only. In a Gaussian class, these are Gaussian:

    p(x_o | k) = ∫ p(x_o, x_m | k) dx_m = N(x_o; μ_o, Σ_oo)
    log p(x_o | k) = −½ (d_o log 2π + log|Σ_oo| + Δ²),  Δ² = (x_o − μ_o)ᵀ Σ_oo⁻¹ (x_o − μ_o)
    E[x_m | x_o, k] = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o)

``covariance.py`` computes Δ² and log|Σ_oo|, ``gaussian.py`` the Gaussian density, and
``student.py`` the density of a Student t. ``core/missing`` fits models to rows with missing values.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from suffice.core.linalg import solve_lower
from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import Covariance
from suffice.core.model.posterior import Readout, read_scores
from suffice.core.model.rows_by_pattern import MissingPatterns, incomplete_rows
from suffice.core.model.sampling import drawn_rows
from suffice.core.model.scoring import SMALL, unscored
from suffice.typing import Array, Codes, Floats, RowsLike


class EllipticalModel(ClassModel):
    """Class k has density g_k((x − m_k)ᵀ Ψ_k⁻¹ (x − m_k)).

    The observed features have a density of the same form, with m_o and Ψ_oo. A Gaussian has m = μ
    and Ψ = Σ.
    """

    group_of: Codes  # group of each class  (K,)

    @property
    @abstractmethod
    def group_shapes(self) -> tuple[Covariance, ...]:
        """Ψ of each group, (G,)."""

    @abstractmethod
    def marginal(self, observed: Codes) -> EllipticalModel:
        """Return the model of some features only, given as indices or as (d,) bool."""

    @abstractmethod
    def _log_density(self, distances: Floats, log_dets: Floats, n_observed: Codes) -> Floats:
        """Return log p(x_o | k), (n, K), given squared distances and log|Ψ_oo| for each class."""

    @abstractmethod
    def _radii(
        self,
        codes: Codes,
        distances: Floats,
        n_observed: Codes,
        rng: np.random.Generator,
    ) -> Floats:
        """Draw r, (n,), such that x_m = E[x_m | x_o] + r Ψ_{m|o}^½ z for Gaussian z."""

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        n = len(codes)
        z = rng.standard_normal((n, self.n_features))
        radii = self._radii(codes, np.zeros(n), np.zeros(n, np.intp), rng)
        groups = self.group_of[codes]
        return drawn_rows(
            z, self.centre, self.offsets[codes], radii, groups, self.group_shapes
        )

    def impute(self, x: RowsLike) -> Floats:
        """Return the rows with NaN replaced with Σ_k p(k | x_o) E[x_m | x_o, k], shape (n, d).

        If a Student t has no mean (f + d_o ≤ 1), its centre is used instead.
        """
        filled = np.array(x, np.float64)
        posterior = self.allowing_missing().posterior(filled)
        for rows, observed, missing in incomplete_rows(filled):
            y = filled[np.ix_(rows, observed)] - self.centre[observed]
            mean = np.zeros((len(rows), len(missing)))
            for k, (l_oo, l_mo, _) in enumerate(self._class_factors(observed, missing)):
                # E[x_m | x_o, k] = m_m + L_mo L_oo⁻¹ (x_o − m_o)
                gain = _solve_rows(l_oo, y - self.offsets[k, observed]) @ l_mo.T
                mean += posterior[rows, k, None] * (self.offsets[k, missing] + gain)
            filled[np.ix_(rows, missing)] = self.centre[missing] + mean
        return filled

    def sample_missing(self, x: RowsLike, rng: np.random.Generator) -> Floats:
        """Return the rows with NaN replaced with draws of k | x_o, then of x_m | x_o, k."""
        filled = np.array(x, np.float64)
        cumulative = self.allowing_missing().posterior(filled).cumsum(1)
        u = rng.random((len(filled), 1)) * cumulative[:, -1:]
        codes = (u >= cumulative[:, :-1]).sum(1)
        noise = rng.standard_normal(filled.shape)
        mean = np.zeros_like(filled)
        distances = np.zeros(len(filled))
        n_observed = (~np.isnan(filled)).sum(1)
        for rows, observed, missing in incomplete_rows(filled):
            factors = self._class_factors(observed, missing)
            for k in np.unique(codes[rows]):
                l_oo, l_mo, l_mm = factors[k]
                members = rows[codes[rows] == k]
                gaps = np.ix_(members, missing)
                y = filled[np.ix_(members, observed)] - self.centre[observed]
                z = _solve_rows(l_oo, y - self.offsets[k, observed])
                distances[members] = np.square(z).sum(1)
                mean[gaps] = self.offsets[k, missing] + z @ l_mo.T
                noise[gaps] = noise[gaps] @ l_mm.T
        # x_m = μ_m + L_mo z_o + r L_mm z_m,  z_o = L_oo⁻¹ (x_o − μ_o)
        radii = self._radii(codes, distances, n_observed, rng)
        drawn = self.centre + (mean + radii[:, None] * noise)
        return np.where(np.isnan(filled), drawn, filled)

    def _class_factors(
        self,
        observed: Codes,
        missing: Codes,
    ) -> list[tuple[Floats, Floats, Floats]]:
        """Return L_oo, L_mo and L_mm of each class, factored once for each group of classes."""
        factors = [shape.conditional(observed, missing) for shape in self.group_shapes]
        return [factors[g] for g in self.group_of]

    def _read_observed(
        self,
        x: Floats,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        if log_weights is None:
            log_weights = self.log_priors
        if x.size * self.n_classes >= SMALL:
            values = read_scores(self._observed_scores(x) + log_weights, readout)
        else:
            unread = -1 if readout.dtype is np.intp else np.nan
            values = np.full(readout.shape(len(x), self.n_classes), unread)
        # read the remaining rows pattern by pattern: rows with common patterns, and rows that the
        # loops could not score because of rounding errors or overflow
        apart = unscored(values)
        patterns = MissingPatterns.of(x[apart])
        for p, pattern in enumerate(patterns.patterns):
            observed = np.flatnonzero(pattern)
            rows = apart[patterns.rows_of(p)]
            marginal = self.marginal(observed)
            values[rows] = marginal._read(x[np.ix_(rows, observed)], readout, log_weights)
        return values

    def _observed_scores(self, x: Floats) -> Floats:
        """Return log p(x_o | k), (n, K), by compiled loops.

        ``observed_distances`` returns Δ² and log |Σ_oo| of the observed cells. ``_log_density``
        returns −½ (d_o log 2π + log |Σ_oo| + Δ²).
        """
        y = x - self.centre
        patterns = MissingPatterns.of(x)
        rare_patterns = patterns.rare()
        n_observed = patterns.n_observed()
        if len(self.group_shapes) == 1:
            (shape,) = self.group_shapes
            distances, log_det = shape.observed_distances(y, rare_patterns, self.offsets)
            return self._log_density(distances, log_det[:, None], n_observed)
        # store the arrays by column, since one group of classes is written after another
        distances = np.empty((len(x), self.n_classes), order="F")
        log_dets = np.empty((len(x), self.n_classes), order="F")
        for g, shape in enumerate(self.group_shapes):
            members = np.flatnonzero(self.group_of == g)
            means = self.offsets[members]
            distances[:, members], log_det = shape.observed_distances(y, rare_patterns, means)
            log_dets[:, members] = log_det[:, None]
        return self._log_density(distances, log_dets, n_observed)


def _solve_rows(lower: Floats, y: Floats) -> Floats:
    """Return L⁻¹ y for each row."""
    return solve_lower(lower, y.T).T if y.size else y
