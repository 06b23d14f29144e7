"""The settings that an estimator leaves open, chosen by exact cross-validated log-loss."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.settings import is_open
from suffice.model.views import Plain, PowerTransformed
from suffice.power import PowerTransform
from suffice.search.candidates import TEMPERATURES, search
from suffice.search.plan import MOST_ROWS, POOLINGS, SHRINKAGES, judging_folds
from suffice.table.sampling import stratified_sample

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe
    from suffice.model.views import View
    from suffice.table import Table


@dataclass(frozen=True, slots=True)
class Settled:
    """What was chosen for the settings that said "auto"."""

    pooling: float
    shrinkage: Any
    temperature: float
    power: PowerTransform | None


def settled(
    recipe: Recipe, table: Table, *, power: Any, temperature: Any, seed: int = 0
) -> Settled:
    """Return a value for every setting left open, judged on at most 10,000 rows."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    views = [(view, _recipes(recipe)) for view in _views(power, rows, seed)]
    fixed = TEMPERATURES if is_open(temperature) else np.array([float(temperature)])
    best = search(judging_folds(rows, seed), views, 1, fixed)[0]
    found = best.view.transform if isinstance(best.view, PowerTransformed) else None
    how = best.recipe.regularisation
    return Settled(how.pooling, how.shrinkage.fixed, best.temperature, found)


def _recipes(recipe: Recipe) -> list[Recipe]:
    """Return the recipe at every point of the settings it leaves open."""
    grids = {"pooling": POOLINGS, "shrinkage": SHRINKAGES}
    names = recipe.open_settings
    points = product(*(grids[name] for name in names))
    return [recipe.with_settings(**dict(zip(names, point, strict=True))) for point in points]


def _views(power: Any, rows: Table, seed: int) -> list[View]:
    if isinstance(power, PowerTransform):
        return [PowerTransformed(power)]
    named: list[View] = []
    if power is not None:
        named = [PowerTransformed(PowerTransform.of(rows.x, rows.weight, seed=seed))]
    return [Plain(), *named] if power in (None, "auto") else named
