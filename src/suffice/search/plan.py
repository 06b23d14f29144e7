"""Which candidates to judge, and on how many rows: of all settings, or of those left open.

Judging settings needs fewer rows than learning from them: candidates are compared on a seeded,
stratified sample; the moments of the chosen ones are of all rows. Fourier features are costly, so
they first have to show, on a smaller sample, that they help.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.recipe import Recipe
from suffice.estimation.settings import is_open
from suffice.model.views import FourierFeatures, PiecewiseLinear, Plain, PowerTransformed, View
from suffice.power import PowerTransform
from suffice.search.candidates import Candidate, FittedCandidate, Judged, fitted_candidates, search
from suffice.search.judging import TEMPERATURES, Verdicts, judged_grid
from suffice.search.training import Cells, Training, fold_numbers
from suffice.table.sampling import stratified_folds, stratified_sample
from suffice.validation.folds import Folds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.table import Table
    from suffice.typing import Codes, Floats

POOLINGS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
SHRINKAGES = (0.0, 0.01, 0.05, 0.15, 0.4, 0.7, 1.0)
FOURIER_SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
WIDTHS = (0.4, 0.8)
N_FREQUENCIES, FEWEST_FREQUENCIES = 150, 10

MOST_ROWS = 10_000
MOST_TRIAL_ROWS = 4_000
MOST_FEATURES = 400  # beyond which a matrix per class and fold is not tried
FEW_ROWS = 1_000  # under which every setting is judged on every fold


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A view of the rows, and the points (λ, γ) tried there."""

    view: View
    recipe: Recipe  # at which no point is yet
    points: tuple[tuple[float, Floats], ...]

    @property
    def per_class(self) -> bool:
        """Whether some point asks for a covariance of each class."""
        return any(pooling < 1 for pooling, _ in self.points)


