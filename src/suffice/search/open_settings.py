"""The settings that a recipe leaves open, chosen by exact cross-validated log-loss."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.settings import is_open
from suffice.model.views import Plain, Straightened
from suffice.power import PowerTransform
from suffice.search.candidates import TEMPERATURES, search
from suffice.search.plan import MOST_ROWS, POOLINGS, SHRINKAGES, judging_task, sampled

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe
    from suffice.model.views import View
    from suffice.typing import Floats, Labels


@dataclass(frozen=True, slots=True)
class Settled:
    """What was chosen for the settings that said "auto"."""

    pooling: float
    shrinkage: Any
    temperature: float
    power: PowerTransform | None


def settled(
    recipe: Recipe,
    x: Any,
    y: Labels,
    weight: Floats | None,
    *,
    power: Any,
    temperature: Any,
    seed: int = 0,
) -> Settled:
    """Return a value for every setting left open, judged on at most 10,000 rows."""
    codes = np.unique(y, return_inverse=True)[1]
    task = judging_task(x, y, weight, sampled(codes, MOST_ROWS, seed), seed)
    views = [(view, _recipes(recipe)) for view in _views(power, task.x, task.weight, seed)]
    fixed = TEMPERATURES if is_open(temperature) else np.array([float(temperature)])
    best = search(task, views, 1, fixed)[0]
    found = best.view.transform if isinstance(best.view, Straightened) else None
    how = best.recipe.regularisation
    return Settled(how.pooling, how.shrinkage.fixed, best.temperature, found)


def _recipes(recipe: Recipe) -> list[Recipe]:
    """Return the recipe at every point of the settings it leaves open."""
    grids = {"pooling": POOLINGS, "shrinkage": SHRINKAGES}
    names = recipe.open_settings
    points = product(*(grids[name] for name in names))
    return [recipe.with_settings(**dict(zip(names, point, strict=True))) for point in points]


def _views(power: Any, x: Any, weight: Floats | None, seed: int) -> list[View]:
    if isinstance(power, PowerTransform):
        return [Straightened(power)]
    straight: list[View] = []
    if power is not None:
        straight = [Straightened(PowerTransform.of(x, weight, seed=seed))]
    return [Plain(), *straight] if power in (None, "auto") else straight
