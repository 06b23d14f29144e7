"""The search of the automatic classifiers, from the choice of views to the average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from suffice.core.estimation.estimate import settings_of_view
from suffice.core.estimation.settings import Settings
from suffice.core.model.views import Plain, PowerTransformed, View
from suffice.core.moments import Moments
from suffice.core.power_transform import PowerTransform
from suffice.core.progress import Progress
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_sample
from suffice.core.threads import side_by_side
from suffice.selection.search.candidates import (
    Candidate,
    GaussianCandidate,
    Member,
    fit_candidates,
)
from suffice.selection.search.effort import Effort
from suffice.selection.search.learner_losses import judge_learner
from suffice.selection.search.learners import Learner
from suffice.selection.search.open_settings import MOST_ROWS
from suffice.selection.search.ranking import Judged, Ranking
from suffice.selection.search.regularisation_grid import (
    FEW_ROWS,
    MOST_FEATURES,
    SHRINKAGES,
    STRONG_SHRINKAGES,
    Grid,
    GridLosses,
    is_wide,
)
from suffice.selection.search.repeated_rows import distinct_rows
from suffice.selection.search.training import Cells
from suffice.selection.search.view_fitting import (
    fit_kernel_features,
    fit_pieces,
    fit_softened,
)
from suffice.selection.validation.fitting import Belonging
from suffice.selection.validation.folds import search_folds
from suffice.typing import Array, Floats

KERNEL_SHRINKAGES = (0.0005, 0.003, 0.02, 0.1, 0.4)
# noise added to indicators, as a share of the variance of a fair coin, 1/4
NOISE_SHARES = (0.1, 1.0)
GAUSSIAN_WIDTH = 0.6
LAPLACE_WIDTH = 0.5
N_LANDMARKS = 200
N_PIECES = 300
FEWEST_DISTINCT = 40  # with fewer distinct rows, no kernel is tried
# most rows used to decide whether kernels and piecewise-linear features help
MOST_TRIAL_ROWS = 3_000
MOST_POWER_FEATURES = 10_000  # with more features, no power transform is tried
EXPONENT_ROWS = 5_000  # most rows used to fit power transforms


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The best candidates, and the members of the average, fitted to all rows."""

    candidates: list[Candidate]  # best first
    members: tuple[Member, ...]  # the candidates with positive weight
    temperature: float  # temperature of the average
    effort: str  # sentence on how many rows and folds were used


def choose(
    table: Table,
    *,
    kernel_features: bool,
    n_kept: int,
    seed: int,
    learners: Mapping[str, Learner],
    belonging: Belonging | None = None,
) -> Choice:
    """Return the best ``n_kept`` settings of each view and of each learner, and their average.

    ``belonging`` has the groups or the times of the rows. Groups are whole within folds. With
    times, models are fitted to earlier rows and evaluated on later rows.
    """
    belonging = belonging or Belonging()
    sample = stratified_sample(table.codes, MOST_ROWS, seed)
    rows = table.take(sample)
    effort = Effort.of(rows)
    grids = _grids(table, rows, effort, seed, lifted=kernel_features)
    folds = search_folds(rows, effort.n_folds, seed, belonging.take(sample))
    cells = Cells.of(rows, folds, forward=belonging.time is not None)
    ranking = judge_views(cells, grids, n_kept, learners)
    moments: Mapping[int, Moments] = {}
    candidates: list[Candidate]
    temperature = 1.0
    if ranking is None:
        view = grids[0].view
        candidates = [
            GaussianCandidate.unjudged(view, settings_of_view(view, 1.0, SHRINKAGES[-1]))
        ]
    elif n_kept > 1:
        candidates = ranking.with_shares()
        temperature = ranking.temperature(candidates)
    else:
        candidates = [replace(ranking.candidates[0], weight=1.0)]
    if ranking is not None and rows.n_rows == table.n_rows:
        moments = ranking.moments
    return Choice(
        candidates=candidates,
        members=fit_candidates(candidates, table, moments),
        temperature=temperature,
        effort=effort.describe(rows.n_rows),
    )


