"""Chosen candidates, fitted on all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.recipe import collecting
from suffice.moments import Moments

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe
    from suffice.model import ClassModel
    from suffice.model.views import View
    from suffice.search.candidates import Choice
    from suffice.typing import Floats, Labels

_BLOCK = 16_384  # rows seen at a time


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A chosen candidate and its model."""

    choice: Choice
    moments: Moments  # of the rows as its view shows them
    model: ClassModel

    @classmethod
    def of(cls, choice: Choice, moments: Moments) -> Member:
        """Return the member that a choice makes of sums."""
        model = choice.recipe.estimate(moments, quiet=True).with_temperature(choice.temperature)
        return cls(choice, moments, model)

    @classmethod
    def fitted(
        cls, choices: list[Choice], x: Any, y: Labels, weight: Floats | None
    ) -> tuple[Member, ...]:
        """Return the candidates that count, fitted; one pass over the rows for each view."""
        counted = [c for c in choices if c.weight > 0]
        views = {id(c.view): c.view for c in counted}
        sums = {
            key: _moments(view, [c.recipe for c in counted if c.view is view], x, y, weight)
            for key, view in views.items()
        }
        return tuple(cls.of(c, sums[id(c.view)]) for c in counted)

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K), block by block."""
        blocks = (x[lo : lo + _BLOCK] for lo in range(0, len(x), _BLOCK))
        return np.concatenate([self.model.posterior(self.choice.view.apply(b)) for b in blocks])


def _moments(
    view: View, recipes: list[Recipe], x: Any, y: Labels, weight: Floats | None
) -> Moments:
    options = {**collecting(recipes), "classes": np.unique(y)}
    parts = []
    for lo in range(0, len(x), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        seen = view.apply(x[rows])
        w = None if weight is None else weight[rows]
        parts.append(Moments.of(seen, y[rows], w, **options))
    total: Moments = sum(parts[1:], start=parts[0])
    return total
