"""What all diagnostics share: the frozen answer, simulated p-values, usable rows and columns."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.estimation.degenerate import independent_columns
from suffice.core.estimation.plug_in_and_debiased import require_two_classes
from suffice.core.linalg import resolved
from suffice.core.moments import Moments
from suffice.core.table.matrix import refuse_unusable
from suffice.core.table.sampling import ranks_within
from suffice.core.table.table import Table
from suffice.core.text.lists import quoted
from suffice.core.text.tables import Tabled
from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats


class Diagnostic(Tabled):
    """A frozen answer to one question about a model; ``str`` of it is the answer in words."""

    __slots__ = ()


def simulated_p(statistic: Any, replicates: Floats) -> Any:
    """Return (1 + #{replicates ≥ statistic}) / (1 + B) (Davison & Hinkley 1997, section 4.2)."""
    # a replicate that ties up to rounding counts as larger
    larger = replicates >= statistic - 1e-12 * np.abs(statistic)
    return (1 + larger.sum(0)) / (1 + len(replicates))


def finite_table(X: Any, y: Any) -> Table:
    """Return rows with their classes, refused where there are none or some are not finite."""
    table = Table.of(X, y)
    if not table.n_rows:
        raise InvalidInputError("X has no rows")
    if table.x.dtype.kind == "f" and not np.isfinite(table.x).all():
        refuse_unusable(table.x, table.names)
    return table


def sampled(table: Table, max_rows: int, rng: np.random.Generator) -> Table:
    """Return the rows, of larger classes a random sample of ``max_rows``."""
    if max_rows < 1:
        raise InvalidParameterError(f"max_rows must be at least 1, got {max_rows}")
    if np.bincount(table.codes).max() <= max_rows:
        return table
    return table.take(ranks_within(table.codes, rng) < max_rows)


def is_weighted(moments: Moments) -> bool:
    """Return whether the weights are anything but counts of rows."""
    return bool(np.any(moments.weights != moments.counts))


def names_of(moments: Moments) -> tuple[str, ...]:
    """Return the names of the columns; their numbers, where they have none."""
    return moments.feature_names or tuple(map(str, range(moments.n_features)))


def usable_columns(moments: Moments) -> tuple[Moments, tuple[str, ...]]:
    """Return the sums of columns of full rank within classes, and the names of the others."""
    require_two_classes(moments.classes, moments.weights)
    n_classes, names = int((moments.weights > 0).sum()), names_of(moments)
    degrees, n_varying = moments.total_weight - n_classes, len(_varying(moments))
    if degrees < max(n_varying, 1):
        left = f"leaves {degrees:g} degrees of freedom for {n_varying} features"
        cure = "use fewer features (moments.select) or more rows; weights are taken as counts"
        msg = f"weight {moments.total_weight:g} in {n_classes} classes {left}: {cure}"
        raise InvalidInputError(msg)
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
    """Return the columns that vary within classes, less those that are seen to repeat others."""
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
