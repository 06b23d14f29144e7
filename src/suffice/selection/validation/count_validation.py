"""Exact leave-one-out and cross-validation of count classifiers, from sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np

from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.decision.classifier import check_temperature
from suffice.core.decision.predictions import Predictions, losses_of_rows
from suffice.core.estimation.count_kinds import (
    decide_counts,
    estimate_counts,
    left_out_joint,
    left_out_rows,
)
from suffice.core.estimation.count_settings import CountSettings
from suffice.core.model.posterior import LogPosterior
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows
from suffice.core.table.foreign import to_numpy
from suffice.core.table.labels import as_labels, encode
from suffice.core.table.matrix import as_weights
from suffice.core.table.table import require_as_many
from suffice.errors import InvalidParameterError
from suffice.typing import (
    Codes,
    Floats,
    Labels,
    LabelsLike,
    RowsLike,
    SklearnClassifier,
    WeightsLike,
)


class CountFamily(SklearnClassifier, Protocol):
    """A count classifier, whose model depends only on sums of counts."""

    costs: CostsLike

    def _resolved_count_settings(self) -> CountSettings:
        """Return the settings, with the values that ``fit`` chose for "auto"."""


def is_count_family(estimator: object) -> TypeGuard[CountFamily]:
    """Return whether an estimator is a count classifier whose model is computed from sums."""
    return hasattr(estimator, "_resolved_count_settings")


def leave_one_count_row_out(
    estimator: CountFamily,
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike = None,
    *,
    refit_priors: bool = True,
) -> Predictions:
    """Return the posterior of each row under the model of the sums without the row's counts."""
    settings = estimator._resolved_count_settings()
    for name in settings.open_settings:
        raise InvalidParameterError(
            f"{name} of this {type(estimator).__name__} is 'auto', which fit has to choose: "
            "fit the estimator first"
        )
    if settings.text is not None:
        raise InvalidParameterError(
            "leave-one-out reads rows of counts, not texts: count the words with scikit-learn's "
            "CountVectorizer, and use CountNB without text"
        )
    rows, classes, codes, weight = _labelled_counts(X, y, sample_weight)
    kept = np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight)
    if len(kept) < rows.n_rows:
        rows = rows.take(kept)
        codes = codes[kept]
        weight = None if weight is None else weight[kept]
    sums = CountSums.of_rows(rows, classes, codes, weight, threshold=settings.threshold)
    model = estimate_counts(sums, settings)
    w = np.ones(len(codes)) if weight is None else weight
    alphas = (settings.pseudo_count(),)
    left = left_out_rows(sums, settings, model.counts_of(rows), codes, w, alphas)
    scores = left_out_joint(sums, settings, left, refit_priors=refit_priors)
    logs = LogPosterior(check_temperature(settings.temperature)).read(scores)
    return Predictions(
        classes=classes,
        truth=codes,
        predicted=scores.argmax(1),
        logs=logs,
        rows=kept,
        weight=weight,
    )


def fold_losses_of_counts(
    candidates: Sequence[CountFamily],
    X: RowsLike,
    classes: Labels,
    codes: Codes,
    weight: Floats | None,
    splits: Sequence[tuple[Codes, Codes]],
    fixed_weights: Floats | None,
) -> Floats:
    """Return error, log-loss and Brier score (C, F, 3) of models computed from sums.

    ``fixed_weights`` (K,) replace the class weights of the training rows in the priors.
    """
    rows = CountRows.of(X)
    settings_of_each = [candidate._resolved_count_settings() for candidate in candidates]
    sums_of_threshold: dict[float | None, list[CountSums]] = {}
    for threshold in {settings.threshold for settings in settings_of_each}:
        sums_of_threshold[threshold] = _training_sums(
            rows, classes, codes, weight, splits, threshold
        )
    losses = np.empty((len(candidates), len(splits), 3))
    for f, (_, test) in enumerate(splits):
        test_weight = np.ones(len(test)) if weight is None else weight[test]
        held_out = rows.take(test).matrix()
        for c, settings in enumerate(settings_of_each):
            sums = sums_of_threshold[settings.threshold][f]
            classifier = decide_counts(estimate_counts(sums, settings), sums, settings)
            if fixed_weights is not None:
                priors = settings.class_priors(classes, fixed_weights)
                classifier = classifier.with_priors(priors)
            row_losses = losses_of_rows(classifier.log_posterior(held_out), codes[test])
            losses[c, f] = row_losses @ test_weight / test_weight.sum()
    return losses


def _training_sums(
    rows: CountRows,
    classes: Labels,
    codes: Codes,
    weight: Floats | None,
    splits: Sequence[tuple[Codes, Codes]],
    threshold: float | None,
) -> list[CountSums]:
    """Return the sums of the training rows of each split.

    Sums of integer counts are those of all rows minus those of the held-out rows, which is exact.
    Fractions are summed again, because their differences would be rounded.
    """

    def summed(places: Codes) -> CountSums:
        row_weight = None if weight is None else weight[places]
        return CountSums.of_rows(
            rows.take(places), classes, codes[places], row_weight, threshold=threshold
        )

    total = CountSums.of_rows(rows, classes, codes, weight, threshold=threshold)
    is_exact = _is_whole(total.sums) and _is_whole(total.weights) and not total.has_fractions
    training_sums = []
    for train, test in splits:
        is_complement = len(np.union1d(train, test)) == rows.n_rows == len(train) + len(test)
        if is_exact and is_complement:
            training_sums.append(total - summed(test))
        else:
            training_sums.append(summed(train))
    return training_sums


def _is_whole(values: Floats) -> bool:
    return bool(np.all(values == np.floor(values)))


def is_read_from_counts(candidate: object) -> TypeGuard[CountFamily]:
    """Return whether an estimator depends only on sums of counts, and has no costs."""
    if not is_count_family(candidate) or candidate.costs is not None:
        return False
    settings = candidate._resolved_count_settings()
    return settings.text is None and not settings.open_settings


def _labelled_counts(
    X: RowsLike, y: LabelsLike, sample_weight: WeightsLike
) -> tuple[CountRows, Labels, Codes, Floats | None]:
    rows = CountRows.of(X)
    labels = as_labels(to_numpy(y))
    require_as_many(rows.n_rows, len(labels))
    weight = as_weights(sample_weight, rows.n_rows)
    classes, codes = encode(labels)
    return rows, classes, codes, weight
