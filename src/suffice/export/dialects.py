"""How engines differ in what a scoring query needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from suffice.errors import InvalidParameterError
from suffice.export.words import tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_MAX = "1.7976931348623157e308"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine's words; the stages of a query must not be merged, or formulas multiply."""

    title: str
    double: str  # the type of 64-bit floating point numbers
    greatest: str
    least: str
    materialized: str = "NOT MATERIALIZED "
    fence: str = ""  # what keeps the planner from merging a stage into the next
    longest_name: int = 1 << 20  # bytes
    most_columns: int = 1 << 20  # of one stage

    def largest(self, terms: Sequence[str]) -> str:
        """Return the largest of some numbers; NULL if one is."""
        return tree(terms, lambda a, b: f"{self.greatest}({a}, {b})")

    def smallest(self, terms: Sequence[str]) -> str:
        """Return the smallest of some numbers."""
        return tree(terms, lambda a, b: f"{self.least}({a}, {b})")

    def finite(self, expression: str) -> str:
        """Return an expression as a double, NULL where it is not finite."""
        x = f"CAST({expression} AS {self.double})"
        return (
            f"CASE WHEN {x} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN {x} END"
        )

    def exponential(self, expression: str) -> str:
        """Return exp of a number ≤ 0; PostgreSQL takes a result that rounds to 0 for an error."""
        return f"CASE WHEN {expression} < -708e0 THEN 0e0 ELSE EXP({expression}) END"

    def refuse_long(self, names: Sequence[str]) -> None:
        """Raise if the engine would cut a name of the answer short."""
        for name in names:
            if len(name.encode()) > self.longest_name:
                msg = (
                    f"the column {name!r} of the answer has more than {self.longest_name} bytes, "
                    f"which {self.title} would cut off: shorten that class's label"
                )
                raise InvalidParameterError(msg)

    def refuse_wide(self, n_columns: int) -> None:
        """Raise if a stage has more columns than the engine takes."""
        if n_columns > self.most_columns:
            msg = (
                f"the query has {n_columns} columns in one stage, and {self.title} takes up to "
                f"{self.most_columns}: the model has too many classes or features; use to_onnx()"
            )
            raise InvalidParameterError(msg)


DIALECTS: Mapping[str, Dialect] = {
    "duckdb": Dialect("DuckDB", "DOUBLE", "GREATEST", "LEAST"),
    "postgres": Dialect(
        "PostgreSQL",
        "DOUBLE PRECISION",
        "GREATEST",
        "LEAST",
        fence="OFFSET 0",
        longest_name=63,
        most_columns=1664,
    ),
    "sqlite": Dialect(
        "SQLite", "REAL", "MAX", "MIN", materialized="MATERIALIZED ", most_columns=2000
    ),
}


def dialect_of(name: str) -> Dialect:
    """Return the dialect of this name."""
    known = {"postgresql": "postgres"}.get(name.lower(), name.lower())
    if known not in DIALECTS:
        msg = f"dialect must be one of {', '.join(map(repr, DIALECTS))}, got {name!r}"
        raise InvalidParameterError(msg)
    return DIALECTS[known]
