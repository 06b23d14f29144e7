"""Settings that must agree with moments collected elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.errors import FeatureMismatchError, MissingStatisticsError
from suffice.moments.warp import check_transform
from suffice.power import PowerTransform

if TYPE_CHECKING:
    from suffice.moments import Moments


def checked_transform(transform: Any, moments: Moments) -> None:
    """Refuse moments that were not taken in the coordinates that an estimator asks for."""
    if transform is None or (isinstance(transform, str) and transform == "auto"):
        return
    check_transform(transform)
    if moments.transform is None:
        msg = (
            f"transform={transform!r} needs moments of transformed rows, and these are of plain "
            "ones: collect them with Moments.of(X, y, transform='yeo-johnson')"
        )
        raise MissingStatisticsError(msg)
    if isinstance(transform, PowerTransform) and not transform.equals(moments.transform):
        msg = "the moments were taken with another transform than the estimator's: leave it out"
        raise FeatureMismatchError(msg)
