"""Columns that vary within classes, each in its own way: what matrices are inverted of."""

import warnings
from dataclasses import replace

import numpy as np

from suffice.errors import DegenerateDataWarning, InvalidInputError, TooFewClassesError
from suffice.estimation.degenerate import RankDeficiency
from suffice.linalg import resolved, scaled_cholesky
from suffice.moments import Moments
from suffice.text.lists import quoted
from suffice.typing import Codes, Floats


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


def singular_classes(moments: Moments, codes: Codes) -> list[RankDeficiency]:
    """Return the classes among ``codes`` whose covariance lacks rank, described."""
    totals = moments.total_variances
    deficient = []
    for k in codes:
        sigma = moments.scatters[k] / moments.weights[k]
        variances = resolved(np.diagonal(sigma), moments.means[k], totals)
        few = moments.counts[k] <= moments.n_features
        if few or not variances.all() or scaled_cholesky(sigma) is None:
            deficient.append(RankDeficiency.of(int(k), variances, sigma))
    return deficient


def described(deficient: list[RankDeficiency], moments: Moments) -> tuple[str, ...]:
    """Return a sentence for each class without full rank."""
    return tuple(found.describe(moments, np.arange(moments.n_classes)) for found in deficient)


def independent_columns(
    moments: Moments, *, between: bool = True
) -> tuple[Moments, tuple[str, ...]]:
    """Return the sums of columns of full rank within classes, and the names of the others.

    The others are warned of, or refused where ``between`` classes they differ: no finite
    statistic has room for a column that tells the classes apart without error.
    """
    within = moments.pooled_scatter / moments.total_weight
    variances = resolved(np.diagonal(within), moments.grand_mean, moments.total_variances)
    _refuse_few_rows(moments, int((variances > 0).sum()))
    lost = _lost(within, variances)
    if not len(lost):
        return moments, ()
    names = names_of(moments)
    if between:
        _refuse_separating(moments, within, lost, names)
    left_out = tuple(names[j] for j in lost)
    msg = f"columns {quoted(left_out)} left out: constant within classes, or combinations of others"
    if len(lost) == moments.n_features:
        raise InvalidInputError(msg)
    warnings.warn(msg, DegenerateDataWarning, stacklevel=4)
    kept = np.setdiff1d(np.arange(moments.n_features), lost)
    return replace(moments, feature_names=names).select(kept), left_out


def varying_columns(moments: Moments) -> Codes:
    """Return the columns that vary within classes, less those that only repeat others.

    Where rows are too few to tell, and where products were not summed, none counts as repeated.
    """
    variances = moments.scatter.pooled_diagonal() / moments.total_weight
    variances = resolved(variances, moments.grand_mean, moments.total_variances)
    varying = np.flatnonzero(variances)
    few = moments.counts.sum() - (moments.counts > 0).sum() < len(varying)
    if few or moments.storage == "diagonal":
        return varying
    lost = _lost(moments.pooled_scatter / moments.total_weight, variances)
    return np.setdiff1d(varying, lost)


def columns_remark(left_out: tuple[str, ...], *, weighted: bool = False) -> str:
    """Return what a verdict adds of columns left out, and of weights."""
    remark = f"; columns left out: {quoted(left_out)}" if left_out else ""
    return remark + ("; weights taken as counts" if weighted else "")


def _lost(sigma: Floats, variances: Floats) -> Codes:
    """Return the columns of Σ that are constant or combinations of others."""
    if variances.all() and scaled_cholesky(sigma) is not None:
        return np.zeros(0, np.intp)
    found = RankDeficiency.of(0, variances, sigma)
    return np.sort(np.concatenate([found.constant, found.dependent]))


def _refuse_few_rows(moments: Moments, n_varying: int) -> None:
    n_classes = int((moments.weights > 0).sum())
    degrees = moments.total_weight - n_classes
    if degrees < max(n_varying, 1):
        msg = (
            f"weight {moments.total_weight:g} in {n_classes} classes leaves {degrees:g} degrees "
            f"of freedom for {n_varying} features: use fewer features (moments.select) or more "
            "rows; weights are taken as counts"
        )
        raise InvalidInputError(msg)


def _refuse_separating(
    moments: Moments, within: Floats, lost: Codes, names: tuple[str, ...]
) -> None:
    total = within + moments.between_scatter / moments.total_weight
    lost_in_all = _lost(total, moments.total_variances)
    if len(lost_in_all) < len(lost):
        found = quoted(names[j] for j in np.setdiff1d(lost, lost_in_all))
        msg = (
            f"columns {found} differ between classes but not within them, alone or with "
            "others: they tell classes apart without error; drop them (moments.select) to "
            "compare the rest"
        )
        raise InvalidInputError(msg)
