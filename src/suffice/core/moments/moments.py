"""The sums of each class: weight, mean and scatter; ``+`` and ``-`` add and remove rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np

from suffice.core.linalg import resolved
from suffice.core.moments import device
from suffice.core.moments.collect import (
    SMALLEST,
    ChunkSums,
    collect,
    log_slope_sums,
    plan,
    ratio,
    refuse_vanishing,
    smallest_storage,
)
from suffice.core.moments.exact_products import (
    exact_sums,
    refuse_incomplete,
    warn_of_coarse_grid,
)
from suffice.core.moments.exact_sums import ExactSums
from suffice.core.moments.forgetting import check_held
from suffice.core.moments.higher_moments import HigherMoments, PowerSums
from suffice.core.moments.incomplete import (
    Incomplete,
    combined,
    forgotten,
    incomplete_sums,
    with_patterns,
)
from suffice.core.moments.merging import aligned, check_features, merged, some_features
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.core.moments.scatter import FourthMoments, Scatter, Storage
from suffice.core.moments.schema_change import (
    mean_filled,
    mean_filled_pair,
    without_filled_cells,
)
from suffice.core.moments.validity import (
    is_finite,
    refuse_overflow,
    refuse_weights,
    without_overflown_fourth,
)
from suffice.core.power_transform import PowerTransform, parse_power
from suffice.core.table import Table
from suffice.core.table.foreign import DeviceArray, is_foreign, is_on_device, to_numpy
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.labels import as_labels
from suffice.core.table.matrix import (
    column_name,
    column_position,
    has_missing,
    refuse_nonfinite,
    refuse_unusable,
)
from suffice.core.table.notation import Notations, merged_notations
from suffice.core.table.schema import Schema
from suffice.core.text.lists import noun_for
from suffice.core.text.tables import first_rows, html_table, titled_html
from suffice.core.threads import at_most
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    require_word,
)
from suffice.typing import (
    Array,
    Codes,
    Flags,
    Floats,
    Labels,
    LabelsLike,
    RowsLike,
    WeightsLike,
)

_FIRST_ROWS = 4096  # rows that are searched for missing numbers before all rows are summed


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Weight, mean and centred scatter of each of K classes in d features.

    For the rows i of class k (y_i = k), which have weights w_i:

        w_k = Σ_i w_i,   μ_k = Σ_i w_i x_i / w_k,   M_k = Σ_i w_i (x_i − μ_k)(x_i − μ_k)ᵀ

    ``a + b`` describes the rows of ``a`` and ``b``; the order and the grouping of sums do not
    matter. ``total - part`` describes the rows of ``total`` without the rows of ``part``. Adding
    ``Moments.empty()`` changes nothing. The scatter of a class is about the mean of the class, and
    each mean is the sum of two floats, a high and a low part: sums about the origin would lose all
    precision if the mean is large.

    Users read ``classes``, ``feature_names``, ``counts``, ``weights``, ``means``, ``scatters``,
    ``covariances``, ``n_classes`` and ``n_features``. All other attributes are internal and may
    change.

    Chan, Golub & LeVeque (1983), *The American Statistician* 37(3), 242–247.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([[0.0], [2.0], [5.0]]), np.array(["a", "a", "b"])
    >>> m = Moments.of(x, y)
    >>> m.classes.tolist(), m.means.ravel().tolist(), m.scatters.ravel().tolist()
    (['a', 'b'], [1.0, 5.0], [2.0, 0.0])
    >>> (m + m - m).weights.tolist()
    [2.0, 1.0]
    """

    classes: Labels  # sorted labels  (K,)
    feature_names: tuple[str, ...] | None
    counts: Codes  # number of rows with positive weight  (K,)
    weights: Floats  # Σ w  (K,)
    means: Floats  # μ, high part  (K, d)
    means_low: Floats  # μ, low part  (K, d)
    scatter: Scatter  # M, in one of four storages
    fourth: FourthMoments | None  # fourth moments, for the shrinkage of Ledoit and Wolf
    power: PowerTransform | None = None  # t, if the rows were transformed before summing
    # Σ w log dt_j/dx_j, which densities in the original units need  (K, d)
    log_slopes: Floats | None = None
    schema: Schema | None = None  # the columns of a mixed table; None if all are numeric
    patterns: Incomplete | None = None  # the sums by observed columns, if numbers are missing
    # largest Σ w (x − μ)² before rows were forgotten  (K, d)
    peaks: Floats | None = None
    notations: Notations | None = None  # notations of numbers and dates in text files
    # the exact sums as integers on a grid, if these were asked for
    exact: ExactSums | None = None
    # Σ w (x − μ)³ and Σ w (x − μ)⁴ of each numeric column, over all classes
    higher: HigherMoments | None = None

    @classmethod
    def of(
        cls,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        storage: str = "auto",
        fourth: bool | None = None,
        classes: LabelsLike | None = None,
        power: PowerTransform | str | None = None,
        categorical: Sequence[int | str] | str | None = None,
        missing: str = "marginal",
        names: Sequence[str] | None = None,
        max_patterns: int | None = None,
        exact: RoundingGrid | Literal["auto"] | None = None,
        n_jobs: int | None = None,
    ) -> Moments:
        """Return the sums of rows ``X`` with labels ``y``, in one pass.

        An infinite number raises an error that names its row and column. A masked cell of a NumPy
        array is a missing value.

        Parameters
        ----------
        X : array or frame (n, d)
            NumPy array, or a pandas, polars or pyarrow table, whose column names are kept. Text,
            Booleans and a library's own categories become an indicator for each level.
        y : array (n,)
            Labels: integers, floats that are integers, booleans or text.
        sample_weight : array (n,), optional
            Weights; rows with weight zero are ignored.
        storage : {"auto", "per-class", "pooled", "diagonal", "rows"}
            Which scatter to keep. ``"auto"`` keeps a matrix per class if these matrices are
            small, otherwise one pooled matrix. If there are fewer rows than features, the rows
            themselves are kept in place of large matrices.
        fourth : bool, optional
            Whether to keep the fourth moments that ``shrinkage="ledoit-wolf"`` needs. By default
            they are kept if a matrix per class is small.
        classes : array, optional
            All labels, if known in advance; a class without rows gets weight zero.
        power : None, "yeo-johnson" or PowerTransform, optional
            Sum the rows after a power transform, which is fitted to these rows or given.
        categorical : list of columns, optional
            Numeric columns to treat as categories, by name or position.
        names : list of str, optional
            Names of the columns of an array, used if some columns are categories.
        missing : {"marginal", "indicator", "refuse"}
            What to do with missing numbers. ``"marginal"`` keeps sums by pattern of observed
            columns, which EM needs. ``"indicator"`` fills a missing number with the mean of its
            column and adds an indicator. ``"refuse"`` raises an error.
        max_patterns : int, optional
            Largest number of patterns of missing numbers per class. Rare patterns then lose
            numbers, and ``cells_lost`` counts the lost numbers. By default all patterns are exact.
        exact : RoundingGrid or "auto", optional
            Round every value to a grid and sum integers. Then ``+`` and ``-`` give the same bits in
            any order, and ``digest`` identifies the sums. ``"auto"`` creates a grid around these
            rows; all parts of a total must use the same grid. All columns must be numeric without
            missing values, weights must be integers, and fourth moments are not kept.
        n_jobs : int, optional
            Number of threads, −1 for all cores; the result has the same bits for any number.
        """
        require_word(missing, ("marginal", "indicator", "refuse"), "missing")
        is_count = isinstance(max_patterns, Integral) and max_patterns > 0
        if max_patterns is not None and not is_count:
            raise InvalidParameterError(
                f"max_patterns must be None or an integer of at least 1, got {max_patterns!r}"
            )
        if is_foreign(X):
            has_sums = storage != "rows" and exact is None
            if power is None and categorical is None and not fourth and has_sums:
                on_device = _of_device_rows(X, y, sample_weight, classes, storage)
                if on_device is not None:
                    return on_device
            X = to_numpy(X)
            y = to_numpy(y)
            sample_weight = to_numpy(sample_weight)
        with at_most(n_jobs):
            table = Table.of(
                X,
                y,
                sample_weight,
                classes=classes,
                categorical=categorical,
                missing="indicator" if missing == "indicator" else "marginal",
                names=names,
            )
            if exact is not None:
                return _of_exact(
                    table, storage, exact, fourth=fourth, power=power, numbered=True
                )
            if storage == "auto":
                storage = smallest_storage(storage, *_sizes(table))
            return cls.of_table(
                table,
                storage=storage,
                fourth=fourth,
                power=power,
                holes=missing != "refuse",
                max_patterns=max_patterns,
            )

    @classmethod
    def of_table(
        cls,
        table: Table,
        *,
        storage: str = "auto",
        fourth: bool | None = None,
        power: PowerTransform | str | None = None,
        holes: bool = False,
        max_patterns: int | None = None,
        exact: RoundingGrid | None = None,
        higher: bool = True,
    ) -> Moments:
        """Return the sums of a labelled table; see ``of``.

        Missing numbers raise an error unless ``holes`` is true. Unless ``higher`` is true, the
        third and fourth moments of single columns, which only tests of drift and of covariances
        use, are not collected.
        """
        if exact is not None:
            return _of_exact(table, storage, exact, fourth=fourth, power=power, numbered=False)
        if is_foreign(table.x):
            has_plain_sums = power is None and not fourth and storage != "rows"
            on_device = _of_device_table(table, storage) if has_plain_sums else None
            if on_device is not None:
                return on_device
            table = table.with_rows(to_numpy(table.x), table.names)
        storage = _storage_of(table, storage, fourth=fourth)
        chosen, with_fourth = plan(storage, table.n_classes, table.n_features, fourth=fourth)
        if table.schema is not None and not fourth:
            with_fourth = False  # fourth moments of indicators are large and rarely read
        transform = None if power is None else parse_power(power, table)
        if holes and has_missing(table.x[:_FIRST_ROWS]):
            return _of_incomplete(table, chosen, transform, max_patterns, fourth=fourth)
        chunks = collect(table, chosen, fourth=with_fourth, power=transform, higher=higher)
        total = _total(table.classes, table.names, chunks)
        if not is_finite(total):
            if holes and has_missing(table.x):
                return _of_incomplete(table, chosen, transform, max_patterns, fourth=fourth)
            rows = _usable_rows(table)
            return cls.of_table(
                rows, storage=storage, fourth=fourth, power=transform, higher=higher
            )
        _refuse_lost_digits(total, table)
        counted = _counted(without_overflown_fourth(total), table)
        total = without_filled_cells(counted)
        return _finished(total, with_fourth=with_fourth, is_required=bool(fourth))

    @classmethod
    def empty(
        cls,
        classes: LabelsLike = (),
        n_features: int = 0,
        *,
        storage: str = "per-class",
    ) -> Moments:
        """Return moments without rows: the identity of ``+``."""
        no_rows = np.zeros((0, n_features))
        labels = np.unique(as_labels(classes)) if np.size(classes) else np.zeros(0, np.int64)
        return cls.of(no_rows, labels[:0], storage=storage, fourth=False, classes=labels)

    @classmethod
    def of_archive(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Moments:
        """Return the moments from the contents of a file, after checking shapes and values."""
        from suffice.persistence.moments_file import moments_from

        return moments_from(header, arrays)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.means.shape[1])

    @property
    def scatters(self) -> Floats:
        """M_k of each class, shape (K, d, d)."""
        return self.scatter.per_class()

    @property
    def covariances(self) -> Floats:
        """M_k / w_k of each class, shape (K, d, d), or zero for classes without rows."""
        return ratio(self.scatters, self.weights[:, None, None])

    @property
    def storage(self) -> Storage:
        """Storage of the scatter: ``"per-class"``, ``"pooled"``, ``"diagonal"`` or ``"rows"``."""
        return self.scatter.storage

    @property
    def cells_lost(self) -> int:
        """Number of values dropped to keep at most ``max_patterns`` patterns per class."""
        return 0 if self.patterns is None else int(self.patterns.lost.sum())

    @property
    def pooled_scatter(self) -> Floats:
        """Σ_k M_k, shape (d, d)."""
        return self.scatter.pooled()

    @property
    def diagonals(self) -> Floats:
        """Sums of squares about the class means, shape (K, d)."""
        return self.scatter.diagonals()

    @property
    def total_weight(self) -> float:
        """Σ_k w_k."""
        return float(self.weights.sum())

    @property
    def grand_mean(self) -> Floats:
        """Mean of all rows, shape (d,)."""
        if not self.total_weight:
            return np.zeros(self.n_features)
        pivot = self.means[np.argmax(self.weights)]
        share = self.weights / self.total_weight
        return np.asarray(pivot + share @ ((self.means - pivot) + self.means_low))

    @property
    def centred_means(self) -> Floats:
        """μ_k minus the grand mean, with full precision, zero for empty classes, shape (K, d)."""
        centred = (self.means - self.grand_mean) + self.means_low
        return np.where(self.weights[:, None] > 0, centred, 0.0)

    @property
    def total_variances(self) -> Floats:
        """Variance of each feature over all rows, zero if the feature is constant, shape (d,)."""
        between = (self.weights[:, None] * self.centred_means**2).sum(0)
        weight = max(self.total_weight, np.finfo(float).tiny)
        total = (self.scatter.pooled_diagonal() + between) / weight
        return resolved(total, self.grand_mean, total)

    @property
    def between_scatter(self) -> Floats:
        """Σ_k w_k (μ_k − μ)(μ_k − μ)ᵀ, shape (d, d)."""
        centred = self.centred_means
        return np.asarray((self.weights[:, None] * centred).T @ centred)

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of the columns for a model, or None if all columns are numeric."""
        if self.schema is None:
            return None
        level_weights = self.weights @ self.means[:, self.schema.n_numbers :]
        return Encoding.of(self.schema, level_weights)

    def required_fourth(self) -> FourthMoments:
        """Return the fourth moments, or raise if they were not collected."""
        if self.fourth is None:
            raise MissingStatisticsError(
                "shrinkage='ledoit-wolf' needs fourth moments, but these moments have none, or "
                "lost their precision when outliers were forgotten: collect them with "
                "fourth=True, or use shrinkage='oas'"
            )
        return self.fourth

    def select(self, columns: Sequence[int | str] | Codes | Flags) -> Moments:
        """Return the sums of some features, by position, name or mask, as numeric columns."""
        wanted = np.asarray(columns)
        if wanted.dtype == bool and wanted.shape == (self.n_features,):
            wanted = np.flatnonzero(wanted)
        positions = [
            column_position(column, self.feature_names, self.n_features, "feature")
            for column in wanted.tolist()
        ]
        return some_features(self, np.array(positions, np.intp))

    def digest(self) -> str:
        """Return the SHA-256 of exact sums; equal rows give equal digests in any order."""
        if self.exact is None:
            raise MissingStatisticsError(
                "only exact sums have a digest, because the last bits of ordinary sums depend on "
                "the order of the rows: collect them with exact=grid"
            )
        return self.exact.digest(self.feature_names)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.exact is not None or other.exact is not None:
            return _combined_exactly(self, other, 1)
        a, b = aligned(self, other)
        a, b = mean_filled_pair(a, b, 1.0)
        # a check below reports an overflow with its class and column
        with np.errstate(invalid="ignore", over="ignore"):
            total = combined(a, b)
        notations = merged_notations(self.notations, other.notations)
        return refuse_overflow(replace(total, notations=notations))

    def __radd__(self, other: object) -> Moments:
        """Return the moments themselves for ``0 + moments``, with which ``sum(parts)`` starts."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.exact is not None or other.exact is not None:
            return _combined_exactly(self, other, -1)
        total, part = aligned(self, other)
        total, part = mean_filled_pair(total, part, -1.0)
        check_held(total, part)
        with np.errstate(invalid="ignore", over="ignore"):
            rest = forgotten(total, part)
        return refuse_overflow(replace(rest, notations=self.notations))

    def save(self, path: str | Path) -> None:
        """Write a ``.moments`` file: a zip of arrays and a JSON header, without pickle."""
        from suffice.persistence import archive
        from suffice.persistence.moments_file import KIND, checked_state

        header, arrays = checked_state(self)
        archive.write(path, KIND, header, arrays)

    def _repr_html_(self) -> str:
        names = self.feature_names or tuple(str(j) for j in range(self.n_features))
        names = tuple(first_rows(names))
        head = ["class", "rows", "weight", *(f"mean of {name}" for name in names)]
        rows = []
        for k, label in enumerate(first_rows(self.classes.tolist())):
            means = self.means[k, : len(names)].tolist()
            rows.append([label, int(self.counts[k]), float(self.weights[k]), *means])
        return titled_html(repr(self), html_table(head, rows))

    def __repr__(self) -> str:
        n_rows = int(self.counts.sum())
        return (
            f"Moments({self.n_classes} {noun_for(self.n_classes, 'class')} × {self.n_features} "
            f"{noun_for(self.n_features, 'feature')}, {n_rows} {noun_for(n_rows, 'row')}, weight "
            f"{self.total_weight:g}, {self.storage} scatter)"
        )


