"""The coordinates that moments were taken in, where these are not those of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.power import PowerTransform

if TYPE_CHECKING:
    from suffice.table.matrix import Matrix
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Warp:
    """A transform t of the rows, and the sums that bring densities back to their units."""

    transform: PowerTransform
    log_slopes: Floats  # Σ w log dt_j/dx_j  (K, d)

    @classmethod
    def of_rows(
        cls,
        transform: PowerTransform,
        x: Floats,
        codes: Codes,
        w: Floats | None,
        n_classes: int,
    ) -> Warp:
        """Return the sums over some rows; rows of weight zero count as absent."""
        terms = transform.log_slopes(x)
        if w is not None:
            terms = np.where(w[:, None] > 0, terms, 0.0) * w[:, None]
        sums = [np.bincount(codes, column, n_classes) for column in terms.T]
        return cls(transform, np.stack(sums, axis=1) if sums else np.zeros((n_classes, 0)))

    def plus(self, other: Warp, sign: float) -> Warp:
        """Return the sums of both, or of one without the other."""
        return Warp(self.transform, self.log_slopes + sign * other.log_slopes)

    def placed(self, codes: Codes, n_classes: int) -> Warp:
        """Return the same sums with class i moved to ``codes[i]`` of ``n_classes``."""
        sums = np.zeros((n_classes, self.log_slopes.shape[1]))
        sums[codes] = self.log_slopes
        return Warp(self.transform, sums)

    def taken(self, codes: Codes) -> Warp:
        """Return the sums of some classes only."""
        return Warp(self.transform, self.log_slopes[codes])

    def select(self, columns: Codes) -> Warp:
        """Return the sums of some features only."""
        return Warp(self.transform.select(columns), self.log_slopes[:, columns])

    def scaled(self, factor: float) -> Warp:
        """Return every sum times ``factor``."""
        return Warp(self.transform, self.log_slopes * factor)


def check_transform(transform: Any) -> None:
    """Refuse what names no transform."""
    known = transform is None or isinstance(transform, PowerTransform)
    if not known and not (isinstance(transform, str) and transform == "yeo-johnson"):
        msg = f"transform must be None, 'yeo-johnson' or a PowerTransform, got {transform!r}"
        raise InvalidParameterError(msg)


def parse_transform(transform: Any, x: Matrix, w: Floats | None) -> PowerTransform | None:
    """Return the transform that users name, fitted to the rows where it is not given."""
    check_transform(transform)
    if transform is None:
        return None
    power = transform if isinstance(transform, PowerTransform) else PowerTransform.of(x, w)
    if power.n_features != x.shape[1]:
        msg = f"the transform knows {power.n_features} features, X has {x.shape[1]}"
        raise FeatureMismatchError(msg)
    return power


def check_coordinates(a: Warp | None, b: Warp | None) -> None:
    """Refuse moments that were not taken in the same coordinates."""
    if a is None and b is None:
        return
    if a is None or b is None:
        msg = (
            "cannot merge moments of transformed rows with moments of plain ones: collect both "
            "with the same transform (Moments.of(..., transform=other.transform))"
        )
        raise FeatureMismatchError(msg)
    if not a.transform.equals(b.transform):
        differing = np.flatnonzero(a.transform.exponents != b.transform.exponents)
        where = f"at feature {differing[0]} " if len(differing) else ""
        msg = (
            f"cannot merge moments of rows transformed differently ({where}the transforms "
            "disagree): fit one transform and collect all parts with it"
        )
        raise FeatureMismatchError(msg)
