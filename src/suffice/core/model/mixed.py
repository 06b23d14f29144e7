"""Class-conditional densities of numeric rows and categories."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from suffice.core.linalg import LOG_2PI
from suffice.core.model.bayes_error import BayesError, simulated_error
from suffice.core.model.class_model import WrappedModel
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.level_forest import LevelBlocks, LevelForest
from suffice.core.model.posterior import Readout
from suffice.core.model.scoring import Formula, refuse_unread
from suffice.core.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter, PerClassScatter
from suffice.core.threads import side_by_side
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
)
from suffice.typing import Array, Codes, Floats, RowsLike

# with more combinations of unknown levels, the density is not summed over all of them
MOST_COMBINATIONS = 4096
_BLOCK = 1 << 13  # rows read at a time


class _PatternRows(NamedTuple):
    """Rows whose levels are unknown in the same categories."""

    rows: Codes  # (m,)
    numbers: Floats  # (m, p); NaN where empty
    levels: Codes  # (m, C); negative where unknown
    unknown: Codes  # positions of the unknown categories


@dataclass(frozen=True, eq=False)
class MixedModel(WrappedModel):
    """A forest for the levels c, and Gaussians for the numbers z, regressed on the levels.

    p(z, c | k) = p(c | k) N(z − B_k m(c); μ_k, Σ_k), where m(c) are the indicators of the levels.
    If the forest has no edges, B = 0 and Σ_k is diagonal, this is naive Bayes. Encoded rows hold
    numbers, then indicators of missing numbers, then indicators of levels. A number that is marked
    as missing is not used. If numbers depend on unknown levels, the density is summed over all
    combinations of these levels, or, for more than 4096 combinations, computed with expected
    indicators.
    """

    inner: GaussianModel  # model of z − B m
    levels: LevelForest
    blocks: LevelBlocks
    # B of each group of classes  (G, p, C'), or None if z does not depend on levels
    coefficients: Floats | None
    filled: Codes  # positions of the numbers that have an indicator of missing values  (h,)
    fills: Floats  # the value that fills the missing cells of each of these numbers  (h,)

    @cached_property
    def centre(self) -> Floats:  # type: ignore[override]
        n_indicators = self.blocks.starts[-1] - self.blocks.n_numbers
        return np.concatenate([self.inner.centre, np.zeros(n_indicators)])

    @cached_property
    def offsets(self) -> Floats:  # type: ignore[override]
        """Means of the observed numbers and of the indicators, minus ``centre``, (K, D)."""
        # expected indicators  (K, C')
        shares = np.delete(self.levels.frequencies, self.blocks.edges[:-1], axis=1)
        slopes = self._slopes[self.inner.group_of]
        numbers = self.inner.offsets + np.einsum("kpc,kc->kp", slopes, shares)
        return np.concatenate([numbers, shares], axis=1)

    @property
    def n_parameters(self) -> int:
        present = np.flatnonzero(np.isfinite(self.log_priors))
        n_parameters = self.inner.n_parameters + self.levels.n_parameters(present)
        if self.coefficients is None:
            return n_parameters
        return n_parameters + self._slopes[np.unique(self.inner.group_of[present])].size

    @property
    def covariance_matrices(self) -> Floats:
        p = self.blocks.n_numbers
        d = self.n_features
        out = np.zeros((self.n_classes, d, d))
        for k, slopes in enumerate(self._slopes[self.inner.group_of]):
            pairs = self.levels.pairs(k)
            f = np.diagonal(pairs)
            kept = np.delete(np.arange(len(f)), self.blocks.edges[:-1])
            # Cov(m) = P − f fᵀ,  Cov(z, m) = B Cov(m),  Cov(z) = Σ + B Cov(m) Bᵀ
            of_levels = (pairs - np.outer(f, f))[np.ix_(kept, kept)]
            cross = slopes @ of_levels
            out[k, p:, p:] = of_levels
            out[k, :p, p:] = cross
            out[k, p:, :p] = cross.T
            out[k, :p, :p] = self.inner.covariance_of(k).dense() + cross @ slopes.T
        return out

    @property
    def shared_covariance(self) -> None:
        """None, since the classes have different frequencies of levels."""
        return

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw a row for each code k: its levels, then the numbers given the levels, (n, D)."""
        levels = self.levels.sample(codes, rng)
        m = self.blocks.indicators(levels)
        z = self.inner.sample_of(codes, rng)
        for g, slopes in enumerate(self._slopes):
            rows = np.flatnonzero(self.inner.group_of[codes] == g)
            z[rows] += m[rows] @ slopes.T
        for j, column in enumerate(self.filled):
            z[levels[:, j] == 1, column] = self.fills[j]
        return np.concatenate([z, m], axis=1)

    def as_gaussian(self) -> NoReturn:
        raise InvalidParameterError(
            "this model has probabilities of levels, so the boundary of two classes is not a "
            "hyperplane or quadric: use covariance='full' with categories='indicators'"
        )

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        return simulated_error(self, n_samples, rng)

    def _log_likelihood(self, moments: Moments) -> float:
        if moments.n_features != self.n_features:
            raise FeatureMismatchError(
                f"the model has {self.n_features} features, but the moments have "
                f"{moments.n_features}: pass moments.select(encoding.kept), with the encoding of "
                "the model"
            )
        has_empty_cells = len(self.filled) > 0 or moments.patterns is not None
        if self.coefficients is not None and has_empty_cells:
            raise MissingStatisticsError(
                "the likelihood of missing numbers that depend on levels cannot be computed "
                "from moments: sum log_joint over the rows"
            )
        of_levels = self.levels.log_likelihood(moments, self.blocks)
        if len(self.filled):
            return of_levels + self._observed_log_likelihood(moments)
        numbers = without_levels(
            moments, self.blocks.n_numbers, self.coefficients, self.inner.group_of
        )
        return of_levels + self.inner._log_likelihood(numbers)

    def _observed_log_likelihood(self, moments: Moments) -> float:
        """Return Σ w (log p(z | y) + log π_y) over the observed numbers z."""
        present = moments.weights > 0
        variances = self._variances
        sums, n = observed_numbers(moments, self.blocks.n_numbers, self.filled, self.fills)
        drift = sums.centred_means + (sums.grand_mean - self.inner.centre) - self.inner.offsets
        # Σ_j n_j log N(z_j; μ_j, σ_j) = −½ Σ_j n_j log 2π σ_j² + (M_j + n_j δ_j²) / σ_j²
        terms = n * (LOG_2PI + np.log(variances)) + (sums.diagonals + n * drift**2) / variances
        of_priors = moments.weights[present] @ self.log_priors[present]
        return float(of_priors - 0.5 * terms[present].sum())

    @property
    def formula(self) -> Formula:
        if self.coefficients is not None or (self.levels.parents >= 0).any():
            msg = "a tree of categories has no scores to export: use categories='indicators'"
            raise InvalidParameterError(msg)
        columns = zip(*self.levels.log_tables, strict=True)
        terms = [np.concatenate(column) for column in columns]  # (K, L) each
        # the scorer includes the fill value of a missing number: subtract the score of this value
        variances = self._variances[:, self.filled]
        distances = (self.fills - self.inner.means[:, self.filled]) ** 2 / variances
        fill_scores = -0.5 * (LOG_2PI + np.log(variances) + distances)
        for j, score in enumerate(fill_scores.T):
            terms[j][:, 1] -= score
        return replace(self.inner.formula, levels=tuple(terms))

    @property
    def _variances(self) -> Floats:
        """Variance of each number in each class, (K, p)."""
        sigmas = [self.inner.covariance_of(k).dense() for k in range(self.n_classes)]
        return np.stack([np.diagonal(sigma) for sigma in sigmas])

    def allowing_missing(self) -> MixedModel:
        """Return ``self``: encoded rows may have NaN."""
        return self

    def impute(self, x: RowsLike) -> Floats:
        """Return the rows with NaN replaced with conditional means (of levels: probabilities)."""
        encoded = self._checked(x)
        p = self.blocks.n_numbers
        log_density = self.log_density(encoded)[:, None]
        filled = np.zeros_like(encoded)
        for rows, z, levels, unknown in self._by_unknown(encoded):
            for m, log_joint in self._completions(z, levels, unknown):
                # p(k, c_u | x) = π_k p(z, c | k) / p(x)
                weights = np.exp(self.log_priors + log_joint - log_density[rows])
                filled[rows, p:] += (weights[:, :, None] * m).sum(1)
                for k, (model, slopes) in enumerate(self._class_models):
                    shift = m[:, min(k, m.shape[1] - 1)] @ slopes.T
                    imputed = model.impute(z - shift) + shift
                    filled[rows, :p] += weights[:, [k]] * imputed
        return np.where(np.isnan(encoded), filled, encoded)

    def sample_missing(self, x: RowsLike, rng: np.random.Generator) -> Floats:
        """Return the rows with NaN replaced with conditional draws.

        If there are too many combinations of unknown levels, each level is drawn separately.
        """
        encoded = self._checked(x)
        p = self.blocks.n_numbers
        filled = np.zeros_like(encoded)
        for rows, z, codes, unknown in self._by_unknown(encoded):
            best = np.full(len(rows), -np.inf)
            k = np.zeros(len(rows), np.intp)
            shares = np.zeros((len(rows), self.n_features - p))
            for m, log_joint in self._completions(z, codes, unknown):
                # the pair (k, c_u) with the largest log p + Gumbel noise is a draw from p(k, c_u|x)
                noisy = log_joint + self.log_priors + rng.gumbel(size=log_joint.shape)
                better = np.flatnonzero(noisy.max(1) > best)
                best[better] = noisy[better].max(1)
                k[better] = noisy[better].argmax(1)
                shares[better] = m[better, np.minimum(k[better], m.shape[1] - 1)]
            indicators = self._drawn_levels(shares, rng)
            filled[rows, p:] = indicators
            for class_code in np.unique(k):
                model, slopes = self._class_models[class_code]
                members = np.flatnonzero(k == class_code)
                shift = indicators[members] @ slopes.T
                drawn = model.sample_missing(z[members] - shift, rng) + shift
                filled[rows[members], :p] = drawn
        return np.where(np.isnan(encoded), filled, encoded)

    def _drawn_levels(self, shares: Floats, rng: np.random.Generator) -> Floats:
        """Draw a level of each category, given the probabilities of levels; return indicators."""
        codes = np.zeros((len(shares), len(self.blocks.sizes)), np.intp)
        spans = itertools.pairwise(self.blocks.starts - self.blocks.n_numbers)
        for j, (lo, hi) in enumerate(spans):
            cumulative = shares[:, lo:hi].cumsum(1)
            u = rng.random(len(shares))
            # if u exceeds the other levels' probability, the reference level is drawn
            is_reference = u >= cumulative.max(1, initial=0)
            drawn = (u[:, None] >= cumulative).sum(1) + 1
            codes[:, j] = np.where(is_reference, 0, drawn)
        return self.blocks.indicators(codes)

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        rows = self._checked(x)
        starts = range(0, max(len(rows), 1), _BLOCK)
        blocks = [rows[start : start + _BLOCK] for start in starts]
        try:
            parts = side_by_side(self._log_density, blocks, n_numbers=rows.size)
        except InvalidInputError:
            refuse_unread(self._log_density, rows, 0, len(rows))
        weights = self.log_priors if log_weights is None else log_weights
        return readout.read(weights + np.concatenate(parts))

    def _read_observed(
        self,
        x: Floats,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        return self._read(x, readout, log_weights)

    def _log_density(self, rows: Floats) -> Floats:
        """Return log p(z, c | k) of encoded rows, (n, K)."""
        if self.coefficients is None:
            z, codes = self._numbers_and_levels(rows)
            of_numbers = self.inner.allowing_missing().class_log_density(z)
            return self.levels.log_probability(codes) + of_numbers
        out = np.full((len(rows), self.n_classes), -np.inf)
        for members, z, codes, unknown in self._by_unknown(rows):
            for _, log_joint in self._completions(z, codes, unknown):
                out[members] = np.logaddexp(out[members], log_joint)
        return out

    def _checked(self, x: RowsLike) -> Floats:
        rows = np.asarray(x, np.float64)
        if rows.shape[1] != self.n_features:
            msg = f"rows have {rows.shape[1]} columns, but the model has {self.n_features} features"
            raise FeatureMismatchError(msg)
        return rows

    def _numbers_and_levels(self, rows: Floats) -> tuple[Floats, Codes]:
        """Return the numbers, with NaN for empty cells, and the levels."""
        codes = self.blocks.codes(rows)
        z = rows[:, : self.blocks.n_numbers].copy()
        for j, column in enumerate(self.filled):
            z[codes[:, j] == 1, column] = np.nan
        return z, codes

    def _by_unknown(self, rows: Floats) -> Iterator[_PatternRows]:
        """Yield groups of rows whose levels are unknown in the same categories."""
        z, codes = self._numbers_and_levels(rows)
        is_unknown = codes < 0
        if not is_unknown.any():
            yield _PatternRows(np.arange(len(rows)), z, codes, np.zeros(0, np.intp))
            return
        patterns, pattern_of = np.unique(is_unknown, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            members = np.flatnonzero(pattern_of.ravel() == i)
            yield _PatternRows(members, z[members], codes[members], np.flatnonzero(pattern))

    def _completions(
        self,
        z: Floats,
        codes: Codes,
        unknown: Codes,
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield indicators (n, 1, C') for each combination of unknown levels, and log p (n, K).

        If there are too many combinations, yield expected indicators (n, K, C') once.
        """
        sizes = [int(size) for size in self.blocks.sizes[unknown]]
        if float(np.prod(sizes, dtype=float)) > MOST_COMBINATIONS:
            log_joint = self.levels.log_probability(codes)
            expected = self._expected_indicators(codes, unknown)
            for k, (model, slopes) in enumerate(self._class_models):
                residuals = z - expected[:, k] @ slopes.T
                log_joint[:, [k]] += model.allowing_missing().class_log_density(residuals)
            yield expected, log_joint
            return
        for combination in itertools.product(*map(range, sizes)):
            codes[:, unknown] = combination
            log_joint = self.levels.log_probability(codes)
            m = self.blocks.indicators(codes)
            for members, model, slopes in self._group_models:
                residuals = z - m @ slopes.T
                of_numbers = model.allowing_missing().class_log_density(residuals)
                log_joint[:, members] += of_numbers
            yield m[:, None], log_joint

    @cached_property
    def _slopes(self) -> Floats:
        """B of each group, or zeros if numbers do not depend on levels, (G, p, C')."""
        if self.coefficients is not None:
            return self.coefficients
        p = self.blocks.n_numbers
        return np.zeros((len(self.inner.covariances), p, self.n_features - p))

    @cached_property
    def _equal_priors(self) -> GaussianModel:
        """The Gaussian model of the numbers, with log priors 0."""
        return self.inner.with_log_priors(np.zeros(self.n_classes))

    @cached_property
    def _group_models(self) -> list[tuple[Codes, GaussianModel, Floats]]:
        """Classes, Gaussian model and B of each group of classes that share a covariance."""
        groups = []
        for g, slopes in enumerate(self._slopes):
            members = np.flatnonzero(self.inner.group_of == g)
            groups.append((members, self._equal_priors.some(members), slopes))
        return groups

    @cached_property
    def _class_models(self) -> list[tuple[GaussianModel, Floats]]:
        """The Gaussian model and B of each class."""
        models = []
        for k, slopes in enumerate(self._slopes[self.inner.group_of]):
            models.append((self._equal_priors.some(np.array([k])), slopes))
        return models

    def _expected_indicators(self, codes: Codes, unknown: Codes) -> Floats:
        """Return E[m | c, k], given the known levels c, (n, K, C')."""
        log_known = self.levels.log_probability(codes)
        m = np.repeat(self.blocks.indicators(codes)[:, None], self.n_classes, axis=1)
        for j in unknown:
            start = self.blocks.starts[j] - self.blocks.n_numbers
            completed = codes.copy()
            for level in range(1, self.blocks.sizes[j]):
                completed[:, j] = level
                # p(c_j = level | c, k) = p(c_j = level, c | k) / p(c | k)
                log_completed = self.levels.log_probability(completed)
                m[:, :, start + level - 1] = np.exp(log_completed - log_known)
        return m


def without_levels(
    moments: Moments,
    p: int,
    slopes: Floats | None,
    group_of: Codes,
) -> Moments:
    """Return the sums of z − B m, given the sums of encoded rows (z, m); without B, those of z."""
    numbers = moments.select(np.arange(p))
    if slopes is None:
        return numbers
    # T = [I, −B]:  r = T x,  mean T μ,  scatter T M Tᵀ
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
    """Return sums and weights of the observed cells, given sums that include filled cells."""
    numbers = sums.select(np.arange(p))
    weights = np.repeat(sums.weights[:, None], p, axis=1)
    if not len(filled):
        return numbers, weights
    empty = sums.means[:, p : p + len(filled)]  # share of missing values  (K, h)
    some_observed = empty < 1 - 1e-12
    odds = np.where(some_observed, empty / np.where(some_observed, 1 - empty, 1.0), 0.0)
    # u = z − fill is zero in missing cells, whose share is p:
    # ū_o = ū / (1 − p),  M_o = M − w p (1 − p) ū_o²
    u = (sums.means[:, filled] - fills) + sums.means_low[:, filled]
    means_low = numbers.means_low.copy()
    means_low[:, filled] += u * odds
    squares = numbers.diagonals.copy()
    lost = sums.weights[:, None] * empty * (1 - empty) * (u * (1 + odds)) ** 2
    remaining = squares[:, filled] - lost
    # a difference as small as a rounding error counts as zero
    squares[:, filled] = np.where(remaining > 1e-13 * lost, remaining, 0.0)
    weights[:, filled] *= np.where(some_observed, 1 - empty, 0.0)
    observed = replace(
        numbers, means_low=means_low, scatter=DiagonalScatter(squares), fourth=None
    )
    return observed, weights