def _sizes(table: Table) -> tuple[int, int, int]:
    """Return the numbers of rows, classes and features."""
    return table.n_rows, table.n_classes, table.n_features


def _storage_of(table: Table, storage: str, *, fourth: bool | None) -> str:
    """Return the storage to use; rows are kept only if all their columns are numeric."""
    if storage != "rows" or (table.schema is None and not has_missing(table.x)):
        return storage
    return "per-class" if fourth else "auto"


def _refuse_lost_digits(total: Moments, table: Table) -> None:
    """Raise if sums of squares underflow, or if the sum of the weights overflows."""
    if total.power is None:
        refuse_vanishing(table, total.means, total.scatter.pooled_diagonal())
    refuse_weights(total)


def _of_exact(
    table: Table,
    storage: str,
    grid: RoundingGrid | Literal["auto"],
    *,
    fourth: bool | None,
    power: PowerTransform | str | None,
    numbered: bool,
) -> Moments:
    """Return the moments of a table, computed from its exact sums."""
    if fourth:
        raise InvalidParameterError(
            "exact sums hold no fourth moments: leave out fourth=True, or collect ordinary sums"
        )
    if power is not None:
        raise InvalidParameterError(
            "exact sums cannot be collected from transformed rows: leave out power, or collect "
            "ordinary sums"
        )
    if is_foreign(table.x):
        table = table.with_rows(to_numpy(table.x), table.names)
    refuse_incomplete(table)
    chosen, _ = plan(storage, table.n_classes, table.n_features, fourth=False)
    if isinstance(grid, str):
        require_word(grid, ("auto",), "exact")
        grid = RoundingGrid.around(table.x[table.weights > 0])
    sums = exact_sums(table, grid, chosen, numbered=numbered)
    if numbered:
        warn_of_coarse_grid(grid, table.x, table.names)
    return from_exact(sums, table.names)


