"""How numbers, names, labels and sums are written in SQL, and where engines differ."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.errors import InvalidParameterError


def number(value: float) -> str:
    """Return a literal that every engine reads as this very double, not as a decimal."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def name(text: str) -> str:
    """Return an identifier, whatever characters it has."""
    if "\0" in text:
        msg = f"the name {text!r} holds a NUL character, which no database takes"
        raise InvalidParameterError(msg)
    return '"' + text.replace('"', '""') + '"'


def literal(label: Any) -> str:
    """Return a label as text, number, truth value or NULL."""
    if label is None or (isinstance(label, float) and math.isnan(label)):
        return "NULL"
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return number(label)
    if "\0" in str(label):
        msg = f"the label {label!r} holds a NUL character, which no database takes"
        raise InvalidParameterError(msg)
    return "'" + str(label).replace("'", "''") + "'"


def total(terms: Sequence[str]) -> str:
    """Return a sum as a balanced tree: engines and parsers limit how deep a formula may nest."""
    return tree(terms, lambda left, right: f"({left} + {right})")


def tree(terms: Sequence[str], joined: Any) -> str:
    """Return terms joined two by two."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return str(joined(tree(terms[:half], joined), tree(terms[half:], joined)))


def square(term: str) -> str:
    """Return the square of a short term."""
    return f"{term} * {term}"


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
    has_nan: bool = True

    def largest(self, terms: Sequence[str]) -> str:
        """Return the largest of some numbers; NULL if one is."""
        return tree(terms, lambda a, b: f"{self.greatest}({a}, {b})")

    def smallest(self, terms: Sequence[str]) -> str:
        """Return the smallest of some numbers."""
        return tree(terms, lambda a, b: f"{self.least}({a}, {b})")

    def double_number(self, value: float) -> str:
        """Return a literal for arithmetic among literals, where PostgreSQL would use decimals."""
        return f"CAST({number(value)} AS {self.double})"

    def number_of(self, column: str, *, truth: bool) -> str:
        """Return a column as doubles, NULL where it is NaN; truth values as 1 and 0."""
        if truth:
            return f"CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"
        x = f"CAST({column} AS {self.double})"
        return f"NULLIF({x}, CAST('NaN' AS {self.double}))" if self.has_nan else x

    def exponential(self, expression: str) -> str:
        """Return exp of a number ≤ 0; PostgreSQL takes a result that rounds to 0 for an error."""
        return f"CASE WHEN {expression} < -708e0 THEN 0e0 ELSE EXP({expression}) END"

    def refuse_long(self, names: Collection[str]) -> None:
        """Raise if the engine would cut a name of the answer short."""
        for name in names:
            if len(name.encode()) > self.longest_name:
                raise InvalidParameterError(
                    f"the column {name!r} of the answer has more than {self.longest_name} bytes, "
                    f"which {self.title} would cut off: shorten that class's label"
                )

    def refuse_wide(self, n_columns: int) -> None:
        """Raise if a stage has more columns than the engine takes."""
        if n_columns > self.most_columns:
            raise InvalidParameterError(
                f"the query has {n_columns} columns in one stage, and {self.title} takes up to "
                f"{self.most_columns}: the model has too many classes or features; use to_onnx()"
            )


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
        "SQLite",
        "REAL",
        "MAX",
        "MIN",
        materialized="MATERIALIZED ",
        most_columns=2000,
        has_nan=False,
    ),
}


def dialect_of(name: str) -> Dialect:
    """Return the dialect of this name."""
    known = {"postgresql": "postgres"}.get(name.lower(), name.lower())
    if known not in DIALECTS:
        msg = f"dialect must be one of {', '.join(map(repr, DIALECTS))}, got {name!r}"
        raise InvalidParameterError(msg)
    return DIALECTS[known]
