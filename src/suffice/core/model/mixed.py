"""Class-conditional densities of rows of numbers and categories."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from suffice import errors
from suffice.core.linalg import LOG_2PI
from suffice.core.model.class_model import ClassModel, WrappedModel
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.level_forest import LevelBlocks, LevelForest
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula, refuse_unread
from suffice.core.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter, PerClassScatter
from suffice.core.threads import side_by_side
from suffice.typing import Array, Codes, Floats

MOST_COMBINATIONS = 4096  # of unknown levels that are summed over one by one
_BLOCK = 1 << 13  # rows read at a time


@dataclass(frozen=True, eq=False)
class MixedModel(WrappedModel):
    """Levels c by a forest, numbers z by Gaussians about what the levels say of them.

    p(z, c | k) = p(c | k) N(z − B_k m(c); μ_k, Σ_k), m(c) the indicators of the levels; without
    edges and B, naive Bayes. Rows come encoded: numbers, indicators of empty cells (such a number
    counts for nothing), indicators of levels. Unknown levels that numbers depend on are summed over
    one by one; beyond 4096 combinations numbers are taken at the expected indicators.
    """

    inner: GaussianModel  # of z − B m
    levels: LevelForest
    blocks: LevelBlocks
    coefficients: (
        Floats | None
    )  # B of each covariance  (G, p, C'); None: numbers without levels
    filled: Codes  # numbers that have an indicator of empty cells  (h,)
    fills: Floats  # what stands in those cells  (h,)

    @cached_property
    def centre(self) -> Floats:  # type: ignore[override]
        n_indicators = self.blocks.starts[-1] - self.blocks.n_numbers
        return np.concatenate([self.inner.centre, np.zeros(n_indicators)])

    @cached_property
    def offsets(self) -> Floats:  # type: ignore[override]
        """Mean of the numbers that are observed, and of the indicators, less ``centre``, (K, D)."""
        # expected indicators  (K, C')
        shares = np.delete(self.levels.frequencies, self.blocks.edges[:-1], axis=1)
        slopes = self._slopes[self.inner.group_of]
        numbers = self.inner.offsets + np.einsum("kpc,kc->kp", slopes, shares)
        return np.concatenate([numbers, shares], axis=1)

    @property
    def n_parameters(self) -> int:
        seen = np.flatnonzero(np.isfinite(self.log_priors))
        slopes = self._slopes[np.unique(self.inner.group_of[seen])]
        n_slopes = 0 if self.coefficients is None else slopes.size
        return self.inner.n_parameters + n_slopes + self.levels.n_parameters(seen)

    @property
    def covariance_matrices(self) -> Floats:
        k, p, d = self.n_classes, self.blocks.n_numbers, self.n_features
        out = np.zeros((k, d, d))
        for at, slopes in enumerate(self._slopes[self.inner.group_of]):
            pairs = self.levels.pairs(at)
            f = np.diagonal(pairs)
            kept = np.delete(np.arange(len(f)), self.blocks.edges[:-1])
            # Cov(m) = P − f fᵀ,  Cov(z, m) = B Cov(m),  Cov(z) = Σ + B Cov(m) Bᵀ
            spread = (pairs - np.outer(f, f))[np.ix_(kept, kept)]
            cross = slopes @ spread
            out[at, p:, p:], out[at, :p, p:], out[at, p:, :p] = spread, cross, cross.T
            out[at, :p, :p] = self.inner.covariance_of(at).dense() + cross @ slopes.T
        return out

    shared_covariance = None  # levels differ in their frequencies

    def sample_of(self, k: Codes, rng: np.random.Generator) -> Floats:
        """Draw a row for each code k: its levels, then the numbers given the levels, (n, D)."""
        codes = self.levels.sample(k, rng)
        m, z = self.blocks.indicators(codes), self.inner.sample_of(k, rng)
        for g, slopes in enumerate(self._slopes):
            rows = np.flatnonzero(self.inner.group_of[k] == g)
            z[rows] += m[rows] @ slopes.T
        for j, at in enumerate(self.filled):
            z[codes[:, j] == 1, at] = self.fills[j]
        return np.concatenate([z, m], axis=1)

    def as_gaussian(self) -> NoReturn:
        raise errors.InvalidParameterError(
            "this model has probabilities of levels, and where two classes are equal is no "
            "hyperplane or quadric: use covariance='full' with categories='indicators'"
        )

    def _log_likelihood(self, moments: Moments) -> float:
        if moments.n_features != self.n_features:
            raise errors.FeatureMismatchError(
                f"the model reads {self.n_features} features, the moments have "
                f"{moments.n_features}: select(encoding.kept) of the model's encoding"
            )
        if self.coefficients is not None and (
            len(self.filled) or moments.patterns is not None
        ):
            raise errors.MissingStatisticsError(
                "the likelihood of numbers with empty cells that depend on levels cannot be read "
                "from moments: add up log_joint of the rows"
            )
        levels = self.levels.log_likelihood(moments, self.blocks)
        if len(self.filled):
            return levels + self._of_observed(moments)
        slopes, p = self.coefficients, self.blocks.n_numbers
        numbers = without_levels(moments, p, slopes, self.inner.group_of)
        return levels + self.inner._log_likelihood(numbers)

    def _of_observed(self, moments: Moments) -> float:
        """Return Σ w (log p(z | y) + log π_y), z the numbers of cells that are not empty."""
        seen, variances = moments.weights > 0, self._variances
        own, n = observed_numbers(moments, self.blocks.n_numbers, self.filled, self.fills)
        drift = own.centred_means + (own.grand_mean - self.inner.centre) - self.inner.offsets
        # Σ_j n_j log N(z_j; μ_j, σ_j) = −½ Σ_j n_j log 2π σ_j² + (S_j + n_j δ_j²) / σ_j²
        terms = n * (LOG_2PI + np.log(variances)) + (own.diagonals + n * drift**2) / variances
        return float(moments.weights[seen] @ self.log_priors[seen] - 0.5 * terms[seen].sum())

    bayes_error = ClassModel.bayes_error

    @property
    def formula(self) -> Formula:
        if self.coefficients is not None or (self.levels.parents >= 0).any():
            msg = "a tree of categories has no scores to export: use categories='indicators'"
            raise errors.InvalidParameterError(msg)
        columns = zip(*self.levels.log_tables, strict=True)
        terms = [np.concatenate(column) for column in columns]  # (K, L) each
        # the number of an empty cell counts for nothing: what its fill scores is taken back
        variances = self._variances[:, self.filled]
        distances = (self.fills - self.inner.means[:, self.filled]) ** 2 / variances
        for term, each in zip(
            terms, (LOG_2PI + np.log(variances) + distances).T, strict=False
        ):
            term[:, 1] += 0.5 * each
        return replace(self.inner.formula, levels=tuple(terms))

    @property
    def _variances(self) -> Floats:
        sigmas = [self.inner.covariance_of(k).dense() for k in range(self.n_classes)]
        return np.stack([np.diagonal(sigma) for sigma in sigmas])

    def allowing_missing(self) -> MixedModel:
        """Return itself: encoded rows may have NaN."""
        return self

    def impute(self, x: Any) -> Floats:
        """Return the rows, NaN replaced by its mean given the rest: of a level, its probability."""
        rows, p = self._checked(x), self.blocks.n_numbers
        log_density, filled = self.log_density(rows)[:, None], np.zeros_like(rows)
        for own, z, codes, unknown in self._by_pattern(rows):
            for m, terms in self._completed(z, codes, unknown):
                # p(k, c_u | x) = π_k p(z, c | k) / p(x)
                weights = np.exp(self.log_priors + terms - log_density[own])
                filled[own, p:] += (weights[:, :, None] * m).sum(1)
                for k, (model, slopes) in enumerate(self._alone):
                    shift = m[:, min(k, m.shape[1] - 1)] @ slopes.T
                    filled[own, :p] += weights[:, [k]] * (model.impute(z - shift) + shift)
        return np.where(np.isnan(rows), filled, rows)

    def sample_missing(self, x: Any, rng: np.random.Generator) -> Floats:
        """Return the rows, NaN replaced by a draw given the rest; many unknown levels singly."""
        rows, p = self._checked(x), self.blocks.n_numbers
        filled = np.zeros_like(rows)
        for own, z, codes, unknown in self._by_pattern(rows):
            best, k = np.full(len(own), -np.inf), np.zeros(len(own), np.intp)
            levels = np.zeros((len(own), self.n_features - p))
            for m, terms in self._completed(z, codes, unknown):
                # the largest of log p + Gumbel noise is a draw of p(k, c_u | x)
                noisy = terms + self.log_priors + rng.gumbel(size=terms.shape)
                better = np.flatnonzero(noisy.max(1) > best)
                best[better], k[better] = noisy[better].max(1), noisy[better].argmax(1)
                levels[better] = m[better, np.minimum(k[better], m.shape[1] - 1)]
            levels = self._drawn(levels, rng)
            filled[own, p:] = levels
            for at in np.unique(k):
                model, slopes = self._alone[at]
                here = np.flatnonzero(k == at)
                shift = levels[here] @ slopes.T
                filled[own[here], :p] = model.sample_missing(z[here] - shift, rng) + shift
        return np.where(np.isnan(rows), filled, rows)

    def _drawn(self, shares: Floats, rng: np.random.Generator) -> Floats:
        """Return a level of each category, as indicators, by the probabilities of its levels."""
        codes = np.zeros((len(shares), len(self.blocks.sizes)), np.intp)
        spans = itertools.pairwise(self.blocks.starts - self.blocks.n_numbers)
        for j, (lo, hi) in enumerate(spans):
            upto = shares[:, lo:hi].cumsum(1)
            u = rng.random(len(shares))[:, None]
            codes[:, j] = np.where(u[:, 0] < upto.max(1, initial=0), (u >= upto).sum(1) + 1, 0)
        return self.blocks.indicators(codes)

    def _read(self, x: Any, readout: Readout, log_weights: Floats | None = None) -> Array:
        rows = self._checked(x)
        blocks = [
            rows[start : start + _BLOCK] for start in range(0, max(len(rows), 1), _BLOCK)
        ]
        try:
            parts = side_by_side(self._log_density, blocks, n_numbers=rows.size)
        except errors.InvalidInputError:
            refuse_unread(self._log_density, rows, 0, len(rows))
        weights = self.log_priors if log_weights is None else log_weights
        return readout.read(weights + np.concatenate(parts))

    _read_observed = _read

    def _log_density(self, rows: Floats) -> Floats:
        if self.coefficients is None:
            z, codes = self._parts(rows)
            numbers = self.inner.allowing_missing().class_log_density(z)
            return self.levels.log_probability(codes) + numbers
        out = np.full((len(rows), self.n_classes), -np.inf)
        for own, z, codes, unknown in self._by_pattern(rows):
            for _, terms in self._completed(z, codes, unknown):
                out[own] = np.logaddexp(out[own], terms)
        return out

    def _checked(self, x: Any) -> Floats:
        rows = np.asarray(x, np.float64)
        if rows.shape[1] != self.n_features:
            msg = f"rows have {rows.shape[1]} columns, the model reads {self.n_features} features"
            raise errors.FeatureMismatchError(msg)
        return rows

    def _parts(self, rows: Floats) -> tuple[Floats, Codes]:
        """Return the numbers, NaN where their cell was empty, and the levels."""
        codes, z = self.blocks.codes(rows), rows[:, : self.blocks.n_numbers].copy()
        for j, at in enumerate(self.filled):
            z[codes[:, j] == 1, at] = np.nan
        return z, codes

    def _by_pattern(self, rows: Floats) -> Iterator[tuple[Codes, Floats, Codes, Codes]]:
        """Yield rows of the same unknown categories: which, numbers, levels, the categories."""
        z, codes = self._parts(rows)
        unknown = codes < 0
        if not unknown.any():
            yield np.arange(len(rows)), z, codes, np.zeros(0, np.intp)
            return
        patterns, of_row = np.unique(unknown, axis=0, return_inverse=True)
        for at, pattern in enumerate(patterns):
            own = np.flatnonzero(of_row.ravel() == at)
            yield own, z[own], codes[own], np.flatnonzero(pattern)

    def _completed(
        self,
        z: Floats,
        codes: Codes,
        open_: Codes,
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield indicators (n, 1, C') of each combination of unknown levels, and log p (n, K)."""
        sizes = [int(size) for size in self.blocks.sizes[open_]]
        if float(np.prod(sizes, dtype=float)) > MOST_COMBINATIONS:  # once, expected (n, K, C')
            terms, m = self.levels.log_probability(codes), self._expected(codes, open_)
            for k, (model, slopes) in enumerate(self._alone):
                terms[:, [k]] += model.allowing_missing().class_log_density(
                    z - m[:, k] @ slopes.T
                )
            yield m, terms
            return
        for levels in itertools.product(*map(range, sizes)):
            codes[:, open_] = levels
            terms, m = self.levels.log_probability(codes), self.blocks.indicators(codes)
            for members, model, slopes in self._groups:
                terms[:, members] += model.allowing_missing().class_log_density(
                    z - m @ slopes.T
                )
            yield m[:, None], terms

    @cached_property
    def _slopes(self) -> Floats:
        """B of each covariance, zero where numbers do not depend on levels, (G, p, C')."""
        if self.coefficients is not None:
            return self.coefficients
        p = self.blocks.n_numbers
        return np.zeros((len(self.inner.covariances), p, self.n_features - p))

    @cached_property
    def _even(self) -> GaussianModel:
        """The numbers of classes, of priors that have no say."""
        return replace(self.inner, log_priors=np.zeros(self.n_classes))

    @cached_property
    def _groups(self) -> list[tuple[Codes, GaussianModel, Floats]]:
        found = [np.flatnonzero(self.inner.group_of == g) for g in range(len(self._slopes))]
        pairs = zip(found, self._slopes, strict=True)
        return [(members, self._even.some(members), slopes) for members, slopes in pairs]

    @cached_property
    def _alone(self) -> list[tuple[GaussianModel, Floats]]:
        models = [self._even.some(k) for k in np.arange(self.n_classes)[:, None]]
        return list(zip(models, self._slopes[self.inner.group_of], strict=True))

    def _expected(self, codes: Codes, unknown: Codes) -> Floats:
        """Return E[m | c, k], c the known levels, (n, K, C')."""
        known = self.levels.log_probability(codes)
        m = np.repeat(self.blocks.indicators(codes)[:, None], self.n_classes, axis=1)
        for j in unknown:
            start = self.blocks.starts[j] - self.blocks.n_numbers
            tried = codes.copy()
            for level in range(1, self.blocks.sizes[j]):
                tried[:, j] = level
                # p(c_j = level | c, k) = p(c_j = level, c | k) / p(c | k)
                m[:, :, start + level - 1] = np.exp(self.levels.log_probability(tried) - known)
        return m


