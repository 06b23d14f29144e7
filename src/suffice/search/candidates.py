"""Exact cross-validation over views, pooling, shrinkage and temperature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.recipe import collecting, recipe_of
from suffice.model.posterior import LogPosterior
from suffice.moments import Moments
from suffice.threads import side_by_side
from suffice.validation.held_out import held_out_losses, held_out_scores
from suffice.validation.predictions import ABSENT_LOSS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from suffice.estimation.recipe import Recipe
    from suffice.model import ClassModel
    from suffice.model.views import View
    from suffice.table import Table
    from suffice.typing import Floats
    from suffice.validation.folds import Fold, Folds

_STEPS = 100
_BLOCK = 16_384  # rows seen at a time
_NEGLIGIBLE = 0.02  # a share below this costs time and changes nothing


def mixing_weights(true_log: Floats, weight: Floats) -> Floats:
    """Return shares (M,) that make Σ_n w_n log Σ_m s_m p_m(true class of n) large.

    ``true_log`` holds log p_m of the true class (M, n). A hundred EM steps from equal shares: the
    likelihood is concave, and stopping early keeps the average from trusting one member only.
    """
    p = np.exp(true_log - true_log.max(0))
    shares = np.full(len(p), 1 / len(p))
    for _ in range(_STEPS):
        # s_m ← s_m · E[p_m / Σ_j s_j p_j]
        ratio = p / (shares @ p)
        shares = shares * np.average(ratio, axis=1, weights=weight)
    shares = np.where(shares < _NEGLIGIBLE, 0.0, shares)
    return np.asarray(shares / shares.sum())


TEMPERATURES = 1 / np.array([1.5, 1.2, 1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.25, 0.15])

_SPREAD = 0.5  # of the logarithm of a temperature, before rows are seen


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
    def kept(cls, fields: Mapping[str, Any], views: Sequence[View]) -> Candidate:
        """Return the candidate that a file kept, its view by number."""
        rest = dict(fields)
        view = views[rest.pop("view")]
        return cls(view, recipe_of(view, rest.pop("pooling"), rest.pop("shrinkage")), **rest)

    def describe(self) -> str:
        """Return the settings in words."""
        return (
            f"pooling {self.pooling:g}, shrinkage {self.shrinkage:g}, "
            f"temperature {self.temperature:.3g}, {self.view.name}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Candidates, best first, and how likely each finds the true class of rows held out."""

    candidates: tuple[Candidate, ...]
    true_log: Floats  # log p(true class)  (M, n)
    weight: Floats  # of the rows  (n,)

    def shared(self) -> list[Candidate]:
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
    n_kept: int,
    temperatures: Floats = TEMPERATURES,
) -> list[Candidate]:
    """Return the best ``n_kept`` candidates of each view, best first, and their shares.

    With ``n_kept`` 1, the best of all. Where no fold has rows of two classes to learn from,
    nothing can be judged, and the last recipe, the most regular one, is taken.
    """
    if not any(len(np.unique(folds.codes[train])) > 1 for train, _ in folds.splits):
        view, recipes = views[0]
        return [Candidate(view, recipes[-1], 1.0, np.nan, np.nan, np.nan, weight=1.0)]
    if n_kept > 1:
        return judged(folds, views, n_kept, temperatures).shared()
    best, _ = min(_ranked(folds, views, 1, temperatures), key=lambda pair: pair[0].log_loss)
    return [replace(best, weight=1.0)]


def judged(
    folds: Folds,
    views: Sequence[tuple[View, Sequence[Recipe]]],
    n_kept: int,
    temperatures: Floats = TEMPERATURES,
) -> Judged:
    """Return the best ``n_kept`` candidates of each view, judged row by row."""
    ranked = sorted(_ranked(folds, views, n_kept, temperatures), key=lambda pair: pair[0].log_loss)
    judge_rows = partial(_true_log_posteriors, n_rows=len(folds.codes))
    candidates, seen = zip(*ranked, strict=True)
    true_log = np.stack(side_by_side(judge_rows, candidates, seen, n_numbers=folds.X.size))
    return Judged(candidates, true_log, folds.table.weights)