def chosen(
    table: Table, *, fourier_features: bool, n_kept: int, seed: int
) -> tuple[list[Candidate], tuple[FittedCandidate, ...]]:
    """Return the best candidates with their shares, best first, and those that count, fitted."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    power = PowerTransformed(PowerTransform.of(rows.x, rows.weight, seed=seed))
    plain = [_regularised(view, table.n_features) for view in (Plain(), power)]
    n = min(N_FREQUENCIES, rows.n_rows // 4)
    lifted = []
    if fourier_features and n >= FEWEST_FREQUENCIES:
        trial = table.take(stratified_sample(table.codes, MOST_TRIAL_ROWS, seed))
        lifted = [_tied(view) for view in lifted_views(power, trial.x, n, seed)]
        if trial.n_rows < rows.n_rows:
            lifted = helpful(trial, [*plain, *lifted], seed)
    found = judged(Cells.of(rows, judging_folds(rows, seed)), [*plain, *lifted], n_kept)
    if found is None:
        recipes = [(grid.view, _recipes_of(grid)) for grid in plain]
        best = [search(Folds.stratified(rows, n_folds_of(rows.n_rows), seed), recipes)]
        return best, fitted_candidates(best, table, {})
    shared = found.shared() if n_kept > 1 else [replace(found.candidates[0], weight=1.0)]
    sums = found.moments if rows.n_rows == table.n_rows else {}
    return shared, fitted_candidates(shared, table, sums)


def lifted_views(below: View, x: Any, n: int, seed: int) -> list[View]:
    import os
    found=[]
    for word in os.environ.get("LIFT","g4,g8").split(","):
        if word[0]=="g": found.append(FourierFeatures.of(below, x, int(word[1:])/10, n, seed))
        if word[0]=="l": found.append(FourierFeatures.of(below, x, int(word[1:])/10, n, seed, "Laplace"))
        if word[0]=="b": found.append(PiecewiseLinear.of(x, min(2*n,int(word[1:]))))
    return found


def judged(cells: Cells, grids: Sequence[Grid], n_kept: int) -> Judged | None:
    """Return the best ``n_kept`` points of each view; None where nothing can be judged."""
    found, weight, moments = [], np.zeros(0), {}
    for grid in grids:
        training = Training.of(grid.view.apply(cells.table.x), cells, per_class=grid.per_class)
        if not training.n_folds:
            return None
        weight, moments[id(grid.view)] = training.held_out.weights, training.moments
        verdicts = _best_points(training, grid, n_kept)
        if verdicts is not None:
            found.append((grid.view, grid.recipe, verdicts))
    return Judged.of(found, weight, moments) if found else None


def _best_points(training: Training, grid: Grid, n_kept: int) -> Verdicts | None:
    """Return the best points of a grid: all are judged on one fold, those left on every fold."""
    priors = np.stack([grid.recipe.priors.of(np.zeros(0), w) for w in training.weights])
    with np.errstate(divide="ignore"):
        log_priors = np.log(np.where(training.weights > 0, priors, 0.0))
    points: Sequence[tuple[float, Floats]] = grid.points
    if len(training.x) > FEW_ROWS:
        first = judged_grid(training.take(slice(0, 1)), log_priors[:1], points)
        if first is None:
            return None
        points = survivors(first, 2 * n_kept)
    found = judged_grid(training, log_priors, points)
    return None if found is None else found.best(n_kept)


def survivors(first: Verdicts, n: int) -> list[tuple[float, Floats]]:
    """Return the points not clearly worse than the best, n of them at least."""
    ranked = first.best(len(first.log_loss))
    behind = ranked.true_log[0] - ranked.true_log
    se = behind.std(1) / np.sqrt(behind.shape[1])
    left = ranked.take((behind.mean(1) <= se) | (np.arange(len(behind)) < n)).best(2 * n)
    return [(p, np.sort(left.shrinkage[left.pooling == p])) for p in np.unique(left.pooling)]


def helpful(trial: Table, grids: Sequence[Grid], seed: int) -> list[Grid]:
    """Return the lifted views that make the average better by more than chance, if any do."""
    fold = fold_numbers(stratified_folds(trial.codes, 2, seed), trial.n_rows)
    found = judged(Cells.of(trial, fold), grids, 3)
    if found is None:
        return []
    every = range(len(found.candidates))
    plain = [i for i in every if not found.candidates[i].view.lifted]
    gains: Floats = np.subtract(found.averaged(every), found.averaged(plain))
    mean = np.average(gains, weights=found.weight)
    if mean < 2 * gains.std() / np.sqrt(len(gains)):
        return []
    counted = {id(c.view) for c in found.shared() if c.weight > 0}
    return [g for g in grids if g.view.lifted and id(g.view) in counted]


def n_folds_of(n_rows: int) -> int:
    """Return how many folds judge so many rows: ten of few, five of many."""
    return max(min(10 if n_rows < 500 else 5, n_rows // 2), 2)


def judging_folds(rows: Table, seed: int) -> Codes:
    """Return the stratified fold of each row."""
    return fold_numbers(stratified_folds(rows.codes, n_folds_of(rows.n_rows), seed), rows.n_rows)


def _regularised(view: View, n_features: int) -> Grid:
    """Return the grid of λ and γ; with very many features, tied and diagonal models only."""
    poolings = POOLINGS if n_features <= MOST_FEATURES else (1.0,)
    return Grid(view, Recipe.parse(), tuple((p, np.array(SHRINKAGES)) for p in poolings))


def _tied(view: View) -> Grid:
    return Grid(view, Recipe.parse(tied=True), ((1.0, np.array(FOURIER_SHRINKAGES)),))


def _recipes_of(grid: Grid) -> list[Recipe]:
    return [grid.recipe.with_settings(pooling=p, shrinkage=g) for p, gs in grid.points for g in gs]


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
    best = search(Folds.stratified(rows, n_folds_of(rows.n_rows), seed), views, fixed)
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
