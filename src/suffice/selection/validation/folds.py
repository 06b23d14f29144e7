"""Rows divided into folds, and the moments of each fold's training rows."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice.core.decision.predictions import Predictions, log_posteriors_of
from suffice.core.moments import Moments
from suffice.core.moments.collect import smallest_storage
from suffice.core.moments.schema_change import fills_of
from suffice.core.power_transform import PowerTransform, parse_power
from suffice.core.table import Table
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import all_finite, is_foreign, is_on_device, to_numpy
from suffice.core.table.labels import codes_of, encode
from suffice.core.table.matrix import as_matrix, as_weights, is_complete, is_mixed, taken
from suffice.core.table.sampling import stratified_folds, stratified_sample
from suffice.core.table.table import numbering_rows
from suffice.errors import InvalidParameterError, SufficeError
from suffice.selection.validation.copies import Copies
from suffice.selection.validation.fitting import Belonging
from suffice.selection.validation.fold_rows import (
    FoldsLike,
    Splits,
    checked_labels,
    divide,
    is_partition,
    require_two_labels,
)
from suffice.selection.validation.time_order import (
    forward_folds,
    is_forward_chain,
    require_one_order,
    time_blocks,
    time_codes,
)
from suffice.selection.validation.whole_groups import joined_groups, row_group_codes
from suffice.typing import (
    Codes,
    Flags,
    Floats,
    Labels,
    LabelsLike,
    RowsLike,
    SklearnClassifier,
    WeightsLike,
)


class Fold(NamedTuple):
    """The held-out rows of a fold, and the moments of its training rows."""

    train: Moments
    held_out: Table  # coded by the classes of ``train``


@dataclass(frozen=True, eq=False)
class Folds:
    """Labelled rows, and the training and held-out rows of each fold."""

    X: Any  # as passed by the user: an array or a frame  (n, d)
    classes: Labels  # (K,)
    codes: Codes  # class of each row  (n,)
    weight: Floats | None  # (n,)
    splits: Splits
    protocol: str = ""  # description of the splits
    groups: Codes | None = (
        None  # group of each row, with copies of a row in the same group (n,)
    )
    copies: Copies | None = None  # duplicate rows
    time: Codes | None = None  # rank of each row's time if folds hold out later rows  (n,)
    #: For each (storage, fourth): moments of the training rows, and mean seconds per fold.
    _moments: dict[tuple[str, bool], tuple[list[Moments], float]] = field(
        default_factory=dict, init=False
    )

    @classmethod
    def of(
        cls,
        X: RowsLike,
        y: LabelsLike,
        cv: FoldsLike,
        sample_weight: WeightsLike = None,
        groups: npt.ArrayLike | None = None,
        *,
        time: npt.ArrayLike | None = None,
        seed: int | None = None,
        on_device: bool = False,
    ) -> Self:
        """Return the folds for rows and labels that a user passes.

        If ``cv`` is a number of folds, a seed shuffles the rows. With ``on_device``, rows on a
        device stay there if all numbers are finite. With ``time``, each fold is predicted by a
        model of earlier rows.
        """
        rows = np.asarray(X) if isinstance(X, (list, tuple)) else X
        if not (on_device and is_on_device(rows) and all_finite(rows)):
            rows = to_numpy(rows)
        labels = checked_labels(rows, y)
        weight = as_weights(sample_weight, len(labels))
        group_codes = None if groups is None else row_group_codes(groups, labels)
        counts = np.ones(len(labels), bool) if weight is None else weight > 0
        require_two_labels(labels[counts])
        copies = copies_in(rows, labels)
        sets = None if copies is None else copies.set_of
        classes, codes = encode(labels)
        time_ranks = None
        if time is None:
            splits, protocol = divide(cv, labels, group_codes, counts, seed, sets)
        else:
            require_one_order(groups, time)
            time_ranks = time_codes(time, len(labels))
            splits, protocol = _forward(cv, time_ranks, codes, counts, copies)
            if len(np.unique(time_ranks)) < len(labels):
                # rows with the same time are treated as a group, because they are not independent
                group_codes = time_ranks
        if sets is not None:
            group_codes = joined_groups(group_codes, sets)
        return cls(
            X=rows,
            classes=classes,
            codes=codes,
            weight=weight,
            splits=splits,
            protocol=protocol,
            groups=group_codes,
            copies=copies,
            time=time_ranks,
        )

    @classmethod
    def stratified(cls, table: Table, n_folds: int, seed: int) -> Self:
        """Return stratified folds, over which even small classes are evenly distributed."""
        return cls(
            X=table.x,
            classes=table.classes,
            codes=table.codes,
            weight=table.weight,
            splits=tuple(search_folds(table, n_folds, seed)),
        )

    @cached_property
    def table(self) -> Table:
        """The rows as a numeric table."""
        x = self.X if is_foreign(self.X) else as_matrix(self.X)[0]
        return Table(x, self.classes, self.codes, self.weight)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the rows are a dense numeric table without missing values."""
        if is_foreign(self.X):
            return True
        if is_sparse(self.X):
            return False
        return not is_mixed(self.X) and bool(is_complete(self.X).all())

    @cached_property
    def judged_rows(self) -> Codes:
        """Indices of the rows that are held out in at least one fold."""
        return np.unique(np.concatenate([test for _, test in self.splits]))

    @property
    def overlap(self) -> float:
        """Number of held-out rows divided by the number of training rows; 0 for a single fold."""
        if len(self.splits) == 1:
            return 0.0
        n_train = np.mean([len(train) for train, _ in self.splits])
        return float(len(self.judged_rows) / n_train)

    def sampled(self, n_rows: int, seed: int) -> Self:
        """Return the same folds, restricted to a stratified sample of about ``n_rows`` rows."""
        is_kept = np.zeros(len(self.codes), bool)
        is_kept[stratified_sample(self.codes, n_rows, seed)] = True
        splits = [(train[is_kept[train]], test[is_kept[test]]) for train, test in self.splits]
        return replace(self, splits=tuple(splits))

    def moments(self, storage: str, *, fourth: bool) -> tuple[list[Moments], float]:
        """Return the moments of every fold's training rows, and the mean seconds per fold."""
        key = storage, fourth
        if key not in self._moments:
            started = time.perf_counter()
            moments = self._collect(storage, fourth=fourth)
            seconds = time.perf_counter() - started
            self._moments[key] = moments, seconds / len(moments)
        return self._moments[key]

    def _collect(self, storage: str, *, fourth: bool) -> list[Moments]:
        """Return the moments of every fold's training rows."""
        n_rows = max(len(train) for train, _ in self.splits)
        n_features = self.table.x.shape[1]
        storage = smallest_storage(storage, n_rows, len(self.classes), n_features)

        def moments_of(rows: Codes) -> Moments:
            return Moments.of_table(
                self.table.take(rows), storage=storage, fourth=fourth, higher=False
            )

        with numbering_rows(self.table):
            # for this storage, adding the moments of folds would not be faster
            if storage == "rows":
                return [moments_of(train) for train, _ in self.splits]
            if is_partition(self.splits, len(self.codes)):
                return sums_without([moments_of(test) for _, test in self.splits])
            if is_forward_chain(self.splits):
                later = [moments_of(test) for _, test in self.splits[:-1]]
                return list(accumulate([moments_of(self.splits[0][0]), *later], add))
            return [moments_of(train) for train, _ in self.splits]

    def each(self, storage: str, *, fourth: bool) -> list[Fold]:
        """Return every fold: the moments of its training rows, and its held-out rows."""
        trains, _ = self.moments(storage, fourth=fourth)
        return [
            Fold(train, self.table.take(test))
            for train, (_, test) in zip(trains, self.splits, strict=True)
        ]

    def training(self, fold: int) -> tuple[RowsLike, Labels, Floats | None]:
        """Return a fold's training rows in their original form, their labels and weights."""
        train, _ = self.splits[fold]
        weight = None if self.weight is None else self.weight[train]
        return taken(self.X, train), self.classes[self.codes[train]], weight

    def belonging(self, fold: int) -> Belonging:
        """Return the groups or times of a fold's training rows, which a search within it needs."""
        train, _ = self.splits[fold]
        if self.time is not None:
            return Belonging(time=self.time[train])
        return Belonging(groups=None if self.groups is None else self.groups[train])

    def predictions(
        self,
        fold: int,
        fitted: SklearnClassifier,
        rows: RowsLike,
        labels: Labels | None = None,
    ) -> Predictions:
        """Return the predictions for held-out ``rows``, given in the form the classifier needs.

        ``labels`` are the predicted labels, if they were computed before.
        """
        _, test = self.splits[fold]
        logs = log_posteriors_of(fitted, rows, self.classes)
        if labels is None:
            labels = fitted.predict(rows) if logs is None else self.classes[logs.argmax(1)]
        return Predictions(
            classes=self.classes,
            truth=self.codes[test],
            predicted=codes_of(labels, self.classes, strict=False),
            logs=logs,
            rows=test,
            weight=None if self.weight is None else self.weight[test],
        )


