"""Posteriors of classifiers of other libraries, and models that fill missing values."""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from suffice.core.model.linear import LinearModel
from suffice.typing import Array, Codes, Floats, Labels


class PosteriorClassifier(Protocol):
    """A fitted classifier of any library that has posteriors."""

    @property
    def classes_(self) -> Labels: ...

    def predict_proba(self, X: Array, /) -> Floats: ...


@dataclass(frozen=True, slots=True, eq=False)
class PredictedModel:
    """A model with the posteriors of ``fitted.predict_proba`` and without a density."""

    fitted: PosteriorClassifier  # reads numeric rows (n, d) and has sorted classes
    n_classes: int
    n_features: int
    has_posterior = True
    has_density = False
    temperature = 1.0

    def allowing_missing(self) -> Self:
        """Return ``self``: the fitted classifier accepts NaN or raises an error."""
        return self

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return np.asarray(self.fitted.predict_proba(x), np.float64)

    def log_posterior(self, x: Array) -> Floats:
        """Return log p(k | x), shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.posterior(x))

    def scores(self, x: Array) -> Floats:
        """Return log p(k | x), shape (n, K), the only scores of this model."""
        return self.log_posterior(x)

    def most_probable(self, x: Array) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return np.asarray(self.posterior(x).argmax(1))


@dataclass(frozen=True, slots=True, eq=False)
class FilledModel:
    """A model for complete rows, which fills the missing values of rows before it reads them."""

    inner: PredictedModel | LinearModel
    # fill values of the first m features  (m,); the other features, indicators, are filled with 0
    fills: Floats
    has_density = False

    @property
    def n_classes(self) -> int:
        return self.inner.n_classes

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    @property
    def has_posterior(self) -> bool:
        return self.inner.has_posterior

    @property
    def temperature(self) -> float:
        return self.inner.temperature

    def allowing_missing(self) -> Self:
        """Return ``self``: NaN is always filled."""
        return self

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return self.inner.posterior(self._filled(x))

    def log_posterior(self, x: Array) -> Floats:
        """Return log p(k | x), shape (n, K)."""
        return self.inner.log_posterior(self._filled(x))

    def scores(self, x: Array) -> Floats:
        """Return the score of each class, shape (n, K)."""
        return self.inner.scores(self._filled(x))

    def most_probable(self, x: Array) -> Codes:
        """Return the code of the class with the largest score, shape (n,)."""
        return self.inner.most_probable(self._filled(x))

    def _filled(self, x: Array) -> Floats:
        rows = np.array(x, np.float64)
        m = len(self.fills)
        rows[:, :m] = np.where(np.isnan(rows[:, :m]), self.fills, rows[:, :m])
        rows[np.isnan(rows)] = 0.0
        return rows
