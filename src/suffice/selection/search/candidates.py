"""Candidates, Gaussian and of other kinds, as judged, their shares in the average, and members."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, Self

import numpy as np

from suffice.core.estimation.recipe import Recipe, collecting
from suffice.core.model import ClassModel, averaged
from suffice.core.model.averaged import Outsider, distinct
from suffice.core.model.linear import LinearModel
from suffice.core.model.views import KernelFeatures, Plain, Softened, View
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.threads import side_by_side
from suffice.discriminative.logistic_loss import sum_to_zero
from suffice.discriminative.newton import Newton, QuasiNewton
from suffice.discriminative.problem import Problem, coded_moments
from suffice.discriminative.solver import Stopping
from suffice.discriminative.starts import lda_start
from suffice.selection.search.losses_and_temperatures import (
    Verdicts,
    best_temperature,
    judged_scores,
)
from suffice.selection.search.training import Cells, HeldOut
from suffice.selection.validation.folds import Folds, fitted
from suffice.selection.validation.held_out import held_out_losses
from suffice.typing import Codes, Floats

_STEPS = 300
_BLOCK = 16_384  # rows seen at a time
_NEGLIGIBLE = 0.02  # a share below this costs time and changes nothing
_WIDEST = 200  # coefficients whose curvature is worth its sums
_MOST_OF_A_TREE = 5_000  # rows that it learns from
_ENOUGH_ROWS = 2_000  # held out, to judge a member by
_FEW_NUMBERS = 10_000  # for which as many trees are judged as will answer
_PLAIN = Plain()
#: Averages of trees are not confident enough, so these reach further below one.
MEMBER_TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(-2, 4)).ravel())


class Learner(Protocol):
    """A kind of classifier, at one or several settings."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Each setting, in words."""

    @property
    def view(self) -> View:
        """How it sees the rows, which are shown to it so."""

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:
        """Return the models of some settings, all classes of the table having rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ForeignLearner:
    """A classifier of scikit-learn's kind."""

    estimator: Any
    settings = ("",)
    view = Plain()

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:  # noqa: ARG002
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy = fitted(self.estimator, table.x, table.codes, table.weight)
        return [averaged.ForeignModel(copy, table.n_classes)]


@dataclass(frozen=True, slots=True)
class LogisticPath:
    """Logistic regression of standardised features, from much to little penalty."""

    penalties: tuple[float, ...]
    view: View = _PLAIN

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(f", penalty {l2:g}" for l2 in self.penalties)

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:
        """Return the model of each penalty; the search for one begins at the last one's."""
        few, place = distinct(table)
        if few is not table:
            table = replace(few, weight=few.weights * np.bincount(place))
        whole = Problem.of(table, coded_moments(table), l2=1.0)
        stopping = Stopping(tol=1e-2 if judging else 1e-6, max_iter=50)
        phi = lda_start(whole)
        solver = Newton() if phi.size <= _WIDEST else QuasiNewton()
        found: list[Outsider] = []
        for i in chosen:
            penalty = self.penalties[i] * whole.objective.penalty
            problem = replace(whole, objective=replace(whole.objective, penalty=penalty))
            phi = solver.solve(problem, phi, stopping).point.phi
            rows = sum_to_zero(phi)
            slopes = rows[:, 1:] * whole.scaling.inverse
            found.append(LinearModel.of(slopes, rows[:, 0], centre=whole.scaling.centre))
        return found


