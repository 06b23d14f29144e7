"""What every fitted model of classes answers: posteriors, densities, samples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from suffice.core.model.bayes_error import BayesError, simulated_error
from suffice.core.model.covariance import Covariance
from suffice.core.model.posterior import Joint, LogDensity, Readout, ScoredModel
from suffice.core.model.scoring import Formula, refuse_unread
from suffice.core.moments import Moments
from suffice.core.table.matrix import has_missing
from suffice.core.threads import in_order
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Array, Codes, Floats

if TYPE_CHECKING:
    from suffice.core.model.gaussian import GaussianModel

_BLOCK = 1 << 19  # numbers looked at together, by one thread
_FEW = 256  # rows that tell whether holes are common


class ClassModel(ScoredModel):
    """Priors and class-conditional densities, whatever their shape: ``_read`` says how."""

    log_priors: Floats  # log π  (K,)
    centre: Floats  # what ``offsets`` are measured from  (d,)
    offsets: Floats  # centre of each class less ``centre``  (K, d)
    has_posterior = True
    has_density = True  # whether scores are logarithms of densities, which can be drawn from

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
        """Σ of all classes, where they share one."""
        return None

    def with_priors(self, priors: Floats) -> Self:
        """Return the same densities under other priors."""
        with np.errstate(divide="ignore"):
            return self._with(log_priors=np.log(priors))

    def with_temperature(self, temperature: float) -> Self:
        """Return the same scores under another temperature T: softmax(a / T)."""
        return self._with(temperature=temperature)

    def log_joint(self, x: Any) -> Floats:
        """Return log p(x | k) + log π_k, shape (n, K)."""
        return self._read(x, Joint(), self.log_priors)

    def class_log_density(self, x: Any) -> Floats:
        """Return log p(x | k), shape (n, K)."""
        return self._read(x, Joint(), np.zeros(self.n_classes))

    def log_density(self, x: Any) -> Floats:
        """Return log p(x) = log Σ_k π_k p(x | k), shape (n,)."""
        return self._read(x, LogDensity(), self.log_priors)

    def marginal(self, *_: Any, **__: Any) -> Any:
        """Refuse: without marginals missing values can be neither integrated out nor filled."""
        raise InvalidParameterError(
            "this model has no marginal densities, so missing values can be neither integrated out "
            "nor filled: use estimate='predictive', 'map' or 'plug-in', and categories='indicators'"
        )

    impute = sample_missing = _read_observed = marginal

    def allowing_missing(self) -> ClassModel:
        """Return the model of rows in which NaN means "not observed", and is integrated out."""
        return MarginalModel(self)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Draw n pairs (x, k): a class from π, then x from its density."""
        if not isinstance(n, Integral) or n < 0:
            msg = f"the number of rows to draw must be a whole number from 0 on, got {n!r}"
            raise InvalidParameterError(msg)
        k = rng.choice(self.n_classes, size=n, p=self.priors / self.priors.sum())
        return self.sample_of(k, rng), k

    @abstractmethod
    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw a row of the density of class k for each code k, shape (n, d)."""

    @abstractmethod
    def as_gaussian(self) -> GaussianModel:
        """Return the Gaussian model with the same posterior, or say that there is none."""

    @abstractmethod
    def _log_likelihood(self, moments: Moments) -> float:
        """Return Σ w (log p(x | y) + log π_y) of the rows that the moments sum up."""

    def bayes_error(self, n_samples: int, rng: np.random.Generator) -> BayesError:
        """Return the error of the best rule if the model were true, by simulation."""
        return simulated_error(self, n_samples, rng)

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """What other systems compute to score rows like this model."""

    def _with(self, **fields: Any) -> Self:
        return replace(self, **fields)  # type: ignore[type-var]


def forwarded(name: str, part: str = "inner") -> Any:
    """Return the property that is what a part of the model has by this name, be it a verb."""
    return property(lambda model: getattr(getattr(model, part), name))


class WrappedModel(ClassModel):
    """A model that changes what another one says of rows, but not its parameters."""

    inner: ClassModel

    log_priors, centre, offsets = map(forwarded, ("log_priors", "centre", "offsets"))
    temperature, n_parameters = map(forwarded, ("temperature", "n_parameters"))
    covariance_matrices = forwarded("covariance_matrices")
    shared_covariance = forwarded("shared_covariance")
    has_density, formula = map(forwarded, ("has_density", "formula"))
    sample_of, as_gaussian = map(forwarded, ("sample_of", "as_gaussian"))
    bayes_error = forwarded("bayes_error")
    _log_likelihood = forwarded("_log_likelihood")

    def _with(self, **fields: Any) -> Self:
        return super()._with(inner=self.inner._with(**fields))


@dataclass(frozen=True, eq=False)
class MarginalModel(WrappedModel):
    """A model that judges every row by what was observed of it, by the prior if nothing was."""

    inner: ClassModel

    marginal, impute = map(forwarded, ("marginal", "impute"))
    sample_missing = forwarded("sample_missing")

    def _read(self, x: Any, readout: Readout, log_weights: Floats | None = None) -> Array:
        x = np.asarray(x)
        if not has_missing(x[:_FEW]):
            try:
                return self.inner._read(x, readout, log_weights)
            except InvalidInputError:  # only then look for holes
                if not has_missing(x):
                    raise
        step = max(_BLOCK // max(x.shape[1], 1), 1)
        read = partial(self._by_holes, readout=readout, log_weights=log_weights)

        def work(lo: int) -> Array:
            try:
                return read(x[lo : lo + step])
            except InvalidInputError:
                refuse_unread(read, x, lo, min(lo + step, len(x)))

        return np.concatenate(list(in_order(work, range(0, len(x), step))))

    def _by_holes(self, x: Array, readout: Readout, log_weights: Floats | None) -> Array:
        x = x.astype(np.float64, order="C", copy=False)
        n, d = (~np.isnan(x)).sum(1), x.shape[1]
        values: Array = np.empty(readout.shape(len(x), self.n_classes), readout.dtype)
        # softmax(T log π / T) = π
        nothing = self.temperature * self.log_priors if log_weights is None else log_weights
        values[n == 0] = readout.read(nothing[None])
        whole, others = np.flatnonzero(n == d), np.flatnonzero((n > 0) & (n < d))
        values[whole] = self.inner._read(x[whole], readout, log_weights)
        values[others] = self.inner._read_observed(x[others], readout, log_weights)
        return values