def without_levels(
    moments: Moments,
    p: int,
    slopes: Floats | None,
    group_of: Codes,
) -> Moments:
    """Return the sums of z − B m of encoded rows (z, m), of z where there is no B."""
    numbers = moments.select(np.arange(p))
    if slopes is None:
        return numbers
    # T = [I, −B]:  r = T x,  mean T μ,  scatter T S Tᵀ
    identity = np.broadcast_to(np.eye(p), (len(slopes), p, p))
    change = np.concatenate([identity, -slopes], axis=2)[group_of]
    return replace(
        numbers,
        fourth=None,
        means=np.einsum("kpd,kd->kp", change, moments.means),
        means_low=np.einsum("kpd,kd->kp", change, moments.means_low),
        scatter=PerClassScatter(change @ moments.scatters @ np.swapaxes(change, 1, 2)),
    )


def observed_numbers(
    sums: Moments,
    p: int,
    filled: Codes,
    fills: Floats,
) -> tuple[Moments, Floats]:
    """Return sums of observed cells from sums in which empty ones were filled, and weights."""
    numbers = sums.select(np.arange(p))
    weights = np.repeat(sums.weights[:, None], p, axis=1)
    if not len(filled):
        return numbers, weights
    holes = sums.means[:, p : p + len(filled)]  # share of empty cells  (K, h)
    present = holes < 1 - 1e-12
    odds = np.where(present, holes / np.where(present, 1 - holes, 1.0), 0.0)
    # with u = z − fill, zero in empty cells:  ū_o = ū / (1 − p),  S_o = S − w p (1 − p) ū_o²
    below = (sums.means[:, filled] - fills) + sums.means_low[:, filled]
    low, squares = numbers.means_low.copy(), numbers.diagonals.copy()
    low[:, filled] += below * odds
    lost = sums.weights[:, None] * holes * (1 - holes) * (below * (1 + odds)) ** 2
    left = squares[:, filled] - lost
    # what is left of the difference by rounding alone is no variance
    squares[:, filled] = np.where(left > 1e-13 * lost, left, 0.0)
    weights[:, filled] *= np.where(present, 1 - holes, 0.0)
    return replace(
        numbers, means_low=low, scatter=DiagonalScatter(squares), fourth=None
    ), weights
