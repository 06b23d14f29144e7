"""Which candidates to judge, and on how many rows.

Judging settings needs fewer rows than learning from them: candidates are compared on a seeded,
stratified sample; the sums of the chosen ones are of all rows. Waves are costly, so they first
have to show, on a smaller sample, that they bend where the data bend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.recipe import recipe_of
from suffice.model.views import Lifted, Plain, Straightened
from suffice.power import PowerTransform
from suffice.search.candidates import Choice, Task, judged, search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.estimation.recipe import Recipe
    from suffice.model.views import View
    from suffice.typing import Codes, Floats, Labels

POOLINGS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
SHRINKAGES = (0.0, 0.01, 0.05, 0.15, 0.4, 0.7, 1.0)
WAVE_SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
WIDTHS = (0.4, 0.8)
N_WAVES, FEWEST_WAVES = 150, 10

MOST_ROWS = 10_000
MOST_TRIAL_ROWS = 4_000
FEWER = 4  # in a trial every fourth point of the grid of pooling and shrinkage
MOST_FEATURES = 400  # beyond which a matrix per class and fold is not tried


def chosen(
    x: Any, y: Labels, weight: Floats | None, *, waves: bool, n_kept: int, seed: int
) -> list[Choice]:
    """Return the best candidates with their shares, best first."""
    codes = np.unique(y, return_inverse=True)[1]
    rows = sampled(codes, MOST_ROWS, seed)
    straight = Straightened(PowerTransform.of(x[rows], _of(weight, rows), seed=seed))
    regularised: list[tuple[View, Sequence[Recipe]]] = [
        _regularised(view, x.shape[1]) for view in (Plain(), straight)
    ]
    n_waves = min(N_WAVES, len(rows) // 4)
    if not waves or n_waves < FEWEST_WAVES:
        return search(judging_task(x, y, weight, rows, seed), regularised, n_kept)
    trial = sampled(codes, MOST_TRIAL_ROWS, seed)
    lifted: list[tuple[View, Sequence[Recipe]]] = [
        _waves(Lifted.of(straight, x[trial], width, n_waves, seed)) for width in WIDTHS
    ]
    if len(trial) < len(rows):
        lifted = bending(judging_task(x, y, weight, trial, seed, n_folds=2), regularised, lifted)
    return search(judging_task(x, y, weight, rows, seed), [*regularised, *lifted], n_kept)


def bending(
    task: Task,
    regularised: Sequence[tuple[View, Sequence[Recipe]]],
    lifted: Sequence[tuple[View, Sequence[Recipe]]],
) -> list[tuple[View, Sequence[Recipe]]]:
    """Return the waves that make the average better by more than chance, if any do."""
    few = [(view, recipes[::FEWER]) for view, recipes in regularised]
    found = judged(task, [*few, *lifted], 3)
    plain = [i for i, c in enumerate(found.choices) if not isinstance(c.view, Lifted)]
    gains = found.averaged(range(len(found.choices))) - found.averaged(plain)
    mean = np.average(gains, weights=found.weight)
    if mean < 2 * gains.std() / np.sqrt(len(gains)):
        return []
    shares = found.shared()
    return [pair for pair in lifted if any(c.view is pair[0] and c.weight > 0 for c in shares)]


def sampled(codes: Codes, n_rows: int, seed: int) -> Codes:
    """Return all rows, or a seeded sample that keeps at least ten rows of every class."""
    if len(codes) <= n_rows:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    grouped = order[np.argsort(codes[order], kind="stable")]
    starts = np.searchsorted(codes[grouped], np.arange(codes.max() + 1))
    rank = np.empty(len(codes), np.intp)
    rank[grouped] = np.arange(len(codes)) - starts[codes[grouped]]
    few = np.flatnonzero(rank < 10)
    rest = order[rank[order] >= 10]
    return np.sort(np.concatenate([few, rest[: max(n_rows - len(few), 0)]]))


def stratified_splits(codes: Codes, n_folds: int, seed: int) -> list[tuple[Codes, Codes]]:
    """Return folds in which every class is spread as evenly as it can be."""
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.intp)
    fold[order] = np.arange(len(codes)) % n_folds
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


def judging_task(
    x: Any, y: Labels, weight: Floats | None, rows: Codes, seed: int, n_folds: int | None = None
) -> Task:
    """Return some of the rows, divided into stratified folds."""
    codes = np.unique(y[rows], return_inverse=True)[1]
    if n_folds is None:
        n_folds = max(min(10 if len(rows) < 2_000 else 5, len(rows) // 2), 2)
    splits = stratified_splits(codes, n_folds, seed)
    return Task(x[rows], y[rows], _of(weight, rows), splits)


def _regularised(view: View, n_features: int) -> tuple[View, list[Recipe]]:
    """Return the grid of λ and γ; with very many features, tied and diagonal models only."""
    poolings = POOLINGS if n_features <= MOST_FEATURES else (1.0,)
    return view, [recipe_of(view, p, g) for p in poolings for g in SHRINKAGES]


def _waves(view: Lifted) -> tuple[View, list[Recipe]]:
    return view, [recipe_of(view, 1.0, g) for g in WAVE_SHRINKAGES]


def _of(weight: Floats | None, rows: Codes) -> Floats | None:
    return None if weight is None else weight[rows]
