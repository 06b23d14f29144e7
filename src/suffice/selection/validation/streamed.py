"""Exact cross-validation of rows that do not fit into memory, in two passes."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from suffice.core.decision.predictions import CRITERIA
from suffice.core.estimation.settings import required_sums
from suffice.core.moments import Moments
from suffice.core.moments.merging import aligned
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.text.lists import counted
from suffice.core.threads import one_blas_thread
from suffice.data.columns.roles import require_columns, roles_for_learning
from suffice.data.opening import open_source
from suffice.data.options import Columns, SumSettings, TextFormat
from suffice.data.rows.loading import Chunk, chunks_of
from suffice.data.sums.groups import by_key, keys_in, sums_by_key
from suffice.errors import InvalidInputError, InvalidParameterError, require_word
from suffice.selection.validation.cross_validation import (
    Criterion,
    CrossValidation,
    ParameterPoints,
    absences,
    best_candidate,
    candidates_of,
    has_costs,
    is_read_from_moments,
    judge_of,
)
from suffice.selection.validation.fitting import GaussianFamily
from suffice.selection.validation.folds import Fold, sums_without
from suffice.typing import Array, Codes, Floats, SklearnClassifier

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, odd


def cross_validate_stream(
    estimator: SklearnClassifier,
    source: Any,
    target: str | None = None,
    grid: ParameterPoints = None,
    cv: int = 5,
    *,
    fold: str | None = None,
    columns: Columns | Sequence[str] | None = None,
    weight: str | None = None,
    text: TextFormat | None = None,
    table: str | None = None,
    criterion: Criterion = "log_loss",
    refit_priors: bool = True,
    progress: Callable[[int, int | None], None] | None = None,
) -> CrossValidation:
    """Return the cross-validated losses of every combination in a grid, in two passes.

    Memory use is bounded. The result equals that of ``cross_validate`` with the same folds. Columns
    without numbers and rows with missing values are left out, with a warning.

    Parameters
    ----------
    estimator : GaussianClassifier or preset
        Its settings must not be "auto", and a transform must be a ``PowerTransform``.
    source, target, columns, weight, text, table, progress
        As in ``summarize``: files, frames, or other data that can be read twice.
    cv : int, default=5
        Number of folds. A hash of the features gives the fold of a row. The fold therefore does not
        depend on the order of rows or files, and copies of a row are in the same fold.
    fold : str, optional
        Column that gives the fold of each row, instead of the hash.
    grid, criterion, refit_priors
        As in ``cross_validate``.

    Examples
    --------
    >>> import suffice as sf
    >>> from suffice.streams import cross_validate_stream
    >>> result = cross_validate_stream(sf.LDA(), "iris", grid={"shrinkage": [0.0, 0.1]}, cv=4)
    >>> result.best_params
    {'shrinkage': 0.0}
    """
    require_word(criterion, CRITERIA, "criterion")
    params, candidates = candidates_of(estimator, grid)
    gaussians = _check_candidates(candidates)
    if fold is None and cv < 2:
        raise InvalidParameterError(f"cv must be at least 2 folds, got {cv!r}")
    opened = open_source(source, text or TextFormat(), table)
    kept = () if fold is None else (fold,)
    require_columns(opened, kept)
    asked = Columns.of(columns)
    asked = replace(asked, ignore=(*asked.ignore, *kept))
    roles = roles_for_learning(
        opened, target, weight, asked, categories=False, allow_missing=False
    )
    roles = replace(roles, kept=kept)

    def fold_keys(chunk: Chunk) -> Array:
        return hashed(chunk.table.x, cv) if fold is None else keys_in(chunk, fold)

    first_power = gaussians[0].power
    assert not isinstance(first_power, str)  # checked above
    power: PowerTransform | None = first_power
    trains, total = _training_sums(
        chunks_of(opened, roles, progress, warns=True), fold_keys, gaussians, power
    )

    def held_out_parts() -> Iterator[tuple[Hashable, Fold]]:
        for chunk in chunks_of(opened, roles, progress, warns=False):
            for key, rows in by_key(chunk.table, fold_keys(chunk)):
                yield key, _held_out(chunk.table.take(rows), trains[key], power)

    judge = judge_of(gaussians, None if refit_priors else total.weights)
    losses = _mean_losses(held_out_parts(), list(trains), len(candidates), judge)
    best = candidates[best_candidate(losses, criterion)]
    return CrossValidation(
        params=params,
        fold_losses=losses,
        criterion=criterion,
        refit_priors=refit_priors,
        absent=absences(trains.values()),
        best_estimator=clone(best).fit_moments(total),
    )


def _training_sums(
    chunks: Iterator[Chunk],
    fold_keys: Callable[[Chunk], Array],
    candidates: Sequence[GaussianFamily],
    power: PowerTransform | None,
) -> tuple[dict[Hashable, Moments], Moments]:
    """Return the moments of each fold's training rows, by key, and the moments of all rows."""
    required = required_sums(candidate.settings() for candidate in candidates)
    settings = SumSettings(required.storage, required.fourth, power=power)
    parts = sums_by_key(chunks, fold_keys, settings)
    if len(parts) < 2:
        raise InvalidInputError(
            f"the rows fall into {counted(len(parts), 'fold')}, but at least 2 folds with rows "
            "are needed: use more keys, or fewer rows for each"
        )
    total: Moments = sum(parts.values(), start=Moments.empty())
    trains = {}
    for key, train in zip(parts, sums_without(list(parts.values())), strict=True):
        trains[key], _ = aligned(train, total)
    return trains, total