@dataclass(frozen=True, slots=True)
class TreeLearner:
    """Trees down to leaves of so many rows, with random splits or the best ones."""

    least: int
    best: bool
    seed: int
    settings = ("",)
    view = Plain()

    def learn(self, table: Table, chosen: Sequence[int], *, judging: bool) -> list[Outsider]:  # noqa: ARG002
        few = judging and table.x.size > _FEW_NUMBERS
        n_trees, n_rows = 24 if few else 72, min(_MOST_OF_A_TREE, table.n_rows)
        return [
            averaged.Trees.grown(table, n_trees, self.least, n_rows, self.seed, best=self.best)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A candidate that was kept, and its model of all rows."""

    candidate: Any
    model: ClassModel | averaged.TemperedModel | LinearModel
    moments: Moments | None = None  # of the rows, where the model is estimated from them


@dataclass(frozen=True, slots=True, eq=False)
class OutsideCandidate:
    """A classifier of another kind as judged, and how confident it is allowed to be."""

    name: str
    learner: Learner | None  # None where a file did not keep it
    setting: int
    temperature: float
    error: float
    log_loss: float
    log_loss_se: float
    weight: float = 0.0  # share in the average
    view: View = field(default=_PLAIN, kw_only=True)

    def fitted(self, table: Table) -> Member:
        seen = table.with_rows(self.view.apply(table.x))
        [model] = self.learner.learn(seen, [self.setting], judging=False)  # type: ignore[union-attr]
        return Member(
            self, averaged.TemperedModel(model, self.temperature, doubt_of(table.n_rows))
        )

    def describe(self) -> str:
        return f"{self.name}, temperature {self.temperature:.3g}"


def doubt_of(n_rows: int) -> float:
    """Return ε: the next row is as likely as one in n + 1 to be like none before."""
    return 1 / (n_rows + 1)


def judged_member(
    name: str,
    learner: Learner,
    cells: Cells,
    n_kept: int,
) -> list[tuple[OutsideCandidate, Floats]]:
    """Return its best settings at their temperatures, and log p(true class) of every row."""
    held = HeldOut.of(cells).take(judging_folds(cells))
    log_p = averaged.doubted(held_out_posteriors(learner, cells), doubt_of(cells.table.n_rows))
    scores = np.ascontiguousarray(log_p[:, held.rows].transpose(3, 0, 1, 2))  # (K, S, F, m)
    *figures, true_log = judged_scores(scores, held, MEMBER_TEMPERATURES)
    found = []
    for i in np.argsort(figures[2], kind="stable")[:n_kept].tolist():
        told = (float(figure[i]) for figure in figures)
        named = name + learner.settings[i]
        found.append(
            (OutsideCandidate(named, learner, i, *told, view=learner.view), true_log[i])
        )
    return found


def judging_folds(cells: Cells) -> Codes:
    """Return the folds whose rows judge members: as many of the first as have rows enough."""
    folds = np.flatnonzero(cells.teaching)
    before = np.cumsum(np.diff(cells.fold_edges)[folds]) - np.diff(cells.fold_edges)[folds]
    return folds[before < _ENOUGH_ROWS]


def held_out_posteriors(learner: Learner, cells: Cells) -> Floats:
    """Return p(k | x) of the rows of those folds by models that did not see them, (S, n, K)."""
    table, settings = cells.table, range(len(learner.settings))
    table = table.with_rows(learner.view.apply(table.x))
    out = np.full((len(settings), table.n_rows, table.n_classes), 1 / table.n_classes)
    for f in judging_folds(cells):
        lo, hi = cells.fold_edges[f : f + 2]
        rest = table.take(np.r_[0:lo, hi : table.n_rows])
        there = np.flatnonzero(rest.class_weights > 0)
        codes = np.searchsorted(there, rest.codes)
        known = replace(rest, codes=codes, classes=table.classes[there])
        out[:, lo:hi] = 0.0
        for i, model in enumerate(learner.learn(known, settings, judging=True)):
            out[i, lo:hi, there] = model.posterior(table.x[lo:hi]).T
    return out


def mixing_weights(true_log: Floats, weight: Floats) -> Floats:
    """Return shares (M,) that make Σ_n w_n log Σ_m s_m p_m large, p_m of the true class (M, n)."""
    # EM from equal shares; all are credited with a part of one more row: few rows trust no one only
    p, w = np.exp(true_log - true_log.max(0)), weight / weight.sum()
    (m, n), shares = p.shape, np.full(len(p), 1 / len(p))
    for _ in range(_STEPS):
        # s_m ← (n s_m E[p_m / Σ_j s_j p_j] + 1/M) / (n + 1)
        shares = (n * shares * (p @ (w / (shares @ p))) + 1 / m) / (n + 1)
    shares = np.where(shares < min(_NEGLIGIBLE, shares.max()), 0.0, shares)
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
        words = {"shrinkage": float(verdicts.shrinkage[i])}
        if recipe.tied is not True:
            words["pooling"] = float(verdicts.pooling[i])
        figures = (
            verdicts.temperature,
            verdicts.error,
            verdicts.log_loss,
            verdicts.log_loss_se,
        )
        return cls(view, recipe.with_settings(**words), *(float(f[i]) for f in figures))

    @classmethod
    def unjudged(cls, view: View, recipe: Recipe) -> Self:
        """Return what is taken where no fold has rows of two classes to learn from."""
        return cls(view, recipe, 1.0, np.nan, np.nan, np.nan, weight=1.0)

    def fitted(self, moments: Moments) -> Member:
        model = self.recipe.estimate(moments, quiet=True).with_temperature(self.temperature)
        if isinstance(self.view, KernelFeatures):
            return Member(self, averaged.over_kernels(self.view, model))
        return Member(self, model, moments)

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
    temperatures: Floats,
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
    view: View,
    recipes: Sequence[Recipe],
    losses: Floats,
    temperatures: Floats,
    n: int,
) -> list[Candidate]:
    """Return each recipe at its best temperature; ``losses`` is (F, C, T, 3)."""
    at, refined = best_temperature(losses.mean(0)[:, :, 1], temperatures, n)
    best = losses[:, np.arange(len(at)), at, :2]  # (F, C, 2)
    se = best[:, :, 1].std(0) / np.sqrt(max(len(losses) - 1, 1))
    figures = np.column_stack([refined, best.mean(0), se]).tolist()
    return [Candidate(view, recipes[i], *each) for i, each in enumerate(figures)]


def fitted_candidates(
    candidates: Sequence[Candidate | OutsideCandidate],
    table: Table,
    known: Mapping[int, Moments],
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
        c.fitted(moments[id(c.view)]) if isinstance(c, Candidate) else c.fitted(table)
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
