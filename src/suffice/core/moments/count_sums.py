"""The sums of counts in each class, K × d numbers; ``+`` and ``-`` add and remove rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.core.checks import is_number
from suffice.core.table.count_rows import CountRows, summed
from suffice.core.table.foreign import to_numpy
from suffice.core.table.labels import as_labels, codes_of, encode, union
from suffice.core.table.matrix import as_weights, column_name
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import counted
from suffice.errors import (
    FeatureMismatchError,
    ForgetError,
    InvalidInputError,
    InvalidParameterError,
)
from suffice.typing import Array, Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike

SMALL = 200_000  # with fewer cells, NumPy is faster than loading the compiled loops
_ROUNDING = 2.0**-46  # a smaller relative difference may be a rounding error


@dataclass(frozen=True, slots=True, eq=False)
class CountSums:
    """Weight of each of K classes, and the sum of each of d counts in it.

    N_kj = Σ_{i : y_i = k} w_i x_ij

    ``a + b`` describes the rows of ``a`` and ``b``; ``total - part`` describes the rows of
    ``total`` without the rows of ``part``. A class that only one operand has counts as a class with
    sums of zero in the other. Named features are matched by name. With a ``threshold``, the sums
    count the indicators [x_ij > threshold].

    Examples
    --------
    >>> import suffice as sf
    >>> a = sf.CountSums.of([[2, 0], [1, 1]], ["ham", "spam"])
    >>> b = sf.CountSums.of([[0, 3]], ["spam"])
    >>> (a + b).classes.tolist(), (a + b).sums.tolist()
    (['ham', 'spam'], [[2.0, 0.0], [1.0, 4.0]])
    >>> (a + b - b).sums.tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """

    classes: Labels  # sorted labels  (K,)
    feature_names: tuple[str, ...] | None
    counts: Codes  # number of rows with positive weight  (K,)
    weights: Floats  # Σ w  (K,)
    sums: Floats  # N  (K, d)
    log_factorials: Floats  # Σ w Σ_j log x_j!, for densities  (K,)
    log_totals: Floats  # Σ w log (Σ_j x_j)!, for densities  (K,)
    # None: counts are summed; otherwise the indicators [x > threshold]
    threshold: float | None = None
    has_fractions: bool = False  # whether some count is not an integer

    @classmethod
    def of(
        cls,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        threshold: float | None = None,
        classes: LabelsLike | None = None,
        names: Iterable[str] | None = None,
    ) -> CountSums:
        """Return the sums of rows ``X`` with labels ``y``, in one pass over the non-zero cells.

        Parameters
        ----------
        X : array, frame or SciPy sparse matrix (n, d)
            Counts: finite numbers that are not negative.
        y : array (n,)
            Labels: integers, floats that are integers, booleans or text.
        sample_weight : array (n,), optional
            Weights; rows with weight zero are ignored.
        threshold : float of at least 0, optional
            Sum the indicators [x > threshold] instead of the counts.
        classes : array, optional
            All classes, if some of them may be absent from ``y``.
        names : iterable of d names, optional
            Names of the features, such as the words; by default the column names of a frame.
        """
        rows = CountRows.of(X)
        labels = as_labels(to_numpy(y))
        require_as_many(rows.n_rows, len(labels))
        weight = as_weights(sample_weight, rows.n_rows)
        found, codes = encode(labels)
        if classes is not None:
            every = np.unique(as_labels(to_numpy(classes)))
            codes = codes_of(found, every)[codes]
            found = every
        feature_names = _checked_names(names, X, rows.n_features)
        return cls.of_rows(
            rows, found, codes, weight, threshold=threshold, feature_names=feature_names
        )

    @classmethod
    def of_rows(
        cls,
        rows: CountRows,
        classes: Labels,
        codes: Codes,
        weight: Floats | None = None,
        *,
        threshold: float | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> CountSums:
        """Return the sums of rows with class codes."""
        check_threshold(threshold)
        n_classes = len(classes)
        collect = _by_scipy if rows.n_cells < SMALL else _by_loops
        collected = collect(rows, codes, weight, n_classes, threshold, feature_names)
        counted_rows = codes if weight is None else codes[weight > 0]
        return cls(
            classes=classes,
            feature_names=feature_names,
            counts=np.bincount(counted_rows, minlength=n_classes).astype(np.intp),
            weights=collected.weights,
            sums=collected.sums,
            log_factorials=collected.log_factorials,
            log_totals=collected.log_totals,
            threshold=threshold,
            has_fractions=collected.has_fractions,
        ).frozen()

    def frozen(self) -> CountSums:
        """Set the arrays to read-only, and return ``self``."""
        for array in (self.counts, self.weights, self.sums):
            array.flags.writeable = False
        return self

    # --- sizes -------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_features(self) -> int:
        return int(self.sums.shape[1])

    @property
    def total_weight(self) -> float:
        """Σ w of all rows."""
        return float(self.weights.sum())

    @property
    def totals(self) -> Floats:
        """N_k = Σ_j N_kj, the sum of all counts of each class, (K,)."""
        return np.asarray(self.sums.sum(1))

    def __repr__(self) -> str:
        n_classes = counted(self.n_classes, "class")
        n_features = counted(self.n_features, "feature")
        n_rows = counted(int(self.counts.sum()), "row")
        what = "counts" if self.threshold is None else f"indicators of x > {self.threshold:g}"
        return f"CountSums({n_classes} × {n_features}, {n_rows}, {what})"

    # --- algebra -----------------------------------------------------------------------------

    def __add__(self, other: CountSums) -> CountSums:
        if not isinstance(other, CountSums):
            return NotImplemented
        a, b = _aligned(self, other)
        return replace(
            a,
            counts=a.counts + b.counts,
            weights=a.weights + b.weights,
            sums=a.sums + b.sums,
            log_factorials=a.log_factorials + b.log_factorials,
            log_totals=a.log_totals + b.log_totals,
            has_fractions=a.has_fractions or b.has_fractions,
        ).frozen()

    def __radd__(self, other: object) -> CountSums:
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        return NotImplemented

    def __sub__(self, other: CountSums) -> CountSums:
        if not isinstance(other, CountSums):
            return NotImplemented
        for label in np.setdiff1d(other.classes[other.counts > 0], self.classes).tolist():
            raise ForgetError(
                f"cannot forget rows of class {label!r}: the sums have no row of this class"
            )
        a, b = _aligned(self, other)
        counts = a.counts - b.counts
        weights = _difference(a.weights, b.weights)
        sums = _difference(a.sums, b.sums)
        _require_held(a, counts, weights, sums)
        # in a class without rows, rounding errors may be left: set its sums to zero
        is_empty = counts == 0
        weights[is_empty] = 0.0
        sums[is_empty] = 0.0
        return replace(
            a,
            counts=counts,
            weights=weights,
            sums=sums,
            log_factorials=np.where(is_empty, 0.0, a.log_factorials - b.log_factorials),
            log_totals=np.where(is_empty, 0.0, a.log_totals - b.log_totals),
        ).frozen()

    def with_features(self, names: Iterable[str]) -> CountSums:
        """Return the sums of the features with these names; a new feature has sums of zero."""
        if self.feature_names is None:
            raise FeatureMismatchError(
                "these sums have features without names: collect them with names="
            )
        wanted = tuple(names)
        position = {name: j for j, name in enumerate(wanted)}
        absent = [name for name in self.feature_names if name not in position]
        if absent:
            raise FeatureMismatchError(
                f"the names lack the feature {absent[0]!r} of the sums, which cannot be dropped: "
                "name every feature"
            )
        sums = np.zeros((self.n_classes, len(wanted)))
        sums[:, [position[name] for name in self.feature_names]] = self.sums
        return replace(self, feature_names=wanted, sums=sums).frozen()

    def without_unseen(self) -> CountSums:
        """Return the sums without features that no row with positive weight has."""
        is_seen = np.asarray(self.sums.any(axis=0))
        if self.feature_names is None or is_seen.all():
            return self
        names = tuple(n for n, seen in zip(self.feature_names, is_seen, strict=True) if seen)
        return replace(self, feature_names=names, sums=self.sums[:, is_seen]).frozen()

    def with_classes(self, classes: Labels) -> CountSums:
        """Return the sums with these sorted classes; a new class has sums of zero."""
        if np.array_equal(classes, self.classes):
            return self
        places = codes_of(self.classes, classes)

        def spread(values: Array) -> Array:
            wide = np.zeros((len(classes), *values.shape[1:]), values.dtype)
            wide[places] = values
            return wide

        return replace(
            self,
            classes=classes,
            counts=spread(self.counts),
            weights=spread(self.weights),
            sums=spread(self.sums),
            log_factorials=spread(self.log_factorials),
            log_totals=spread(self.log_totals),
        ).frozen()

    # --- files -------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the sums to one file without pickle; ``sf.load`` reads it."""
        from suffice.persistence.count_sums_file import save_count_sums

        save_count_sums(self, path)

    @classmethod
    def of_archive(cls, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CountSums:
        """Return the sums from the contents of a suffice file."""
        from suffice.persistence.count_sums_file import count_sums_from

        return count_sums_from(header, arrays)


@dataclass(frozen=True, slots=True, eq=False)
class _Collected:
    """The results of one pass over the rows."""

    weights: Floats
    sums: Floats
    log_factorials: Floats
    log_totals: Floats
    has_fractions: bool


def _by_scipy(
    rows: CountRows,
    codes: Codes,
    weight: Floats | None,
    n_classes: int,
    threshold: float | None,
    names: tuple[str, ...] | None,
) -> _Collected:
    """Return the sums as a sparse matrix product of class indicators and rows."""
    from scipy.sparse import csr_array
    from scipy.special import gammaln

    w = np.ones(rows.n_rows) if weight is None else weight
    if weight is not None:
        _require_counts_of_weighted(rows, weight, names)
    else:
        rows.require_counts(names)
    read = rows if threshold is None else rows.presence(threshold)
    values = np.where(w[read.row_of_cell] > 0, read.values, 0.0)
    used = replace(read, values=values)
    indicators = csr_array((w, (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    sums = (indicators @ used.matrix()).toarray().astype(np.float64)
    log_factorials = np.zeros(n_classes)
    log_totals = np.zeros(n_classes)
    if threshold is None:
        class_of_cell = codes[used.row_of_cell]
        cell_weights = w[used.row_of_cell]
        cell_logs = cell_weights * gammaln(values + 1.0)
        log_factorials = summed(class_of_cell, cell_logs, n_classes)
        log_totals = summed(codes, w * gammaln(used.totals() + 1.0), n_classes)
    return _Collected(
        weights=summed(codes, w, n_classes),
        sums=sums,
        log_factorials=log_factorials,
        log_totals=log_totals,
        has_fractions=bool(np.any(values != np.floor(values))),
    )


def _require_counts_of_weighted(
    rows: CountRows, weight: Floats, names: tuple[str, ...] | None
) -> None:
    """Raise unless the cells of rows with positive weight are counts."""
    is_usable = np.isfinite(rows.values) & (rows.values >= 0)
    is_usable |= weight[rows.row_of_cell] == 0
    if not is_usable.all():
        rows.refuse_cell(int(np.argmin(is_usable)), names)


def _by_loops(
    rows: CountRows,
    codes: Codes,
    weight: Floats | None,
    n_classes: int,
    threshold: float | None,
    names: tuple[str, ...] | None,
) -> _Collected:
    """Return the sums by a compiled loop, class by class, so that a class's sums stay in cache."""
    from suffice.core.compiled import read_only
    from suffice.core.moments import count_loops

    order = np.argsort(codes, kind="stable")
    w = np.zeros(0) if weight is None else weight
    cells = read_only(rows.values, rows.columns, rows.starts, order, codes, w)
    sums = np.zeros((n_classes, rows.n_features))
    weights = np.zeros(n_classes)
    log_factorials = np.zeros(n_classes)
    log_totals = np.zeros(n_classes)
    if threshold is None:
        bad, all_whole = count_loops.add_counts(
            *cells, sums, weights, log_factorials, log_totals
        )
    else:
        bad, all_whole = count_loops.add_presence(*cells, float(threshold), sums, weights)
    if bad >= 0:
        rows.refuse_cell(int(bad), names)
    return _Collected(
        weights=weights,
        sums=sums,
        log_factorials=log_factorials,
        log_totals=log_totals,
        has_fractions=not all_whole,
    )


def check_threshold(threshold: object) -> None:
    """Raise unless the threshold is None or a finite number of at least 0.

    With a negative threshold, cells that are not stored would count as present.
    """
    if threshold is None:
        return
    if not is_number(threshold) or not 0 <= threshold < np.inf:
        raise InvalidParameterError(
            f"the threshold of presence must be a number of at least 0, got {threshold!r}"
        )


def _checked_names(
    names: Iterable[str] | None, X: RowsLike, n_features: int
) -> tuple[str, ...] | None:
    if names is None:
        columns = getattr(X, "columns", None)
        if columns is None or callable(columns):
            return None
        names = (str(column) for column in columns)
    given = tuple(str(name) for name in names)
    if len(given) != n_features:
        raise InvalidInputError(
            f"names holds {counted(len(given), 'name')}, but the rows have "
            f"{counted(n_features, 'feature')}: give each feature one name"
        )
    if len(set(given)) < len(given):
        repeated = next(name for name in given if given.count(name) > 1)
        raise InvalidInputError(f"two features have the name {repeated!r}: rename one of them")
    return given


def _aligned(a: CountSums, b: CountSums) -> tuple[CountSums, CountSums]:
    """Return two sums with the same classes and features."""
    if a.threshold != b.threshold:
        raise FeatureMismatchError(
            f"one side has threshold={a.threshold}, the other threshold={b.threshold} (None sums "
            "the counts themselves): collect both with the same threshold"
        )
    if a.n_features != b.n_features:
        raise FeatureMismatchError(
            f"one side has {counted(a.n_features, 'feature')}, the other {b.n_features}: count the "
            "same features, or call with_features(names) on both"
        )
    if a.feature_names != b.feature_names and a.feature_names and b.feature_names:
        absent = set(a.feature_names) - set(b.feature_names)
        if absent:
            raise FeatureMismatchError(
                f"one side has no feature {min(absent)!r}, which the other has: count the same "
                "features, or call with_features(names) on both"
            )
        b = b.with_features(a.feature_names)
    classes = union(a.classes, b.classes)
    named = replace(a, feature_names=a.feature_names or b.feature_names)
    return named.with_classes(classes), b.with_classes(classes)


def sharing_features(a: CountSums, b: CountSums) -> tuple[CountSums, CountSums]:
    """Return both sums with the union of their features, sorted by name."""
    names = sorted({*(a.feature_names or ()), *(b.feature_names or ())})
    return a.with_features(names), b.with_features(names)


def _difference(a: Floats, b: Floats) -> Floats:
    """Return a − b, with zero for remainders that may be rounding errors of fractions."""
    rest = a - b
    is_rounding = (np.abs(rest) <= _ROUNDING * a) & (rest != np.rint(rest))
    rest[is_rounding] = 0.0
    return np.asarray(rest)


def _require_held(total: CountSums, counts: Codes, weights: Floats, sums: Floats) -> None:
    """Raise if some of the rows to forget cannot be rows of the total."""
    too_many = np.flatnonzero((counts < 0) | (weights < 0))
    if len(too_many):
        label = total.classes[too_many].tolist()[0]
        raise ForgetError(
            f"cannot forget more rows of class {label!r} than were learnt: forget only rows that "
            "were learnt before, with the weights that they had"
        )
    if sums.size and sums.min() < 0:
        k, j = np.argwhere(sums < 0)[0].tolist()
        label = total.classes[k : k + 1].tolist()[0]
        name = column_name(total.feature_names, j)
        raise ForgetError(
            f"cannot forget these rows: the sum of column {name} in class {label!r} would be "
            "negative; forget only rows that were learnt before"
        )
