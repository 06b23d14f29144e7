"""Exact cross-validation of Gaussian models from sums, and of other models by refitting.

The sums of the training rows of fold f are M_{−f} = Σ_{g≠f} M_g. ``sums_without`` in ``folds.py``
computes these sums by additions only, so that no digits cancel.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from suffice.core.decision.predictions import CRITERIA
from suffice.core.estimation.settings import required_sums
from suffice.core.moments import Moments
from suffice.core.table.labels import as_labels, codes_of
from suffice.core.table.matrix import taken
from suffice.core.text.lists import counted
from suffice.core.text.tables import Tabled
from suffice.core.threads import side_by_side
from suffice.errors import InvalidParameterError, require_word
from suffice.selection.validation.count_validation import (
    fold_losses_of_counts,
    is_read_from_counts,
)
from suffice.selection.validation.fitting import (
    GaussianFamily,
    fitted,
    is_gaussian,
    weight_name,
)
from suffice.selection.validation.fold_rows import FoldsLike
from suffice.selection.validation.folds import Fold, Folds, power_transformed
from suffice.selection.validation.held_out import held_out_losses
from suffice.typing import Floats, Labels, LabelsLike, RowsLike, SklearnClassifier, WeightsLike

Criterion: TypeAlias = Literal["log_loss", "error", "brier"]
ParameterValues: TypeAlias = Mapping[str, Sequence[object]]  # values to try, by parameter
ParameterPoints: TypeAlias = ParameterValues | Sequence[ParameterValues] | None
Parameters: TypeAlias = dict[str, Any]  # parameters of one candidate

_REGULARISING = ("pooling", "shrinkage", "l2")
if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CrossValidation(Tabled):
    """Losses of every candidate on every fold; means give all folds the same weight."""

    params: tuple[Parameters, ...]  # parameters of the C candidates
    fold_losses: Floats  # error, log-loss, Brier  (C, F, 3)
    criterion: Criterion
    refit_priors: bool  # whether priors were estimated from the training rows of every fold
    absent: tuple[str, ...]  # a sentence for each class without training rows in a fold
    best_estimator: Any  # the best candidate, fitted to all rows

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score of each candidate, shape (C, 3)."""
        return np.asarray(self.fold_losses.mean(1))

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the means, shape (C, 3); NaN for a single fold."""
        n_folds = self.fold_losses.shape[1]
        if n_folds == 1:
            return np.full((len(self.params), 3), np.nan)
        return np.asarray(self.fold_losses.std(1) / np.sqrt(n_folds - 1))

    @cached_property
    def best_index(self) -> int:
        """Index of the candidate with the lowest mean criterion."""
        return best_candidate(self.fold_losses, self.criterion)

    @property
    def best_params(self) -> Parameters:
        """Parameters of the candidate with the lowest mean criterion."""
        return self.params[self.best_index]

    @property
    def one_se_params(self) -> Parameters:
        """Parameters of the most regularised candidate within one standard error of the best.

        The most regularised candidate has the largest pooling + shrinkage + l2. If the grid has
        none of these parameters, it is the best candidate. If several candidates have the largest
        sum, the best candidate is taken if its sum is one of the largest, and otherwise the first
        of the several.
        """
        column = CRITERIA.index(self.criterion)
        means = self.means[:, column]
        standard_error = self.standard_errors[self.best_index, column]
        limit = means[self.best_index] + np.nan_to_num(standard_error)
        close = np.flatnonzero(means <= limit).tolist()

        def order(i: int) -> tuple[float, bool, int]:
            return _regularity(self.params[i]), i == self.best_index, -i

        return self.params[max(close, key=order)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a mapping per candidate, with its parameters and its losses."""
        means = self.means
        standard_errors = self.standard_errors
        rows = []
        for i, params in enumerate(self.params):
            row = dict(params)
            for j, criterion in enumerate(CRITERIA):
                row[criterion] = means[i, j]
                row[f"{criterion}_se"] = standard_errors[i, j]
            rows.append(row)
        return rows

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the loss as a curve over one parameter, or as a map over two; return the axes."""
        from suffice.present.plots.tuning import cross_validation_figure

        return cross_validation_figure(self, ax)

    def __repr__(self) -> str:
        error, log_loss, _ = self.means[self.best_index]
        n_candidates, n_folds, _ = self.fold_losses.shape
        settings = [f"{name}={value!r}" for name, value in self.best_params.items()]
        best = ", ".join(settings) or "the estimator"
        return (
            f"CrossValidation({counted(n_candidates, 'candidate')} × {n_folds} folds; best by "
            f"{self.criterion}: {best}: error {error:.4f}, log-loss {log_loss:.4f})"
        )


def best_candidate(fold_losses: Floats, criterion: Criterion) -> int:
    """Return the index of the candidate with the lowest mean criterion, from losses (C, F, 3)."""
    losses = fold_losses.mean(1)[:, CRITERIA.index(criterion)]
    if np.isnan(losses).all():
        raise InvalidParameterError(
            f"no candidate has posteriors, so {criterion} cannot be computed: use "
            "criterion='error'"
        )
    return int(np.nanargmin(losses))


def _regularity(params: Parameters) -> float:
    """Return pooling + shrinkage + l2, without those that are missing or not numbers."""
    values = [params.get(name) for name in _REGULARISING]
    return sum(float(value) for value in values if isinstance(value, Real))


def cross_validate(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike,
    grid: ParameterPoints = None,
    cv: FoldsLike = 10,
    *,
    groups: npt.ArrayLike | None = None,
    time: npt.ArrayLike | None = None,
    sample_weight: WeightsLike = None,
    criterion: Criterion = "log_loss",
    refit_priors: bool = True,
) -> CrossValidation:
    """Return the cross-validated losses of every combination in a grid.

    A Gaussian estimator or ``CountNB`` is not fitted again: one pass collects the sums of every
    fold, and each model is computed from the sums of the other folds. The result is the same as
    with refitting. Any other scikit-learn classifier is fitted for every fold and grid point.

    Parameters
    ----------
    estimator : classifier
        The classifier to evaluate. Its settings apply unless the grid replaces them.
    X, y : rows (n, d) and labels (n,)
    grid : mapping or list of mappings, optional
        As in ``GridSearchCV``; None evaluates the estimator with its own settings.
    cv : int, splitter or iterable of (train, test), default=10
        A number means stratified folds in row order, as in scikit-learn.
    groups, sample_weight : arrays (n,), optional
        The splitter gets the groups. The weights are used in training and in the losses.
    time : array (n,), optional
        Numbers or dates. The rows are divided into ``cv`` + 1 blocks by time. Each block except the
        first is predicted by models fitted to all earlier blocks.
    criterion : {"log_loss", "error", "brier"}
        The loss that ``best_params`` minimises.
    refit_priors : bool, default=True
        Whether class priors are estimated from the training rows of each fold, as refitting would
        do. With False, they are estimated once, from all rows. A class without training rows gets
        prior 0 in that fold; its held-out rows count as errors with log-loss −log ε ≈ 36. A power
        transform given by name is fitted once, on all rows, because it does not use labels.

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
    gaussians = [c for c in candidates if is_read_from_moments(c) and not has_costs(c)]
    count_models = [c for c in candidates if is_read_from_counts(c)]
    from_moments = len(gaussians) == len(candidates)
    folds = Folds.of(X, y, cv, sample_weight, groups, time=time, on_device=from_moments)
    fixed_weights = None
    if not refit_priors:
        fixed_weights = np.bincount(folds.codes, folds.weight).astype(np.float64)
    absent: tuple[str, ...] = ()
    if folds.is_plain and from_moments:
        losses, absent = _losses_from_moments(gaussians, folds, fixed_weights)
    elif len(count_models) == len(candidates):
        losses = fold_losses_of_counts(
            count_models,
            folds.X,
            folds.classes,
            folds.codes,
            folds.weight,
            folds.splits,
            fixed_weights,
        )
    else:
        losses = _losses_by_fitting(candidates, folds, fixed_weights)
    best = candidates[best_candidate(losses, criterion)]
    return CrossValidation(
        params=params,
        fold_losses=losses,
        criterion=criterion,
        refit_priors=refit_priors,
        absent=absent,
        best_estimator=fitted(best, X, as_labels(y), folds.weight),
    )


