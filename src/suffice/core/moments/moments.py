"""The sums of each class, as a commutative monoid under ``+`` that ``-`` undoes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from suffice.core.linalg import resolved
from suffice.core.moments import device, merging
from suffice.core.moments.collect import SMALLEST, ChunkSums, collect, plan, refuse_vanishing
from suffice.core.moments.patterns import (
    Incomplete,
    combined,
    forgotten,
    kind_of,
    with_patterns,
)
from suffice.core.moments.scatter import FourthMoments, Scatter
from suffice.core.power_transform import PowerTransform, parse_power, summed_log_slopes
from suffice.core.table import Table
from suffice.core.table.foreign import is_foreign, is_on_device, to_numpy
from suffice.core.table.labels import as_labels
from suffice.core.table.matrix import (
    column_position,
    has_missing,
    refuse_nonfinite,
    refuse_unusable,
)
from suffice.core.table.schema import Encoding, Schema
from suffice.core.text import tables as notebook
from suffice.core.threads import at_most
from suffice.errors import InvalidParameterError, MissingStatisticsError, require_word
from suffice.persistence import archive
from suffice.persistence.moments_file import KIND, arrays_of, fields_from, header_of
from suffice.typing import Codes, Flags, Floats, Labels

_FIRST_ROWS = 4096  # looked at for empty cells before the pass


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Weight, mean and centred scatter of each of K classes in d features.

    S_k = Σ_{i : y_i = k} w_i (x_i − μ_k)(x_i − μ_k)ᵀ

    ``a + b`` describes the rows of both, whatever the order or grouping; ``total - part``
    describes the rows of ``total`` without those of ``part``; ``Moments.empty()`` changes
    nothing. Scatter is kept about each class's own mean, and means in two parts (high and low),
    because sums about the origin lose every digit once the mean is large.

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
    counts: Codes  # rows of positive weight  (K,)
    weights: Floats  # Σ w  (K,)
    means: Floats  # μ, high part  (K, d)
    means_low: Floats  # μ, low part  (K, d)
    scatter: Scatter  # S, in one of three storages
    fourth: FourthMoments | None  # what the Ledoit–Wolf intensity needs
    power: PowerTransform | None = None  # t, where the rows that were summed were transformed
    log_slopes: Floats | None = None  # Σ w log dt_j/dx_j, for densities in their units  (K, d)
    schema: Schema | None = None  # of the columns, where not all are numbers
    patterns: Incomplete | None = None  # where numbers are missing: sums by observed columns
    peaks: Floats | None = (
        None  # greatest Σ w (x − μ)² held before rows were forgotten  (K, d)
    )

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        storage: str = "auto",
        fourth: bool | None = None,
        classes: Any = None,
        power: Any = None,
        categorical: Any = None,
        missing: str = "marginal",
        names: Any = None,
        max_patterns: int | None = None,
        n_jobs: int | None = None,
    ) -> Moments:
        """Return the sums of rows ``X`` with labels ``y``, in one pass.

        Parameters
        ----------
        X : array or frame (n, d)
            NumPy array, or a pandas, polars or pyarrow table, whose column names are kept. Text,
            truth values and a library's own categories become an indicator for each level.
        y : array (n,)
            Labels: integers, floats that are whole numbers, booleans or text.
        sample_weight : array (n,), optional
            Weights; a row of weight zero counts as absent.
        storage : {"auto", "per-class", "pooled", "diagonal"}
            What scatter to keep; ``"auto"``: a matrix per class where that is affordable.
        fourth : bool, optional
            Whether to keep the fourth moments of ``shrinkage="ledoit-wolf"``; by default where
            a matrix per class is affordable.
        classes : array, optional
            Labels known beforehand; those without rows get weight zero.
        power : None, "yeo-johnson" or PowerTransform, optional
            Sum the rows after a power transform: one fitted to these rows, or a given one.
        categorical : list of columns, optional
            Columns of numbers that are levels, by name or position.
        names : list of str, optional
            Names of the columns of an array that become those of a mixed table.
        missing : {"marginal", "indicator", "refuse"}
            Empty numbers are kept as such (sums by pattern of observed columns, for EM), filled
            by a mean and marked by an indicator, or refused.
        max_patterns : int, optional
            Most patterns of empty cells a class; rare ones then lose numbers, and ``cells_lost``
            counts them. By default all are exact.
        n_jobs : int, optional
            Threads, −1 for all cores; the result is the same, bit for bit, for any number.
        """
        require_word(missing, ("marginal", "indicator", "refuse"), "missing")
        whole = isinstance(max_patterns, Integral) and max_patterns > 0
        if max_patterns is not None and not whole:
            msg = (
                f"max_patterns must be None or a whole number from 1 on, got {max_patterns!r}"
            )
            raise InvalidParameterError(msg)
        if is_foreign(X):
            plain = power is None and categorical is None and not fourth
            if plain and is_on_device(X) and X.shape[0]:
                labels, codes = device.device_labels(X, y, classes)
                sums = cls._of_device(X, labels, codes, sample_weight, storage)
                if sums is not None:
                    return sums
            X, y, sample_weight = map(to_numpy, (X, y, sample_weight))
        options: dict[str, Any] = {"storage": storage, "fourth": fourth, "power": power}
        options |= {"holes": missing != "refuse", "max_patterns": max_patterns}
        kept = "marginal" if missing == "refuse" else missing
        reading: dict[str, Any] = {"categorical": categorical, "missing": kept, "names": names}
        with at_most(n_jobs):
            table = Table.of(X, y, sample_weight, classes=classes, **reading)
            return cls.of_table(table, **options)

    @classmethod
    def _of_device(
        cls,
        x: Any,
        labels: Labels,
        codes: Any,
        weight: Any,
        storage: str,
        names: Any = None,
    ) -> Moments | None:
        """Return the sums of rows on a device; None where the host is to look at them."""
        w = device.device_weights(x, weight)
        kept, _ = plan(storage, len(labels), x.shape[1], fourth=False)
        total = cls._total(labels, names, device.device_sums(x, codes, w, len(labels), kept))
        spread = total.scatter.pooled_diagonal()
        finite = np.isfinite(total.means).all() and np.isfinite(spread).all()
        if not (finite and device.is_constant(x, np.flatnonzero(spread < SMALLEST))):
            return None
        counts = total.weights if w is None else device.device_counts(codes, w, len(labels))
        return replace(total, counts=counts.astype(np.intp))

    @classmethod
    def _total(cls, labels: Labels, names: Any, parts: Iterable[ChunkSums]) -> Moments:
        none = np.zeros(len(labels), np.intp)
        with np.errstate(
            invalid="ignore", over="ignore"
        ):  # told afterwards, by row and column
            return functools.reduce(
                merging.merged, (cls(labels, names, none, *p) for p in parts)
            )

    @classmethod
    def of_table(
        cls,
        table: Table,
        *,
        storage: str = "auto",
        fourth: bool | None = None,
        power: Any = None,
        holes: bool = False,
        max_patterns: int | None = None,
    ) -> Moments:
        """Return the sums of a labelled table; see ``of``. Empty cells are refused by default."""
        if is_foreign(table.x):
            there = is_on_device(table.x) and not fourth and power is None and table.n_rows
            codes = (
                device.device_codes(table.x, table.codes, table.n_classes) if there else None
            )
            given = (table.classes, codes, table.weight, storage, table.names)
            found = cls._of_device(table.x, *given) if there else None
            return found or cls.of_table(
                table.with_rows(to_numpy(table.x), table.names),
                storage=storage,
                fourth=fourth,
                power=power,
                holes=holes,
                max_patterns=max_patterns,
            )
        kept, with_fourth = plan(storage, table.n_classes, table.n_features, fourth=fourth)
        with_fourth = with_fourth and (
            table.schema is None or bool(fourth)
        )  # dense: if asked for
        transform = None if power is None else parse_power(power, table)
        if holes and has_missing(table.x[:_FIRST_ROWS]):
            return cls._incomplete(table, kept, transform, max_patterns)
        parts = collect(table, kept, fourth=with_fourth, power=transform)
        labels, names, w = table.classes, table.names, table.weight
        total = cls._total(labels, names, parts)
        for sums in (total.means, total.scatter.pooled_diagonal()):
            if not np.isfinite(sums).all():
                if holes and has_missing(table.x):
                    return cls._incomplete(table, kept, transform, max_patterns)
                if w is None or w.all():
                    refuse_unusable(table.x, names)
                refuse_nonfinite(table.x, names, w)  # or else an absent row is to blame
                options: Any = {"storage": storage, "fourth": fourth, "power": transform}
                return cls.of_table(table.take(w > 0), **options)
        if transform is None:
            refuse_vanishing(table, total)
        k = len(labels)
        seen = total.weights if w is None else np.bincount(table.codes[w > 0], minlength=k)
        total = replace(total, counts=seen.astype(np.intp), schema=table.schema)
        return total if with_fourth or total.schema is None else merging.mean_filled(total)[0]

    @classmethod
    def _incomplete(
        cls,
        table: Table,
        storage: str,
        power: PowerTransform | None,
        limit: int | None,
    ) -> Moments:
        blank, given = cls.of_table(table.take(slice(0)), storage=storage, fourth=False), table
        if table.weight is not None and not table.weight.all():
            table = table.take(table.weight > 0)
        weights, seen = (
            table.class_weights,
            np.bincount(table.codes, minlength=table.n_classes),
        )
        if power is not None:
            blank = replace(
                blank,
                power=power.among(np.arange(power.n_features), table.n_features),
                log_slopes=summed_log_slopes(power, table),
            )
            table = table.with_rows(power.apply(table.x), table.names)
        total = replace(blank, counts=seen.astype(np.intp), weights=weights)
        with np.errstate(invalid="ignore", over="ignore"):
            total = with_patterns(
                total, kind_of(storage).of_table(table, blank, limit), storage
            )
        if not all(np.isfinite(each).all() for each in (total.means, total.scatter.values)):
            refuse_unusable(
                np.where(np.isnan(given.x), 0.0, given.x), given.names, given.weight
            )
        return total

    @classmethod
    def empty(
        cls,
        classes: Sequence[Any] = (),
        n_features: int = 0,
        *,
        storage: str = "per-class",
    ) -> Moments:
        """Return the sums of no rows: the identity of ``+``."""
        nothing = np.zeros((0, n_features))
        labels = np.unique(as_labels(classes)) if len(classes) else np.zeros(0, np.int64)
        return cls.of(nothing, labels[:0], storage=storage, fourth=False, classes=labels)

    @classmethod
    def of_archive(cls, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Moments:
        """Return the moments that a file holds, after checking every shape and number."""
        return cls(**fields_from(header, arrays, cls.of_archive))

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.means.shape[1])

    @property
    def storage(self) -> str:
        """Which scatter is kept: ``"per-class"``, ``"pooled"`` or ``"diagonal"``."""
        return self.scatter.storage

    @property
    def cells_lost(self) -> int:
        """Numbers given up where more patterns of empty cells were found than are kept."""
        return 0 if self.patterns is None else int(self.patterns.lost.sum())

    @property
    def scatters(self) -> Floats:
        """S_k of each class, shape (K, d, d)."""
        return self.scatter.per_class()

    @property
    def pooled_scatter(self) -> Floats:
        """Σ_k S_k, shape (d, d)."""
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
        """μ_k minus the grand mean, low parts included, shape (K, d); zero for absent classes."""
        centred = (self.means - self.grand_mean) + self.means_low
        return np.where(self.weights[:, None] > 0, centred, 0.0)

    @property
    def total_variances(self) -> Floats:
        """Variance of each feature over all rows, shape (d,); zero where constant."""
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
        """How a model reads the columns; None where all are numbers."""
        if self.schema is None:
            return None
        return Encoding.of(self.schema, self.weights @ self.means[:, self.schema.n_numbers :])

    def required_fourth(self) -> FourthMoments:
        """Return the fourth moments, or say that they were not collected."""
        if self.fourth is None:
            found = "these have none (or lost their digits with outliers that were forgotten)"
            cure = "collect them with fourth=True, or use shrinkage='oas'"
            msg = f"shrinkage='ledoit-wolf' needs fourth moments, and {found}: {cure}"
            raise MissingStatisticsError(msg)
        return self.fourth

    def select(self, columns: Sequence[int | str] | Codes | Flags) -> Moments:
        """Return the sums of some features, by place, name or mask; they are plain numbers then."""
        wanted, names, d = np.asarray(columns), self.feature_names, self.n_features
        if wanted.dtype == bool and wanted.shape == (d,):
            wanted = np.flatnonzero(wanted)
        if wanted.dtype != np.intp or wanted.min(initial=0) < 0 or wanted.max(initial=-1) >= d:
            places = [
                column_position(column, names, d, "feature") for column in wanted.tolist()
            ]
            wanted = np.array(places, np.intp)
        return merging.some_features(self, wanted)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return combined(*merging.mean_filled(*merging.aligned(self, other)))

    def __radd__(self, other: Any) -> Moments:
        """Let ``sum(parts)`` work, which starts from 0."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        total, part = merging.mean_filled(*merging.aligned(self, other), sign=-1.0)
        merging.check_held(total, part)
        return forgotten(total, part)

    def save(self, path: str | Path) -> None:
        """Write a ``.moments`` file: one zip of arrays and a JSON header, never pickle."""
        archive.write(path, KIND, header_of(self), arrays_of(self))

    def _repr_html_(self) -> str:
        names = notebook.first_rows(
            self.feature_names or [str(j) for j in range(self.n_features)]
        )
        head = ["class", "rows", "weight", *(f"mean of {name}" for name in names)]
        means = self.means[:, : len(names)].tolist()
        columns = (
            notebook.first_rows(self.classes.tolist()),
            self.counts,
            self.weights,
            means,
        )
        rows = [[k, int(n), float(w), *mean] for k, n, w, mean in zip(*columns, strict=False)]
        return notebook.titled_html(repr(self), notebook.html_table(head, rows))

    def __repr__(self) -> str:
        shape = f"{self.n_classes} classes × {self.n_features} features"
        rows = f"{int(self.counts.sum())} rows, weight {self.total_weight:g}"
        return f"Moments({shape}, {rows}, {self.storage} scatter)"
