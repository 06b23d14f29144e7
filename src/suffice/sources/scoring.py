"""What a fitted classifier says of rows, as columns: label, posteriors, log density, outlier."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from suffice.errors import InvalidInputError
from suffice.sources.rules import usable_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.typing import Floats, Labels

OUTLIER_RATE = 0.001
_DRAWS = 50_000
_FEW_NUMBERS = 90_000  # rows × features × classes that are scored without compiled code


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """A fitted classifier, the names of its answers, and the log density of an outlier."""

    estimator: Any
    names: tuple[str, ...]  # label, then posteriors, log density and outlier if it has them
    threshold: float | None  # None: no density to judge by

    @classmethod
    def of(cls, estimator: Any, prefix: str = "", rate: float = OUTLIER_RATE) -> Scoring:
        """Return the scoring of a fitted classifier."""
        nameless = copy.copy(estimator)  # rows come by position: names have been checked
        vars(nameless).pop("feature_names_in_", None)
        dense = hasattr(estimator, "log_density")
        chances = estimator.classes_.tolist() if hasattr(estimator, "predict_proba") else []
        words = ["label", *(f"p_{c}" for c in chances)]
        words += ["log_density", "outlier"] if dense else []
        threshold = outlier_threshold(nameless, rate) if dense else None
        return cls(nameless, tuple(prefix + word for word in words), threshold)

    @property
    def schema(self) -> dict[str, Any]:
        """Types of the answers, in order."""
        numbers = len(self.names) - 1 - (self.threshold is not None)
        types = [_as_series(self.estimator.classes_).dtype, *[pl.Float64()] * numbers]
        types += [pl.Boolean()] if self.threshold is not None else []
        return dict(zip(self.names, types, strict=True))

    def answers(self, x: Floats) -> pl.DataFrame:
        """Return a frame of answers (n rows); null where a row has none."""
        usable = usable_rows(x)
        if usable is not None:
            return self._spread(self.answers(x[usable]), usable)
        try:
            return self._columns(x)
        except InvalidInputError:  # some row is so far out that its distance overflows
            return self._halved(x)

    def _columns(self, x: Floats) -> pl.DataFrame:
        if not len(x):
            return pl.DataFrame(schema=self.schema)
        posterior = None
        if hasattr(self.estimator, "predict_proba"):
            posterior = self.estimator.predict_proba(x)
        columns = [self._labels(x, posterior)]
        columns += [] if posterior is None else map(pl.Series, posterior.T)
        if self.threshold is not None:
            density = pl.Series(self.estimator.log_density(x))
            columns += [density, density < self.threshold]
        named = zip(self.names, columns, strict=True)
        return pl.DataFrame([column.alias(name) for name, column in named])

    def _labels(self, x: Floats, posterior: Floats | None) -> pl.Series:
        """Return the label of each row: the most probable, or by costs where there are any."""
        settings = (getattr(self.estimator, name, None) for name in ("costs", "reject_cost"))
        classes = _as_series(self.estimator.classes_)
        if posterior is not None and all(setting is None for setting in settings):
            return classes.gather(posterior.argmax(1))
        labels = self.estimator.predict(x).tolist()
        known = [None if label != label else label for label in labels]
        return pl.Series(known, dtype=classes.dtype, strict=False)

    def _halved(self, x: Floats) -> pl.DataFrame:
        if len(x) == 1:
            return pl.DataFrame({name: [None] for name in self.names}, schema=self.schema)
        middle = len(x) // 2
        return pl.concat([self.answers(x[:middle]), self.answers(x[middle:])])

    def _spread(self, answers: pl.DataFrame, usable: Any) -> pl.DataFrame:
        """Return the answers at the usable rows, and null at the others."""
        place = pl.Series(np.cumsum(usable) - 1).zip_with(
            pl.Series(usable), pl.Series([None], dtype=pl.Int64).new_from_index(0, len(usable))
        )
        return answers.select(pl.all().gather(place))


def outlier_threshold(estimator: Any, rate: float) -> float:
    """Return the log density that a share ``rate`` of the model's own draws falls below."""
    rng = np.random.default_rng(0)
    at_once = max(_FEW_NUMBERS // (estimator.n_features_in_ * len(estimator.classes_)), 100)
    sizes = [min(at_once, _DRAWS - start) for start in range(0, _DRAWS, at_once)]
    densities = np.concatenate([estimator.log_density(estimator.sample(n, rng)[0]) for n in sizes])
    return float(np.quantile(densities, rate))


def _as_series(classes: Labels) -> pl.Series:
    values: Sequence[Any] = classes.tolist()
    return pl.Series(values)
