"""Columns that vary within classes, each in its own way: what matrices are inverted of."""

import warnings
from dataclasses import replace

import numpy as np

from suffice.errors import DegenerateDataWarning, InvalidInputError, TooFewClassesError
from suffice.estimation.degenerate import independent_columns
from suffice.linalg import resolved
from suffice.moments import Moments
from suffice.text.lists import quoted
from suffice.typing import Codes


def present_classes(moments: Moments) -> Codes:
    """Return the positions of the classes that have rows; two or more."""
    present = np.flatnonzero(moments.weights > 0)
    if len(present) < 2:
        found = moments.classes[present].tolist()
        msg = f"comparing classes needs at least 2 with rows, found {found}: check the labels"
        raise TooFewClassesError(msg)
    return present


def is_weighted(moments: Moments) -> bool:
    """Return whether the weights are anything but counts of rows."""
    return bool(np.any(moments.weights != moments.counts))


def names_of(moments: Moments) -> tuple[str, ...]:
    """Return the names of the columns; their numbers, where they have none."""
    return moments.feature_names or tuple(map(str, range(moments.n_features)))


def usable_columns(moments: Moments) -> tuple[Moments, tuple[str, ...]]:
    """Return the sums of columns of full rank within classes, and the names of the others."""
    n_classes, names = int((moments.weights > 0).sum()), names_of(moments)
    degrees, n_varying = moments.total_weight - n_classes, len(_varying(moments))
    if degrees < max(n_varying, 1):
        raise InvalidInputError(
            f"weight {moments.total_weight:g} in {n_classes} classes leaves {degrees:g} degrees "
            f"of freedom for {n_varying} features: use fewer features (moments.select) or more "
            "rows; weights are taken as counts"
        )
    kept = independent_columns(moments)
    if len(kept) == moments.n_features:
        return moments, ()
    left_out = tuple(name for j, name in enumerate(names) if j not in kept)
    msg = f"columns {quoted(left_out)} left out: constant within classes, or combinations of others"
    if not len(kept):
        raise InvalidInputError(msg)
    warnings.warn(msg, DegenerateDataWarning, stacklevel=4)
    return replace(moments, feature_names=names).select(kept), left_out


def varying_columns(moments: Moments) -> Codes:
    """Return the columns that vary within classes, less those that only repeat others.

    Where rows are too few to tell, and where products were not summed, none counts as repeated.
    """
    varying = _varying(moments)
    few = moments.counts.sum() - (moments.counts > 0).sum() < len(varying)
    return varying if few or moments.storage == "diagonal" else independent_columns(moments)


def _varying(moments: Moments) -> Codes:
    variances = moments.scatter.pooled_diagonal() / moments.total_weight
    return np.flatnonzero(resolved(variances, moments.grand_mean, moments.total_variances))


def columns_remark(left_out: tuple[str, ...], *, weighted: bool = False) -> str:
    """Return what a verdict adds of columns left out, and of weights."""
    remark = f"; columns left out: {quoted(left_out)}" if left_out else ""
    return remark + ("; weights taken as counts" if weighted else "")
