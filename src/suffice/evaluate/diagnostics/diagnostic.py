"""What all diagnostics share: their base class, p-values, and usable rows and columns."""

from dataclasses import replace

import numpy as np

from suffice.core.estimation.degenerate import independent_columns
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.linalg import resolved
from suffice.core.moments import Moments
from suffice.core.moments.whole_weights import has_whole_weights
from suffice.core.table.matrix import refuse_unusable
from suffice.core.table.sampling import ranks_within
from suffice.core.table.table import Table
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.core.text.tables import Tabled
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    warn,
)
from suffice.typing import Codes, Floats, LabelsLike, RowsLike


class Diagnostic(Tabled):
    """Base of the results of diagnostics; ``str(result)`` is a sentence on the result."""

    __slots__ = ()


# Every verdict on a weighted fit ends with this remark. Weights with a larger sum than the
# effective number of rows, (Σw)²/Σw² (Kish 1965), make p-values too small.
WEIGHTS_REMARK = "weights are treated as counts of rows; multiply other weights by Σw/Σw²"
NOT_COUNTS = "not tested: the weights do not count rows"


def simulated_p_values(statistics: Floats, replicates: Floats) -> Floats:
    """Return (1 + #{replicates ≥ statistic}) / (1 + B) for B replicates of each statistic.

    If the statistic is exchangeable with its replicates, P(p ≤ α) ≤ α for every level α.
    """
    # Davison & Hinkley (1997), section 4.2. Replicates that are equal up to rounding count as
    # larger.
    larger = replicates >= statistics - 1e-12 * np.abs(statistics)
    return np.asarray((1 + larger.sum(0)) / (1 + len(replicates)))


def finite_table(X: RowsLike, y: LabelsLike) -> Table:
    """Return rows with their classes; raise if there are no rows, or non-finite values."""
    table = Table.of(X, y)
    if table.n_rows == 0:
        raise InvalidInputError(
            "X has no rows, but a diagnostic needs at least 1 row: pass rows"
        )
    if table.x.dtype.kind == "f" and not np.isfinite(table.x).all():
        refuse_unusable(table.x, table.names)
    return table


def sampled(table: Table, max_rows: int, rng: np.random.Generator) -> Table:
    """Return the rows; a class with more than ``max_rows`` rows is sampled."""
    if max_rows < 1:
        raise InvalidParameterError(f"max_rows must be at least 1, got {max_rows}")
    if np.bincount(table.codes).max() <= max_rows:
        return table
    return table.take(ranks_within(table.codes, rng) < max_rows)


def is_weighted(moments: Moments) -> bool:
    """Return whether the weights of some class do not sum to its number of rows."""
    return bool(np.any(moments.weights != moments.counts))


def can_count_rows(moments: Moments) -> bool:
    """Return whether weights can be taken as numbers of rows.

    Weights can be row counts if they sum to an integer in each class. They are also accepted if all
    weights sum to less than the number of rows, as an effective number of rows does. Weights of at
    most 1 then make p-values too large, not too small. For other weights, the sums do not show how
    much the weights vary.
    """
    n_rows = float(moments.counts.sum())
    return has_whole_weights(moments) or moments.total_weight < n_rows * (1 - 1e-9)


def names_of(moments: Moments) -> tuple[str, ...]:
    """Return the names of the columns; unnamed columns are numbered from 0."""
    return moments.feature_names or tuple(map(str, range(moments.n_features)))


def usable_columns(moments: Moments) -> tuple[Moments, tuple[str, ...]]:
    """Return the sums of linearly independent columns, and the names of the columns left out."""
    require_two_classes(moments.classes, moments.weights)
    n_classes = int((moments.weights > 0).sum())
    n_varying = len(_varying(moments))
    degrees = moments.total_weight - n_classes
    if degrees < max(n_varying, 1):
        is_one = degrees == 1
        treated = ". Weights are treated as counts of rows" if is_weighted(moments) else ""
        raise InvalidInputError(
            f"{moments.total_weight:g} rows in {n_classes} classes leave {degrees:g} "
            f"{'degree' if is_one else 'degrees'} of freedom, which is not enough for "
            f"{counted(n_varying, 'feature')} that vary within classes: use more rows, or fewer "
            f"features (moments.select){treated}"
        )
    kept = independent_columns(moments)
    if len(kept) == moments.n_features:
        return moments, ()
    names = names_of(moments)
    left_out = tuple(name for j, name in enumerate(names) if j not in kept)
    if len(kept) == 0:
        raise InvalidInputError(
            f"no column varies within classes, so there is nothing to test: {quoted(left_out)}"
        )
    be, pronoun = ("is", "it") if len(left_out) == 1 else ("are", "they")
    reason = f"{pronoun} {be} constant within classes, or can be computed from other columns"
    warn(
        f"{noun_for(len(left_out), 'column')} {quoted(left_out)} {be} left out, because {reason}",
        DegenerateDataWarning,
    )
    return replace(moments, feature_names=names).select(kept), left_out


def varying_columns(moments: Moments) -> Codes:
    """Return the columns that vary within classes, without combinations of other columns."""
    varying = _varying(moments)
    degrees = moments.counts.sum() - (moments.counts > 0).sum()
    if degrees < len(varying) or moments.storage == "diagonal":
        return varying  # there are too few rows to find combinations, or there is no scatter matrix
    return independent_columns(moments)


def _varying(moments: Moments) -> Codes:
    variances = moments.scatter.pooled_diagonal() / moments.total_weight
    return np.flatnonzero(resolved(variances, moments.grand_mean, moments.total_variances))


def column_remarks(left_out: tuple[str, ...], *, weighted: bool = False) -> list[str]:
    """Return remarks for a verdict on columns left out, and on how weights are treated."""
    remarks = []
    if left_out:
        remarks.append(f"columns left out: {quoted(left_out)}")
    if weighted:
        remarks.append(WEIGHTS_REMARK)
    return remarks


def sample_remarks(n_used: Codes, n_rows: Codes) -> list[str]:
    """Return a remark for a verdict if classes were sampled."""
    larger = n_used[n_used < n_rows]
    if len(larger) == 0:
        return []
    return [f"a sample of {larger.max():,} rows of each larger class"]
