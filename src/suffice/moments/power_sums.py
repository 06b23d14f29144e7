"""Sums of rows that went through a power transform: the transform, and Σ log slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.power_transform import PowerTransform
from suffice.table import Table
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class PowerSums:
    """A transform t of the rows, and the sums that bring densities back to their units."""

    power: PowerTransform
    log_slopes: Floats  # Σ w log dt_j/dx_j  (K, d)

    @classmethod
    def of_rows(cls, power: PowerTransform, table: Table) -> PowerSums:
        """Return the sums over some rows; rows of weight zero count as absent."""
        terms, w, k = power.log_slopes(table.x), table.weight, table.n_classes
        terms = np.where(np.isnan(table.x), 0.0, terms)  # what is missing was not transformed
        if w is not None:
            terms = np.where(w[:, None] > 0, terms, 0.0) * w[:, None]
        sums = [np.bincount(table.codes, column, k) for column in terms.T]
        return cls(power, np.stack(sums, axis=1) if sums else np.zeros((k, 0)))

    def plus(self, other: PowerSums, sign: float) -> PowerSums:
        """Return the sums of both, or of one without the other."""
        return PowerSums(self.power, self.log_slopes + sign * other.log_slopes)

    def by_class(self, change: Callable[[Floats], Floats]) -> PowerSums:
        """Return the sums of other classes, by a change of the first axis."""
        return PowerSums(self.power, change(self.log_slopes))

    def spread(self, places: Codes | None, n_features: int) -> PowerSums:
        """Return the sums with each feature in its place among more, −1 for none; None: first."""
        places = np.arange(self.power.n_features) if places is None else places
        here = np.flatnonzero(places >= 0)
        slopes = np.zeros((len(self.log_slopes), n_features))
        slopes[:, places[here]] = self.log_slopes[:, here]
        return PowerSums(self.power.select(here).among(places[here], n_features), slopes)

    def select(self, columns: Codes) -> PowerSums:
        """Return the sums of some features only."""
        return PowerSums(self.power.select(columns), self.log_slopes[:, columns])


def check_power(power: Any) -> None:
    """Refuse what names no transform."""
    known = power is None or isinstance(power, PowerTransform)
    if not known and not (isinstance(power, str) and power == "yeo-johnson"):
        msg = f"power must be None, 'yeo-johnson' or a PowerTransform, got {power!r}"
        raise InvalidParameterError(msg)


def parse_power(power: Any, table: Table) -> PowerTransform | None:
    """Return the transform that users name, fitted to the rows where it is not given."""
    check_power(power)
    if power is None:
        return None
    given = isinstance(power, PowerTransform)
    known: PowerTransform = power if given else PowerTransform.of(table.x, table.weight)
    p = table.x.shape[1]
    if table.indicators is not None and known.n_features > p:
        known = known.select(np.arange(p))  # the rest are indicators, which nothing changes
    if known.n_features != p:
        raise FeatureMismatchError(f"the transform knows {known.n_features} features, X has {p}")
    return known


def check_same_power(a: PowerSums | None, b: PowerSums | None) -> None:
    """Refuse moments of rows that went through different transforms."""
    if a is None and b is None:
        return
    if a is None or b is None:
        raise FeatureMismatchError(
            "cannot merge moments of transformed rows with moments of plain ones: collect both "
            "with the same transform (Moments.of(..., power=other.power))"
        )
    if not a.power.equals(b.power):
        differing = np.flatnonzero(a.power.exponents != b.power.exponents)
        where = f"at feature {differing[0]} " if len(differing) else ""
        raise FeatureMismatchError(
            f"cannot merge moments of rows transformed differently ({where}the transforms "
            "disagree): fit one transform and collect all parts with it"
        )
