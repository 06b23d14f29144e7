"""Posteriors of every row as if it had not been seen: by downdates, or from moments without it."""

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from suffice.core.decision.classifier import check_temperature
from suffice.core.decision.predictions import Predictions
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.leave_one_out_scores import downdated_scores
from suffice.core.estimation.settings import Settings, required_sums
from suffice.core.model.posterior import LogPosterior
from suffice.core.model.tiles import in_cached_blocks
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.matrix import has_missing
from suffice.core.table.table import numbering_rows
from suffice.errors import ForgetError, InvalidParameterError
from suffice.selection.validation.folds import power_transformed
from suffice.selection.validation.held_out import log_priors_of
from suffice.typing import Codes, Floats


def leave_one_out(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    refit_priors: bool = True,
) -> Predictions:
    """Return the posterior of every row as if it had not been seen (Lachenbruch & Mickey 1968).

    Parameters
    ----------
    estimator : GaussianClassifier
        Any member of the family.
    X, y, sample_weight : rows (n, d), labels (n,), weights (n,)
    refit_priors : bool, default=True
        Whether class frequencies are counted without the row too, or once with all rows.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> sf.leave_one_out(sf.LDA(), *load_iris(return_X_y=True))
    Predictions(150 rows: error 0.0200, log-loss 0.0545, Brier 0.0344)
    """
    recipe = _closed_settings(estimator)
    whole = Table.of(
        X,
        y,
        sample_weight,
        categorical=recipe.categorical_columns,
        missing=recipe.missing,
        names=getattr(estimator, "feature_names_in_", None),
    )
    if whole.schema is not None and (recipe.averages_divisors or recipe.needs_fourth):
        raise InvalidParameterError(
            "these settings are for complete columns of numbers: use others, or leave out the rest"
        )
    rows = np.flatnonzero(whole.weights)
    temperature = check_temperature(recipe.temperature)
    with numbering_rows(whole):
        table = power_transformed(whole.take(rows), recipe.power)
        required = required_sums([recipe])
        moments = Moments.of_table(
            table, holes=True, storage=required.storage, fourth=required.fourth
        )
        scores = _left_out_scores(
            recipe, moments, table, temperature, refit_priors=refit_priors
        )
    readout = LogPosterior(temperature)

    def run(
        rows: slice,
    ) -> None:  # log-posteriors over the scores, in blocks that stay in cache
        scores[rows] = readout.read(scores[rows])

    in_cached_blocks(len(scores), scores.shape[1], run)
    return Predictions(
        table.classes, table.codes, scores.argmax(1), scores, rows, table.weight
    )


def _closed_settings(estimator: Any) -> Settings:
    """Return the settings of a Gaussian estimator that leaves nothing open."""
    name = type(estimator).__name__
    if not hasattr(estimator, "resolved_settings"):
        raise InvalidParameterError(
            f"{name} is no Gaussian model read from sums, so it must be fitted again for every "
            "row: use cross_validate(estimator, X, y, cv=LeaveOneOut()), LeaveOneOut being "
            "scikit-learn's"
        )
    settings: Settings = estimator.resolved_settings()
    if settings.open_settings:
        raise InvalidParameterError(
            f"{', '.join(settings.open_settings)} of this {name} say 'auto', which fit chooses: "
            "fit it first"
        )
    return settings


def _left_out_scores(
    recipe: Settings,
    moments: Moments,
    table: Table,
    temperature: float,
    *,
    refit_priors: bool,
) -> Floats:
    """Return a_k (n, K) of each row under the model of the others."""
    by_levels = moments.schema is not None and not recipe.reads_numbers
    again = partial(_refitted, recipe, moments, table, temperature, refit_priors=refit_priors)
    if by_levels or moments.patterns is not None:
        return np.stack([again(i) for i in range(table.n_rows)])
    encoding, truth, w = moments.encoding, table.codes, table.weights
    numbers = moments if encoding is None else moments.select(encoding.kept)
    x = np.asarray(table.encoded(encoding)[0].x, np.float64)
    scores = downdated_scores(recipe, numbers, x, truth, w)
    unknown = np.flatnonzero(np.isnan(scores.sum(1)))
    _add_log_priors(scores, recipe, moments, truth, w, refit=refit_priors)
    for i in unknown.tolist():
        scores[i] = again(i)
    return scores


def _refitted(
    recipe: Settings,
    moments: Moments,
    table: Table,
    temperature: float,
    i: int,
    *,
    refit_priors: bool,
) -> Floats:
    """Return a_k (K,) of a row under the model of the others, estimated anew from their sums."""
    rest = _without(moments, table, i)
    if not (refit_priors and rest.weights.all()):  # a class without rows has prior 0
        recipe = recipe.with_priors_of((rest if refit_priors else moments).weights, rest)
    # which counts where nothing of a row is known: it is judged by the priors as they are
    model = estimate(rest, recipe, quiet=True).with_temperature(temperature)
    row, _ = table.take(slice(i, i + 1)).encoded(rest.encoding)
    return np.asarray(
        (model.allowing_missing() if has_missing(row.x) else model).scores(row.x)[0]
    )


def _without(moments: Moments, table: Table, i: int) -> Moments:
    """Return the moments of all rows but one: by subtraction, or summed again for an outlier."""
    # one without which a column no longer varies is an outlier too: its mean would be rounded
    fourth = moments.fourth is not None
    options: Any = {"storage": moments.storage, "fourth": fourth, "holes": True}
    with suppress(ForgetError):
        rest = moments - Moments.of_table(table.take(slice(i, i + 1)), **options)
        before, after = (m.scatter.pooled_diagonal() > 0 for m in (moments, rest))
        if np.array_equal(before, after) and (rest.fourth is not None or not fourth):
            return rest
    return Moments.of_table(table.take(np.arange(table.n_rows) != i), **options)


def _add_log_priors(
    scores: Floats,
    recipe: Settings,
    moments: Moments,
    truth: Codes,
    w: Floats,
    *,
    refit: bool,
) -> None:
    """Add log π_k to the scores of every row, up to a term common to all classes."""
    with np.errstate(divide="ignore"):
        a = recipe.prior_pseudo_count
        if refit and a is not None:
            # π_k ∝ w_k + a, less the row's weight for its own class
            rows, total = np.arange(len(truth)), moments.weights[truth] + a
            scores += np.log(moments.weights + a)
            scores[rows, truth] += np.log(np.maximum(total - w, a) / total)
        else:
            scores += log_priors_of(recipe, moments)
