"""Posteriors averaged over models, each of which reads the rows through its own view."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.posterior import Posterior
from suffice.core.model.trees import BoostedTrees, Trees
from suffice.core.model.views import View
from suffice.core.table.matrix import has_missing
from suffice.core.threads import at_most, in_order, one_blas_thread
from suffice.typing import Array, Codes, Floats

# rows of a block, so few that the features that views add stay in the cache
_BLOCK_ROWS = 2_048


@dataclass(frozen=True, slots=True, eq=False)
class ForeignModel:
    """A fitted classifier of any library with ``predict_proba`` and with class codes as labels."""

    fitted: Any
    n_classes: int
    # w, the mean weight of the rows of each class, if the classifier ignored the weights  (K,)
    class_weights: Floats | None = None

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K), with 0 for classes that the classifier has not seen."""
        posterior = np.zeros((len(x), self.n_classes))
        codes = np.asarray(self.fitted.classes_, np.intp)
        posterior[:, codes] = self.fitted.predict_proba(x)
        if self.class_weights is not None:
            # w_k p(k | x) / Σ_j w_j p(j | x)
            posterior *= self.class_weights
            posterior /= posterior.sum(1, keepdims=True)
        return posterior


#: A model with posteriors and without a density, as a member of an average.
PosteriorModel: TypeAlias = Trees | BoostedTrees | LinearModel | ForeignModel


@dataclass(frozen=True, slots=True, eq=False)
class TemperedModel:
    """A classifier whose posteriors p are replaced with softmax(log((1 − ε) p + ε / K) / T)."""

    inner: PosteriorModel
    temperature: float
    doubt: float  # ε
    has_density = False

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        log_p = smoothed_log(self.inner.posterior(x), self.doubt)
        return Posterior(self.temperature).read(log_p)


def smoothed_log(posterior: Floats, doubt: float) -> Floats:
    """Return log((1 − ε) p + ε / K), shape (n, K), which is finite even where p = 0."""
    return np.asarray(np.log((1 - doubt) * posterior + doubt / posterior.shape[-1]))


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A model, the view through which it reads rows, and its weight in the average."""

    view: View
    model: ClassModel | TemperedModel | LinearModel
    weight: float

    @property
    def integrates(self) -> bool:
        """Whether the model can integrate out missing values."""
        return self.view.by_feature and self.model.has_density


@dataclass(frozen=True, slots=True, eq=False)
class AveragedModel:
    """An average of posteriors at a temperature, with the densities of the best single model.

    p(k | x) = ε π_k + (1 − ε) m_k^(1/T) / Σ_j m_j^(1/T), where m_k = Σ_i s_i p_i(k | x) is the
    mixture of the members' posteriors p_i with the weights s_i.

    A member that cannot integrate out missing values reads rows in which the best model has
    replaced the missing values with conditional means.
    """

    shares: tuple[Share, ...]
    features: Codes  # columns that the members read
    doubt: float  # ε
    frequencies: Floats  # π  (K,)
    best: ClassModel  # the best single model with densities, which reads all columns
    temperature: float = 1.0  # T
    allows_missing: bool = False
    has_posterior = True

    @property
    def n_classes(self) -> int:
        return len(self.frequencies)

    @property
    def n_features(self) -> int:
        return self.best.n_features

    @property
    def has_density(self) -> bool:
        return self.best.has_density

    def class_log_density(self, x: Array) -> Floats:
        """Return log p(x | k) of the best model, shape (n, K)."""
        return self.best.class_log_density(x)

    def log_density(self, x: Array) -> Floats:
        """Return log p(x) of the best model, shape (n,)."""
        return self.best.log_density(x)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Draw n pairs (x, k) from the best model."""
        return self.best.sample(n, rng)

    def sample_of(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw a row of class k of the best model for each code k, shape (n, d)."""
        return self.best.sample_of(codes, rng)

    def of_new_rows(self) -> Self:
        """Return the average with ``best.of_new_rows()`` as its best model."""
        return replace(self, best=self.best.of_new_rows())

    def impute(self, x: Array) -> Floats:
        """Return the rows with NaN replaced with conditional means of the best model, (n, d)."""
        return np.asarray(self.best.impute(x))

    def sample_missing(self, x: Array, rng: np.random.Generator) -> Floats:
        """Return the rows with NaN replaced with draws from the best model, shape (n, d)."""
        return np.asarray(self.best.sample_missing(x, rng))

    def allowing_missing(self) -> Self:
        """Return the same model, which reads NaN as "not observed"."""
        return replace(self, best=self.best.allowing_missing(), allows_missing=True)

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        rows = x[:, self.features]
        filled = rows
        if self.allows_missing and has_missing(rows):
            filled = self.impute(x)[:, self.features]

        def average(block: slice) -> Floats:
            # the blocks run in threads already, so that each block needs only one
            with at_most(1):
                if filled is rows:
                    return self._complete(rows[block])
                return self._incomplete(rows[block], filled[block])

        starts = range(0, max(len(x), 1), _BLOCK_ROWS)
        blocks = [slice(lo, lo + _BLOCK_ROWS) for lo in starts]
        with one_blas_thread():
            return np.concatenate(list(in_order(average, blocks)))

    def log_posterior(self, x: Array) -> Floats:
        """Return log p(k | x), shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.posterior(x))

    def scores(self, x: Array) -> Floats:
        """Return log p(k | x), shape (n, K), since an average has no other scores."""
        return self.log_posterior(x)

    def most_probable(self, x: Array) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return np.asarray(self.posterior(x).argmax(1))

    def _complete(self, rows: Array) -> Floats:
        """Return the posterior of rows without missing values, (n, K)."""
        mixture = np.zeros((len(rows), self.n_classes))
        for view, shares in _by_view(self.shares):
            seen = view.apply(rows)
            for share in shares:
                mixture += share.weight * share.model.posterior(seen)
        return self._tempered(mixture)

    def _incomplete(self, rows: Array, filled: Array) -> Floats:
        """Return the posterior of rows with missing values, (n, K), given also the filled rows."""
        mixture = np.zeros((len(rows), self.n_classes))
        for view, shares in _by_view(self.shares):
            seen = view.apply(rows if shares[0].integrates else filled)
            for share in shares:
                if share.integrates and isinstance(share.model, ClassModel):
                    p = share.model.allowing_missing().posterior(seen)
                else:
                    p = share.model.posterior(seen)
                mixture += share.weight * p
        posterior = self._tempered(mixture)
        posterior[np.isnan(rows).all(1)] = self.frequencies
        return posterior

    def _tempered(self, mixture: Floats) -> Floats:
        """Return ε π_k + (1 − ε) m_k^(1/T) / Σ_j m_j^(1/T), (n, K), for a mixture m."""
        if self.temperature != 1:
            mixture = mixture ** (1 / self.temperature)
            mixture /= mixture.sum(1, keepdims=True)
        return np.asarray(self.doubt * self.frequencies + (1 - self.doubt) * mixture)


def _by_view(shares: Sequence[Share]) -> list[tuple[View, list[Share]]]:
    """Return each view with the members that use it, so that each view is applied only once."""
    groups: dict[tuple[int, bool], list[Share]] = {}
    for share in shares:
        groups.setdefault((id(share.view), share.integrates), []).append(share)
    return [(group[0].view, group) for group in groups.values()]
