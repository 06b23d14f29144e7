"""Exact cross-validation, in memory or in two passes over a source; Gaussians are not refitted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from suffice.drawing import draw
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.estimation.recipe import collecting
from suffice.estimation.settings import is_open
from suffice.moments import Moments
from suffice.moments.merging import aligned
from suffice.sources.chunks import Chunk, chunks_of
from suffice.sources.columns import ColumnOptions, check_names, roles_for_learning
from suffice.sources.opening import open_source
from suffice.sources.summed import by_key, keys_in, sums_by_key
from suffice.table import Table
from suffice.table.labels import as_labels
from suffice.table.matrix import taken
from suffice.text.tables import Tabled
from suffice.threads import one_blas_thread, side_by_side
from suffice.typing import Codes, Floats
from suffice.validation.folds import Fold, Folds, fitted, sums_without, transformed, weight_name
from suffice.validation.held_out import held_out_losses
from suffice.validation.predictions import CRITERIA, check_criterion

ParameterPoints: TypeAlias = (
    Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None
)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, odd


@dataclass(frozen=True, eq=False)
class CrossValidation(Tabled):
    """Losses of every candidate on every fold, and means over folds, as in scikit-learn."""

    params: tuple[dict[str, Any], ...]  # C candidates
    fold_losses: Floats  # error, log-loss, Brier  (C, F, 3)
    criterion: str
    refit_priors: bool  # whether priors were estimated again in every fold
    absent: tuple[str, ...]  # what was said of classes without training rows
    best_estimator: Any  # fitted on all rows

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score of each candidate, shape (C, 3)."""
        return np.asarray(self.fold_losses.mean(1))

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the means, shape (C, 3)."""
        return np.asarray(self.fold_losses.std(1, ddof=1) / np.sqrt(self.fold_losses.shape[1]))

    @cached_property
    def best_index(self) -> int:
        """Number of the candidate with the least criterion."""
        return int(np.argmin(self.means[:, CRITERIA.index(self.criterion)]))

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the candidate with the least criterion."""
        return self.params[self.best_index]

    @property
    def one_se_params(self) -> dict[str, Any]:
        """Parameters of the most regularised candidate within one standard error of the best."""
        column = CRITERIA.index(self.criterion)
        limit = self.means[self.best_index, column] + self.standard_errors[self.best_index, column]
        close = np.flatnonzero(self.means[:, column] <= limit)

        def regularity(i: Any) -> tuple[float, int]:
            values = (self.params[i].get(name) for name in ("pooling", "shrinkage"))
            return sum(float(v) for v in values if isinstance(v, (int, float))), -i

        return self.params[max(close, key=regularity)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per candidate: its parameters, then its losses."""
        names = [name for criterion in CRITERIA for name in (criterion, f"{criterion}_se")]
        numbers = np.stack([self.means, self.standard_errors], axis=2).reshape(-1, 6)
        losses = (dict(zip(names, row, strict=True)) for row in numbers)
        return [params | each for params, each in zip(self.params, losses, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the path of one parameter, or the map of two; return the Axes."""
        return draw("cross-validation", self, ax)

    def __repr__(self) -> str:
        means = self.means[self.best_index]
        n_candidates, n_folds, _ = self.fold_losses.shape
        best = ", ".join(f"{k}={v!r}" for k, v in self.best_params.items()) or "the estimator"
        return (
            f"CrossValidation({n_candidates} candidates × {n_folds} folds; best by "
            f"{self.criterion}: {best}: error {means[0]:.4f}, log-loss {means[1]:.4f})"
        )


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    grid: ParameterPoints = None,
    cv: Any = 10,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    criterion: str = "log_loss",
    refit_priors: bool = True,
) -> CrossValidation:
    """Return the cross-validated losses of every point of a grid.

    A Gaussian estimator is never fitted again: one pass collects the sums of every fold, and each
    model is read from those of the other folds. The answer equals refitting. Any other
    scikit-learn classifier is fitted for every fold and grid point.

    Parameters
    ----------
    estimator : classifier
        Settings that the grid does not name are taken from it.
    X, y : rows (n, d) and labels (n,)
    grid : mapping or list of mappings, optional
        As in ``GridSearchCV``; None judges the estimator as it is.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified folds in row order, as in scikit-learn.
    groups, sample_weight : arrays (n,), optional
        Passed to the splitter; weights count in training and in the losses.
    criterion : {"log_loss", "error", "brier"}
        What ``best_params`` minimises.
    refit_priors : bool, default=True
        Whether class priors are estimated again from the training rows of each fold (as refitting
        would), or once from all rows. A class without training rows gets prior 0 in that fold;
        its held-out rows count as errors with log-loss −log ε ≈ 36. A transform by name is
        label-free and fitted once, on all rows.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = sf.cross_validate(sf.LDA(), X, y, grid={"shrinkage": [0.0, 0.1, 0.5]}, cv=5)
    >>> result.best_params
    {'shrinkage': 0.0}
    """
    check_criterion(criterion)
    params, candidates = _candidates_of(estimator, grid)
    summed = all(_is_read_from_moments(c) for c in candidates)
    folds = Folds.of(X, y, cv, sample_weight, groups, on_device=summed)
    if folds.is_plain and summed:
        losses, absent = _from_moments(candidates, folds, refit_priors=refit_priors)
    else:
        losses, absent = _by_fitting(candidates, folds), ()
    result = CrossValidation(params, losses, criterion, refit_priors, absent, None)
    best = fitted(candidates[result.best_index], X, as_labels(y), folds.weight)
    return replace(result, best_estimator=best)


