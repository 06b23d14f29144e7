"""Which candidates to judge, and on how many rows: of all settings, or of those left open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.estimation.estimate import settings_of_view
from suffice.core.estimation.settings import Settings, is_open
from suffice.core.model import views
from suffice.core.model.views import Plain, PowerTransformed, View
from suffice.core.power_transform import PowerTransform
from suffice.core.progress import Progress
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds, stratified_sample
from suffice.core.threads import side_by_side
from suffice.selection.search import candidates as search
from suffice.selection.search.candidates import Candidate, Learner, Member, OutsideCandidate
from suffice.selection.search.losses_and_temperatures import (
    TEMPERATURES,
    Verdicts,
    judged_grid,
)
from suffice.selection.search.training import Cells, Training
from suffice.selection.validation.folds import Folds
from suffice.typing import Floats

POOLINGS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
SHRINKAGES = (0.0, 0.01, 0.05, 0.15, 0.4, 0.7, 1.0)
KERNEL_SHRINKAGES = (0.0005, 0.003, 0.02, 0.1, 0.4)
SOFTNESS = (0.1, 1.0)  # of the variance of a fair coin, added to indicators
WIDTH, LAPLACE_WIDTH = 0.6, 0.5
N_LANDMARKS, N_PIECES = 200, 300
FEWEST_DISTINCT = 40  # rows, under which no kernel is tried
MOST_ROWS = 6_000
MOST_TRIAL_ROWS = 3_000
MOST_FEATURES = 400  # beyond which a matrix per class and fold is not tried
FEW_ROWS = 500  # under which every setting is judged on every fold
EXPONENT_ROWS = 5_000  # that power transforms are fitted to
ARITHMETIC = 1e11  # multiplications that judging may take: some seconds


@dataclass(frozen=True, slots=True)
class Effort:
    """How many folds judge which poolings: as many as a budget of arithmetic allows."""

    n_folds: int
    poolings: tuple[float, ...] = POOLINGS

    @classmethod
    def of(cls, table: Table) -> Self:
        n, d, k = table.n_rows, table.n_features, table.n_classes
        most = max(min(10 if n < 500 else 5, n // 2), 2)
        five, three = min(most, 5), min(most, 3)
        few = (0.0, 0.5, 0.95, 1.0), (0.5, 0.95, 1.0), (0.8, 1.0), (1.0,)
        efforts = (cls(most), cls(five), cls(five, few[0]), *(cls(three, p) for p in few[1:]))
        return next(
            (e for e in efforts if e.multiplications(n, d, k) <= ARITHMETIC), efforts[-1]
        )

    def multiplications(self, n: int, d: int, k: int) -> float:
        """Return about how many it takes to judge two views of n rows, d features, K classes."""
        # eigenvectors of a matrix for each class, fold and λ, and the rows turned by them
        each = 10.0 * d**3 + n / self.n_folds * d**2
        return 2 * self.n_folds * sum(p < 1 for p in self.poolings) * k * each

    def describe(self, n_rows: int) -> str:
        said = f"Judged on {self.n_folds} folds of {n_rows:,} rows"
        if self.poolings == POOLINGS:
            return f"{said}."
        tried = ", ".join(f"{p:g}" for p in self.poolings)
        return f"{said}, at pooling {tried} only: more would take too much arithmetic."


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A view of the rows, and the points (λ, γ) tried there."""

    view: View
    recipe: Settings  # at which no point is yet
    points: tuple[tuple[float, Floats], ...]

    def training(self, cells: Cells) -> Training:
        """Return what each fold learns from rows as the view shows them."""
        noise = self.view.noise if isinstance(self.view, views.Softened) else None
        seen = self.view.apply(cells.table.x)
        return Training.of(seen, cells, per_class=self.per_class, noise=noise)

    @property
    def per_class(self) -> bool:
        return any(pooling < 1 for pooling, _ in self.points)


