"""Models of counts: multinomial, Bernoulli and Poisson classes, and complement naive Bayes.

Every score a_k(x) = c_k + Σ_j x_j w_kj + log π_k is linear in x_j: the counts or, in the Bernoulli
model, the indicators of presence. Only non-zero counts need to be read.

Rennie, Shih, Teevan & Karger (2003), *Tackling the Poor Assumptions of Naive Bayes Text
Classifiers*, ICML; McCallum & Nigam (1998), *A Comparison of Event Models*, AAAI workshop.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, Self

import numpy as np

from suffice.core.model.class_model import ClassModel
from suffice.core.model.posterior import Joint, LogDensity, Readout
from suffice.core.model.scoring import Formula, Scorer
from suffice.core.model.sparse_scores import read_sparse
from suffice.core.moments import Moments
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows, is_sparse, summed
from suffice.core.table.matrix import as_matrix, refuse_nonfinite
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import Array, Codes, Floats, RowsLike

if TYPE_CHECKING:
    from suffice.core.model.gaussian import GaussianModel


@dataclass(frozen=True, eq=False)
class CountModel(ClassModel):
    """Base class of models with scores linear in counts: one subclass for each distribution."""

    log_priors: Floats  # log π  (K,)
    weights: Floats  # w: score of one count, stored column by column  (K, d)
    constants: Floats  # c: score of an empty row, without the prior  (K,)
    mean_totals: Floats  # mean of Σ_j x_j in each class  (K,)
    has_fractions: bool = False  # whether the model was fitted to fractional counts
    temperature: float = 1.0

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return not self.has_fractions

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[1])

    @property
    def centre(self) -> Floats:  # type: ignore[override]
        return np.zeros(self.n_features)

    @property
    def offsets(self) -> Floats:  # type: ignore[override]
        return self.means

    @property
    def n_parameters(self) -> int:
        n_present = int(np.isfinite(self.log_priors).sum())  # number of classes with rows
        return n_present - 1 + n_present * self._n_class_parameters

    @property
    def _n_class_parameters(self) -> int:
        return self.n_features

    @property
    def covariance_matrices(self) -> Floats:
        raise InvalidParameterError(
            "a model of counts has no covariance matrix: read means and top features instead"
        )

    def as_gaussian(self) -> GaussianModel:
        raise InvalidParameterError(
            "a model of counts is not Gaussian, and boundaries are computed for Gaussian models "
            "only: compare its posteriors"
        )

    def with_log_priors(self, log_priors: Floats) -> Self:
        return replace(self, log_priors=log_priors)

    def with_temperature(self, temperature: float) -> Self:
        return replace(self, temperature=temperature)

    def allowing_missing(self) -> Self:
        """Return ``self``: a count model raises for NaN."""
        return self

    @property
    def formula(self) -> Formula:
        return Formula(self._scorer(self.log_priors))

    def _scorer(self, log_weights: Floats) -> Scorer:
        origin = np.zeros(self.n_features)
        return Scorer.linear(origin, self.weights, self.constants + log_weights)

    # --- rows --------------------------------------------------------------------------------

    def counts_of(self, rows: CountRows) -> CountRows:
        """Return the rows as the model reads them."""
        return rows

    def _dense_counts_of(self, rows: Array) -> Array:
        return rows

    @abstractmethod
    def _log_base(self, rows: CountRows) -> Floats:
        """Return the term of the log density that is the same for all classes, (n,)."""

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        weights = self.log_priors if log_weights is None else log_weights
        is_density = log_weights is not None and isinstance(readout, (Joint, LogDensity))
        if is_sparse(x):
            rows = CountRows.of(x)
            rows.require_features(self.n_features)
            rows.require_counts()
            constants = self.constants + weights
            values = read_sparse(self.counts_of(rows), self.weights, constants, readout)
        else:
            dense, _ = as_matrix(x)
            self.require_dense_counts(dense)
            values = self._scorer(weights).score(self._dense_counts_of(dense), readout)
        if not is_density:
            return values
        base = self._log_base(CountRows.of(x))
        return values + (base[:, None] if values.ndim == 2 else base)

    def require_dense_counts(self, rows: Array, names: tuple[str, ...] | None = None) -> None:
        """Raise unless the rows have the model's number of features, all finite and ≥ 0."""
        if rows.shape[1] != self.n_features:
            raise FeatureMismatchError(
                f"X has {rows.shape[1]} features, but the model has {self.n_features}: count the "
                "same features in the same order"
            )
        if not rows.size:
            return
        if not (rows.min() >= 0 and rows.max() < np.inf):  # NaN fails both comparisons
            refuse_nonfinite(rows, names)
            CountRows.of(rows).require_counts(names)

    # --- densities ---------------------------------------------------------------------------

    def _log_likelihood(self, moments: Moments) -> float:
        raise InvalidParameterError(
            f"a model of counts reads CountSums, not {type(moments).__name__}: call "
            "log_likelihood of the estimator"
        )

    def log_likelihood_of(self, sums: CountSums) -> float:
        """Return Σ w (log p(x | y) + log π_y) over the rows that were summed."""
        if sums.n_features != self.n_features or sums.n_classes != self.n_classes:
            raise InvalidInputError(
                "the sums have other classes or features than the model: collect sums with the "
                "classes and features of the model"
            )
        present = sums.weights > 0
        # Σ_k (n_k (c_k + log π_k) + Σ_j N_kj w_kj) + Σ w × the term common to all classes
        per_row = np.where(present, self.constants + self.log_priors, 0.0)
        linear = float(np.einsum("kj,kj->", sums.sums, self.weights))
        return float(sums.weights @ per_row) + linear + self._summed_log_base(sums)

    @abstractmethod
    def _summed_log_base(self, sums: CountSums) -> float:
        """Return Σ w × the term of the log density that is the same for all classes."""

    def _refuse_fractions(self) -> None:
        if self.has_fractions:
            raise InvalidParameterError(
                "this model was fitted to fractional counts, such as tf-idf weights, and has no "
                "distribution of whole counts to draw from: fit it to whole counts"
            )


