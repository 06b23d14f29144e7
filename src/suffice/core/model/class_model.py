"""The base class of fitted models: posteriors, densities and samples of classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, NoReturn, Self

import numpy as np

from suffice.core.model.bayes_error import BayesError, simulated_error
from suffice.core.model.covariance import Covariance
from suffice.core.model.posterior import Joint, LogDensity, Readout, ScoredModel
from suffice.core.model.rows_by_pattern import MissingPatterns
from suffice.core.model.sampling import drawn_classes
from suffice.core.model.scoring import Formula, refuse_unread
from suffice.core.moments import Moments
from suffice.core.table.matrix import has_missing
from suffice.core.threads import in_order
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Array, Codes, Floats, RowsLike

if TYPE_CHECKING:
    from suffice.core.model.gaussian import GaussianModel

_BLOCK = 1 << 19  # numbers in a block of rows that one thread scores
# if the first rows, this many, are complete, missing values are assumed to be rare
_FIRST_ROWS = 256


class ClassModel(ScoredModel):
    """Base class of models with priors and class-conditional densities, scored by ``_read``."""

    log_priors: Floats  # log π  (K,)
    centre: Floats  # the origin of ``offsets``  (d,)
    offsets: Floats  # centre of each class minus ``centre``  (K, d)
    has_posterior = True
    has_density = True

    @property
    def n_classes(self) -> int:
        return len(self.log_priors)

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def priors(self) -> Floats:
        """π, shape (K,)."""
        return np.exp(self.log_priors)

    @property
    def means(self) -> Floats:
        """Centre of each class, shape (K, d)."""
        return self.centre + self.offsets

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters."""

    @property
    @abstractmethod
    def covariance_matrices(self) -> Floats:
        """Covariance of the rows of each class: (d, d) if all share it, else (K, d, d)."""

    @property
    def shared_covariance(self) -> Covariance | None:
        """The covariance Σ that all classes share, or None if there is none."""
        return None

    def with_priors(self, priors: Floats) -> Self:
        """Return a model with the same densities and other priors π′."""
        # a_k(x) = log p(x | k) + log π′_k: no refit is needed
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors)
        return self.with_log_priors(log_priors)

    @abstractmethod
    def with_log_priors(self, log_priors: Floats) -> Self:
        """Return a model with the same densities and the priors exp(log_priors)."""

    @abstractmethod
    def with_temperature(self, temperature: float) -> Self:
        """Return a model with the same scores and another temperature T, softmax(a / T)."""

    def log_joint(self, x: RowsLike) -> Floats:
        """Return log p(x | k) + log π_k, shape (n, K)."""
        return self._read(x, Joint(), self.log_priors)

    def class_log_density(self, x: RowsLike) -> Floats:
        """Return log p(x | k), shape (n, K)."""
        return self._read(x, Joint(), np.zeros(self.n_classes))

    def log_density(self, x: RowsLike) -> Floats:
        """Return log p(x) = log Σ_k π_k p(x | k), shape (n,)."""
        return self._read(x, LogDensity(), self.log_priors)

    def marginal(self, observed: Codes) -> ClassModel:  # noqa: ARG002
        """Return the model of some features only, given as indices or as (d,) bool."""
        _refuse_marginal()

    def impute(self, x: RowsLike) -> Floats:  # noqa: ARG002
        """Return the rows with NaN replaced with conditional means, shape (n, d)."""
        _refuse_marginal()

    def sample_missing(self, x: RowsLike, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """Return the rows with NaN replaced with conditional draws, shape (n, d)."""
        _refuse_marginal()

    def _read_observed(
        self,
        x: Floats,  # noqa: ARG002
        readout: Readout,  # noqa: ARG002
        log_weights: Floats | None = None,  # noqa: ARG002
    ) -> Array:
        """Return ``_read`` of rows with missing values, which are integrated out."""
        _refuse_marginal()

    def allowing_missing(self) -> ClassModel:
        """Return the same model, which reads NaN as "not observed" and integrates it out."""
        return MarginalModel(self)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Draw n pairs (x, k): a class from π, then x from its density."""
        size = row_count(n)
        k = drawn_classes(self.priors, size, rng)
        return self.sample_of(k, rng), k

    def of_new_rows(self) -> ClassModel:
        """Return the predictive model of new rows, or ``self`` if the number of rows is unknown.

        Predictive densities are wider than plug-in densities: they account for the errors of the
        estimates.
        """
        return self

    @abstractmethod
    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw one row from the density of class k for each code k, shape (n, d)."""

    @abstractmethod
    def as_gaussian(self) -> GaussianModel:
        """Return the Gaussian model with the same posterior, or raise if there is none."""

    @abstractmethod
    def _log_likelihood(self, moments: Moments) -> float:
        """Return Σ w (log p(x | y) + log π_y) over the rows behind the moments."""

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        """Return the simulated error of the best possible rule if the model were true."""
        return simulated_error(self, n_samples, rng)

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """The formula with which another system can compute the scores of this model."""


def row_count(n: object) -> int:
    """Return the number of rows to draw, or raise unless it is an integer of at least 0."""
    if not isinstance(n, Integral) or n < 0:
        msg = f"the number of rows to draw must be an integer of at least 0, got {n!r}"
        raise InvalidParameterError(msg)
    return int(n)


def _refuse_marginal() -> NoReturn:
    raise InvalidParameterError(
        "this model has no marginal densities, so missing values can be neither integrated out "
        "nor filled: use a model that encodes categories as indicators"
    )


@dataclass(frozen=True, eq=False)
class WrappedModel(ClassModel):
    """A model with the parameters of ``inner`` that reads rows in another way."""

    inner: ClassModel

    @property
    def log_priors(self) -> Floats:  # type: ignore[override]
        return self.inner.log_priors

    @property
    def centre(self) -> Floats:  # type: ignore[override]
        return self.inner.centre

    @property
    def offsets(self) -> Floats:  # type: ignore[override]
        return self.inner.offsets

    @property
    def temperature(self) -> float:  # type: ignore[override]
        return self.inner.temperature

    @property
    def n_parameters(self) -> int:
        return self.inner.n_parameters

    @property
    def covariance_matrices(self) -> Floats:
        return self.inner.covariance_matrices

    @property
    def shared_covariance(self) -> Covariance | None:
        return self.inner.shared_covariance

    @property
    def formula(self) -> Formula:
        return self.inner.formula

    def with_log_priors(self, log_priors: Floats) -> Self:
        return replace(self, inner=self.inner.with_log_priors(log_priors))

    def with_temperature(self, temperature: float) -> Self:
        return replace(self, inner=self.inner.with_temperature(temperature))

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        return self.inner.sample_of(codes, rng)

    def as_gaussian(self) -> GaussianModel:
        return self.inner.as_gaussian()

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        return self.inner.bayes_error(n_samples, rng)

    def _log_likelihood(self, moments: Moments) -> float:
        return self.inner._log_likelihood(moments)


@dataclass(frozen=True, eq=False)
class MarginalModel(WrappedModel):
    """A model that scores rows by their observed features; an empty row gets the priors."""

    def marginal(self, observed: Codes) -> ClassModel:
        return self.inner.marginal(observed)

    def impute(self, x: RowsLike) -> Floats:
        return self.inner.impute(x)

    def sample_missing(self, x: RowsLike, rng: np.random.Generator) -> Floats:
        return self.inner.sample_missing(x, rng)

    def _read(
        self,
        x: RowsLike,
        readout: Readout,
        log_weights: Floats | None = None,
    ) -> Array:
        rows = np.asarray(x)
        if not has_missing(rows[:_FIRST_ROWS]):
            try:
                return self.inner._read(rows, readout, log_weights)
            except InvalidInputError:  # the cause may be a missing value after the first rows
                if not has_missing(rows):
                    raise
        # make all blocks almost equal, since rows of a short block would be read pattern by pattern
        n_blocks = max(-(-rows.size // _BLOCK), 1)
        step = max(-(-len(rows) // n_blocks), 1)

        def read(block: Array) -> Array:
            return self._read_by_completeness(block, readout, log_weights)

        def read_from(start: int) -> Array:
            try:
                return read(rows[start : start + step])
            except InvalidInputError:
                refuse_unread(read, rows, start, min(start + step, len(rows)))

        return np.concatenate(list(in_order(read_from, range(0, len(rows), step))))

    def _read_by_completeness(
        self,
        x: Array,
        readout: Readout,
        log_weights: Floats | None,
    ) -> Array:
        """Return the readout of rows; complete, incomplete and empty rows are read separately."""
        x = x.astype(np.float64, order="C", copy=False)
        patterns = MissingPatterns.of(x)
        n_observed = patterns.patterns.sum(1)
        n_complete = int(patterns.counts[n_observed == x.shape[1]].sum())
        n_empty = int(patterns.counts[n_observed == 0].sum())
        # sort the rows by pattern: complete rows come first, empty rows last
        rows = x.take(patterns.order, axis=0)
        incomplete = slice(n_complete, len(x) - n_empty)
        values: Array = np.empty(readout.shape(len(x), self.n_classes), readout.dtype)
        values[:n_complete] = self.inner._read(rows[:n_complete], readout, log_weights)
        values[incomplete] = self.inner._read_observed(rows[incomplete], readout, log_weights)
        # softmax(T log π / T) = π
        scores = self.temperature * self.log_priors if log_weights is None else log_weights
        values[len(x) - n_empty :] = readout.read(scores[None])
        return values.take(patterns.places(), axis=0)