def chosen(
    table: Table,
    *,
    kernel_features: bool,
    n_kept: int,
    seed: int,
    members: Mapping[str, Learner],
) -> tuple[list[Candidate | OutsideCandidate], tuple[Member, ...], str]:
    """Return the best candidates, those that count, fitted to all rows, and the effort in words."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    effort = Effort.of(rows)
    grids = _grids(table, rows, effort, seed, lifted=kernel_features)
    cells = Cells.of(rows, stratified_folds(rows.codes, effort.n_folds, seed))
    found = judged_views(cells, grids, n_kept, members)
    said = effort.describe(rows.n_rows)
    if found is None:
        view = grids[0].view
        best = Candidate.unjudged(view, settings_of_view(view, 1.0, SHRINKAGES[-1]))
        return [best], search.fitted_candidates([best], table, {}), said
    shared = found.shared() if n_kept > 1 else [replace(found.candidates[0], weight=1.0)]
    sums = found.moments if rows.n_rows == table.n_rows else {}
    return shared, search.fitted_candidates(shared, table, sums), said


def _grids(
    table: Table,
    rows: Table,
    effort: Effort,
    seed: int,
    *,
    lifted: bool,
) -> list[Grid]:
    """Return the views to judge: lifted ones where there are enough rows, and where they help."""
    transform = PowerTransform.of(rows.x, rows.weight, n_rows=EXPONENT_ROWS, seed=seed)
    power: View = PowerTransformed(transform) if (transform.exponents != 1).any() else Plain()
    own = [Plain()] if isinstance(power, Plain) else [Plain(), power]
    poolings = effort.poolings if table.n_features <= MOST_FEATURES else (1.0,)
    points = tuple((p, np.array(SHRINKAGES)) for p in poolings)
    plain = [Grid(view, Settings(), points) for view in own]
    softer = [views.Softened.of(power, rows.x, share) for share in SOFTNESS]
    plain += [Grid(view, Settings(), points) for view in softer if view.noise.any()]
    if not lifted or len(views.distinct_rows(rows.x)[0]) < FEWEST_DISTINCT:
        return plain
    trial = table.take(stratified_sample(table.codes, MOST_TRIAL_ROWS, seed))
    tied = Settings(tied=True), ((1.0, np.array(KERNEL_SHRINKAGES)),)
    added = [Grid(view, *tied) for view in lifted_views(power, trial.x, seed)]
    if trial.n_rows < rows.n_rows:
        few = [replace(grid, points=grid.points[::2]) for grid in plain]
        added = helpful(
            Cells.of(trial, stratified_folds(trial.codes, 2, seed)), [*few, *added]
        )
    return [*plain, *added]


def lifted_views(below: View, x: Any, seed: int) -> list[View]:
    """Return views with kernels, round and along the axes, and with broken lines."""
    round_ = views.KernelFeatures.of(below, x, WIDTH, N_LANDMARKS, seed)
    along_axes = views.KernelFeatures.of(below, x, LAPLACE_WIDTH, N_LANDMARKS, seed, "Laplace")
    broken = [views.PiecewiseLinear.of(x, N_PIECES)] if len(x) >= FEW_ROWS else []
    return [round_, along_axes, *broken]


def judged_views(
    cells: Cells,
    grids: Sequence[Grid],
    n_kept: int,
    members: Mapping[str, Learner],
) -> search.Judged | None:
    """Return the best ``n_kept`` points of each view, and the members; None if nothing can be."""
    with Progress(total=len(grids) + len(members), what="judging settings") as progress:

        def judge(grid: Grid) -> tuple[Training, Verdicts | None]:
            training = grid.training(cells)
            verdicts = _best_points(training, grid, n_kept) if training.n_folds else None
            progress.step()
            return replace(training, x=training.x[:0]), verdicts

        done = side_by_side(judge, grids, n_numbers=cells.table.x.size)
        ranked: list[tuple[Candidate | OutsideCandidate, Floats]] = [
            (Candidate.judged(grid.view, grid.recipe, verdicts, i), verdicts.true_log[i])
            for grid, (_, verdicts) in zip(grids, done, strict=True)
            if verdicts is not None
            for i in range(len(verdicts.log_loss))
        ]
        if not ranked:
            return None
        for name, learner in members.items():
            ranked += search.judged_member(name, learner, cells, n_kept)
            progress.step()
    ranked.sort(key=lambda pair: pair[0].log_loss)
    candidates, every_log = zip(*ranked, strict=True)
    n = min(
        map(len, every_log)
    )  # members are judged on the first rows only, if there are many
    true_log = np.stack([each[:n] for each in every_log])
    moments = {
        id(g.view): training.moments for g, (training, _) in zip(grids, done, strict=True)
    }
    return search.Judged(candidates, true_log, done[0][0].held_out.weights[:n], moments)


def _best_points(training: Training, grid: Grid, n_kept: int) -> Verdicts | None:
    """Return the best points of a grid: all are judged on one fold, those left on every fold."""
    priors = np.stack([grid.recipe.class_priors(np.zeros(0), w) for w in training.weights])
    with np.errstate(divide="ignore"):
        log_priors = np.log(np.where(training.weights > 0, priors, 0.0))
    points: Sequence[tuple[float, Floats]] = grid.points
    if len(training.x) >= FEW_ROWS:
        first = judged_grid(training.take(slice(0, 1)), log_priors[:1], points)
        if first is None:
            return None
        points = survivors(first, n_kept, 4 * n_kept if grid.per_class else n_kept + 1)
    found = judged_grid(training, log_priors, points)
    return None if found is None else found.best(n_kept)


def survivors(first: Verdicts, least: int, most: int) -> list[tuple[float, Floats]]:
    """Return the points not clearly worse than the best, between so many."""
    ranked = first.best(len(first.log_loss))
    behind = ranked.true_log[0] - ranked.true_log
    chance = behind.std(1) / np.sqrt(behind.shape[1])
    left = ranked.take((behind.mean(1) <= chance) | (np.arange(len(behind)) < 2 * least)).best(
        most
    )
    return [(p, np.sort(left.shrinkage[left.pooling == p])) for p in np.unique(left.pooling)]


def helpful(trial: Cells, grids: Sequence[Grid]) -> list[Grid]:
    """Return the lifted views that make the average better by more than chance, if any do."""
    found = judged_views(trial, grids, 3, {})
    if found is None:
        return []
    every = range(len(found.candidates))
    plain = [i for i in every if not found.candidates[i].view.lifted]
    gains: Floats = np.subtract(found.averaged(every), found.averaged(plain))
    if np.average(gains, weights=found.weight) < 2 * gains.std() / np.sqrt(len(gains)):
        return []
    counted = {id(c.view) for c in found.shared() if c.weight > 0}
    return [g for g in grids if g.view.lifted and id(g.view) in counted]


def choose_settings(settings: Settings, table: Table, *, seed: int = 0) -> Settings:
    """Return the best value of every setting left open, judged on at most 6,000 rows."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    candidates = _grid_of(settings)
    tried = [(view, candidates) for view in _views(settings.power, rows, seed)]
    temperatures = TEMPERATURES
    if not isinstance(settings.temperature, str):
        temperatures = np.array([float(settings.temperature)])
    folds = Folds.stratified(rows, Effort.of(rows).n_folds, seed)
    best = search.search(folds, tried, temperatures)
    transform = best.view.transform if isinstance(best.view, PowerTransformed) else None
    return replace(best.recipe, temperature=best.temperature, power=transform)


def _grid_of(settings: Settings) -> list[Settings]:
    """Return the settings at every point of the pooling and shrinkage they leave open."""
    poolings = POOLINGS if is_open(settings.pooling) else (None,)
    shrinkages = SHRINKAGES if is_open(settings.intensity) else (None,)
    return [
        settings.with_regularisation(pooling=pooling, shrinkage=shrinkage)
        for pooling in poolings
        for shrinkage in shrinkages
    ]


def _views(power: Any, rows: Table, seed: int) -> list[View]:
    if power is None:
        return [Plain()]
    known = isinstance(power, PowerTransform)
    transform = power if known else PowerTransform.of(rows.x, rows.weight, seed=seed)
    return [*([Plain()] if is_open(power) else []), PowerTransformed(transform)]