def _forward(
    cv: FoldsLike,
    times: Codes,
    codes: Codes,
    counts: Flags,
    copies: Copies | None,
) -> tuple[Splits, str]:
    """Return folds of later rows predicted from earlier rows, and their description."""
    if not isinstance(cv, (int, np.integer)):
        raise InvalidParameterError(
            f"time needs a number of blocks, got cv={cv!r}: give cv=5, or leave time out"
        )
    rows = np.flatnonzero(counts)
    if copies is not None:
        copies = copies.among(rows)
    folds = forward_folds(times[rows], codes[rows], int(cv), copies)
    splits = tuple((rows[train], rows[test]) for train, test in folds)
    return (
        splits,
        f"{len(splits)} blocks of later rows, each predicted from the rows before it",
    )


def search_folds(
    table: Table,
    n_folds: int,
    seed: int,
    belonging: Belonging | None = None,
) -> list[tuple[Codes, Codes]]:
    """Return the folds of a search, with identical rows and whole groups in one fold.

    With times, the folds are consecutive blocks of time.
    """
    belonging = belonging or Belonging()
    if belonging.time is not None:
        blocks = time_blocks(belonging.time, n_folds + 1)
        tests = [np.flatnonzero(blocks == block) for block in range(int(blocks.max()) + 1)]
        starts = np.cumsum([0, *[len(test) for test in tests]])
        order = np.concatenate(tests)
        return [(order[:start], test) for start, test in zip(starts[:-1], tests, strict=True)]
    copies = Copies.of(table)
    together = belonging.groups
    if copies is not None:
        together = joined_groups(together, copies.set_of)
    if together is None:
        return stratified_folds(table.codes, n_folds, seed)
    n_sets = len(np.unique(together))
    n_folds = max(min(n_folds, n_sets if copies is None else n_sets // 2), 2)
    return stratified_folds(table.codes, n_folds, seed, together)


def copies_in(rows: Any, labels: Labels) -> Copies | None:
    """Return the duplicate rows; None for rows on a device, which are not searched."""
    if is_on_device(rows):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ``fit`` warns about the same columns
        try:
            table = Table.of(rows, labels)
        except SufficeError:
            return None  # a numeric model cannot read these columns
    return Copies.of(table)


def sums_without(parts: Sequence[Moments]) -> list[Moments]:
    """Return, for each of at least two parts, the sum of all other parts.

    Only additions are used, so that no digits cancel.
    """
    before = list(accumulate(parts[:-1], add))  # before[i] = parts[0] + … + parts[i]
    after = list(accumulate(reversed(parts[1:]), add))[::-1]  # after[i] = parts[i + 1] + …
    between = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *between, before[-1]]


def power_transformed(table: Table, power: PowerTransform | str | None) -> Table:
    """Return a table under a power transform, which leaks nothing because it ignores labels."""
    if power is None:
        return table
    table = table.with_rows(to_numpy(table.x), table.names)
    transform = parse_power(power, table)
    transformed = table.with_rows(transform.about_centre(table.x), table.names)
    if table.schema is None:
        return transformed
    fills = fills_of(table.schema, transform) - transform.centre[table.schema.filled]
    return replace(transformed, schema=table.schema.with_fills(fills))
