"""Densities of x through distances alone, and what holes in x leave of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.core.linalg import solve_lower
from suffice.core.model.class_model import ClassModel
from suffice.core.model.covariance import Covariance
from suffice.core.model.posterior import Readout, read_scores
from suffice.core.model.scoring import SMALL, unscored
from suffice.core.table.matrix import missing_bits
from suffice.typing import Array, Codes, Floats

MOST = 16  # rows of a run
# n·d³ from which a pattern's rows are better scored together than each with a factor of its own
COMMON = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteRows:
    """Which rows have the same holes."""

    patterns: npt.NDArray[np.bool_]  # what was observed  (P, d), distinct
    order: Codes  # rows that are meant, by pattern  (n,)
    starts: Codes  # where each pattern begins there  (P + 1,)

    @classmethod
    def of(cls, x: Floats) -> IncompleteRows:
        """Return the rows (n, d), sorted out; NaN is a hole."""
        words = missing_bits(x, "<u8")
        one = words.shape[1] == 1
        order = np.argsort(words[:, 0], kind="stable") if one else np.lexsort(words.T)
        ahead = words[order]
        new = np.flatnonzero((ahead[1:] != ahead[:-1]).any(1)) + 1
        starts = np.concatenate([[0], new, [len(x)]]) if len(x) else np.zeros(1, np.intp)
        return cls(~np.isnan(x[order[starts[:-1]]]), order, starts)

    def of_pattern(self, p: int) -> Codes:
        return self.order[self.starts[p] : self.starts[p + 1]]

    @property
    def counts(self) -> Codes:
        return np.diff(self.starts)

    def runs(self) -> tuple[Codes, Codes]:
        """Return the places in ``order`` where runs begin, and their lengths: longest first."""
        n_runs = -(-self.counts // MOST)
        n_before = np.repeat(np.cumsum(n_runs) - n_runs, n_runs)
        firsts = np.repeat(self.starts[:-1], n_runs) + MOST * (
            np.arange(n_runs.sum()) - n_before
        )
        counts = np.minimum(np.repeat(self.starts[1:], n_runs) - firsts, MOST)
        longest_first = np.argsort(-counts, kind="stable")
        return firsts[longest_first], counts[longest_first]

    def rare(self) -> IncompleteRows:
        """Return the rows of patterns that few rows have."""
        few = self.counts * self.patterns.shape[1] ** 3 < COMMON
        starts = np.concatenate([[0], np.cumsum(self.counts[few])])
        return IncompleteRows(
            self.patterns[few], self.order[np.repeat(few, self.counts)], starts
        )


class EllipticalModel(ClassModel):
    """Class k has density g_k((x − m_k)ᵀ Ψ_k⁻¹ (x − m_k)), marginals the same of m_o and Ψ_oo."""

    group_of: Codes  # group of each class  (K,)
    shapes: tuple[Covariance, ...]  # Ψ of each group  (G,)

    @abstractmethod
    def _log_density(self, distances: Floats, log_dets: Floats, n_observed: Codes) -> Floats:
        """Return log p(x_o | k), (n, K), from squared distances and log|Ψ_oo| of each class."""

    @abstractmethod
    def _radii(
        self,
        codes: Codes,
        distances: Floats,
        n: Any,
        rng: np.random.Generator,
    ) -> Floats:
        """Return r, (n,), with x_m = E[x_m | x_o] + r Ψ_{m|o}^½ z for Gaussian z."""

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        z, nothing = rng.standard_normal((len(codes), self.n_features)), np.zeros(len(codes))
        # x = m + r Ψ^½ z
        z *= self._radii(codes, nothing, nothing, rng)[:, None]
        for g, shape in enumerate(self.shapes):
            rows = self.group_of[codes] == g
            z[rows] = shape.colorize(z[rows])
        return self.centre + (z + self.offsets[codes])

    def impute(self, x: Any) -> Floats:
        """Return the rows, NaN replaced by Σ_k p(k | x_o) E[x_m | x_o, k], shape (n, d).

        Where a Student t has no mean (f + d_o ≤ 1) its centre stands for it.
        """
        filled = np.array(x, np.float64)
        posterior = self.allowing_missing().posterior(filled)
        for rows, observed, missing in _incomplete(filled):
            y = filled[np.ix_(rows, observed)] - self.centre[observed]
            mean = np.zeros((len(rows), len(missing)))
            for k, psi in enumerate(self._shape_of_class(observed, missing)):
                # E[x_m | x_o, k] = m_m + L_mo L_oo⁻¹ (x_o − m_o)
                gain = _solved(psi[0], y - self.offsets[k, observed]) @ psi[1].T
                mean += posterior[rows, k, None] * (self.offsets[k, missing] + gain)
            filled[np.ix_(rows, missing)] = self.centre[missing] + mean
        return filled

    def sample_missing(self, x: Any, rng: np.random.Generator) -> Floats:
        """Return the rows, NaN replaced by a draw: k from p(k | x_o), then x_m given x_o and k."""
        filled = np.array(x, np.float64)
        cumulative = self.allowing_missing().posterior(filled).cumsum(1)
        codes = (rng.random((len(filled), 1)) * cumulative[:, -1:] >= cumulative[:, :-1]).sum(
            1
        )
        noise = rng.standard_normal(filled.shape)
        mean, distances = np.zeros_like(filled), np.zeros(len(filled))
        n_observed = (~np.isnan(filled)).sum(1)
        for rows, observed, missing in _incomplete(filled):
            factors = self._shape_of_class(observed, missing)
            for k in np.unique(codes[rows]):
                own, (l_oo, l_mo, l_mm) = rows[codes[rows] == k], factors[k]
                y = filled[np.ix_(own, observed)] - self.centre[observed]
                z, holes = _solved(l_oo, y - self.offsets[k, observed]), np.ix_(own, missing)
                distances[own] = np.square(z).sum(1)
                mean[holes] = self.offsets[k, missing] + z @ l_mo.T
                noise[holes] = noise[holes] @ l_mm.T
        # x_m = μ_m + L_mo z_o + r L_mm z_m,  z_o = L_oo⁻¹ (x_o − μ_o)
        radii = self._radii(codes, distances, n_observed, rng)
        return np.where(
            np.isnan(filled), self.centre + (mean + radii[:, None] * noise), filled
        )

    def _marginals(self, observed: Codes) -> tuple[Floats, Floats, tuple[Covariance, ...]]:
        kept = np.arange(self.n_features)[observed]
        shapes = tuple(shape.marginal(kept) for shape in self.shapes)
        return self.centre[kept], self.offsets[:, kept], shapes

    def _shape_of_class(self, observed: Codes, missing: Codes) -> list[Any]:
        """Return L_oo, L_mo, L_mm of each class, factored once per group."""
        factors = [shape.conditional(observed, missing) for shape in self.shapes]
        return [factors[g] for g in self.group_of]

    def _read_observed(
        self,
        x: Any,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        log_weights = self.log_priors if log_weights is None else log_weights
        shape = readout.shape(len(x), self.n_classes)
        values = np.full(shape, -1 if readout.dtype is np.intp else np.nan)
        if x.size * self.n_classes >= SMALL:
            values = read_scores(self._observed_scores(x) + log_weights, readout)
        # what is common, lost to rounding, or too far away is read or refused pattern by pattern
        apart = unscored(values)
        rows = IncompleteRows.of(x[apart])
        for p, pattern in enumerate(rows.patterns):
            observed, own = np.flatnonzero(pattern), apart[rows.of_pattern(p)]
            part = x[np.ix_(own, observed)]
            values[own] = self.marginal(observed)._read(part, readout, log_weights)
        return values

    def _observed_scores(self, x: Floats) -> Floats:
        """Return log p(x_o | k), (n, K), by compiled loops."""
        y = x - self.centre
        rare = cache(lambda: IncompleteRows.of(y).rare())  # only if somebody asks
        distances, log_dets = np.empty((2, len(x), self.n_classes))
        for g, shape in enumerate(self.shapes):
            own = np.flatnonzero(self.group_of == g)
            distances[:, own], log_det = shape.observed_distances(y, rare, self.offsets[own])
            log_dets[:, own] = log_det[:, None]
        return self._log_density(distances, log_dets, (~np.isnan(x)).sum(1))


def _incomplete(x: Floats) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Yield rows of one pattern with holes, and the features observed and missing in them."""
    rows = IncompleteRows.of(x)
    for p, pattern in enumerate(rows.patterns):
        if not pattern.all():
            yield rows.of_pattern(p), np.flatnonzero(pattern), np.flatnonzero(~pattern)


def _solved(lower: Floats, y: Floats) -> Floats:
    """Return L⁻¹ y for each row."""
    return solve_lower(lower, y.T).T if y.size else y