def cross_validate_stream(
    estimator: Any,
    source: Any,
    target: str | None = None,
    grid: ParameterPoints = None,
    cv: int = 5,
    *,
    fold: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    ignore: Sequence[str] = (),
    criterion: str = "log_loss",
    refit_priors: bool = True,
    progress: Callable[[int, int | None], None] | None = None,
) -> CrossValidation:
    """Return the cross-validated losses of every point of a grid, in two passes over a source.

    Memory is bounded, and the answer equals that of ``cross_validate`` with the same folds. Columns
    that hold no numbers and rows with empty cells are left out, and a warning says so.

    Parameters
    ----------
    estimator : GaussianClassifier or preset
        With no setting left to "auto"; a transform must be a ``PowerTransform``.
    source, target, features, weight, ignore, progress
        As in ``summarize``: files, frames, or anything that can be read twice.
    cv : int, default=5
        Number of folds. A row's fold is a hash of its features: the same whatever the order of
        rows and files, and the same for equal rows, so that no copy of a row is on both sides.
    fold : str, optional
        A column whose values are the folds, in place of the hash.
    grid, criterion, refit_priors
        As in ``cross_validate``.

    Examples
    --------
    >>> import suffice as sf
    >>> result = sf.cross_validate_stream(sf.LDA(), "iris", grid={"shrinkage": [0.0, 0.1]}, cv=4)
    >>> result.best_params
    {'shrinkage': 0.0}
    """
    check_criterion(criterion)
    params, candidates = _candidates_of(estimator, grid)
    _check_candidates(candidates)
    if fold is None and cv < 2:
        raise InvalidParameterError(f"cv must be at least 2 folds, got {cv!r}")
    opened, kept = open_source(source), () if fold is None else (fold,)
    check_names(opened, kept)
    ignored = (*ignore, *kept)
    said = ColumnOptions(target, features, weight, ignored, categories=False, holes=False)
    roles = replace(roles_for_learning(opened, said), kept=kept)

    def keys(chunk: Chunk) -> Any:
        return hashed(chunk.table.x, cv) if fold is None else keys_in(chunk, fold)

    options, power = collecting(c.recipe() for c in candidates), candidates[0].power
    options |= {} if power is None else {"power": power}
    parts = sums_by_key(chunks_of(opened, roles, progress, tell=True), keys, **options)
    total: Moments = sum(parts.values(), start=Moments.empty())
    if len(parts) < 2:
        msg = f"all rows fall into {len(parts)} fold: at least 2 folds with rows are needed"
        raise InvalidInputError(msg)
    without = sums_without(list(parts.values()))
    trains = {key: aligned(train, total)[0] for key, train in zip(parts, without, strict=True)}
    judge = _judge_of(candidates, None if refit_priors else total.weights)
    rows = chunks_of(opened, roles, progress, tell=False)
    held_out = (
        (key, _held_out(chunk.table.take(at), trains[key], power))
        for chunk in rows
        for key, at in by_key(chunk.table, keys(chunk))
    )
    losses = _mean_losses(held_out, list(trains), len(candidates), judge)
    absent = _absences(trains.values())
    result = CrossValidation(params, losses, criterion, refit_priors, absent, None)
    best = clone(candidates[result.best_index]).fit_moments(total)
    return replace(result, best_estimator=best)


def _candidates_of(estimator: Any, grid: Any) -> tuple[tuple[dict[str, Any], ...], list[Any]]:
    params = tuple(ParameterGrid({} if grid is None else grid))
    return params, [clone(estimator).set_params(**point) for point in params]