def log_factorial_sums(rows: CountRows) -> Floats:
    """Return Σ_j log x_j! of each row, (n,)."""
    from scipy.special import gammaln

    return summed(rows.row_of_cell, gammaln(rows.values + 1.0), rows.n_rows)


@dataclass(frozen=True, eq=False)
class MultinomialModel(CountModel):
    """Multinomial counts given their total: p(x | k) = (Σ x)! / Π x_j! · Π θ_kj^x_j."""

    @property
    def _n_class_parameters(self) -> int:
        return self.n_features - 1

    @property
    def means(self) -> Floats:
        return self.mean_totals[:, None] * np.exp(self.weights)

    def _log_base(self, rows: CountRows) -> Floats:
        from scipy.special import gammaln

        # log (Σ x)! − Σ log x_j!
        return np.asarray(gammaln(rows.totals() + 1.0) - log_factorial_sums(rows))

    def _summed_log_base(self, sums: CountSums) -> float:
        return float(sums.log_totals.sum() - sums.log_factorials.sum())

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw the total of each row from a Poisson distribution, then counts with this total."""
        self._refuse_fractions()
        theta = np.exp(self.weights)
        theta /= theta.sum(1, keepdims=True)
        totals = rng.poisson(self.mean_totals[codes])
        rows = np.zeros((len(codes), self.n_features))
        for k in np.unique(codes).tolist():
            is_class = codes == k
            rows[is_class] = rng.multinomial(totals[is_class], theta[k])
        return rows


@dataclass(frozen=True, eq=False)
class PoissonModel(CountModel):
    """Independent Poisson counts: p(x | k) = Π λ_kj^x_j exp(−λ_kj) / x_j!."""

    @property
    def means(self) -> Floats:
        return np.exp(self.weights)

    def _log_base(self, rows: CountRows) -> Floats:
        return -log_factorial_sums(rows)

    def _summed_log_base(self, sums: CountSums) -> float:
        return -float(sums.log_factorials.sum())

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        self._refuse_fractions()
        return rng.poisson(self.means[codes]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class BernoulliModel(CountModel):
    """Independent indicators: p(x | k) = Π p_kj^b_j (1 − p_kj)^(1 − b_j), b_j = [x_j > t]."""

    threshold: float = 0.0

    @property
    def means(self) -> Floats:
        # w = log p − log (1 − p)
        return 1.0 / (1.0 + np.exp(-self.weights))

    def counts_of(self, rows: CountRows) -> CountRows:
        return rows.presence(self.threshold)

    def _dense_counts_of(self, rows: Array) -> Array:
        return (rows > self.threshold).astype(np.float64)

    @property
    def formula(self) -> Formula:
        raise InvalidParameterError(
            "the Bernoulli model reads whether a count is above a threshold, which exports cannot "
            "write: export kind='multinomial' or 'poisson'"
        )

    def _log_base(self, rows: CountRows) -> Floats:
        return np.zeros(rows.n_rows)

    def _summed_log_base(self, sums: CountSums) -> float:
        del sums
        return 0.0

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        p = self.means[codes]
        # a feature that is drawn as present gets the smallest integer above the threshold
        count = math.floor(self.threshold) + 1.0
        return np.where(rng.random(p.shape) < p, count, 0.0)


@dataclass(frozen=True, eq=False)
class ComplementModel(CountModel):
    """Scores −Σ_j x_j log θ̃_kj, where θ̃_kj is the share of feature j in all other classes."""

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return False

    @property
    def means(self) -> Floats:
        _refuse_density()

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        del codes, rng
        _refuse_density()

    def _log_base(self, rows: CountRows) -> Floats:
        del rows
        _refuse_density()

    def _summed_log_base(self, sums: CountSums) -> float:
        del sums
        _refuse_density()


def _refuse_density() -> NoReturn:
    raise InvalidParameterError(
        "the scores of kind='complement' are not log densities, so the model has no samples and "
        "no log-likelihood: use kind='multinomial'"
    )