def from_exact(exact: ExactSums, feature_names: tuple[str, ...] | None) -> Moments:
    """Return the moments computed from exact sums."""
    means, means_low = exact.means()
    return Moments(
        classes=exact.classes,
        feature_names=feature_names,
        counts=exact.counts,
        weights=exact.weights.astype(np.float64),
        means=means,
        means_low=means_low,
        scatter=exact.scatter(),
        fourth=None,
        exact=exact,
    )


def _combined_exactly(a: Moments, b: Moments, sign: int) -> Moments:
    """Return a + b, or a − b if ``sign`` is −1, or raise if only one side has exact sums."""
    if not b.n_classes and not b.n_features:
        return a
    if sign > 0 and not a.n_classes and not a.n_features:
        return b
    check_features(a, b)
    if a.exact is None or b.exact is None:
        raise FeatureMismatchError(
            "one side has exact sums and the other does not: collect both on the same grid"
        )
    total = a.exact + b.exact if sign > 0 else a.exact - b.exact
    notations = merged_notations(a.notations, b.notations) if sign > 0 else a.notations
    return replace(from_exact(total, a.feature_names or b.feature_names), notations=notations)


def _total(
    classes: Labels,
    names: tuple[str, ...] | None,
    chunks: Iterable[ChunkSums],
) -> Moments:
    """Return the total of the chunks, without numbers of rows, which ``_counted`` adds."""
    no_counts = np.zeros(len(classes), np.intp)
    total: Moments | None = None
    higher: list[HigherMoments | PowerSums | None] = []
    # a later check reports an overflow with its row and column
    with np.errstate(invalid="ignore", over="ignore"):
        for sums in chunks:
            part = Moments(
                classes=classes,
                feature_names=names,
                counts=no_counts,
                weights=sums.weights,
                means=sums.means,
                means_low=sums.means_low,
                scatter=sums.scatter,
                fourth=sums.fourth,
                power=sums.power,
                log_slopes=sums.log_slopes,
            )
            total = part if total is None else merged(total, part)
            higher.append(sums.higher)
        assert total is not None  # an empty table gives one chunk
        # merge all higher moments at once: one merge per chunk would take longer than summing it
        return replace(total, higher=HigherMoments.of_chunks(higher))


