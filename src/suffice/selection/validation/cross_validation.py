"""Exact cross-validation: Gaussian models read from sums of folds, others fitted again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from suffice.core.decision.predictions import CRITERIA
from suffice.core.estimation.recipe import collecting
from suffice.core.estimation.settings import is_open
from suffice.core.moments import Moments
from suffice.core.table.labels import as_labels, codes_of
from suffice.core.table.matrix import taken
from suffice.core.text.tables import Tabled
from suffice.core.threads import side_by_side
from suffice.errors import InvalidParameterError, require_word
from suffice.selection.validation.folds import (
    Fold,
    Folds,
    fitted,
    power_transformed,
    weight_name,
)
from suffice.selection.validation.held_out import held_out_losses
from suffice.typing import Floats, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Grid: TypeAlias = Mapping[str, Sequence[Any]]
ParameterPoints: TypeAlias = Grid | Sequence[Grid] | None


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
        n_folds = self.fold_losses.shape[1]
        return np.asarray(self.fold_losses.std(1) / np.sqrt(n_folds - 1 or np.nan))

    @cached_property
    def best_index(self) -> int:
        """Number of the candidate with the least criterion."""
        losses = self.means[:, CRITERIA.index(self.criterion)]
        if np.isnan(losses).all():
            msg = f"no candidate has posteriors, and a {self.criterion}: use criterion='error'"
            raise InvalidParameterError(msg)
        return int(np.nanargmin(losses))

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of the candidate with the least criterion."""
        return self.params[self.best_index]

    @property
    def one_se_params(self) -> dict[str, Any]:
        """Parameters of the most regularised candidate within one standard error of the best.

        Of greatest pooling + shrinkage + l2; the best where the grid has none of these.
        """
        column, best = CRITERIA.index(self.criterion), self.best_index
        limit = self.means[best, column] + np.nan_to_num(self.standard_errors[best, column])
        close = np.flatnonzero(self.means[:, column] <= limit)

        def regularity(i: Any) -> tuple[float, bool, int]:
            values = (self.params[i].get(name) for name in ("pooling", "shrinkage", "l2"))
            return sum(float(v) for v in values if isinstance(v, Real)), i == best, -i

        return self.params[max(close, key=regularity)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per candidate: its parameters, then its losses."""
        names = [name for criterion in CRITERIA for name in (criterion, f"{criterion}_se")]
        numbers = np.stack([self.means, self.standard_errors], axis=2).reshape(-1, 6)
        losses = (dict(zip(names, row, strict=True)) for row in numbers)
        return [params | each for params, each in zip(self.params, losses, strict=True)]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the curve of one parameter, or the map of two; return the axes."""
        from suffice.present.plots.tuning import cross_validation_figure

        return cross_validation_figure(self, ax)

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
    require_word(criterion, CRITERIA, "criterion")
    params, candidates = candidates_of(estimator, grid)
    summed = all(is_read_from_moments(c) and not has_costs(c) for c in candidates)
    folds = Folds.of(X, y, cv, sample_weight, groups, on_device=summed)
    fixed = None if refit_priors else np.bincount(folds.codes, folds.weight).astype(np.float64)
    if folds.is_plain and summed:
        losses, absent = _from_moments(candidates, folds, fixed)
    else:
        losses, absent = _by_fitting(candidates, folds, fixed), ()
    result = CrossValidation(params, losses, criterion, refit_priors, absent, None)
    best = fitted(candidates[result.best_index], X, as_labels(y), folds.weight)
    return replace(result, best_estimator=best)


def candidates_of(estimator: Any, grid: Any) -> tuple[tuple[dict[str, Any], ...], list[Any]]:
    """Return the points of a grid, and the estimator with the settings of each."""
    params = tuple(ParameterGrid({} if grid is None else grid))
    return params, [clone(estimator).set_params(**point) for point in params]


def is_read_from_moments(candidate: Any) -> bool:
    """Whether an estimator is a function of moments of numbers, with no setting left open."""
    if not hasattr(candidate, "recipe") or candidate.categorical is not None:
        return False
    words = (candidate.resolved_temperature(), candidate.power)
    return not candidate.recipe().open_settings and not any(map(is_open, words))


def has_costs(candidate: Any) -> bool:
    """Whether a Gaussian classifier predicts other classes than the most probable ones."""
    return candidate.costs is not None or candidate.reject_cost is not None


def _from_moments(
    candidates: Sequence[Any],
    folds: Folds,
    fixed: Floats | None,
) -> tuple[Floats, tuple[str, ...]]:
    losses = np.empty((len(candidates), len(folds.splits), 3))
    absent: tuple[str, ...] = ()
    groups: dict[str, list[int]] = {}  # that look at the rows in the same way
    for i, candidate in enumerate(candidates):
        groups.setdefault(joblib.hash(candidate.power), []).append(i)
    for members in groups.values():
        alike = [candidates[i] for i in members]
        seen = replace(folds, X=power_transformed(folds.table, alike[0].power).x)
        parts = seen.each(**collecting(c.recipe() for c in alike))
        size = sum(f.held_out.n_rows for f in parts) * seen.table.n_features
        found = side_by_side(judge_of(alike, fixed), parts, n_numbers=size)
        losses[members] = np.stack(found, axis=1)
        absent = absences(fold.train for fold in parts)
    return losses, absent


def judge_of(candidates: Sequence[Any], fixed: Floats | None) -> Callable[[Fold], Floats]:
    """Return what finds error, log-loss and Brier score of every candidate on a fold, (C, 3)."""
    recipes = [c.recipe() for c in candidates]
    asked = [c.resolved_temperature() for c in candidates]
    temperatures, at = np.unique(asked, return_inverse=True)
    each = np.arange(len(recipes)), at
    return lambda fold: held_out_losses(recipes, fold, temperatures, fixed)[each]


def absences(trains: Iterable[Moments]) -> tuple[str, ...]:
    """Return what there is to say about classes without training rows."""
    return tuple(
        f"class {label.item()!r} has no training row in fold {f}: its prior there is 0"
        for f, train in enumerate(trains)
        for label in train.classes[train.weights == 0]
    )


def _by_fitting(candidates: Sequence[Any], folds: Folds, fixed: Floats | None) -> Floats:
    unweighted = [c for c in candidates if folds.weight is not None and weight_name(c) is None]
    if unweighted:
        msg = f"{unweighted[0]!r} learns without weights: leave sample_weight out"
        raise InvalidParameterError(msg)
    losses = np.empty((len(candidates), len(folds.splits), 3))
    for f, (_, test) in enumerate(folds.splits):
        rows, held = folds.training(f), taken(folds.X, test)
        for i, candidate in enumerate(candidates):
            model = fitted(candidate, *rows)
            if fixed is not None:
                model = _with_priors_of(fixed, folds.classes, model)
            losses[i, f] = folds.predictions(f, model, held, model.predict(held)).losses
    return losses


def _with_priors_of(weights: Floats, classes: Labels, fitted: Any) -> Any:
    """Return a fitted classifier under the priors of all rows, classes it has not seen apart."""
    if not hasattr(fitted, "recipe"):
        msg = (
            f"refit_priors=False is for Gaussian classifiers, not for {fitted!r}: leave it out"
        )
        raise InvalidParameterError(msg)
    priors = fitted.recipe().priors.of(classes, weights)[codes_of(fitted.classes_, classes)]
    return fitted.with_priors(priors / priors.sum())