def _ranked(
    folds: Folds, views: Sequence[tuple[View, Sequence[Recipe]]], n_kept: int, temperatures: Floats
) -> list[tuple[Candidate, list[Fold]]]:
    """Return the best ``n_kept`` candidates of each view, with the folds of that view."""
    ranked: list[tuple[Candidate, list[Fold]]] = []
    for view, recipes in views:
        seen = _seen(folds, view)
        judge = partial(held_out_losses, recipes, temperatures=temperatures)
        losses = np.stack(side_by_side(judge, seen, n_numbers=folds.X.size))
        found = at_best_temperature(view, recipes, losses, temperatures, len(folds.codes))
        found.sort(key=lambda candidate: candidate.log_loss)
        ranked += [(candidate, seen) for candidate in found[:n_kept]]
    return ranked


def _seen(folds: Folds, view: View) -> list[Fold]:
    """Return the folds of the rows as a view shows them."""
    seen = folds.with_rows(view.apply(folds.X)).each("per-class", fourth=False)
    # a fold that holds out all rows of the only other class teaches nothing
    return [fold for fold in seen if np.count_nonzero(fold.train.weights) > 1]


def at_best_temperature(
    view: View, recipes: Sequence[Recipe], losses: Floats, temperatures: Floats, n: int
) -> list[Candidate]:
    """Return each recipe at its best temperature; ``losses`` is (F, C, T, 3)."""
    means = losses.mean(0)
    # log t ~ N(0, ½²): few rows without an error must not make a model arbitrarily confident
    doubt = np.square(np.log(temperatures) / _SPREAD) / (2 * n)
    result = []
    for i, recipe in enumerate(recipes):
        judged = means[i, :, 1] + doubt
        t = int(np.argmin(judged))
        se = losses[:, i, t, 1].std() / np.sqrt(max(len(losses) - 1, 1))
        temperature = _refined(judged, t, temperatures)
        error, log_loss = means[i, t, 0], means[i, t, 1]
        result.append(Candidate(view, recipe, temperature, error, log_loss, float(se)))
    return result


def _refined(losses: Floats, at: int, temperatures: Floats) -> float:
    """Return the temperature at the bottom of the parabola through the least loss."""
    if not 0 < at < len(temperatures) - 1:
        return float(temperatures[at])
    t = np.log(temperatures[at - 1 : at + 2])
    a, b, _ = np.polyfit(t, losses[at - 1 : at + 2], 2)
    inside = a > 0 and t[0] < -b / (2 * a) < t[2]
    return float(np.exp(-b / (2 * a))) if inside else float(temperatures[at])


def _true_log_posteriors(candidate: Candidate, folds: list[Fold], n_rows: int) -> Floats:
    """Return log p(true class) of every row, held out, (n,)."""
    found = np.full(n_rows, -ABSENT_LOSS)
    for fold in folds:
        log_p = LogPosterior(candidate.temperature).read(held_out_scores(candidate.recipe, fold))
        found[fold.rows] = log_p[np.arange(len(fold.rows)), fold.held_out.codes]
    return np.asarray(np.maximum(found, -ABSENT_LOSS))


@dataclass(frozen=True, slots=True, eq=False)
class FittedCandidate:
    """A candidate that was kept, and its model of all rows."""

    candidate: Candidate
    moments: Moments  # of the rows as its view shows them
    model: ClassModel

    @classmethod
    def of(cls, candidate: Candidate, moments: Moments) -> FittedCandidate:
        """Return the model that a candidate makes of moments."""
        model = candidate.recipe.estimate(moments, quiet=True)
        return cls(candidate, moments, model.with_temperature(candidate.temperature))

    def posterior(self, x: Any) -> Floats:
        """Return p(k | x), shape (n, K), block by block."""
        blocks = (x[lo : lo + _BLOCK] for lo in range(0, len(x), _BLOCK))
        view = self.candidate.view
        return np.concatenate([self.model.posterior(view.apply(block)) for block in blocks])


def fitted_candidates(candidates: Sequence[Candidate], table: Table) -> tuple[FittedCandidate, ...]:
    """Return the candidates that count, fitted; one pass over the rows for each view."""
    counted = [c for c in candidates if c.weight > 0]
    moments = {
        key: _moments(view, [c.recipe for c in counted if c.view is view], table)
        for key, view in {id(c.view): c.view for c in counted}.items()
    }
    return tuple(FittedCandidate.of(c, moments[id(c.view)]) for c in counted)


def _moments(view: View, recipes: Sequence[Recipe], table: Table) -> Moments:
    options = collecting(recipes)
    blocks = (table.take(slice(lo, lo + _BLOCK)) for lo in range(0, table.n_rows, _BLOCK))
    seen = (block.with_rows(view.apply(block.x)) for block in blocks)
    return reduce(add, (Moments.of_table(block, **options) for block in seen))
