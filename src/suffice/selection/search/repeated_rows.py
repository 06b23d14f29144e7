"""Find the distinct rows of a table, so that equal rows are processed only once."""

import numpy as np

from suffice.core.linalg import unit_scale
from suffice.core.table import Table
from suffice.typing import Codes, Floats


def distinct_rows(x: Floats) -> tuple[Codes, Codes]:
    """Return the first row of each set of equal rows (m,), and the set of each row (n,)."""
    direction = np.random.default_rng(0).standard_normal(x.shape[1])
    # distinct rows have distinct projections on a random direction, with probability 1
    projections = (x - x[0]) / unit_scale(x.var(0)) @ direction
    _, first, set_of = np.unique(projections, return_index=True, return_inverse=True)
    return first, set_of


def distinct_table(table: Table) -> tuple[Table, Codes]:
    """Return the table without repeated rows, and the position in it of each original row.

    The original table is returned if at least half of its rows are distinct.
    """
    columns = np.column_stack([table.x, table.codes, table.weights])
    first, place = distinct_rows(columns)
    if 2 * len(first) < table.n_rows and np.array_equal(columns[first][place], columns):
        return table.take(first), place
    return table, np.arange(table.n_rows)
