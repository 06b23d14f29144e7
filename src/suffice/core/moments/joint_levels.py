"""Groups of joined categories, with which pairs of levels are counted in fewer tables.

Ten categories have 45 pairs. If neighbouring categories are joined two by two, there are five
groups with ten pairs, so that a pass over the rows fills ten tables instead of 45. A joint level of
a group is a combination of levels, one of each category in the group. Entry (j, c) of the matrix
E_g (J_g, C_g) is 1 if joint level j of group g contains level c, and 0 otherwise. If m_g are the
0/1 indicators of a row's levels in group g, and m_joint,g the indicators of its joint level, then
m_g = E_gᵀ m_joint,g. The sums over joint levels therefore give the sums over levels: the weights n,
the tables of pairs N and the products with the numbers x.

    n_g = E_gᵀ n_joint,g             N_gg = E_gᵀ diag(n_joint,g) E_g
    N_gh = E_gᵀ N_joint,gh E_h       Σ w m_g xᵀ = E_gᵀ Σ w m_joint,g xᵀ
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from suffice.core.table.schema import LevelCodes
from suffice.typing import Codes, Floats

# most joint levels of a group, so that the table of two groups fits into the cache
_MOST_JOINT_LEVELS = 64
# categories are joined only if all tables together have at most this many cells per row
_CELLS_PER_ROW = 8


@dataclass(frozen=True, slots=True, eq=False)
class JointLevels:
    """The groups of joined categories, and the levels that each joint level contains.

    In the shapes of arrays, M is the number of copies of each sum, K or, if classes are pooled, 1;
    p is the number of columns that are summed for each level.
    """

    group_of: Codes  # group of each category, ascending  (q,)
    strides: Codes  # joint code = Σ stride × code of category  (q,)
    empty_codes: Codes  # code of a missing level: the number of levels  (q,)
    joint_starts: Codes  # first joint level of each group, and their total number  (G + 1,)
    level_starts: Codes  # first level of each group, and their total number  (G + 1,)
    levels_of_joint: tuple[Floats, ...]  # E of each group, (J_g, C_g)
    pairs: tuple[tuple[int, int], ...]  # the two groups g < h of each table  (P,)
    table_starts: Codes  # first cell of each table, and the number of cells  (P + 1,)

    @classmethod
    def of(cls, level_starts: Codes, codes: LevelCodes, n_tables: int) -> JointLevels:
        """Return the groups for codes (n, q), where −1 is a missing level.

        ``n_tables`` is M, the number of copies of each table: K, or 1 if classes are pooled.
        """
        n_levels = np.diff(level_starts)
        has_empty = codes.min(axis=0, initial=0) < 0
        n_states = tuple((n_levels + has_empty).tolist())
        joined = _joined(tuple(n_levels.tolist()), n_states, _MOST_JOINT_LEVELS)
        if n_tables * joined.table_starts[-1] > _CELLS_PER_ROW * len(codes):
            return _joined(tuple(n_levels.tolist()), n_states, 1)  # each category on its own
        return joined

    def of_levels(self, sums: Floats) -> Floats:
        """Return sums over levels (M, C, p), given sums over joint levels (M, J, p)."""
        parts = []
        for g, E in enumerate(self.levels_of_joint):
            parts.append(E.T @ sums[:, self.joint_starts[g] : self.joint_starts[g + 1]])
        return np.concatenate(parts, axis=1)

    def pairs_of_levels(self, weights: Floats, tables: Floats) -> Floats:
        """Return N (M, C, C), given the joint levels' weights (M, J) and tables (M, cells)."""
        n_levels = self.level_starts[-1]
        products = np.zeros((len(tables), n_levels, n_levels))
        for g, E in enumerate(self.levels_of_joint):
            of_group = slice(self.level_starts[g], self.level_starts[g + 1])
            n = weights[:, self.joint_starts[g] : self.joint_starts[g + 1]]
            products[:, of_group, of_group] = E.T @ (n[:, :, None] * E)
        starts = self.table_starts
        for (g, h), first, last in zip(self.pairs, starts[:-1], starts[1:], strict=True):
            E = self.levels_of_joint[g]
            F = self.levels_of_joint[h]
            table = tables[:, first:last].reshape(-1, len(E), len(F))
            rows = slice(self.level_starts[g], self.level_starts[g + 1])
            columns = slice(self.level_starts[h], self.level_starts[h + 1])
            products[:, rows, columns] = E.T @ table @ F
            products[:, columns, rows] = np.swapaxes(products[:, rows, columns], 1, 2)
        return products


@lru_cache(maxsize=8)  # all chunks of a table need the same groups
def _joined(n_levels: tuple[int, ...], n_states: tuple[int, ...], most: int) -> JointLevels:
    """Join neighbouring categories into groups of at most ``most`` joint levels."""
    group_of = np.zeros(len(n_states), np.intp)
    strides = np.ones(len(n_states), np.intp)
    n_joint = [1]
    for j, n_of_category in enumerate(n_states):
        if n_joint[-1] > 1 and n_joint[-1] * n_of_category > most:
            n_joint.append(1)
        group_of[j] = len(n_joint) - 1
        strides[j] = n_joint[-1]
        n_joint[-1] *= n_of_category
    levels_of_joint = []
    for g, n_of_group in enumerate(n_joint):
        columns = [np.zeros((n_of_group, 0))]
        for j in np.flatnonzero(group_of == g).tolist():
            # the level of category j in each joint level; a missing level has a row of zeros
            state = np.arange(n_of_group) // strides[j] % n_states[j]
            columns.append(np.eye(n_states[j], n_levels[j])[state])
        levels_of_joint.append(np.concatenate(columns, axis=1))
    n_levels_of_group = [levels.shape[1] for levels in levels_of_joint]
    pairs = tuple(combinations(range(len(n_joint)), 2))
    return JointLevels(
        group_of=group_of,
        strides=strides,
        empty_codes=np.array(n_levels, np.intp),
        joint_starts=np.cumsum([0, *n_joint]),
        level_starts=np.cumsum([0, *n_levels_of_group]),
        levels_of_joint=tuple(levels_of_joint),
        pairs=pairs,
        table_starts=np.cumsum([0, *[n_joint[g] * n_joint[h] for g, h in pairs]]),
    )