def candidates_of(
    estimator: SklearnClassifier,
    grid: ParameterPoints,
) -> tuple[tuple[Parameters, ...], list[SklearnClassifier]]:
    """Return the points of a grid, and for each point a copy of the estimator."""
    params = tuple(ParameterGrid({} if grid is None else grid))
    return params, [clone(estimator).set_params(**point) for point in params]


def is_read_from_moments(candidate: object) -> TypeGuard[GaussianFamily]:
    """Return whether an estimator depends only on moments of numbers, and no setting is "auto"."""
    if not is_gaussian(candidate) or candidate.categorical is not None:
        return False
    return not candidate._resolved_settings().open_settings


def has_costs(candidate: GaussianFamily) -> bool:
    """Return whether costs may make a Gaussian classifier predict a less probable class."""
    return candidate.costs is not None


def _losses_from_moments(
    candidates: Sequence[GaussianFamily],
    folds: Folds,
    fixed_weights: Floats | None,
) -> tuple[Floats, tuple[str, ...]]:
    """Return the losses (C, F, 3), and a sentence for each class without training rows."""
    losses = np.empty((len(candidates), len(folds.splits), 3))
    absent: tuple[str, ...] = ()
    for places in _same_power(candidates):
        group = [candidates[i] for i in places]
        table = power_transformed(folds.table, group[0].power)
        required = required_sums(candidate._resolved_settings() for candidate in group)
        transformed = replace(folds, X=table.x)
        each_fold = transformed.each(required.storage, fourth=required.fourth)
        n_rows = sum(fold.held_out.n_rows for fold in each_fold)
        judge = judge_of(group, fixed_weights)
        fold_losses = side_by_side(judge, each_fold, n_numbers=n_rows * table.n_features)
        losses[places] = np.stack(fold_losses, axis=1)
        absent = absences(fold.train for fold in each_fold)
    return losses, absent


