"""The rows that mixtures are fitted to, and the Gaussians of their classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.core.estimation.divisors import divided
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.gaussian import complete_rows
from suffice.core.estimation.groups import diagonal_groups, full_groups
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.estimation.settings import Settings
from suffice.core.model.gaussian import GaussianModel
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.foreign import is_foreign, to_numpy
from suffice.core.table.matrix import has_missing, taken
from suffice.core.text.lists import counted
from suffice.errors import DegenerateDataWarning, warn
from suffice.typing import Codes, Flags, Floats

SAMPLE = 20_000  # most rows of a class on which starts and numbers of components are compared
# a filled covariance whose correlation is smaller than this is a rounding error
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRows:
    """The rows of each class, and one Gaussian for each class."""

    table: Table
    rows: list[Codes]  # numbers of each class's rows with positive weight
    has_gaps: Flags | None  # whether each row has missing values  (n,); None if no row has
    single: GaussianModel
    borrowed: Floats  # variance that each class lacks, filled from other classes  (K, d, d)

    @classmethod
    def of(cls, table: Table, settings: MixtureSettings, *, quiet: bool) -> MixtureRows:
        """Return the rows of a table, with the Gaussians fitted to them."""
        x = table.x
        moments = Moments.of_table(table, storage="per-class", fourth=False, holes=True)
        plain = Settings(covariance=settings.covariance, tied=settings.tied is True)
        single = estimate(moments, plain, quiet=quiet)
        assert isinstance(single, GaussianModel)
        completed = complete_rows(moments, plain, quiet=True)
        group_of = plain.group_of(table.classes)
        if settings.is_diagonal:
            variances = divided(diagonal_groups(completed, group_of), unbiased=False)
            unborrowed = variances[group_of][:, :, None] * np.eye(x.shape[1])
        else:
            unborrowed = divided(full_groups(completed, group_of), unbiased=False)[group_of]
        sigmas = np.stack([single.covariance_of(k).dense() for k in range(table.n_classes)])
        borrowed = sigmas - unborrowed
        scale = np.sqrt(np.diagonal(sigmas, axis1=1, axis2=2))
        relative = np.abs(borrowed / scale[:, :, None] / scale[:, None, :]).max((1, 2))
        is_borrowed = relative > _ROUNDING
        has_gaps = None
        if not is_foreign(x) and has_missing(x):
            has_gaps = np.isnan(x).any(1)
        return cls(
            table=table,
            rows=rows_by_class(table),
            has_gaps=has_gaps,
            single=single,
            borrowed=is_borrowed[:, None, None] * borrowed,
        )

    def at_most(self, count: int, k: int, *, quiet: bool) -> int:
        """Return ``count``, or the number of distinct rows of class k if that number is smaller."""
        if count == 1:
            return 1
        rows = self.rows[k]
        label = self.table.classes[k].item()
        has_gaps = self.has_gaps is not None and self.has_gaps[rows].any()
        if has_gaps and self.borrowed[k].any():
            if not quiet:
                warn(
                    f"class {label!r} has missing values and does not vary in some direction, "
                    f"so it gets 1 component instead of {count}",
                    DegenerateDataWarning,
                )
            return 1
        x, _ = self.values_and_weights(rows[:SAMPLE])
        n_distinct = max(len(np.unique(np.nan_to_num(x), axis=0)), 1)
        if n_distinct >= count:
            return count
        if not quiet:
            warn(
                f"class {label!r} has only {counted(n_distinct, 'distinct row')}, so it gets "
                f"{counted(n_distinct, 'component')} instead of {count}",
                DegenerateDataWarning,
            )
        return n_distinct

    def values_and_weights(self, rows: Codes) -> tuple[Floats, Floats]:
        """Return the values (m, d) and the weights (m,) of the rows with these numbers."""
        weight = self.table.weight
        w = np.ones(len(rows)) if weight is None else weight[rows]
        return np.asarray(to_numpy(taken(self.table.x, rows)), np.float64), w


def rows_by_class(table: Table) -> list[Codes]:
    """Return, for each class, the numbers of its rows with positive weight."""
    codes = np.where(table.weights > 0, table.codes, -1)
    return [np.flatnonzero(codes == k) for k in range(table.n_classes)]


def sampled_rows(rows: Codes, rng: np.random.Generator) -> Codes:
    """Return at most ``SAMPLE`` of the rows, drawn at random, in ascending order."""
    if len(rows) <= SAMPLE:
        return rows
    return np.sort(rng.choice(rows, SAMPLE, replace=False))
