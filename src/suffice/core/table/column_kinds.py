"""The distribution of each column of a table, set by patterns of column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.core.table.matrix import as_matrix, column_names, refuse_twins, unmasked
from suffice.core.text.lists import quoted
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    require_word,
)
from suffice.typing import Array, Codes

CountWord: TypeAlias = Literal["multinomial", "bernoulli", "poisson"]
KindOfColumn: TypeAlias = Literal[
    "gaussian", "categorical", "multinomial", "bernoulli", "poisson"
]
COUNT_WORDS = ("multinomial", "bernoulli", "poisson")
KIND_WORDS = ("gaussian", "categorical", *COUNT_WORDS)


@dataclass(frozen=True, slots=True, eq=False)
class CountColumns:
    """The columns that match one pattern, whose counts share one kind of distribution."""

    pattern: str
    kind: str  # "multinomial", "bernoulli" or "poisson"
    places: Codes  # positions of the columns  (c,)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnKinds:
    """The columns of a table, divided by the kind of their class-conditional distribution."""

    names: tuple[str, ...]  # names of all columns, "x0", "x1", … if columns have no names
    numbers: Codes  # positions of Gaussian and categorical columns
    categorical: tuple[str, ...]  # numeric columns that are read as levels
    counts: tuple[CountColumns, ...]

    @classmethod
    def of(cls, kinds: Mapping[str, str] | None, names: Sequence[str]) -> ColumnKinds:
        """Return the kinds of columns; numeric columns that match no pattern are Gaussian."""
        check_kinds(kinds)
        pattern_of: dict[str, str] = {}
        matched: dict[str, list[int]] = {}
        for pattern in kinds or {}:
            matched[pattern] = [
                j for j, name in enumerate(names) if fnmatchcase(name, pattern)
            ]
            if not matched[pattern]:
                raise FeatureMismatchError(
                    f"kinds names {pattern!r}, but no column has such a name: the columns are "
                    f"{quoted(list(names), 12)}"
                )
            for j in matched[pattern]:
                earlier = pattern_of.setdefault(names[j], pattern)
                if earlier != pattern:
                    raise InvalidParameterError(
                        f"kinds names the column {names[j]!r} twice, by {earlier!r} "
                        f"and by {pattern!r}: write patterns that share no column"
                    )
        counts = []
        categorical: list[str] = []
        is_counted = np.zeros(len(names), bool)
        for pattern, kind in (kinds or {}).items():
            places = np.array(matched[pattern], np.intp)
            if kind in COUNT_WORDS:
                counts.append(CountColumns(pattern, kind, places))
                is_counted[places] = True
            elif kind == "categorical":
                categorical.extend(names[j] for j in matched[pattern])
        return cls(
            names=tuple(names),
            numbers=np.flatnonzero(~is_counted),
            categorical=tuple(categorical),
            counts=tuple(counts),
        )


def check_kinds(kinds: object) -> None:
    """Raise unless ``kinds`` maps patterns of column names to distributions."""
    if kinds is None:
        return
    if not isinstance(kinds, Mapping):
        raise InvalidParameterError(
            "kinds must map patterns of column names to distributions, such as "
            f"{{'words*': 'multinomial'}}; got {kinds!r}"
        )
    for pattern, kind in kinds.items():
        if not isinstance(pattern, str):
            raise InvalidParameterError(
                f"kinds names a column by {pattern!r}: give its name or a pattern as text; "
                "columns of an array are 'x0', 'x1', …"
            )
        if kind == "complement":
            raise InvalidParameterError(
                f"kinds gives {pattern!r} the kind 'complement', whose scores are not densities "
                "and cannot be multiplied with others: use 'multinomial'"
            )
        require_word(kind, KIND_WORDS, f"the kind of {pattern!r}")


def names_of_columns(X: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of all columns, from the frame, or else ``names``, or else "x0", "x1", …."""
    columns = column_names(X)
    if columns is not None:
        return columns
    # a frame whose column names are not text
    if hasattr(X, "columns") and not callable(X.columns):
        labels = tuple(str(name) for name in X.columns)
        refuse_twins(labels)
        return labels
    n_columns = int(np.asarray(X).shape[1])
    if names is not None and len(names) == n_columns:
        return tuple(names)
    return tuple(f"x{j}" for j in range(n_columns))


def columns_at(X: Any, places: Codes) -> Any:
    """Return some columns of a frame or an array, by position."""
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    if hasattr(X, "__arrow_c_stream__"):
        import polars as pl

        frame = X if isinstance(X, pl.DataFrame) else pl.DataFrame(X)
        return frame[:, places.tolist()]
    return np.asarray(unmasked(X))[:, places]


def count_matrix(X: Any, columns: CountColumns, names: Sequence[str]) -> Array:
    """Return the columns of counts as a matrix (n, c), or raise if a column is not numeric."""
    try:
        matrix: Array = as_matrix(columns_at(X, columns.places))[0]
    except ValueError as error:
        own = [names[j] for j in columns.places]
        raise InvalidInputError(
            f"kinds counts {quoted(own, 5)} by {columns.pattern!r}, but not all of these columns "
            f"hold numbers ({error}): name only columns that hold counts"
        ) from error
    return matrix
