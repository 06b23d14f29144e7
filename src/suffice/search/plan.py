"""Which candidates to judge, and on how many rows: of all settings, or of those left open.

Judging settings needs fewer rows than learning from them: candidates are compared on a seeded,
stratified sample; the moments of the chosen ones are of all rows. Fourier features are costly, so
they first have to show, on a smaller sample, that they help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.recipe import Recipe, recipe_of
from suffice.estimation.settings import is_open
from suffice.model.views import FourierFeatures, Plain, PowerTransformed, View
from suffice.power import PowerTransform
from suffice.search.candidates import TEMPERATURES, Candidate, judged, search
from suffice.table.sampling import stratified_sample
from suffice.validation.folds import Folds

if TYPE_CHECKING:
    from suffice.table import Table

Grid = tuple[View, Sequence[Recipe]]  # a view of the rows, and the recipes tried there

POOLINGS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
SHRINKAGES = (0.0, 0.01, 0.05, 0.15, 0.4, 0.7, 1.0)
FOURIER_SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
WIDTHS = (0.4, 0.8)
N_FREQUENCIES, FEWEST_FREQUENCIES = 150, 10

MOST_ROWS = 10_000
MOST_TRIAL_ROWS = 4_000
FEWER = 4  # in a trial every fourth point of the grid of λ and γ
MOST_FEATURES = 400  # beyond which a matrix per class and fold is not tried


def chosen(table: Table, *, fourier_features: bool, n_kept: int, seed: int) -> list[Candidate]:
    """Return the best candidates with their shares, best first."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    power = PowerTransformed(PowerTransform.of(rows.x, rows.weight, seed=seed))
    plain = [_regularised(view, table.n_features) for view in (Plain(), power)]
    folds, n = judging_folds(rows, seed), min(N_FREQUENCIES, rows.n_rows // 4)
    if not fourier_features or n < FEWEST_FREQUENCIES:
        return search(folds, plain, n_kept)
    trial = table.take(stratified_sample(table.codes, MOST_TRIAL_ROWS, seed))
    fourier = [_fourier(FourierFeatures.of(power, trial.x, width, n, seed)) for width in WIDTHS]
    if trial.n_rows < rows.n_rows:
        fourier = helpful(Folds.stratified(trial, 2, seed), plain, fourier)
    return search(folds, [*plain, *fourier], n_kept)


def helpful(folds: Folds, plain: Sequence[Grid], fourier: Sequence[Grid]) -> list[Grid]:
    """Return the Fourier features that make the average better by more than chance, if any do."""
    few = [(view, recipes[::FEWER]) for view, recipes in plain]
    found = judged(folds, [*few, *fourier], 3)
    without = [i for i, c in enumerate(found.candidates) if not isinstance(c.view, FourierFeatures)]
    gains = found.averaged(range(len(found.candidates))) - found.averaged(without)
    mean = np.average(gains, weights=found.weight)
    if mean < 2 * gains.std() / np.sqrt(len(gains)):
        return []
    shares = found.shared()
    return [pair for pair in fourier if any(c.view is pair[0] and c.weight > 0 for c in shares)]


def judging_folds(rows: Table, seed: int) -> Folds:
    """Return stratified folds: ten of few rows, five of many."""
    n_folds = max(min(10 if rows.n_rows < 2_000 else 5, rows.n_rows // 2), 2)
    return Folds.stratified(rows, n_folds, seed)


def _regularised(view: View, n_features: int) -> Grid:
    """Return the grid of λ and γ; with very many features, tied and diagonal models only."""
    poolings = POOLINGS if n_features <= MOST_FEATURES else (1.0,)
    return view, [recipe_of(view, p, g) for p in poolings for g in SHRINKAGES]


def _fourier(view: View) -> Grid:
    return view, [recipe_of(view, 1.0, g) for g in FOURIER_SHRINKAGES]


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
