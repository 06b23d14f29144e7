"""Data sets that the fitted model could have produced, each fitted as the real one was."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
)
from suffice.evaluation.diagnostics.wishart import wishart_roots
from suffice.evaluation.diagnostics.words import plain
from suffice.moments import Moments
from suffice.moments.scatter import PerClassScatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.model import GaussianModel
    from suffice.model.covariance import Covariance
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Draws of the rows looked at, and of the sums of the rows that were not."""

    estimator: Any
    codes: Codes  # class of each row looked at  (n,)
    others: Codes  # rows of each class that are in the fit but not looked at  (K,)
    refit: bool

    @classmethod
    def of(cls, estimator: Any, codes: Codes, *, refit: bool) -> Replicates:
        """Return replicates of rows with these classes."""
        moments = estimator.moments_
        others = moments.counts - np.bincount(codes, minlength=len(moments.counts))
        if refit:
            _refuse_foreign(moments, others)
        return cls(estimator, codes, others, refit)

    def draw(self, n: int, rng: np.random.Generator) -> Iterator[tuple[GaussianModel, Floats]]:
        """Yield n pairs of a model and the rows it is to be compared with."""
        model: GaussianModel = self.estimator.model_
        for _ in range(n):
            x = _rows(model, self.codes, rng)
            yield (self._fitted(model, x, rng) if self.refit else model), x

    def _fitted(self, model: GaussianModel, x: Floats, rng: np.random.Generator) -> GaussianModel:
        """Return the model of the drawn rows together with the drawn sums of the others."""
        seen = self.estimator.moments_
        moments = Moments.of(
            x,
            seen.classes[self.codes],
            storage=seen.storage,
            fourth=seen.fourth is not None,
            classes=seen.classes,
        )
        if self.others.any():
            moments = moments + _sums(model, seen, self.others, rng)
        fitted: GaussianModel = refitted(self.estimator, moments).model_
        return fitted


def _rows(model: GaussianModel, codes: Codes, rng: np.random.Generator) -> Floats:
    """Return a row of N(μ_k, Σ_k) for each code k, shape (n, d)."""
    x = rng.standard_normal((len(codes), model.n_features))
    for g, covariance in enumerate(model.covariances):
        members = model.group_of[codes] == g
        x[members] = covariance.colorize(x[members])
    return model.centre + (x + model.offsets[codes])


def _sums(model: GaussianModel, seen: Moments, counts: Codes, rng: np.random.Generator) -> Moments:
    """Return the moments of ``counts`` rows of each class, without drawing the rows."""
    parts = [_sums_of_class(model.covariance_of(k), int(n), rng) for k, n in enumerate(counts)]
    offsets, scatters = (np.array(part) for part in zip(*parts, strict=True))
    return Moments(
        seen.classes,
        None,
        counts,
        counts.astype(float),
        model.centre + (model.offsets + offsets),
        np.zeros_like(offsets),
        PerClassScatter(scatters),
        None,
    )


def _sums_of_class(sigma: Covariance, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return mean (d,) and scatter (d, d) of n rows of N(0, Σ)."""
    d = sigma.n_features
    if n <= d + 1:
        x = sigma.colorize(rng.standard_normal((n, d)))
        mean = x.sum(0) / max(n, 1)
        return mean, (x - mean).T @ (x - mean)
    # x̄ ~ N(0, Σ/n) and S = L A Aᵀ Lᵀ ~ Wishart(n − 1, Σ) are independent
    root = sigma.colorize(wishart_roots(n - 1, d, 1, rng)[0].T)
    return sigma.colorize(rng.standard_normal((1, d)))[0] / np.sqrt(n), root.T @ root


def refitted(estimator: Any, moments: Moments) -> Any:
    """Return the estimator fitted to other sums, without a word about their gaps."""
    from sklearn.base import clone

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            return clone(estimator).fit_moments(moments)
    except MissingStatisticsError as error:
        msg = (
            f"this estimator cannot be fitted to drawn sums ({error}): pass all training rows "
            "with max_rows large enough to keep them, or refit=False"
        )
        raise InvalidParameterError(msg) from error


def _refuse_foreign(moments: Moments, others: Codes) -> None:
    """Refuse rows that cannot be those of the fit, and weighted fits."""
    if np.any(moments.weights != moments.counts):
        msg = "the estimator was fitted with weights, which cannot be simulated: use refit=False"
        raise InvalidParameterError(msg)
    if np.any(others < 0):
        k = int(np.argmin(others))
        msg = (
            f"class {plain(moments.classes[k])!r} has {moments.counts[k] - others[k]} rows "
            f"here but {moments.counts[k]} in the fit: for rows not fitted, use refit=False"
        )
        raise InvalidInputError(msg)
