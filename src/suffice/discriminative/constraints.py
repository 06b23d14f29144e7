"""Rows as constraints of a linear program: each row's own class must outscore its rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.discriminative.contrasts import all_scores

if TYPE_CHECKING:
    from suffice.discriminative.rows import Block, Rows
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """(δ_y − δ_k)ᵀ z ≥ 0 for some rows and rivals k, rows scaled to a greatest entry of one."""

    matrix: Floats  # (m, C·D)
    margins: Floats  # (δ_y − δ_k)ᵀz at the direction they were chosen for  (m,)

    def joined(self, other: Constraints) -> Constraints:
        """Return the constraints of both."""
        matrix = np.vstack([self.matrix, other.matrix])
        return Constraints(matrix, np.concatenate([self.margins, other.margins]))

    def below(self, limit: float) -> Constraints:
        """Return those whose margin is below a limit."""
        low = self.margins < limit
        return Constraints(self.matrix[low], self.margins[low])


def hardest(rows: Rows, delta: Floats, n: int) -> Constraints:
    """Return the n constraints of least margin in direction δ (C, D)."""
    best = Constraints(np.empty((0, delta.size)), np.empty(0))
    for block in rows.blocks():
        best = _least(best.joined(_constraints(block, delta, n)), n)
    return best


def _constraints(block: Block, delta: Floats, n: int) -> Constraints:
    """Return the n hardest constraints of a block."""
    scale = np.abs(block.z).max(1)  # at least 1, the leading entry
    scores = all_scores(delta @ block.z.T) / scale
    row = np.arange(len(scale))
    margins = scores[block.codes, row] - scores  # (K, n)
    margins[block.codes, row] = np.inf
    flat = margins.ravel()
    least = np.argpartition(flat, min(n, flat.size) - 1)[:n]
    least = least[np.isfinite(flat[least])]
    rivals, row = np.unravel_index(least, margins.shape)
    return Constraints(_matrix(block, row, rivals, delta.shape, scale), flat[least])


def _matrix(
    block: Block, row: Codes, rivals: Codes, shape: tuple[int, int], scale: Floats
) -> Floats:
    z = block.z[row] / scale[row, None]
    matrix = np.zeros((len(row), shape[0] + 1, shape[1]))
    every = np.arange(len(row))
    matrix[every, block.codes[row]] += z
    matrix[every, rivals] -= z
    return matrix[:, 1:].reshape(len(row), -1)  # the first class scores zero


def _least(constraints: Constraints, n: int) -> Constraints:
    if len(constraints.margins) <= n:
        return constraints
    least = np.argpartition(constraints.margins, n - 1)[:n]
    return Constraints(constraints.matrix[least], constraints.margins[least])