def _grids(
    table: Table,
    rows: Table,
    effort: Effort,
    seed: int,
    *,
    lifted: bool,
) -> list[Grid]:
    """Return the grids to evaluate: those of simple views, and of lifted views if they help."""
    has_few_rows = is_wide(rows.n_rows, table.n_features)
    views: list[View] = [Plain()]
    power: View = Plain()
    if table.n_features <= MOST_POWER_FEATURES:
        transform = PowerTransform.of(rows.x, rows.weight, n_rows=EXPONENT_ROWS, seed=seed)
        if (transform.exponents != 1).any():
            power = PowerTransformed(transform)
            views.append(power)
    if not has_few_rows:
        for share in NOISE_SHARES:
            softened = fit_softened(power, rows.x, share)
            if softened.noise.any():
                views.append(softened)
    poolings = effort.poolings if table.n_features <= MOST_FEATURES else (1.0,)
    gammas = np.array(STRONG_SHRINKAGES if has_few_rows else SHRINKAGES)
    paths = tuple((pooling, gammas) for pooling in poolings)
    grids = [Grid(view, Settings(), paths) for view in views]
    if not lifted or len(distinct_rows(rows.x)[0]) < FEWEST_DISTINCT:
        return grids
    trial = table.take(stratified_sample(table.codes, MOST_TRIAL_ROWS, seed))
    kernel_paths = ((1.0, np.array(KERNEL_SHRINKAGES)),)
    lifted_grids = [
        Grid(view, Settings(tied=True), kernel_paths)
        for view in _lifted_views(power, trial.x, seed)
    ]
    if trial.n_rows < rows.n_rows:
        trial_cells = Cells.of(trial, search_folds(trial, 2, seed))
        thinned = [grid.thinned() for grid in grids]
        lifted_grids = helpful(trial_cells, [*thinned, *lifted_grids])
    return [*grids, *lifted_grids]


def _lifted_views(below: View, x: Array, seed: int) -> list[View]:
    """Return the lifted views: Gaussian kernel, Laplace kernel, piecewise-linear features."""
    gaussian = fit_kernel_features(
        below, x, width=GAUSSIAN_WIDTH, n_landmarks=N_LANDMARKS, seed=seed
    )
    laplace = fit_kernel_features(
        below, x, width=LAPLACE_WIDTH, n_landmarks=N_LANDMARKS, seed=seed, kernel="Laplace"
    )
    if len(x) < FEW_ROWS:
        return [gaussian, laplace]
    return [gaussian, laplace, fit_pieces(x, N_PIECES)]


class _JudgedGrid(NamedTuple):
    grid: Grid
    losses: GridLosses | None
    moments: Moments  # moments of the transformed rows
    weights: Floats  # weights of the held-out rows  (n,)


def judge_views(
    cells: Cells,
    grids: Sequence[Grid],
    n_kept: int,
    learners: Mapping[str, Learner],
) -> Ranking | None:
    """Return the best ``n_kept`` settings of each view and learner; None if there are none."""
    n_steps = len(grids) + len(learners)
    with Progress(total=n_steps, what="evaluating settings") as progress:

        def judge(grid: Grid) -> _JudgedGrid:
            training = grid.training(cells)
            losses = grid.best(training, n_kept)
            progress.step()
            return _JudgedGrid(grid, losses, training.moments, training.held_out.weights)

        judged_grids = side_by_side(judge, grids, n_numbers=cells.table.x.size)
        judged: list[Judged] = []
        for grid, losses, _, _ in judged_grids:
            if losses is not None:
                for i in range(len(losses)):
                    candidate = GaussianCandidate.judged(grid.view, grid.settings, losses, i)
                    log_posterior = losses.log_posterior[:, i]
                    judged.append(Judged(candidate, losses.true_log[i], log_posterior))
        if not judged:
            return None
        for name, learner in learners.items():
            judged += judge_learner(name, learner, cells, n_kept)
            progress.step()
    moments = {id(each.grid.view): each.moments for each in judged_grids}
    return Ranking.of(judged, judged_grids[0].weights, moments)


def helpful(trial: Cells, grids: Sequence[Grid]) -> list[Grid]:
    """Return the lifted grids that lower the average's log-loss by two standard errors."""
    ranking = judge_views(trial, grids, 3, {})
    if ranking is None:
        return []
    n_candidates = len(ranking.candidates)
    plain = [i for i in range(n_candidates) if not ranking.candidates[i].view.lifted]
    gains: Floats = ranking.averaged(range(n_candidates)) - ranking.averaged(plain)
    mean_gain = np.average(gains, weights=ranking.weight)
    if mean_gain < 2 * gains.std() / np.sqrt(len(gains)):
        return []
    used = {id(candidate.view) for candidate in ranking.with_shares() if candidate.weight > 0}
    return [grid for grid in grids if grid.view.lifted and id(grid.view) in used]