def _counted(total: Moments, table: Table) -> Moments:
    """Return the sums of a table, with its counts of rows and its schema added."""
    # without weights, the weight of a class is its number of rows
    is_weighted = table.weight is not None
    counts = table.class_counts if is_weighted else total.weights.astype(np.intp)
    return replace(total, counts=counts, schema=table.schema)


def _of_device_rows(
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike,
    classes: LabelsLike | None,
    storage: str,
) -> Moments | None:
    """Return the sums of rows on a device, or None if they must be computed on the host."""
    if not is_on_device(X) or not X.shape[0]:
        return None
    labels, codes = device.device_labels(X, y, classes)
    return _of_device(X, labels, codes, sample_weight, storage, None)


def _of_device_table(table: Table, storage: str) -> Moments | None:
    if not is_on_device(table.x) or not table.n_rows:
        return None
    codes = device.device_codes(table.x, table.codes, table.n_classes)
    return _of_device(table.x, table.classes, codes, table.weight, storage, table.names)


def _of_device(
    x: DeviceArray,
    labels: Labels,
    codes: DeviceArray,
    sample_weight: WeightsLike,
    storage: str,
    names: tuple[str, ...] | None,
) -> Moments | None:
    weights = device.device_weights(x, sample_weight)
    chosen, _ = plan(storage, len(labels), x.shape[1], fourth=False)
    total = _total(labels, names, device.device_sums(x, codes, weights, len(labels), chosen))
    vanishing = np.flatnonzero(total.scatter.pooled_diagonal() < SMALLEST)
    if not is_finite(total) or not device.is_constant(x, vanishing):
        return None
    if weights is None:
        counts = total.weights.astype(np.intp)
    else:
        counts = device.device_counts(codes, weights, len(labels))
    return replace(total, counts=counts)


