"""Exact cross-validation of rows that do not fit in memory: two passes, whatever the grid."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from suffice.core.decision.predictions import CRITERIA
from suffice.core.estimation.recipe import collecting
from suffice.core.moments import Moments
from suffice.core.moments.merging import aligned
from suffice.core.table import Table
from suffice.core.threads import one_blas_thread
from suffice.data.columns.roles import require_columns, roles_for_learning
from suffice.data.opening import open_source
from suffice.data.options import Columns, SumSettings, TextFormat
from suffice.data.rows.loading import Chunk, chunks_of
from suffice.data.sums.groups import by_key, keys_in, sums_by_key
from suffice.errors import InvalidInputError, InvalidParameterError, require_word
from suffice.selection.validation import cross_validation as exact
from suffice.selection.validation.folds import Fold, sums_without
from suffice.typing import Codes, Floats

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, odd


def cross_validate_stream(
    estimator: Any,
    source: Any,
    target: str | None = None,
    grid: exact.ParameterPoints = None,
    cv: int = 5,
    *,
    fold: str | None = None,
    columns: Columns | Sequence[str] | None = None,
    weight: str | None = None,
    text: TextFormat | None = None,
    table: str | None = None,
    criterion: str = "log_loss",
    refit_priors: bool = True,
    progress: Callable[[int, int | None], None] | None = None,
) -> exact.CrossValidation:
    """Return the cross-validated losses of every point of a grid, in two passes over a source.

    Memory is bounded, and the answer equals that of ``cross_validate`` with the same folds. Columns
    that hold no numbers and rows with empty cells are left out, and a warning says so.

    Parameters
    ----------
    estimator : GaussianClassifier or preset
        With no setting left to "auto"; a transform must be a ``PowerTransform``.
    source, target, columns, weight, text, table, progress
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
    >>> from suffice.streams import cross_validate_stream
    >>> result = cross_validate_stream(sf.LDA(), "iris", grid={"shrinkage": [0.0, 0.1]}, cv=4)
    >>> result.best_params
    {'shrinkage': 0.0}
    """
    require_word(criterion, CRITERIA, "criterion")
    params, candidates = exact.candidates_of(estimator, grid)
    _check_candidates(candidates)
    if fold is None and cv < 2:
        raise InvalidParameterError(f"cv must be at least 2 folds, got {cv!r}")
    opened = open_source(source, text or TextFormat(), table)
    kept = () if fold is None else (fold,)
    require_columns(opened, kept)
    question = Columns.of(columns)
    question = replace(question, ignore=(*question.ignore, *kept))
    roles = roles_for_learning(
        opened, target, weight, question, categories=False, allow_missing=False
    )
    roles = replace(roles, kept=kept)

    def keys(chunk: Chunk) -> Any:
        return hashed(chunk.table.x, cv) if fold is None else keys_in(chunk, fold)

    options = collecting(c.recipe() for c in candidates)
    power = candidates[0].power
    settings = SumSettings(options["storage"], options["fourth"], power=power)
    parts = sums_by_key(chunks_of(opened, roles, progress, warns=True), keys, settings)
    total: Moments = sum(parts.values(), start=Moments.empty())
    if len(parts) < 2:
        msg = f"all rows fall into {len(parts)} fold: at least 2 folds with rows are needed"
        raise InvalidInputError(msg)
    without = sums_without(list(parts.values()))
    trains = {key: aligned(train, total)[0] for key, train in zip(parts, without, strict=True)}
    judge = exact.judge_of(candidates, None if refit_priors else total.weights)
    held_out = (
        (key, _held_out(chunk.table.take(at), trains[key], power))
        for chunk in chunks_of(opened, roles, progress, warns=False)
        for key, at in by_key(chunk.table, keys(chunk))
    )
    losses = _mean_losses(held_out, list(trains), len(candidates), judge)
    absent = exact.absences(trains.values())
    result = exact.CrossValidation(params, losses, criterion, refit_priors, absent, None)
    return replace(
        result, best_estimator=clone(candidates[result.best_index]).fit_moments(total)
    )


def _check_candidates(candidates: Sequence[Any]) -> None:
    for candidate in candidates:
        readable = exact.is_read_from_moments(candidate) and not exact.has_costs(candidate)
        if not readable or isinstance(candidate.power, str):
            raise InvalidParameterError(
                f"{candidate!r} cannot be judged from sums alone: give numbers for what is 'auto' "
                "and a PowerTransform for the transform, leave costs out, or use cross_validate"
            )
    if len({joblib.hash(c.power) for c in candidates}) > 1:
        msg = "all candidates of a stream must share one transform: judge them one by one"
        raise InvalidParameterError(msg)


def _mean_losses(
    held_out: Iterable[tuple[Any, Fold]],
    keys: Sequence[Any],
    n: int,
    judge: Callable[..., Floats],
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
    # one round more than columns, so that the high bits of whole numbers reach the low ones
    for column in (*bits.T, np.uint64(0)):
        mixed = (mixed ^ column) * _GOLDEN
        mixed ^= mixed >> np.uint64(29)
    return np.asarray(mixed % np.uint64(n_folds), np.intp)


def _held_out(table: Table, train: Moments, power: Any) -> Fold:
    x = table.x if power is None else power.apply(table.x)
    truth = np.searchsorted(train.classes, table.classes)[table.codes]
    return Fold(train, Table(x, train.classes, truth, table.weight))
