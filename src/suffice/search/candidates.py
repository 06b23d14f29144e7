"""Exact cross-validation over views, pooling, shrinkage and temperature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Self

import numpy as np

from suffice.estimation.recipe import Recipe, collecting
from suffice.model.views import Softened, View
from suffice.moments import Moments
from suffice.search.judging import TEMPERATURES, Verdicts, best_temperature
from suffice.search.members import Member, OutsideCandidate, fitted_outsider
from suffice.table import Table
from suffice.threads import side_by_side
from suffice.typing import Floats
from suffice.validation.folds import Folds
from suffice.validation.held_out import held_out_losses

_STEPS = 300
_BLOCK = 16_384  # rows seen at a time
_NEGLIGIBLE = 0.02  # a share below this costs time and changes nothing


def mixing_weights(true_log: Floats, weight: Floats) -> Floats:
    """Return shares (M,) that make Σ_n w_n log Σ_m s_m p_m(true class of n) large.

    ``true_log`` holds log p_m of the true class (M, n). EM steps from equal shares, in which every
    member is credited with a part of one more row: few rows never trust one member only.
    """
    p = np.exp(true_log - true_log.max(0))
    w = weight / weight.sum()
    (m, n), shares = p.shape, np.full(len(p), 1 / len(p))
    for _ in range(_STEPS):
        # s_m ← (n s_m E[p_m / Σ_j s_j p_j] + 1/M) / (n + 1)
        shares = (n * shares * (p @ (w / (shares @ p))) + 1 / m) / (n + 1)
    shares = np.where(shares < _NEGLIGIBLE, 0.0, shares)
    return np.asarray(shares / shares.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate as judged: how rows are seen, how moments become a model, how confident it is."""

    view: View
    recipe: Recipe
    temperature: float
    error: float
    log_loss: float
    log_loss_se: float
    weight: float = 0.0  # share in the average

    @property
    def pooling(self) -> float:
        """λ: 0 gives every class its own covariance, 1 the pooled one."""
        return 1.0 if self.recipe.tied is True else self.recipe.regularisation.pooling

    @property
    def shrinkage(self) -> float:
        """γ: 0 keeps the correlations, 1 drops them."""
        gamma = self.recipe.regularisation.shrinkage.fixed
        return np.nan if gamma is None else gamma

    @classmethod
    def judged(cls, view: View, recipe: Recipe, verdicts: Verdicts, i: int) -> Self:
        """Return one of the settings that were judged under a view."""
        words = {"shrinkage": float(verdicts.shrinkage[i])}
        if recipe.tied is not True:
            words["pooling"] = float(verdicts.pooling[i])
        figures = (verdicts.temperature, verdicts.error, verdicts.log_loss, verdicts.log_loss_se)
        return cls(view, recipe.with_settings(**words), *(float(f[i]) for f in figures))

    @classmethod
    def unjudged(cls, view: View, recipe: Recipe) -> Self:
        """Return what is taken where no fold has rows of two classes to learn from."""
        return cls(view, recipe, 1.0, np.nan, np.nan, np.nan, weight=1.0)

    def fitted(self, moments: Moments) -> Member:
        model = self.recipe.estimate(moments, quiet=True)
        return Member(self, model.with_temperature(self.temperature), moments)

    def describe(self) -> str:
        return (
            f"pooling {self.pooling:g}, shrinkage {self.shrinkage:g}, "
            f"temperature {self.temperature:.3g}, {self.view.name}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Candidates, best first, and how likely each finds the true class of rows held out."""

    candidates: tuple[Candidate | OutsideCandidate, ...]
    true_log: Floats  # log p(true class)  (M, n)
    weight: Floats  # of the rows  (n,)
    moments: Mapping[int, Moments]  # of these rows as each view shows them, by its identity

    def shared(self) -> list[Candidate | OutsideCandidate]:
        """Return the candidates with their shares in the best average."""
        shares = mixing_weights(self.true_log, self.weight)
        return [replace(c, weight=w) for c, w in zip(self.candidates, shares, strict=True)]

    def averaged(self, chosen: Sequence[int]) -> Floats:
        """Return log p(true class) under the best average of some of the candidates, (n,)."""
        true_log = self.true_log[list(chosen)]
        top = true_log.max(0)
        shares = mixing_weights(true_log, self.weight)
        return np.asarray(top + np.log(shares @ np.exp(true_log - top)))


def search(
    folds: Folds,
    views: Sequence[tuple[View, Sequence[Recipe]]],
    temperatures: Floats = TEMPERATURES,
) -> Candidate:
    """Return the best of recipes of any kind, each estimated in every fold."""
    found: list[Candidate] = []
    for view, recipes in views:
        each = replace(folds, X=view.apply(folds.X)).each("per-class", fourth=False)
        # a fold that holds out all rows of the only other class teaches nothing
        seen = [fold for fold in each if np.count_nonzero(fold.train.weights) > 1]
        if not seen:
            return Candidate.unjudged(view, recipes[-1])
        judge = partial(held_out_losses, recipes, temperatures=temperatures)
        losses = np.stack(side_by_side(judge, seen, n_numbers=folds.X.size))
        found += at_best_temperature(view, recipes, losses, temperatures, len(folds.codes))
    return replace(min(found, key=lambda candidate: candidate.log_loss), weight=1.0)


def at_best_temperature(
    view: View, recipes: Sequence[Recipe], losses: Floats, temperatures: Floats, n: int
) -> list[Candidate]:
    """Return each recipe at its best temperature; ``losses`` is (F, C, T, 3)."""
    at, refined = best_temperature(losses.mean(0)[:, :, 1], temperatures, n)
    best = losses[:, np.arange(len(at)), at, :2]  # (F, C, 2)
    se = best[:, :, 1].std(0) / np.sqrt(max(len(losses) - 1, 1))
    figures = np.column_stack([refined, best.mean(0), se]).tolist()
    pairs = zip(recipes, figures, strict=True)
    return [Candidate(view, recipe, *each) for recipe, each in pairs]


def fitted_candidates(
    candidates: Sequence[Candidate | OutsideCandidate], table: Table, known: Mapping[int, Moments]
) -> tuple[Member, ...]:
    """Return the candidates that count, fitted: from known moments, or one pass for each view."""
    counted = [c for c in candidates if c.weight > 0]
    gaussians = [c for c in counted if isinstance(c, Candidate)]
    moments = dict(known)
    for c in gaussians:
        if id(c.view) not in moments:
            recipes = [other.recipe for other in gaussians if other.view is c.view]
            moments[id(c.view)] = _moments(c.view, recipes, table)
    return tuple(
        c.fitted(moments[id(c.view)]) if isinstance(c, Candidate) else fitted_outsider(c, table)
        for c in counted
    )


def _moments(view: View, recipes: Sequence[Recipe], table: Table) -> Moments:
    options = collecting(recipes)
    blocks = (table.take(slice(lo, lo + _BLOCK)) for lo in range(0, table.n_rows, _BLOCK))
    seen = (block.with_rows(view.apply(block.x)) for block in blocks)
    found = reduce(add, (Moments.of_table(block, **options) for block in seen))
    return softened(found, view.noise) if isinstance(view, Softened) else found


def softened(moments: Moments, noise: Floats) -> Moments:
    """Return the moments of rows whose features have more variance, by ``noise`` (d,)."""
    stored, added = moments.scatter, moments.weights[:, None] * noise
    if stored.storage != "diagonal":
        added = added[:, :, None] * np.eye(len(noise))
    added = added.sum(0) if stored.storage == "pooled" else added
    return replace(moments, scatter=type(stored)(stored.values + added))
