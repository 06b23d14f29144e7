"""Posteriors averaged over models that see the rows in their own ways."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.model.class_model import ClassModel, forwarded
from suffice.model.outside import TemperedModel
from suffice.model.views import View
from suffice.table.matrix import has_missing
from suffice.typing import Codes, Floats

_BLOCK = 16_384  # rows seen at a time


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A model of the rows as its view shows them, and its share in the average."""

    view: View
    model: ClassModel | TemperedModel
    weight: float

    @property
    def integrates(self) -> bool:
        """Whether missing features can be integrated out."""
        return self.view.by_feature and self.model.has_density


@dataclass(frozen=True, slots=True, eq=False)
class AveragedModel:
    """p(k | x) = ε π_k + (1 − ε) Σ_m s_m p_m(k | x); densities are those of the best model.

    Where NaN is allowed, members integrate missing features out exactly; those that cannot (random
    Fourier features, debiased scores) see them filled by the conditional mean of the best model.
    """

    shares: tuple[Share, ...]
    features: Codes  # columns that the shares see
    doubt: float  # ε
    frequencies: Floats  # π  (K,)
    best: ClassModel  # of all columns
    allows_missing: bool = False
    has_posterior = True

    # densities, samples and fills are those of the best single model, and so is T
    has_density = forwarded("has_density", "best")
    n_features = forwarded("n_features", "best")
    temperature = forwarded("temperature", "best")
    impute = forwarded("impute", "best")
    sample_missing = forwarded("sample_missing", "best")
    class_log_density = forwarded("class_log_density", "best")
    log_density = forwarded("log_density", "best")
    sample = forwarded("sample", "best")

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.frequencies)

    def allowing_missing(self) -> Self:
        """Return the average for rows in which NaN means "not observed"."""
        return replace(self, best=self.best.allowing_missing(), allows_missing=True)

    def posterior(self, x: Any) -> Floats:
        """Return the averaged p(k | x), shape (n, K), block by block."""
        seen = filled = x[:, self.features]
        if self.allows_missing and has_missing(seen):
            filled = self.impute(x)[:, self.features]
        blocks = (slice(lo, lo + _BLOCK) for lo in range(0, max(len(x), 1), _BLOCK))
        holes = filled is not seen
        return np.concatenate([self._average(seen[b], filled[b], holes=holes) for b in blocks])

    def _average(self, x: Floats, filled: Floats, *, holes: bool) -> Floats:
        """Return the average of a block; of rows with holes, by marginals where there are any."""
        posterior = np.tile(self.doubt * self.frequencies, (len(x), 1))
        by_view: dict[int, list[Share]] = {}
        for share in self.shares:
            by_view.setdefault(id(share.view), []).append(share)
        for shares in by_view.values():
            rows: dict[bool, Floats] = {}  # as the view shows them, with holes or filled
            for share in shares:
                own = not holes or share.integrates
                if own not in rows:
                    rows[own] = share.view.apply(x if own else filled)
                model = share.model.allowing_missing() if holes and own else share.model
                p = model.posterior(rows[own])
                if not own:
                    p[np.isnan(x).all(1)] = share.model.priors
                posterior += (1 - self.doubt) * share.weight * p
        return posterior

    def log_posterior(self, x: Any) -> Floats:
        """Return log p(k | x), shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.posterior(x))

    scores = log_posterior

    def most_probable(self, x: Any) -> Codes:
        """Return argmax_k p(k | x), shape (n,)."""
        return np.asarray(self.posterior(x).argmax(1))
