"""The labelled rows a report is about, with their names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.search.plan import sampled
from suffice.table.labels import as_labels, encode
from suffice.table.matrix import as_matrix, as_weights
from suffice.table.table import require_as_many
from suffice.text.lists import listed, plural

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, eq=False)
class Rows:
    """Numbers, classes, weights and ids of rows, and what was left out on the way to them."""

    name: str  # of the data set
    target: str  # of the column of labels
    x: Floats  # (n, d)
    names: tuple[str, ...]  # (d,)
    classes: Labels  # (K,)
    codes: Codes  # (n,)
    weight: Floats | None  # (n,)
    ids: Labels  # what a person finds each row by  (n,)
    id_name: str = "row"  # what that is
    notes: tuple[str, ...] = ()  # what was left out, in words

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        ids: Any = None,
        name: str = "data",
        target: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> Rows:
        """Return users' rows: numeric columns, and rows without a gap in them."""
        table, left_out = _numeric(X)
        matrix, found = as_matrix(table)
        x = np.asarray(matrix, np.float64)
        labels, weight = as_labels(y), as_weights(sample_weight, len(x))
        require_as_many(len(x), len(labels))
        known = _ids(X, len(x)) if ids is None else np.asarray(ids)
        names = tuple(map(str, found)) if found else tuple(f"x{j + 1}" for j in range(x.shape[1]))
        word = target or str(getattr(y, "name", None) or "class")
        said = (*notes, *left_out)
        return cls(name, word, x, names, *encode(labels), weight, known, notes=said)._whole()

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.names)

    @cached_property
    def labels(self) -> Labels:
        """Label of each row (n,)."""
        labels: Labels = self.classes[self.codes]
        return labels

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text."""
        return tuple(map(str, self.classes.tolist()))

    @cached_property
    def frame(self) -> Any:
        """The features as a frame with names."""
        import polars as pl

        return pl.DataFrame(self.x, schema=list(self.names))

    def taken(self, at: Codes) -> Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[at]
        return replace(self, x=self.x[at], codes=self.codes[at], weight=weight, ids=self.ids[at])

    def sampled(self, n_rows: int, seed: int) -> Rows:
        """Return these rows, or a seeded sample that keeps the share of every class."""
        if self.n_rows <= n_rows:
            return self
        return self.taken(sampled(self.codes, n_rows, seed))

    def _whole(self) -> Rows:
        """Return the rows without gaps, and say how many have one."""
        usable = np.isfinite(self.x).all(1)
        if usable.all():
            return self
        gaps = (~np.isfinite(self.x)).sum(0)
        worst = [f"{self.names[j]} ({gaps[j]:,})" for j in np.argsort(-gaps) if gaps[j]]
        lost = int((~usable).sum())
        note = f"{lost:,} of {plural(self.n_rows, 'row')} left out: no number in {listed(worst)}"
        if lost == self.n_rows:
            msg = f"no row can be used: {note}"
            raise InvalidInputError(msg)
        kept = self.taken(np.flatnonzero(usable))
        present = np.unique(kept.codes)
        codes = np.searchsorted(present, kept.codes)
        notes = (*self.notes, note)
        return replace(kept, classes=self.classes[present], codes=codes, notes=notes)


def _numeric(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the columns of a frame that hold numbers, and what to say of the others."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X, ()
    kinds = frame.schema.items()
    numeric = [name for name, kind in kinds if kind.is_numeric() or kind == nw.Boolean]
    others = [repr(name) for name, _ in kinds if name not in numeric]
    if not others:
        return X, ()
    if not numeric:
        msg = f"no column of X holds numbers: {listed(others)} hold text or dates"
        raise InvalidInputError(msg)
    return frame.select(numeric).to_native(), (f"columns left out: {listed(others)} (no numbers)",)


def _ids(X: Any, n_rows: int) -> Labels:
    """Return the index of a pandas frame, or the place of each row, counted from zero."""
    index = getattr(X, "index", None)
    if index is not None and hasattr(index, "to_numpy"):
        return np.asarray(index.to_numpy())
    return np.arange(n_rows)
