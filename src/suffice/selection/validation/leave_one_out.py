"""Posteriors of every row under the model of all other rows.

The model without row i has the parameters estimate(M − M(x_i)), with the moments M of all rows. If
its covariance is linear in the moments, a rank-one downdate gives the scores
(``rank_one_downdates.py``). Otherwise, for example if the target of shrinkage depends on the row,
the model is estimated again.
"""

from contextlib import suppress

import numpy as np

from suffice.core.decision.classifier import check_temperature
from suffice.core.decision.predictions import Predictions
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.rank_one_downdates import downdated_scores
from suffice.core.estimation.settings import Settings, required_sums
from suffice.core.model.posterior import LogPosterior
from suffice.core.model.tiles import in_cached_blocks
from suffice.core.moments import Moments
from suffice.core.moments.collect import smallest_storage
from suffice.core.progress import Progress, Wish
from suffice.core.table import Table
from suffice.core.table.matrix import has_missing
from suffice.core.table.table import numbering_rows
from suffice.errors import ForgetError, InvalidParameterError
from suffice.selection.validation.count_validation import (
    is_count_family,
    leave_one_count_row_out,
)
from suffice.selection.validation.fitting import is_gaussian
from suffice.selection.validation.folds import power_transformed
from suffice.selection.validation.held_out import log_priors_of
from suffice.typing import Codes, Floats, LabelsLike, RowsLike, SklearnClassifier, WeightsLike


def leave_one_out(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike = None,
    *,
    refit_priors: bool = True,
    progress: Wish = None,
) -> Predictions:
    """Return the posterior of every row under the model of all other rows.

    Lachenbruch & Mickey (1968), *Technometrics* 10, 1–11.

    Parameters
    ----------
    estimator : GaussianClassifier or CountNB
        A Gaussian classifier, or a classifier of counts.
    X, y, sample_weight : rows (n, d), labels (n,), weights (n,)
    refit_priors : bool, default=True
        Whether class priors are estimated without the row. If False, the priors are those of all
        rows.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> sf.leave_one_out(sf.LDA(), *load_iris(return_X_y=True))
    Predictions(150 rows: error 0.0200, log-loss 0.0545, Brier 0.0344)
    """
    if is_count_family(estimator):
        return leave_one_count_row_out(
            estimator, X, y, sample_weight, refit_priors=refit_priors
        )
    settings = _settings_without_auto(estimator)
    temperature = check_temperature(settings.temperature)
    whole = Table.of(
        X,
        y,
        sample_weight,
        categorical=settings.categorical_columns,
        missing=settings.missing,
        names=getattr(estimator, "feature_names_in_", None),
    )
    if whole.schema is not None and (settings.averages_divisors or settings.needs_fourth):
        raise InvalidParameterError(
            "these settings need complete numeric columns: change the settings, or leave out the "
            "other columns"
        )
    rows = np.flatnonzero(whole.weights)
    required = required_sums([settings])
    with numbering_rows(whole):
        table = power_transformed(whole.take(rows), settings.power)
        storage = smallest_storage(
            required.storage, table.n_rows, table.n_classes, table.n_features
        )
        moments = Moments.of_table(table, holes=True, storage=storage, fourth=required.fourth)
        with Progress(progress, table.n_rows, "leave one out", "rows") as rows_done:
            scores = _left_out_scores(
                settings, moments, table, temperature, rows_done, refit_priors=refit_priors
            )
    log_posterior = LogPosterior(temperature)

    def replace_scores(block: slice) -> None:
        scores[block] = log_posterior.read(scores[block])

    in_cached_blocks(len(scores), scores.shape[1], replace_scores)
    return Predictions(
        classes=table.classes,
        truth=table.codes,
        predicted=scores.argmax(1),
        logs=scores,
        rows=rows,
        weight=table.weight,
    )


def _settings_without_auto(estimator: object) -> Settings:
    """Return the settings of a Gaussian estimator; raise if one is still "auto"."""
    name = type(estimator).__name__
    if not is_gaussian(estimator):
        raise InvalidParameterError(
            f"{name} is not a Gaussian model computed from sums, so it must be fitted again "
            "for every row: use cross_validate(estimator, X, y, cv=LeaveOneOut()), with "
            "LeaveOneOut of scikit-learn"
        )
    settings = estimator._resolved_settings()
    if settings.open_settings:
        raise InvalidParameterError(
            f"{', '.join(settings.open_settings)} of this {name} are 'auto', which fit has to "
            "choose: fit the estimator first"
        )
    return settings