def _check_candidates(candidates: Sequence[SklearnClassifier]) -> list[GaussianFamily]:
    """Return the candidates; raise unless one kind of sums suffices for all of them."""
    gaussians = []
    for candidate in candidates:
        if (
            not is_read_from_moments(candidate)
            or has_costs(candidate)
            or isinstance(candidate.power, str)
        ):
            raise InvalidParameterError(
                f"{candidate!r} cannot be evaluated from sums alone. Replace 'auto' with numbers, "
                "give the transform as a PowerTransform, and leave costs out; or use "
                "cross_validate"
            )
        gaussians.append(candidate)
    if len({joblib.hash(candidate.power) for candidate in gaussians}) > 1:
        raise InvalidParameterError(
            "all candidates of a stream must share one transform: evaluate them one by one"
        )
    return gaussians


def _mean_losses(
    held_out: Iterable[tuple[Hashable, Fold]],
    keys: Sequence[Hashable],
    n_candidates: int,
    judge: Callable[[Fold], Floats],
) -> Floats:
    """Return error, log-loss and Brier score of every candidate on every fold, (C, F, 3)."""
    totals = np.zeros((len(keys), n_candidates, 3))
    weights = np.zeros(len(keys))
    with one_blas_thread():
        for key, part in held_out:
            f = keys.index(key)
            weight = float(part.held_out.weights.sum())
            totals[f] += weight * judge(part)
            weights[f] += weight
    return np.moveaxis(totals / weights[:, None, None], 0, 1)


def hashed(x: Floats, n_folds: int) -> Codes:
    """Return the fold of each row, which depends only on the bits of its features."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)  # −0 becomes 0
    mixed = np.zeros(len(bits), np.uint64)
    # one extra round, so that the high bits of integers reach the low bits
    for column in (*bits.T, np.uint64(0)):
        mixed = (mixed ^ column) * _GOLDEN
        mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed % np.uint64(n_folds), np.intp)


def _held_out(table: Table, train: Moments, power: PowerTransform | None) -> Fold:
    """Return a chunk as held-out rows, with a fold's power transform and classes."""
    x = table.x if power is None else power.apply(table.x)
    codes = np.searchsorted(train.classes, table.classes)[table.codes]
    return Fold(train, Table(x, train.classes, codes, table.weight))
