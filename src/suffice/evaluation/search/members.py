"""Chosen candidates, fitted on all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.moments import Moments

if TYPE_CHECKING:
    from suffice.evaluation.search.search import Choice
    from suffice.model import GaussianModel
    from suffice.typing import Floats, Labels

_BLOCK = 16_384  # rows seen at a time


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A chosen candidate and its model."""

    choice: Choice
    model: GaussianModel

    @classmethod
    def fitted(
        cls, choices: list[Choice], x: Any, y: Labels, weight: Floats | None
    ) -> tuple[Member, ...]:
        """Return the candidates that count, fitted; one pass over the rows for each view."""
        counted = [c for c in choices if c.weight > 0]
        sums: dict[int, Moments] = {}
        for choice in counted:
            if id(choice.view) not in sums:
                sums[id(choice.view)] = _moments(choice, x, y, weight)
        return tuple(
            cls(
                c,
                c.recipe.estimate(sums[id(c.view)], quiet=True).with_temperature(c.temperature),
            )
            for c in counted
        )

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K), block by block."""
        blocks = (x[lo : lo + _BLOCK] for lo in range(0, len(x), _BLOCK))
        return np.concatenate([self.model.posterior(self.choice.view.apply(b)) for b in blocks])


def _moments(choice: Choice, x: Any, y: Labels, weight: Floats | None) -> Moments:
    classes = np.unique(y)
    parts = []
    for lo in range(0, len(x), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        seen = choice.view.apply(x[rows])
        w = None if weight is None else weight[rows]
        parts.append(
            Moments.of(seen, y[rows], w, storage="per-class", fourth=False, classes=classes)
        )
    total: Moments = sum(parts[1:], start=parts[0])
    return total
