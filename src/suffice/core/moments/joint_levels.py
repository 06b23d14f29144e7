"""Join categories into groups, and count joint levels: fewer tables then hold the counts of pairs.

Ten categories have 45 pairs. Joined two by two they are five columns with ten pairs, and a pass
over the rows counts only those. E_g is the 0/1 matrix that says which of the C_g levels each of the
J_g joint levels of group g has. m_g are the 0/1 indicators of a row's levels in the group, and
m_joint,g that of its joint level, so that m_g = E_gᵀ m_joint,g. The sums of the levels then follow
from those of the joint levels: weights n, tables of pairs N and products with the numbers x.

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

_MOST_JOINT_LEVELS = 64  # of a group; the table of two groups then fits the nearest cache
# with more cells of tables per row than this, categories are not joined: the tables would cost more
_CELLS_PER_ROW = 8


@dataclass(frozen=True, slots=True, eq=False)
class JointLevels:
    """Which categories are joined, and the level of each that a joint level stands for.

    In the shapes, M is the number of copies of each sum, one for each class or one for all, and p
    the number of columns that are summed for each level.
    """

    group_of: Codes  # of each category, ascending  (q,)
    strides: Codes  # what a step of each category's code adds to the joint code  (q,)
    empty_codes: Codes  # code used for a missing level: one past the last  (q,)
    starts: Codes  # first joint level of each group, and the number of all  (G + 1,)
    level_starts: Codes  # first level of each group, and the number of all  (G + 1,)
    levels_of_joint: tuple[Floats, ...]  # E of each group, (J_g, C_g)
    pairs: tuple[tuple[int, int], ...]  # g < h of each table of two groups  (P,)
    table_starts: Codes  # first cell of each of P tables, and the number of all  (P + 1,)

    @classmethod
    def of(cls, level_starts: Codes, codes: LevelCodes, n_tables: int) -> JointLevels:
        """Return the groups for codes (n, q), −1 where the level is missing.

        ``n_tables`` is the number of copies of each table, M: one for each class, or one.
        """
        n_levels = np.diff(level_starts)
        has_empty = codes.min(axis=0, initial=0) < 0
        n_states = tuple((n_levels + has_empty).tolist())
        joined = _joined(tuple(n_levels.tolist()), n_states, _MOST_JOINT_LEVELS)
        if n_tables * joined.table_starts[-1] > _CELLS_PER_ROW * len(codes):
            return _joined(tuple(n_levels.tolist()), n_states, 1)
        return joined

    def of_levels(self, sums: Floats) -> Floats:
        """Return sums of joint levels (M, J, p) as those of levels (M, C, p)."""
        parts = []
        for g, E in enumerate(self.levels_of_joint):
            parts.append(E.T @ sums[:, self.starts[g] : self.starts[g + 1]])
        return np.concatenate(parts, axis=1)

    def pairs_of_levels(self, weights: Floats, tables: Floats) -> Floats:
        """Return N of all levels (M, C, C) from weights (M, J) and tables of pairs (M, cells)."""
        n_levels = self.level_starts[-1]
        products = np.zeros((len(tables), n_levels, n_levels))
        for g, E in enumerate(self.levels_of_joint):
            of_group = slice(self.level_starts[g], self.level_starts[g + 1])
            n = weights[:, self.starts[g] : self.starts[g + 1]]
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


@lru_cache(maxsize=8)  # all chunks of a table have the same groups
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
            state = np.arange(n_of_group) // strides[j] % n_states[j]
            # the row of the empty state, the last, is all zeros
            columns.append(np.eye(n_states[j], n_levels[j])[state])
        levels_of_joint.append(np.concatenate(columns, axis=1))
    n_levels_of_group = [levels.shape[1] for levels in levels_of_joint]
    pairs = tuple(combinations(range(len(n_joint)), 2))
    return JointLevels(
        group_of=group_of,
        strides=strides,
        empty_codes=np.array(n_levels, np.intp),
        starts=np.cumsum([0, *n_joint]),
        level_starts=np.cumsum([0, *n_levels_of_group]),
        levels_of_joint=tuple(levels_of_joint),
        pairs=pairs,
        table_starts=np.cumsum([0, *[n_joint[g] * n_joint[h] for g, h in pairs]]),
    )
