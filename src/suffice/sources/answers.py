"""What a fitted classifier answers to rows: labels, posteriors, log density, outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from suffice.errors import InvalidInputError
from suffice.sources.chunks import usable_rows
from suffice.typing import Floats, Labels

if TYPE_CHECKING:
    from suffice.decision import Classifier

OUTLIER_RATE = 0.001
_DRAWS = 50_000
_FEW_NUMBERS = 90_000  # rows × features × classes that are scored without compiled code


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A fitted classifier, the names of its answers, and the log density of an outlier."""

    classifier: Classifier
    names: tuple[str, ...]  # label, then posteriors, log density and outlier if it has them
    threshold: float | None  # None: no density to judge by

    @classmethod
    def of(cls, classifier: Classifier, prefix: str = "", rate: float = OUTLIER_RATE) -> Answers:
        """Return the answers that a classifier has."""
        dense = classifier.has_density
        labels = classifier.classes.tolist() if classifier.has_posterior else []
        words = ["label", *(f"p_{label}" for label in labels)]
        words += ["log_density", "outlier"] if dense else []
        threshold = outlier_threshold(classifier, rate) if dense else None
        return cls(classifier, tuple(prefix + word for word in words), threshold)

    @property
    def schema(self) -> dict[str, Any]:
        """Types of the answers, in order."""
        numbers = len(self.names) - 1 - (self.threshold is not None)
        types = [_as_series(self.classifier.classes).dtype, *[pl.Float64()] * numbers]
        types += [pl.Boolean()] if self.threshold is not None else []
        return dict(zip(self.names, types, strict=True))

    def to(self, x: Any) -> pl.DataFrame:
        """Return a frame of answers (n rows); null where a row has none."""
        usable = self._usable(x)
        if usable is not None:
            rows = x.filter(pl.Series(usable)) if isinstance(x, pl.DataFrame) else x[usable]
            return self._spread(self.to(rows), usable)
        try:
            return self._columns(x)
        except InvalidInputError:  # some row is so far out that its distance overflows
            return self._halved(x)

    def _usable(self, x: Any) -> Any:
        """Return which rows have answers, or None if all have; a frame is one of mixed columns."""
        holes = self.classifier.allow_missing
        if not isinstance(x, pl.DataFrame):
            return usable_rows(x, holes=holes)
        numbers = x.select(pl.selectors.numeric()).to_numpy()
        return usable_rows(numbers, holes=holes) if numbers.shape[1] else None

    def _columns(self, x: Any) -> pl.DataFrame:
        if not len(x):
            return pl.DataFrame(schema=self.schema)
        classifier = self.classifier
        posterior = classifier.posterior(x) if classifier.has_posterior else None
        columns = [self._labels(x, posterior)]
        columns += [] if posterior is None else map(pl.Series, posterior.T)
        if self.threshold is not None:
            density = pl.Series(classifier.log_density(x))
            columns += [density, density < self.threshold]
        named = zip(self.names, columns, strict=True)
        return pl.DataFrame([column.alias(name) for name, column in named])

    def _labels(self, x: Any, posterior: Floats | None) -> pl.Series:
        """Return the label of each row, null where it is rejected."""
        decision, classes = self.classifier.decision, _as_series(self.classifier.classes)
        codes = self.classifier.decide(x) if posterior is None else decision.decide(posterior)
        if not decision.can_reject:
            return classes.gather(codes)
        labels = decision.decode(codes).tolist()
        known = [None if label != label else label for label in labels]
        return pl.Series(known, dtype=classes.dtype, strict=False)

    def _halved(self, x: Any) -> pl.DataFrame:
        if len(x) == 1:
            return pl.DataFrame({name: [None] for name in self.names}, schema=self.schema)
        middle = len(x) // 2
        return pl.concat([self.to(x[:middle]), self.to(x[middle:])])

    def _spread(self, answers: pl.DataFrame, usable: Any) -> pl.DataFrame:
        """Return the answers at the usable rows, and null at the others."""
        place = pl.Series(np.where(usable, np.cumsum(usable) - 1, -1)).replace(-1, None)
        return answers.select(pl.all().gather(place))


def outlier_threshold(classifier: Classifier, rate: float) -> float:
    """Return the log density that a share ``rate`` of the model's own draws falls below."""
    rng = np.random.default_rng(0)
    at_once = max(_FEW_NUMBERS // (classifier.n_features * len(classifier.classes)), 100)
    sizes = [min(at_once, _DRAWS - start) for start in range(0, _DRAWS, at_once)]
    drawn = (classifier.sample(n, rng)[0] for n in sizes)
    densities = np.concatenate([classifier.log_density(_as_rows(x)) for x in drawn])
    return float(np.quantile(densities, rate))


def _as_rows(drawn: Any) -> Any:
    """Return drawn rows as a classifier reads them: columns of several kinds as a frame."""
    if not isinstance(drawn, dict):
        return drawn
    return pl.DataFrame({name: column.tolist() for name, column in drawn.items()})


def _as_series(classes: Labels) -> pl.Series:
    return pl.Series(classes.tolist())