def _same_power(candidates: Sequence[GaussianFamily]) -> list[list[int]]:
    """Return groups of indices of candidates that share one power transform."""
    groups: dict[str, list[int]] = {}
    for i, candidate in enumerate(candidates):
        groups.setdefault(joblib.hash(candidate.power), []).append(i)
    return list(groups.values())


def judge_of(
    candidates: Sequence[GaussianFamily],
    fixed_weights: Floats | None,
) -> Callable[[Fold], Floats]:
    """Return a function that computes the losses of all candidates on a fold, (C, 3).

    The losses are error, log-loss and Brier score.

    ``fixed_weights`` (K,) replace the class weights of the training rows in the priors.
    """
    settings_list = [candidate._resolved_settings() for candidate in candidates]
    temperatures, temperature_of = np.unique(
        [settings.temperature for settings in settings_list], return_inverse=True
    )

    def judge(fold: Fold) -> Floats:
        losses = held_out_losses(settings_list, fold, temperatures, fixed_weights)  # (C, T, 3)
        return losses[np.arange(len(settings_list)), temperature_of]

    return judge


def absences(trains: Iterable[Moments]) -> tuple[str, ...]:
    """Return a sentence for each class without training rows in a fold."""
    return tuple(
        f"class {label!r} has no training row in fold {fold}: its prior there is 0"
        for fold, train in enumerate(trains)
        for label in train.classes[train.weights == 0].tolist()
    )


def _losses_by_fitting(
    candidates: Sequence[SklearnClassifier],
    folds: Folds,
    fixed_weights: Floats | None,
) -> Floats:
    """Return the losses (C, F, 3) of candidates that are fitted again in every fold."""
    for candidate in candidates:
        if folds.weight is not None and weight_name(candidate) is None:
            raise InvalidParameterError(
                f"{candidate!r} does not accept sample weights: leave sample_weight out"
            )
    losses = np.empty((len(candidates), len(folds.splits), 3))
    for f, (_, test) in enumerate(folds.splits):
        X, labels, weight = folds.training(f)
        held_out = taken(folds.X, test)
        for i, candidate in enumerate(candidates):
            model = fitted(candidate, X, labels, weight, folds.belonging(f))
            if fixed_weights is not None:
                model = _with_fixed_priors(model, folds.classes, fixed_weights)
            predicted = model.predict(held_out)
            losses[i, f] = folds.predictions(f, model, held_out, predicted).losses
    return losses


def _with_fixed_priors(
    model: SklearnClassifier,
    classes: Labels,
    weights: Floats,
) -> SklearnClassifier:
    """Return a fitted classifier with priors from the weights of all rows, among its classes."""
    if not is_gaussian(model):
        raise InvalidParameterError(
            f"refit_priors=False is for Gaussian classifiers, not for {model!r}: leave it out"
        )
    priors = model._resolved_settings().class_priors(classes, weights)
    priors = priors[codes_of(model.classes_, classes)]
    return model.with_priors(priors / priors.sum())