def _left_out_scores(
    settings: Settings,
    moments: Moments,
    table: Table,
    temperature: float,
    rows_done: Progress,
    *,
    refit_priors: bool,
) -> Floats:
    """Return the scores a_k (n, K) of each row under the model of the other rows."""

    def refitted(i: int) -> Floats:
        return _refitted_scores(
            settings, moments, table, temperature, i, refit_priors=refit_priors
        )

    # there is no downdate for levels, which naive Bayes or a tree on categories reads
    reads_levels = moments.schema is not None and not settings.reads_numbers
    if reads_levels or moments.patterns is not None or moments.storage == "rows":
        each_row = []
        for i in range(table.n_rows):
            each_row.append(refitted(i))
            rows_done.step()
        return np.stack(each_row)
    encoding = moments.encoding
    numbers = moments if encoding is None else moments.select(encoding.kept)
    encoded, _ = table.encoded(encoding)
    x = np.asarray(encoded.x, np.float64)
    scores = downdated_scores(settings, numbers, x, table.codes, table.weights, rows_done.step)
    # Scores are NaN if the downdate has lost too many digits, or if these settings have none.
    has_no_scores = np.isnan(scores.sum(1))
    _add_log_priors(scores, settings, moments, table.codes, table.weights, refit=refit_priors)
    for i in np.flatnonzero(has_no_scores).tolist():
        scores[i] = refitted(i)
        rows_done.step()
    return scores


def _refitted_scores(
    settings: Settings,
    moments: Moments,
    table: Table,
    temperature: float,
    i: int,
    *,
    refit_priors: bool,
) -> Floats:
    """Return the scores a_k (K,) of row i under a model estimated from the other rows' sums."""
    # M₋ᵢ = M − M(x_i),  θ₋ᵢ = estimate(M₋ᵢ),  a_k(x_i; θ₋ᵢ)
    others = _without(moments, table, i)
    if not refit_priors:
        settings = settings.with_priors_of(moments.weights, others)
    elif not others.weights.all():
        # a class without rows gets prior 0, not a smoothed prior
        settings = settings.with_priors_of(others.weights, others)
    # The model needs the temperature for rows without any value, whose posterior is the prior.
    model = estimate(others, settings, quiet=True).with_temperature(temperature)
    row, _ = table.take(slice(i, i + 1)).encoded(others.encoding)
    if has_missing(row.x):
        model = model.allowing_missing()
    return np.asarray(model.scores(row.x)[0])


def _without(moments: Moments, table: Table, i: int) -> Moments:
    """Return the moments of all rows but row i: a difference or, for an outlier, a new sum."""
    keeps_fourth = moments.fourth is not None

    def moments_of(rows: Table) -> Moments:
        return Moments.of_table(rows, storage=moments.storage, fourth=keeps_fourth, holes=True)

    with suppress(ForgetError):
        others = moments - moments_of(table.take(slice(i, i + 1)))
        varies_with_row = moments.scatter.pooled_diagonal() > 0
        varies_without_row = others.scatter.pooled_diagonal() > 0
        # A row without which a column is constant counts as an outlier, too: subtraction would
        # leave a rounded mean instead of the exact constant.
        is_exact = np.array_equal(varies_with_row, varies_without_row)
        if is_exact and (others.fourth is not None or not keeps_fourth):
            return others
    return moments_of(table.take(np.arange(table.n_rows) != i))


def _add_log_priors(
    scores: Floats,
    settings: Settings,
    moments: Moments,
    truth: Codes,
    w: Floats,
    *,
    refit: bool,
) -> None:
    """Add log π_k to the scores of every row, up to a term common to all classes."""
    a = settings.prior_pseudo_count
    if not refit or a is None:
        scores += log_priors_of(settings, moments)
        return
    with np.errstate(divide="ignore"):
        # π_k ∝ w_k + a; for the row's own class, w_k − w + a
        scores += np.log(moments.weights + a)
        total = moments.weights[truth] + a
        rows = np.arange(len(truth))
        # (w_k − w + a) / (w_k + a); max with a protects against rounding
        scores[rows, truth] += np.log(np.maximum(total - w, a) / total)