def _usable_rows(table: Table) -> Table:
    """Return the rows with positive weight, or raise if one makes the sums infinite or NaN."""
    if not table.has_absent_rows:
        refuse_unusable(table.x, table.names, table.weight)
    refuse_nonfinite(table.x, table.names, table.weight)
    return table.take(table.weights > 0)


def _of_incomplete(
    table: Table,
    storage: Storage,
    power: PowerTransform | None,
    max_patterns: int | None,
    *,
    fourth: bool | None,
) -> Moments:
    """Return the sums of a table with missing numbers."""
    if fourth:
        row, column = np.argwhere(np.isnan(table.x))[0]
        raise InvalidInputError(
            f"fourth=True needs complete rows, but row {row} has no number in column "
            f"{column_name(table.names, column)}: impute it, drop the row, or leave fourth out"
        )
    empty = Moments.of_table(table.take(slice(0)), storage=storage, fourth=False)
    rows = table.take(table.weights > 0) if table.has_absent_rows else table
    if power is not None:
        empty = replace(
            empty,
            power=power.among(np.arange(power.n_features), table.n_features),
            log_slopes=log_slope_sums(power, rows),
        )
        rows = rows.with_rows(power.apply(rows.x), rows.names)
    counts = rows.class_counts
    weights = counts.astype(np.float64) if rows.weight is None else rows.class_weights
    total = replace(empty, counts=counts, weights=weights)
    # a check below reports an overflow with its row and column
    with np.errstate(invalid="ignore", over="ignore"):
        patterns, higher = incomplete_sums(rows, empty, storage, max_patterns)
        total = replace(with_patterns(total, patterns, storage), higher=higher)
    if not (np.isfinite(total.means).all() and np.isfinite(total.scatter.values).all()):
        observed = np.where(np.isnan(table.x), 0.0, table.x)
        refuse_unusable(observed, table.names, table.weight)
    return refuse_overflow(total)


def _finished(total: Moments, *, with_fourth: bool, is_required: bool) -> Moments:
    """Return the sums with missing numbers filled with means.

    If ``is_required``, raise if the fourth moments have overflowed.
    """
    if not with_fourth:
        return mean_filled(total)
    if is_required and total.fourth is None:
        column = int(np.argmax(total.scatter.pooled_diagonal()))
        raise InvalidInputError(
            "fourth=True cannot be kept: the fourth powers of column "
            f"{column_name(total.feature_names, column)} overflow: rescale the column, or use "
            "shrinkage='oas', which needs no fourth powers"
        )
    return total
