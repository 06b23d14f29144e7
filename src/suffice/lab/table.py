"""A table in the lab: its columns of numbers, two of which are shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.curves.importance import separation
from suffice.errors import InvalidInputError, TooFewClassesError
from suffice.estimators.gaussian import LDA
from suffice.moments import Moments
from suffice.sources.chunks import load_rows
from suffice.sources.columns import ColumnOptions, roles_for_learning
from suffice.sources.opening import open_source
from suffice.table.sampling import stratified_sample
from suffice.text.lists import plural, quoted
from suffice.typing import Codes, Floats

MOST_CLASSES = 5  # that the page has colours for
MOST_POINTS = 1500


@dataclass(frozen=True, slots=True, eq=False)
class LabTable:
    """Complete rows of numbers with labels of at most five classes, and what to say of them."""

    x: Floats  # (n, d)
    codes: Codes  # (n,)
    labels: list[str]
    names: list[str]
    notes: list[str]

    @classmethod
    def opened(cls, source: str, target: str | None = None) -> LabTable:
        """Return the rows of the five largest classes, read by the library's own sources."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = open_source(source)
            said = ColumnOptions(target=target or None, categories=False, holes=False)
            table = load_rows(found, roles_for_learning(found, said)).table
        notes = [str(each.message) for each in caught]
        counts = np.bincount(table.codes, minlength=table.n_classes)
        if np.count_nonzero(counts) < 2:
            msg = f"the lab needs rows of at least 2 classes, found {quoted(table.classes)}"
            raise TooFewClassesError(msg)
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
        kept, rows = kept[counts[kept] > 0], np.isin(table.codes, kept)
        if not rows.all():
            notes.append(f"only the {MOST_CLASSES} largest of {len(counts)} classes are shown")
        labels, codes = table.classes[kept].tolist(), np.searchsorted(kept, table.codes[rows])
        names = list(table.names or ())
        return cls(np.asarray(table.x)[rows], codes, list(map(str, labels)), names, notes)

    def shown(self, axes: Any = None) -> dict[str, Any]:
        """Return points of two columns, by default the best, or of discriminant coordinates."""
        if axes == "discriminant":
            x = LDA().fit(self.x, self.codes).transform(self.x)[:, :2]
            names = [f"discriminant {j + 1}" for j in range(x.shape[1])]
        else:
            names = [*dict.fromkeys(self._furthest_apart() if axes is None else axes)]
            if not 1 <= len(names) <= 2 or not set(names) <= set(self.names):
                msg = f"no columns {quoted(names)}: choose two of {quoted(self.names)}"
                raise InvalidInputError(msg)
            x = self.x[:, [self.names.index(name) for name in names]]
        rows = stratified_sample(self.codes, MOST_POINTS, 0)
        size = f"{plural(len(self.codes), 'row')}, {plural(len(self.names), 'column')} of numbers"
        few = f"{len(rows):,} rows are shown" if len(rows) < len(self.codes) else None
        return {
            "points": np.column_stack([x, self.codes])[rows].tolist(),
            "labels": self.labels,
            "names": [*names, ""][:2],
            "columns": self.names,
            "said": ". ".join(filter(None, [size, few, *self.notes])),
        }

    def _furthest_apart(self) -> list[str]:
        """Return the two columns of the greatest variance between classes to that within."""
        ratio = separation(Moments.of(self.x, self.codes, storage="diagonal"))
        return [self.names[j] for j in np.sort(np.argsort(-ratio, kind="stable")[:2])]