def _is_read_from_moments(candidate: Any) -> bool:
    """Whether an estimator is a function of moments, with no setting left open."""
    if not hasattr(candidate, "recipe") or candidate.categorical is not None:
        return False
    words = (candidate.resolved_temperature(), candidate.power)
    return not candidate.recipe().open_settings and not any(map(is_open, words))


def _from_moments(
    candidates: Sequence[Any], folds: Folds, *, refit_priors: bool
) -> tuple[Floats, tuple[str, ...]]:
    fixed = None if refit_priors else folds.table.class_weights
    losses = np.empty((len(candidates), len(folds.splits), 3))
    absent: tuple[str, ...] = ()
    groups: dict[str, list[int]] = {}  # that look at the rows in the same way
    for i, candidate in enumerate(candidates):
        groups.setdefault(repr(candidate.power), []).append(i)
    for members in groups.values():
        alike = [candidates[i] for i in members]
        seen = replace(folds, X=transformed(folds.table, alike[0].power).x)
        parts = seen.each(**collecting(c.recipe() for c in alike))
        size = sum(f.held_out.n_rows for f in parts) * seen.table.n_features
        found = side_by_side(_judge_of(alike, fixed), parts, n_numbers=size)
        losses[members] = np.stack(found, axis=1)
        absent = _absences(fold.train for fold in parts)
    return losses, absent


def _judge_of(candidates: Sequence[Any], fixed: Floats | None) -> Callable[[Fold], Floats]:
    """Return what finds error, log-loss and Brier score of every candidate on a fold, (C, 3)."""
    recipes = [c.recipe() for c in candidates]
    asked = [c.resolved_temperature() for c in candidates]
    temperatures, at = np.unique(asked, return_inverse=True)
    each = np.arange(len(recipes)), at
    return lambda fold: held_out_losses(recipes, fold, temperatures, fixed)[each]


def _absences(trains: Iterable[Moments]) -> tuple[str, ...]:
    return tuple(
        f"class {label.item()!r} has no training row in fold {f}: its prior there is 0"
        for f, train in enumerate(trains)
        for label in train.classes[train.weights == 0]
    )


def _by_fitting(candidates: Sequence[Any], folds: Folds) -> Floats:
    if folds.weight is not None and weight_name(candidates[0]) is None:
        msg = f"{candidates[0]!r} learns without weights: leave sample_weight out"
        raise InvalidParameterError(msg)
    losses = np.empty((len(candidates), len(folds.splits), 3))
    for f, (_, test) in enumerate(folds.splits):
        rows, held = folds.training(f), taken(folds.X, test)
        for i, candidate in enumerate(candidates):
            losses[i, f] = folds.predictions(f, fitted(candidate, *rows), held).losses
    return losses


def _check_candidates(candidates: Sequence[Any]) -> None:
    for candidate in candidates:
        power = getattr(candidate, "power", None)
        if not _is_read_from_moments(candidate) or isinstance(power, str):
            raise InvalidParameterError(
                f"{candidate!r} cannot be judged from sums alone: give numbers for what is "
                "'auto' and a PowerTransform for the transform, or use cross_validate"
            )
    if len({repr(c.power) for c in candidates}) > 1:
        msg = "all candidates of a stream must share one transform: judge them one by one"
        raise InvalidParameterError(msg)


def _mean_losses(
    held_out: Iterable[tuple[Any, Fold]], keys: Sequence[Any], n: int, judge: Callable[..., Floats]
) -> Floats:
    """Return error, log-loss and Brier score of n candidates on every fold, (n, F, 3)."""
    total, weight = np.zeros((len(keys), n, 3)), np.zeros(len(keys))
    with one_blas_thread():
        for key, part in held_out:
            f, mass = keys.index(key), float(part.held_out.weights.sum())
            total[f] += mass * judge(part)
            weight[f] += mass
    return np.moveaxis(total / weight[:, None, None], 0, 1)


def hashed(x: Floats, n_folds: int) -> Codes:
    """Return a fold for each row, from the bits of its features alone."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)  # −0 counts as 0
    mixed = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column) * _GOLDEN
        mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed % np.uint64(n_folds), np.intp)


def _held_out(table: Table, train: Moments, power: Any) -> Fold:
    x = table.x if power is None else power.apply(table.x)
    truth = np.searchsorted(train.classes, table.classes)[table.codes]
    return Fold(train, Table(x, train.classes, truth, table.weight))
